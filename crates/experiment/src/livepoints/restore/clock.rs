//! By what clock epochs of cached writes go.
//!
//! The data cache keeps a page that is written twice in one epoch, which is a second of the drive's
//! time. In open replay that is the trace's time; in closed replay it depends on the drive how many
//! requests a second has, so somebody must have measured it.

use super::super::recency::{EPOCHS, Lane};
use super::super::record::{NEVER, Record};
use super::super::{LivePoints, Mark, Window};
use ssdtune_model::{CheckedConfig, Nanos};

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
/// Nanoseconds between two requests that a closed replay is taken to begin with.
const GUESS_NS: f64 = 10_000.0;

impl Clock {
    /// A drive that serves requests evenly.
    pub fn even(ns_per_request: f64) -> Self {
        Self::Served(vec![(0, 0.0), (NEVER, ns_per_request * f64::from(NEVER))])
    }

    /// The clock of a drive of which nothing is known but its flash.
    pub fn guessed(points: &LivePoints, device: &CheckedConfig) -> Self {
        let programs = &device.flash.program_latency;
        let mean = programs.iter().map(|program| program.0 as f64).sum::<f64>();
        let together = programs.len() as f64 * device.geometry().planes() as f64;
        let pace = Pace { request_ns: GUESS_NS, program_ns: mean / together };
        Self::Served(pace.course(points, |_| 1.0))
    }

    /// The clock of a drive that has taken so long for some windows, which come in the order of the
    /// trace: it takes as long for other requests of as much work, and what it was slower or faster
    /// than that near a window it is between that window and the next one, too.
    pub fn measured(points: &LivePoints, timed: &[Timed]) -> Self {
        let pace = Pace::of(timed);
        let off: Vec<(f64, f64)> = timed
            .iter()
            .map(|own| {
                let expected = pace.ns(own.requests, own.programs).max(1.0);
                (own.middle(), (own.ns.max(1.0) / expected).ln())
            })
            .collect();
        Self::Served(pace.course(points, |at| between(&off, at).exp()))
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

/// How long a drive has taken for a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// The number of its first request in the trace.
    pub first: u32,
    /// Its requests.
    pub requests: f64,
    /// Pages programmed for the host meanwhile.
    pub programs: f64,
    /// How long it took, in nanoseconds.
    pub ns: f64,
}

impl Timed {
    /// The share of the time of some windows that programs have taken; 1 if that cannot be told.
    pub fn program_share(timed: &[Self]) -> f64 {
        let sum = |value: &dyn Fn(&Self) -> f64| timed.iter().map(value).sum::<f64>();
        let Pace { program_ns, .. } = match Pace::both(timed) {
            Some(pace) => pace,
            None => return 1.0,
        };
        program_ns * sum(&|own| own.programs) / sum(&|own| own.ns).max(1.0)
    }

    fn middle(&self) -> f64 {
        f64::from(self.first) + self.requests / 2.0
    }
}

/// How long a drive takes for what it does, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    request_ns: f64,
    program_ns: f64,
}

impl Pace {
    /// The pace that fits some windows best: errors weigh as much as windows are long.
    fn of(timed: &[Timed]) -> Self {
        Self::both(timed).unwrap_or_else(|| {
            let [requests, ns] = [|own: &Timed| own.requests, |own: &Timed| own.ns]
                .map(|value| timed.iter().map(value).sum::<f64>());
            let request_ns = if requests > 0.0 { ns / requests } else { GUESS_NS };
            Self { request_ns, program_ns: 0.0 }
        })
    }

    /// As [`Pace::of`], if windows differ enough to tell requests from programs.
    fn both(timed: &[Timed]) -> Option<Self> {
        let sum = |value: &dyn Fn(&Timed) -> f64| {
            timed.iter().map(|own| value(own) / own.ns.max(1.0)).sum::<f64>()
        };
        let (rr, rp) = (sum(&|own| own.requests.powi(2)), sum(&|own| own.requests * own.programs));
        let pp = sum(&|own| own.programs.powi(2));
        let (rt, pt) = (sum(&|own| own.requests * own.ns), sum(&|own| own.programs * own.ns));
        let unlike = rr * pp - rp * rp;
        let is_known = unlike > 1e-6 * rr * pp;
        is_known.then(|| {
            let request_ns = (rt * pp - pt * rp) / unlike;
            let program_ns = (pt * rr - rt * rp) / unlike;
            match (request_ns < 0.0, program_ns < 0.0) {
                (true, _) => Self { request_ns: 0.0, program_ns: pt / pp },
                (_, true) => Self { request_ns: rt / rr, program_ns: 0.0 },
                _ => Self { request_ns, program_ns },
            }
        })
    }

    fn ns(&self, requests: f64, programs: f64) -> f64 {
        self.request_ns * requests + self.program_ns * programs
    }

    /// When each of some requests is served; `off` says how many times as long it takes near one.
    fn course(&self, points: &LivePoints, off: impl Fn(f64) -> f64) -> Vec<(u32, f64)> {
        let (mut known, mut time, mut second) = (vec![(0, 0.0)], 0.0, 0);
        let mut each = self.request_ns;
        for pair in points.course.marks.windows(2) {
            let (from, to) = (&pair[0], &pair[1]);
            let requests = f64::from(to.request - from.request);
            if requests == 0.0 {
                continue;
            }
            // Requests of an epoch, as it went in the second before.
            while known.get(second + 1).is_some_and(|next: &(u32, f64)| next.1 <= time - EPOCH_NS) {
                second += 1;
            }
            if time > known[second].1 {
                each = (time - known[second].1) / f64::from(from.request - known[second].0);
            }
            let bits = (EPOCH_NS / each.max(1e-3)).log2();
            let programs = to.written_in(bits) - from.written_in(bits);
            let factor = off(f64::from(from.request) + requests / 2.0);
            time += self.ns(requests, programs.max(0.0)) * factor;
            known.push((to.request, time));
        }
        let last = points.course.marks.last().map_or(0, |mark| mark.request);
        known.push((NEVER, time + each * f64::from(NEVER - last)));
        known
    }
}

