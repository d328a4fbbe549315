//! Random numbers: one seed gives an independent stream for each purpose.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rand_xoshiro::SplitMix64;
use rand08::{RngCore as _, SeedableRng as _};

/// The step of SplitMix64 from one state to the next.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Stream number `index` of `seed`. Streams of different numbers are independent: SplitMix64 mixes
/// number and seed.
pub(crate) fn stream(seed: u64, index: u64) -> Pcg64 {
    let state = seed ^ index.wrapping_add(1).wrapping_mul(STEP);
    // The generator takes a step before each draw.
    let mut spread = SplitMix64::seed_from_u64(state.wrapping_sub(STEP));
    Pcg64::seed_from_u64(spread.next_u64())
}

/// Puts the items in random order by the method of Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Pcg64) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.random_range(0..=last));
    }
}
