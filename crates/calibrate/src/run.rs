//! A run of writes: a whole pass or more over a part of a real drive, and what it cost the flash.
//!
//! A run begins with the state that the run before it left, of the same source and in the order of
//! their names. The first run of a source begins with a drive that holds nothing, which is assumed
//! and not known; a rule may name further runs before which the drive was sanitised.

mod pattern;

pub(crate) use pattern::Places;
pub use pattern::{Pattern, PatternError, Shape};

use serde::Serialize;
use std::fmt;

/// How many times the span is written where a run's length is not known.
const PASSES: f64 = 3.0;

/// A run of writes, and what was measured in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Where it stands: file and line.
    pub at: String,
    /// Who measured it: the runs of one source went over one drive, one after the other.
    pub source: String,
    /// The drive, if the file says so.
    pub drive: Option<String>,
    /// Its name, by which the runs of a source are ordered.
    pub run: String,
    /// Where its writes lie.
    pub pattern: Pattern,
    /// The part of the drive, from its first byte on, that is written.
    pub span_bytes: u64,
    /// Size of a write.
    pub block_bytes: u32,
    /// How long it took.
    pub seconds: Option<f64>,
    /// What the host wrote, in units of 1,000,000 bytes in a second.
    pub megabytes_per_second: Option<f64>,
    /// What was written to flash, over what the host wrote, towards the end of the run.
    pub write_amplification: Option<f64>,
}

impl Run {
    /// What the host wrote.
    pub fn host_bytes(&self) -> f64 {
        let known = self.seconds.zip(self.megabytes_per_second);
        known.map_or(PASSES * self.span_bytes as f64, |(seconds, rate)| seconds * rate * 1e6)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, pattern, span_bytes, .. } = self;
        write!(f, "{at} ({pattern} over {} GiB)", span_bytes >> 30)
    }
}
