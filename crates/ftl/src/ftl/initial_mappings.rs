//! What the mapping caches hold at the start: how they are filled, and how an initial mapping
//! becomes an ordinary one or leaves.

use super::Ftl;
use crate::initial_content::Start;
use crate::initial_content::initial_mappings::{Evicted, InitialMappings};
use crate::number::{CacheId, LogicalPage};
use crate::page_table::{CacheStatus, EntryRef};
use ssdtune_model::{TenantId, scramble};

impl Ftl {
    /// Fills the mapping caches: with random pages of a steady drive, with the pages written last
    /// of a sequential one.
    pub(super) fn fill_mapping_caches(&mut self, start: Start) {
        let Some(content) = &self.initial_content else { return };
        let caches = self.caches.len();
        for (id, cache) in self.caches.named_mut() {
            let pages =
                content.sharers(id, caches).map(|tenant| content.members(tenant).len()).sum();
            let key = scramble(content.seed() ^ (u64::from(id.0) + 1).rotate_left(52));
            cache.initial = InitialMappings::new(start, pages, cache.capacity(), key);
        }
    }

    /// Whether a mapping is in the cache since the start and was not used so far.
    pub(crate) fn is_initial_mapping(
        &self,
        cache: CacheId,
        tenant: TenantId,
        page: LogicalPage,
        status: CacheStatus,
    ) -> bool {
        match status {
            CacheStatus::ChangedInitial => true,
            CacheStatus::Slot(_) | CacheStatus::Evicted => false,
            CacheStatus::Untouched => {
                let initial = &self.caches[cache].initial;
                let Some(content) = self.initial_content.as_ref().filter(|_| initial.left > 0)
                else {
                    return false;
                };
                let sharers = content.sharers(cache, self.caches.len());
                let lpn = self.tenants[tenant].lpn(page);
                content
                    .initial_mapping_rank(sharers, tenant, lpn)
                    .is_some_and(|rank| initial.holds(rank))
            }
        }
    }

    /// Turns an initial mapping into an ordinary one that was used just now.
    pub(crate) fn adopt_initial_mapping(
        &mut self,
        cache: CacheId,
        page: LogicalPage,
        at: EntryRef,
        changed: bool,
    ) {
        let cache = &mut self.caches[cache];
        cache.initial.left -= 1;
        let slot = cache.reserve(page);
        cache.set_ready(slot);
        cache.set_dirty(slot, changed);
        self.table.set_status(at, CacheStatus::Slot(slot));
    }

    /// Drops the oldest initial mapping that can leave. One that has changed can leave only if its
    /// translation page can be written.
    pub(crate) fn evict_initial_mapping(&mut self, cache: CacheId) -> Option<Evicted> {
        let mut nth = self.caches[cache].initial.next;
        while self.caches[cache].initial.left > 0 && nth < self.caches[cache].initial.end {
            let page = self.initial_mapping_page(cache, nth);
            let at = self.table.find(page);
            let status = at.map_or(CacheStatus::Untouched, |at| self.table.status(at));
            let leaves = match status {
                CacheStatus::Untouched => true,
                CacheStatus::ChangedInitial => self.can_write_back(page),
                CacheStatus::Slot(_) | CacheStatus::Evicted => false,
            };
            let initial = &mut self.caches[cache].initial;
            let is_first = initial.next == nth;
            if is_first && (leaves || status != CacheStatus::ChangedInitial) {
                initial.next += 1;
            }
            if leaves {
                initial.left -= 1;
                if status == CacheStatus::ChangedInitial || !is_first {
                    let at = self.table.entry(page);
                    self.table.set_status(at, CacheStatus::Evicted);
                }
                return Some(Evicted { page, changed: status == CacheStatus::ChangedInitial });
            }
            nth += 1;
        }
        None
    }

    /// The page-table entry of the nth initial mapping of a cache.
    fn initial_mapping_page(&self, cache: CacheId, nth: u64) -> LogicalPage {
        let content = self.initial_content.as_ref().expect("a cache has seeds from a content");
        let sharers = content.sharers(cache, self.caches.len());
        let (tenant, lpn) =
            content.initial_mapping_page(sharers, self.caches[cache].initial.rank(nth));
        self.tenants[tenant].page(lpn)
    }

    /// Turns all initial mappings into ordinary ones.
    pub(super) fn store_initial_mappings(&mut self) {
        for cache in self.caches.names() {
            for nth in self.caches[cache].initial.next..self.caches[cache].initial.end {
                let page = self.initial_mapping_page(cache, nth);
                let at = self.table.entry(page);
                let status = self.table.status(at);
                if matches!(status, CacheStatus::Untouched | CacheStatus::ChangedInitial) {
                    self.adopt_initial_mapping(
                        cache,
                        page,
                        at,
                        status == CacheStatus::ChangedInitial,
                    );
                }
            }
        }
    }
}
