//! Writes: through to flash, or into the cache as far as back-pressure allows, and from there to
//! flash.

use super::slots::{Mark, Slot, SlotState};
use super::{Batch, DataCache, Partition, seen};
use crate::backend::Backend;
use crate::base::Base;
use crate::flash::{Purpose, Transaction};
use crate::host::{Host, Part};
use crate::id::{PartitionId, RequestId, SlotId, TransactionId};
use crate::operation::Class;
use ssdtune_ftl::EntryRef;
use ssdtune_ftl::placement::{RequestShape, Shape};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{Nanos, TenantId};

/// An epoch of cached writes lasts at least this long.
const EPOCH: Nanos = Nanos(1_000_000_000);

impl DataCache {
    /// Serves a write whose data are in the drive.
    pub fn serve_write(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
    ) {
        let record = &host.requests[request];
        let (tenant, arrived) = (record.tenant, record.arrived);
        let shape = self.shape_of(&host.spaces, tenant, arrived, record.lba, record.sectors);
        backend.look_ahead(&host.spaces, tenant, (record.lba.0, record.sectors), true);
        match self.rules.modes[tenant] {
            CacheMode::Off | CacheMode::Read => {
                self.write_through(base, host, backend, request, shape);
            }
            CacheMode::Write | CacheMode::ReadWrite => {
                self.write_cached(base, host, backend, request, shape);
                if host.requests[request].rest > 0 {
                    let partition = self.partition_of(tenant);
                    self.partitions[partition].blocked.push_back((request, shape));
                }
            }
        }
    }

    /// Writes to flash without the data cache.
    fn write_through(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
        shape: Option<RequestShape>,
    ) {
        let record = &host.requests[request];
        let (tenant, stamp, lba) = (record.tenant, record.stamp, record.lba.0);
        let (mut cursor, mut rest) = (record.cursor, record.rest);
        let priority = self.rules.priorities[tenant];
        let mut batch = Batch::None;
        while rest > 0 {
            let before = cursor != lba;
            let part = host.spaces.cut(tenant, &mut cursor, &mut rest);
            let entry = backend.ftl.entry(tenant, part.lpn);
            let purpose = Purpose::Request(request);
            let shape = seen(shape, &host.spaces, &part, before, rest > 0);
            let write = write(purpose, entry, tenant, part, stamp, priority, shape);
            let write = backend.flash.insert(write);
            batch.push(backend, write);
        }
        let record = &mut host.requests[request];
        record.rest = 0;
        record.waits_flash = batch.len();
        batch.dispatch(base, host, backend);
    }

    /// Takes as much of a write into the data cache as back-pressure allows. A page that is written
    /// for the first time in this epoch also goes to flash at once.
    fn write_cached(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
        shape: Option<RequestShape>,
    ) {
        let record = &host.requests[request];
        let (tenant, stamp, lba) = (record.tenant, record.stamp, record.lba.0);
        let (mut cursor, mut rest) = (record.cursor, record.rest);
        let partition = self.partition_of(tenant);
        if !self.rules.destage_forgets_all {
            self.end_epoch(base.now(), tenant);
        }
        let epoch = Mark::Written(self.epochs[tenant]).write();
        let (mut writebacks, mut evictions) = (Batch::None, Vec::new());
        let (mut evicted, mut written_back, mut taken) = (0, 0, 0);
        let pressure = self.partitions[partition].pressure;
        while rest > 0 && pressure + evicted + written_back < self.rules.pressure_limit {
            let before = cursor != lba;
            let part = host.spaces.cut(tenant, &mut cursor, &mut rest);
            let shape = seen(shape, &host.spaces, &part, before, rest > 0);
            let entry = backend.ftl.entry(tenant, part.lpn);
            let page = Slot::new(entry, tenant, part.lpn, part.mask, stamp);
            let page = Slot { shape, ..page };
            let (slot, eviction) = self.enter(base, host, backend, page);
            if let Some(eviction) = eviction {
                evicted += u32::from(backend.flash.transaction(eviction).sectors);
                if evictions.is_empty() {
                    evictions = backend.take_list();
                }
                evictions.push(eviction);
            }
            taken += part.sectors;
            let page = &mut self.partitions[partition].slots[slot];
            if page.mark != epoch || self.rules.is_buffer {
                page.mark = epoch;
                page.state = SlotState::WritingBack;
                let part = match self.rules.destage_drops_sectors {
                    true => part,
                    false => Part::of(part.lpn, page.mask),
                };
                written_back += part.sectors;
                let priority = self.rules.priorities[tenant];
                let write = write(Purpose::Destage, entry, tenant, part, stamp, priority, shape);
                let write = backend.flash.insert(write);
                writebacks.push(backend, write);
            }
        }
        let record = &mut host.requests[request];
        record.cursor = cursor;
        record.rest = rest;
        record.waits_dram += taken;
        self.partitions[partition].pressure += evicted + written_back;
        if !evictions.is_empty() {
            self.dram_for_evictions(base, tenant, evicted, evictions);
        }
        if taken > 0 {
            self.dram_for_request(base, host, request, taken);
        }
        writebacks.dispatch(base, host, backend);
        if self.rules.destage_forgets_all {
            self.end_epoch(base.now(), tenant);
        }
    }

