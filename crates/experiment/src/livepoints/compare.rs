//! What restored windows are worth: the same windows inside a full run beside them.

use super::replay::{Replayed, replay};
use super::restore::{Clock, Restorer};
use super::{LivePoints, LivePointsError, Window};
use crate::preparation::Preparation;
use crate::prepare::Blank;
use crate::serve::{Served, serve};
use ssdtune_model::CheckedConfig;
use ssdtune_sim::{Completion, Observe, Replay, Stream, Tenant};
use ssdtune_trace::Request;
use std::sync::atomic::AtomicBool;

/// What a drive did with windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Inside the full run.
    pub full: Vec<Replayed>,
    /// Restored.
    pub restored: Vec<Replayed>,
}

/// Completions are kept, which is what a replay is told from.
const OBSERVE: Observe = Observe { exact_percentiles: false, completions: true };
/// Nanoseconds between two requests that a closed replay is taken to begin with.
const FIRST_GUESS_NS: f64 = 10_000.0;
/// One window in four is served before, to find out how fast a drive is.
const PILOT: usize = 4;

impl Comparison {
    /// Runs the whole trace on a drive, then its windows. In closed replay a quarter of the windows
    /// is served first, to learn how fast the drive is.
    ///
    /// # Errors
    /// The drive cannot be made, or runs out of free blocks.
    pub fn of(
        points: &LivePoints,
        windows: &[&Window],
        device: &CheckedConfig,
        preparation: &Preparation,
        (requests, how): (&[Request], Replay),
    ) -> Result<Self, LivePointsError> {
        let all = complete(device, preparation, requests, how)?;
        let measured = u64::from(points.options.measured);
        let inside = |window: &&Window| {
            let from = u64::from(window.start + window.warm_up);
            let end = (from + measured + 64).min(all.len() as u64);
            Replayed::of(&all[from as usize..end as usize], from..from + measured)
        };
        let full = windows.iter().map(inside).collect();
        let every = || windows.iter().copied();
        let restored = |clock: Clock, every: &[&Window]| {
            let runs = windows.iter().copied();
            let restorer = Restorer::new(points, runs, device, preparation.clone(), clock)?;
            let serve = |window: &&Window| {
                let mut drive = restorer.drive(window, OBSERVE)?;
                replay(&mut drive, window, how).ok_or(LivePointsError::OutOfSpace)
            };
            every.iter().map(serve).collect::<Result<Vec<Replayed>, LivePointsError>>()
        };
        let restored = match how {
            Replay::Open => restored(Clock::Trace, windows)?,
            Replay::Closed(_) => {
                let pilot: Vec<&Window> = every().step_by(PILOT).collect();
                let known = restored(Clock::even(FIRST_GUESS_NS), &pilot)?;
                restored(Clock::measured(pilot.into_iter().zip(&known)), windows)?
            }
        };
        Ok(Self { full, restored })
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
    device: &CheckedConfig,
    preparation: &Preparation,
    requests: &[Request],
    replay: Replay,
) -> Result<Vec<Completion>, LivePointsError> {
    let stop = AtomicBool::new(false);
    let tenants = [Tenant::sole(device)];
    let mut drive = Blank::new(device, &tenants, OBSERVE).prepare(preparation, requests, &stop)?;
    let stream = Stream { replay, ..Stream::open(requests.iter().copied()) };
    let mut all = Vec::with_capacity(requests.len());
    let served = serve(&mut drive, vec![stream], None, &stop, |_, completions, _| {
        all.extend_from_slice(completions);
        true
    });
    if served != Served::Completed {
        return Err(LivePointsError::OutOfSpace);
    }
    all.sort_by_key(|completion| completion.number);
    Ok(all)
}
