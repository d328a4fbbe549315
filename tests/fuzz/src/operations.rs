//! Sequences of operations on the flash translation layer, against the slow reference drive of its
//! own tests: any geometry, policy, tenants and MQSim switches.

#[allow(dead_code, reason = "the tests of the flash translation layer use all of it")]
#[path = "../../../crates/ftl/tests/reference_model"]
mod reference_model {
    pub(super) mod cached_mapping;
    pub(super) mod cases;
    pub(super) mod drive;
    pub(super) mod driver;
}

use reference_model::cases;
use reference_model::driver::Driver;

/// Operations in a run at most, so that a run ends soon.
const STEPS_MAX: usize = 4_000;

/// The first four bytes are the number of a drive, every further pair is an operation.
pub(crate) fn ftl(bytes: &[u8]) {
    let Some((number, words)) = bytes.split_first_chunk::<4>() else { return };
    let mut driver = Driver::new(&cases::case(u32::from_le_bytes(*number).into()));
    for (step, word) in words.chunks_exact(2).take(STEPS_MAX).enumerate() {
        driver.step(u16::from_le_bytes([word[0], word[1]]).into());
        if step % 256 == 255 {
            driver.check();
        }
    }
    driver.drain();
}
