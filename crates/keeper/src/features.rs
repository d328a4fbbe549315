//! What a decision is made from: the paper's nine numbers, seen from a running drive, in an order of tenants that
//! does not depend on who is called first, and how far the requests came in bursts.
//!
//! Intensity and shares count flash pages, not requests: for requests of one page that is the paper's count, and
//! for larger ones it says what the drive has to do. Channels are all alike, so a mix with its tenants renumbered
//! has the same best strategy, renumbered. [`Seen`] therefore puts tenants in one order (writers first, the
//! busiest first), and a network needs to learn one mix where it would have to learn 24.
//!
//! The nine numbers do not tell a steady load from one that comes in bursts, and what is best for the one is ruinous
//! for the other. So a period is gathered in [`SLOTS`] slots, and it is counted how often pages came together
//! ([`Period::burst`]).

use crate::mix::Mix;
use crate::strategy::Strategy;
use crate::vector::{Intensity, LENGTH, MixFeatures, TENANTS};
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_sim::Demand;
use ssdtune_trace::Request;

/// Slots of a period.
pub const SLOTS: u64 = 50;

/// What was asked for in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// Its length.
    pub seconds: f64,
    /// What each tenant asked for.
    pub asked: Vec<Demand>,
    /// How often two pages of different requests came in one slot, in either order: both of one tenant, for each.
    pub own_pairs: Vec<f64>,
    /// The same, of whomever.
    pub all_pairs: f64,
}

impl Period {
    /// Flash pages that were asked for.
    pub fn pages(&self) -> u64 {
        self.asked.iter().map(Demand::pages).sum()
    }

    /// The same in a second.
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

    /// How many standard deviations more often pages met in one slot than those of requests at random do, of as many
    /// requests of these sizes: of the tenant whose came together most, or of all. Whatever the load, nearly all
    /// requests at random stay within 4.
    pub fn burst(&self) -> f64 {
        // Of N requests of mean square size m in S slots: variance 2 (N m)² / S.
        let of = |pairs: f64, pages: u64, inside: f64| {
            let expected = (pages as f64).powi(2) / SLOTS as f64;
            ratio(pairs - expected, (2.0 / SLOTS as f64).sqrt() * inside)
        };
        let own = self.asked.iter().zip(&self.own_pairs);
        let own = own.map(|(asked, &pairs)| of(pairs, asked.pages(), inside(asked)));
        let all = of(self.all_pairs, self.pages(), self.asked.iter().map(inside).sum());
        own.fold(all, f64::max)
    }
}

/// Pairs of pages inside requests: as many of each kind as if all were of the mean size.
fn inside(asked: &Demand) -> f64 {
    let of = |pages: u64, requests: u64| ratio((pages as f64).powi(2), requests as f64);
    of(asked.read_pages, asked.reads) + of(asked.written_pages, asked.writes)
}

fn ratio(sum: f64, of: f64) -> f64 {
    if of > 0.0 { sum / of } else { 0.0 }
}

/// Gathers a period slot by slot.
#[derive(Clone, Debug)]
pub struct Collector {
    slot: Nanos,
    slots: u64,
    asked: Vec<Demand>,
    own_pairs: Vec<f64>,
    all_pairs: f64,
}

impl Collector {
    /// Nothing yet, of so many tenants; a period of a length has [`SLOTS`] slots.
    pub fn new(tenants: usize, period: Nanos) -> Self {
        Self {
            slot: Nanos((period.0 / SLOTS).max(1)),
            slots: 0,
            asked: vec![Demand::default(); tenants],
            own_pairs: vec![0.0; tenants],
            all_pairs: 0.0,
        }
    }

    /// How long a slot is.
    pub fn slot(&self) -> Nanos {
        self.slot
    }

    /// Adds a slot: what each tenant asked for in it.
    pub fn add(&mut self, asked: &[Demand]) {
        let pairs = |pages: u64, inside: f64| (pages as f64).powi(2) - inside;
        let (mut all, mut all_inside) = (0, 0.0);
        for ((sum, own_pairs), own) in self.asked.iter_mut().zip(&mut self.own_pairs).zip(asked) {
            let (pages, inside) = (own.pages(), inside(own));
            *sum += *own;
            *own_pairs += pairs(pages, inside);
            (all, all_inside) = (all + pages, all_inside + inside);
        }
        self.all_pairs += pairs(all, all_inside);
        self.slots += 1;
    }

    /// Whether the period has ended.
    pub fn is_full(&self) -> bool {
        self.slots >= SLOTS
    }

