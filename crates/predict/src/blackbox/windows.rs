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

pub use errors::{LeftOut, TooFewTraces};
pub use restored::{Restored, Windows, check_restored};

use super::features::Characteristics;
use super::model::{BlackBoxModel, WindowErrors};
use super::simulated_drive::{MeasureError, Performance, SimulatedDrive};
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::sampled::SampledError;
use ssdtune_learn::metrics::{ErrorReport, MetricsError};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, Source, TenantId, TraceError};

/// How many requests a window has unless told otherwise.
pub const WINDOW_REQUESTS: usize = 3_000;

/// A window of a trace.
#[derive(Clone, Debug)]
pub struct Window {
    /// Name of the trace.
    pub trace: String,
    /// Number of the window in the trace, from 1.
    pub number: usize,
    /// The reads and writes of the window, in order of time.
    pub requests: Vec<Request>,
}

impl Window {
    /// Cuts the reads and writes of a trace into windows of `length` requests, at least 3, and
    /// hands out each when it is whole. Requests that fill no window at the end are left out.
    /// Returns how many windows there are.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn cut(
        trace: &str,
        source: &mut dyn Source,
        length: usize,
        take: &mut dyn FnMut(Self),
    ) -> Result<usize, TraceError> {
        let (mut batch, mut requests, mut number) = (Vec::new(), Vec::new(), 0);
        while source.fill(&mut batch)? > 0 {
            for request in batch.drain(..).filter(|request: &Request| {
                matches!(request.op, Op::Read | Op::Write) && request.sectors > 0
            }) {
                requests.push(Request { tenant: TenantId(0), ..request });
                if requests.len() == length.max(3) {
                    number += 1;
                    let requests = std::mem::take(&mut requests);
                    take(Self { trace: trace.to_owned(), number, requests });
                }
            }
        }
        Ok(number)
    }

    /// At most `count` of the windows, at equal distances.
    pub fn thin_out(windows: Vec<Self>, count: usize) -> Vec<Self> {
        let step = windows.len().div_ceil(count.max(1)).max(1);
        windows.into_iter().step_by(step).collect()
    }

    /// The characteristics of the window: with `depth` requests outstanding, or at its own rate if
    /// no depth is given. `None` if all requests come at one time, which is no rate.
    pub fn characteristics(&self, depth: Option<u32>) -> Option<Characteristics> {
        let requests = &self.requests;
        match depth {
            Some(depth) => Some(Characteristics::of_requests(requests, f64::from(depth), None)),
            None => {
                let (first, last) = (requests.first()?.at.0, requests.last()?.at.0);
                let seconds = (last > first).then(|| (last - first) as f64 / 1e9)?;
                let rate = (requests.len() - 1) as f64 / seconds;
                Some(Characteristics::of_requests(requests, 0.0, Some(rate)))
            }
        }
    }

    /// What the simulator measures of the window.
    fn measure(
        &self,
        drive: &SimulatedDrive,
        depth: Option<u32>,
    ) -> Result<Performance, MeasureError> {
        let begin = self.requests.first().map_or(Nanos::ZERO, |request| request.at);
        drive.replay(depth, self.requests.len() as u64 / 3, |space: Sectors| {
            let fold = move |request: &Request| {
                let room = space.0.saturating_sub(u64::from(request.sectors)).max(1);
                let lba = Sectors(request.lba.0 % room);
                Request { at: request.at - begin, lba, ..*request }
            };
            self.requests.iter().map(fold).collect()
        })
    }

    /// Compares a model with the simulator on the window; `None` if the window has no rate.
    fn check(
        &self,
        model: &BlackBoxModel,
        drive: &SimulatedDrive,
        depth: Option<u32>,
    ) -> Result<Option<WindowCheck>, MeasureError> {
        let Some(workload) = self.characteristics(depth) else { return Ok(None) };
        let measured = self.measure(drive, depth)?;
        Ok(Some(self.beside(model, (&workload, depth), measured.latency_ns, None)))
    }

    /// What a model says beside the latency that was measured.
    fn beside(
        &self,
        model: &BlackBoxModel,
        (workload, depth): (&Characteristics, Option<u32>),
        latency_ns: f64,
        restored: Option<Restored>,
    ) -> WindowCheck {
        let predicted = model.predict_window(workload);
        let (strong, tree) = (predicted.strong[0], predicted.tree[0]);
        WindowCheck {
            trace: self.trace.clone(),
            window: self.number,
            depth,
            latency_ns,
            strong_ns: strong.value,
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
    /// Mean latency predicted by the stronger regressor, in nanoseconds.
    pub strong_ns: f64,
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
            tree: errors(|line| line.tree_ns)?,
            inside_intervals: known.then_some(inside as f64 / lines.len() as f64),
            outside_training: lines.iter().filter(|line| line.warnings > 0).count(),
            calibrated: None,
            left_out: None,
            lines,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(count: u64) -> Vec<Request> {
        let op = |n: u64| if n.is_multiple_of(4) { Op::Flush } else { Op::Read };
        let request = |n: u64| Request {
            at: Nanos(1_000 * n),
            lba: Sectors(8 * n),
            sectors: 8,
            tenant: TenantId(3),
            op: op(n),
        };
        (0..count).map(request).collect()
    }

    struct InMemory(Vec<Request>);

    impl Source for InMemory {
        fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
            let some = self.0.len().min(7);
            out.extend(self.0.drain(..some));
            Ok(some)
        }
    }

    fn cut(requests: Vec<Request>, length: usize) -> Vec<Window> {
        let mut windows = Vec::new();
        let take = &mut |window| windows.push(window);
        let count = Window::cut("a", &mut InMemory(requests), length, take).unwrap();
        assert_eq!(count, windows.len());
        windows
    }

    #[test]
    fn windows_are_full_and_hold_reads_and_writes() {
        // 75 of 100 requests are reads: 7 windows of 10.
        let windows = cut(trace(100), 10);
        assert_eq!(windows.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        let all = || windows.iter().flat_map(|window| &window.requests);
        assert_eq!(all().count(), 70);
        assert!(all().all(|request| request.op == Op::Read && request.tenant == TenantId(0)));
        let some = Window::thin_out(windows, 3);
        assert_eq!(some.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 4, 7]);
    }

    #[test]
    fn a_window_has_its_own_rate_or_the_depth_given() {
        let requests = trace(13)[1..].to_vec();
        // Reads at 1, 2, 3, 5, 6, 7, 9, 10, 11 us: 8 intervals in 10 us.
        let window = cut(requests, 9).remove(0);
        let open = window.characteristics(None).unwrap();
        assert!((open.offered_iops.unwrap() - 800_000.0).abs() < 1e-3);
        assert_eq!(window.characteristics(Some(7)).unwrap().extended.q_dep, 7.0);
        let mut still = window;
        still.requests.iter_mut().for_each(|request| request.at = Nanos(5));
        assert_eq!(still.characteristics(None), None);
    }
}
