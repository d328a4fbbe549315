//! What the mapping cache holds at the start: a seeded choice of the mapped pages, each computed when it is
//! used, changed or pushed out.
//!
//! Seeds are older than every mapping used since. A page's number beside its page-table entry says how it
//! stands to them: never used, changed by a move while still a seed, or not a seed any more.

use super::permutation::{Permutation, mix};
use super::{Past, Start};
use crate::ftl::Ftl;
use crate::page_table::{EntryRef, Side};

/// The seeds of one cache, in the order in which they leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds {
    order: Order,
    /// None before is a seed any more.
    next: u64,
    end: u64,
    /// Seeds that are left.
    pub left: u64,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    /// The nth seed is the page of this rank.
    Random(Permutation),
    /// It is n pages after the first.
    From(u64),
}

/// A mapping that leaves the cache without ever having been used.
pub(crate) struct Evicted {
    pub page: u64,
    pub changed: bool,
}

impl Seeds {
    pub const NONE: Self = Self { order: Order::From(0), next: 0, end: 0, left: 0 };

    fn rank(&self, nth: u64) -> u64 {
        match self.order {
            Order::Random(order) => order.forward(nth),
            Order::From(first) => first + nth,
        }
    }

    fn holds(&self, rank: u64) -> bool {
        let nth = match self.order {
            Order::Random(order) => Some(order.back(rank)),
            Order::From(first) => rank.checked_sub(first),
        };
        nth.is_some_and(|nth| self.next <= nth && nth < self.end)
    }
}

impl Past {
    /// The tenants that share a cache, and how many pages of theirs hold data.
    fn sharers(&self, cache: usize, caches: usize) -> std::ops::Range<usize> {
        if caches == 1 { 0..self.tenants.len() } else { cache..cache + 1 }
    }

    fn seed_rank(&self, sharers: std::ops::Range<usize>, tenant: usize, lpn: u64) -> Option<u64> {
        let before: u64 = (sharers.start..tenant).map(|other| self.members(other).len()).sum();
        Some(before + self.members(tenant).rank(lpn)?)
    }

    fn seed_page(&self, sharers: std::ops::Range<usize>, mut rank: u64) -> (usize, u64) {
        for tenant in sharers.clone() {
            let members = self.members(tenant);
            if rank < members.len() {
                return (tenant, members.member(rank));
            }
            rank -= members.len();
        }
        unreachable!("a seed is the page of a sharer: {sharers:?}")
    }
}

impl Ftl {
    /// Fills the mapping caches.
    pub(super) fn seed_caches(&mut self, start: Start) {
        let Some(past) = &self.past else { return };
        let caches = self.caches.len();
        for (index, cache) in self.caches.iter_mut().enumerate() {
            let pages = past.sharers(index, caches).map(|tenant| past.members(tenant).len()).sum();
            let end = u64::from(cache.capacity()).min(pages);
            let key = mix(past.seed ^ (index as u64 + 1).rotate_left(52));
            let order = match start {
                Start::Steady if pages > 0 => Order::Random(Permutation::new(pages, key)),
                Start::Steady => Order::From(0),
                // The last pages written.
                Start::Sequential => Order::From(pages - end),
            };
            cache.seeds = Seeds { order, next: 0, end, left: end };
        }
    }

    /// Whether a mapping is in the cache since the start, unused so far.
    pub(crate) fn is_seed(&self, cache: usize, tenant: usize, page: u64, side: Side) -> bool {
        match side {
            Side::Changed => true,
            Side::Slot(_) | Side::Gone => false,
            Side::Untouched => {
                let seeds = &self.caches[cache].seeds;
                let Some(past) = self.past.as_ref().filter(|_| seeds.left > 0) else {
                    return false;
                };
                let sharers = past.sharers(cache, self.caches.len());
                let lpn = page - self.tenants[tenant].base;
                past.seed_rank(sharers, tenant, lpn).is_some_and(|rank| seeds.holds(rank))
            }
        }
    }

    /// Makes a seed an ordinary mapping, used just now.
    pub(crate) fn adopt_seed(&mut self, cache: usize, page: u64, at: EntryRef, changed: bool) {
        let cache = &mut self.caches[cache];
        cache.seeds.left -= 1;
        let slot = cache.reserve(page);
        cache.set_ready(slot);
        cache.set_dirty(slot, changed);
        self.table.set_side(at, Side::Slot(slot));
    }

    /// Drops the oldest seed that can leave.
    pub(crate) fn evict_seed(&mut self, cache: usize) -> Option<Evicted> {
        let mut nth = self.caches[cache].seeds.next;
        while self.caches[cache].seeds.left > 0 && nth < self.caches[cache].seeds.end {
            let page = self.seed_page(cache, nth);
            let at = self.table.find(page);
            let side = at.map_or(Side::Untouched, |at| self.table.side(at));
            let leaves = match side {
                Side::Untouched => true,
                Side::Changed => self.can_write_back(page),
                Side::Slot(_) | Side::Gone => false,
            };
            let seeds = &mut self.caches[cache].seeds;
            let is_first = seeds.next == nth;
            if is_first && (leaves || side != Side::Changed) {
                seeds.next += 1;
            }
            if leaves {
                seeds.left -= 1;
                if side == Side::Changed || !is_first {
                    let at = self.table.entry(page);
                    self.table.set_side(at, Side::Gone);
                }
                return Some(Evicted { page, changed: side == Side::Changed });
            }
            nth += 1;
        }
        None
    }

    fn seed_page(&self, cache: usize, nth: u64) -> u64 {
        let past = self.past.as_ref().expect("a cache has seeds from a past");
        let sharers = past.sharers(cache, self.caches.len());
        let (tenant, lpn) = past.seed_page(sharers, self.caches[cache].seeds.rank(nth));
        self.tenants[tenant].base + lpn
    }

    /// Stores all seeds as ordinary mappings.
    pub(super) fn store_seeds(&mut self) {
        for cache in 0..self.caches.len() {
            for nth in self.caches[cache].seeds.next..self.caches[cache].seeds.end {
                let page = self.seed_page(cache, nth);
                let at = self.table.entry(page);
                let side = self.table.side(at);
                if matches!(side, Side::Untouched | Side::Changed) {
                    self.adopt_seed(cache, page, at, side == Side::Changed);
                }
            }
        }
    }
}
