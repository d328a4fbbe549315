//! What the mapping cache holds at the start: a random choice of the pages with data. Each of these
//! mappings is computed when it is used, when it changes or when it leaves the cache.
//!
//! Initial mappings are older than every mapping used since. The [`CacheStatus`] beside a page's
//! entry says whether its mapping still is one.

use super::permutation::Permutation;
use super::{ComputedContent, Start};
use crate::ftl::Ftl;
use crate::page_table::{CacheStatus, EntryRef};
use serde::{Deserialize, Serialize};
use ssdtune_model::scramble;

/// The initial mappings of one cache, numbered in the order in which they leave it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct InitialMappings {
    order: Order,
    /// All mappings with smaller numbers have left or were used.
    next: u64,
    /// Number of initial mappings at the start.
    end: u64,
    /// Initial mappings that are still in the cache and unused.
    pub left: u64,
}

/// Which pages the mappings belong to. Pages are given by their rank among all pages with data.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Order {
    /// The nth mapping is that of the page with the nth rank of a permutation.
    Random(Permutation),
    /// The nth mapping is that of the page n ranks after this one.
    From(u64),
}

/// A mapping that leaves the cache without having been used since the start.
pub(crate) struct Evicted {
    pub page: u64,
    pub changed: bool,
}

impl InitialMappings {
    pub const NONE: Self = Self { order: Order::From(0), next: 0, end: 0, left: 0 };

    /// The rank of the page of the nth mapping.
    fn rank(&self, nth: u64) -> u64 {
        match self.order {
            Order::Random(order) => order.forward(nth),
            Order::From(first) => first + nth,
        }
    }

    /// Whether the mapping of the page with this rank is among those that have not left. A mapping
    /// that was used is not told apart here.
    fn holds(&self, rank: u64) -> bool {
        let nth = match self.order {
            Order::Random(order) => Some(order.back(rank)),
            Order::From(first) => rank.checked_sub(first),
        };
        nth.is_some_and(|nth| self.next <= nth && nth < self.end)
    }
}

impl ComputedContent {
    /// The tenants that use a cache.
    fn sharers(&self, cache: usize, caches: usize) -> std::ops::Range<usize> {
        if caches == 1 { 0..self.tenants.len() } else { cache..cache + 1 }
    }

    /// The rank of a page among all pages with data of the tenants that share its cache.
    fn initial_mapping_rank(
        &self,
        sharers: std::ops::Range<usize>,
        tenant: usize,
        lpn: u64,
    ) -> Option<u64> {
        let before: u64 = (sharers.start..tenant).map(|other| self.members(other).len()).sum();
        Some(before + self.members(tenant).rank(lpn)?)
    }

    /// The tenant and the logical page with a rank among all pages with data of some tenants.
    fn initial_mapping_page(&self, sharers: std::ops::Range<usize>, mut rank: u64) -> (usize, u64) {
        for tenant in sharers.clone() {
            let members = self.members(tenant);
            if rank < members.len() {
                return (tenant, members.member(rank));
            }
            rank -= members.len();
        }
        unreachable!("an initial mapping belongs to a sharer of the cache: {sharers:?}")
    }
}

impl Ftl {
    /// Fills the mapping caches: with random pages of a steady drive, with the pages written last
    /// of a sequential one.
    pub(super) fn fill_mapping_caches(&mut self, start: Start) {
        let Some(content) = &self.initial_content else { return };
        let caches = self.caches.len();
        for (index, cache) in self.caches.iter_mut().enumerate() {
            let pages =
                content.sharers(index, caches).map(|tenant| content.members(tenant).len()).sum();
            let end = u64::from(cache.capacity()).min(pages);
            let key = scramble(content.seed ^ (index as u64 + 1).rotate_left(52));
            let order = match start {
                Start::Steady if pages > 0 => Order::Random(Permutation::new(pages, key)),
                Start::Steady => Order::From(0),
                // The pages written last.
                Start::Sequential => Order::From(pages - end),
            };
            cache.initial = InitialMappings { order, next: 0, end, left: end };
        }
    }

    /// Whether a mapping is in the cache since the start and was not used so far.
    pub(crate) fn is_initial_mapping(
        &self,
        cache: usize,
        tenant: usize,
        page: u64,
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
                let lpn = page - self.tenants[tenant].base;
                content
                    .initial_mapping_rank(sharers, tenant, lpn)
                    .is_some_and(|rank| initial.holds(rank))
            }
        }
    }

    /// Turns an initial mapping into an ordinary one that was used just now.
    pub(crate) fn adopt_initial_mapping(
        &mut self,
        cache: usize,
        page: u64,
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
    pub(crate) fn evict_initial_mapping(&mut self, cache: usize) -> Option<Evicted> {
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
    fn initial_mapping_page(&self, cache: usize, nth: u64) -> u64 {
        let content = self.initial_content.as_ref().expect("a cache has seeds from a content");
        let sharers = content.sharers(cache, self.caches.len());
        let (tenant, lpn) =
            content.initial_mapping_page(sharers, self.caches[cache].initial.rank(nth));
        self.tenants[tenant].base + lpn
    }

    /// Turns all initial mappings into ordinary ones.
    pub(super) fn store_initial_mappings(&mut self) {
        for cache in 0..self.caches.len() {
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
