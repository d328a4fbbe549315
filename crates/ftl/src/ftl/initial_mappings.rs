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
        if self.caches[cache].initial.left == 0 {
            return None;
        }
        if let Some(page) = self.evict_stuck_mapping(cache) {
            return Some(Evicted { page, changed: true });
        }
        while self.caches[cache].initial.next < self.caches[cache].initial.end {
            let nth = self.caches[cache].initial.next;
            self.caches[cache].initial.next += 1;
            let page = self.initial_mapping_page(cache, nth);
            match self.initial_mapping_status(page) {
                CacheStatus::Untouched => {
                    self.caches[cache].initial.left -= 1;
                    return Some(Evicted { page, changed: false });
                }
                CacheStatus::ChangedInitial => {
                    let home = self.translation_home(page);
                    if self.can_write_back(home) {
                        self.drop_changed_mapping(cache, page);
                        return Some(Evicted { page, changed: true });
                    }
                    self.caches[cache].initial.stuck.insert(home, nth);
                }
                CacheStatus::Slot(_) | CacheStatus::Evicted => {}
            }
        }
        None
    }

    /// Drops the oldest of the mappings that were stuck when their turn came and are no longer.
    fn evict_stuck_mapping(&mut self, cache: CacheId) -> Option<LogicalPage> {
        loop {
            let stuck = &self.caches[cache].initial.stuck;
            let (nth, home) = stuck.first(|home| self.can_write_back(home))?;
            self.caches[cache].initial.stuck.remove(home, nth);
            let page = self.initial_mapping_page(cache, nth);
            if self.initial_mapping_status(page) == CacheStatus::ChangedInitial {
                self.drop_changed_mapping(cache, page);
                return Some(page);
            }
        }
    }

    /// Finds out anew where those that were stuck are written.
    pub(super) fn rehome_initial_mappings(&mut self, cache: CacheId) {
        let stuck = std::mem::take(&mut self.caches[cache].initial.stuck);
        for nth in stuck.into_turns() {
            let home = self.translation_home(self.initial_mapping_page(cache, nth));
            self.caches[cache].initial.stuck.insert(home, nth);
        }
    }

    #[inline]
    fn initial_mapping_status(&self, page: LogicalPage) -> CacheStatus {
        self.table.find(page).map_or(CacheStatus::Untouched, |at| self.table.status(at))
    }

    fn drop_changed_mapping(&mut self, cache: CacheId, page: LogicalPage) {
        self.caches[cache].initial.left -= 1;
        let at = self.table.entry(page);
        self.table.set_status(at, CacheStatus::Evicted);
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
            let initial = &mut self.caches[cache].initial;
            let stuck = std::mem::take(&mut initial.stuck).into_turns();
            for nth in stuck.into_iter().chain(initial.next..initial.end) {
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
