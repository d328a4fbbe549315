//! What the data cache holds at the start of a drive that begins in the middle of a trace.

use super::slots::{Mark, Slot, SlotState};
use super::writes::write;
use super::{DataCache, EPOCH_BEFORE};
use crate::backend::Backend;
use crate::base::Base;
use crate::flash::Purpose;
use crate::host::{Host, Part};
use crate::id::SlotId;
use ssdtune_ftl::Ftl;
use ssdtune_ftl::placement::Shape;
use ssdtune_model::{Lpn, Nanos, TenantId};

/// A page in the data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedPage {
    /// The logical page.
    pub lpn: Lpn,
    /// Sectors that the cache holds.
    pub sectors: u64,
    /// Flash holds older data.
    pub dirty: bool,
    /// It was written in the present epoch of writes.
    pub this_epoch: bool,
}

/// What a tenant has left in the data cache.
pub(crate) struct Left<'a> {
    /// Pages, the one used longest ago first.
    pub cached: &'a [CachedPage],
    /// Further pages, which take room and never leave.
    pub others: u64,
    /// Pages that are not there and were written in the present epoch.
    pub written: &'a [Lpn],
    /// When that epoch ends at the earliest.
    pub epoch_ends: Nanos,
}

impl DataCache {
    /// Pages that the part of the cache that a tenant uses can hold.
    pub fn capacity(&self, tenant: TenantId) -> u64 {
        self.partitions[self.partition_of(tenant)].slots.capacity()
    }

    /// Whether every written page goes to flash at once.
    pub fn is_buffer(&self) -> bool {
        self.rules.is_buffer
    }

    /// Begins to write a page to flash that was written before the start. A page that was pushed
    /// out of the cache is no longer there.
    pub fn write_back(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        (tenant, lpn): (TenantId, Lpn),
        (sectors, pushed_out): (u64, bool),
    ) {
        let partition = self.partition_of(tenant);
        let entry = backend.ftl.entry(tenant, lpn);
        let slots = &mut self.partitions[partition].slots;
        match Mark::read(backend.ftl.mark(entry)) {
            Mark::Slot(slot) if !pushed_out => slots[slot].state = SlotState::WritingBack,
            _ if pushed_out || slots.is_full() => {}
            Mark::Slot(_) | Mark::Nothing | Mark::Written(_) => {
                let slot = Slot::new(entry, tenant, lpn, sectors, Nanos::ZERO);
                let slot = Slot { state: SlotState::WritingBack, ..slot };
                self.insert_slot(&mut backend.ftl, tenant, slot);
            }
        }
        let part = Part::of(lpn, sectors);
        self.partitions[partition].pressure += part.sectors;
        let priority = if pushed_out { 0 } else { self.rules.priorities[tenant] };
        let shape = Shape::default();
        let write = write(Purpose::Destage, entry, tenant, part, Nanos::ZERO, priority, shape);
        let write = backend.flash.insert(write);
        backend.dispatch_one(base, host, write);
    }

    /// Pages in the part of the cache that a tenant uses.
    pub fn held(&self, tenant: TenantId) -> u64 {
        self.partitions[self.partition_of(tenant)].slots.len() as u64
    }

    /// Sectors on their way to flash from the part of the cache that a tenant uses.
    pub fn pressure(&self, tenant: TenantId) -> u64 {
        self.partitions[self.partition_of(tenant)].pressure.into()
    }

    /// Sectors on their way to flash from the whole cache.
    pub fn sectors_to_flash(&self) -> u64 {
        self.partitions.iter().map(|partition| u64::from(partition.pressure)).sum()
    }

    /// The times in nanoseconds at which sectors from the cache were on flash, all added up.
    pub fn written_at(&self) -> u128 {
        self.written_at
    }

    /// Sectors that may be on their way to flash before writes wait.
    pub fn pressure_limit(&self) -> u32 {
        self.rules.pressure_limit
    }

    /// Forgets the pages used longest ago, those on their way to flash excepted, and takes away the
    /// room that is free then, but for some pages.
    pub fn fill_up(&mut self, ftl: &mut Ftl, tenant: TenantId, forget: u64, free: u64) {
        let partition = self.partition_of(tenant);
        let slots = &self.partitions[partition].slots;
        let settled = slots.iter().filter(|&slot| slots[slot].state != SlotState::WritingBack);
        let oldest: Vec<SlotId> = settled.take(forget as usize).collect();
        for slot in oldest {
            self.remove_slot(ftl, tenant, slot);
        }
        let slots = &mut self.partitions[partition].slots;
        slots.shrink((slots.capacity() - slots.len() as u64).saturating_sub(free));
    }

    /// Takes over what a past has left. The cache is empty.
    pub fn define(&mut self, ftl: &mut Ftl, tenant: TenantId, left: &Left<'_>) {
        let (now, before) = (EPOCH_BEFORE + 1, EPOCH_BEFORE);
        self.epochs[tenant] = now;
        self.epoch_ends = left.epoch_ends;
        let mark = |this: bool| Mark::Written(if this { now } else { before }).write();
        for &lpn in left.written {
            let entry = ftl.entry(tenant, lpn);
            ftl.set_mark(entry, mark(true));
        }
        let partition = self.partition_of(tenant);
        for page in left.cached {
            if self.partitions[partition].slots.is_full() {
                break;
            }
            let entry = ftl.entry(tenant, page.lpn);
            ftl.set_mark(entry, mark(page.this_epoch));
            let state = if page.dirty { SlotState::Dirty } else { SlotState::Clean };
            let slot = Slot::new(entry, tenant, page.lpn, page.sectors, Nanos::ZERO);
            self.insert_slot(ftl, tenant, Slot { state, ..slot });
        }
        self.partitions[partition].slots.shrink(left.others);
    }
}
