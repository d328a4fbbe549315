//! Named random sub-streams: one seed, one independent stream for each purpose.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The stream `index` of `seed`, independent of every other index (SplitMix64 spreads both).
pub(crate) fn stream(seed: u64, index: u64) -> Pcg64 {
    let mut mixed = seed ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Pcg64::seed_from_u64(mixed ^ (mixed >> 31))
}

/// Fisher and Yates' shuffle.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Pcg64) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.random_range(0..=last));
    }
}
