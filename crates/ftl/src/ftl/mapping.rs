//! Accesses to mappings when the mapping table does not fit into DRAM: the cached mapping table.
//!
//! A mapping that is not in the cache is read with its translation page, unless that page is in
//! DRAM anyway. To make room, the mapping used longest ago leaves; if it has changed, its
//! translation page is written back, with all other changed mappings that the page holds.

use super::{Ftl, MappingAccess, Placed, WriteBack};
use crate::block::FrontierId;
use crate::cmt::Cause;
use crate::layout::Phys;
use crate::number::{CacheId, LogicalPage, MappingSlot, Token, TranslationPageId};
use crate::page_table::{CacheStatus, EntryRef};
use crate::stuck::TranslationHome;
use ssdtune_model::{Lpn, Place, TenantId};

impl Ftl {
    /// Whether every mapping is in DRAM at no cost (`mapping.ideal`).
    #[inline]
    pub fn is_ideal(&self) -> bool {
        self.caches.is_empty()
    }

    /// The cache that a tenant uses.
    #[inline]
    pub(super) fn cache_of(&self, tenant: TenantId) -> CacheId {
        if self.caches.len() == 1 { CacheId(0) } else { CacheId(tenant.0.into()) }
    }

    /// The tenant that a page-table entry belongs to.
    pub(crate) fn tenant_of_page(&self, page: LogicalPage) -> TenantId {
        let last = self.tenants.iter().rposition(|tenant| tenant.base <= page);
        last.map_or(TenantId(0), TenantId::at)
    }

    /// The translation page that holds the mapping of a page-table entry.
    fn translation_page(&self, tenant: TenantId, page: LogicalPage) -> TranslationPageId {
        let lpn = self.tenants[tenant].lpn(page);
        TranslationPageId(self.translation_base(tenant).0 + lpn.0 / self.entries_per_page)
    }

    /// Looks for the mapping of a logical page. A miss may push another mapping out of the cache;
    /// the write-back this causes, if any, comes before whatever the miss itself needs.
    pub fn access_mapping(
        &mut self,
        tenant: TenantId,
        lpn: Lpn,
        at: EntryRef,
        is_write: bool,
    ) -> (MappingAccess, Option<WriteBack>) {
        let cache = self.cache_of(tenant);
        let owner = self.tenants[tenant].page(lpn);
        let status = self.table.status(at);
        if self.is_initial_mapping(cache, tenant, owner, status) {
            self.adopt_initial_mapping(cache, owner, at, status == CacheStatus::ChangedInitial);
        }
        if let Some(slot) = self.table.slot(at)
            && !self.caches[cache].is_waiting(slot)
        {
            self.caches[cache].touch(slot);
            self.counters.mapping_hits += 1;
            return (MappingAccess::Hit, None);
        }
        if is_write {
            self.counters.mapping_misses_write += 1;
        } else {
            self.counters.mapping_misses_read += 1;
        }
        let page = self.translation_page(tenant, owner);
        if self.table.slot(at).is_some() {
            return (MappingAccess::Awaited, None);
        }
        // The order matters: making room may itself start a read of the page that is looked for.
        let Some(phys) = self.translation.phys(page) else {
            let writeback = self.cache_mapping(tenant, owner, at, true);
            self.counters.mapping_misses_free += 1;
            return (MappingAccess::Resident, writeback);
        };
        if self.translation.is_arriving(page) {
            let writeback = self.cache_mapping(tenant, owner, at, false);
            self.translation.arrive(page, owner);
            return (MappingAccess::Awaited, writeback);
        }
        if self.translation.departing(page) {
            let writeback = self.cache_mapping(tenant, owner, at, true);
            self.counters.mapping_misses_free += 1;
            return (MappingAccess::Resident, writeback);
        }
        let writeback = self.cache_mapping(tenant, owner, at, false);
        self.translation.arrive(page, owner);
        let phys = self.translation.phys(page).unwrap_or(phys);
        (MappingAccess::Load { page, phys }, writeback)
    }

    /// Makes the access `token` wait for a mapping that is [`MappingAccess::Awaited`] or was asked
    /// for by [`MappingAccess::Load`].
    pub fn await_mapping(&mut self, tenant: TenantId, at: EntryRef, token: Token, is_write: bool) {
        let cache = self.cache_of(tenant);
        if let Some(slot) = self.table.slot(at) {
            self.caches[cache].wait(slot, token, is_write);
        }
    }

    /// Reports that a translation page was read. Adds the tokens that waited for any of its
    /// mappings to `tokens`.
    pub fn mapping_arrived(&mut self, page: TranslationPageId, tokens: &mut Vec<Token>) {
        while let Some(owner) = self.translation.next_arrival(page) {
            let cache = self.cache_of(self.tenant_of_page(owner));
            let Some(slot) = self.table.find(owner).and_then(|at| self.table.slot(at)) else {
                continue;
            };
            if self.caches[cache].is_waiting(slot) {
                self.caches[cache].set_ready(slot);
                self.caches[cache].take_waiters(slot, tokens);
            }
        }
    }

    /// Reports that a translation page was programmed at its new place.
    pub fn mapping_written(&mut self, page: TranslationPageId, phys: Phys) {
        self.translation.departed(page);
        self.program_done(phys);
    }

    /// Notes that the mapping of an entry has changed.
    #[inline]
    pub(crate) fn dirty_mapping(&mut self, tenant: TenantId, page: LogicalPage, at: EntryRef) {
        if self.caches.is_empty() {
            return;
        }
        let cache = self.cache_of(tenant);
        let status = self.table.status(at);
        if let CacheStatus::Slot(slot) = status {
            self.caches[cache].set_dirty(slot, true);
        } else if self.is_initial_mapping(cache, tenant, page, status) {
            self.table.set_status(at, CacheStatus::ChangedInitial);
        }
    }

