//! By what clock epochs of cached writes go.
//!
//! The data cache keeps a page that is written twice in one epoch, which is a second of the drive's
//! time. In open replay that is the trace's time; in closed replay it depends on the drive how many
//! requests a second has, so somebody must have measured it.

use super::super::recency::EPOCHS;
use super::super::record::{NEVER, Record};
use super::super::{Replayed, Window};
use ssdtune_model::Nanos;

/// By what clock the epochs of cached writes go.
#[derive(Clone, Debug, PartialEq)]
pub enum Clock {
    /// By the times of the trace: open replay.
    Trace,
    /// By the drive's speed: closed replay. The time at which each of some requests is served, from
    /// request 0 on, in order.
    Served(Vec<(u32, f64)>),
}

/// An epoch of cached writes in nanoseconds.
const EPOCH_NS: f64 = 1e9;

impl Clock {
    /// A drive that serves requests evenly.
    pub fn even(ns_per_request: f64) -> Self {
        Self::Served(vec![(0, 0.0), (NEVER, ns_per_request * f64::from(NEVER))])
    }

    /// The clock of a drive that has served these windows as is said beside them: between two
    /// windows it serves as fast as in the later one.
    pub fn measured<'a>(windows: impl IntoIterator<Item = (&'a Window, &'a Replayed)>) -> Self {
        let (mut known, mut time, mut at, mut each) = (vec![(0, 0.0)], 0.0, 0, 0.0);
        for (window, replayed) in windows {
            let to = window.start + window.warm_up;
            each = replayed.span_ns / replayed.requests.max(1) as f64;
            if to > at {
                time += each * f64::from(to - at);
                known.push((to, time));
                at = to;
            }
        }
        known.push((NEVER, time + each * f64::from(NEVER - at)));
        Self::Served(known)
    }

    pub(super) fn time(known: &[(u32, f64)], request: u32) -> f64 {
        let after = known.partition_point(|&(at, _)| at <= request).clamp(1, known.len() - 1);
        let ((from, start), (to, end)) = (known[after - 1], known[after]);
        start + (end - start) * f64::from(request - from) / f64::from((to - from).max(1))
    }

    /// The epoch of a request and its first request, for closed replay.
    fn epoch(known: &[(u32, f64)], request: u32) -> u64 {
        (Self::time(known, request) / EPOCH_NS) as u64
    }

    /// Whether the page is held as changed after its last write.
    pub(super) fn dirty(&self, record: &Record) -> bool {
        match self {
            Self::Trace => record.dirty(),
            Self::Served(known) => {
                record.rewrite != NEVER
                    && record.write != NEVER
                    && Self::epoch(known, record.write) == Self::epoch(known, record.rewrite)
            }
        }
    }

    /// Whether the page was written in the epoch in which the window begins.
    pub(super) fn this_epoch(&self, record: &Record, window: &Window) -> bool {
        record.write != NEVER
            && match self {
                Self::Trace => record.write >= window.epoch.first,
                Self::Served(known) => {
                    Self::epoch(known, record.write) == Self::epoch(known, window.start)
                }
            }
    }

    /// When the epoch ends, by the clock of the restored drive.
    pub(super) fn ends(&self, window: &Window) -> Nanos {
        match self {
            Self::Trace => window.epoch.ends,
            Self::Served(known) => {
                let now = Self::time(known, window.start);
                Nanos((EPOCH_NS - now % EPOCH_NS) as u64)
            }
        }
    }

    /// Requests of an epoch around the window, as a binary logarithm.
    pub(super) fn epoch_bits(known: &[(u32, f64)], window: &Window) -> f64 {
        let (from, to) = (window.start.saturating_sub(20_000), window.start + 1_000);
        let each = (Self::time(known, to) - Self::time(known, from)) / f64::from(to - from);
        (EPOCH_NS / each.max(1e-3)).log2()
    }
}

/// The neighbours of a length of epochs among those that are counted, and their weights.
pub(super) fn between(bits: f64) -> [(usize, f64); 2] {
    let at = ((bits - f64::from(EPOCHS[0])) / 2.0).clamp(0.0, 3.0);
    let low = (at as usize).min(2);
    [(low, 1.0 - (at - low as f64)), (low + 1, at - low as f64)]
}
