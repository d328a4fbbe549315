//! Random numbers for decisions. Each decision has a generator of its own, so that neither threads
//! nor interruptions change what is drawn.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use ssdtune_model::{GOLDEN_STEP, scramble};

/// The generator of one decision: the `slot`-th one of an iteration of the search with this seed.
pub(crate) fn stream(seed: u64, iteration: u64, slot: u64) -> Pcg64Mcg {
    let step = |hash: u64, word| scramble(hash.wrapping_add(GOLDEN_STEP) ^ scramble(word));
    Pcg64Mcg::seed_from_u64(step(step(step(0, seed), iteration), slot))
}
