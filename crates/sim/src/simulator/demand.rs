//! What a channel allocator needs of a running drive: what each tenant asks for, and a way to give
//! a tenant other planes.
//!
//! A switch happens between two events ([`Simulator::run_in_intervals`] stops there). What is under
//! way goes on to where it was going, what is placed later goes to the new planes, and data move
//! when they are rewritten or collected.

use super::Simulator;
use crate::accounting::Demand;
use crate::vocabulary::SimError;
use ssdtune_ftl::{Border, Places, TenantSpec};
use ssdtune_model::TenantId;

/// Flash pages that a tenant's reads have looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesLookedFor {
    /// All of them.
    pub pages: u64,
    /// Those that held no data.
    pub unwritten: u64,
}

impl Simulator {
    /// What each tenant has asked for since the start. Empty on a drive with one tenant, which
    /// shares with nobody.
    pub fn demands(&self) -> impl Iterator<Item = Demand> + '_ {
        self.core.base.books.stats.shares.iter().map(|share| share.demand)
    }

    /// For each tenant, the flash pages that its reads have looked for since the start, and those
    /// of them that held no data. Empty on a drive with one tenant.
    pub fn pages_looked_for(&self) -> impl Iterator<Item = PagesLookedFor> + '_ {
        self.core.base.books.stats.shares.iter().map(|share| PagesLookedFor {
            pages: share.counts.page_reads,
            unwritten: share.counts.unwritten_reads,
        })
    }

    /// Gives a tenant other planes from now on, and tells hybrid allocation whether it is a writer
    /// (`mapping.allocation = "hybrid"`). `border` says whether its writes may leave these planes.
    /// Data stay where they are until they are rewritten or collected, and the tenant's address
    /// space keeps its size.
    ///
    /// # Errors
    /// The drive has no such plane.
    ///
    /// # Panics
    /// The drive has no such tenant.
    pub fn bind(
        &mut self,
        tenant: TenantId,
        places: &Places,
        writer: bool,
        border: Border,
    ) -> Result<(), SimError> {
        let spec = TenantSpec { places: places.clone(), writer };
        Ok(self.core.backend.ftl.bind(tenant, &spec, border)?)
    }
}
