//! Serving a window on its restored drive, and what is measured of it.

use super::{TAIL, Window};
use crate::serve::{Served, serve};
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, Replay, Simulator, Stream};
use std::sync::atomic::AtomicBool;

/// What a drive did with the measured requests of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Measured requests.
    pub requests: u64,
    /// The sum of their latencies in the drive, in nanoseconds.
    pub latency_ns: f64,
    /// From when the first of them entered the drive's queue until the first behind them did.
    pub span_ns: f64,
    /// Their sectors.
    pub sectors: u64,
}

impl Replayed {
    /// What completions say of the requests with some numbers.
    pub fn of(completions: &[Completion], numbers: std::ops::Range<u64>) -> Self {
        let mut replayed = Self::default();
        let (mut from, mut to) = (Nanos::MAX, Nanos::MAX);
        for completion in completions {
            if completion.number >= numbers.start {
                from = from.min(completion.enqueued);
            }
            if completion.number >= numbers.end {
                to = to.min(completion.enqueued);
            }
            if numbers.contains(&completion.number) {
                replayed.requests += 1;
                replayed.latency_ns += (completion.completed - completion.enqueued).0 as f64;
                replayed.sectors += u64::from(completion.sectors);
            }
        }
        replayed.span_ns = if to == Nanos::MAX { 0.0 } else { (to - from).0 as f64 };
        replayed
    }
}

/// Serves a window on its drive, which keeps completions. `None` if the drive runs out of space.
pub fn replay(drive: &mut Simulator, window: &Window, replay: Replay) -> Option<Replayed> {
    let stop = AtomicBool::new(false);
    let requests = window.requests.iter().copied();
    let stream = Stream { replay, ..Stream::open(requests) };
    let mut completions = Vec::with_capacity(window.requests.len());
    let served = serve(drive, vec![stream], None, &stop, |_, done, _| {
        completions.extend_from_slice(done);
        true
    });
    let end = window.requests.len() as u64 - u64::from(TAIL);
    (served == Served::Completed).then(|| Replayed::of(&completions, window.warm_up.into()..end))
}
