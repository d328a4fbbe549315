//! Windows from all over a trace, each on a drive with the state that it has there.
//!
//! Live-points keep the windows and what caches hold before each. The rest of the drive is as the
//! preparation leaves it: what the trace wrote before a window lies where the preparation put it,
//! and no block was filled by it. So the drive is that of which the model has learned, with warm
//! caches. The requests that warm a window up are served and not counted; the model predicts the
//! measured ones, of which trims and flushes are left out.
//!
//! Cost: a pass over the trace in memory that does not grow with its length, then a restored drive
//! for each window.

#[cfg(test)]
mod tests;

use super::{CheckError, Window, WindowCheck};
use crate::blackbox::model::BlackBoxModel;
use crate::blackbox::shape::Shape;
use crate::blackbox::simulated_drive::{MeasureError, SimulatedDrive};
use serde::Serialize;
use ssdtune_experiment::livepoints::{self, LivePoints, LivePointsError, SampleOptions, TAIL};
use ssdtune_experiment::sampled::{
    Dues, SampledError, SampledTraces, WindowRun, WindowServer, WindowTask,
};
use ssdtune_experiment::{AddressFit, Experiment, Origin, Preparation, RequestSource, Start};
use ssdtune_sim::Replay;
use ssdtune_trace::{Op, Request};
use std::slice;
use std::sync::Arc;

/// Which windows of a trace are checked.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Windows of a trace at most, at equal distances.
    pub most: usize,
    /// Requests of a window; the first third warms up. A file of live-points has its own.
    pub length: u32,
    /// Decides where they lie.
    pub seed: u64,
}

/// What must be known of a window whose drive was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The number of its first measured request in the trace, from 0.
    pub first_request: u64,
    /// Whether blocks were emptied in it: a restored drive is not as far in its collections as it
    /// would be there.
    pub collects: bool,
    /// Whether requests may have waited at the host before it, or, in a closed loop, a write buffer
    /// fills in it (by the signs of [`Dues`] for this window alone): it does not know of that.
    pub is_late: bool,
}

impl SimulatedDrive<'_> {
    /// Windows of a trace for the drive: those of a file of live-points, or those that one pass
    /// keeps. Addresses beyond the end of the drive are folded back in that pass.
    ///
    /// # Errors
    /// The trace cannot be read or is too short, the drive begins otherwise than windows can be
    /// restored, or the caller stopped it.
    pub fn sample(
        &self,
        source: RequestSource,
        windows: Windows,
    ) -> Result<Arc<LivePoints>, CheckError> {
        self.restorable()?;
        let source = RequestSource { fit: Some(AddressFit::Wrap), ..source };
        let experiment = Experiment::new(self.config, source, Replay::Open);
        let warm_up = windows.length / 3;
        let options = SampleOptions {
            windows: windows.most.max(2),
            warm_up,
            measured: windows.length - warm_up,
            seed: windows.seed,
            ..SampleOptions::default()
        };
        Ok(SampledTraces::new(options).points(&experiment, self.stop, &|_| {})?)
    }

    /// How the drive is prepared, if it can be restored from that.
    fn restorable(&self) -> Result<Preparation, CheckError> {
        let preparation = self.settings.preparation(self.config.run.seed);
        let can = matches!(preparation.start, Start::Sequential(_) | Start::Steady(_));
        match preparation.ages.is_empty() {
            true if can => Ok(preparation),
            true => Err(CheckError::Start { start: preparation.start.to_string() }),
            false => Err(CheckError::Start { start: format!("{} with --age", preparation.start) }),
        }
    }

    /// Serves at most `most` of the windows, at equal distances: with this many requests
    /// outstanding, or at their own times. A window that has no rate is left out by the check.
    ///
    /// # Errors
    /// The drive begins otherwise than windows can be restored, cannot hold the trace, runs out of
    /// space, or the caller stopped it.
    pub fn serve(
        &self,
        points: &LivePoints,
        most: usize,
        depth: Option<u32>,
    ) -> Result<Vec<WindowRun>, CheckError> {
        let preparation = &self.restorable()?;
        let replay = depth.map_or(Replay::Open, Replay::Closed);
        let task = WindowTask { points, device: self.config, preparation, replay };
        let step = points.windows.len().div_ceil(most.max(1)).max(1);
        let some: Vec<usize> = (0..points.windows.len()).step_by(step).collect();
        Ok(WindowServer::new(task, &some, self.stop)?.serve(&some, self.stop, &|_| {})?)
    }
}

/// Compares a model with the simulator on windows from all over a trace, on all threads of rayon's
/// pool, depth by depth: those of a file of live-points, or those that one pass keeps. A window
/// whose requests all come at one time has no rate and is left out.
///
/// # Errors
/// The trace cannot be read or is too short, the drive cannot be restored at windows or cannot hold
/// the trace, or the caller stopped it.
pub fn check_restored(
    model: &BlackBoxModel,
    drive: &SimulatedDrive<'_>,
    source: RequestSource,
    windows: Windows,
    depths: &[Option<u32>],
) -> Result<Vec<WindowCheck>, CheckError> {
    let name = match &source.origin {
        Origin::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        Origin::Model { .. } | Origin::Memory { .. } => source.name(),
    };
    let points = &*drive.sample(source, windows)?;
    let check = |run: WindowRun, depth: Option<u32>| {
        let kept = &points.windows[run.window];
        let measured = Window::measured(&name, run.window, kept);
        if measured.requests.is_empty() {
            return None;
        }
        let latency_ns = run.since_arrival.sum() / run.since_arrival.len() as f64;
        let restored = Restored {
            first_request: u64::from(kept.start) + u64::from(kept.warm_up),
            collects: run.collects(),
            is_late: run.is_late_since_arrival() || Dues::of(slice::from_ref(&run)).waits_for_flash,
        };
        let mut seen = measured.plain(depth)?;
        // What warms the caches up says what was used before.
        let all = Window::moving(&kept.requests[..kept.requests.len() - TAIL as usize]);
        let before = all.len() - measured.requests.len();
        let known = depth.zip(model.shapes.as_ref());
        seen.shape = known.map(|(depth, shapes)| Shape::of(&all, before, depth, shapes.space()));
        Some(measured.beside(model, (&seen, depth), latency_ns, Some(restored)))
    };
    let mut lines = Vec::new();
    for &depth in depths {
        let runs = drive.serve(points, windows.most, depth)?;
        lines.extend(runs.into_iter().filter_map(|run| check(run, depth)));
    }
    Ok(lines)
}

impl Window {
    /// The measured reads and writes of a window that live-points keep.
    fn measured(trace: &str, at: usize, window: &livepoints::Window) -> Self {
        let end = window.requests.len() - TAIL as usize;
        let requests = Self::moving(&window.requests[window.warm_up as usize..end]);
        Self { trace: trace.to_owned(), number: at + 1, requests }
    }

    /// The reads and writes of some requests.
    fn moving(requests: &[Request]) -> Vec<Request> {
        requests.iter().filter(|one| matches!(one.op, Op::Read | Op::Write)).copied().collect()
    }
}

impl From<SampledError> for CheckError {
    fn from(error: SampledError) -> Self {
        match error {
            SampledError::Interrupted => Self::Measure(MeasureError::Interrupted),
            SampledError::Points(LivePointsError::OutOfSpace) => {
                let what = "a window of the trace".to_owned();
                Self::Measure(MeasureError::OutOfSpace { what })
            }
            error => Self::Sampled(error),
        }
    }
}
