//! Making the drive: from a configuration and its tenants to a [`Core`] in which nothing has
//! happened.

use super::switches::Switches;
use super::{Core, DRAM, FIRST_BELL, LINK_DOWN, LINK_UP, SATA_IN, SATA_OUT};
use crate::ageing::Ageing;
use crate::data_cache::DataCache;
use crate::dram::DramChannel;
use crate::energy::Meter;
use crate::event::{EventQueue, ServerId};
use crate::flash::FlashArray;
use crate::host::{HostQueue, SataAdapter, TenantSpace, queue_count};
use crate::pipe::Pipe;
use crate::stats::Stats;
use crate::timing::{DramTiming, FlashTiming, LinkTiming};
use crate::tx::{NIL, Slab};
use crate::vocabulary::{Observe, SimError, Tenant};
use ssdtune_ftl::{Ftl, TenantSpec};
use ssdtune_model::config::{HostInterface, Priority, Scheduler, Sharing};
use ssdtune_model::{DeviceConfig, Geometry, Nanos};
use std::collections::VecDeque;

impl Core {
    /// An empty drive.
    pub fn new(
        config: &DeviceConfig,
        tenants: &[Tenant],
        observe: Observe,
    ) -> Result<Self, SimError> {
        let geometry = config.geometry();
        let first_channel = first_channel(config, tenants.len(), &geometry)?;
        let ftl = make_ftl(config, tenants)?;
        let page_sectors = geometry.sectors_per_page();
        let partitions = if config.cache.sharing == Sharing::Shared { 1 } else { tenants.len() };
        let cache_pages =
            config.cache.capacity.0 / u64::from(geometry.page_bytes) / partitions as u64;
        let by_priority = config.bus.scheduler == Scheduler::PriorityOutOfOrder;
        let priority = |of: Priority| if by_priority { of as u8 } else { 0 };
        let ageing = Ageing::new(config);
        let switches = Switches::new(config, ageing.is_some());
        let busy_dies_take_commands = switches.busy_dies_take_commands();
        Ok(Self {
            events: EventQueue::default(),
            link: LinkTiming::new(config),
            dram_timing: DramTiming::new(config),
            timing: FlashTiming::new(config),
            down: Pipe::new(ServerId(LINK_DOWN)),
            up: Pipe::new(ServerId(LINK_UP)),
            dram: DramChannel::new(partitions),
            dram_server: ServerId(DRAM),
            sata: sata_adapter(config),
            queues: host_queues(config, tenants.len()),
            inboxes: Vec::new(),
            sources_known: false,
            horizon: Nanos::MAX,
            reqs: Slab::new(),
            txs: Slab::new(),
            jobs: Slab::new(),
            flash: FlashArray::new(config, &geometry, first_channel, busy_dies_take_commands),
            layout: ftl.layout(),
            tenants: tenant_spaces(&ftl, tenants.len(), page_sectors, config),
            ftl,
            caches: (0..partitions).map(|_| DataCache::new(cache_pages)).collect(),
            ghosts: vec![NIL; partitions],
            pressure: vec![0; partitions],
            // One page for each plane may be on its way to flash.
            pressure_limit: (geometry.planes() * u64::from(page_sectors)) as u32,
            blocked_writes: vec![VecDeque::new(); partitions],
            epochs: vec![1; tenants.len()],
            epoch_ends: Nanos::ZERO,
            held: vec![VecDeque::new(); geometry.planes() as usize],
            last_flush: vec![NIL; tenants.len()],
            cache_modes: tenants.iter().map(|tenant| tenant.cache).collect(),
            priority: tenants.iter().map(|tenant| priority(tenant.priority)).collect(),
            priorities: if by_priority { 4 } else { 1 },
            internal_priority: priority(Priority::High),
            switches,
            ageing,
            page_sectors,
            page_shift: page_sectors.is_power_of_two().then(|| page_sectors.trailing_zeros()),
            staged: Vec::new(),
            touched: Vec::new(),
            scheduling_deferred: 0,
            victim_pages: Vec::new(),
            spare_lists: Vec::new(),
            stats: Stats::new(tenants.len(), observe.exact_percentiles),
            energy: Meter::new(config),
            completions: observe.completions.then(Vec::new),
            first_channel,
            first_die: first_channel + geometry.channels,
        })
    }
}

/// The number of the server that is the first channel. All others are counted as well, so that none
/// of them exceeds what the event queue can name.
fn first_channel(
    config: &DeviceConfig,
    tenants: usize,
    geometry: &Geometry,
) -> Result<u32, SimError> {
    let first_channel = FIRST_BELL + queue_count(config.host.interface, tenants) as u32;
    let servers = u64::from(geometry.channels) + geometry.dies();
    let limit = ServerId::LIMIT.saturating_sub(first_channel);
    if servers > u64::from(limit) {
        return Err(SimError::TooManyServers { servers, limit });
    }
    Ok(first_channel)
}

fn make_ftl(config: &DeviceConfig, tenants: &[Tenant]) -> Result<Ftl, SimError> {
    let specs: Vec<TenantSpec> = (tenants.iter())
        .map(|tenant| TenantSpec { places: tenant.places.clone(), writer: tenant.writer })
        .collect();
    Ok(Ftl::new(config, &specs)?)
}

fn sata_adapter(config: &DeviceConfig) -> Option<SataAdapter> {
    (config.host.interface == HostInterface::Sata).then(|| SataAdapter {
        delay: config.host.sata_processing_delay,
        submit: Pipe::new(ServerId(SATA_IN)),
        complete: Pipe::new(ServerId(SATA_OUT)),
    })
}

fn host_queues(config: &DeviceConfig, tenants: usize) -> Vec<HostQueue> {
    let fetch_limit = match config.host.interface {
        HostInterface::Nvme => config.host.queue_fetch_size,
        HostInterface::Sata => u32::MAX,
    };
    let queues = queue_count(config.host.interface, tenants);
    (0..queues).map(|_| HostQueue::new(config.host.queue_depth, fetch_limit)).collect()
}

/// Where the address space of each tenant lies in the drive's.
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
