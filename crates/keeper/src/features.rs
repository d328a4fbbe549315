//! What a decision is made from: the paper's nine numbers as a running drive shows them, with the
//! tenants in an order that does not depend on their numbers, and how much requests come in bursts.
//!
//! Intensity and shares count flash pages, not requests. For requests of one page that is the
//! paper's count; for larger ones it says how much work the drive has.
//!
//! Channels are all alike, so a mix whose tenants are numbered otherwise has the same best strategy
//! with its parts renumbered. [`ObservedMix`] therefore orders the tenants (writers first, and
//! among writers or readers the busiest first). A network then has to learn one mix where it would
//! have to learn 24.
//!
//! The nine numbers do not tell a steady load from one that comes in bursts, and the best strategy
//! for the one may be ruinous for the other. So a period is divided into [`SLOTS`] slots, and what
//! each tenant asked for in each of them is kept: the file `queue` tells from it how long requests
//! wait. From tenths of the period it is told how much another period may differ.

use crate::mix::{MINORITY, Mix, REQUEST_PAGES, RequestOptions};
use crate::rates::ratio;
use crate::strategy::Strategy;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_sim::Demand;
use ssdtune_trace::{Op, Request};

pub use crate::rates::Rates;
pub use crate::vector::{FEATURES, Intensity, LEVELS, MixFeatures, VECTOR_TENANTS};

/// How many slots a period is divided into.
pub const SLOTS: u64 = 250;

/// How many slots of a period a decision looks at: more would tell it more of short bursts, and
/// take it longer.
pub(crate) const DECISION_SLOTS: u64 = 50;

/// What the tenants of a drive asked for in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodDemand {
    /// Length of the period.
    pub seconds: f64,
    /// What each tenant asked for.
    pub asked: Vec<Demand>,
    /// For each tenant, the flash pages that it read and wrote in each slot.
    pub slots: Vec<Vec<SlotPages>>,
}

/// Flash pages read and written in a slot.
pub type SlotPages = [u32; 2];

impl PeriodDemand {
    /// Some slots of a period, with requests as large in the mean as in all of it.
    pub(crate) fn some_slots(&self, from: usize, count: usize) -> Self {
        let all = self.slots.first().map_or(1, Vec::len).max(1);
        let count = count.clamp(1, all);
        let from = from.min(all - count);
        let slots: Vec<Vec<SlotPages>> =
            self.slots.iter().map(|slots| slots[from..from + count].to_vec()).collect();
        let of = |(asked, slots): (&Demand, &Vec<SlotPages>)| {
            let pages = [0, 1].map(|n| slots.iter().map(|slot| u64::from(slot[n])).sum::<u64>());
            let requests = |pages: u64, all: u64, requests: u64| {
                (requests as f64 * ratio(pages as f64, all as f64)).round() as u64
            };
            Demand {
                reads: requests(pages[0], asked.read_pages, asked.reads),
                writes: requests(pages[1], asked.written_pages, asked.writes),
                read_pages: pages[0],
                written_pages: pages[1],
            }
        };
        let asked = self.asked.iter().zip(&slots).map(of).collect();
        Self { seconds: self.seconds * count as f64 / all as f64, asked, slots }
    }

    /// Whether each tenant mostly writes.
    pub fn writers(&self) -> Vec<bool> {
        self.asked.iter().map(|own| own.written_pages > own.read_pages).collect()
    }

    /// Flash pages that all tenants asked for together.
    pub fn pages(&self) -> u64 {
        self.asked.iter().map(Demand::pages).sum()
    }

    /// Flash pages a second that all tenants asked for together.
    pub fn rate_pages(&self) -> f64 {
        ratio(self.pages() as f64, self.seconds)
    }

    /// What each tenant asked for in a second.
    pub fn rates(&self) -> Vec<Rates> {
        let rate = |count: u64| ratio(count as f64, self.seconds);
        let of = |asked: &Demand| Rates {
            requests: [asked.reads, asked.writes].map(rate),
            pages: [asked.read_pages, asked.written_pages].map(rate),
        };
        self.asked.iter().map(of).collect()
    }

