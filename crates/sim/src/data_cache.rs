//! What the drive does with a host request: it cuts the request into pages, serves what the data
//! cache has, sends the rest to the back end, and writes what leaves the cache.
//!
//! The mark in a page-table entry is one of three: nothing; the slot that holds the page; or the
//! epoch in which the page was last written. A page that is written for the first time in an epoch
//! goes to flash at once, since most such pages are cold. A page that is written again in the same
//! epoch stays in the cache until it is pushed out. An epoch ends with the first write after each
//! second of simulated time, tenant by tenant.
//!
//! With a write buffer (`cache.write_buffer_bytes`) every written page goes to flash at once. What
//! is on its way is safe from power loss, so a flush of the host has nothing to wait for.
//!
//! Back-pressure: only a limited number of sectors may be on their way from the data cache to
//! flash: the write buffer, or as many as MQSim allows. Writes that would exceed it wait.

mod dram;
mod flushes;
mod past;
mod read_ahead;
mod reads;
mod slots;
mod writes;

pub use past::CachedPage;
pub(crate) use past::Left;

use crate::backend::{Backend, pages_to_flash};
use crate::base::Base;
use crate::engine::{Server, Servers};
use crate::host::{self, Host, Spaces};
use crate::id::{PartitionId, RequestId, SlotId, Table, TransactionId};
use crate::stored::Part;
use dram::{Access, DramChannel};
use flushes::Flushes;
use read_ahead::ReadAhead;
use serde::{Deserialize, Serialize};
use slots::{Mark, Slot, Slots};
use ssdtune_ftl::Ftl;
use ssdtune_ftl::placement::{RequestShape, Shape, ShapeTracker};
use ssdtune_model::config::{CacheMode, Scheduler, Sharing};
use ssdtune_model::{DeviceConfig, Lpn, Nanos, Sectors};
use ssdtune_trace::{Op, TenantId};
use std::collections::VecDeque;

use crate::vocabulary::Tenant;

/// The epoch before that in which a drive with a past begins.
const EPOCH_BEFORE: u32 = 1;

/// What of the configuration steers the data cache.
#[derive(Clone, Default)]
struct Rules {
    /// For each tenant, what the data cache does for it.
    modes: Table<TenantId, CacheMode>,
    /// For each tenant, the priority of its transactions; 0 is served first.
    priorities: Table<TenantId, u8>,
    /// From this many sectors on their way to flash on, writes wait.
    pressure_limit: u32,
    /// Written pages are safe in a write buffer, and go to flash at once.
    is_buffer: bool,
    /// MQSim: pages that were read enter the data cache as dirty ones, and are charged twice.
    read_fill_dirty: bool,
    /// MQSim: a page read while it is still being programmed enters the data cache without an
    /// owner.
    fill_by_flash_owner: bool,
    /// MQSim: when the data cache forgets which pages it has written, it forgets the present write,
    /// too.
    destage_forgets_all: bool,
    /// MQSim: a cached page that is written back carries only the sectors of its last write.
    destage_drops_sectors: bool,
    /// MQSim: a page pushed out of the data cache is written for the tenant that pushed it out.
    evict_to_evictor: bool,
}

impl Rules {
    fn new(config: &DeviceConfig, tenants: &[Tenant]) -> Self {
        let by_priority = config.bus.scheduler == Scheduler::PriorityOutOfOrder;
        let priority = |tenant: &Tenant| if by_priority { tenant.priority as u8 } else { 0 };
        let page_sectors = u64::from(config.geometry().sectors_per_page());
        Self {
            modes: tenants.iter().map(|tenant| tenant.cache).collect(),
            priorities: tenants.iter().map(priority).collect(),
            pressure_limit: (pages_to_flash(config, tenants.len()) * page_sectors) as u32,
            is_buffer: config.cache.write_buffer.0 > 0,
            read_fill_dirty: config.compat.read_fill_dirty,
            fill_by_flash_owner: config.compat.read_fill_by_flash_owner,
            destage_forgets_all: config.compat.destage_forgets_all,
            destage_drops_sectors: config.compat.destage_drops_sectors,
            evict_to_evictor: config.compat.evict_to_evictor,
        }
    }
}

/// A part of the data cache: the whole if the tenants share it, else that of one tenant.
#[derive(Clone, Serialize, Deserialize)]
struct Partition {
    slots: Slots,
    /// The slot of the page without an owner (`compat.read_fill_by_flash_owner`).
    ghost: Option<SlotId>,
    /// Sectors that are on their way from it to flash.
    pressure: u32,
    /// Write requests that wait because of `pressure`.
    blocked: VecDeque<(RequestId, Option<RequestShape>)>,
}

