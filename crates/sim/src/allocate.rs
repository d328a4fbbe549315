//! What a channel allocator needs of a running drive: what each tenant asks for, and a way to give
//! a tenant other planes.
//!
//! Counters only grow. So the demand of a period is the difference of two readings
//! ([`Demand::since`]), and nothing has to be reset. A request costs a few additions; on a drive
//! with one tenant nothing. A switch happens between two events ([`Simulator::run_in_intervals`]
//! stops there). What is under way goes on to where it was going, what is placed later goes to the
//! new planes, and data move when they are rewritten or collected.

use crate::run::Simulator;
use crate::simulator::Core;
use crate::vocabulary::SimError;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{Places, TenantSpec};
use ssdtune_model::Sectors;
use ssdtune_trace::Op;
use std::ops::Range;

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

impl Core {
    /// Flash pages that a range of a tenant's sectors touches.
    #[inline]
    pub(crate) fn pages_touched(&self, lba: Sectors, sectors: u32) -> u64 {
        let Range { start, end } = lba.0..lba.0 + u64::from(sectors.max(1));
        self.page_of(end - 1) - self.page_of(start) + 1
    }
}

impl Simulator {
    /// What each tenant has asked for since the start. Empty on a drive with one tenant, which
    /// shares with nobody.
    pub fn demands(&self) -> impl Iterator<Item = Demand> + '_ {
        self.core.stats.shares.iter().map(|share| share.demand)
    }

    /// Gives a tenant other planes from now on, and tells hybrid allocation whether it is a writer
    /// (`mapping.allocation = "hybrid"`). Data stay where they are until they are rewritten or
    /// collected, and the tenant's address space keeps its size.
    ///
    /// # Errors
    /// The drive has no such plane.
    ///
    /// # Panics
    /// The drive has no such tenant.
    pub fn bind(&mut self, tenant: usize, places: &Places, writer: bool) -> Result<(), SimError> {
        Ok(self.core.ftl.bind(tenant, &TenantSpec { places: places.clone(), writer })?)
    }
}
