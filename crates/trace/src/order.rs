//! Sorts requests by time within a window, and counts time from the first request.
//!
//! A request may stand up to `window` places after its turn. One that comes later is an error, or
//! is skipped. Requests at the same time keep their order. At most `2 x window` requests (24 bytes
//! each) and two batches are held.
//!
//! A request that is much earlier than one before it ([`JUMP_BACK`]) has a damaged time stamp, or
//! begins another trace in the same file. It is counted, or refused if that is asked for.
//!
//! Batches of a trace that is in order are handed on whole, without a copy. Only when a request is
//! late are the waiting batches joined and sorted.

use crate::error::Problem;
use crate::request::Request;
use ssdtune_model::Nanos;
use std::collections::VecDeque;

/// How much earlier than a request before it a request may be. Requests are out of order because
/// several processors write a trace, or because rows are written when requests complete; a drive
/// has given up a request long before a minute is over.
pub const JUMP_BACK: Nanos = Nanos(60_000_000_000);

/// Holds requests back until no earlier request can follow.
pub(crate) struct Orderer {
    /// The waiting requests in the order of the file. No batch is empty.
    pending: VecDeque<Vec<Request>>,
    /// The number of waiting requests.
    held: usize,
    window: usize,
    /// Whether the waiting requests are in order of time.
    sorted: bool,
    started: bool,
    /// The latest time seen.
    high: u64,
    /// The latest time handed out.
    floor: u64,
    max_gap_ns: u64,
    /// Whether requests that jump back are refused.
    strict: bool,
    jumps: Jumps,
    rebase: bool,
    /// The absolute time of the first request handed out.
    origin: Option<u64>,
}

/// The requests that jump back, and where the others begin.
#[derive(Default)]
struct Jumps {
    count: u64,
    /// The first one's index in the batch being checked, and how much it is too early.
    first: Option<(usize, u64)>,
    /// The earliest time of one that jumps back.
    earliest: u64,
    /// The earliest time of the others.
    low: u64,
}

/// Batches up to this size are joined, so that a short input buffer does not make thousands of
/// them.
const JOINED_MAX: usize = 4096;
/// Larger buffers, which sorting makes, are not reused. Otherwise many of them would wait at a
/// time, each with few requests in it.
const SPARE_MAX: usize = 32 << 10;

impl Orderer {
    pub(crate) fn new(window: usize, max_gap: Nanos, strict: bool, rebase: bool) -> Self {
        Self {
            pending: VecDeque::new(),
            held: 0,
            window,
            sorted: true,
            started: false,
            high: 0,
            floor: 0,
            max_gap_ns: max_gap.0,
            strict,
            jumps: Jumps::default(),
            rebase,
            origin: None,
        }
    }

    /// The absolute time of the first request handed out; 0 before it.
    pub(crate) fn origin_ns(&self) -> u64 {
        self.origin.unwrap_or(0)
    }

    /// Checks the times of a batch before it is pushed. The error is the index of the first request
    /// that cannot be ordered, and the reason. A later call can go on behind it.
    pub(crate) fn check(&mut self, batch: &[Request]) -> Result<(), (usize, Problem)> {
        let Some(first) = batch.first() else { return Ok(()) };
        if !self.started {
            self.started = true;
            self.high = first.at.0;
            self.jumps.low = first.at.0;
        }
        let (mut high, mut sorted, mut problem) = (self.high, self.sorted, None);
        for (index, request) in batch.iter().enumerate() {
            let at = request.at.0;
            if at >= high {
                if at - high > self.max_gap_ns {
                    problem = Some((index, Problem::TimeJump));
                    break;
                }
                high = at;
            } else if at < self.floor {
                problem = Some((index, Problem::OutOfOrder));
                break;
            } else if high - at > JUMP_BACK.0 {
                if self.strict {
                    problem = Some((index, Problem::JumpBack));
                    break;
                }
                self.jumps.add(index, at, high - at);
                sorted = false;
            } else {
                self.jumps.low = self.jumps.low.min(at);
                sorted = false;
            }
        }
        (self.high, self.sorted) = (high, sorted);
        problem.map_or(Ok(()), Err)
    }

    /// The index in the batch last checked of the first request of the trace that jumps back, and
    /// by how much, if it is in that batch.
    pub(crate) fn first_jump(&mut self) -> Option<(usize, Nanos)> {
        self.jumps.first.take().map(|(index, by)| (index, Nanos(by)))
    }

    /// How many requests have jumped back, the time from the earliest to the latest request, and
    /// that without them.
    pub(crate) fn jumps(&self) -> (u64, Nanos, Nanos) {
        let Jumps { count, earliest, low, .. } = self.jumps;
        let from = if count > 0 { low.min(earliest) } else { low };
        (count, Nanos(self.high - from), Nanos(self.high - low))
    }

    /// Takes all requests of a batch that [`check`](Self::check) has accepted.
    pub(crate) fn push(&mut self, batch: &mut Vec<Request>) {
        if batch.is_empty() {
            return;
        }
        self.held += batch.len();
        let joined_max = JOINED_MAX.min(self.window / 8);
        match self.pending.back_mut() {
            Some(last) if last.len() + batch.len() <= joined_max => last.append(batch),
            _ => self.pending.push_back(std::mem::take(batch)),
        }
    }

