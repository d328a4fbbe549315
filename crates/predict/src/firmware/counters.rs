//! Linux performance counters around a group, for this thread in user mode.
//!
//! A CPU has about four counters for the eleven events of Table 5 and two of TLBs, and a group is
//! too short for events to share them in turns. So events are divided into [`SETS`] sets, and each
//! pass over the workload counts one of them. Virtual machines often have no counters at all.

use std::collections::BTreeMap;
use std::io;

/// The number of sets of events.
pub const SETS: usize = 4;

/// Why there are no counters.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// The machine has no counters, or does not let this program use them.
    #[error(
        "this machine gives no performance counters ({0}). In a virtual machine they are usually \
         absent: take --events callgrind. On hardware, lower \
         /proc/sys/kernel/perf_event_paranoid to 2 or less"
    )]
    Unavailable(io::Error),
    /// The system is not Linux.
    #[error(
        "performance counters are read on Linux only: take --events callgrind or --events none"
    )]
    System,
}

impl CounterError {
    /// Why there are no counters, without what to do about it.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Unavailable(cause) => format!("no performance counters here ({cause})"),
            Self::System => "performance counters are read on Linux only".to_owned(),
        }
    }
}

#[cfg(target_os = "linux")]
pub use linux::Counters;
#[cfg(not(target_os = "linux"))]
pub use other::Counters;

#[cfg(target_os = "linux")]
mod linux {
    use super::{BTreeMap, CounterError, SETS, io};
    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware};
    use perf_event::{Builder, Counter, Group};

    /// Counters for one set of events.
    pub struct Counters {
        group: Group,
        counters: Vec<(&'static str, Counter)>,
        missing: Vec<&'static str>,
    }

    /// A counter of accesses to the first-level data cache.
    fn l1d(operation: CacheOp) -> Builder<'static> {
        let result = CacheResult::ACCESS;
        builder(Cache { which: CacheId::L1D, operation, result })
    }

    /// A counter of misses of a TLB.
    fn tlb(which: CacheId) -> Builder<'static> {
        builder(Cache { which, operation: CacheOp::READ, result: CacheResult::MISS })
    }

    /// A counter of an event in user mode.
    fn builder<E: Event>(event: E) -> Builder<'static> {
        let mut builder = Builder::new(event);
        builder.exclude_kernel(true).exclude_hv(true);
        builder
    }

    /// The events of a set, by their names.
    fn set(number: usize) -> Vec<(&'static str, Builder<'static>)> {
        match number {
            0 => vec![
                ("INSTR", builder(Hardware::INSTRUCTIONS)),
                ("CPU_CYCLES", builder(Hardware::CPU_CYCLES)),
                ("BUS_CYCLES", builder(Hardware::BUS_CYCLES)),
            ],
            1 => vec![
                ("INSTR", builder(Hardware::INSTRUCTIONS)),
                ("BR_INSTS", builder(Hardware::BRANCH_INSTRUCTIONS)),
                ("BR_MISSES", builder(Hardware::BRANCH_MISSES)),
                ("STALLED_CYCLES", builder(Hardware::STALLED_CYCLES_BACKEND)),
            ],
            2 => vec![
                ("L1D_LOADS", l1d(CacheOp::READ)),
                ("L1D_STORES", l1d(CacheOp::WRITE)),
                ("LLC_REFS", builder(Hardware::CACHE_REFERENCES)),
                ("LLC_MISSES", builder(Hardware::CACHE_MISSES)),
            ],
            // With an event that every CPU has: one without counters of TLBs loses these alone.
            _ => vec![
                ("INSTR", builder(Hardware::INSTRUCTIONS)),
                ("DTLB_MISSES", tlb(CacheId::DTLB)),
                ("ITLB_MISSES", tlb(CacheId::ITLB)),
            ],
        }
    }

    impl Counters {
        /// Opens counters for the set with this number, modulo [`SETS`].
        ///
        /// # Errors
        /// The machine has no counter for any event of the set.
        pub fn open(number: usize) -> Result<Self, CounterError> {
            let mut group = Group::new().map_err(CounterError::Unavailable)?;
            let (mut counters, mut missing, mut last) = (Vec::new(), Vec::new(), None);
            for (name, builder) in set(number % SETS) {
                match group.add(&builder) {
                    Ok(counter) => counters.push((name, counter)),
                    Err(error) => {
                        missing.push(name);
                        last = Some(error);
                    }
                }
            }
            match last {
                Some(error) if counters.is_empty() => Err(CounterError::Unavailable(error)),
                _ => Ok(Self { group, counters, missing }),
            }
        }

        /// Events of the set that this CPU has no counter for.
        pub fn missing(&self) -> &[&'static str] {
            &self.missing
        }

        /// Begins to count from zero.
        pub(in crate::firmware) fn start(&mut self) -> io::Result<()> {
            self.group.reset()?;
            self.group.enable()
        }

        /// Stops counting, and returns the counts by the names of the events.
        pub(in crate::firmware) fn stop(&mut self) -> io::Result<BTreeMap<String, u64>> {
            self.group.disable()?;
            let counted = self.group.read()?;
            if counted.time_running() < counted.time_enabled() {
                return Err(io::Error::other(
                    "other programs use the performance counters: stop them, or take \
                     --events callgrind",
                ));
            }
            let of = |(name, counter): &(&'static str, Counter)| {
                counted.get(counter).map(|entry| ((*name).to_owned(), entry.value()))
            };
            Ok(self.counters.iter().filter_map(of).collect())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::{BTreeMap, CounterError, io};

    /// Counters of a system that has none.
    pub struct Counters(std::convert::Infallible);

    impl Counters {
        /// Fails.
        ///
        /// # Errors
        /// Always: only Linux has counters that can be read.
        pub fn open(_: usize) -> Result<Self, CounterError> {
            Err(CounterError::System)
        }

        /// Cannot be called.
        pub fn missing(&self) -> &[&'static str] {
            match self.0 {}
        }

        pub(in crate::firmware) fn start(&mut self) -> io::Result<()> {
            match self.0 {}
        }

        pub(in crate::firmware) fn stop(&mut self) -> io::Result<BTreeMap<String, u64>> {
            match self.0 {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with counters counts; on another the message says what to do.
    #[test]
    fn counters_count_or_say_why_not() {
        match Counters::open(0) {
            Err(error) => assert!(error.to_string().contains("--events callgrind"), "{error}"),
            Ok(mut counters) => {
                counters.start().unwrap();
                let sum: u64 = (0..std::hint::black_box(100_000u64)).sum();
                std::hint::black_box(sum);
                let counted = counters.stop().unwrap();
                let instructions = counted["INSTR"];
                assert!(instructions > 0, "{counted:?}");
            }
        }
    }
}