    /// How bursty the requests were: by how many standard deviations pages came in the same
    /// fiftieth of T more often than if as many requests of these sizes had come at random. It is
    /// the largest of the figures for each tenant alone and for all together. Requests at random
    /// stay within 4, almost always and for any load.
    pub fn burst(&self) -> f64 {
        // Of N requests of mean square size m in S slots: variance 2 (N m)² / S.
        let of = |groups: &[f64], pages: u64, inside: f64| {
            let slots = groups.len() as f64;
            let pairs = groups.iter().map(|pages| pages * pages).sum::<f64>() - inside;
            let expected = (pages as f64).powi(2) / slots;
            ratio(pairs - expected, (2.0 / slots).sqrt() * inside)
        };
        let slots = self.slots.first().map_or(0, Vec::len);
        let count = (slots / BURST_SLOTS).max(1);
        let mut all = vec![0.0; count];
        let mut most = f64::NEG_INFINITY;
        for (asked, slots) in self.asked.iter().zip(&self.slots) {
            let own = groups(slots, count);
            all.iter_mut().zip(&own).for_each(|(all, own)| *all += own);
            most = most.max(of(&own, asked.pages(), pairs_inside(asked)));
        }
        let inside = self.asked.iter().map(pairs_inside).sum();
        most.max(of(&all, self.pages(), inside))
    }

    /// The standard deviation of what a tenant asks for in a period of this length, as a share of
    /// the mean: from tenths of this period, and at least what requests at random have.
    fn deviation(&self, tenant: usize) -> f64 {
        let slots = self.slots.get(tenant).map_or(&[][..], |slots| slots);
        let tenths = groups(slots, equal_groups(slots.len()));
        let pages = self.asked[tenant].pages() as f64;
        let mean = tenths.iter().sum::<f64>() / tenths.len() as f64;
        let squares: f64 = tenths.iter().map(|tenth| (tenth - mean).powi(2)).sum();
        let n = tenths.len() as f64;
        let measured = ratio((squares * n / (n - 1.0)).sqrt(), pages);
        measured.max(ratio(pairs_inside(&self.asked[tenant]).sqrt(), pages))
    }
}

/// Slots of a group that [`PeriodDemand::burst`] looks at: fifty groups in a whole period.
const BURST_SLOTS: usize = SLOTS as usize / 50;
/// Groups of slots that [`PeriodDemand::deviation`] looks at, at most.
pub(crate) const DEVIATION_GROUPS: usize = 10;

/// How many groups of equal size a number of slots is divided into: [`DEVIATION_GROUPS`], or half
/// as many if that leaves none over.
pub(crate) fn equal_groups(slots: usize) -> usize {
    if slots.is_multiple_of(DEVIATION_GROUPS) { DEVIATION_GROUPS } else { DEVIATION_GROUPS / 2 }
}

/// Pages read and written in each group of `times` slots that follow each other: a decision looks
/// at fewer slots than a period is counted in.
fn joined(slots: &[SlotPages], times: usize) -> Vec<SlotPages> {
    let sum = |some: &[SlotPages]| [0, 1].map(|op| some.iter().map(|slot| slot[op]).sum());
    slots.chunks(times).map(sum).collect()
}

/// Pages in each of a number of groups of slots.
fn groups(slots: &[SlotPages], count: usize) -> Vec<f64> {
    let mut groups = vec![0.0; count];
    for (number, [read, written]) in slots.iter().enumerate() {
        groups[number * count / slots.len()] += f64::from(read + written);
    }
    groups
}

/// Ordered pairs of pages of the same request, estimated as if all reads had their mean size, and
/// all writes theirs.
fn pairs_inside(asked: &Demand) -> f64 {
    let of = |pages: u64, requests: u64| ratio((pages as f64).powi(2), requests as f64);
    of(asked.read_pages, asked.reads) + of(asked.written_pages, asked.writes)
}

/// Gathers what tenants ask for, slot by slot.
#[derive(Clone, Debug)]
pub struct DemandCollector {
    slot: Nanos,
    slots: Vec<Vec<SlotPages>>,
    asked: Vec<Demand>,
}

impl DemandCollector {
    /// An empty period of this length, for a drive with this number of tenants.
    pub fn new(tenants: usize, period: Nanos) -> Self {
        Self {
            slot: Self::slot_of(period),
            slots: vec![Vec::with_capacity(SLOTS as usize); tenants],
            asked: vec![Demand::default(); tenants],
        }
    }

    /// Length of a slot of such a period.
    pub(crate) fn slot_of(period: Nanos) -> Nanos {
        Nanos((period.0 / SLOTS).max(1))
    }

