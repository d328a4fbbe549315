//! The hardware events of the paper's Table 5, those of TLBs, and which of them each source has.
//!
//! | event | performance counter | callgrind |
//! |---|---|---|
//! | CPU_CYCLES | cycles | none (the run time stands for them) |
//! | INSTR | instructions | Ir |
//! | RS_UOPS | none: its code differs from CPU to CPU | none |
//! | BR_INSTS | branch instructions | Bc + Bi: no direct jumps and calls |
//! | BR_MISSES | branch misses | Bcm + Bim, of a simulated predictor |
//! | BUS_CYCLES | bus cycles | none |
//! | L1D_LOADS | L1 data cache, read accesses | Dr |
//! | L1D_STORES | L1 data cache, write accesses | Dw |
//! | LLC_REFS | cache references | I1mr + D1mr + D1mw: callgrind knows two levels |
//! | LLC_MISSES | cache misses | ILmr + DLmr + DLmw |
//! | STALLED_CYCLES | stalled cycles, backend | none |
//! | DTLB_MISSES | data TLB, read misses | D1mr of the pass with TLBs |
//! | ITLB_MISSES | instruction TLB, read misses | I1mr of the pass with TLBs |
//!
//! A miss of a TLB is under callgrind one of the first level, whether the second has the entry or
//! the page table is walked. Counters of AMD and ARM see that alike, those of Intel walks alone.
//! Stores are left out: they wait in a buffer, and many CPUs have no counter for their misses.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names of the events, in the order of Table 5.
pub const TABLE_5: [&str; 11] = [
    "CPU_CYCLES",
    "INSTR",
    "RS_UOPS",
    "BR_INSTS",
    "BR_MISSES",
    "BUS_CYCLES",
    "L1D_LOADS",
    "L1D_STORES",
    "LLC_REFS",
    "LLC_MISSES",
    "STALLED_CYCLES",
];

/// Names of the events of TLBs, which Table 5 does not have.
pub const TLB_EVENTS: [&str; 2] = ["DTLB_MISSES", "ITLB_MISSES"];

/// Pearson's coefficients of the events with the target's time that Table 5 prints.
pub const TABLE_5_PAPER: [f64; 11] = [
    0.25272, 0.01207, 0.03795, -0.03385, -0.09058, 0.17518, 0.00592, 0.34963, 0.21461, 0.35629,
    0.24247,
];

/// Names of the events that callgrind counts when it simulates caches and branches.
#[cfg(test)]
const CALLGRIND: [&str; 13] =
    ["Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bc", "Bcm", "Bi", "Bim"];

/// Where the events of a profile come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EventSource {
    /// No events were recorded.
    None,
    /// Linux performance counters of user mode.
    PerformanceCounters {
        /// Events that this CPU has no counter for.
        missing: Vec<String>,
    },
    /// Valgrind's callgrind with cache and branch simulation.
    Callgrind {
        /// Callgrind's version, and the caches it simulated, in its own words.
        described: Vec<String>,
    },
}

/// Events of Table 5 and of TLBs from the events that callgrind counted. An event of which a part
/// is missing is left out.
pub fn of_callgrind(counted: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let sum = |names: &[&str]| -> Option<u64> {
        names.iter().map(|name| counted.get(*name).copied()).sum()
    };
    let rules: [(&str, &[&str]); 9] = [
        ("INSTR", &["Ir"]),
        ("BR_INSTS", &["Bc", "Bi"]),
        ("BR_MISSES", &["Bcm", "Bim"]),
        ("L1D_LOADS", &["Dr"]),
        ("L1D_STORES", &["Dw"]),
        ("LLC_REFS", &["I1mr", "D1mr", "D1mw"]),
        ("LLC_MISSES", &["ILmr", "DLmr", "DLmw"]),
        ("DTLB_MISSES", &["TLB_D1mr"]),
        ("ITLB_MISSES", &["TLB_I1mr"]),
    ];
    let found = rules.iter().filter_map(|(event, parts)| Some(((*event).to_owned(), sum(parts)?)));
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrind_s_events_make_those_of_table_5() {
        let counted: BTreeMap<String, u64> = (CALLGRIND.iter().enumerate())
            .map(|(place, name)| ((*name).to_owned(), 1 << place))
            .collect();
        let events = of_callgrind(&counted);
        assert_eq!(events["INSTR"], 1);
        assert_eq!(events["BR_INSTS"], (1 << 9) + (1 << 11));
        assert_eq!(events["BR_MISSES"], (1 << 10) + (1 << 12));
        assert_eq!(events["L1D_LOADS"], 2);
        assert_eq!(events["L1D_STORES"], 4);
        assert_eq!(events["LLC_REFS"], 8 + 16 + 32);
        assert_eq!(events["LLC_MISSES"], 64 + 128 + 256);
        assert_eq!(events.len(), 7);
        assert!(events.keys().all(|event| TABLE_5.contains(&event.as_str())));
        let misses = ["I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw"].into_iter().enumerate();
        let misses = misses.map(|(place, name)| (format!("TLB_{name}"), 1 << place));
        let events = of_callgrind(&misses.collect());
        assert_eq!(TLB_EVENTS.map(|event| events[event]), [2, 1]);
    }

    #[test]
    fn an_event_of_which_a_part_is_missing_is_missing() {
        let counted = BTreeMap::from([("Bc".to_owned(), 3)]);
        assert!(of_callgrind(&counted).is_empty());
    }
}
