//! What a drive does in windows of a long trace, and what that says of the whole trace.
//!
//! A [`WindowServer`] restores a drive before each window, serves the window and keeps what it
//! measured ([`WindowRun`]). A [`SampledReport`] tells the figures of the whole trace from that,
//! with intervals. An experiment does all of it for its own flow:
//! [`sample`](crate::Experiment::sample) passes over the requests, and
//! [`run_sampled`](crate::Experiment::run_sampled) serves as many windows as are needed. A
//! [`Comparison`] says what restored windows are worth.
//!
//! Cost: a restored drive and some 1,600 requests for each window; windows run on all threads of
//! the current rayon pool, and come in their order whatever threads there are.

mod cells;
mod compare;
mod owed;
mod report;
mod shared;
#[cfg(test)]
mod tests;
mod whole;

pub use cells::{SampledCell, SampledCells, SampledDocument, SampledTraces};
pub use compare::Comparison;
pub use owed::{Buffered, Dues};
pub use report::{
    Estimated, LATE_MAX, NoInterval, OpEstimates, Reached, SampledReport, SampledRun,
};
pub use shared::{SharedRun, SharedTask, serve_shared};

use crate::error::SourceError;
use crate::extents::Extents;
use crate::livepoints::{
    Clock, LIVE_POINTS_MAGIC, LivePoints, LivePointsError, PointsFileError, Replayed, Restorer,
    TAIL, Timed, Window,
};
use crate::preparation::Preparation;
use crate::serve::{Served, serve};
use crate::source::is_pipe;
use owed::Watch;
use rayon::prelude::*;
use ssdtune_estimate::Latencies;
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::{BusyTime, Completion, Observe, Replay, Report, Simulator, Stream};
use ssdtune_trace::{Op, TenantId};
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Completions are kept, which is what a window is told from.
const OBSERVE: Observe = Observe { exact_percentiles: false, completions: true };
/// Windows that are served before the others in closed replay, to find out how fast a drive is: a
/// quarter of them, in these limits.
const PILOTS: RangeInclusive<usize> = 4..=16;

/// What a drive did in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowRun {
    /// The window's place among those of its live-points.
    pub window: usize,
    /// The measured requests.
    pub served: Replayed,
    /// Their latencies in the drive, in nanoseconds.
    pub latencies: Latencies,
    /// Those of reads and of writes.
    pub by_op: [Latencies; 2],
    /// The latencies of reads and writes from their arrival at the host, where they may wait before
    /// they enter the drive's queue.
    pub since_arrival: Latencies,
    /// When requests were submitted.
    pub replay: Replay,
    /// What the flash did from the first request of the window, those that warm up included, to
    /// the end of the last.
    pub flash: FlashWork,
    /// Joule in that time, and its seconds.
    pub energy: (f64, f64),
    /// How long its parts were busy in that time.
    pub busy: BusyTime,
    /// From the arrival of the first request that warms up to that of the first that is measured,
    /// in nanoseconds; without end where requests do not come at their own times.
    pub warm_up_ns: f64,
    /// How long the first measured request and the last one waited at the host before they entered
    /// the drive's queue, the smaller of the two, in nanoseconds; 0 in closed loops.
    pub waited_ns: f64,
    /// Whether requests may have waited at the host since before the window: the first measured one
    /// waits for longer than requests take in the drive, and before it the drive was idle for less
    /// time than the slowest request of the window takes.
    pub waits_from_before: bool,
    /// Whether the data cache keeps pages that are written twice in a second: not where written
    /// pages are safe in a write buffer, and leave it as soon as they are on flash.
    pub keeps_by_seconds: bool,
    /// What a closed loop does with the write buffer.
    pub buffered: Buffered,
    /// How long it took the drive, and for what: in closed loops its clock is told from that.
    pub timed: Timed,
    /// What the drive reports of all that it has done since it was restored: what was on its way
    /// then is part of that.
    pub report: Report,
}

impl WindowRun {
    /// Whether the drive cannot keep up with the trace there, so that requests that waited before
    /// the window are missing: requests took longer in the drive than those that warm up took to
    /// come, or they waited at the host, the first measured one as well as the last, for longer
    /// than they took then.
    pub fn is_late(&self) -> bool {
        let mean = self.served.latency_ns / self.served.requests.max(1) as f64;
        mean > self.warm_up_ns || self.waited_ns > mean
    }

    /// Whether latencies from the arrival at the host may be too short there: the drive is late, or
    /// requests may have waited since before the window.
    pub fn is_late_since_arrival(&self) -> bool {
        self.is_late() || self.waits_from_before
    }

    /// Whether blocks were emptied: then what a window measures depends on how far the drive was in
    /// its collections.
    pub fn collects(&self) -> bool {
        self.flash.moved + self.flash.erased > 0
    }
}