    /// What was added, and begins anew.
    pub fn take(&mut self) -> Period {
        let seconds = self.slot.as_secs_f64() * self.slots as f64;
        let fresh = Self::new(self.asked.len(), Nanos(self.slot.0 * SLOTS));
        let Self { asked, own_pairs, all_pairs, .. } = std::mem::replace(self, fresh);
        Period { seconds, asked, own_pairs, all_pairs }
    }
}

/// The first period of requests in order of time, of so many tenants.
pub fn first_period(
    requests: &[Request],
    tenants: usize,
    period: Nanos,
    page_sectors: u32,
) -> Period {
    // A run that is shorter than the period is one.
    let end = requests.last().map_or(period, |last| last.at + Nanos(1));
    let mut collector = Collector::new(tenants, period.min(end));
    let mut slot_end = collector.slot();
    let mut asked = vec![Demand::default(); tenants];
    let mut requests = requests.iter().peekable();
    while !collector.is_full() {
        while let Some(request) = requests.next_if(|request| request.at < slot_end) {
            let pages = pages_of(request, page_sectors);
            asked[usize::from(request.tenant.0)].count(request.op, pages);
        }
        collector.add(&asked);
        asked.fill(Demand::default());
        slot_end += collector.slot();
    }
    collector.take()
}

/// Flash pages that a request touches.
pub fn pages_of(request: &Request, page_sectors: u32) -> u64 {
    let page_sectors = u64::from(page_sectors);
    let end = request.lba.0 + u64::from(request.sectors.max(1));
    (end - 1) / page_sectors - request.lba.0 / page_sectors + 1
}

/// Features of tenants, ordered.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The features, tenants in their order on the drive.
    pub features: MixFeatures,
    /// Whether each tenant mostly writes.
    pub writers: Vec<bool>,
    /// `place[tenant]` is the tenant's number among the ordered.
    pub place: Vec<usize>,
    /// How far requests came together, see [`Period::burst`].
    pub burst: f64,
    /// What each tenant asks for in a second.
    pub rates: Vec<Rates>,
    /// How long it was looked at.
    pub seconds: f64,
}

/// What is asked for in a second, reads first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Requests.
    pub requests: [f64; 2],
    /// Flash pages.
    pub pages: [f64; 2],
}

impl Rates {
    /// The standard deviation of the pages that come in so many seconds, as a share of them, if requests come at random.
    pub fn deviation(&self, seconds: f64) -> f64 {
        let squares: f64 = (0..2).map(|n| ratio(self.pages[n].powi(2), self.requests[n])).sum();
        ratio(squares.sqrt(), self.pages.iter().sum::<f64>() * seconds.sqrt())
    }

    /// Of all of some tenants.
    pub fn sum<'a>(rates: impl Iterator<Item = &'a Self>) -> Self {
        rates.fold(Self::default(), |mut all, own| {
            for direction in 0..2 {
                all.requests[direction] += own.requests[direction];
                all.pages[direction] += own.pages[direction];
            }
            all
        })
    }
}

impl Seen {
    /// What was asked for in a period.
    ///
    /// # Panics
    /// More tenants than the vector has places.
    pub fn new(period: &Period, intensity: Intensity) -> Self {
        let tenants = period.asked.len();
        assert!(tenants <= TENANTS, "{tenants} tenants are too many");
        let level = intensity.level(period.rate_pages());
        let mut features = MixFeatures { level, ..MixFeatures::default() };
        for (tenant, asked) in period.asked.iter().enumerate() {
            features.reads[tenant] = asked.read_pages > asked.written_pages;
            features.shares[tenant] = ratio(asked.pages() as f64, period.pages() as f64);
        }
        let writers = period.asked.iter().map(|a| a.written_pages > a.read_pages).collect();
        let ordered = Self::ordered(features, writers, period.rates());
        Self { burst: period.burst(), seconds: period.seconds, ..ordered }
    }

    /// What a mix is drawn as, as if that had been seen in a period.
    pub fn of_mix(mix: &Mix, rate_max_pages: f64, period: Nanos) -> Self {
        let mut features = MixFeatures { level: mix.level - 1, ..MixFeatures::default() };
        for (tenant, drawn) in mix.tenants.iter().enumerate() {
            features.reads[tenant] = !drawn.writes;
            features.shares[tenant] = drawn.share;
        }
        let ordered = Self::ordered(features, mix.writers(), mix.rates(rate_max_pages));
        Self { seconds: period.as_secs_f64(), ..ordered }
    }

