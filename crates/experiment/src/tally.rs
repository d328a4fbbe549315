//! Counts, bytes and latencies of completed requests, by tenant and by what they asked for.
//!
//! Latency is from the arrival at the host to the completion, in whatever queue the request waits;
//! a report of the simulator also has the drive's own part. Cost: three additions for each
//! completion, 32 bytes for each tenant and kind of request.

use ssdtune_model::{Nanos, Place, SECTOR_BYTES, Table, TenantId};
use ssdtune_sim::Completion;
use ssdtune_trace::Op;
use std::ops::AddAssign;

/// Sums over some completed requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many requests.
    pub requests: u64,
    /// Bytes they covered.
    pub bytes: u64,
    /// Sum of their latencies, in nanoseconds.
    pub latency_ns: u128,
}

impl Sums {
    /// Mean latency in nanoseconds; 0 without requests.
    pub fn latency_ns_mean(&self) -> f64 {
        self.latency_ns as f64 / self.requests.max(1) as f64
    }

    fn add(&mut self, completion: &Completion) {
        self.requests += 1;
        self.bytes += u64::from(completion.sectors) * SECTOR_BYTES;
        self.latency_ns += u128::from((completion.completed - completion.arrived).0);
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.latency_ns += other.latency_ns;
    }
}

/// Sums for each kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByOp {
    /// Reads.
    pub read: Sums,
    /// Writes.
    pub write: Sums,
    /// Trims and flushes.
    pub other: Sums,
}

impl ByOp {
    /// Sums over all kinds.
    pub fn all(&self) -> Sums {
        let mut all = self.read;
        all += self.write;
        all += self.other;
        all
    }
}

impl AddAssign for ByOp {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.write += other.write;
        self.other += other.other;
    }
}

/// Sums over completed requests, and when the last of them was completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    tenants: Table<TenantId, ByOp>,
    last_completion: Nanos,
}

impl Tally {
    /// Counts one completed request.
    pub fn add(&mut self, completion: &Completion) {
        while self.tenants.len() <= completion.tenant.index() {
            self.tenants.push(ByOp::default());
        }
        let tenant = &mut self.tenants[completion.tenant];
        let sums = match completion.op {
            Op::Read => &mut tenant.read,
            Op::Write => &mut tenant.write,
            Op::Trim | Op::Flush => &mut tenant.other,
        };
        sums.add(completion);
        self.last_completion = self.last_completion.max(completion.completed);
    }

    /// Sums over all tenants.
    pub fn total(&self) -> ByOp {
        self.of_tenants(|_| true)
    }

    /// Sums over the tenants that the condition chooses.
    pub fn of_tenants(&self, mut is_chosen: impl FnMut(TenantId) -> bool) -> ByOp {
        let mut total = ByOp::default();
        for (_, tenant) in self.tenants.named().filter(|(tenant, _)| is_chosen(*tenant)) {
            total += *tenant;
        }
        total
    }

    /// When the last request counted was completed; time 0 if none was.
    pub fn last_completion(&self) -> Nanos {
        self.last_completion
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::Sectors;

    fn completion(tenant: u16, op: Op, arrived: u64, completed: u64) -> Completion {
        Completion {
            number: 0,
            tenant: TenantId(tenant),
            op,
            lba: Sectors(0),
            sectors: 8,
            arrived: Nanos(arrived),
            enqueued: Nanos(arrived),
            completed: Nanos(completed),
        }
    }

    #[test]
    fn sums_are_kept_by_tenant_and_kind() {
        let mut tally = Tally::default();
        assert_eq!(tally.total().all().latency_ns_mean(), 0.0);
        tally.add(&completion(2, Op::Read, 0, 30));
        tally.add(&completion(0, Op::Write, 5, 15));
        tally.add(&completion(0, Op::Read, 0, 10));
        tally.add(&completion(1, Op::Flush, 0, 7));
        let total = tally.total();
        assert_eq!((total.read.requests, total.read.latency_ns_mean()), (2, 20.0));
        assert_eq!((total.write.bytes, total.other.latency_ns), (4096, 7));
        assert_eq!((total.all().requests, tally.last_completion()), (4, Nanos(30)));
        assert_eq!(tally.of_tenants(|tenant| tenant == TenantId(2)).all().requests, 1);
    }
}
