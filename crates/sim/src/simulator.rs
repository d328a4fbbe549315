//! The drive and its event loop.

use crate::ageing::Ageing;
use crate::cache::{DataCache, Mark, read_mark};
use crate::collect::Job;
use crate::energy::Meter;
use crate::event::{EventQueue, ServerId};
use crate::flash::FlashArray;
use crate::host::{HostQueue, SataAdapter, TenantSpace, queue_count};
use crate::pipe::Pipe;
use crate::stats::Stats;
use crate::timing::{DramTiming, FlashTiming, LinkTiming};
use crate::tx::{Class, NIL, Purpose, Req, Slab, Tx};
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{Ftl, FtlError, Layout, Places, TenantSpec};
use ssdtune_model::config::{
    CacheMode, HostInterface, Priority, Scheduler, Sharing, Suspension, SuspensionSupport,
};
use ssdtune_model::{DeviceConfig, Nanos, PlaneId, Sectors};
use ssdtune_trace::{Op, Request};
use std::collections::VecDeque;

/// Streams of arrivals a drive can have.
pub(crate) const STREAMS_MAX: u32 = 64;

/// How many requests ahead the places of page-table entries are asked for, the entries, and what stands in
/// them. A line takes about 100 ns to come, a request about 400.
const LEAVES_AHEAD: usize = 10;
const ENTRIES_AHEAD: usize = 6;
const PLACES_AHEAD: usize = 2;

/// A tenant of the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The places it may use.
    pub places: Places,
    /// What the data cache does for it.
    pub cache: CacheMode,
    /// Its priority class.
    pub priority: Priority,
    /// It mostly writes (hybrid allocation).
    pub writer: bool,
}

impl Tenant {
    /// The only tenant of a drive.
    pub fn sole(config: &DeviceConfig) -> Self {
        Self {
            places: Places::all(&config.geometry()),
            cache: config.cache.mode,
            priority: Priority::High,
            writer: false,
        }
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Number of the request in its stream, from 0.
    pub number: u64,
    /// Whose it was.
    pub tenant: u16,
    /// What it asked for.
    pub op: Op,
    /// First sector, in the tenant's space.
    pub lba: Sectors,
    /// Length in sectors.
    pub sectors: u32,
    /// When it reached the host's driver.
    pub arrived: Nanos,
    /// When it entered the submission queue.
    pub enqueued: Nanos,
    /// When the host saw its completion.
    pub completed: Nanos,
}

/// Towards the drive.
#[derive(Serialize, Deserialize)]
pub(crate) enum Down {
    Doorbell(u16),
    Entry(u16),
    Data(u32),
}

/// Towards the host.
#[derive(Serialize, Deserialize)]
pub(crate) enum Up {
    Fetch(u16),
    FetchData(u32),
    Completion(u32, u64),
}

/// What the DRAM channel does.
#[derive(Serialize, Deserialize)]
pub(crate) enum Dram {
    /// Sectors of a request, read or written.
    Request(u32, u32),
    /// Pages on their way out of the cache.
    Evictions(Vec<u32>),
    /// A page on its way in.
    Fill,
}

/// The DRAM channel: one access at a time, in order of arrival, tenants in turn where they do not share.
#[derive(Serialize, Deserialize)]
pub(crate) struct DramChannel {
    queues: Vec<VecDeque<(Nanos, Dram)>>,
    current: Option<Dram>,
    turn: usize,
}

/// How a run is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Keep every latency, so that percentiles are exact.
    pub exact_percentiles: bool,
    /// Keep completions for [`crate::Simulator::take_completions`].
    pub completions: bool,
}

/// A stream of requests as the drive sees it: what was handed over and has not arrived.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inbox {
    pub requests: VecDeque<Request>,
    /// `None`: each request says.
    pub tenant: Option<u16>,
    /// Requests outstanding at once; `None` replays arrival times.
    pub depth: Option<u32>,
    pub number: u64,
    pub last_at: Nanos,
    pub pending: bool,
}