/// The data cache, its DRAM, and the flushes that wait for it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct DataCache {
    #[serde(skip)]
    rules: Rules,
    partitions: Table<PartitionId, Partition>,
    /// For each tenant, the number of the present epoch of its cached writes, from 1.
    epochs: Table<TenantId, u32>,
    /// When the present epoch ends at the earliest.
    epoch_ends: Nanos,
    /// The times in nanoseconds at which sectors from the cache were on flash, all added up.
    #[serde(skip)]
    written_at: u128,
    dram: DramChannel,
    flushes: Flushes,
    /// Streams that are read ahead of; `None` if none are.
    ahead: Option<ReadAhead>,
    /// Where write requests ended, if the placement policy looks at their shapes.
    shapes: Option<ShapeTracker>,
}

impl Part for DataCache {
    fn adopt(&mut self, made: Self) {
        self.rules = made.rules;
        self.dram.timing = made.dram.timing;
    }
}

/// What a write request looks like from the page of one of its parts. `before` and `after`: whether
/// it has other parts before and after this one.
#[inline]
pub(crate) fn seen(
    shape: Option<RequestShape>,
    spaces: &Spaces,
    part: &host::Part,
    before: bool,
    after: bool,
) -> Shape {
    let Some(shape) = shape else { return Shape::default() };
    let last = 1 << (spaces.page_sectors() - 1);
    let begins = !before && part.mask & 1 == 0;
    shape.of_page(before, after, begins, !after && part.mask & last == 0)
}

/// Transactions that are dispatched together. Most requests have one page and need no list.
#[derive(Clone, Default)]
enum Batch {
    #[default]
    None,
    One(TransactionId),
    Many(Vec<TransactionId>),
}

impl Batch {
    fn len(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(list) => list.len() as u32,
        }
    }

    #[inline]
    fn push(&mut self, backend: &mut Backend, id: TransactionId) {
        match self {
            Self::None => *self = Self::One(id),
            Self::One(first) => {
                let mut list = backend.take_list();
                list.extend([*first, id]);
                *self = Self::Many(list);
            }
            Self::Many(list) => list.push(id),
        }
    }

    #[inline]
    fn dispatch(self, base: &mut Base, host: &mut Host, backend: &mut Backend) {
        match self {
            Self::None => {}
            Self::One(id) => backend.dispatch_one(base, host, id),
            Self::Many(list) => backend.dispatch(base, host, list),
        }
    }
}

impl DataCache {
    /// An empty cache.
    pub fn new(config: &DeviceConfig, tenants: &[Tenant], servers: &Servers) -> Self {
        let partitions = match config.cache.sharing {
            Sharing::Shared => 1,
            _ => tenants.len(),
        };
        let pages =
            config.cache.capacity.0 / u64::from(config.geometry().page_bytes) / partitions as u64;
        let partition = |_| Partition {
            slots: Slots::new(pages),
            ghost: None,
            pressure: 0,
            blocked: VecDeque::new(),
        };
        Self {
            rules: Rules::new(config, tenants),
            partitions: (0..partitions).map(partition).collect(),
            epochs: tenants.iter().map(|_| 1).collect(),
            epoch_ends: Nanos::ZERO,
            written_at: 0,
            dram: DramChannel::new(config, partitions, servers.number(Server::Dram)),
            flushes: Flushes::new(tenants.len()),
            ahead: ReadAhead::new(config),
            shapes: config.placement.looks_at_shapes().then(ShapeTracker::default),
        }
    }

    /// Whether some tenant's data are cached in one of these ways.
    pub fn has_mode(&self, modes: &[CacheMode]) -> bool {
        self.rules.modes.iter().any(|mode| modes.contains(mode))
    }

    /// Whether what a tenant writes is done when it is in the cache.
    fn holds_writes(&self, tenant: TenantId) -> bool {
        matches!(self.rules.modes[tenant], CacheMode::Write | CacheMode::ReadWrite)
    }

    /// The part of the cache that a tenant uses.
    #[inline]
    fn partition_of(&self, tenant: TenantId) -> PartitionId {
        if self.partitions.len() == 1 { PartitionId(0) } else { PartitionId(tenant.0.into()) }
    }

    /// Asks for the cache lines of what a write overwrites.
    #[inline]
    pub fn prefetch(&self, ftl: &Ftl, tenant: TenantId, lpn: Lpn) {
        if let Some(entry) = ftl.existing_entry(tenant, lpn) {
            ftl.prefetch_old_page(entry);
            if let Mark::Slot(slot) = Mark::read(ftl.mark(entry)) {
                self.partitions[self.partition_of(tenant)].slots.prefetch(slot);
            }
        }
    }

