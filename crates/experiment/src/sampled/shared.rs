//! Windows of a mix of tenants that share a drive, in open replay.
//!
//! Latencies count from the arrival at the host, as those of tenants do wherever they are compared.

use super::owed::Watch;
use super::{Counted, OBSERVE, SampledError, completed};
use crate::livepoints::{LivePoints, LivePointsError, Restorer, SharedDrive, TAIL, Window};
use crate::preparation::Start;
use crate::tally::Tally;
use rayon::prelude::*;
use ssdtune_model::CheckedConfig;
use ssdtune_sim::{Replay, Stream};
use std::sync::atomic::{AtomicBool, Ordering};

/// The mean latency from which on windows are late, as a share of the time to warm up. Where it was
/// longer, windows were up to a third off.
const LATE: f64 = 0.25;

/// What a drive that tenants share is asked to do with windows of their mix.
#[derive(Clone, Debug)]
pub struct SharedTask<'a> {
    /// The mix, as a pass over the joint address space saw it.
    pub points: &'a LivePoints,
    /// The drive.
    pub device: &'a CheckedConfig,
    /// What it holds before the mix: nothing, or what the mix touches.
    pub start: Start,
    /// How the tenants share it.
    pub tenants: SharedDrive<'a>,
}

/// What such a drive did in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedRun {
    /// Sums over the measured requests.
    pub tally: Tally,
    /// The sum of their latencies, in nanoseconds.
    pub latency_ns: f64,
    /// From the arrival of the first request of the window to that of the first that is measured,
    /// in nanoseconds.
    pub warm_up_ns: f64,
    /// Blocks were emptied in the window.
    pub collects: bool,
}

impl SharedRun {
    /// Whether requests took so long, beside the time that the window had to warm up, that others
    /// which came before it, and of which it knows nothing, may still have waited.
    pub fn is_late(&self) -> bool {
        let requests = self.tally.total().all().requests;
        self.latency_ns > requests as f64 * LATE * self.warm_up_ns
    }
}

/// Serves windows, each on a restored drive of its own, on all threads of the current pool.
///
/// # Errors
/// The drive cannot be restored or runs out of space, or `stop` was set.
pub fn serve_shared(
    task: &SharedTask<'_>,
    windows: &[usize],
    stop: &AtomicBool,
) -> Result<Vec<SharedRun>, SampledError> {
    let SharedTask { points, device, start, tenants } = task;
    let all = windows.iter().map(|&window| &points.windows[window]);
    let restorer = Restorer::shared(points, all, device, start.clone(), *tenants)?;
    let one = |&window: &usize| serve_window(&restorer, task, &points.windows[window], stop);
    windows.par_iter().map(one).collect()
}

fn serve_window(
    restorer: &Restorer<'_>,
    task: &SharedTask<'_>,
    window: &Window,
    stop: &AtomicBool,
) -> Result<SharedRun, SampledError> {
    if stop.load(Ordering::Relaxed) {
        return Err(SampledError::Interrupted);
    }
    let mut drive = restorer.drive(window, OBSERVE).map_err(LivePointsError::from)?;
    let before = Counted::of(&drive);
    let requests = window.requests.iter().map(|request| task.tenants.spaces.part(request));
    let stream = Stream { tenant: None, ..Stream::open(requests) };
    let mut buffer = Watch::new(task.device, Replay::Open);
    let completions = completed(&mut drive, stream, window, stop, &mut buffer)?;
    let end = window.requests.len() as u64 - u64::from(TAIL);
    let measured = u64::from(window.warm_up)..end;
    let (mut tally, mut latency_ns) = (Tally::default(), 0.0);
    for done in completions.iter().filter(|done| measured.contains(&done.number)) {
        tally.add(done);
        latency_ns += (done.completed - done.arrived).0 as f64;
    }
    let flash = before.flash_until(&Counted::of(&drive));
    let warm_up_ns = match window.requests.get(window.warm_up as usize) {
        Some(first) if window.warm_up > 0 => (first.at - window.requests[0].at).0 as f64,
        _ => f64::INFINITY,
    };
    Ok(SharedRun { tally, latency_ns, warm_up_ns, collects: flash.moved + flash.erased > 0 })
}