pub(crate) struct Core {
    pub(crate) events: EventQueue,
    pub(crate) link: LinkTiming,
    pub(crate) dram_timing: DramTiming,
    pub(crate) timing: FlashTiming,
    pub(crate) down: Pipe<Down>,
    pub(crate) up: Pipe<Up>,
    pub(crate) dram: DramChannel,
    pub(crate) dram_server: ServerId,
    pub(crate) sata: Option<SataAdapter>,
    pub(crate) queues: Vec<HostQueue>,
    pub(crate) inboxes: Vec<Inbox>,
    /// Nothing after this time may happen before the caller says so.
    pub(crate) horizon: Nanos,
    /// No request will come that is not in an inbox with its stream's next one behind it.
    pub(crate) sources_known: bool,
    pub(crate) reqs: Slab<Req>,
    pub(crate) txs: Slab<Tx>,
    pub(crate) jobs: Slab<Job>,
    pub(crate) flash: FlashArray,
    pub(crate) ftl: Ftl,
    pub(crate) layout: Layout,
    pub(crate) caches: Vec<DataCache>,
    /// Slot of the page without an owner, per cache (see `compat.read_fill_by_flash_owner`).
    pub(crate) ghosts: Vec<u32>,
    pub(crate) pressure: Vec<u32>,
    pub(crate) pressure_limit: u32,
    pub(crate) blocked_writes: Vec<VecDeque<u32>>,
    pub(crate) epochs: Vec<u32>,
    pub(crate) epoch_ends: Nanos,
    /// Host writes that wait until their plane has been collected.
    pub(crate) held: Vec<VecDeque<u32>>,
    pub(crate) last_flush: Vec<u32>,
    pub(crate) tenants: Vec<TenantSpace>,
    pub(crate) modes: Vec<CacheMode>,
    pub(crate) priority: Vec<u8>,
    pub(crate) priorities: u8,
    pub(crate) internal_priority: u8,
    pub(crate) scheduler: Scheduler,
    pub(crate) suspension: SuspensionSupport,
    pub(crate) suspend_rules: Suspension,
    pub(crate) ageing: Option<Ageing>,
    /// Array times depend on more than the page type.
    pub(crate) times_vary: bool,
    pub(crate) cache_read: bool,
    pub(crate) cache_program: bool,
    pub(crate) preemptible: bool,
    pub(crate) copyback: bool,
    pub(crate) collect_when_full_only: bool,
    pub(crate) free_mapping_writes: bool,
    pub(crate) read_allocates: bool,
    pub(crate) read_fill_dirty: bool,
    pub(crate) fill_by_flash_owner: bool,
    pub(crate) destage_forgets_all: bool,
    pub(crate) destage_drops_sectors: bool,
    pub(crate) evict_to_evictor: bool,
    pub(crate) single_plane_erases: bool,
    pub(crate) wrap_request_size: bool,
    pub(crate) any_dynamic: bool,
    pub(crate) page_sectors: u32,
    pub(crate) page_shift: Option<u32>,
    /// Transactions to be queued when scheduling opens.
    pub(crate) staged: Vec<u32>,
    pub(crate) touched: Vec<u32>,
    pub(crate) open: u32,
    pub(crate) victim_pages: Vec<ssdtune_ftl::Phys>,
    pub(crate) lists: Vec<Vec<u32>>,
    pub(crate) stats: Stats,
    pub(crate) energy: Meter,
    pub(crate) completions: Option<Vec<Completion>>,
    pub(crate) first_channel: u32,
    pub(crate) first_die: u32,
}

/// Servers before the channels: streams, SATA in and out, link down and up, DRAM, the bells of the queues.
const SATA_IN: u32 = STREAMS_MAX;
const SATA_OUT: u32 = STREAMS_MAX + 1;
const LINK_DOWN: u32 = STREAMS_MAX + 2;
const LINK_UP: u32 = STREAMS_MAX + 3;
const DRAM: u32 = STREAMS_MAX + 4;
pub(crate) const FIRST_BELL: u32 = STREAMS_MAX + 5;

/// A drive that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The FTL refuses it.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// More channels and dies than the event queue can name.
    #[error("the drive has {servers} channels and dies, {limit} is the limit")]
    TooManyServers {
        /// Channels and dies it has.
        servers: u64,
        /// How many can be had.
        limit: u32,
    },
}

