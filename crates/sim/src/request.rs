//! What the drive does with a host request: it cuts the request into pages, serves what the data
//! cache has, sends the rest to flash, and notices when everything is done.
//!
//! Back-pressure: only a limited number of sectors may be on their way from the data cache to
//! flash. Writes that would exceed it wait.

use crate::data_cache::{Mark, Slot, SlotState, epoch_mark, read_mark, slot_mark};
use crate::dram::DramAccess;
use crate::simulator::Core;
use crate::tx::{Class, NIL, Purpose, Tx};
use ssdtune_ftl::{CacheMark, EntryRef, Phys};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{Nanos, Sectors};

/// An epoch of cached writes lasts at least this long. See `data_cache`.
const EPOCH_NS: Nanos = Nanos(1_000_000_000);

/// One page of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The logical page, in the tenant's address space.
    pub lpn: u64,
    /// Sectors of the page that the request covers, one bit each.
    pub mask: u64,
    /// Number of these sectors.
    pub sectors: u32,
}

/// The flash transactions of one request.
enum Parts {
    None,
    One(u32),
    Many(Vec<u32>),
}

impl Parts {
    fn len(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(list) => list.len() as u32,
        }
    }
}

impl Core {
    /// Cuts the next page off a request that has `rest` sectors left at `cursor` of a tenant's
    /// address space.
    #[inline]
    pub(crate) fn cut(&self, tenant: usize, cursor: &mut u64, rest: &mut u32) -> Part {
        let space = &self.tenants[tenant];
        if *cursor >= space.sectors {
            *cursor = (space.start + *cursor) % (space.sectors - 1).max(1);
        }
        let page = u64::from(self.page_sectors);
        let into_page = match self.page_shift {
            Some(_) => (space.start + *cursor) & (page - 1),
            None => (space.start + *cursor) % page,
        };
        let sectors = ((page - into_page) as u32).min(*rest);
        let (lpn, offset) = match self.page_shift {
            Some(shift) => (*cursor >> shift, *cursor & (page - 1)),
            None => (*cursor / page, *cursor % page),
        };
        let ones = if sectors >= 64 { u64::MAX } else { (1 << sectors) - 1 };
        *cursor += u64::from(sectors);
        *rest -= sectors;
        Part { lpn, mask: ones << offset, sectors }
    }

    /// The logical page of a sector.
    #[inline]
    pub(crate) fn page_of(&self, sector: u64) -> u64 {
        match self.page_shift {
            Some(shift) => sector >> shift,
            None => sector / u64::from(self.page_sectors),
        }
    }

    #[inline]
    fn mode(&self, tenant: u16) -> CacheMode {
        self.cache_modes[tenant as usize]
    }

    /// The number of the cache that a tenant uses.
    #[inline]
    pub(crate) fn cache_of(&self, tenant: u16) -> usize {
        if self.caches.len() == 1 { 0 } else { tenant as usize }
    }

    /// The number of the back-pressure counter and of the list of blocked writes that a tenant
    /// uses.
    fn queue_of(&self, tenant: u16) -> usize {
        if self.pressure.len() == 1 { 0 } else { tenant as usize }
    }

    /// Serves a read, or a write of no sectors.
    pub(crate) fn serve_read(&mut self, req: u32) {
        let record = &self.reqs[req];
        let (tenant, stamp) = (record.tenant, record.stamp);
        let (mut cursor, mut rest) = (record.lba.0, record.sectors);
        let cached = self.mode(tenant) != CacheMode::Off;
        let mut parts = Parts::None;
        let mut hits = 0;
        while rest > 0 {
            let mut part = self.cut(tenant as usize, &mut cursor, &mut rest);
            self.stats.count(tenant.into(), |counts| counts.page_reads += 1);
            let entry = if !self.switches.read_allocates && self.ftl.is_ideal() {
                // A page without an entry holds no data.
                let Some(entry) = self.ftl.find(tenant as usize, part.lpn) else {
                    self.stats.count(tenant.into(), |counts| counts.unwritten_reads += 1);
                    continue;
                };
                entry
            } else {
                self.ftl.entry(tenant as usize, part.lpn)
            };
            if cached {
                self.read_part(entry, tenant, &mut part, &mut hits);
                if part.sectors == 0 {
                    continue;
                }
            }
            let mut tx = Tx::new(Class::UserRead, Purpose::Request, Phys::NONE, entry);
            tx.address = part.lpn;
            tx.stamp = stamp;
            tx.request = req;
            tx.tenant = tenant;
            tx.sectors = part.sectors as u16;
            tx.mask = part.mask;
            tx.priority = self.priority[tenant as usize];
            let tx = self.txs.insert(tx);
            self.add_part(&mut parts, tx);
        }
        self.reqs[req].waits_flash = parts.len();
        self.reqs[req].waits_dram = hits;
        if hits > 0 {
            self.dram_access(tenant, hits, DramAccess::Request(req, hits));
        }
        if parts.len() == 0 && hits == 0 {
            self.request_done(req);
        } else {
            self.dispatch_parts(parts);
        }
    }