    /// Length of a slot.
    pub fn slot(&self) -> Nanos {
        self.slot
    }

    /// Adds a slot: what each tenant asked for in it.
    pub fn add(&mut self, asked: &[Demand]) {
        for ((sum, slots), own) in self.asked.iter_mut().zip(&mut self.slots).zip(asked) {
            *sum += *own;
            slots.push([own.read_pages, own.written_pages].map(|pages| pages as u32));
        }
    }

    /// Whether this number of slots has been added since it was empty.
    pub fn is_at(&self, slots: u64) -> bool {
        self.slots.iter().all(|own| own.len() as u64 == slots)
    }

    /// What was gathered until now.
    pub fn so_far(&self) -> PeriodDemand {
        let Self { asked, slots, slot } = self.clone();
        let count = slots.first().map_or(0, Vec::len);
        PeriodDemand { seconds: slot.as_secs_f64() * count as f64, asked, slots }
    }

    /// What was gathered; a new period begins.
    pub fn take(&mut self) -> PeriodDemand {
        let period = self.so_far();
        *self = Self::new(self.asked.len(), Nanos(self.slot.0 * SLOTS));
        period
    }
}

/// What requests, given in order of time, ask for in their first period. If they end before the
/// period does, the period is as long as they are.
pub fn first_period(
    requests: &[Request],
    tenants: usize,
    period: Nanos,
    page_sectors: u32,
) -> PeriodDemand {
    let end = requests.last().map_or(period, |last| last.at + Nanos(1));
    in_slots(requests, tenants, Nanos((period.min(end).0 / SLOTS).max(1)), SLOTS, page_sectors)
}

/// What requests, given in order of time, ask for in a number of slots.
pub(crate) fn in_slots(
    requests: &[Request],
    tenants: usize,
    slot: Nanos,
    count: u64,
    page_sectors: u32,
) -> PeriodDemand {
    let mut asked = vec![Demand::default(); tenants];
    let mut slots = vec![vec![SlotPages::default(); count as usize]; tenants];
    for request in requests {
        let number = request.at.0 / slot.0;
        if number >= count {
            break;
        }
        let (tenant, pages) = (usize::from(request.tenant.0), pages_of(request, page_sectors));
        asked[tenant].count(request.op, pages);
        slots[tenant][number as usize][usize::from(request.op == Op::Write)] += pages as u32;
    }
    PeriodDemand { seconds: slot.as_secs_f64() * count as f64, asked, slots }
}

/// Flash pages of `page_sectors` sectors that a request touches.
pub fn pages_of(request: &Request, page_sectors: u32) -> u64 {
    let page_sectors = u64::from(page_sectors);
    let end = request.lba.0 + u64::from(request.sectors.max(1));
    (end - 1) / page_sectors - request.lba.0 / page_sectors + 1
}

/// What a policy is told of a mix: its intensity, its rates, and an order of its tenants. All lists
/// have an entry for each tenant, as the drive numbers them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedMix {
    /// Intensity level, from 0 to [`LEVELS`] - 1.
    pub level: u8,
    /// Whether each tenant mostly reads; false for one that did nothing.
    pub readers: Vec<bool>,
    /// Whether each tenant mostly writes.
    pub writers: Vec<bool>,
    /// Each tenant's share of the flash pages asked for, 0 to 1.
    pub shares: Vec<f64>,
    /// `place[tenant]` is the tenant's place when tenants are ordered: writers first, then the
    /// busiest first.
    pub place: Vec<usize>,
    /// How bursty the requests were ([`PeriodDemand::burst`]).
    pub burst: f64,
    /// What each tenant asks for in a second.
    pub rates: Vec<Rates>,
    /// How much what each tenant asks for differs from period to period: a standard deviation, as a
    /// share of the mean.
    pub deviations: Vec<f64>,
    /// For each tenant, the flash pages that it read and wrote in each slot; empty if all come at
    /// random.
    pub slots: Vec<Vec<SlotPages>>,
    /// Length of a slot in seconds.
    pub slot_seconds: f64,
    /// For each tenant, the share of its reads that go to data that lie on all channels and stay
    /// there, whatever its channels will be.
    pub settled: Vec<f64>,
}

impl ObservedMix {
    /// The mean latency of all requests of a tenant, in nanoseconds, from those of its reads and
    /// writes; 0 if it asks for nothing.
    pub(crate) fn mean_ns(&self, tenant: usize, [read, write]: [f64; 2]) -> f64 {
        let [reads, writes] = self.rates[tenant].requests;
        ratio(read * reads + write * writes, reads + writes)
    }

