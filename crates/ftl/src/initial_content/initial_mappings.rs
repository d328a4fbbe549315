//! What the mapping cache holds at the start: a random choice of the pages with data. Each of these
//! mappings is computed when it is used, when it changes or when it leaves the cache.
//!
//! Initial mappings are older than every mapping used since. The `CacheStatus` beside a page's
//! entry says whether its mapping still is one.
//!
//! One that has changed can be stuck when its turn to leave comes: its plane has no room for the
//! translation page. It is set aside then.

use super::permutation::Permutation;
use super::{ComputedContent, Start};
use crate::number::{CacheId, LogicalPage};
use crate::stuck::Stuck;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Lpn, TenantId};

/// The initial mappings of one cache, numbered in the order in which they leave it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InitialMappings {
    order: Order,
    /// All mappings with smaller numbers have left, were used or are stuck.
    pub next: u64,
    /// Number of initial mappings at the start.
    pub end: u64,
    /// Initial mappings that are still in the cache and unused.
    pub left: u64,
    /// Numbers of changed mappings that could not leave in their turn. Those that were used since
    /// are among them.
    pub stuck: Stuck<u64>,
}

/// Which pages the mappings belong to. Pages are given by their rank among all pages with data.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Order {
    /// The nth mapping is that of the page with the nth rank of a permutation.
    Random(Permutation),
    /// The nth mapping is that of the page n ranks after this one.
    From(u64),
}

impl Default for Order {
    fn default() -> Self {
        Self::From(0)
    }
}

/// A mapping that leaves the cache without having been used since the start.
pub(crate) struct Evicted {
    pub page: LogicalPage,
    pub changed: bool,
}

impl InitialMappings {
    /// The mappings of some of the `pages` that hold data: random ones of a steady drive, those
    /// written last of a sequential one.
    pub fn new(start: Start, pages: u64, capacity: u32, key: u64) -> Self {
        let end = u64::from(capacity).min(pages);
        let order = match start {
            Start::Steady if pages > 0 => Order::Random(Permutation::new(pages, key)),
            Start::Steady => Order::From(0),
            // The pages written last.
            Start::Sequential => Order::From(pages - end),
        };
        Self { order, end, left: end, ..Self::default() }
    }

    /// The rank of the page of the nth mapping.
    pub fn rank(&self, nth: u64) -> u64 {
        match self.order {
            Order::Random(order) => order.forward(nth),
            Order::From(first) => first + nth,
        }
    }

    /// Whether the turn of the mapping of the page with this rank has not come. A mapping that was
    /// used is not told apart here.
    pub fn holds(&self, rank: u64) -> bool {
        let nth = match self.order {
            Order::Random(order) => Some(order.back(rank)),
            Order::From(first) => rank.checked_sub(first),
        };
        nth.is_some_and(|nth| self.next <= nth && nth < self.end)
    }
}

impl ComputedContent {
    /// The tenants that use a cache, in their order.
    pub fn sharers(&self, cache: CacheId, caches: usize) -> impl Iterator<Item = TenantId> + use<> {
        let own = cache.0 as u16;
        let numbers = if caches == 1 { 0..self.tenants.len() as u16 } else { own..own + 1 };
        numbers.map(TenantId)
    }

    /// The rank of a page among all pages with data of the tenants that share its cache.
    pub fn initial_mapping_rank(
        &self,
        sharers: impl Iterator<Item = TenantId>,
        tenant: TenantId,
        lpn: Lpn,
    ) -> Option<u64> {
        let before = sharers.take_while(|&other| other != tenant);
        let before: u64 = before.map(|other| self.members(other).len()).sum();
        Some(before + self.members(tenant).rank(lpn.0)?)
    }

    /// The tenant and the logical page with a rank among all pages with data of some tenants.
    pub fn initial_mapping_page(
        &self,
        sharers: impl Iterator<Item = TenantId>,
        mut rank: u64,
    ) -> (TenantId, Lpn) {
        for tenant in sharers {
            let members = self.members(tenant);
            if rank < members.len() {
                return (tenant, Lpn(members.member(rank)));
            }
            rank -= members.len();
        }
        unreachable!("an initial mapping belongs to a sharer of its cache")
    }
}
