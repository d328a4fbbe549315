//! Wear in time: reads that must be repeated, and array times that change with the erases of a
//! block.
//!
//! An attempt to read a page of a block with e erases fails with the chance p = p0 + p1 e / 1000.
//! It is repeated until it succeeds or the repetitions are used up. How often a page is read again
//! is decided by the seed, its place and the erases of its block: a weak page stays weak until its
//! block is erased. Each attempt takes the array read time. A time t becomes t (1 + g e / 1000),
//! but at least a tenth of t and at most a quarter of an hour.
//!
//! Left out: the commands that shift the read voltage (well below a microsecond each), the time
//! that error correction takes, data retention, read disturb.

use crate::operation::Work;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::Phys;
use ssdtune_model::{DeviceConfig, Nanos, split_mix};

/// The smallest share of a time that wear leaves of it.
const LEAST: f64 = 0.1;
/// The longest operation, in nanoseconds: as long as the longest that a configuration may state.
const LONGEST_NS: u64 = 999_999_999_999;

/// How the drive ages.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Wear {
    seed: u64,
    /// The chance that reading a page of a new block fails.
    retry: f64,
    /// How much that chance grows with each erase.
    retry_per_cycle: f64,
    /// Repetitions of a read, at most.
    retries_max: u32,
    /// The share by which reads, programs and erases become longer with each erase.
    growth_per_cycle: [f64; 3],
}

impl Wear {
    /// How a drive ages; `None` if nothing in it does.
    pub fn new(config: &DeviceConfig) -> Option<Self> {
        let ageing = &config.ageing;
        let growth = [
            ageing.read_growth_per_1000_cycles,
            ageing.program_growth_per_1000_cycles,
            ageing.erase_growth_per_1000_cycles,
        ];
        let retries =
            ageing.retry_probability > 0.0 || ageing.retry_probability_per_1000_cycles > 0.0;
        if !retries && growth == [0.0; 3] {
            return None;
        }
        Some(Self {
            seed: config.run.seed,
            retry: ageing.retry_probability,
            retry_per_cycle: ageing.retry_probability_per_1000_cycles / 1000.0,
            retries_max: ageing.retries_max,
            growth_per_cycle: growth.map(|growth| growth / 1000.0),
        })
    }

    /// The time of an operation on a block with a number of erases. `fresh` is the time on a new
    /// block.
    pub fn time(&self, work: Work, fresh: Nanos, erases: u32) -> Nanos {
        let growth = self.growth_per_cycle[match work {
            Work::Read => 0,
            Work::Program => 1,
            Work::Erase => 2,
        }];
        let factor = (1.0 + growth * f64::from(erases)).max(LEAST);
        Nanos(((fresh.0 as f64 * factor).round() as u64).min(LONGEST_NS))
    }

    /// The time of a read with repetitions.
    pub fn repeated(once: Nanos, retries: u32) -> Nanos {
        Nanos((once.0 * (1 + u64::from(retries))).min(LONGEST_NS))
    }

    /// How often a page is read again.
    pub fn retries(&self, page: Phys, erases: u32) -> u32 {
        let fails = (self.retry + self.retry_per_cycle * f64::from(erases)).min(1.0);
        if fails <= 0.0 {
            return 0;
        }
        // 53 bits, as a number below 1.
        let mixed = split_mix(self.seed ^ split_mix(page.to_bits() ^ split_mix(erases.into())));
        let draw = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
        let mut left = fails;
        let mut retries = 0;
        while retries < self.retries_max && draw < left {
            retries += 1;
            left *= fails;
        }
        retries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ageing(change: impl FnOnce(&mut ssdtune_model::config::Ageing)) -> Option<Wear> {
        let mut config = DeviceConfig::default();
        change(&mut config.ageing);
        Wear::new(&config)
    }

    #[test]
    fn a_default_drive_does_not_age() {
        assert!(ageing(|_| {}).is_none());
    }

    #[test]
    fn times_grow_with_the_erases_of_the_block() {
        let ageing = ageing(|ageing| {
            ageing.read_growth_per_1000_cycles = 0.1;
            ageing.program_growth_per_1000_cycles = -0.05;
            ageing.erase_growth_per_1000_cycles = 0.5;
        })
        .expect("it ages");
        let times =
            |work, fresh| [0, 1_000, 3_000, 30_000].map(|e| ageing.time(work, Nanos(fresh), e).0);
        assert_eq!(times(Work::Read, 50_000), [50_000, 55_000, 65_000, 200_000]);
        assert_eq!(times(Work::Program, 800_000), [800_000, 760_000, 680_000, 80_000]);
        assert_eq!(times(Work::Erase, 3_000_000), [3_000_000, 4_500_000, 7_500_000, 48_000_000]);
    }

    #[test]
    fn a_fair_share_of_pages_is_read_again_and_the_same_ones_every_time() {
        let ageing = ageing(|ageing| {
            ageing.retry_probability = 0.1;
            ageing.retry_probability_per_1000_cycles = 0.2;
            ageing.retries_max = 2;
        })
        .expect("it ages");
        for (erases, fails) in [(0, 0.1), (1_000, 0.3), (2_000, 0.5), (9_000, 1.0)] {
            let mut counts = [0.0_f64; 4];
            for page in 0..100_000 {
                let retries = ageing.retries(Phys::from_bits(page), erases);
                assert_eq!(retries, ageing.retries(Phys::from_bits(page), erases));
                counts[retries as usize] += 1e-5;
            }
            let expected: [f64; 4] = [1.0 - fails, fails * (1.0 - fails), fails * fails, 0.0];
            for (&got, expected) in counts.iter().zip(expected) {
                // Five standard deviations.
                assert!(
                    (got - expected).abs() < 5.0 * (0.25_f64 / 1e5).sqrt(),
                    "{counts:?}, {fails}"
                );
            }
        }
    }
}
