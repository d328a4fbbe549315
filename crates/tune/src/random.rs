//! Random numbers of decisions: a generator for each, so that neither threads nor interruptions
//! change what is drawn.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use ssdtune_model::{GOLDEN_STEP, scramble};

/// The generator of one decision, by the seed of the search, the iteration, and the place within
/// it.
pub(crate) fn stream(seed: u64, iteration: u64, slot: u64) -> Pcg64Mcg {
    let step = |hash: u64, word| scramble(hash.wrapping_add(GOLDEN_STEP) ^ scramble(word));
    Pcg64Mcg::seed_from_u64(step(step(step(0, seed), iteration), slot))
}
