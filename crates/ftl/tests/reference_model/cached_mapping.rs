//! The cached mapping table as a plain list, in which the mapping used longest ago is first.

use super::drive::Owner;
use ssdtune_ftl::TranslationPageId;
use ssdtune_model::config::Sharing;
use ssdtune_model::{DeviceConfig, Lpn, Place, Table, TenantId};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Cached {
    owner: (TenantId, Lpn),
    ready: bool,
    dirty: bool,
}

/// What an access must cost; the variants are those of `MappingAccess`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    Hit,
    Resident,
    Awaited,
    Load(TranslationPageId),
}

/// All mapping caches, and what is known of translation pages.
pub struct CachedMapping {
    lists: Vec<Vec<Cached>>,
    capacity: usize,
    pub entries_per_page: u64,
    tenant_pages: Table<TenantId, u64>,
    arriving: BTreeMap<TranslationPageId, Vec<(TenantId, Lpn)>>,
    departing: BTreeMap<TranslationPageId, u32>,
    pub hits: u64,
    pub misses: [u64; 2],
    pub writebacks: u64,
}

impl CachedMapping {
    pub fn new(config: &DeviceConfig, tenant_pages: Table<TenantId, u64>) -> Self {
        let geometry = config.geometry();
        let page_bits = (geometry.pages() as f64).log2();
        let sectors = f64::from(geometry.sectors_per_page());
        let entry_bytes = ((page_bits + sectors) / 8.0).ceil() as u64;
        let slot_bytes = ((2.0 * page_bits + sectors) / 8.0).ceil() as u64;
        let slots = config.mapping.cmt_capacity.0 / slot_bytes;
        let tenants = tenant_pages.len();
        let (count, each) = match config.mapping.cmt_sharing {
            Sharing::EqualPartitions => (tenants, slots / tenants as u64),
            Sharing::Shared if config.compat.cmt_private_copies => (tenants, slots),
            Sharing::Shared => (1, slots),
        };
        Self {
            lists: vec![Vec::new(); count],
            capacity: (each as usize).max(1),
            entries_per_page: u64::from(geometry.page_bytes) / entry_bytes,
            tenant_pages,
            arriving: BTreeMap::new(),
            departing: BTreeMap::new(),
            hits: 0,
            misses: [0; 2],
            writebacks: 0,
        }
    }

    /// A tenant's nth translation page.
    pub fn nth_page(&self, tenant: TenantId, nth: u64) -> TranslationPageId {
        let before = self.tenant_pages.iter().take(tenant.index());
        let before: u64 = before.map(|pages| pages / self.entries_per_page + 1).sum();
        TranslationPageId(before + nth)
    }

    /// The translation page that holds a mapping.
    pub fn page_of(&self, (tenant, lpn): (TenantId, Lpn)) -> TranslationPageId {
        self.nth_page(tenant, lpn.0 / self.entries_per_page)
    }

    /// The cache that a tenant uses.
    fn list(&mut self, tenant: TenantId) -> &mut Vec<Cached> {
        let index = if self.lists.len() == 1 { 0 } else { tenant.index() };
        &mut self.lists[index]
    }

    /// Looks for a mapping. Returns the cost, and the mapping that was pushed out if its page must
    /// be written back. `is_stored` says whether a translation page is on flash, `has_room` whether
    /// a tenant's nth translation page could be written now.
    pub fn access(
        &mut self,
        owner: (TenantId, Lpn),
        is_write: bool,
        is_stored: impl Fn(TranslationPageId) -> bool,
        has_room: impl Fn(TenantId, u64) -> bool,
    ) -> (Cost, Option<(TenantId, Lpn)>) {
        let list = self.list(owner.0);
        if let Some(index) = list.iter().position(|cached| cached.owner == owner) {
            if !list[index].ready {
                self.misses[usize::from(is_write)] += 1;
                return (Cost::Awaited, None);
            }
            let cached = list.remove(index);
            list.push(cached);
            self.hits += 1;
            return (Cost::Hit, None);
        }
        self.misses[usize::from(is_write)] += 1;
        let page = self.page_of(owner);
        let cost = if !is_stored(page) {
            Cost::Resident
        } else if self.arriving.get(&page).is_some_and(|list| !list.is_empty()) {
            Cost::Awaited
        } else if self.departing.get(&page).is_some_and(|&count| count > 0) {
            Cost::Resident
        } else {
            Cost::Load(page)
        };
        let evicted = self.make_room(owner.0, has_room);
        if let Some(evicted) = evicted {
            self.write_back(evicted, &is_stored);
        }
        let ready = cost == Cost::Resident;
        self.list(owner.0).push(Cached { owner, ready, dirty: false });
        if !ready {
            self.arriving.entry(page).or_default().push(owner);
        }
        (cost, evicted)
    }

    /// Drops the mapping used longest ago. If its translation page must be written, it must have
    /// room.
    fn make_room(
        &mut self,
        tenant: TenantId,
        has_room: impl Fn(TenantId, u64) -> bool,
    ) -> Option<(TenantId, Lpn)> {
        if self.list(tenant).len() < self.capacity {
            return None;
        }
        let list = self.list(tenant).clone();
        let index = list.iter().position(|cached| {
            let (tenant, lpn) = cached.owner;
            cached.ready && (!cached.dirty || has_room(tenant, lpn.0 / self.entries_per_page))
        })?;
        let evicted = self.list(tenant).remove(index);
        evicted.dirty.then_some(evicted.owner)
    }

    /// A translation page leaves with every changed mapping that it holds.
    fn write_back(
        &mut self,
        evicted: (TenantId, Lpn),
        is_stored: impl Fn(TranslationPageId) -> bool,
    ) {
        let page = self.page_of(evicted);
        let covered = |cached: &Cached, mapping: &Self| {
            cached.owner.0 == evicted.0 && mapping.page_of(cached.owner) == page
        };
        let mut dirty: Vec<Cached> = Vec::new();
        let mut list = std::mem::take(self.list(evicted.0));
        list.retain(|cached| {
            let goes = cached.ready && cached.dirty && covered(cached, self);
            if goes {
                dirty.push(*cached);
            }
            !goes
        });
        dirty.sort_by_key(|cached| cached.owner);
        list.extend(dirty.into_iter().map(|cached| Cached { dirty: false, ..cached }));
        *self.list(evicted.0) = list;
        if is_stored(page) {
            self.arriving.entry(page).or_default().push(evicted);
        }
        *self.departing.entry(page).or_default() += 1;
        self.writebacks += 1;
    }

    /// Notes that the mapping of a logical page has changed.
    pub fn dirty(&mut self, owner: Owner) {
        if let Owner::Data(tenant, lpn) = owner {
            let mut list = self.list(tenant).iter_mut();
            if let Some(cached) = list.find(|cached| cached.owner == (tenant, lpn)) {
                cached.dirty = true;
            }
        }
    }

    /// Ends the read of a translation page. Returns the mappings that arrive, in the order in which
    /// they were wanted.
    pub fn arrived(&mut self, page: TranslationPageId) -> Vec<(TenantId, Lpn)> {
        let wanted = self.arriving.remove(&page).unwrap_or_default();
        let mut ready = Vec::new();
        for owner in wanted {
            let cached = self.list(owner.0).iter_mut().find(|cached| cached.owner == owner);
            if let Some(cached) = cached.filter(|cached| !cached.ready) {
                cached.ready = true;
                ready.push(owner);
            }
        }
        ready
    }

    /// Ends the program of a translation page.
    pub fn departed(&mut self, page: TranslationPageId) {
        *self.departing.get_mut(&page).expect("a page departed that never left") -= 1;
    }
}