    /// Adds a transaction. Most requests have one page and need no list.
    #[inline]
    fn add_part(&mut self, parts: &mut Parts, tx: u32) {
        match parts {
            Parts::None => *parts = Parts::One(tx),
            Parts::One(first) => {
                let mut list = self.take_list();
                list.extend([*first, tx]);
                *parts = Parts::Many(list);
            }
            Parts::Many(list) => list.push(tx),
        }
    }

    #[inline]
    fn dispatch_parts(&mut self, parts: Parts) {
        match parts {
            Parts::None => {}
            Parts::One(tx) => self.dispatch_one(tx),
            Parts::Many(list) => self.dispatch(list),
        }
    }

    /// Takes off a read what the data cache holds.
    #[inline]
    fn read_part(&mut self, entry: EntryRef, tenant: u16, part: &mut Part, hits: &mut u32) {
        self.stats.count(tenant.into(), |counts| counts.cache_lookups += 1);
        if let Mark::Slot(slot) = read_mark(self.ftl.mark(entry)) {
            let cache = self.cache_of(tenant);
            self.caches[cache].touch(slot);
            let here = self.caches[cache].slot(slot).mask & part.mask;
            *hits += here.count_ones();
            let whole = u64::from(here == part.mask);
            self.stats.count(tenant.into(), |counts| counts.cache_hits += whole);
            part.mask &= !here;
            part.sectors -= here.count_ones();
        }
    }

    /// The data of a write have reached the drive.
    pub(crate) fn data_fetched(&mut self, req: u32) {
        self.reqs[req].stamp = self.events.now();
        let record = &mut self.reqs[req];
        record.rest = record.sectors;
        record.cursor = record.lba.0;
        let tenant = record.tenant;
        match self.mode(tenant) {
            CacheMode::Off | CacheMode::Read => self.write_through(req),
            CacheMode::Write | CacheMode::ReadWrite => {
                self.destage(req);
                if self.reqs[req].rest > 0 {
                    let queue = self.queue_of(tenant);
                    self.blocked_writes[queue].push_back(req);
                }
            }
        }
    }

    /// Writes to flash without the data cache.
    fn write_through(&mut self, req: u32) {
        let record = &self.reqs[req];
        let (tenant, stamp) = (record.tenant, record.stamp);
        let (mut cursor, mut rest) = (record.cursor, record.rest);
        let mut parts = Parts::None;
        while rest > 0 {
            let part = self.cut(tenant as usize, &mut cursor, &mut rest);
            let entry = self.ftl.entry(tenant as usize, part.lpn);
            let tx = self.write_tx(Purpose::Request, entry, tenant, part, stamp, req);
            self.add_part(&mut parts, tx);
        }
        self.reqs[req].rest = 0;
        self.reqs[req].waits_flash = parts.len();
        self.dispatch_parts(parts);
    }

    /// Makes the transaction that writes a page.
    fn write_tx(
        &mut self,
        purpose: Purpose,
        entry: EntryRef,
        tenant: u16,
        part: Part,
        stamp: Nanos,
        req: u32,
    ) -> u32 {
        let mut tx = Tx::new(Class::UserWrite, purpose, Phys::NONE, entry);
        tx.address = part.lpn;
        tx.stamp = stamp;
        tx.request = req;
        tx.tenant = tenant;
        tx.sectors = part.sectors as u16;
        tx.mask = part.mask;
        // An eviction makes room for somebody who waits, so it goes before everything.
        tx.priority = if purpose == Purpose::Destage { 0 } else { self.priority[tenant as usize] };
        self.txs.insert(tx)
    }

