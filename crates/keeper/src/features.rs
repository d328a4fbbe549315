//! What a decision is made from: the paper's nine numbers, seen from a running drive, in an order of tenants that
//! does not depend on who is called first.
//!
//! Intensity and shares count flash pages, not requests: for requests of one page that is the paper's count, and
//! for larger ones it says what the drive has to do. Channels are all alike, so a mix with its tenants renumbered
//! has the same best strategy, renumbered. [`Seen`] therefore puts tenants in one order (writers first, the
//! busiest first), and a network needs to learn one mix where it would have to learn 24.

use ssdtune_model::Nanos;
use ssdtune_sim::Demand;
use ssdtune_trace::features::ssdkeeper::{Intensity, LENGTH, MixFeatures, TENANTS};

use crate::mix::Mix;
use crate::strategy::Strategy;

/// Features of tenants, ordered.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The features, tenants in their order on the drive.
    pub features: MixFeatures,
    /// Whether each tenant mostly writes.
    pub writers: Vec<bool>,
    /// `place[tenant]` is the tenant's number among the ordered.
    pub place: Vec<usize>,
}

impl Seen {
    /// What was asked for in a period.
    ///
    /// # Panics
    /// More tenants than the vector has places.
    pub fn new(demands: &[Demand], period: Nanos, intensity: Intensity) -> Self {
        assert!(demands.len() <= TENANTS, "{} tenants are too many", demands.len());
        let all: u64 = demands.iter().map(Demand::pages).sum();
        let mut features = MixFeatures::default();
        if all > 0 && period > Nanos::ZERO {
            features.level = intensity.level(all as f64 / period.as_secs_f64());
        }
        let mut writers = Vec::with_capacity(demands.len());
        for (tenant, demand) in demands.iter().enumerate() {
            features.reads[tenant] = demand.read_pages > demand.written_pages;
            features.shares[tenant] = demand.pages() as f64 / all.max(1) as f64;
            writers.push(demand.written_pages > demand.read_pages);
        }
        Self::ordered(features, writers)
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
        Self { features, writers, place }
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

    fn demand(reads: u64, writes: u64) -> Demand {
        Demand { reads, writes, read_pages: reads, written_pages: writes }
    }

    #[test]
    fn renumbered_tenants_have_the_same_vector_and_the_same_strategy_renumbered() {
        let intensity = Intensity { requests_per_s_max: 10_000.0 };
        let demands = [demand(100, 2), demand(0, 50), demand(300, 10), demand(3, 200)];
        let seen = Seen::new(&demands, Nanos::from_ms(100), intensity);
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
        let turned = [demands[2], demands[3], demands[0], demands[1]];
        let other = Seen::new(&turned, Nanos::from_ms(100), intensity);
        assert_eq!(other.vector(), vector);
        assert_eq!(other.to_drive(&strategy).to_string(), "2:3:2:1");
    }

    #[test]
    fn a_silent_drive_has_no_writers() {
        let intensity = Intensity { requests_per_s_max: 1.0 };
        let seen = Seen::new(&[Demand::default(); 2], Nanos::from_ms(1), intensity);
        assert_eq!((seen.writers.clone(), seen.features), (vec![false; 2], MixFeatures::default()));
        assert_eq!(seen.place, [0, 1]);
    }
}
