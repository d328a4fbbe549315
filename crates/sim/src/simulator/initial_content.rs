//! What a drive holds at the start if it is not empty: the state that a sequential fill or endless
//! random writes leave behind. The data are computed where they are looked at, not written: see
//! `ssdtune_ftl::InitialContent`.

use super::Simulator;
use crate::vocabulary::{InitialState, SimError};
use roaring::RoaringTreemap;
use ssdtune_ftl::Start;
use ssdtune_model::{Lpn, Place, Table, TenantId};
use ssdtune_trace::{Op, Request};
use std::ops::Range;

/// What a drive holds before its first request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitialContent {
    /// How the data were written.
    pub state: InitialState,
    /// The share of each tenant's pages that hold data, 0 to 1. The last value also holds for all
    /// tenants that follow. Pages of a [`Footprint`] count first, then the lowest other pages.
    pub occupancy: Vec<f64>,
    /// How often each block has been erased.
    pub erases: u32,
    /// Decides where pages lie.
    pub seed: u64,
}

/// The logical pages that requests touch, tenant by tenant. Filled by [`Simulator::cover`].
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    tenants: Table<TenantId, RoaringTreemap>,
}

impl Footprint {
    /// The pages of a tenant as ascending ranges that do not touch.
    fn ranges(&self, tenant: TenantId) -> Vec<Range<Lpn>> {
        let Some(pages) = self.tenants.get(tenant) else { return Vec::new() };
        let mut ranges: Vec<Range<Lpn>> = Vec::new();
        for page in pages {
            match ranges.last_mut() {
                Some(range) if range.end == Lpn(page) => range.end = Lpn(page + 1),
                _ => ranges.push(Lpn(page)..Lpn(page + 1)),
            }
        }
        ranges
    }
}

impl Simulator {
    /// Adds the pages that a request reads or writes to a footprint.
    pub fn cover(&self, footprint: &mut Footprint, request: &Request) {
        let spaces = &self.core.host.spaces;
        let tenant = spaces.tenant(request.tenant);
        if request.sectors == 0 || !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        while footprint.tenants.len() <= tenant.index() {
            footprint.tenants.push(RoaringTreemap::new());
        }
        let (mut cursor, mut rest) = (spaces.inside(tenant, request.lba).0, request.sectors);
        while rest > 0 {
            let part = spaces.cut(tenant, &mut cursor, &mut rest);
            footprint.tenants[tenant].insert(part.lpn.0);
        }
    }

    /// Gives the drive its initial content. Call this before anything else. An
    /// [`InitialState::Empty`] content does nothing.
    ///
    /// # Errors
    /// A plane has no room for the data.
    ///
    /// # Panics
    /// Something was done with the drive before.
    pub fn set_initial_content(
        &mut self,
        content: &InitialContent,
        footprint: &Footprint,
    ) -> Result<(), SimError> {
        let start = match content.state {
            InitialState::Empty => return Ok(()),
            InitialState::Sequential => Start::Sequential,
            InitialState::Steady => Start::Steady,
        };
        let tenants = self.core.host.spaces.tenants();
        let definition = ssdtune_ftl::InitialContent {
            start,
            occupancy: content.occupancy.clone(),
            footprints: (0..tenants).map(|tenant| footprint.ranges(TenantId::at(tenant))).collect(),
            erases: content.erases,
            free: Vec::new(),
            seed: content.seed,
        };
        let stats = &mut self.core.base.books.stats;
        stats.initial_pages = self.core.backend.ftl.set_initial_content(&definition)?.iter().sum();
        stats.initial_state = content.state;
        Ok(())
    }

    /// Stores everything of the initial content that is computed otherwise: the same drive, held in
    /// memory. For tests.
    pub fn materialise(&mut self) {
        self.core.backend.ftl.materialise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footprint_is_ranges_of_pages_that_do_not_touch() {
        let pages = [3_u64, 4, 5, 20, 30, 31].into_iter().collect();
        let footprint = Footprint { tenants: [pages].into_iter().collect() };
        let ranges = footprint.ranges(TenantId(0));
        assert_eq!(ranges, [Lpn(3)..Lpn(6), Lpn(20)..Lpn(21), Lpn(30)..Lpn(32)]);
        assert_eq!(footprint.ranges(TenantId(1)), []);
    }
}