/// What the flash did in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashWork {
    /// Pages programmed for the host.
    pub host: u64,
    /// Pages programmed by collection and wear levelling.
    pub moved: u64,
    /// Translation pages programmed.
    pub mapping: u64,
    /// Blocks erased.
    pub erased: u64,
}

impl LivePoints {
    /// Whether a path is that of a file which begins as one of live-points does. A pipe is none:
    /// looking at it would take what it begins with.
    pub fn is_file(path: &Path) -> bool {
        if is_pipe(path) {
            return false;
        }
        let mut head = [0; LIVE_POINTS_MAGIC.len()];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
        read.is_ok() && head == LIVE_POINTS_MAGIC
    }

    /// What the whole trace touches.
    pub fn extents(&self) -> Extents {
        Extents::of_grains(self.touched())
    }
}

/// What a drive is asked to do with the windows of a trace.
#[derive(Clone, Copy, Debug)]
pub struct WindowTask<'a> {
    /// The trace.
    pub points: &'a LivePoints,
    /// The drive. In closed replay its queues must hold the requests that are outstanding.
    pub device: &'a CheckedConfig,
    /// What it holds and has been through before the trace.
    pub preparation: &'a Preparation,
    /// When requests are submitted.
    pub replay: Replay,
}

/// Why windows cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SampledError {
    /// The drive cannot be restored, or runs out of space.
    #[error(transparent)]
    Points(#[from] LivePointsError),
    /// Requests do not come.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A file of live-points cannot be read.
    #[error(transparent)]
    File(#[from] PointsFileError),
    /// Several flows or tenants share the drive.
    #[error("windows are taken of one trace on a drive of its own, and here are {flows} flows")]
    Flows {
        /// How many.
        flows: usize,
    },
    /// The drive begins otherwise than windows can be restored.
    #[error(
        "--start {start}: a window begins on a drive that holds what the trace touches (footprint) \
         or is in its steady state (steady:SHARE)"
    )]
    Start {
        /// How it begins.
        start: String,
    },
    /// A closed loop whose first requests fill more than what warms up.
    #[error(
        "closed:{depth} begins with {depth} requests at once, and only {warm_up} requests of a \
         window warm up: sample the trace with a longer --warm-up, or take a smaller depth"
    )]
    Deep {
        /// Requests that are outstanding.
        depth: u32,
        /// Requests of a window before those that are measured.
        warm_up: u32,
    },
    /// Nothing was measured.
    #[error("the windows move no data")]
    Nothing,
    /// The stop flag was set.
    #[error("interrupted")]
    Interrupted,
}

impl SampledError {
    /// Whether something else was to be asked, rather than the trace being at fault.
    pub fn is_usage(&self) -> bool {
        use LivePointsError::{Partitions, SharedStart};
        matches!(
            self,
            Self::Flows { .. }
                | Self::Start { .. }
                | Self::Deep { .. }
                | Self::Points(SharedStart { .. } | Partitions)
        )
    }
}

/// Serves windows of a trace on a drive, each on a restored one of its own.
///
/// A window's run does not depend on which others are served, or when.
pub struct WindowServer<'a> {
    task: WindowTask<'a>,
    restorer: Restorer<'a>,
}

impl<'a> WindowServer<'a> {
    /// Gets ready to serve any of these windows. In closed replay some of them are served at once:
    /// how long the drive takes for requests decides what its data cache holds.
    ///
    /// # Errors
    /// The drive cannot be made or is unfit for the trace, a closed loop is deeper than what warms
    /// up, or `stop` was set.
    pub fn new(
        task: WindowTask<'a>,
        windows: &[usize],
        stop: &AtomicBool,
    ) -> Result<Self, SampledError> {
        let WindowTask { points, device, preparation, replay } = task;
        let warm_up = points.options.warm_up;
        if let Replay::Closed(depth) = replay
            && depth > warm_up.max(1)
        {
            return Err(SampledError::Deep { depth, warm_up });
        }
        let all = windows.iter().map(|&window| &points.windows[window]);
        let clock = match replay {
            Replay::Open => Clock::Trace,
            Replay::Closed(_) => Clock::guessed(points, device),
        };
        let restorer = Restorer::new(points, all, device, preparation.clone(), clock)?;
        let server = Self { task, restorer };
        if replay == Replay::Open {
            return Ok(server);
        }
        let wanted = (windows.len() / 4).clamp(*PILOTS.start(), *PILOTS.end());
        let step = windows.len().div_ceil(wanted).max(1);
        let pilots: Vec<usize> = windows.iter().copied().step_by(step).collect();
        let known = server.serve(&pilots, stop, &|_| {})?;
        let timed: Vec<Timed> = known.iter().map(|run| run.timed).collect();
        let restorer = server.restorer.with_clock(Clock::measured(points, &timed));
        Ok(Self { task, restorer })
    }

