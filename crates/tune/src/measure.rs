//! The one door to measuring: `(configuration, trace) -> Measurement`.
//!
//! A measurement is two runs from the same initial state. **Latency** comes from an open loop: requests at
//! their own times, the mean of the drive's response times (submission queue to completion, MQSim's
//! `Device_Response_Time`). **Throughput** comes from a closed loop at the workload's depth, because an open
//! loop can only show the arrival rate. In the closed loop the drive's queues hold at least that depth.
//!
//! An [`Evaluator`] makes measurements: [`InProcess`] simulates here, [`External`] runs any other simulator.
//! A [`Lab`] is an evaluator with a memory and threads: it measures many pairs at once, none of them twice,
//! stores each result when it is known, and answers in the order of the questions whatever ran first.

mod external;
mod in_process;
mod lab;

pub use external::{External, ExternalError};
pub use in_process::InProcess;
pub use lab::{Answer, Lab, LabError, Tick};
pub(crate) use lab::{Stored, StoredAnswer};

use crate::grade::Figures;
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

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What grades are made of.
    pub figures: Figures,
    /// The open-loop run, where the evaluator tells more.
    pub open: Option<RunFacts>,
    /// The closed-loop run, likewise.
    pub closed: Option<RunFacts>,
}

/// What else a run showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Mean response time of the drive.
    pub latency_ns_mean: f64,
    /// 99 % of the response times are not longer.
    pub latency_ns_p99: u64,
    /// Mean time from arrival to completion; longer where requests wait for a queue entry.
    pub total_latency_ns_mean: f64,
    /// Bytes a second.
    pub bandwidth_bps: f64,
    /// Simulated seconds.
    pub seconds: f64,
    /// Busy shares.
    pub busy: Busy,
    /// Victims collected.
    pub collections: u64,
    /// Look-ups of the mapping table that went to flash.
    pub mapping_misses: u64,
    /// Share of page reads that found nothing.
    pub unwritten_share: f64,
    /// Pages programmed for each page of the host.
    pub write_amplification: f64,
    /// Mechanisms that the run never used.
    pub never_fired: Vec<String>,
    /// Requests completed.
    pub requests: u64,
    /// Energy in joule, where the simulator counts it.
    pub energy_j: Option<f64>,
    /// Average power in watt, likewise.
    pub average_watts: Option<f64>,
    /// Highest power of a millisecond in watt, likewise.
    pub peak_watts: Option<f64>,
}

/// Busy shares of a drive's parts, averaged over equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// Dies.
    pub dies: f64,
    /// Channels.
    pub channels: f64,
    /// Link to the drive.
    pub link_down: f64,
    /// Link from the drive.
    pub link_up: f64,
    /// DRAM.
    pub dram: f64,
}

impl Busy {
    /// The busiest part and its share.
    pub fn busiest(&self) -> (&'static str, f64) {
        let parts = [
            ("dies", self.dies),
            ("channels", self.channels),
            ("link down", self.link_down),
            ("link up", self.link_up),
            ("dram", self.dram),
        ];
        parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(parts[0])
    }
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
