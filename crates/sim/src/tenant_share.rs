//! What each of several tenants has caused: its share of the flash commands, of the mapping
//! look-ups, of collection and of the energy. A drive with one tenant counts none of this, for that
//! tenant has caused everything.
//!
//! Pages and blocks belong to the tenant whose data they hold; no block holds data of two tenants.
//! A command to several planes counts as a command of the tenant of its first page.

use crate::allocate::Demand;
use crate::energy::{Counters, Work};
use crate::simulator::Core;
use crate::stats::{Counts, FlashCommands};
use crate::tx::{Class, NIL};
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
}

impl Core {
    /// Counts a command that is sent to a die. `list` links its transactions.
    #[cold]
    pub(crate) fn count_for_tenants(&mut self, list: u32, class: Class, planes: u32) {
        let first = usize::from(self.txs[list].tenant);
        let work = class.work();
        self.stats.shares[first].flash.count_command(work, planes);
        let kind = self.timing.page_type(self.txs[list].page);
        let mut at = list;
        while at != NIL {
            let tx = &self.txs[at];
            let share = &mut self.stats.shares[usize::from(tx.tenant)];
            share.flash.count_pages(work, class, 1);
            share.energy.die_works(work, kind, 1);
            if work == Work::Program {
                share.energy.channel_moves(tx.sectors.into());
            }
            at = tx.next;
        }
    }

    /// Counts a command that programs pages which stayed in their die. `list` links its
    /// transactions.
    #[cold]
    pub(crate) fn count_copybacks_for_tenants(&mut self, list: u32, planes: u32) {
        let first = usize::from(self.txs[list].tenant);
        self.stats.shares[first].flash.count_command(Work::Program, planes);
        let kind = self.timing.page_type(self.txs[list].page);
        let mut at = list;
        while at != NIL {
            let tx = &self.txs[at];
            let share = &mut self.stats.shares[usize::from(tx.tenant)];
            share.flash.count_pages(Work::Program, Class::GcWrite, 1);
            share.flash.copybacks += 1;
            share.energy.die_works(Work::Program, kind, 1);
            at = tx.next;
        }
    }

    /// Counts a mapping look-up.
    #[cold]
    pub(crate) fn count_lookup_for_tenant(
        &mut self,
        tenant: usize,
        access: MappingAccess,
        write: bool,
    ) {
        let share = &mut self.stats.shares[tenant].ftl;
        match (access, write) {
            (MappingAccess::Hit, _) => share.mapping_hits += 1,
            (_, true) => share.mapping_misses_write += 1,
            (_, false) => share.mapping_misses_read += 1,
        }
        share.mapping_misses_free += u64::from(access == MappingAccess::Resident);
    }

    /// Counts the read of a translation page.
    pub(crate) fn count_mapping_read(&mut self, tenant: usize) {
        self.stats.flash.mapping_reads += 1;
        if self.stats.has_several() {
            self.stats.shares[tenant].flash.mapping_reads += 1;
        }
    }
}