    /// Writes a part of a page into the cache. Returns its slot, and the transaction that writes
    /// the page that had to leave for it.
    #[inline]
    fn enter(
        &mut self,
        base: &mut Base,
        host: &Host,
        backend: &mut Backend,
        page: Slot,
    ) -> (SlotId, Option<TransactionId>) {
        let (tenant, known) = (page.tenant, Mark::read(backend.ftl.mark(page.entry)));
        let hit = matches!(known, Mark::Slot(_));
        base.books.count(tenant, |counts| {
            counts.cache_writes += 1;
            counts.cache_write_hits += u64::from(hit);
        });
        if let Mark::Slot(slot) = known {
            self.write_into_slot(tenant, slot, page.mask, page.stamp);
            let partition = self.partition_of(tenant);
            self.partitions[partition].slots[slot].shape = page.shape;
            return (slot, None);
        }
        let eviction = self.make_room(host, backend, tenant);
        (self.insert_slot(&mut backend.ftl, tenant, page), eviction)
    }

    /// Begins a new epoch if the present one has lasted long enough.
    fn end_epoch(&mut self, now: Nanos, tenant: TenantId) {
        if now > self.epoch_ends {
            self.epochs[tenant] += 1;
            self.epoch_ends = now + EPOCH;
        }
    }

    /// Writes to a page that the cache holds.
    pub(super) fn write_into_slot(
        &mut self,
        tenant: TenantId,
        slot: SlotId,
        mask: u64,
        stamp: Nanos,
    ) {
        let partition = self.partition_of(tenant);
        let slots = &mut self.partitions[partition].slots;
        slots.touch(slot);
        let page = &mut slots[slot];
        page.mask |= mask;
        page.stamp = page.stamp.max(stamp);
        page.state = SlotState::Dirty;
    }

    /// Pushes out the page used longest ago if the cache is full. Returns the transaction that
    /// writes it to flash if it was dirty.
    pub(super) fn make_room(
        &mut self,
        host: &Host,
        backend: &mut Backend,
        tenant: TenantId,
    ) -> Option<TransactionId> {
        let partition = self.partition_of(tenant);
        if !self.partitions[partition].slots.is_full() {
            return None;
        }
        if self.rules.is_buffer {
            self.keep_buffered(partition);
        }
        let partition = &self.partitions[partition];
        let slot = partition.slots.oldest()?;
        let page = partition.slots[slot].clone();
        let is_ghost = partition.ghost == Some(slot);
        self.remove_slot(&mut backend.ftl, tenant, slot);
        (page.state == SlotState::Dirty && !is_ghost).then(|| {
            let part = Part::of(page.lpn, page.mask);
            let (owner, entry) = self.goes_to(host, backend, &page, tenant);
            // It makes room for somebody who waits, so it goes before everything.
            let write = write(Purpose::Destage, entry, owner, part, page.stamp, 0, page.shape);
            backend.flash.insert(write)
        })
    }