    /// Takes as much of a write into the data cache as back-pressure allows. A page that is written
    /// for the first time in this epoch also goes to flash at once.
    fn destage(&mut self, req: u32) {
        let record = &self.reqs[req];
        let (tenant, stamp) = (record.tenant, record.stamp);
        let (mut cursor, mut rest) = (record.cursor, record.rest);
        let queue = self.queue_of(tenant);
        if !self.switches.destage_forgets_all {
            self.end_epoch(tenant);
        }
        let epoch = epoch_mark(self.epochs[tenant as usize]);
        let mut writebacks = Parts::None;
        let mut evictions = Vec::new();
        let (mut evicted, mut written_back, mut taken) = (0u32, 0u32, 0u32);
        while rest > 0 && self.pressure[queue] + evicted + written_back < self.pressure_limit {
            let part = self.cut(tenant as usize, &mut cursor, &mut rest);
            let entry = self.ftl.entry(tenant as usize, part.lpn);
            let slot = match read_mark(self.ftl.mark(entry)) {
                Mark::Slot(slot) => {
                    self.stats.count(tenant.into(), |counts| counts.cache_write_hits += 1);
                    self.write_into_slot(tenant, slot, part.mask, stamp);
                    slot
                }
                _ => {
                    if let Some(eviction) = self.make_room(tenant) {
                        evicted += u32::from(self.txs[eviction].sectors);
                        if evictions.is_empty() {
                            evictions = self.take_list();
                        }
                        evictions.push(eviction);
                    }
                    let slot = Slot::new(entry, tenant, part.lpn, part.mask, stamp);
                    self.insert_slot(tenant, slot)
                }
            };
            taken += part.sectors;
            self.stats.count(tenant.into(), |counts| counts.cache_writes += 1);
            let cache = self.cache_of(tenant);
            let record = self.caches[cache].slot_mut(slot);
            if record.mark != epoch {
                record.mark = epoch;
                record.state = SlotState::WritingBack;
                let part = if self.switches.destage_drops_sectors {
                    part
                } else {
                    Part { mask: record.mask, sectors: record.mask.count_ones(), ..part }
                };
                written_back += part.sectors;
                let tx = self.write_tx(Purpose::Request, entry, tenant, part, stamp, NIL);
                self.txs[tx].priority = self.priority[tenant as usize];
                self.add_part(&mut writebacks, tx);
            }
        }
        self.reqs[req].cursor = cursor;
        self.reqs[req].rest = rest;
        self.reqs[req].waits_dram += taken;
        self.pressure[queue] += evicted + written_back;
        if !evictions.is_empty() {
            self.dram_access(tenant, evicted, DramAccess::Evictions(evictions));
        }
        if taken > 0 {
            self.dram_access(tenant, taken, DramAccess::Request(req, taken));
        }
        self.dispatch_parts(writebacks);
        if self.switches.destage_forgets_all {
            self.end_epoch(tenant);
        }
    }

    /// Begins a new epoch if the present one has lasted long enough.
    fn end_epoch(&mut self, tenant: u16) {
        let now = self.events.now();
        if now > self.epoch_ends {
            self.epochs[tenant as usize] += 1;
            self.epoch_ends = now + EPOCH_NS;
        }
    }

    /// Writes to a page that the cache holds.
    fn write_into_slot(&mut self, tenant: u16, slot: u32, mask: u64, stamp: Nanos) {
        let cache = self.cache_of(tenant);
        self.caches[cache].touch(slot);
        let record = self.caches[cache].slot_mut(slot);
        record.mask |= mask;
        record.stamp = record.stamp.max(stamp);
        record.state = SlotState::Dirty;
    }

    /// Puts a page into the cache, and its slot into the page's entry.
    fn insert_slot(&mut self, tenant: u16, mut slot: Slot) -> u32 {
        let cache = self.cache_of(tenant);
        let entry = slot.entry;
        slot.mark = self.ftl.mark(entry);
        let slot = self.caches[cache].insert(slot);
        self.ftl.set_mark(entry, slot_mark(slot));
        slot
    }

    /// Takes a page out of the cache, and leaves its mark in the page's entry.
    pub(crate) fn remove_slot(&mut self, tenant: u16, slot: u32) {
        let cache = self.cache_of(tenant);
        let record = self.caches[cache].slot(slot);
        let (entry, mark) = (record.entry, record.mark);
        self.caches[cache].remove(slot);
        if slot == self.ghosts[cache] {
            self.ghosts[cache] = NIL;
        } else {
            self.ftl.set_mark(entry, mark);
        }
    }

