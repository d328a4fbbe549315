//! Windows of real traces: what a model says of them, and what the simulator measures.
//!
//! A window is a number of consecutive requests. To check a model, each window is replayed on a
//! drive of its own that is prepared as the drives were that the model has learned from. Either a
//! fixed number of requests is outstanding (closed loop), or requests arrive at their own times
//! (open loop). The first third of a window is not counted. Addresses beyond the end of the drive
//! are folded back. Trims and flushes are left out.
//!
//! [`check_restored`] compares on windows from all over a trace instead, each on a drive whose
//! caches hold what they hold there.

mod errors;
mod restored;

pub use super::window::{Seen, WINDOW_REQUESTS, Window};
pub use errors::{LeftOut, TooFewTraces};
pub use restored::{Restored, Windows, check_restored};

use super::model::{BlackBoxModel, Target, WindowErrors};
use super::simulated_drive::{MeasureError, SimulatedDrive};
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::sampled::SampledError;
use ssdtune_learn::metrics::{ErrorReport, MetricsError};

impl Window {
    /// Compares a model with the simulator on the window; `None` if the window has no rate.
    fn check(
        &self,
        model: &BlackBoxModel,
        drive: &SimulatedDrive,
        depth: Option<u32>,
    ) -> Result<Option<WindowCheck>, MeasureError> {
        let Some(seen) = model.see(self, depth) else { return Ok(None) };
        let measured = self.measure(drive, depth)?;
        Ok(Some(self.beside(model, (&seen, depth), measured.latency_ns, None)))
    }

    /// What a model says beside the latency that was measured.
    fn beside(
        &self,
        model: &BlackBoxModel,
        (seen, depth): (&Seen, Option<u32>),
        latency_ns: f64,
        restored: Option<Restored>,
    ) -> WindowCheck {
        let predicted = model.predict_window(seen);
        let (strong, tree) = (predicted.strong[0], predicted.tree[0]);
        let is_of_shape = model.shapes.is_some() && seen.shape.is_some();
        let points_ns = is_of_shape.then(|| model.value(Target::Latency, &seen.workload));
        WindowCheck {
            trace: self.trace.clone(),
            window: self.number,
            depth,
            latency_ns,
            strong_ns: strong.value,
            points_ns,
            tree_ns: tree.value,
            inside_interval: strong.interval.map(|interval| interval.holds(latency_ns)),
            warnings: predicted.warnings.len(),
            restored,
        }
    }
}

/// What a model says of a window's latency, beside what the simulator measures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowCheck {
    /// Name of the trace.
    pub trace: String,
    /// Number of the window in the trace, from 1.
    pub window: usize,
    /// Requests outstanding; `None` in an open loop.
    pub depth: Option<u32>,
    /// Mean latency measured, in nanoseconds.
    pub latency_ns: f64,
    /// Mean latency predicted by the stronger regressor, or by the model of windows if there is
    /// one, in nanoseconds.
    pub strong_ns: f64,
    /// What the stronger regressor of points predicts where a model of windows stands in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_ns: Option<f64>,
    /// Mean latency predicted by the tree, in nanoseconds.
    pub tree_ns: f64,
    /// Whether the measured latency is within the interval of the stronger regressor; `None` if the
    /// model has no intervals for windows.
    pub inside_interval: Option<bool>,
    /// How many characteristics are outside of what the model was trained on.
    pub warnings: usize,
    /// What must be known of it, if its drive was restored.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
}

/// How good a model is on windows of real traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowsReport {
    /// How many windows were compared.
    pub windows: usize,
    /// Errors of the latencies that the stronger regressor predicts.
    pub stronger: ErrorReport,
    /// Errors of what the stronger regressor of points predicts, where a model of windows stands
    /// in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<ErrorReport>,
    /// Errors of the latencies that the tree predicts.
    pub tree: ErrorReport,
    /// The share of windows whose latency is within the interval, 0 to 1; `None` if the model has
    /// no intervals for windows.
    pub inside_intervals: Option<f64>,
    /// How many windows have a characteristic outside of what the model was trained on.
    pub outside_training: usize,
    /// What the windows say of those of other traces, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<WindowErrors>,
    /// How intervals do on each trace, made from all others; `None` below ten traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The windows, in the order given.
    pub lines: Vec<WindowCheck>,
}

/// Why a model could not be compared with the simulator.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A window could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// Windows of a trace cannot be kept or served.
    #[error(transparent)]
    Sampled(SampledError),
    /// The drive begins otherwise than windows can be restored.
    #[error(
        "--start {start}: a drive is restored at a window from --start sequential[:SHARE] or \
         steady[:SHARE] only; leave --sample away for others"
    )]
    Start {
        /// How it begins.
        start: String,
    },
    /// There is nothing to compare.
    #[error("no windows to compare: {0}")]
    Nothing(#[from] MetricsError),
}

/// Compares a model with the simulator on windows of traces, on all threads of rayon's pool: all
/// windows at the first depth, then at the next one. A window whose requests all come at one time
/// has no rate and is left out.
///
/// # Errors
/// The drive cannot be simulated, has no room, or the caller stopped it.
pub fn check(
    model: &BlackBoxModel,
    drive: &SimulatedDrive,
    windows: &[Window],
    depths: &[Option<u32>],
) -> Result<Vec<WindowCheck>, CheckError> {
    let tasks: Vec<(&Window, Option<u32>)> =
        depths.iter().flat_map(|depth| windows.iter().map(|window| (window, *depth))).collect();
    let found: Result<Vec<Option<WindowCheck>>, MeasureError> =
        tasks.par_iter().map(|(window, depth)| window.check(model, drive, *depth)).collect();
    Ok(found?.into_iter().flatten().collect())
}

impl WindowsReport {
    /// How good a model is on windows that were compared.
    ///
    /// # Errors
    /// There is none.
    pub fn of(lines: Vec<WindowCheck>) -> Result<Self, CheckError> {
        let truths: Vec<f64> = lines.iter().map(|line| line.latency_ns).collect();
        let errors = |pick: fn(&WindowCheck) -> f64| {
            let predicted: Vec<f64> = lines.iter().map(pick).collect();
            ErrorReport::new(&truths, &predicted)
        };
        let inside = lines.iter().filter(|line| line.inside_interval == Some(true)).count();
        let known = lines.iter().any(|line| line.inside_interval.is_some());
        Ok(Self {
            windows: lines.len(),
            stronger: errors(|line| line.strong_ns)?,
            points: match lines.iter().all(|line| line.points_ns.is_some()) {
                true => Some(errors(|line| line.points_ns.unwrap_or(f64::NAN))?),
                false => None,
            },
            tree: errors(|line| line.tree_ns)?,
            inside_intervals: known.then_some(inside as f64 / lines.len() as f64),
            outside_training: lines.iter().filter(|line| line.warnings > 0).count(),
            calibrated: None,
            left_out: None,
            lines,
        })
    }
}
