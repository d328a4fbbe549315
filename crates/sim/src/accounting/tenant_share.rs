//! What each of several tenants has caused: its share of the flash commands, of the mapping
//! look-ups, of collection and of the energy. A drive with one tenant counts none of this, for that
//! tenant has caused everything.
//!
//! Pages and blocks belong to the tenant whose data they hold; no block holds data of two tenants.
//! A command to several planes counts as a command of the tenant of its first page.

use super::counts::{Counts, FlashCommands};
use super::demand::Demand;
use super::energy::Counters;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{FtlCounters, MappingAccess};

/// The share of one tenant.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TenantShare {
    /// Requests that reached the host's driver.
    pub arrived: u64,
    /// What its requests asked for.
    pub demand: Demand,
    /// What its requests have met.
    pub counts: Counts,
    /// Flash commands for its data.
    pub flash: FlashCommands,
    /// Mapping look-ups, and collection of blocks with its data.
    pub ftl: FtlCounters,
    /// Its work that costs energy.
    pub energy: Counters,
}

impl TenantShare {
    /// Counts a block that is collected.
    pub fn count_victim(&mut self, for_wear: bool) {
        let counter = match for_wear {
            true => &mut self.ftl.wear_collections,
            false => &mut self.ftl.collections,
        };
        *counter += 1;
    }

    /// Counts a page of a victim that gets a new place, or needs none.
    pub fn count_move(&mut self, placed: bool) {
        let counter = match placed {
            true => &mut self.ftl.moved_pages,
            false => &mut self.ftl.moves_dropped,
        };
        *counter += 1;
    }

    /// Counts a mapping look-up.
    pub fn count_lookup(&mut self, access: MappingAccess, write: bool) {
        let counters = &mut self.ftl;
        match (access, write) {
            (MappingAccess::Hit, _) => counters.mapping_hits += 1,
            (_, true) => counters.mapping_misses_write += 1,
            (_, false) => counters.mapping_misses_read += 1,
        }
        counters.mapping_misses_free += u64::from(access == MappingAccess::Resident);
    }
}