    /// Appends a batch of requests that no later one can precede to `out`, and returns its length;
    /// 0 if there is none yet. `end` says that no more requests follow. `spare` receives an empty
    /// buffer for reuse.
    pub(crate) fn release(
        &mut self,
        end: bool,
        out: &mut Vec<Request>,
        spare: &mut Vec<Request>,
    ) -> usize {
        if !self.sorted && (end || self.held >= 2 * self.window) {
            self.sort();
        }
        let Some(front) = self.pending.front() else { return 0 };
        let ready = if self.sorted && (end || self.held - front.len() >= self.window) {
            front.len()
        } else {
            0
        };
        if ready == 0 {
            return 0;
        }
        let mut batch = self.pending.pop_front().unwrap_or_default();
        self.held -= ready;
        self.floor = batch[ready - 1].at.0;
        let origin = *self.origin.get_or_insert(batch[0].at.0);
        if self.rebase {
            batch.iter_mut().for_each(|r| r.at.0 -= origin);
        }
        if out.is_empty() {
            std::mem::swap(out, &mut batch);
        } else {
            out.append(&mut batch);
        }
        if spare.capacity() == 0 && batch.capacity() <= SPARE_MAX {
            batch.clear();
            *spare = batch;
        }
        ready
    }

    /// Sorts the waiting requests, and divides them where the window begins.
    #[cold]
    fn sort(&mut self) {
        let mut all = self.pending.pop_front().unwrap_or_default();
        all.reserve(self.held - all.len());
        self.pending.drain(..).for_each(|mut batch| all.append(&mut batch));
        all.sort_by_key(|r| r.at);
        let waiting = all.split_off(self.held.saturating_sub(self.window));
        self.pending.extend([all, waiting].into_iter().filter(|batch| !batch.is_empty()));
        self.sorted = true;
    }
}

impl Jumps {
    #[cold]
    fn add(&mut self, index: usize, at: u64, by: u64) {
        if self.count == 0 {
            (self.first, self.earliest) = (Some((index, by)), at);
        }
        self.count += 1;
        self.earliest = self.earliest.min(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;
    use proptest::prelude::*;
    use ssdtune_model::{Sectors, TenantId};

    fn at(ns: u64, n: u64) -> Request {
        let tenant = TenantId(0);
        Request { at: Nanos(ns), lba: Sectors(n), sectors: 8, tenant, op: Op::Read }
    }

    fn run(times: &[u64], window: usize, batch: usize) -> Result<Vec<Request>, (usize, Problem)> {
        let requests: Vec<_> = times.iter().enumerate().map(|(n, t)| at(*t, n as u64)).collect();
        let mut orderer = Orderer::new(window, Nanos::MAX, false, false);
        let mut out = Vec::new();
        let mut spare = Vec::new();
        for batch in requests.chunks(batch) {
            orderer.check(batch)?;
            orderer.push(&mut batch.to_vec());
            while orderer.release(false, &mut out, &mut spare) > 0 {}
        }
        while orderer.release(true, &mut out, &mut spare) > 0 {}
        Ok(out)
    }

    #[test]
    fn beyond_the_window_is_an_error() {
        // The request at 1 ns stands three places late: after 20, 30 and 40.
        assert!(run(&[10, 20, 30, 40, 1], 4, 1).is_ok());
        assert_eq!(run(&[10, 20, 30, 40, 1], 1, 1), Err((0, Problem::OutOfOrder)));
        assert_eq!(run(&[10, 9], 0, 1), Err((0, Problem::OutOfOrder)));
        assert!(run(&[10, 10, 11], 0, 1).is_ok());
    }

    #[test]
    fn what_jumps_back_is_counted_apart_from_what_is_a_little_late() {
        const S: u64 = 1_000_000_000;
        let times = [500 * S, 501 * S, 450 * S, 100 * S, 502 * S, 200 * S, 503 * S];
        let batch: Vec<Request> = times.iter().map(|&time| at(time, 0)).collect();
        let mut orderer = Orderer::new(100, Nanos::MAX, false, false);
        assert_eq!(orderer.check(&batch), Ok(()));
        assert_eq!(orderer.first_jump(), Some((3, Nanos(401 * S))));
        assert_eq!(orderer.jumps(), (2, Nanos(403 * S), Nanos(53 * S)));
        assert_eq!((orderer.check(&batch[3..4]), orderer.first_jump()), (Ok(()), None));
        let mut strict = Orderer::new(100, Nanos::MAX, true, false);
        assert_eq!(strict.check(&batch), Err((3, Problem::JumpBack)));
        assert_eq!(strict.check(&batch[4..5]), Ok(()));
        assert_eq!(strict.jumps(), (0, Nanos(52 * S), Nanos(52 * S)));
    }

    proptest! {
        #[test]
        fn what_fits_the_window_comes_out_as_a_stable_sort(
            steps in proptest::collection::vec((0u64..50, 0u64..100), 1..300),
            batch in 1usize..40,
        ) {
            // A late request may have to move past any number of earlier ones, but never past more
            // than there are. A window as long as the trace is always enough.
            let mut now = 1_000;
            let late = |(step, lag): (u64, u64)| {
                now += step;
                now - lag
            };
            let times: Vec<u64> = steps.into_iter().map(late).collect();
            let sorted = run(&times, times.len(), batch).expect("fits");
            let numbered = times.iter().enumerate();
            let mut expected: Vec<_> = numbered.map(|(n, t)| at(*t, n as u64)).collect();
            expected.sort_by_key(|r| (r.at, r.lba));
            prop_assert_eq!(sorted, expected);
        }
    }
}
