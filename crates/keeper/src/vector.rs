//! The nine numbers by which the paper describes how four tenants share a drive.
//!
//! Liu, Chen, Tan, Zhang, Liang, Liu, "SSDKeeper: Self-Adapting Channel Allocation to Improve the
//! Performance of SSD Devices" (IPDPS 2020), sections IV-B and V-A: the overall intensity in twenty
//! levels; for each tenant 0 where writes dominate and 1 where reads do; each tenant's share of the
//! requests. The shares add up to 1.
//!
//! The paper does not say which request rates bound the levels. [`Intensity`] makes that explicit:
//! equal steps up to a rate that the caller states.

use serde::{Deserialize, Serialize};

/// The most tenants of a mix that the vector has places for.
pub const VECTOR_TENANTS: usize = 4;
/// Number of intensity levels. People count them from 1, in options and documents; networks are
/// given numbers from 0.
pub const LEVELS: u8 = 20;
/// How many numbers the vector has.
pub const FEATURES: usize = 1 + 2 * VECTOR_TENANTS;

/// Which request rate each intensity level stands for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intensity {
    /// The rate at which the highest level ends; any higher rate has the highest level too.
    pub requests_per_s_max: f64,
}

impl Intensity {
    /// The level of a rate, from 0 to [`LEVELS`] - 1: equal steps.
    pub fn level(self, requests_per_s: f64) -> u8 {
        let level = requests_per_s / self.requests_per_s_max * f64::from(LEVELS);
        // Float to int saturates, so nonsense rates end at a legal level too.
        (level as u8).min(LEVELS - 1)
    }
}

/// The features of a mix of tenants over a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MixFeatures {
    /// Intensity level, from 0 to [`LEVELS`] - 1.
    pub level: u8,
    /// Whether each tenant mostly reads; false for one that did nothing.
    pub reads: [bool; VECTOR_TENANTS],
    /// Each tenant's share of all requests, 0 to 1.
    pub shares: [f64; VECTOR_TENANTS],
}

impl MixFeatures {
    /// The vector in the paper's order: level, characteristics, shares.
    pub fn vector(&self) -> [f32; FEATURES] {
        let mut vector = [0.0; FEATURES];
        vector[0] = f32::from(self.level);
        for tenant in 0..VECTOR_TENANTS {
            vector[1 + tenant] = f32::from(u8::from(self.reads[tenant]));
            vector[1 + VECTOR_TENANTS + tenant] = self.shares[tenant] as f32;
        }
        vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_tenants_give_the_vector_of_the_paper() {
        // The form of section V-A: [f5] [1, 0, 1, 0] [0.1, 0.2, 0.3, 0.4].
        // 1,000 requests a second where the highest level ends at 4,000: 5 of 20.
        let level = Intensity { requests_per_s_max: 4000.0 }.level(1000.0);
        let (reads, shares) = ([true, false, true, false], [0.1, 0.2, 0.3, 0.4]);
        let features = MixFeatures { level, reads, shares };
        assert_eq!(features.vector(), [5.0, 1.0, 0.0, 1.0, 0.0, 0.1, 0.2, 0.3, 0.4]);
        assert_eq!(MixFeatures::default().vector(), [0.0; FEATURES]);
    }

    #[test]
    fn every_rate_has_a_legal_level() {
        let intensity = Intensity { requests_per_s_max: 10.0 };
        let rates = [-1.0, 0.0, 0.4, 0.5, 9.9, 10.0, 1e300, f64::NAN];
        assert_eq!(rates.map(|rate| intensity.level(rate)), [0, 0, 0, 1, 19, 19, 19, 0]);
    }
}
