//! The one door to measuring: `(configuration, trace) -> Measurement`.
//!
//! A measurement is two runs from the same initial state. **Latency** comes from an open loop: requests at
//! their own times, the mean of the drive's response times (submission queue to completion, MQSim's
//! `Device_Response_Time`). **Throughput** comes from a closed loop at the workload's depth, because an open
//! loop can only show the arrival rate. In the closed loop the drive's queues hold at least that depth.
//!
//! An [`Evaluator`] makes measurements: [`InProcess`] simulates here, [`External`] runs any other simulator.
//! A [`CachedEvaluator`] is an evaluator with a memory and threads: it measures many pairs at once, none of them twice,
//! stores each result when it is known, and answers in the order of the questions whatever ran first.

mod cached;
mod external;
mod in_process;

pub use crate::measurement::{Busy, Measurement, RunFacts, WorkloadMeasurement};
pub use cached::{CachedEvaluator, EvaluationAnswer, EvaluationCounts, MeasureError};
pub use external::{External, ExternalError};
pub use in_process::InProcess;

use crate::workload::Trace;
use serde::{Deserialize, Serialize};
use ssdtune_model::CheckedConfig;
use std::fmt;
use std::sync::atomic::AtomicBool;

/// What a drive has been through before it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Nothing: reads of what the trace has not written find no data and cost no flash read.
    Empty,
    /// It holds what the trace touches, written in the order of addresses; the rest is free.
    #[default]
    Footprint,
    /// It holds what the trace touches and then other pages, as endless random overwrites leave them behind.
    Steady {
        /// Share of the visible pages; what the trace touches is there in any case.
        occupancy: f64,
    },
    /// The first pages hold data, and were then overwritten at random. Slow: every page of it is written.
    Filled {
        /// Share of the visible pages.
        occupancy: f64,
        /// How often as many pages were overwritten.
        overwrites: u32,
    },
}

impl fmt::Display for InitialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty"),
            Self::Footprint => f.write_str("footprint written"),
            Self::Steady { occupancy } => {
                write!(f, "in steady state, {} % filled", occupancy * 100.0)
            }
            Self::Filled { occupancy, overwrites } => {
                write!(f, "{} % filled, overwritten {overwrites}x", occupancy * 100.0)
            }
        }
    }
}

/// One question: a drive and a trace.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The drive.
    pub config: &'a CheckedConfig,
    /// The requests.
    pub trace: &'a Trace,
    /// Requests outstanding in the closed loop.
    pub depth: u32,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// The drive cannot serve the workload: an answer about the drive, kept like a measurement.
    #[error("{0}")]
    Unfit(String),
    /// The evaluator itself does not work; nothing is learnt about the drive.
    #[error(transparent)]
    Broken(#[from] ExternalError),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Something that measures.
pub trait Evaluator: Sync {
    /// Everything about it that decides a result, for the key of one.
    fn identity(&self) -> String;

    /// What a drive has been through before.
    fn initial_state(&self) -> InitialState;

    /// Measures. `stop` is polled.
    ///
    /// # Errors
    /// The drive is unfit, the evaluator does not work, or the caller asked to stop.
    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError>;
}

#[cfg(test)]
mod tests;