    /// The mix that asked for this in a period.
    pub fn new(period: &PeriodDemand, intensity: Intensity) -> Self {
        let asked = || period.asked.iter();
        let writers = period.writers();
        let all = period.pages() as f64;
        let shares: Vec<f64> = asked().map(|own| ratio(own.pages() as f64, all)).collect();
        let slots: Vec<Vec<SlotPages>> =
            period.slots.iter().map(|own| joined(own, (SLOTS / DECISION_SLOTS) as usize)).collect();
        let count = slots.first().map_or(1, Vec::len).max(1);
        Self {
            level: intensity.level(period.rate_pages()),
            readers: asked().map(|own| own.read_pages > own.written_pages).collect(),
            place: places(&writers, &shares),
            burst: period.burst(),
            rates: period.rates(),
            deviations: (0..shares.len()).map(|tenant| period.deviation(tenant)).collect(),
            slots,
            slot_seconds: period.seconds / count as f64,
            settled: vec![0.0; shares.len()],
            writers,
            shares,
        }
    }

    /// A synthetic mix as a period of it shows it, with requests of [`REQUEST_PAGES`] if it is
    /// plain.
    pub fn of_mix(mix: &Mix, rate_max_pages: f64, period: Nanos) -> Self {
        let rate: f64 = mix.rates(rate_max_pages).iter().flat_map(|rates| rates.requests).sum();
        let options = RequestOptions {
            rate_max_pages,
            requests: (rate * period.as_secs_f64() * 2.0) as u64 + 1_000,
            working_set_pages: 1 << 14,
            minority: MINORITY,
            request_pages: REQUEST_PAGES,
            page_sectors: 32,
            seed: 0,
        };
        let requests: Vec<Request> = mix.requests(options).collect();
        let intensity = Intensity { requests_per_s_max: rate_max_pages };
        Self::new(&first_period(&requests, mix.tenants.len(), period, 32), intensity)
    }

    /// The paper's nine numbers, with the tenants ordered.
    ///
    /// # Panics
    /// If there are more than [`VECTOR_TENANTS`] tenants.
    pub fn vector(&self) -> [f64; FEATURES] {
        let tenants = self.place.len();
        assert!(tenants <= VECTOR_TENANTS, "the vector has no places for {tenants} tenants");
        let mut ordered = MixFeatures { level: self.level, ..MixFeatures::default() };
        for (tenant, &place) in self.place.iter().enumerate() {
            ordered.reads[place] = self.readers[tenant];
            ordered.shares[place] = self.shares[tenant];
        }
        ordered.vector().map(f64::from)
    }

    /// Turns a strategy for the ordered tenants into one for the tenants as the drive numbers them.
    pub fn to_drive(&self, strategy: &Strategy) -> Strategy {
        strategy.reordered(&self.place)
    }

    /// Turns a strategy for the tenants as the drive numbers them into one for the ordered tenants.
    pub fn to_ordered(&self, strategy: &Strategy) -> Strategy {
        let mut order = vec![0; self.place.len()];
        for (tenant, &place) in self.place.iter().enumerate() {
            order[place] = tenant;
        }
        strategy.reordered(&order)
    }
}

