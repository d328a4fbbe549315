//! A run of writes: a whole pass or more over a part of a real drive, and what it cost the flash.
//!
//! A run begins with the state that the run before it left, of the same source and in the order of
//! their names. The first run of a source begins with a drive that holds nothing, which is assumed
//! and not known; a rule may name further runs before which the drive was sanitised.

mod fall;
mod pattern;
mod zones;

pub use fall::{Fall, Sample};
pub(crate) use fall::{first as first_samples, mean as mean_level};
pub(crate) use pattern::Places;
pub use pattern::{Pattern, PatternError, Shape};

use serde::Serialize;
use std::fmt;

/// Bytes of a MiB.
pub(crate) const MIB: f64 = 1_048_576.0;
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
    /// What the host wrote in a second, towards the end of the run.
    pub mib_per_second: Option<f64>,
    /// What was written to flash, over what the host wrote, towards the end of the run.
    pub write_amplification: Option<f64>,
    /// What the host wrote over time, from the beginning on; empty where that is not known.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

impl Run {
    /// What the host wrote.
    pub fn host_bytes(&self) -> f64 {
        if !self.samples.is_empty() {
            return MIB * fall::written(&self.samples);
        }
        let known = self.seconds.zip(self.mib_per_second);
        known.map_or(PASSES * self.span_bytes as f64, |(seconds, rate)| seconds * rate * MIB)
    }

    /// Its level before and after the fall, where it was sampled.
    pub fn fall(&self) -> Option<Fall> {
        Fall::of(&self.samples, self.span_bytes)
    }

    /// Whether two are of one run.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let own = |run: &Self| (run.span_bytes, run.block_bytes);
        self.run == other.run
            && self.source == other.source
            && self.drive == other.drive
            && self.pattern == other.pattern
            && own(self) == own(other)
    }

    /// What follows from the samples once all are there.
    pub(crate) fn end_samples(&mut self) -> Result<(), String> {
        let Some(last) = self.samples.last() else { return Ok(()) };
        if self.samples.windows(2).any(|pair| pair[1].seconds <= pair[0].seconds) {
            return Err("t_s must grow from sample to sample of a run".to_owned());
        }
        self.seconds = Some(last.seconds);
        self.mib_per_second = Some(fall::level_after(&self.samples)).filter(|rate| *rate > 0.0);
        Ok(())
    }

    /// Runs of which samples and sums stood in different files become one.
    pub(crate) fn joined(all: Vec<Self>) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        for run in all {
            let is_other_half = |own: &&mut Self| {
                own.samples.is_empty() != run.samples.is_empty() && own.is_same(&run)
            };
            match joined.iter_mut().find(is_other_half) {
                Some(own) if own.samples.is_empty() => {
                    own.mib_per_second = own.mib_per_second.or(run.mib_per_second);
                    own.samples = run.samples;
                }
                Some(own) => {
                    let mib_per_second = run.mib_per_second.or(own.mib_per_second);
                    let samples = std::mem::take(&mut own.samples);
                    *own = Self { samples, mib_per_second, ..run };
                }
                None => joined.push(run),
            }
        }
        joined
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, pattern, span_bytes, .. } = self;
        write!(f, "{at} ({pattern} over {} GiB)", span_bytes >> 30)
    }
}
