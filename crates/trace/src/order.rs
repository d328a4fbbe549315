//! Puts requests in order of time within a bounded window, and counts time from the first of them.
//!
//! At most `2 x window` requests (24 bytes each) and one batch are held. A request may stand up to `window` places
//! after its turn; one that comes later still is an error (or skipped). Equal times keep the order of the file.

use crate::error::Problem;
use crate::request::Request;
use ssdtune_model::Nanos;

pub(crate) struct Orderer {
    pending: Vec<Request>,
    window: usize,
    sorted: bool,
    started: bool,
    /// Latest time seen.
    high: u64,
    /// Latest time let go.
    floor: u64,
    max_gap_ns: u64,
    rebase: bool,
    origin: Option<u64>,
}

impl Orderer {
    pub(crate) fn new(window: usize, max_gap: Nanos, rebase: bool) -> Self {
        Self {
            pending: Vec::new(),
            window,
            sorted: true,
            started: false,
            high: 0,
            floor: 0,
            max_gap_ns: max_gap.0,
            rebase,
            origin: None,
        }
    }

    /// Absolute time of the first request let go.
    pub(crate) fn origin_ns(&self) -> u64 {
        self.origin.unwrap_or(0)
    }

    /// Takes requests from `batch`; stops at the first that cannot be ordered, with its index and the reason.
    pub(crate) fn push(&mut self, batch: &[Request]) -> Result<(), (usize, Problem)> {
        let Some(first) = batch.first() else { return Ok(()) };
        if !self.started {
            self.started = true;
            self.high = first.at.0;
        }
        let (mut high, mut sorted, mut taken, mut problem) = (self.high, self.sorted, 0, None);
        for request in batch {
            let at = request.at.0;
            if at >= high {
                if at - high > self.max_gap_ns {
                    problem = Some(Problem::TimeJump);
                    break;
                }
                high = at;
            } else if at < self.floor {
                problem = Some(Problem::OutOfOrder);
                break;
            } else {
                sorted = false;
            }
            taken += 1;
        }
        self.pending.extend_from_slice(&batch[..taken]);
        (self.high, self.sorted) = (high, sorted);
        match problem {
            Some(problem) => Err((taken, problem)),
            None => Ok(()),
        }
    }

    /// Appends to `out` what can no longer be overtaken; everything at the `end`. Returns how many.
    pub(crate) fn release(&mut self, end: bool, out: &mut Vec<Request>) -> usize {
        let ready = match end {
            true => self.pending.len(),
            false if self.pending.len() >= 2 * self.window => self.pending.len() - self.window,
            false => 0,
        };
        if ready == 0 {
            return 0;
        }
        if !self.sorted {
            self.pending.sort_by_key(|r| r.at);
            self.sorted = true;
        }
        let origin = *self.origin.get_or_insert(self.pending[0].at.0);
        let shift = if self.rebase { origin } else { 0 };
        self.floor = self.pending[ready - 1].at.0;
        let ordered = self.pending[..ready].iter();
        out.extend(ordered.map(|r| Request { at: Nanos(r.at.0 - shift), ..*r }));
        self.pending.drain(..ready);
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Op, TenantId};
    use proptest::prelude::*;
    use ssdtune_model::Sectors;

    fn at(ns: u64, n: u64) -> Request {
        let tenant = TenantId(0);
        Request { at: Nanos(ns), lba: Sectors(n), sectors: 8, tenant, op: Op::Read }
    }

    fn run(times: &[u64], window: usize, batch: usize) -> Result<Vec<Request>, (usize, Problem)> {
        let requests: Vec<_> = times.iter().enumerate().map(|(n, t)| at(*t, n as u64)).collect();
        let mut orderer = Orderer::new(window, Nanos::MAX, false);
        let mut out = Vec::new();
        for batch in requests.chunks(batch) {
            orderer.push(batch)?;
            orderer.release(false, &mut out);
        }
        orderer.release(true, &mut out);
        Ok(out)
    }

    #[test]
    fn beyond_the_window_is_an_error() {
        // The 1 stands three places late: after 20, 30 and 40.
        assert!(run(&[10, 20, 30, 40, 1], 4, 1).is_ok());
        assert_eq!(run(&[10, 20, 30, 40, 1], 1, 1), Err((0, Problem::OutOfOrder)));
        assert_eq!(run(&[10, 9], 0, 1), Err((0, Problem::OutOfOrder)));
        assert!(run(&[10, 10, 11], 0, 1).is_ok());
    }

    proptest! {
        #[test]
        fn what_fits_the_window_comes_out_as_a_stable_sort(
            steps in proptest::collection::vec((0u64..50, 0u64..100), 1..300),
            batch in 1usize..40,
        ) {
            // Each time lags its sorted place by less than 100 ns; with at least one request per 0 ns the number of
            // places is bounded by the whole trace, so a window as long as the trace must always do.
            let mut now = 1_000;
            let times: Vec<u64> = steps.iter().map(|(step, lag)| { now += step; now - lag }).collect();
            let sorted = run(&times, times.len(), batch).expect("fits");
            let mut expected: Vec<_> = times.iter().enumerate().map(|(n, t)| at(*t, n as u64)).collect();
            expected.sort_by_key(|r| (r.at, r.lba));
            prop_assert_eq!(sorted, expected);
        }
    }
}
