//! What a decision is made from: the paper's nine numbers, seen from a running drive, in an order of tenants that
//! does not depend on who is called first, and how far the requests came in bursts.
//!
//! Intensity and shares count flash pages, not requests: for requests of one page that is the paper's count, and
//! for larger ones it says what the drive has to do. Channels are all alike, so a mix with its tenants renumbered
//! has the same best strategy, renumbered. [`Seen`] therefore puts tenants in one order (writers first, the
//! busiest first), and a network needs to learn one mix where it would have to learn 24.
//!
//! The nine numbers do not tell a steady load from one that comes in bursts, and what is best for the one is ruinous
//! for the other. So a period is gathered in [`SLOTS`] slots, and beside the mean rate stands the one that a page
//! meets; their difference is 0 for requests that come at random ([`Period::met_rate_pages`]).

use crate::mix::Mix;
use crate::strategy::Strategy;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_sim::Demand;
use ssdtune_trace::Request;
use ssdtune_trace::features::ssdkeeper::{Intensity, LENGTH, LEVELS, MixFeatures, TENANTS};

/// Slots of a period.
pub const SLOTS: u64 = 50;

/// What was asked for in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// Pages in a second.
    pub rate_pages: f64,
    /// The same as a page meets it: the mean, over all pages, of the rate at which other requests ask for pages in
    /// its slot. Of requests that come at random it is the mean rate, whatever their sizes.
    pub met_rate_pages: f64,
    /// Pages read and written by each tenant.
    pub pages: Vec<[u64; 2]>,
}

/// Gathers a period slot by slot.
#[derive(Clone, Debug)]
pub struct Collector {
    slot: Nanos,
    slots: u64,
    /// Pairs of pages in one slot that belong to different requests.
    pairs: f64,
    pages: Vec<[u64; 2]>,
}

impl Collector {
    /// Nothing yet, of so many tenants; a period of a length has [`SLOTS`] slots.
    pub fn new(tenants: usize, period: Nanos) -> Self {
        let slot = Nanos((period.0 / SLOTS).max(1));
        Self { slot, slots: 0, pairs: 0.0, pages: vec![[0; 2]; tenants] }
    }

    /// How long a slot is.
    pub fn slot(&self) -> Nanos {
        self.slot
    }

    /// Adds a slot: what each tenant asked for in it.
    pub fn add(&mut self, asked: impl Iterator<Item = Demand>) {
        let (mut all, mut own) = (0, 0.0);
        for (pages, demand) in self.pages.iter_mut().zip(asked) {
            pages[0] += demand.read_pages;
            pages[1] += demand.written_pages;
            all += demand.pages();
            // Pairs inside requests: as many of each kind as if all were of the mean size.
            let inside =
                |pages: u64, requests: u64| (pages as f64).powi(2) / requests.max(1) as f64;
            own += inside(demand.read_pages, demand.reads);
            own += inside(demand.written_pages, demand.writes);
        }
        self.pairs += (all as f64).powi(2) - own;
        self.slots += 1;
    }

    /// Whether the period has ended.
    pub fn is_full(&self) -> bool {
        self.slots >= SLOTS
    }

    /// What was added, and begins anew.
    pub fn take(&mut self) -> Period {
        let tenants = self.pages.len();
        let all: u64 = self.pages.iter().flatten().sum();
        let seconds = self.slot.as_secs_f64() * self.slots as f64;
        let per = |sum: f64, of: f64| if of > 0.0 { sum / of } else { 0.0 };
        let period = Period {
            rate_pages: per(all as f64, seconds),
            met_rate_pages: per(self.pairs, all as f64 * self.slot.as_secs_f64()),
            pages: std::mem::replace(&mut self.pages, vec![[0; 2]; tenants]),
        };
        (self.slots, self.pairs) = (0, 0.0);
        period
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
        collector.add(asked.iter().copied());
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
    /// How much more than the mean rate a page meets, in levels.
    pub burst: f64,
}

impl Seen {
    /// What was asked for in a period.
    ///
    /// # Panics
    /// More tenants than the vector has places.
    pub fn new(period: &Period, intensity: Intensity) -> Self {
        let tenants = period.pages.len();
        assert!(tenants <= TENANTS, "{tenants} tenants are too many");
        let all: u64 = period.pages.iter().flatten().sum();
        let mut features =
            MixFeatures { level: intensity.level(period.rate_pages), ..MixFeatures::default() };
        for (tenant, [read, written]) in period.pages.iter().enumerate() {
            features.reads[tenant] = read > written;
            features.shares[tenant] = (read + written) as f64 / all.max(1) as f64;
        }
        let writers = period.pages.iter().map(|[read, written]| written > read).collect();
        let burst = (period.met_rate_pages - period.rate_pages) / intensity.requests_per_s_max;
        Self { burst: burst * f64::from(LEVELS), ..Self::ordered(features, writers) }
    }

    /// What a mix is drawn as.
    pub fn of_mix(mix: &Mix) -> Self {
        let mut features = MixFeatures { level: mix.level - 1, ..MixFeatures::default() };
        for (tenant, drawn) in mix.tenants.iter().enumerate() {
            features.reads[tenant] = !drawn.writes;
            features.shares[tenant] = drawn.share;
        }
        Self::ordered(features, mix.writers())
    }

    fn ordered(features: MixFeatures, writers: Vec<bool>) -> Self {
        let mut order: Vec<usize> = (0..writers.len()).collect();
        order.sort_by(|&a, &b| {
            let busier = features.shares[b].total_cmp(&features.shares[a]);
            (!writers[a]).cmp(&!writers[b]).then(busier)
        });
        let mut place = vec![0; order.len()];
        for (number, &tenant) in order.iter().enumerate() {
            place[tenant] = number;
        }
        Self { features, writers, place, burst: 0.0 }
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

    fn period(pages: &[[u64; 2]]) -> Period {
        let all: u64 = pages.iter().flatten().sum();
        let rate_pages = all as f64 * 10.0;
        Period { rate_pages, met_rate_pages: rate_pages, pages: pages.to_vec() }
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
    fn a_page_meets_the_mean_rate_unless_requests_come_together() {
        // Requests of four pages of 8 KiB, one every millisecond: 4,000 pages a second in slots of 10 ms.
        let even: Vec<Request> = (0..=500).map(|number| request(number * 1_000_000)).collect();
        // The same in a fifth of the slots.
        let burst: Vec<Request> = (0..=500)
            .map(|number| request(number / 50 * 50_000_000 + number % 50 * 200_000))
            .collect();
        let all = Nanos::from_ms(500);
        let [even, burst] = [even, burst].map(|requests| first_period(&requests, 1, all, 16));
        assert_eq!((even.rate_pages, even.pages[0]), (4_000.0, [2_000, 0]));
        // Nine other requests of four pages in each slot.
        assert!((even.met_rate_pages - 3_600.0).abs() < 1e-6, "{even:?}");
        assert_eq!(burst.rate_pages, 4_000.0);
        assert!((burst.met_rate_pages - 4.0 * 49.0 * 100.0).abs() < 1e-6, "{burst:?}");
    }

    fn request(at_ns: u64) -> Request {
        let (lba, tenant) = (ssdtune_model::Sectors(64), ssdtune_trace::TenantId(0));
        Request { at: Nanos(at_ns), lba, sectors: 64, tenant, op: ssdtune_trace::Op::Read }
    }
}