    /// Serves windows, on all threads of the current pool, and calls `told` with the number of
    /// requests of each that was served.
    ///
    /// # Errors
    /// The drive runs out of space, or `stop` was set.
    pub fn serve(
        &self,
        windows: &[usize],
        stop: &AtomicBool,
        told: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<WindowRun>, SampledError> {
        let WindowTask { points, replay, .. } = self.task;
        let one = |&number: &usize| {
            let window = &points.windows[number];
            let run = serve_window(&self.restorer, (number, window), replay, stop)?;
            told(window.requests.len() as u64);
            Ok(run)
        };
        windows.par_iter().map(one).collect()
    }
}

/// Seconds of a trace from which on it does not matter where each of them begins.
const SECONDS: f64 = 100.0;
/// How much faster or slower a drive may be if seconds had half as many requests.
const MATTERS: f64 = 0.01;

/// Whether luck decides how fast a closed loop is.
///
/// A data cache keeps pages that are written twice in one second. How many these are depends on how
/// fast the drive is, and where it spends much of its time on programs, that depends on them in
/// turn. With few seconds in the whole trace it matters where each begins, which windows do not
/// know: they have been up to 16 % off there.
pub fn seconds_are_few(points: &LivePoints, runs: &[WindowRun]) -> bool {
    let sum = |value: &dyn Fn(&WindowRun) -> f64| runs.iter().map(value).sum::<f64>();
    let requests = sum(&|run| run.served.requests as f64);
    let is_closed = runs.iter().any(|run| run.replay != Replay::Open && run.keeps_by_seconds);
    let each = sum(&|run| run.served.span_ns) / 1e9 / requests.max(1.0);
    let timed: Vec<Timed> = runs.iter().map(|run| run.timed).collect();
    let matters = Timed::program_share(&timed) * points.epochs_matter(1.0 / each.max(1e-12));
    is_closed && matters > MATTERS && each * (points.requests as f64) < SECONDS
}

fn serve_window(
    restorer: &Restorer<'_>,
    (number, window): (usize, &Window),
    replay: Replay,
    stop: &AtomicBool,
) -> Result<WindowRun, SampledError> {
    if stop.load(Ordering::Relaxed) {
        return Err(SampledError::Interrupted);
    }
    let mut drive = restorer.drive(window, OBSERVE).map_err(LivePointsError::from)?;
    let before = Counted::of(&drive);
    let page = f64::from(drive.past_room(TenantId(0)).page_sectors);
    let coming = drive.sectors_on_the_way(TenantId(0)) as f64 / page;
    let stream = Stream { replay, ..Stream::open(window.requests.iter().copied()) };
    let mut buffer = Watch::new(restorer.device(), replay);
    buffer.look(&drive);
    let completions = completed(&mut drive, stream, window, stop, &mut buffer)?;
    let after = Counted::of(&drive);
    let flash = before.flash_until(&after);
    let timed = timed(window, replay, &completions, flash.host as f64 - coming);
    let end = window.requests.len() as u64 - u64::from(TAIL);
    let numbers = u64::from(window.warm_up)..end;
    let measured = || completions.iter().filter(|done| numbers.contains(&done.number));
    let of = |op: Option<Op>| {
        let own = measured().filter(|done| op.is_none_or(|op| done.op == op));
        Latencies::new(own.map(|done| (done.completed - done.enqueued).0).collect())
    };
    let moving = measured().filter(|done| matches!(done.op, Op::Read | Op::Write));
    let since_arrival = moving.map(|done| (done.completed - done.arrived).0).collect();
    let waits = match replay {
        Replay::Open => waits_ns(&completions, &numbers),
        Replay::Closed(_) => [0.0; 2],
    };
    Ok(WindowRun {
        window: number,
        replay,
        served: Replayed::of(&completions, numbers.clone()),
        latencies: of(None),
        by_op: [of(Some(Op::Read)), of(Some(Op::Write))],
        since_arrival: Latencies::new(since_arrival),
        flash,
        keeps_by_seconds: !drive.past_room(TenantId(0)).is_buffer,
        buffered: buffer.told(&drive, restorer.device(), measured_between(&completions, &numbers)),
        timed,
        energy: (after.joules - before.joules, after.seconds - before.seconds),
        busy: after.busy.since(before.busy),
        warm_up_ns: match (replay, window.requests.get(window.warm_up as usize)) {
            (Replay::Open, Some(first)) if window.warm_up > 0 => {
                (first.at - window.requests[0].at).0 as f64
            }
            _ => f64::INFINITY,
        },
        waited_ns: waits[0].min(waits[1]),
        waits_from_before: replay == Replay::Open && waits_from_before(&completions, &numbers),
        report: drive.report(),
    })
}

/// What a drive completes of a window whose requests come as a stream.
fn completed(
    drive: &mut Simulator,
    stream: Stream<'_>,
    window: &Window,
    stop: &AtomicBool,
    buffer: &mut Watch,
) -> Result<Vec<Completion>, SampledError> {
    let mut completions = Vec::with_capacity(window.requests.len());
    let served = serve(drive, vec![stream], buffer.interval, stop, |drive, done, _| {
        buffer.look(drive);
        completions.extend_from_slice(done);
        true
    });
    match served {
        Served::Completed => Ok(completions),
        Served::OutOfSpace { .. } => Err(LivePointsError::OutOfSpace.into()),
        Served::GivenUp | Served::Interrupted => Err(SampledError::Interrupted),
    }
}

/// When the first of some requests entered the drive's queue, and the first behind them did.
fn measured_between(completions: &[Completion], numbers: &std::ops::Range<u64>) -> [Nanos; 2] {
    [numbers.start, numbers.end].map(|number| {
        let behind = completions.iter().filter(|done| done.number >= number);
        behind.map(|done| done.enqueued).min().unwrap_or(Nanos::MAX)
    })
}

/// How long the first and the last of some requests waited at the host.
fn waits_ns(completions: &[Completion], numbers: &std::ops::Range<u64>) -> [f64; 2] {
    [numbers.start, numbers.end - 1].map(|number| {
        let found = completions.iter().find(|done| done.number == number);
        found.map_or(0.0, |done| (done.enqueued - done.arrived).0 as f64)
    })
}

/// Whether the first of some requests waits at the host for longer than they take in the drive, and
/// the drive was idle before for less time than the slowest of all takes. What waited before the
/// first of all would have been served in that time.
fn waits_from_before(completions: &[Completion], numbers: &std::ops::Range<u64>) -> bool {
    let mut all: Vec<&Completion> = completions.iter().collect();
    all.sort_unstable_by_key(|done| done.number);
    let Some(first) = all.iter().position(|done| done.number == numbers.start) else {
        return false;
    };
    let wait = |done: &&Completion| (done.enqueued - done.arrived).0;
    // Entering the queue takes time on some hosts, when nobody waits as well.
    let waited = wait(&all[first]) - all.iter().map(wait).min().unwrap_or(0);
    let measured = &all[first..(first + (numbers.end - numbers.start) as usize).min(all.len())];
    let inside: u64 = measured.iter().map(|done| (done.completed - done.enqueued).0).sum();
    let slowest = all.iter().map(|done| (done.completed - done.arrived).0).max().unwrap_or(0);
    let (mut idle, mut busy_until) = (0, all[0].arrived);
    for done in &all[..=first] {
        idle += done.arrived.0.saturating_sub(busy_until.0);
        busy_until = busy_until.max(done.completed);
    }
    waited * measured.len() as u64 > inside && idle < slowest
}

/// How long a window took. The first requests of a closed loop come at once, and those behind the
/// measured ones end alone.
fn timed(window: &Window, replay: Replay, completions: &[Completion], programs: f64) -> Timed {
    let end = window.requests.len() as u64 - u64::from(TAIL);
    let from = match replay {
        Replay::Open => 0,
        Replay::Closed(depth) => u64::from(depth).min(end - 1),
    };
    let Replayed { requests, span_ns, .. } = Replayed::of(completions, from..end);
    let share = requests as f64 / window.requests.len() as f64;
    let (first, requests) = (window.start + from as u32, requests as f64);
    Timed { first, requests, programs: programs.max(0.0) * share, ns: span_ns }
}

/// What a drive has counted so far.
struct Counted {
    flash: FlashWork,
    joules: f64,
    seconds: f64,
    busy: BusyTime,
}

impl Counted {
    fn of(drive: &Simulator) -> Self {
        let (energy, flash) = (drive.energy(), drive.flash());
        let flash = FlashWork {
            host: flash.pages_programmed_host,
            moved: flash.pages_programmed_moved,
            mapping: flash.pages_programmed_mapping,
            erased: flash.blocks_erased,
        };
        Self { flash, joules: energy.total_j, seconds: energy.seconds, busy: drive.busy() }
    }

    fn flash_until(&self, later: &Self) -> FlashWork {
        FlashWork {
            host: later.flash.host - self.flash.host,
            moved: later.flash.moved - self.flash.moved,
            mapping: later.flash.mapping - self.flash.mapping,
            erased: later.flash.erased - self.flash.erased,
        }
    }
}