    /// Pages on their way to flash stay in the write buffer: others leave before them.
    fn keep_buffered(&mut self, partition: PartitionId) {
        let slots = &mut self.partitions[partition].slots;
        for _ in 0..slots.len() {
            match slots.oldest() {
                Some(slot) if slots[slot].state == SlotState::WritingBack => slots.touch(slot),
                _ => return,
            }
        }
    }

    /// The tenant and the entry for which a page is written that was pushed out of the cache.
    fn goes_to(
        &self,
        host: &Host,
        backend: &mut Backend,
        page: &Slot,
        evictor: TenantId,
    ) -> (TenantId, EntryRef) {
        let last = host.spaces.page_of(host.spaces.size(evictor).0 - 1);
        if self.rules.evict_to_evictor && page.tenant != evictor && page.lpn <= last {
            (evictor, backend.ftl.entry(evictor, page.lpn))
        } else {
            (page.tenant, page.entry)
        }
    }

    /// Makes the transactions that write all dirty pages of a tenant to flash.
    pub(super) fn write_all(&mut self, base: &mut Base, backend: &mut Backend, tenant: TenantId) {
        if !self.holds_writes(tenant) {
            return;
        }
        let partition = self.partition_of(tenant);
        let Partition { slots, ghost, pressure, .. } = &mut self.partitions[partition];
        let is_dirty = |slot: &SlotId| {
            let page = &slots[*slot];
            page.tenant == tenant && page.state == SlotState::Dirty && *ghost != Some(*slot)
        };
        let dirty: Vec<SlotId> = slots.iter().filter(is_dirty).collect();
        if dirty.is_empty() {
            return;
        }
        let mut list = backend.take_list();
        let mut sectors = 0;
        for slot in dirty {
            let page = &mut slots[slot];
            page.state = SlotState::WritingBack;
            let part = Part::of(page.lpn, page.mask);
            sectors += part.sectors;
            let (entry, stamp, shape) = (page.entry, page.stamp, page.shape);
            let write = write(Purpose::Destage, entry, tenant, part, stamp, 0, shape);
            list.push(backend.flash.insert(write));
        }
        *pressure += sectors;
        self.dram_for_evictions(base, tenant, sectors, list);
    }

    /// A cached page has been written to flash: back-pressure falls, and writes that waited for
    /// that are tried again.
    pub fn page_written(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        write: TransactionId,
    ) {
        let record = backend.flash.transaction(write);
        let (tenant, entry, stamp) = (record.tenant, record.entry, record.stamp);
        let sectors = u32::from(record.sectors);
        let partition = self.partition_of(tenant);
        self.partitions[partition].pressure -= sectors;
        self.written_at += u128::from(base.now().0) * u128::from(sectors);
        if let Mark::Slot(slot) = Mark::read(backend.ftl.mark(entry)) {
            let slots = &mut self.partitions[partition].slots;
            slots.touch(slot);
            if stamp >= slots[slot].stamp {
                self.remove_slot(&mut backend.ftl, tenant, slot);
            }
        }
        if !self.partitions[partition].blocked.is_empty() {
            self.retry_blocked(base, host, backend, partition);
        }
    }

    /// Tries again to take waiting writes into the cache.
    fn retry_blocked(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        partition: PartitionId,
    ) {
        let mut blocked = std::mem::take(&mut self.partitions[partition].blocked);
        let mut index = 0;
        // Once the limit is reached, trying the others would change nothing.
        while index < blocked.len() {
            let (request, shape) = blocked[index];
            self.write_cached(base, host, backend, request, shape);
            if host.requests[request].rest == 0 {
                blocked.remove(index);
            } else {
                index += 1;
            }
            if self.partitions[partition].pressure >= self.rules.pressure_limit {
                break;
            }
        }
        self.partitions[partition].blocked = blocked;
    }
}

/// The transaction that writes a page.
pub(super) fn write(
    purpose: Purpose,
    entry: EntryRef,
    tenant: TenantId,
    part: Part,
    stamp: Nanos,
    priority: u8,
    shape: Shape,
) -> Transaction {
    let mut write = Transaction::new(Class::UserWrite, purpose, entry, tenant);
    write.set_lpn(part.lpn);
    write.stamp = stamp;
    write.sectors = part.sectors as u16;
    write.mask = part.mask;
    write.priority = priority;
    write.shape = shape;
    write
}
