//! Seeds of generated streams: three disjoint sets, and a named random sub-stream for each decision
//! of a generator.
//!
//! The set chooses the increment of the PCG64 generator. Generators with different increments run
//! through different sequences, so a training stream never shares random numbers with a held-out
//! one. Each decision (gaps, operations, sizes, places) draws from its own sub-stream: a variant
//! that changes the working set keeps the arrival times of the original.

use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_model::split_mix;

/// What a generated stream is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedSet {
    /// For tuning and learning.
    #[default]
    Training,
    /// For choosing between learned results.
    Validation,
    /// For final figures only.
    HeldOut,
}

impl SeedSet {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Training, Self::Validation, Self::HeldOut];

    /// The name of the set on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::HeldOut => "held-out",
        }
    }
}

impl std::str::FromStr for SeedSet {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|set| set.name() == name)
            .ok_or_else(|| format!("no seed set `{name}`: use training, validation or held-out"))
    }
}

/// Chooses one stream of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seed {
    /// The set.
    pub set: SeedSet,
    /// The number of the stream in the set. Streams with different numbers are independent.
    pub index: u64,
}

impl Seed {
    /// The random generator of the sub-stream `purpose` of a tenant in the model called `model`.
    pub(crate) fn stream(self, model: &str, tenant: usize, purpose: &str) -> Pcg64 {
        let mut low = fnv1a(0xcbf2_9ce4_8422_2325, model.as_bytes());
        low = fnv1a(low, &(tenant as u64).to_le_bytes());
        low = fnv1a(low, purpose.as_bytes());
        let high = split_mix(self.index ^ split_mix(low));
        let state = (u128::from(high) << 64) | u128::from(split_mix(low ^ high));
        // The two lowest bits of the increment before its shift are the set, so that increments of
        // different sets differ.
        let increment = (u128::from(split_mix(low)) << 2) | self.set as u128;
        Pcg64::new(state, increment)
    }
}

fn fnv1a(seed: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(seed, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn sets_indices_tenants_and_purposes_give_different_streams() {
        let mut firsts = std::collections::BTreeSet::new();
        let mut count = 0;
        for set in SeedSet::ALL {
            for index in 0..4 {
                for tenant in 0..3 {
                    for purpose in ["gap", "op", "size", "place"] {
                        let mut rng = Seed { set, index }.stream("m", tenant, purpose);
                        firsts.insert(rng.next_u64());
                        count += 1;
                    }
                }
            }
        }
        assert_eq!(firsts.len(), count);
    }

    #[test]
    fn names_round_trip_and_an_unknown_one_is_refused() {
        for set in SeedSet::ALL {
            assert_eq!(set.name().parse(), Ok(set));
        }
        assert!("test".parse::<SeedSet>().unwrap_err().contains("held-out"));
    }
}
