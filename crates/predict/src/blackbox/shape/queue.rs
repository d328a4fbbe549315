//! Requests on a drive of equal units: how long they wait for each other.
//!
//! A drive is many units that work at the same time, and a request waits where others have put work
//! before. How long depends on the order and the places of all requests, of which no mean tells. So
//! the requests are served by the simplest drive there is: pages lie on units by their addresses,
//! in turn, and each unit does its pages one after the other. The latencies that come of it, for
//! several numbers of units, sizes of pages and costs of a write, are columns of the shape. The
//! model learns which of them a drive is like.

use ssdtune_trace::{Op, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time of a page that is read. A write of one takes as long, or ten times, as in most flash.
const READ: u64 = 10;
/// Time of a request beside that of its pages.
const REQUEST: u64 = 1;

/// A drive of equal units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// How many units there are, a power of two.
    pub(super) count: usize,
    /// Sectors in a page.
    pub(super) page: u64,
    /// Time of a page that is written, in times of one that is read.
    pub(super) write: u64,
}

impl Units {
    /// Mean latency of the requests from number `before` on, in times of a page that is read. Of
    /// all requests `depth` are outstanding at any time.
    pub(super) fn latency(self, requests: &[Request], before: usize, depth: u32) -> f64 {
        let mut free = vec![0u64; self.count];
        let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let (mut sum, mut counted) = (0, 0u64);
        for (number, request) in requests.iter().enumerate() {
            let cost = match request.op {
                Op::Read => READ,
                Op::Write => READ * self.write,
                Op::Trim | Op::Flush => continue,
            };
            let begin = match ends.len() >= depth.max(1) as usize {
                true => ends.pop().map_or(0, |first| first.0),
                false => 0,
            };
            let mut end = begin;
            for page in super::pages_of(request, self.page) {
                let unit = &mut free[page as usize & (self.count - 1)];
                *unit = begin.max(*unit) + cost;
                end = end.max(*unit);
            }
            ends.push(Reverse(end + REQUEST));
            if number >= before {
                sum += end + REQUEST - begin;
                counted += 1;
            }
        }
        sum as f64 / (counted.max(1) * READ) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::TenantId;

    fn request(op: Op, page: u64, pages: u32) -> Request {
        let (at, tenant) = (Nanos::ZERO, TenantId(0));
        Request { at, lba: Sectors(page * 8), sectors: pages * 8, tenant, op }
    }

    const EIGHT: Units = Units { count: 8, page: 8, write: 10 };

    #[test]
    fn one_request_at_a_time_waits_for_none() {
        let requests = [request(Op::Read, 0, 1), request(Op::Write, 0, 9), request(Op::Read, 0, 0)];
        // A page; two writes on one unit; nothing. Each takes a tenth beside.
        let latency = EIGHT.latency(&requests, 0, 1);
        assert!((latency - (1.0 + 20.0 + 0.0 + 0.3) / 3.0).abs() < 1e-9, "{latency}");
        // The first two only warm up.
        assert!((EIGHT.latency(&requests, 2, 1) - 0.1).abs() < 1e-9);
    }

    /// Eight reads at once: side by side on eight units, one after the other on one.
    #[test]
    fn requests_wait_for_those_on_their_unit() {
        let at = |step: u64| (0..8).map(|n| request(Op::Read, n * step, 1)).collect::<Vec<_>>();
        assert!((EIGHT.latency(&at(1), 0, 8) - 1.1).abs() < 1e-9);
        let waits = (1..=8).sum::<u64>() as f64 / 8.0;
        assert!((EIGHT.latency(&at(8), 0, 8) - waits - 0.1).abs() < 1e-9);
    }

    /// Little's law: however requests lie, as many are outstanding as the depth says.
    #[test]
    fn latency_is_depth_over_throughput() {
        let place = |n: u64| (n * 2_654_435_761) % 1_000;
        let requests: Vec<Request> =
            (0..20_000).map(|n| request(Op::Read, place(n), 1 + (n % 3) as u32)).collect();
        let deep = EIGHT.latency(&requests, 0, 64);
        // Eight units have work nearly always: 2 pages a request take 2 / 8 of a page's time.
        let throughput = 64.0 / deep;
        assert!((throughput * 2.0 / 8.0 - 1.0).abs() < 0.1, "{throughput} requests");
    }
}