    /// Takes a slot for a mapping, and pushes another one out if there is no room. `ready` says
    /// that the mapping is at hand.
    fn cache_mapping(
        &mut self,
        tenant: TenantId,
        owner: LogicalPage,
        at: EntryRef,
        ready: bool,
    ) -> Option<WriteBack> {
        let cache = self.cache_of(tenant);
        let mut writeback = None;
        if self.caches[cache].is_full() {
            if let Some(initial) = self.evict_initial_mapping(cache) {
                writeback = initial.changed.then(|| self.write_back(initial.page));
            } else if let Some(slot) = self.next_eviction(cache) {
                let (evicted, dirty) =
                    (self.caches[cache].page(slot), self.caches[cache].is_dirty(slot));
                self.caches[cache].remove(slot);
                let entry = self.table.entry(evicted);
                self.table.set_status(entry, CacheStatus::Evicted);
                writeback = dirty.then(|| self.write_back(evicted));
            }
        }
        let slot = self.caches[cache].reserve(owner);
        if ready {
            self.caches[cache].set_ready(slot);
        }
        self.table.set_status(at, CacheStatus::Slot(slot));
        writeback
    }

    /// The mapping used longest ago that can leave. A write-back cannot be held back as a host
    /// write can. So while the plane has no room for its translation page, a changed mapping stays,
    /// and the cache may grow beyond its size.
    fn next_eviction(&mut self, cache: CacheId) -> Option<MappingSlot> {
        loop {
            let slot = self.caches[cache].next_in_turn(|home| self.can_write_back(home))?;
            let cause = if self.caches[cache].is_waiting(slot) {
                Cause::Awaited
            } else if self.caches[cache].is_dirty(slot) {
                let home = self.translation_home(self.caches[cache].page(slot));
                if self.can_write_back(home) {
                    return Some(slot);
                }
                Cause::Stuck(home)
            } else {
                return Some(slot);
            };
            self.caches[cache].pass(slot, cause);
        }
    }

    /// Where the translation page of a page-table entry is written.
    pub(crate) fn translation_home(&self, page: LogicalPage) -> TranslationHome {
        let tenant = self.tenant_of_page(page);
        let index = self.translation_page(tenant, page).0 - self.translation_base(tenant).0;
        (tenant, self.tenants[tenant].static_plane(index))
    }

    /// Whether there is room to write a translation page.
    pub(crate) fn can_write_back(&self, (tenant, plane): TranslationHome) -> bool {
        self.has_room_unheld(tenant, FrontierId::TRANSLATION, plane)
    }

    /// Writes the translation page of a mapping that leaves the cache, with all other changed
    /// mappings it holds.
    fn write_back(&mut self, evicted: LogicalPage) -> WriteBack {
        let tenant = self.tenant_of_page(evicted);
        let cache = self.cache_of(tenant);
        let page = self.translation_page(tenant, evicted);
        let index = page.0 - self.translation_base(tenant).0;
        let first = index * self.entries_per_page;
        let last = (first + self.entries_per_page).min(self.tenant_pages(tenant));
        let mut clean_sectors = 0u64;
        for lpn in first..last {
            let neighbour = self.tenants[tenant].page(Lpn(lpn));
            let at = self.table.find(neighbour);
            let status = at.map_or(CacheStatus::Untouched, |at| self.table.status(at));
            if let (Some(at), CacheStatus::ChangedInitial) = (at, status) {
                self.adopt_initial_mapping(cache, neighbour, at, false);
                continue;
            }
            let CacheStatus::Slot(slot) = status else {
                // How much of the page is clean matters only in MQSim's model, where it is what
                // must be read.
                if self.config.free_mapping_writes
                    && self.is_initial_mapping(cache, tenant, neighbour, status)
                {
                    clean_sectors |= self.mapping_sector(lpn - first);
                }
                continue;
            };
            if self.caches[cache].is_waiting(slot) {
                continue;
            }
            if self.caches[cache].is_dirty(slot) {
                self.caches[cache].set_dirty(slot, false);
                self.caches[cache].touch(slot);
            } else {
                clean_sectors |= self.mapping_sector(lpn - first);
            }
        }
        let merge = self.translation.phys(page).map(|old| {
            self.translation.arrive(page, evicted);
            let bytes = if self.config.free_mapping_writes {
                clean_sectors.count_ones() * 512
            } else {
                self.geometry.page_bytes
            };
            let (plane, at) = self.layout.spot(old);
            self.planes[plane].invalidate(at);
            (old, bytes)
        });
        let placed = self.append_translation(tenant, page, index);
        self.translation.set_phys(page, placed.phys);
        self.translation.depart(page);
        self.counters.mapping_writebacks += 1;
        WriteBack { page, merge, placed }
    }

    /// The sector of a translation page that holds its nth mapping, as a bit.
    fn mapping_sector(&self, nth: u64) -> u64 {
        1 << (nth * self.entry_bytes / 512).min(63)
    }

    /// Places a translation page. `index` is its number within the tenant.
    pub(crate) fn append_translation(
        &mut self,
        tenant: TenantId,
        page: TranslationPageId,
        index: u64,
    ) -> Placed {
        let plane = self.tenants[tenant].static_plane(index);
        self.append(tenant, FrontierId::TRANSLATION, plane, page.into(), self.config.full_mask)
    }
}