    /// Pushes out the page used longest ago if the cache is full. Returns the transaction that
    /// writes it to flash if it was dirty.
    fn make_room(&mut self, tenant: u16) -> Option<u32> {
        let cache = self.cache_of(tenant);
        if !self.caches[cache].is_full() {
            return None;
        }
        let slot = self.caches[cache].oldest()?;
        let record = self.caches[cache].slot(slot).clone();
        let is_ghost = slot == self.ghosts[cache];
        self.remove_slot(tenant, slot);
        (record.state == SlotState::Dirty && !is_ghost).then(|| {
            let part =
                Part { lpn: record.lpn, mask: record.mask, sectors: record.mask.count_ones() };
            let (owner, entry) = self.goes_to(&record, tenant);
            self.write_tx(Purpose::Destage, entry, owner, part, record.stamp, NIL)
        })
    }

    /// The tenant and the entry for which a page is written that was pushed out of the cache.
    fn goes_to(&mut self, page: &Slot, evictor: u16) -> (u16, EntryRef) {
        let last = self.page_of(self.tenants[usize::from(evictor)].sectors - 1);
        if self.switches.evict_to_evictor && page.tenant != evictor && page.lpn <= last {
            (evictor, self.ftl.entry(evictor.into(), page.lpn))
        } else {
            (page.tenant, page.entry)
        }
    }

    /// A cached page has been written to flash: back-pressure falls, and writes that waited for
    /// that are tried again.
    pub(crate) fn destaged(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (tenant, entry, stamp) = (record.tenant, record.entry, record.stamp);
        let sectors = u32::from(record.sectors);
        let queue = self.queue_of(tenant);
        self.pressure[queue] -= sectors;
        if let Mark::Slot(slot) = read_mark(self.ftl.mark(entry)) {
            let cache = self.cache_of(tenant);
            self.caches[cache].touch(slot);
            if stamp >= self.caches[cache].slot(slot).stamp {
                self.remove_slot(tenant, slot);
            }
        }
        self.retry_blocked(queue);
    }

    /// Tries again to take waiting writes into the cache.
    fn retry_blocked(&mut self, queue: usize) {
        let mut waiting = std::mem::take(&mut self.blocked_writes[queue]);
        let mut index = 0;
        // Once the limit is reached, trying the others would change nothing.
        while index < waiting.len() {
            self.destage(waiting[index]);
            if self.reqs[waiting[index]].rest == 0 {
                waiting.remove(index);
            } else {
                index += 1;
            }
            if self.pressure[queue] >= self.pressure_limit {
                break;
            }
        }
        self.blocked_writes[queue] = waiting;
    }

    /// Keeps a page that was read from flash in the data cache.
    pub(crate) fn fill(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (tenant, entry, mask) = (record.tenant, record.entry, record.mask);
        let (stamp, lpn) = (record.stamp, record.address);
        let sectors = u32::from(record.sectors);
        let cache = self.cache_of(tenant);
        self.dram_access(tenant, sectors, DramAccess::Fill);
        let ghost = self.switches.fill_by_flash_owner
            && !self.ftl.is_programmed(record_phys(&self.txs[tx]));
        let slot = if ghost {
            (self.ghosts[cache] != NIL).then_some(self.ghosts[cache])
        } else {
            match read_mark(self.ftl.mark(entry)) {
                Mark::Slot(slot) => Some(slot),
                _ => None,
            }
        };
        if let Some(slot) = slot {
            if self.switches.read_fill_dirty {
                self.write_into_slot(tenant, slot, mask, stamp);
            } else {
                self.caches[cache].touch(slot);
                self.caches[cache].slot_mut(slot).mask |= mask;
            }
            return;
        }
        if let Some(eviction) = self.make_room(tenant) {
            let out = u32::from(self.txs[eviction].sectors);
            let queue = self.queue_of(tenant);
            self.pressure[queue] += out;
            let mut list = self.take_list();
            list.push(eviction);
            self.dram_access(tenant, out, DramAccess::Evictions(list));
        }
        let mut slot = Slot::new(entry, tenant, lpn, mask, stamp);
        if !self.switches.read_fill_dirty {
            slot.state = SlotState::Clean;
        }
        if ghost {
            self.ghosts[cache] = self.caches[cache].insert(slot);
        } else {
            self.insert_slot(tenant, slot);
        }
        if self.switches.read_fill_dirty {
            self.dram_access(tenant, sectors, DramAccess::Fill);
        }
    }

    /// One flash transaction of a request is done.
    pub(crate) fn part_done(&mut self, req: u32) {
        self.reqs[req].waits_flash -= 1;
        self.check_done(req);
    }