impl Core {
    pub fn new(
        config: &DeviceConfig,
        tenants: &[Tenant],
        observe: Observe,
    ) -> Result<Self, SimError> {
        let geometry = config.geometry();
        let queues = queue_count(config.host.interface, tenants.len());
        let servers = u64::from(geometry.channels) + geometry.dies();
        let first_channel = FIRST_BELL + queues as u32;
        let limit = ServerId::LIMIT.saturating_sub(first_channel);
        if servers > u64::from(limit) {
            return Err(SimError::TooManyServers { servers, limit });
        }
        let is_sata = config.host.interface == HostInterface::Sata;
        let specs: Vec<TenantSpec> = (tenants.iter())
            .map(|t| TenantSpec { places: t.places.clone(), writer: t.writer })
            .collect();
        let ftl = Ftl::new(config, &specs)?;
        let page_sectors = geometry.sectors_per_page();
        let spaces = tenant_spaces(&ftl, tenants.len(), page_sectors, config);
        let partitions = if config.cache.sharing == Sharing::Shared { 1 } else { tenants.len() };
        let cache_pages =
            config.cache.capacity.0 / u64::from(geometry.page_bytes) / partitions as u64;
        let by_priority = config.bus.scheduler == Scheduler::PriorityOutOfOrder;
        let queue = || {
            HostQueue::new(
                config.host.queue_depth,
                if is_sata { u32::MAX } else { config.host.queue_fetch_size },
            )
        };
        let suspension = if config.compat.chip_idle_batches {
            SuspensionSupport::None
        } else {
            config.suspension.support
        };
        // Cache commands are those of single dies, as suspension is; copyback needs the registers.
        let single_dies = !config.compat.chip_idle_batches;
        let cache_read = config.flash.cache_read && single_dies && !config.gc.copyback;
        let cache_program = config.flash.cache_program && single_dies;
        let ageing = Ageing::new(config);
        let suspends = suspension != SuspensionSupport::None || cache_program;
        Ok(Self {
            events: EventQueue::default(),
            link: LinkTiming::new(config),
            dram_timing: DramTiming::new(config),
            timing: FlashTiming::new(config),
            down: Pipe::new(ServerId(LINK_DOWN)),
            up: Pipe::new(ServerId(LINK_UP)),
            dram: DramChannel {
                queues: (0..partitions).map(|_| VecDeque::new()).collect(),
                current: None,
                turn: 0,
            },
            dram_server: ServerId(DRAM),
            sata: is_sata.then(|| SataAdapter {
                delay: config.host.sata_processing_delay,
                submit: Pipe::new(ServerId(SATA_IN)),
                complete: Pipe::new(ServerId(SATA_OUT)),
            }),
            queues: (0..queues).map(|_| queue()).collect(),
            inboxes: Vec::new(),
            sources_known: false,
            horizon: Nanos::MAX,
            reqs: Slab::new(),
            txs: Slab::new(),
            jobs: Slab::new(),
            flash: FlashArray::new(config, &geometry, first_channel, suspends),
            layout: ftl.layout(),
            ftl,
            caches: (0..partitions).map(|_| DataCache::new(cache_pages)).collect(),
            ghosts: vec![NIL; partitions],
            pressure: vec![0; partitions],
            // One page for each plane may be on its way to flash.
            pressure_limit: (geometry.planes() * u64::from(page_sectors)) as u32,
            blocked_writes: (0..partitions).map(|_| VecDeque::new()).collect(),
            epochs: vec![1; tenants.len()],
            epoch_ends: Nanos::ZERO,
            held: (0..geometry.planes()).map(|_| VecDeque::new()).collect(),
            last_flush: vec![NIL; tenants.len()],
            tenants: spaces,
            modes: tenants.iter().map(|t| t.cache).collect(),
            priority: (tenants.iter())
                .map(|t| if by_priority { t.priority as u8 } else { 0 })
                .collect(),
            priorities: if by_priority { 4 } else { 1 },
            internal_priority: if by_priority { Priority::High as u8 } else { 0 },
            scheduler: config.bus.scheduler,
            suspension,
            suspend_rules: config.suspension.clone(),
            times_vary: ageing.is_some() || cache_read,
            ageing,
            cache_read,
            cache_program,
            preemptible: config.gc.preemptible,
            copyback: config.gc.copyback,
            collect_when_full_only: config.compat.gc_reserve_ten,
            free_mapping_writes: config.compat.free_mapping_writes,
            read_allocates: config.compat.read_allocates,
            read_fill_dirty: config.compat.read_fill_dirty,
            fill_by_flash_owner: config.compat.read_fill_by_flash_owner,
            destage_forgets_all: config.compat.destage_forgets_all,
            destage_drops_sectors: config.compat.destage_drops_sectors,
            evict_to_evictor: config.compat.evict_to_evictor,
            single_plane_erases: config.compat.single_plane_erases,
            wrap_request_size: config.compat.wrap_request_size,
            any_dynamic: config.mapping.allocation != ssdtune_model::config::Allocation::Static,
            page_sectors,
            page_shift: page_sectors.is_power_of_two().then(|| page_sectors.trailing_zeros()),
            staged: Vec::new(),
            touched: Vec::new(),
            open: 0,
            victim_pages: Vec::new(),
            lists: Vec::new(),
            stats: Stats::new(tenants.len(), observe.exact_percentiles),
            energy: Meter::new(config),
            completions: observe.completions.then(Vec::new),
            first_channel,
            first_die: first_channel + geometry.channels,
        })
    }