    fn ordered(features: MixFeatures, writers: Vec<bool>, rates: Vec<Rates>) -> Self {
        let mut order: Vec<usize> = (0..writers.len()).collect();
        order.sort_by(|&a, &b| {
            let busier = features.shares[b].total_cmp(&features.shares[a]);
            (!writers[a]).cmp(&!writers[b]).then(busier)
        });
        let mut place = vec![0; order.len()];
        for (number, &tenant) in order.iter().enumerate() {
            place[tenant] = number;
        }
        Self { features, writers, place, burst: 0.0, rates, seconds: 0.0 }
    }

    /// The nine numbers, tenants ordered.
    pub fn vector(&self) -> [f64; LENGTH] {
        let mut ordered = MixFeatures { level: self.features.level, ..MixFeatures::default() };
        for (tenant, &place) in self.place.iter().enumerate() {
            ordered.reads[place] = self.features.reads[tenant];
            ordered.shares[place] = self.features.shares[tenant];
        }
        ordered.vector().map(f64::from)
    }

    /// A strategy for the ordered tenants, as one for the drive's.
    pub fn to_drive(&self, strategy: &Strategy) -> Strategy {
        strategy.reordered(&self.place)
    }

    /// A strategy for the drive's tenants, as one for the ordered.
    pub fn to_ordered(&self, strategy: &Strategy) -> Strategy {
        let mut order = vec![0; self.place.len()];
        for (tenant, &place) in self.place.iter().enumerate() {
            order[place] = tenant;
        }
        strategy.reordered(&order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Requests of one page, in a tenth of a second.
    fn period(pages: &[[u64; 2]]) -> Period {
        let demand = |&[reads, writes]: &[u64; 2]| Demand {
            reads,
            writes,
            read_pages: reads,
            written_pages: writes,
        };
        let asked = pages.iter().map(demand).collect();
        Period { seconds: 0.1, asked, ..Period::default() }
    }

    #[test]
    fn renumbered_tenants_have_the_same_vector_and_the_same_strategy_renumbered() {
        let intensity = Intensity { requests_per_s_max: 10_000.0 };
        let pages = [[100, 2], [0, 50], [300, 10], [3, 200]];
        let seen = Seen::new(&period(&pages), intensity);
        assert_eq!(seen.features.level, 13);
        assert_eq!(seen.writers, [false, true, false, true]);
        let vector = seen.vector();
        assert_eq!(vector[1..5], [0.0, 0.0, 1.0, 1.0]);
        assert!(vector[5] > vector[6] && vector[7] > vector[8]);
        let strategy: Strategy = "3:1:2:2".parse().unwrap();
        // The busiest writer is the last tenant, the busiest reader the third.
        let on_drive = seen.to_drive(&strategy);
        assert_eq!(on_drive.to_string(), "2:1:2:3");
        assert_eq!(seen.to_ordered(&on_drive), strategy);
        let turned = [pages[2], pages[3], pages[0], pages[1]];
        let other = Seen::new(&period(&turned), intensity);
        assert_eq!(other.vector(), vector);
        assert_eq!(other.to_drive(&strategy).to_string(), "2:3:2:1");
    }

    #[test]
    fn a_silent_drive_has_no_writers() {
        let intensity = Intensity { requests_per_s_max: 1.0 };
        let seen = Seen::new(&period(&[[0; 2]; 2]), intensity);
        assert_eq!((seen.writers.clone(), seen.features), (vec![false; 2], MixFeatures::default()));
        assert_eq!((seen.place, seen.burst), (vec![0, 1], 0.0));
    }

    #[test]
    fn pages_that_come_together_are_told_from_a_steady_load() {
        // Requests of four pages of 8 KiB, one every millisecond: 4,000 pages a second in slots of 10 ms.
        let even: Vec<Request> = (0..=500).map(|number| request(number * 1_000_000)).collect();
        // The same in a fifth of the slots.
        let burst: Vec<Request> = (0..=500)
            .map(|number| request(number / 50 * 50_000_000 + number % 50 * 200_000))
            .collect();
        let all = Nanos::from_ms(500);
        let [even, burst] = [even, burst].map(|requests| first_period(&requests, 1, all, 16));
        assert_eq!((even.rate_pages(), even.asked[0].read_pages), (4_000.0, 2_000));
        // Of each slot's 40 pages each meets the 36 of other requests; at random it would be 40.
        assert_eq!(even.all_pairs, 50.0 * 40.0 * 36.0);
        let deviation = 0.04f64.sqrt() * 2_000.0 * 4.0;
        assert_eq!(even.burst(), -50.0 * 40.0 * 4.0 / deviation);
        assert_eq!((burst.rate_pages(), burst.all_pairs), (4_000.0, 10.0 * 200.0 * 196.0));
        assert_eq!(burst.own_pairs, [burst.all_pairs]);
        assert!(burst.burst() > 100.0, "{}", burst.burst());
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
