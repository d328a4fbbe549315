//! The one door to measuring: `(configuration, trace) -> Measurement`.
//!
//! A measurement is two runs from the same initial state. **Latency** comes from an open loop:
//! requests at their own times, the mean of the drive's response times (submission queue to
//! completion, MQSim's `Device_Response_Time`). **Throughput** comes from a closed loop at the
//! workload's depth, because an open loop can only show the arrival rate. In the closed loop the
//! drive's queues hold at least that depth.
//!
//! An [`Evaluator`] makes measurements: [`InProcess`] simulates here, [`External`] runs any other
//! simulator. A [`CachedEvaluator`] is an evaluator with a memory and threads: it measures many
//! pairs at once, none of them twice, stores each result when it is known, and answers in the order
//! of the questions whatever ran first.

mod cached;
mod external;
mod in_process;

pub use crate::measurement::{Busy, Measurement, RunFacts, WorkloadMeasurement};
pub use cached::{CachedEvaluator, EvaluationAnswer, EvaluationCounts, MeasureError};
pub use external::{External, ExternalError};
pub use in_process::InProcess;

use crate::workload::Trace;
use ssdtune_experiment::{Age, Preparation, Share, Start};
use ssdtune_model::CheckedConfig;
use std::sync::atomic::AtomicBool;

/// What a preparation is called in keys of stored evaluations and in recommendations. Its seed is
/// not part of it: a drive is prepared with the seed of its own configuration.
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

/// The share that was written and how often it was overwritten, of a preparation that is this and
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

    /// What a drive holds and has been through before each run; each drive has its own seed instead
    /// of this one.
    fn preparation(&self) -> Preparation;

    /// Measures. `stop` is polled.
    ///
    /// # Errors
    /// The drive is unfit, the evaluator does not work, or the caller asked to stop.
    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError>;
}

#[cfg(test)]
mod tests;