/// The place of each tenant when tenants are ordered: writers first, then the busiest first.
fn places(writers: &[bool], shares: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..writers.len()).collect();
    order.sort_by(|&a, &b| {
        let busier = shares[b].total_cmp(&shares[a]);
        (!writers[a]).cmp(&!writers[b]).then(busier)
    });
    let mut places = vec![0; order.len()];
    for (place, &tenant) in order.iter().enumerate() {
        places[tenant] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Reads and writes of one page each, in a tenth of a second.
    fn period(pages: &[[u64; 2]]) -> PeriodDemand {
        let demand = |&[reads, writes]: &[u64; 2]| Demand {
            reads,
            writes,
            read_pages: reads,
            written_pages: writes,
        };
        let asked = pages.iter().map(demand).collect();
        PeriodDemand { seconds: 0.1, asked, ..PeriodDemand::default() }
    }

    #[test]
    fn renumbered_tenants_have_the_same_vector_and_the_same_strategy_renumbered() {
        let intensity = Intensity { requests_per_s_max: 10_000.0 };
        let pages = [[100, 2], [0, 50], [300, 10], [3, 200]];
        let observed = ObservedMix::new(&period(&pages), intensity);
        assert_eq!(observed.level, 13);
        assert_eq!(observed.writers, [false, true, false, true]);
        let vector = observed.vector();
        assert_eq!(vector[1..5], [0.0, 0.0, 1.0, 1.0]);
        assert!(vector[5] > vector[6] && vector[7] > vector[8]);
        let strategy: Strategy = "3:1:2:2".parse().unwrap();
        // The busiest writer is the last tenant, the busiest reader the third.
        let on_drive = observed.to_drive(&strategy);
        assert_eq!(on_drive.to_string(), "2:1:2:3");
        assert_eq!(observed.to_ordered(&on_drive), strategy);
        let turned = [pages[2], pages[3], pages[0], pages[1]];
        let other = ObservedMix::new(&period(&turned), intensity);
        assert_eq!(other.vector(), vector);
        assert_eq!(other.to_drive(&strategy).to_string(), "2:3:2:1");
    }

    #[test]
    fn a_silent_drive_has_no_writers() {
        let intensity = Intensity { requests_per_s_max: 1.0 };
        let observed = ObservedMix::new(&period(&[[0; 2]; 2]), intensity);
        assert_eq!((&observed.readers, &observed.writers), (&vec![false; 2], &vec![false; 2]));
        assert_eq!((observed.level, observed.shares), (0, vec![0.0; 2]));
        assert_eq!((observed.place, observed.burst), (vec![0, 1], 0.0));
    }

    #[test]
    fn pages_that_come_together_are_told_from_a_steady_load() {
        // Requests of four pages of 8 KiB, one every millisecond: 4,000 pages a second, 40 in a
        // fiftieth of the period.
        let even: Vec<Request> = (0..=500).map(|number| request(number * 1_000_000)).collect();
        // As many requests, in a fifth of the slots.
        let burst: Vec<Request> = (0..=500)
            .map(|number| request(number / 50 * 50_000_000 + number % 50 * 200_000))
            .collect();
        let all = Nanos::from_ms(500);
        let [even, burst] = [even, burst].map(|requests| first_period(&requests, 1, all, 16));
        assert_eq!((even.rate_pages(), even.asked[0].read_pages), (4_000.0, 2_000));
        // Each of the 40 pages of a fiftieth meets the 36 pages of other requests; at random it
        // would meet 40.
        let deviation = 0.04f64.sqrt() * 2_000.0 * 4.0;
        assert_eq!(even.burst(), -50.0 * 40.0 * 4.0 / deviation);
        assert_eq!(burst.rate_pages(), 4_000.0);
        assert!(burst.burst() > 100.0, "{}", burst.burst());
        assert!(even.deviation(0) < 0.1 && burst.deviation(0) < 0.1, "each tenth has a burst");
        let one_burst = PeriodDemand { slots: vec![vec![[0; 2]; 250]], ..burst.clone() };
        let mut slots = one_burst.slots.clone();
        slots[0][7] = [2_000, 0];
        let one_burst = PeriodDemand { slots, ..one_burst };
        assert!(one_burst.deviation(0) > 0.9, "{}", one_burst.deviation(0));
    }

    #[test]
    fn requests_at_random_are_no_burst_at_any_rate() {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(5);
        for count in [20, 300, 5_000] {
            let mut found: Vec<f64> = (0..200)
                .map(|_| {
                    let mut at: Vec<u64> =
                        (0..count).map(|_| rng.random_range(0..500_000_000)).collect();
                    at.sort_unstable();
                    let requests: Vec<Request> = at.into_iter().map(request).collect();
                    first_period(&requests, 1, Nanos::from_ms(500), 16).burst()
                })
                .collect();
            found.sort_by(f64::total_cmp);
            let deviation = (found.iter().map(|z| z * z).sum::<f64>() / 200.0).sqrt();
            assert!((0.8..1.2).contains(&deviation), "{count} requests: {deviation}");
            assert!(found[190] < 2.5, "{count} requests: {}", found[190]);
        }
    }

    fn request(at_ns: u64) -> Request {
        let (lba, tenant) = (ssdtune_model::Sectors(64), ssdtune_trace::TenantId(0));
        Request { at: Nanos(at_ns), lba, sectors: 64, tenant, op: ssdtune_trace::Op::Read }
    }
}
