//! Rows of read retry and of latencies that change with wear.

use super::{Section, row};
use crate::config::DeviceConfig;

fn needs_retries(config: &DeviceConfig) -> Option<&'static str> {
    let ageing = &config.ageing;
    (ageing.retry_probability == 0.0 && ageing.retry_probability_per_1000_cycles == 0.0)
        .then_some("reads never fail: both ageing.retry_probability keys are 0")
}

/// Ageing.
pub(super) const AGEING: Section = Section {
    name: "ageing",
    title: "Read retry, and latencies that change with wear",
    rows: &[
        row!("ageing.retry_probability", ageing.retry_probability).reals(0.0, 1.0).says(
            "Probability that an attempt to read a page of a fresh block must be repeated; each \
             page and each time \
             it is written has its own number of attempts, decided by run.seed.",
        ),
        row!("ageing.retry_probability_per_1000_cycles", ageing.retry_probability_per_1000_cycles)
            .reals(0.0, 1000.0)
            .says("What 1,000 erases of the block add to ageing.retry_probability."),
        row!("ageing.retries_max", ageing.retries_max)
            .ints(0, 255)
            .unless(needs_retries)
            .says("Repetitions of one read at most; each takes the array read time again."),
        row!("ageing.read_growth_per_1000_cycles", ageing.read_growth_per_1000_cycles)
            .reals(0.0, 1000.0)
            .says("Share of the array read time that 1,000 erases of the block add to it."),
        row!("ageing.program_growth_per_1000_cycles", ageing.program_growth_per_1000_cycles)
            .reals(-1.0, 1000.0)
            .says(
                "Share of the program time that 1,000 erases of the block add to it; worn cells \
                 are programmed \
                 faster, so it may be negative (no less than a tenth of the time remains).",
            ),
        row!("ageing.erase_growth_per_1000_cycles", ageing.erase_growth_per_1000_cycles)
            .reals(0.0, 1000.0)
            .says("Share of the erase time that 1,000 erases of the block add to it."),
    ],
};
