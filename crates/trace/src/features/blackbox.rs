//! Black-box models: the workload characteristics a regression tree predicts performance from.
//!
//! Li, Huang, "Black-Box Performance Modeling for Solid-State Drives" (MASCOTS 2010), section II:
//! - basic, Eq. 2: rw_ratio (share of writes), q_dep (outstanding requests), req_size (bytes), rand
//!   (share of random requests);
//! - extended, Eq. 4: rw_ratio, q_dep, wr_size, rd_size, wr_rand, rd_rand, wr_stride, rd_stride.
//!
//! A request is sequential when it starts where the one before ended, strided when it lies at the same distance
//! from the one before as that one from its own, and random otherwise. The basic set looks at all reads and
//! writes as one stream, the extended set at each operation by itself. The stride of a stream is its most
//! frequent repeated distance in bytes, or 0 when fewer than half of its requests are strided.
//! A trace does not carry its queue depth: the caller states it, from its benchmark or by Little's law.

use crate::{Op, Request};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Eq. 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Basic {
    /// Share of writes.
    pub rw_ratio: f64,
    /// Outstanding requests.
    pub q_dep: f64,
    /// Mean size in bytes.
    pub req_size: f64,
    /// Share of random requests.
    pub rand: f64,
}

/// Eq. 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extended {
    /// Share of writes.
    pub rw_ratio: f64,
    /// Outstanding requests.
    pub q_dep: f64,
    /// Mean size of a write in bytes.
    pub wr_size: f64,
    /// Mean size of a read in bytes.
    pub rd_size: f64,
    /// Share of random requests among writes.
    pub wr_rand: f64,
    /// Share of random requests among reads.
    pub rd_rand: f64,
    /// Stride of writes in bytes.
    pub wr_stride: f64,
    /// Stride of reads in bytes.
    pub rd_stride: f64,
}

impl Basic {
    /// In the order of Eq. 2.
    pub const fn vector(&self) -> [f64; 4] {
        [self.rw_ratio, self.q_dep, self.req_size, self.rand]
    }
}

impl Extended {
    /// In the order of Eq. 4.
    pub const fn vector(&self) -> [f64; 8] {
        [
            self.rw_ratio,
            self.q_dep,
            self.wr_size,
            self.rd_size,
            self.wr_rand,
            self.rd_rand,
            self.wr_stride,
            self.rd_stride,
        ]
    }
}

/// Eq. 2 of the reads and writes of a trace.
pub fn basic(requests: &[Request], queue_depth: f64) -> Basic {
    let all = Pattern::of(accesses(requests));
    let writes = requests.iter().filter(|r| r.op == Op::Write).count();
    Basic {
        rw_ratio: share(writes, all.count),
        q_dep: queue_depth,
        req_size: all.mean_bytes,
        rand: all.random_share,
    }
}

/// Eq. 4 of the reads and writes of a trace.
pub fn extended(requests: &[Request], queue_depth: f64) -> Extended {
    let reads = Pattern::of(accesses(requests).filter(|r| r.op == Op::Read));
    let writes = Pattern::of(accesses(requests).filter(|r| r.op == Op::Write));
    Extended {
        rw_ratio: share(writes.count, reads.count + writes.count),
        q_dep: queue_depth,
        wr_size: writes.mean_bytes,
        rd_size: reads.mean_bytes,
        wr_rand: writes.random_share,
        rd_rand: reads.random_share,
        wr_stride: writes.stride_bytes,
        rd_stride: reads.stride_bytes,
    }
}

/// The mean number of outstanding requests when requests take `latency_ns` on average (Little's law).
pub fn mean_outstanding(requests: &[Request], latency_ns: f64) -> f64 {
    match requests {
        [first, .., last] if last.at > first.at => {
            (requests.len() - 1) as f64 / (last.at - first.at).0 as f64 * latency_ns
        }
        _ => requests.len() as f64,
    }
}

fn accesses(requests: &[Request]) -> impl Iterator<Item = &Request> {
    requests.iter().filter(|r| matches!(r.op, Op::Read | Op::Write))
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[derive(Default)]
struct Pattern {
    count: usize,
    mean_bytes: f64,
    random_share: f64,
    stride_bytes: f64,
}

impl Pattern {
    fn of<'r>(requests: impl Iterator<Item = &'r Request>) -> Self {
        let (mut count, mut sectors, mut random) = (0usize, 0u64, 0usize);
        let mut strides: BTreeMap<i64, usize> = BTreeMap::new();
        let mut last: Option<&Request> = None;
        let mut last_distance = None;
        for request in requests {
            count += 1;
            sectors += u64::from(request.sectors);
            if let Some(before) = last {
                let distance = request.lba.0.wrapping_sub(before.lba.0) as i64;
                let sequential = request.lba.0 == before.lba.0 + u64::from(before.sectors);
                if !sequential && last_distance == Some(distance) && distance != 0 {
                    *strides.entry(distance).or_default() += 1;
                } else if !sequential {
                    random += 1;
                }
                last_distance = Some(distance);
            }
            last = Some(request);
        }
        let strided: usize = strides.values().sum();
        // Ties go to the smaller distance.
        let most = strides
            .iter()
            .max_by_key(|&(distance, n)| (*n, -distance.unsigned_abs().cast_signed()));
        let stride_bytes = match most {
            Some((distance, _)) if 2 * strided >= count => distance.unsigned_abs() as f64 * 512.0,
            _ => 0.0,
        };
        Self {
            count,
            mean_bytes: if count == 0 { 0.0 } else { sectors as f64 * 512.0 / count as f64 },
            random_share: share(random, count.saturating_sub(1)),
            stride_bytes,
        }
    }
}