    /// Completes a request if it waits for nothing any more.
    pub(crate) fn check_done(&mut self, req: u32) {
        let record = &self.reqs[req];
        if record.waits_flash == 0 && record.waits_dram == 0 && record.rest == 0 {
            self.request_done(req);
        }
    }

    /// Unmaps every page that a trim covers in full.
    pub(crate) fn serve_trim(&mut self, req: u32) {
        let record = &self.reqs[req];
        let tenant = record.tenant;
        let (mut cursor, mut rest) = (record.lba.0, record.sectors);
        while rest > 0 {
            let part = self.cut(tenant as usize, &mut cursor, &mut rest);
            if part.sectors < self.page_sectors {
                continue;
            }
            let Some(entry) = self.ftl.find(tenant as usize, part.lpn) else { continue };
            if let Mark::Slot(slot) = read_mark(self.ftl.mark(entry)) {
                self.remove_slot(tenant, slot);
                self.ftl.set_mark(entry, CacheMark(0));
            }
            if let Some(plane) = self.ftl.trim(tenant as usize, part.lpn)
                && !self.held[plane.index()].is_empty()
            {
                self.collect(plane);
            }
        }
        self.request_done(req);
    }

    /// Serves a flush: it waits until everything that the host was told is written has reached
    /// flash.
    pub(crate) fn serve_flush(&mut self, req: u32) {
        let tenant = self.reqs[req].tenant;
        self.destage_all(tenant);
        let mut waits = 0;
        for index in 0..self.txs.capacity() {
            let tx = &mut self.txs[index];
            if tx.live && tx.class == Class::UserWrite && tx.tenant == tenant && tx.flush == NIL {
                tx.flush = req;
                waits += 1;
            }
        }
        // Writes that earlier flushes wait for stay theirs; this flush waits for the last of those
        // flushes.
        let before = std::mem::replace(&mut self.last_flush[tenant as usize], req);
        if before != NIL {
            self.reqs[before].next_flush = req;
            waits += 1;
        }
        self.reqs[req].waits_flash = waits;
        if waits == 0 {
            self.flush_done(req);
        }
    }

    /// One of the writes, or the flush, that a flush waits for is done.
    pub(crate) fn flush_part_done(&mut self, req: u32) {
        self.reqs[req].waits_flash -= 1;
        if self.reqs[req].waits_flash == 0 {
            self.flush_done(req);
        }
    }

    /// Completes a flush, and tells the one that waits for it.
    fn flush_done(&mut self, req: u32) {
        let tenant = self.reqs[req].tenant as usize;
        let next = self.reqs[req].next_flush;
        if self.last_flush[tenant] == req {
            self.last_flush[tenant] = NIL;
        }
        self.request_done(req);
        if next != NIL {
            self.flush_part_done(next);
        }
    }

    /// Writes all dirty pages of a tenant to flash.
    fn destage_all(&mut self, tenant: u16) {
        if !matches!(self.mode(tenant), CacheMode::Write | CacheMode::ReadWrite) {
            return;
        }
        let cache = self.cache_of(tenant);
        let ghost = self.ghosts[cache];
        let dirty: Vec<u32> = (self.caches[cache].iter())
            .filter(|&slot| slot != ghost)
            .filter(|&slot| {
                let record = self.caches[cache].slot(slot);
                record.tenant == tenant && record.state == SlotState::Dirty
            })
            .collect();
        let mut list = self.take_list();
        let mut sectors = 0;
        for slot in dirty {
            let record = self.caches[cache].slot_mut(slot);
            record.state = SlotState::WritingBack;
            let record = record.clone();
            let part =
                Part { lpn: record.lpn, mask: record.mask, sectors: record.mask.count_ones() };
            sectors += part.sectors;
            let tx = self.write_tx(Purpose::Destage, record.entry, tenant, part, record.stamp, NIL);
            list.push(tx);
        }
        if list.is_empty() {
            self.give_list(list);
            return;
        }
        let queue = self.queue_of(tenant);
        self.pressure[queue] += sectors;
        self.dram_access(tenant, sectors, DramAccess::Evictions(list));
    }

    /// The size of a tenant's address space.
    pub(crate) fn tenant_sectors(&self, tenant: usize) -> Sectors {
        Sectors(self.tenants[tenant].sectors)
    }
}

fn record_phys(tx: &Tx) -> Phys {
    tx.phys
}