/// A value between two places where it is known; outside of them it is that of the nearest.
fn between(known: &[(f64, f64)], at: f64) -> f64 {
    let after = known.partition_point(|&(place, _)| place <= at);
    match (after.checked_sub(1).map(|nth| known[nth]), known.get(after)) {
        (Some(low), Some(high)) => low.1 + (high.1 - low.1) * (at - low.0) / (high.0 - low.0),
        (Some(only), None) => only.1,
        (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

impl Mark {
    /// Which counts tell what went to flash at once, with their weights: the neighbours of a length
    /// of epochs, in requests, given by its binary logarithm. In no time nothing is written twice.
    pub(super) fn counts(bits: f64) -> [(usize, f64); 2] {
        let (nth, part) = place(bits, &Self::EPOCHS);
        match nth {
            0 => [(Self::ALL, 1.0 - part), (1, part)],
            nth => [(nth, 1.0 - part), (nth + 1, part)],
        }
    }

    /// Pages that went to flash at once.
    fn written_in(&self, bits: f64) -> f64 {
        Self::counts(bits).iter().map(|&(nth, weight)| weight * self.written[nth] as f64).sum()
    }
}

impl LivePoints {
    /// By which share more pages go to flash at once if epochs are half as long as this, in
    /// requests: pages that are written again and again make it large.
    pub fn epochs_matter(&self, requests: f64) -> f64 {
        let Some(last) = self.course.marks.last() else { return 0.0 };
        let bits = requests.max(1.0).log2();
        let twice = last.written_in(bits - 1.0) - last.written_in(bits + 1.0);
        0.5 * twice / last.written_in(bits).max(1.0)
    }
}

/// The lanes that count changed pages, with their weights, for a length of epochs as above.
pub(super) fn lanes(bits: f64) -> [(usize, f64); 2] {
    let first = Lane::Written as usize + 1;
    let (nth, part) = place(bits, &EPOCHS);
    match nth {
        0 => [(first, part), (first + 1, 0.0)],
        nth => [(first + nth - 1, 1.0 - part), (first + nth, part)],
    }
}

/// How many steps lie below a height, zero and the last one not counted, and which part of the way
/// to the next step it has come.
fn place(height: f64, steps: &[u32]) -> (usize, f64) {
    let nth = steps.partition_point(|&step| f64::from(step) <= height).min(steps.len() - 1);
    let low = if nth == 0 { 0.0 } else { f64::from(steps[nth - 1]) };
    (nth, ((height - low) / (f64::from(steps[nth]) - low)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(requests: f64, programs: f64, ns: f64) -> Timed {
        Timed { first: 0, requests, programs, ns }
    }

    #[test]
    fn a_pace_is_found_in_what_windows_took() {
        let of = |requests: f64, programs: f64| {
            timed(requests, programs, 7_000.0 * requests + 300.0 * programs)
        };
        let pace = Pace::of(&[of(1_000.0, 10.0), of(1_000.0, 90_000.0), of(500.0, 7_000.0)]);
        assert!((pace.request_ns - 7_000.0).abs() < 1e-3, "{pace:?}");
        assert!((pace.program_ns - 300.0).abs() < 1e-3, "{pace:?}");
        // Nothing takes less than no time.
        let none = Pace::of(&[timed(1_000.0, 0.0, 2e6), timed(1_000.0, 9_000.0, 1e6)]);
        assert_eq!(none.program_ns, 0.0);
        assert!((1_000.0..2_000.0).contains(&none.request_ns), "{none:?}");
        let bound = Pace::of(&[timed(1_000.0, 1_000.0, 1e6), timed(1_000.0, 9_000.0, 12e6)]);
        assert_eq!(bound.request_ns, 0.0);
        assert!((1_000.0..1_400.0).contains(&bound.program_ns), "{bound:?}");
        // Windows that all do alike, or none, say nothing of programs.
        assert_eq!(Pace::of(&[timed(100.0, 50.0, 1e6); 3]).program_ns, 0.0);
        assert_eq!(Pace::of(&[]), Pace { request_ns: GUESS_NS, program_ns: 0.0 });
    }

    #[test]
    fn lengths_of_epochs_lie_between_those_that_are_counted() {
        assert_eq!(Mark::counts(0.0), [(Mark::ALL, 1.0), (1, 0.0)]);
        assert_eq!(Mark::counts(9.0), [(1, 1.0), (2, 0.0)]);
        assert_eq!(Mark::counts(12.0), [(2, 0.5), (3, 0.5)]);
        assert_eq!(Mark::counts(40.0), [(5, 0.0), (6, 1.0)]);
        assert_eq!(lanes(5.0), [(3, 0.5), (4, 0.0)]);
        assert_eq!(lanes(10.0), [(3, 1.0), (4, 0.0)]);
        assert_eq!(lanes(19.0), [(5, 0.0), (6, 1.0)]);
    }

    #[test]
    fn a_value_lies_between_the_places_where_it_is_known() {
        let known = [(10.0, 1.0), (20.0, 3.0)];
        let told = [0.0, 10.0, 15.0, 20.0, 99.0].map(|at| between(&known, at));
        assert_eq!(told, [1.0, 1.0, 2.0, 3.0, 3.0]);
        assert_eq!(between(&[], 4.0), 0.0);
    }
}
