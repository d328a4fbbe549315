//! What restored windows are worth: the same windows inside a full run beside them.

use super::{Dues, NoInterval, OBSERVE, SampledError, WindowRun, WindowServer, WindowTask};
use crate::livepoints::{LivePointsError, Replayed};
use crate::prepare::Blank;
use crate::serve::{Served, serve};
use ssdtune_sim::{Completion, Stream, Tenant};
use ssdtune_trace::Request;
use std::sync::atomic::AtomicBool;

/// What a drive did with windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Inside the full run.
    pub full: Vec<Replayed>,
    /// Restored.
    pub restored: Vec<Replayed>,
    /// What they owe to flash beside the time that they took, in nanoseconds.
    pub owed_ns: Vec<f64>,
    /// Why no interval is told of them, if none is.
    pub no_interval: Option<NoInterval>,
}

impl Comparison {
    /// Runs the whole trace on a drive, then its windows.
    ///
    /// # Errors
    /// The drive cannot be made, or runs out of free blocks.
    pub fn of(
        task: WindowTask<'_>,
        windows: &[usize],
        requests: &[Request],
    ) -> Result<Self, SampledError> {
        let (stop, points) = (AtomicBool::new(false), task.points);
        let all = complete(task, requests, &stop)?;
        let measured = u64::from(points.options.measured);
        let inside = |&window: &usize| {
            let window = &points.windows[window];
            let from = u64::from(window.start + window.warm_up);
            let end = (from + measured + 64).min(all.len() as u64);
            Replayed::of(&all[from as usize..end as usize], from..from + measured)
        };
        let full = windows.iter().map(inside).collect();
        let runs = WindowServer::new(task, windows, &stop)?.serve(windows, &stop, &|_| {})?;
        let dues = Dues::of(&runs);
        let owed = |run: &WindowRun| dues.taken_ns(run) - run.served.span_ns;
        Ok(Self {
            full,
            owed_ns: runs.iter().map(owed).collect(),
            no_interval: NoInterval::of(points, &runs),
            restored: runs.into_iter().map(|run| run.served).collect(),
        })
    }

    /// With what windows owe added to the time that they took, as it is told.
    pub fn paid(mut self) -> Self {
        for (restored, owed) in self.restored.iter_mut().zip(&mut self.owed_ns) {
            restored.span_ns += std::mem::take(owed);
        }
        self
    }

    /// How far the mean of the restored windows is off that of the others, as a share of it, and
    /// the standard error of that.
    pub fn bias(&self, value: impl Fn(&Replayed) -> f64) -> (f64, f64) {
        let count = self.full.len() as f64;
        let mean = |list: &[Replayed]| list.iter().map(&value).sum::<f64>() / count;
        let full = mean(&self.full);
        let bias = mean(&self.restored) / full - 1.0;
        let pairs = self.restored.iter().zip(&self.full);
        let off = pairs.map(|(restored, inside)| (value(restored) - value(inside)) / full - bias);
        let squares: f64 = off.map(|off| off * off).sum();
        (bias, (squares / (count - 1.0).max(1.0) / count).sqrt())
    }
}

/// The completions of a whole run, in the order of the requests.
fn complete(
    task: WindowTask<'_>,
    requests: &[Request],
    stop: &AtomicBool,
) -> Result<Vec<Completion>, SampledError> {
    let WindowTask { device, preparation, replay, .. } = task;
    let tenants = [Tenant::sole(device)];
    let drive = Blank::new(device, &tenants, OBSERVE).prepare(preparation, requests, stop);
    let mut drive = drive.map_err(LivePointsError::from)?;
    let stream = Stream { replay, ..Stream::open(requests.iter().copied()) };
    let mut all = Vec::with_capacity(requests.len());
    let served = serve(&mut drive, vec![stream], None, stop, |_, completions, _| {
        all.extend_from_slice(completions);
        true
    });
    if served != Served::Completed {
        return Err(LivePointsError::OutOfSpace.into());
    }
    all.sort_by_key(|completion| completion.number);
    Ok(all)
}