    #[inline]
    pub fn now(&self) -> Nanos {
        self.events.now()
    }

    /// Takes the next event; `false` if there is none.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(server) = self.events.pop() else { return false };
        match server.0 {
            id if id >= self.first_die => self.die_event(id - self.first_die),
            id if id >= self.first_channel => {
                self.channel_event((id - self.first_channel) as usize);
            }
            LINK_DOWN => self.down_event(),
            LINK_UP => self.up_event(),
            DRAM => self.dram_event(),
            SATA_IN => self.sata_in(),
            SATA_OUT => self.sata_out(),
            id if id >= FIRST_BELL => self.bell((id - FIRST_BELL) as usize),
            stream => self.arrival_event(stream as usize),
        }
        true
    }

    fn down_event(&mut self) {
        let Some(message) = self.down.take() else { return };
        match message {
            Down::Doorbell(queue) => self.doorbell(queue.into()),
            Down::Entry(queue) => self.entry_arrived(queue.into()),
            Down::Data(req) => self.data_fetched(req),
        }
        self.down.start_next(&mut self.events);
    }

    fn up_event(&mut self) {
        let Some(message) = self.up.take() else { return };
        match message {
            Up::Fetch(queue) => {
                self.down.send(&mut self.events, self.link.submission_entry, Down::Entry(queue));
            }
            Up::FetchData(req) => {
                let takes = self.link.data(self.reqs[req].sectors);
                self.down.send(&mut self.events, takes, Down::Data(req));
            }
            Up::Completion(req, fetched) => {
                if self.sata.is_some() {
                    self.sata_completion(req, fetched);
                } else {
                    let queue = self.reqs[req].tenant as usize;
                    self.completed(queue, req, fetched);
                }
            }
        }
        self.up.start_next(&mut self.events);
    }

    fn sata_in(&mut self) {
        let Some(sata) = &mut self.sata else { return };
        let Some(req) = sata.submit.take() else { return };
        self.submit(0, req);
        if let Some(sata) = &mut self.sata {
            sata.submit.start_next(&mut self.events);
        }
    }

    fn sata_out(&mut self) {
        let Some(sata) = &mut self.sata else { return };
        let Some((req, fetched)) = sata.complete.take() else { return };
        self.completed(0, req, fetched);
        if let Some(sata) = &mut self.sata {
            sata.complete.start_next(&mut self.events);
        }
    }

    pub(crate) fn dram_access(&mut self, tenant: u16, sectors: u32, access: Dram) {
        let takes = self.dram_timing.sectors(sectors);
        self.stats.dram_busy += takes;
        let now = self.events.now();
        let writes = match access {
            Dram::Request(req, _) => self.reqs[req].op == Op::Write,
            Dram::Evictions(_) => false,
            Dram::Fill => true,
        };
        let rows = self.dram_timing.rows(sectors);
        self.energy.dram_works(now, writes, sectors, rows);
        if self.stats.has_several() {
            self.stats.own[usize::from(tenant)].energy.dram_works(writes, sectors, rows);
        }
        let queue = if self.dram.queues.len() == 1 { 0 } else { tenant as usize };
        if self.dram.current.is_some() {
            self.dram.queues[queue].push_back((takes, access));
        } else {
            self.dram.current = Some(access);
            self.dram.turn = queue;
            self.events.push(now + takes, self.dram_server);
        }
    }

    fn dram_event(&mut self) {
        let current = self.dram.current.take();
        // Whatever this causes waits its turn: the channel is still taken.
        self.dram.current = Some(Dram::Fill);
        match current {
            Some(Dram::Request(req, sectors)) => {
                self.reqs[req].waits_dram -= sectors;
                self.check_done(req);
            }
            Some(Dram::Evictions(list)) => self.dispatch(list),
            Some(Dram::Fill) | None => {}
        }
        self.dram.current = None;
        let queues = self.dram.queues.len();
        for _ in 0..queues {
            self.dram.turn = if self.dram.turn + 1 < queues { self.dram.turn + 1 } else { 0 };
            if let Some((takes, access)) = self.dram.queues[self.dram.turn].pop_front() {
                self.dram.current = Some(access);
                self.events.push(self.events.now() + takes, self.dram_server);
                break;
            }
        }
    }

    fn arrival_event(&mut self, stream: usize) {
        if self.inboxes[stream].depth.is_some() {
            let tenant = self.inboxes[stream].tenant.unwrap_or(0).into();
            for _ in 0..self.inboxes[stream].depth.unwrap_or(0) {
                self.next_in_closed_loop(tenant);
            }
            return;
        }
        let inbox = &mut self.inboxes[stream];
        let Some(request) = inbox.requests.pop_front() else { return };
        inbox.pending = false;
        inbox.last_at = request.at;
        let number = inbox.number;
        inbox.number += 1;
        let tenant = inbox.tenant.unwrap_or(request.tenant.0) as usize;
        self.stats.first_arrival.get_or_insert(self.events.now());
        // The next arrival is registered behind what this one causes at once, so it is looked up here.
        let mut alone_until = self.events.next_at().unwrap_or(Nanos::MAX);
        match self.inboxes[stream].requests.front() {
            Some(next) => alone_until = alone_until.min(next.at).min(self.horizon),
            None => alone_until = Nanos::ZERO,
        }
        if !self.sources_known {
            alone_until = Nanos::ZERO;
        }
        self.prefetch(stream);
        let tenant = tenant.min(self.tenants.len() - 1);
        self.arrive(stream, tenant, &request, number, alone_until);
        self.await_arrival(stream);
    }

    /// Asks for the cache lines that the next requests of a stream will touch: what is known of their first
    /// pages, and then, for writes, what they overwrite.
    #[inline]
    fn prefetch(&self, stream: usize) {
        let inbox = &self.inboxes[stream];
        let first_page = |request: &Request| {
            let tenant = usize::from(inbox.tenant.unwrap_or(request.tenant.0));
            let tenant = tenant.min(self.tenants.len() - 1);
            (tenant, self.page_of(self.tenants[tenant].inside(request.lba).0))
        };
        if let Some(request) = inbox.requests.get(LEAVES_AHEAD) {
            let (tenant, lpn) = first_page(request);
            self.ftl.prefetch_directory(tenant, lpn);
        }
        if let Some(request) = inbox.requests.get(ENTRIES_AHEAD) {
            let (tenant, lpn) = first_page(request);
            self.ftl.prefetch_entry(tenant, lpn);
        }
        if let Some(request) = inbox.requests.get(PLACES_AHEAD)
            && request.op == Op::Write
        {
            let (tenant, lpn) = first_page(request);
            if let Some(entry) = self.ftl.existing_entry(tenant, lpn) {
                self.ftl.prefetch_old_page(entry);
                if let Mark::Slot(slot) = read_mark(self.ftl.mark(entry)) {
                    self.caches[self.cache_of(tenant as u16)].prefetch_slot(slot);
                }
            }
        }
    }

    /// Registers the arrival of a stream's next request, if it is known.
    pub(crate) fn await_arrival(&mut self, stream: usize) {
        let now = self.events.now();
        let inbox = &mut self.inboxes[stream];
        if inbox.pending || inbox.depth.is_some() {
            return;
        }
        if let Some(request) = inbox.requests.front() {
            inbox.pending = true;
            let (at, caused) = (request.at.max(now), inbox.last_at.min(now));
            self.events.push_beside(at, caused, ServerId(stream as u32));
        }
    }

    /// A closed loop submits one request for each that was completed.
    pub(crate) fn next_in_closed_loop(&mut self, tenant: usize) {
        // A stream that has ended leaves its inbox behind; another of the tenant may still have requests.
        let own = |inbox: &Inbox| {
            inbox.depth.is_some()
                && inbox.tenant == Some(tenant as u16)
                && !inbox.requests.is_empty()
        };
        let Some(stream) = self.inboxes.iter().position(own) else { return };
        let inbox = &mut self.inboxes[stream];
        let Some(request) = inbox.requests.pop_front() else { return };
        let number = inbox.number;
        inbox.number += 1;
        self.stats.first_arrival.get_or_insert(self.events.now());
        self.prefetch(stream);
        self.arrive(stream, tenant, &request, number, Nanos::ZERO);
    }

    /// A page read has left its die.
    // Always: the second caller is rare, and the first one's is the hottest path there is.
    #[inline(always)]
    pub(crate) fn read_done(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (purpose, link, request, what) =
            (record.purpose, record.link, record.request, record.what);
        match purpose {
            Purpose::Request => {
                let tenant = record.tenant as usize;
                if matches!(self.modes[tenant], CacheMode::Read | CacheMode::ReadWrite) {
                    self.fill(tx);
                }
                self.drop_tx(tx);
                self.part_done(request);
            }
            Purpose::Merge => {
                self.txs[link].blocked = false;
                self.drop_tx(tx);
                self.unblocked(link);
            }
            Purpose::MappingLoad | Purpose::MappingMerge => {
                self.drop_tx(tx);
                if link != NIL {
                    self.txs[link].blocked = false;
                    self.unblocked(link);
                }
                self.mapping_read_done(what);
            }
            Purpose::Move => self.move_read(tx),
            Purpose::Destage | Purpose::MappingStore | Purpose::Erase => {
                debug_assert!(false, "{purpose:?} is no read");
            }
        }
    }

    /// A transaction may be issued now: its channel is tried unless it is about to be anyway.
    fn unblocked(&mut self, tx: u32) {
        let channel = self.flash.units[self.txs[tx].unit as usize].channel;
        self.try_channel(channel);
    }

    /// A program or an erase has ended.
    pub(crate) fn array_done(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (class, purpose, request, phys) =
            (record.class, record.purpose, record.request, record.phys);
        match class {
            Class::Erase => self.erased(tx),
            Class::GcWrite => self.move_written(tx),
            Class::MappingWrite => {
                let page = record.what;
                self.drop_tx(tx);
                self.ftl.mapping_written(page, phys);
                self.after_program(phys);
            }
            _ => {
                let flush = record.flush;
                let through = purpose == Purpose::Request && request != NIL;
                if through {
                    self.part_done(request);
                } else {
                    self.destaged(tx);
                }
                self.ftl.program_done(phys);
                self.drop_tx(tx);
                if flush != NIL {
                    self.flush_part_done(flush);
                }
                self.after_program(phys);
            }
        }
    }

    /// A block that could not be collected while it was being programmed may be a victim now.
    pub(crate) fn after_program(&mut self, phys: ssdtune_ftl::Phys) {
        let plane = self.layout.plane(phys);
        if !self.held[plane.index()].is_empty() {
            self.collect_for_held(plane);
        }
    }

    pub(crate) fn drop_tx(&mut self, tx: u32) {
        self.txs[tx].live = false;
        self.txs.remove(tx);
    }

    pub(crate) fn take_list(&mut self) -> Vec<u32> {
        self.lists.pop().unwrap_or_default()
    }

    pub(crate) fn give_list(&mut self, mut list: Vec<u32>) {
        list.clear();
        self.lists.push(list);
    }

    pub(crate) fn record(&mut self, req: u32) {
        let now = self.events.now();
        let record = &self.reqs[req];
        self.stats.complete(record, now);
        if let Some(completions) = &mut self.completions {
            completions.push(Completion {
                number: record.number,
                tenant: record.tenant,
                op: record.op,
                lba: record.lba,
                sectors: record.sectors,
                arrived: record.arrived,
                enqueued: record.enqueued,
                completed: now,
            });
        }
    }

    /// Nothing more will happen: a plane that holds writes collects if it can after all. Whether anything
    /// will happen then.
    pub(crate) fn collect_starved(&mut self) -> bool {
        for plane in 0..self.held.len() {
            if !self.held[plane].is_empty() {
                self.collect(PlaneId(plane as u32));
            }
        }
        self.events.next_at().is_some()
    }

    /// Planes whose host writes wait for free blocks.
    pub(crate) fn starved_planes(&self) -> impl Iterator<Item = PlaneId> + '_ {
        (self.held.iter().enumerate())
            .filter(|(_, held)| !held.is_empty())
            .map(|(plane, _)| PlaneId(plane as u32))
    }
}

fn tenant_spaces(
    ftl: &Ftl,
    tenants: usize,
    page_sectors: u32,
    config: &DeviceConfig,
) -> Vec<TenantSpace> {
    let mut start = 0;
    (0..tenants)
        .map(|tenant| {
            let space = TenantSpace { sectors: ftl.tenant_sectors(tenant), start };
            start += space.sectors;
            if !config.compat.unaligned_tenants {
                start = start.next_multiple_of(page_sectors.into());
            }
            space
        })
        .collect()
}
