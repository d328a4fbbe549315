//! The two sets of workload characteristics of the paper, measured on requests.
//!
//! Li, Huang, "Black-Box Performance Modeling for Solid-State Drives" (MASCOTS 2010), section II:
//! Eq. 2 looks at all reads and writes as one stream, Eq. 4 at reads and writes apart.
//! [`AccessPattern`] defines which requests are random and which are strided. A trace does not say
//! how many requests are outstanding: the caller does, from the benchmark or by Little's law. Trims
//! and flushes are left out.

use serde::{Deserialize, Serialize};
use ssdtune_trace::describe::AccessPattern;
use ssdtune_trace::{Op, Request};

/// The basic characteristics of a workload, Eq. 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Basic {
    /// Share of writes among reads and writes, 0 to 1.
    pub(crate) rw_ratio: f64,
    /// Requests outstanding in the mean.
    pub(crate) q_dep: f64,
    /// Mean size of a request, in bytes.
    pub(crate) req_size: f64,
    /// Share of random requests, 0 to 1.
    pub(crate) rand: f64,
}

/// The extended characteristics of a workload, Eq. 4. Those of reads are 0 if there are no reads,
/// those of writes if there are no writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extended {
    /// Share of writes among reads and writes, 0 to 1.
    pub rw_ratio: f64,
    /// Requests outstanding in the mean.
    pub q_dep: f64,
    /// Mean size of a write, in bytes.
    pub wr_size: f64,
    /// Mean size of a read, in bytes.
    pub rd_size: f64,
    /// Share of random requests among writes, 0 to 1.
    pub wr_rand: f64,
    /// Share of random requests among reads, 0 to 1.
    pub rd_rand: f64,
    /// Stride of writes, in bytes.
    pub wr_stride: f64,
    /// Stride of reads, in bytes.
    pub rd_stride: f64,
}

impl Basic {
    /// The characteristics of `requests`, with `q_dep` of them outstanding.
    pub(crate) fn of(requests: &[Request], q_dep: f64) -> Self {
        let is_access = |request: &&Request| matches!(request.op, Op::Read | Op::Write);
        let all = AccessPattern::of(requests.iter().filter(is_access));
        let writes = requests.iter().filter(|request| request.op == Op::Write).count();
        Self {
            rw_ratio: share(writes, all.requests),
            q_dep,
            req_size: all.mean_bytes,
            rand: all.random_share,
        }
    }

    /// The four numbers in the order of Eq. 2.
    pub(crate) const fn vector(&self) -> [f64; 4] {
        [self.rw_ratio, self.q_dep, self.req_size, self.rand]
    }
}

impl Extended {
    /// The characteristics of `requests`, with `q_dep` of them outstanding.
    pub fn of(requests: &[Request], q_dep: f64) -> Self {
        let [reads, writes] = [Op::Read, Op::Write]
            .map(|op| AccessPattern::of(requests.iter().filter(|request| request.op == op)));
        Self {
            rw_ratio: share(writes.requests, reads.requests + writes.requests),
            q_dep,
            wr_size: writes.mean_bytes,
            rd_size: reads.mean_bytes,
            wr_rand: writes.random_share,
            rd_rand: reads.random_share,
            wr_stride: writes.stride_bytes,
            rd_stride: reads.stride_bytes,
        }
    }

    /// The eight numbers in the order of Eq. 4.
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

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::TenantId;

    #[test]
    fn characteristics_of_runs_strides_and_jumps() {
        // Writes: 64 KiB apart, 4 KiB each. Reads: one run of 8 KiB. Interleaved they are random.
        let request = |at, lba, sectors, op| Request {
            at: Nanos(at),
            lba: Sectors(lba),
            sectors,
            tenant: TenantId(0),
            op,
        };
        let requests: Vec<Request> = (0..100u64)
            .flat_map(|i| {
                [
                    request(2 * i, i * 128, 8, Op::Write),
                    request(2 * i + 1, 1_000_000 + i * 16, 16, Op::Read),
                ]
            })
            .collect();
        let extended = Extended::of(&requests, 16.0);
        // The first distance of a stride cannot be a repeat: 1 of 99 counts as random.
        assert_eq!(extended.vector(), [0.5, 16.0, 4096.0, 8192.0, 1.0 / 99.0, 0.0, 65536.0, 0.0]);
        assert_eq!(Basic::of(&requests, 1.0).vector(), [0.5, 1.0, 6144.0, 1.0]);
        assert_eq!(Basic::of(&[], 1.0).vector(), [0.0, 1.0, 0.0, 0.0]);
    }
}
