//! The past of a drive that is not empty at the start: data that are defined, not written, in the state that
//! a sequential fill or endless random writes leave behind. `ssdtune_ftl::InitialContent` says how.

use crate::run::Simulator;
use crate::vocabulary::SimError;
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::Start;
use ssdtune_trace::{Op, Request};
use std::ops::Range;

/// What was done to a drive before its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Nothing.
    #[default]
    Empty,
    /// Its pages were written once, in their order.
    Sequential,
    /// Then they were overwritten at random, for ever.
    Steady,
}

/// A drive's past.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitialContent {
    /// What was done to it.
    pub state: InitialState,
    /// Share of each tenant's pages that hold data, the last for those that follow. A footprint comes first,
    /// then the lowest other pages.
    pub occupancy: Vec<f64>,
    /// How often each block was erased.
    pub erases: u32,
    /// What decides where pages lie.
    pub seed: u64,
}

/// The pages that requests touch, tenant by tenant.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    tenants: Vec<RoaringTreemap>,
}

impl Footprint {
    fn ranges(&self, tenant: usize) -> Vec<Range<u64>> {
        let Some(pages) = self.tenants.get(tenant) else { return Vec::new() };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for page in pages {
            match ranges.last_mut() {
                Some(range) if range.end == page => range.end += 1,
                _ => ranges.push(page..page + 1),
            }
        }
        ranges
    }
}

impl Simulator {
    /// Adds what a request reads and writes to a footprint.
    pub fn cover(&self, footprint: &mut Footprint, request: &Request) {
        let tenant = usize::from(request.tenant.0).min(self.core.tenants.len() - 1);
        if request.sectors == 0 || !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        if footprint.tenants.len() <= tenant {
            footprint.tenants.resize_with(tenant + 1, RoaringTreemap::new);
        }
        let (mut cursor, mut rest) =
            (self.core.tenants[tenant].inside(request.lba).0, request.sectors);
        while rest > 0 {
            let part = self.core.cut(tenant, &mut cursor, &mut rest);
            footprint.tenants[tenant].insert(part.lpn);
        }
    }

    /// Gives the drive a past. Call it before anything else.
    ///
    /// # Errors
    /// A plane has not the room for it.
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
        let tenants = self.core.tenants.len();
        let definition = ssdtune_ftl::InitialContent {
            start,
            occupancy: content.occupancy.clone(),
            footprints: (0..tenants).map(|tenant| footprint.ranges(tenant)).collect(),
            erases: content.erases,
            free: Vec::new(),
            seed: content.seed,
        };
        self.core.stats.initial_pages =
            self.core.ftl.set_initial_content(&definition)?.iter().sum();
        self.core.stats.initial_state = content.state;
        Ok(())
    }

    /// Stores what is only defined: the same drive, held in memory. For tests.
    pub fn materialise(&mut self) {
        self.core.ftl.materialise();
    }
}
