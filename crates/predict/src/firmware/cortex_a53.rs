//! A timing model of the paper's target core, computed from the events that callgrind counts with
//! that core's caches.
//!
//! The core is a Cortex-A53 at 1.2 GHz: in order, two instructions a cycle at best, 32 KiB of
//! first-level caches, 256 KiB behind them, DDR4 behind that, no third level (Table 3). Since the
//! core works in order, latencies add up:
//!
//! | cost | cycles | reason |
//! |---|---|---|
//! | an instruction | 0.75 | dual issue, paired as ARM's optimisation notes allow |
//! | a load | 0.5 | every second load is waited for by its user, for one cycle |
//! | a first-level miss | 13 | latency of the second level, less the two cycles of a hit |
//! | a last-level miss | 120 | 100 ns of DDR4-2400 behind an AXI interconnect |
//! | a mispredicted branch | 8 | an eight-stage pipeline |
//!
//! Instructions are those of x86-64; AArch64 needs up to 10 % more or fewer. **The time is a
//! function of events by construction**, so a model that is learned from such events finds the
//! function again, which proves little. The timing model stands in where there is no board.

use std::collections::BTreeMap;

/// Name of the timing model in a profile.
pub const NAME: &str = "timing model of a Cortex-A53 at 1.2 GHz over callgrind";

/// Cycles of the core in a nanosecond.
const CYCLES_PER_NS: f64 = 1.2;
/// Cycles that one of each event costs.
const CYCLES: [(&str, f64); 11] = [
    ("Ir", 0.75),
    ("Dr", 0.5),
    ("I1mr", 13.0),
    ("D1mr", 13.0),
    // Stores wait in a buffer, which hides half of each miss.
    ("D1mw", 6.5),
    ("ILmr", 120.0),
    ("DLmr", 120.0),
    ("DLmw", 60.0),
    ("Bcm", 8.0),
    ("Bim", 8.0),
    ("Bi", 1.0),
];

/// The time of a group in nanoseconds, from its events. An event that is missing costs nothing.
pub fn time_ns(callgrind: &BTreeMap<String, u64>) -> f64 {
    let cost = |(event, cycles): &(&str, f64)| {
        callgrind.get(*event).map_or(0.0, |&count| count as f64 * cycles)
    };
    CYCLES.iter().map(cost).sum::<f64>() / CYCLES_PER_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_by_hand() {
        let events =
            [("Ir", 1_000), ("Dr", 200), ("Dw", 100), ("D1mr", 10), ("DLmr", 2), ("Bcm", 5)];
        let events = events.map(|(name, count)| (name.to_owned(), count)).into_iter().collect();
        // 750 + 100 + 0 + 130 + 240 + 40 cycles.
        assert!((time_ns(&events) - 1_260.0 / 1.2).abs() < 1e-9);
    }
}
