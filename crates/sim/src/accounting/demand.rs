//! What a tenant asks of the drive. Counters only grow, so the demand of a period is the difference
//! of two readings ([`Demand::since`]), and nothing has to be reset.

use serde::{Deserialize, Serialize};
use ssdtune_trace::Op;

/// What a tenant has asked for since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Flash pages that the reads touch, whether or not the data cache holds them.
    pub read_pages: u64,
    /// Flash pages that the writes touch.
    pub written_pages: u64,
}

impl std::ops::AddAssign for Demand {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.writes += more.writes;
        self.read_pages += more.read_pages;
        self.written_pages += more.written_pages;
    }
}

impl Demand {
    /// Counts a request that touches `pages` flash pages. Trims and flushes are not counted.
    #[inline]
    pub fn count(&mut self, op: Op, pages: u64) {
        let (requests, all_pages) = match op {
            Op::Read => (&mut self.reads, &mut self.read_pages),
            Op::Write => (&mut self.writes, &mut self.written_pages),
            Op::Trim | Op::Flush => return,
        };
        *requests += 1;
        *all_pages += pages;
    }

    /// What was asked for after an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            writes: self.writes - before.writes,
            read_pages: self.read_pages - before.read_pages,
            written_pages: self.written_pages - before.written_pages,
        }
    }

    /// Flash pages, read or written.
    pub const fn pages(&self) -> u64 {
        self.read_pages + self.written_pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demand_of_two_tenants_is_the_sum() {
        let one = Demand { reads: 1, writes: 2, read_pages: 3, written_pages: 4 };
        let mut sum = Demand { reads: 10, writes: 20, read_pages: 30, written_pages: 40 };
        sum += one;
        assert_eq!(sum, Demand { reads: 11, writes: 22, read_pages: 33, written_pages: 44 });
        assert_eq!((sum.since(&one).reads, sum.pages()), (10, 77));
    }
}
