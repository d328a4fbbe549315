//! The one door to measuring: a configuration and a trace in, a [`Measurement`] out.
//!
//! A measurement is two runs from the same initial state. **Latency** comes from an open loop:
//! requests arrive at their own times, and the mean of the drive's response times is taken, from
//! submission queue to completion (MQSim's `Device_Response_Time`). **Throughput** comes from a
//! closed loop at the workload's depth, because an open loop can show no more than the arrival
//! rate. In the closed loop the drive's queues hold at least that depth. What a used drive leaves
//! undone at the end of a run is charged to both (`debt`).
//!
//! An [`Evaluator`] makes measurements: [`InProcess`] simulates here, [`External`] runs any other
//! simulator. A [`CachedEvaluator`] adds a memory and threads to one: it measures many pairs at
//! once, none of them twice, and stores each result as soon as it is known.

mod cached;
mod debt;
mod external;
mod in_process;
mod windows;

#[cfg(test)]
mod deferring;

pub use crate::measurement::{
    Busy, GradedBy, Measurement, RunFacts, WindowFigures, WorkloadMeasurement,
};
pub use cached::{CachedEvaluator, EvaluationAnswer, EvaluationCounts, MeasureError};
pub(crate) use debt::charged_ns;
pub use external::{External, ExternalError};
pub use in_process::InProcess;

use crate::workload::Trace;
use ssdtune_experiment::{Age, Preparation, Share, Start};
use ssdtune_model::{CheckedConfig, DeviceConfig};
use std::sync::atomic::AtomicBool;

/// Describes a preparation in words, for keys of stored evaluations and for recommendations. The
/// seed is left out: a drive is prepared with the seed of its own configuration.
pub(crate) fn described(preparation: &Preparation) -> String {
    if let Some((share, times)) = filled_and_overwritten(preparation) {
        return format!("{} % filled, overwritten {times}x", share * 100.0);
    }
    let Preparation { start, ages, erases, seed: _ } = preparation;
    if ages.is_empty() && *erases == 0 {
        match start {
            Start::Empty => return "empty".to_owned(),
            Start::Footprint => return "footprint written".to_owned(),
            Start::Steady(shares) => {
                if let [Share::Fraction(share)] = shares.0.as_slice() {
                    return format!("in steady state, {} % filled", share * 100.0);
                }
            }
            Start::Sequential(_) | Start::Restored(_) => {}
        }
    }
    let mut words = vec![format!("start {start}")];
    words.extend(ages.iter().map(|age| format!("aged by {age}")));
    if *erases > 0 {
        words.push(format!("blocks erased {erases}x"));
    }
    words.join(", ")
}

/// The share that is written, and how often it is overwritten, if a preparation does this and
/// nothing else.
pub(crate) fn filled_and_overwritten(preparation: &Preparation) -> Option<(f64, u32)> {
    let (Start::Sequential(shares), [Age::Random { times }]) =
        (&preparation.start, preparation.ages.as_slice())
    else {
        return None;
    };
    match shares.0.as_slice() {
        [Share::Fraction(share)] => Some((*share, *times)),
        _ => None,
    }
}

/// A question to an evaluator: what does this drive do on this trace?
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
    /// The drive cannot serve the workload. That is an answer about the drive, and is remembered.
    #[error("{0}")]
    Unfit(String),
    /// The evaluator itself does not work. Nothing is learned about the drive.
    #[error(transparent)]
    Broken(#[from] ExternalError),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Something that measures drives on traces: a simulator in this process or another program.
pub trait Evaluator: Send + Sync {
    /// Everything about the evaluator that decides a result. It is part of an evaluation's key.
    fn identity(&self) -> String;

    /// What a drive holds and has been through before each run. The seed in it is not used: each
    /// drive has its own.
    fn preparation(&self) -> Preparation;

    /// What its figures are made of.
    fn graded_by(&self) -> GradedBy {
        GradedBy::default()
    }

    /// The settings of a drive that it cannot be told, each as `key = value`: the drive is measured
    /// without them.
    fn untold(&self, _drive: &DeviceConfig) -> Vec<String> {
        Vec::new()
    }

    /// Measures a drive on a trace. It gives up soon after `stop` is set.
    ///
    /// # Errors
    /// The drive is unfit, the evaluator does not work, or the caller asked to stop.
    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError>;
}

#[cfg(test)]
mod tests;
