//! A timing model of the paper's target core, computed from the events that callgrind counts with
//! that core's caches, and in a second pass with its TLBs.
//!
//! The core is a Cortex-A53 at 1.2 GHz: in order, two instructions a cycle at best, 32 KiB of
//! first-level caches, 256 KiB behind them, DDR4 behind that, no third level (Table 3); TLBs of ten
//! entries for instructions and for data, one of 512 entries behind them, pages of 4 KiB. Since the
//! core works in order, latencies add up:
//!
//! | cost | cycles | reason |
//! |---|---|---|
//! | an instruction | 0.75 | dual issue, paired as ARM's optimisation notes allow |
//! | a load | 0.5 | every second load is waited for by its user, for one cycle |
//! | a first-level miss | 13 | latency of the second level, less the two cycles of a hit |
//! | a last-level miss | 120 | 100 ns of DDR4-2400 behind an AXI interconnect |
//! | a mispredicted branch | 8 | an eight-stage pipeline |
//! | a miss of a small TLB | 4 | a look into the TLB of 512 entries |
//! | a page walk | 40 | upper levels from the walk cache; the entry from the second level or DDR4 |
//!
//! Latencies beyond the second level and of the walk are estimates, not measured on a board.
//! Instructions are those of x86-64; AArch64 needs up to 10 % more or fewer. **The time is a sum
//! over events of this core**, which a learner is not told: it knows events of the host's caches,
//! eight to a hundred times as large, and of the host's TLBs. So the sum is not to be found
//! exactly, but what it leaves out, such as how misses overlap, is not in it. The timing model
//! stands in where there is no board.

use std::collections::BTreeMap;

/// Name of the timing model in a profile.
pub const NAME: &str = "timing model of a Cortex-A53 at 1.2 GHz with its TLBs over callgrind";

/// Cycles of the core in a nanosecond.
const CYCLES_PER_NS: f64 = 1.2;
/// Cycles that one of each event costs.
const CYCLES: [(&str, f64); 17] = [
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
    ("TLB_I1mr", 4.0),
    ("TLB_D1mr", 4.0),
    ("TLB_D1mw", 4.0),
    ("TLB_ILmr", 40.0),
    ("TLB_DLmr", 40.0),
    // The buffer of stores waits for the address, so a walk for a store is not hidden.
    ("TLB_DLmw", 40.0),
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
        let events = events.map(|(name, count)| (name.to_owned(), count));
        let events: BTreeMap<String, u64> = events.into_iter().collect();
        // 750 + 100 + 0 + 130 + 240 + 40 cycles.
        assert!((time_ns(&events) - 1_260.0 / 1.2).abs() < 1e-9);
        // Three misses of the small TLBs, two of which are walks: 12 + 80 cycles more.
        let tlbs = [("TLB_D1mr", 3), ("TLB_DLmr", 2)].map(|(name, count)| (name.to_owned(), count));
        let with: BTreeMap<String, u64> = events.into_iter().chain(tlbs).collect();
        assert!((time_ns(&with) - 1_352.0 / 1.2).abs() < 1e-9);
    }
}
