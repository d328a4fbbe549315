//! Random numbers: one seed gives an independent stream for each purpose.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Stream number `index` of `seed`. Streams of different numbers are independent: SplitMix64 mixes
/// number and seed.
pub(crate) fn stream(seed: u64, index: u64) -> Pcg64 {
    let mut mixed = seed ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Pcg64::seed_from_u64(mixed ^ (mixed >> 31))
}

/// Puts the items in random order by the method of Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Pcg64) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.random_range(0..=last));
    }
}