    /// Takes note of a write request, and says what it looks like if the placement policy wants to
    /// know. `lba` is its first sector in its tenant's address space.
    #[inline]
    pub fn shape_of(
        &mut self,
        spaces: &Spaces,
        tenant: TenantId,
        at: Nanos,
        lba: Sectors,
        sectors: u32,
    ) -> Option<RequestShape> {
        let shapes = self.shapes.as_mut()?;
        let pages = spaces.pages_touched(lba, sectors) as u32;
        Some(shapes.request(at, tenant, spaces.page_of(lba.0).0, pages, sectors))
    }

    /// An access to the DRAM has ended.
    pub fn dram_event(&mut self, base: &mut Base, host: &mut Host, backend: &mut Backend) {
        match self.dram.ended() {
            Some(Access::Request(request, sectors)) => host.dram_done(base, request, sectors),
            Some(Access::Evictions(list)) => backend.dispatch(base, host, list),
            Some(Access::Fill) | None => {}
        }
        self.dram.serve_next(base);
    }

    /// Moves sectors of a request between the host's data and the cache.
    fn dram_for_request(&mut self, base: &mut Base, host: &Host, request: RequestId, sectors: u32) {
        let record = &host.requests[request];
        let (tenant, writes) = (record.tenant, record.op == Op::Write);
        let (partition, access) = (self.partition_of(tenant), Access::Request(request, sectors));
        self.dram.access(base, tenant, partition, sectors, writes, access);
    }

    /// Reads pages that leave the cache for flash.
    fn dram_for_evictions(
        &mut self,
        base: &mut Base,
        tenant: TenantId,
        sectors: u32,
        list: Vec<TransactionId>,
    ) {
        let (partition, access) = (self.partition_of(tenant), Access::Evictions(list));
        self.dram.access(base, tenant, partition, sectors, false, access);
    }

    /// Puts a page into the cache, and its slot into the page's entry.
    fn insert_slot(&mut self, ftl: &mut Ftl, tenant: TenantId, mut page: Slot) -> SlotId {
        let (partition, entry) = (self.partition_of(tenant), page.entry);
        page.mark = ftl.mark(entry);
        let slot = self.partitions[partition].slots.insert(page);
        ftl.set_mark(entry, Mark::Slot(slot).write());
        slot
    }

    /// Takes a page out of the cache, and leaves its mark in the page's entry.
    fn remove_slot(&mut self, ftl: &mut Ftl, tenant: TenantId, slot: SlotId) {
        let partition = self.partition_of(tenant);
        let partition = &mut self.partitions[partition];
        let page = &partition.slots[slot];
        if partition.ghost == Some(slot) {
            partition.ghost = None;
        } else {
            ftl.set_mark(page.entry, page.mark);
        }
        partition.slots.remove(slot);
    }

    /// Unmaps every page that a trim covers in full.
    pub fn serve_trim(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
    ) {
        let record = &host.requests[request];
        let tenant = record.tenant;
        let (mut cursor, mut rest) = (record.lba.0, record.sectors);
        while rest > 0 {
            let part = host.spaces.cut(tenant, &mut cursor, &mut rest);
            if part.sectors < host.spaces.page_sectors() {
                continue;
            }
            if self.ahead.is_some() {
                self.forget_coming(base, host, tenant, part.lpn);
            }
            let ftl = &mut backend.ftl;
            let Some(entry) = ftl.find(tenant, part.lpn) else { continue };
            if let Mark::Slot(slot) = Mark::read(ftl.mark(entry)) {
                self.remove_slot(ftl, tenant, slot);
                ftl.set_mark(entry, Mark::Nothing.write());
            }
            if let Some(plane) = ftl.trim(tenant, part.lpn) {
                backend.after_trim(base, plane);
            }
        }
        host.done(base, request);
    }

    /// Transactions that wait for the DRAM before they go to the back end.
    pub fn transactions(&self) -> usize {
        self.dram.transactions()
    }

    /// Pages that it holds.
    pub fn pages(&self) -> usize {
        self.partitions.iter().map(|partition| partition.slots.len()).sum()
    }

    /// Asserts that slots are as many as there may be, and that back-pressure has a cause if
    /// anything waits for it to fall.
    pub fn check(&self) {
        for partition in self.partitions.iter() {
            assert_eq!(partition.slots.iter().count(), partition.slots.len(), "a page is lost");
            assert!(partition.blocked.is_empty() || partition.pressure > 0, "nothing to wait for");
        }
    }
}
