//! Linux performance counters around a group: user mode, this thread.
//!
//! A CPU has four or so counters for Table 5's eleven events, and a group is too short to share
//! them in turns, so each pass over the workload counts another [`SETS`] of events. Virtual
//! machines often have none.

use std::collections::BTreeMap;
use std::io;

/// Sets of events that are counted together.
pub const SETS: usize = 3;

/// Why there are no counters.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// The system has none, or none for us.
    #[error(
        "this machine gives no performance counters ({0}). In a virtual machine they are usually absent: take \
         --events callgrind. On hardware, lower /proc/sys/kernel/perf_event_paranoid to 2 or less"
    )]
    Unavailable(io::Error),
    /// Not this system.
    #[error(
        "performance counters are read on Linux only: take --events callgrind or --events none"
    )]
    System,
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

    /// One set of events, opened.
    pub struct Counters {
        group: Group,
        counters: Vec<(&'static str, Counter)>,
        missing: Vec<&'static str>,
    }

    fn l1d(operation: CacheOp) -> Builder<'static> {
        let result = CacheResult::ACCESS;
        builder(Cache { which: CacheId::L1D, operation, result })
    }

    fn builder<E: Event>(event: E) -> Builder<'static> {
        let mut builder = Builder::new(event);
        builder.exclude_kernel(true).exclude_hv(true);
        builder
    }

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
            _ => vec![
                ("L1D_LOADS", l1d(CacheOp::READ)),
                ("L1D_STORES", l1d(CacheOp::WRITE)),
                ("LLC_REFS", builder(Hardware::CACHE_REFERENCES)),
                ("LLC_MISSES", builder(Hardware::CACHE_MISSES)),
            ],
        }
    }

    impl Counters {
        /// Opens the set of that number, round and round.
        ///
        /// # Errors
        /// The machine has no counter for any of its events.
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

        /// Events of the set that this CPU does not count.
        pub fn missing(&self) -> &[&'static str] {
            &self.missing
        }

        /// Counts from zero.
        pub(in crate::firmware) fn start(&mut self) -> io::Result<()> {
            self.group.reset()?;
            self.group.enable()
        }

        /// Stops, and says what was counted.
        pub(in crate::firmware) fn stop(&mut self) -> io::Result<BTreeMap<String, u64>> {
            self.group.disable()?;
            let counted = self.group.read()?;
            if counted.time_running() < counted.time_enabled() {
                return Err(io::Error::other(
                    "other programs use the performance counters: stop them, or take --events callgrind",
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

    /// There are none here.
    pub struct Counters(std::convert::Infallible);

    impl Counters {
        /// There are none here.
        ///
        /// # Errors
        /// Always.
        pub fn open(_: usize) -> Result<Self, CounterError> {
            Err(CounterError::System)
        }

        /// Nothing.
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

    /// On a machine with counters they count; on one without, the message says what to do.
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
