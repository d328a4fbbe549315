//! Reads: what the cache holds comes from DRAM, the rest from flash, and enters the cache.

use super::slots::{Mark, Slot, SlotState};
use super::{Access, Batch, DataCache};
use crate::backend::Backend;
use crate::base::Base;
use crate::flash::{Purpose, Transaction};
use crate::host::{Host, Part};
use crate::id::{RequestId, TransactionId};
use crate::operation::Class;
use ssdtune_ftl::{EntryRef, Ftl};
use ssdtune_model::TenantId;
use ssdtune_model::config::CacheMode;

impl DataCache {
    /// Serves a read, or a write of no sectors.
    pub fn serve_read(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
    ) {
        let record = &host.requests[request];
        let (tenant, stamp) = (record.tenant, record.stamp);
        let (mut cursor, mut rest) = (record.lba.0, record.sectors);
        backend.look_ahead(&host.spaces, tenant, (cursor, rest), false);
        let is_cached = self.rules.modes[tenant] != CacheMode::Off;
        // A page without an entry holds no data, unless its mapping must be looked up.
        let finds = !backend.read_allocates() && backend.ftl.is_ideal();
        let mut batch = Batch::None;
        let (mut hits, mut coming) = (0, 0);
        while rest > 0 {
            let mut part = host.spaces.cut(tenant, &mut cursor, &mut rest);
            base.books.count(tenant, |counts| counts.page_reads += 1);
            let entry = if finds {
                let Some(entry) = backend.ftl.find(tenant, part.lpn) else {
                    base.books.count(tenant, |counts| counts.unwritten_reads += 1);
                    continue;
                };
                entry
            } else {
                backend.ftl.entry(tenant, part.lpn)
            };
            if is_cached {
                hits += self.take_hits(base, &backend.ftl, entry, tenant, &mut part);
                if part.sectors == 0 {
                    continue;
                }
                if self.ahead.is_some() && self.waits(&backend.ftl, entry, tenant, request) {
                    coming += 1;
                    continue;
                }
            }
            let purpose = Purpose::Request(request);
            let mut read = Transaction::new(Class::UserRead, purpose, entry, tenant);
            read.set_lpn(part.lpn);
            read.stamp = stamp;
            read.sectors = part.sectors as u16;
            read.mask = part.mask;
            read.priority = self.rules.priorities[tenant];
            let read = backend.flash.insert(read);
            batch.push(backend, read);
        }
        let record = &mut host.requests[request];
        record.waits_flash = batch.len() + coming;
        record.waits_dram = hits;
        if hits > 0 {
            self.dram_for_request(base, host, request, hits);
        }
        if batch.len() + coming == 0 && hits == 0 {
            host.done(base, request);
        } else {
            batch.dispatch(base, host, backend);
        }
        if self.ahead.is_some() && is_cached {
            self.look_ahead(base, host, backend, request);
        }
    }

    /// Lets a request wait for a page that was asked for ahead of it. Returns whether it does.
    fn waits(&mut self, ftl: &Ftl, entry: EntryRef, tenant: TenantId, request: RequestId) -> bool {
        match Mark::read(ftl.mark(entry)) {
            Mark::Slot(slot) => self.wait_for_coming(tenant, slot, request),
            Mark::Nothing | Mark::Written(_) => false,
        }
    }

    /// Takes off a part of a read what the data cache holds. Returns how many sectors that are.
    #[inline]
    fn take_hits(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        entry: EntryRef,
        tenant: TenantId,
        part: &mut Part,
    ) -> u32 {
        let mut hits = 0;
        let mut whole = 0;
        if let Mark::Slot(slot) = Mark::read(ftl.mark(entry)) {
            let partition = self.partition_of(tenant);
            let slots = &mut self.partitions[partition].slots;
            slots.touch(slot);
            let here = slots[slot].mask & part.mask;
            hits = here.count_ones();
            whole = u64::from(here == part.mask);
            part.mask &= !here;
            part.sectors -= hits;
        }
        base.books.count(tenant, |counts| {
            counts.cache_lookups += 1;
            counts.cache_hits += whole;
        });
        hits
    }

    /// A page of a request has been read from flash: keeps it, if the tenant's reads are cached.
    #[inline]
    pub fn page_read(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        read: TransactionId,
    ) {
        let tenant = backend.flash.transaction(read).tenant;
        if matches!(self.rules.modes[tenant], CacheMode::Read | CacheMode::ReadWrite) {
            self.fill(base, host, backend, read);
        }
    }

    /// Keeps a page that was read from flash in the data cache.
    fn fill(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        read: TransactionId,
    ) {
        let record = backend.flash.transaction(read);
        let (tenant, entry, mask) = (record.tenant, record.entry, record.mask);
        let (stamp, lpn, phys) = (record.stamp, record.lpn(), record.phys);
        let sectors = u32::from(record.sectors);
        let partition = self.partition_of(tenant);
        self.dram.access(base, tenant, partition, sectors, true, Access::Fill);
        let is_ghost = self.rules.fill_by_flash_owner && !backend.ftl.is_programmed(phys);
        let slot = match is_ghost {
            true => self.partitions[partition].ghost,
            false => match Mark::read(backend.ftl.mark(entry)) {
                Mark::Slot(slot) => Some(slot),
                Mark::Nothing | Mark::Written(_) => None,
            },
        };
        if let Some(slot) = slot {
            if self.rules.read_fill_dirty {
                self.write_into_slot(tenant, slot, mask, stamp);
            } else {
                let slots = &mut self.partitions[partition].slots;
                slots.touch(slot);
                slots[slot].mask |= mask;
            }
            return;
        }
        self.room_for_read(base, host, backend, tenant);
        let mut page = Slot::new(entry, tenant, lpn, mask, stamp);
        if !self.rules.read_fill_dirty {
            page.state = SlotState::Clean;
        }
        if is_ghost {
            let partition = &mut self.partitions[partition];
            partition.ghost = Some(partition.slots.insert(page));
        } else {
            self.insert_slot(&mut backend.ftl, tenant, page);
        }
        if self.rules.read_fill_dirty {
            self.dram.access(base, tenant, partition, sectors, true, Access::Fill);
        }
    }

    /// Makes room for a page that comes from flash. What has to leave for it is written there.
    pub(super) fn room_for_read(
        &mut self,
        base: &mut Base,
        host: &Host,
        backend: &mut Backend,
        tenant: TenantId,
    ) {
        if let Some(eviction) = self.make_room(host, backend, tenant) {
            let partition = self.partition_of(tenant);
            let sectors = u32::from(backend.flash.transaction(eviction).sectors);
            self.partitions[partition].pressure += sectors;
            let mut list = backend.take_list();
            list.push(eviction);
            self.dram_for_evictions(base, tenant, sectors, list);
        }
    }
}
