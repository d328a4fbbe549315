//! Tiny drives in every combination of settings, full of random reads, writes, trims and flushes:
//! nothing hangs, panics, is lost or comes back twice, and nothing is faster than the link and the
//! flash allow.
//!
//! `SIM_CORNERS_CASE=17` runs one case, `SIM_CORNERS_CASES=5000` more of them. A failing case is
//! run again with ever fewer requests, and the fewest that still fail are printed.

use crate::drives::{self, Mix, WATCH, pick};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_model::config::*;
use ssdtune_model::{Bytes, DeviceConfig, Nanos, Place, Sectors, TenantId};
use ssdtune_sim::{Completion, Outcome, Places, Replay, Report, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

const CASES: u64 = 150;

#[derive(Clone, Debug)]
pub struct Case {
    pub config: DeviceConfig,
    pub tenants: Vec<Tenant>,
    streams: Vec<(Vec<Request>, Replay)>,
}

/// The drive and the requests with this number.
pub fn case(number: u64) -> Case {
    let rng = &mut Pcg64Mcg::seed_from_u64(number ^ 0xc0_4e45);
    let mut config = drives::small();
    config.run.seed = number;
    draw_device(&mut config, rng);
    draw_policies(&mut config, rng);
    draw_dies(&mut config, &mut Pcg64Mcg::seed_from_u64(number ^ 0xd1e5));
    draw_controller(&mut config, &mut Pcg64Mcg::seed_from_u64(number ^ 0xc04e));
    let mut tenants = draw_tenants(&config, rng);
    draw_compat(&mut config, number, rng);
    draw_superblocks(&mut config, &mut tenants, &mut Pcg64Mcg::seed_from_u64(number ^ 0x5b1c));
    draw_nand(&mut config, &mut Pcg64Mcg::seed_from_u64(number ^ 0x9a9d));
    draw_size(&mut config, tenants.len() as u32, rng);
    let slc = &mut Pcg64Mcg::seed_from_u64(number ^ 0x51c);
    draw_slc_cache(&mut config, tenants.len() as u32, slc);
    let streams = draw_streams(&config, tenants.len(), rng);
    let mut case = Case { config, tenants, streams };
    draw_streams_ahead(&mut case, &mut Pcg64Mcg::seed_from_u64(number ^ 0xa4ead));
    case
}

fn draw_device(config: &mut DeviceConfig, rng: &mut Pcg64Mcg) {
    config.host.interface = pick(rng, HostInterface::ALL);
    config.host.queue_depth = pick(rng, &[2, 3, 8, 64]);
    config.host.queue_fetch_size = pick(rng, &[1, 2, 16, 64]);
    config.host.sata_processing_delay = Nanos(pick(rng, &[0, 5_000]));
    config.cache.mode = pick(rng, CacheMode::ALL);
    config.cache.sharing = pick(rng, Sharing::ALL);
    config.bus.channels = rng.random_range(1..=3);
    config.bus.chips_per_channel = rng.random_range(1..=2);
    config.bus.scheduler = pick(rng, Scheduler::ALL);
    config.flash.dies_per_chip = rng.random_range(1..=2);
    config.flash.planes_per_die = rng.random_range(1..=2);
    config.flash.page_bytes = pick(rng, &[512, 1536, 4096, 16_384]);
    config.flash.technology = pick(rng, FlashTechnology::ALL);
    config.flash.read_latency = [40_000, 60_000, 80_000, 100_000].map(Nanos);
    config.flash.program_latency = [200_000, 400_000, 800_000, 1_200_000].map(Nanos);
    config.flash.erase_latency = Nanos(pick(rng, &[500_000, 3_800_000]));
    config.suspension.support = pick(rng, SuspensionSupport::ALL);
    for threshold in [
        &mut config.suspension.erase_for_read,
        &mut config.suspension.erase_for_program,
        &mut config.suspension.program_for_read,
        &mut config.suspension.suspend_erase,
        &mut config.suspension.suspend_program,
    ] {
        *threshold = Nanos(pick(rng, &[0, 1, 50_000, 300_000]));
    }
    let page = u64::from(config.flash.page_bytes);
    config.cache.capacity = Bytes(page * rng.random_range(1..40));
}

fn draw_policies(config: &mut DeviceConfig, rng: &mut Pcg64Mcg) {
    config.mapping.ideal = rng.random();
    config.mapping.cmt_capacity = Bytes(rng.random_range(1024..4096));
    config.mapping.cmt_sharing = pick(rng, Sharing::ALL);
    config.mapping.plane_order = pick(rng, PlaneOrder::ALL);
    config.mapping.allocation = pick(rng, Allocation::ALL);
    config.gc.policy = pick(rng, GcPolicy::UNPLACED);
    config.gc.threshold = pick(rng, &[0.02, 0.1, 0.3]);
    config.gc.hard_threshold = pick(rng, &[0.005, 0.05, 0.2]);
    config.gc.preemptible = rng.random();
    config.gc.copyback = rng.random();
    config.wear.dynamic_leveling = rng.random();
    config.wear.static_leveling = rng.random();
    config.wear.static_threshold = rng.random_range(1..8);
}

fn draw_tenants(config: &DeviceConfig, rng: &mut Pcg64Mcg) -> Vec<Tenant> {
    let geometry = config.geometry();
    (0..rng.random_range(1..=4))
        .map(|_| {
            let mut tenant = Tenant::sole(config);
            tenant.cache = if rng.random() { tenant.cache } else { pick(rng, CacheMode::ALL) };
            tenant.priority = pick(rng, Priority::ALL);
            tenant.writer = rng.random();
            if rng.random() {
                let channels = vec![rng.random_range(0..geometry.channels)];
                tenant.places = Places { channels, ..Places::all(&geometry) };
            }
            tenant
        })
        .collect()
}

fn draw_dies(config: &mut DeviceConfig, rng: &mut Pcg64Mcg) {
    config.flash.cache_read = rng.random();
    config.flash.cache_program = rng.random();
    config.flash.cache_busy = Nanos(pick(rng, &[0, 3_000, 100_000]));
    config.ageing.retry_probability = pick(rng, &[0.0, 0.0, 0.3]);
    config.ageing.read_growth_per_1000_cycles = pick(rng, &[0.0, 50.0]);
    config.ageing.program_growth_per_1000_cycles = pick(rng, &[0.0, 50.0]);
}

/// Half the drives that are not MQSim's have superblocks.
fn draw_superblocks(config: &mut DeviceConfig, tenants: &mut [Tenant], rng: &mut Pcg64Mcg) {
    let unit = pick(rng, GcUnit::ALL);
    if config.compat != Compat::default() || rng.random() {
        return;
    }
    config.gc.unit = unit;
    config.gc.paced = rng.random();
    config.gc.single_plane_reads = rng.random();
    config.gc.copyback = false;
    let stripe = u64::from(config.flash.planes_per_die * config.flash.page_bytes);
    config.cache.capacity.0 = config.cache.capacity.0.max(2 * stripe);
    if unit != GcUnit::Block && config.flash.page_bytes >= 4096 && rng.random() {
        config.cache.mode = pick(rng, &[CacheMode::Write, CacheMode::ReadWrite]);
        config.mapping.unit_bytes = config.flash.page_bytes / pick(rng, &[2, 4]);
    }
    if unit == GcUnit::Drive {
        let divides = |dies: &u64| config.geometry().dies().is_multiple_of(*dies);
        let all: Vec<u64> = (1..=config.geometry().dies()).filter(divides).collect();
        config.mapping.stripe_dies = pick(rng, &all) as u32;
        let places = Places::all(&config.flash_geometry());
        tenants.iter_mut().for_each(|tenant| tenant.places = places.clone());
    }
}

/// What chips of this decade can do besides.
fn draw_nand(config: &mut DeviceConfig, rng: &mut Pcg64Mcg) {
    if rng.random() && !config.gc.copyback {
        config.flash.independent_plane_reads = true;
        config.flash.cache_read = false;
    }
    if rng.random() && !config.gc.copyback && config.compat == Compat::default() {
        config.flash.one_shot = true;
        let dies = config.stripes_together();
        let commands = 2 * dies * config.flash.planes_per_die * config.pages_per_program();
        let least = u64::from(commands * config.flash.page_bytes);
        config.cache.capacity.0 = config.cache.capacity.0.max(least);
    }
    if rng.random() {
        let dies = config.stripes_together();
        let commands = 2 * dies * config.flash.planes_per_die * config.pages_per_program();
        let least = u64::from(commands * config.flash.page_bytes);
        config.cache.write_buffer.0 = least * rng.random_range(1..5);
        config.cache.capacity.0 = config.cache.capacity.0.max(config.cache.write_buffer.0);
    }
}

/// Half the drives that may have one get an SLC cache, with the blocks that it needs.
fn draw_slc_cache(config: &mut DeviceConfig, tenants: u32, rng: &mut Pcg64Mcg) {
    let bits = config.flash.technology.page_types().len() as u32;
    let may = config.compat == Compat::default() && !config.gc.copyback;
    if !may || bits == 1 || rng.random() {
        return;
    }
    config.slc_cache.static_blocks = rng.random_range(0..4);
    config.slc_cache.dynamic_above = match pick(rng, &[None, Some(0.0), Some(0.3)]) {
        Some(more) => config.gc.threshold + more,
        None => 1.0,
    };
    config.slc_cache.fold_after = Nanos(pick(rng, &[0, 20_000, 5_000_000]));
    config.slc_cache.program_latency = Nanos(pick(rng, &[100_000, 200_000]));
    let blocks = &mut config.flash.blocks_per_plane;
    let visible = (1.0 - config.mapping.overprovisioning) * f64::from(*blocks);
    *blocks += config.slc_cache.static_blocks + tenants;
    config.mapping.overprovisioning = 1.0 - visible / f64::from(*blocks);
}

/// Half the drives that are not MQSim's read ahead of streams, and half their requests follow each
/// other.
fn draw_streams_ahead(case: &mut Case, rng: &mut Pcg64Mcg) {
    let cache = &mut case.config.cache;
    if case.config.compat != Compat::default() || rng.random() {
        return;
    }
    cache.read_ahead.0 = u64::from(case.config.flash.page_bytes) * rng.random_range(1..6);
    cache.capacity.0 = cache.capacity.0.max(2 * cache.read_ahead.0 * Cache::READ_STREAMS as u64);
    for (requests, _) in &mut case.streams {
        let mut end = None;
        for request in requests.iter_mut().filter(|request| request.op != Op::Flush) {
            if let Some(end) = end
                && rng.random()
            {
                request.lba = end;
            }
            end = Some(request.lba + Sectors(request.sectors.into()));
        }
    }
}

/// Half the controllers take no time at all.
fn draw_controller(config: &mut DeviceConfig, rng: &mut Pcg64Mcg) {
    config.bus.order = pick(rng, BusOrder::ALL);
    config.host.request_time = Nanos(pick(rng, &[0, 0, 5_000]));
    config.host.cores = rng.random_range(1..=3);
    config.host.core_rate = pick(rng, &[0, 0, 300_000]);
    if rng.random() {
        return;
    }
    config.controller.read_time = Nanos(pick(rng, &[0, 5_000]));
    config.controller.write_time = Nanos(pick(rng, &[0, 8_000]));
    config.controller.cores = rng.random_range(1..=3);
    config.controller.core_rate = pick(rng, &[0, 100_000]);
    config.controller.core_times = pick(rng, CommandTimes::ALL);
    config.controller.pipeline_time = Nanos(pick(rng, &[0, 6_000]));
    config.controller.bandwidth_mbs = pick(rng, &[0, 100]);
    config.controller.write_bandwidth_mbs = pick(rng, &[0, 50]);
}

/// Three in four drives are ssdtune's own, some with single switches on. The others behave as
/// MQSim.
fn draw_compat(config: &mut DeviceConfig, number: u64, rng: &mut Pcg64Mcg) {
    match number % 4 {
        0 => config.compat = Compat::MQSIM,
        1 => {
            config.compat.chip_idle_batches = rng.random();
            config.compat.read_allocates = rng.random();
            config.compat.read_fill_dirty = rng.random();
            config.compat.read_fill_by_flash_owner = rng.random();
            config.compat.unaligned_tenants = rng.random();
            config.compat.cmt_private_copies = rng.random();
            config.compat.destage_forgets_all = rng.random();
            config.compat.destage_drops_sectors = rng.random();
            config.compat.free_mapping_writes = rng.random();
            config.compat.eager_frontiers = rng.random();
            config.compat.evict_to_evictor = rng.random();
        }
        _ => {}
    }
}

fn draw_size(config: &mut DeviceConfig, tenants: u32, rng: &mut Pcg64Mcg) {
    let reserve = if config.compat.gc_reserve_ten { 12 } else { 2 };
    let least = 3 * tenants + reserve;
    let full = rng.random_range(2..16);
    config.flash.blocks_per_plane = least + full;
    config.flash.pages_per_block =
        rng.random_range(4..24u32).next_multiple_of(config.pages_per_program());
    // From far too little over-provisioning to plenty.
    let visible = f64::from(full) + f64::from(least - 2) * pick(rng, &[0.0, 0.0, 0.3, 1.0]);
    config.mapping.overprovisioning = 1.0 - visible * 0.99 / f64::from(least + full);
}

fn draw_streams(
    config: &DeviceConfig,
    tenants: usize,
    rng: &mut Pcg64Mcg,
) -> Vec<(Vec<Request>, Replay)> {
    let geometry = config.geometry();
    let page = geometry.sectors_per_page();
    let share = geometry.pages() * u64::from(page) / tenants as u64;
    (0..tenants as u16)
        .map(|tenant| {
            let reads = rng.random_range(0..70);
            let mix = Mix {
                requests: rng.random_range(20..1_500),
                seed: rng.random(),
                gap_ns: pick(rng, &[100.0, 20_000.0, 1_000_000.0]),
                reads,
                trims: rng.random_range(0..8),
                flushes: rng.random_range(0..4),
                // Also addresses beyond the tenant's space, which are folded into it.
                sectors: share * pick(rng, &[1, 2, 4]) / 4 + 1,
                align: pick(rng, &[1, page]),
                pages_max: pick(rng, &[1, 4, 40]),
            };
            let replay = match rng.random_range(0..3) {
                0 => Replay::Closed(pick(rng, &[1, 4, 32])),
                _ => Replay::Open,
            };
            (mix.requests(tenant), replay)
        })
        .collect()
}

/// The shortest time that a request can take: its data over the link, and a program if nothing
/// buffers writes.
fn least_latency(case: &Case, done: &Completion) -> Nanos {
    let host = &case.config.host;
    let link = f64::from(host.pcie_lanes) * host.pcie_lane_bandwidth_gbps;
    let sectors =
        if case.config.compat.wrap_request_size { done.sectors & 0xffff } else { done.sectors };
    let data = match done.op {
        Op::Read | Op::Write => Nanos((f64::from(sectors) * 512.0 / link) as u64),
        Op::Trim | Op::Flush => Nanos::ZERO,
    };
    let mode = case.tenants[done.tenant.index()].cache;
    let through = matches!(mode, CacheMode::Off | CacheMode::Read);
    let program = match done.op {
        Op::Write if through && sectors > 0 => {
            let slc = Some(&case.config.slc_cache).filter(|cache| cache.is_on());
            slc.map_or(case.config.flash.program_latency[0], |cache| cache.program_latency)
        }
        _ => Nanos::ZERO,
    };
    let adapter = match host.interface {
        HostInterface::Sata => host.sata_processing_delay * 2,
        HostInterface::Nvme => Nanos::ZERO,
    };
    data + program + adapter
}

fn check(case: &Case) -> (Outcome, Report) {
    let mut simulator =
        Simulator::new(&case.config.check().expect("legal settings"), &case.tenants, WATCH)
            .expect("a drive of legal settings");
    let streams = (case.streams.iter().enumerate())
        .map(|(tenant, (requests, replay))| Stream {
            requests: Box::new(requests.iter().copied()),
            tenant: Some(TenantId::at(tenant)),
            replay: *replay,
        })
        .collect();
    let mut looks = 0;
    let asked: u64 = case.streams.iter().map(|(requests, _)| requests.len() as u64).sum();
    let outcome = simulator.run(streams, |simulator| {
        looks += 1;
        if looks % 16 == 0 {
            simulator.check();
        }
        // Far more events than requests can cause.
        assert!(simulator.events() < 1_000_000 + asked * 100_000, "it never ends");
        true
    });
    simulator.check();
    let unserved = match &outcome {
        Outcome::Completed => 0,
        Outcome::OutOfSpace { planes, unserved } => {
            assert!(!planes.is_empty() && *unserved > 0);
            *unserved
        }
        Outcome::Interrupted => unreachable!("nobody interrupts"),
    };
    let report = simulator.report();
    assert_eq!(report.requests.arrived, report.requests.completed + unserved);
    if unserved == 0 {
        assert_eq!(report.requests.completed, asked);
    }
    let completions = simulator.take_completions();
    assert_eq!(completions.len() as u64, report.requests.completed);
    check_completions(case, &completions);
    assert!(report.write_amplification.total >= 1.0);
    (outcome, report)
}

fn check_completions(case: &Case, completions: &[Completion]) {
    let mut seen = BTreeMap::new();
    let mut last = Nanos::ZERO;
    for done in completions {
        assert!(done.completed >= last, "completions go back in time");
        last = done.completed;
        assert!(done.arrived <= done.enqueued && done.enqueued <= done.completed);
        let before = seen.insert((done.tenant, done.number), done.op);
        assert!(before.is_none(), "request {} of {} came back twice", done.number, done.tenant.0);
        let asked = &case.streams[done.tenant.index()].0[done.number as usize];
        assert_eq!((done.op, done.sectors), (asked.op, asked.sectors));
        let least = least_latency(case, done);
        let took = done.completed - done.arrived;
        assert!(took >= least, "{done:?} took {took}, {least} is the least");
    }
}

/// The message of the panic, if the case fails.
fn fails(case: &Case) -> Option<String> {
    let result = catch_unwind(AssertUnwindSafe(|| check(case)));
    let cause = result.err()?;
    let text = cause.downcast_ref::<String>().cloned();
    Some(text.or_else(|| cause.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default())
}

/// The case with fewer requests that still fail.
fn shrink(case: &Case) -> Case {
    let mut case = case.clone();
    for stream in 0..case.streams.len() {
        let mut part = case.streams[stream].0.len();
        while part > 0 {
            let mut start = 0;
            while start < case.streams[stream].0.len() {
                let mut shorter = case.clone();
                let requests = &mut shorter.streams[stream].0;
                let end = (start + part).min(requests.len());
                requests.drain(start..end);
                if fails(&shorter).is_some() {
                    case = shorter;
                } else {
                    start = end;
                }
            }
            part /= 2;
        }
    }
    case
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn nothing_hangs_or_is_lost_in_any_corner() {
    let cases = match number("SIM_CORNERS_CASE") {
        Some(only) => only..only + 1,
        None => 0..number("SIM_CORNERS_CASES").unwrap_or(CASES),
    };
    let (mut ends, mut cached) = ([0; 2], [0; 3]);
    for number in cases.clone() {
        let case = case(number);
        case.config.check().unwrap_or_else(|faults| panic!("case {number}: {faults}"));
        if fails(&case).is_some() {
            let least = shrink(&case);
            let message = fails(&least);
            let requests = least.streams.iter().map(|(requests, _)| requests.len());
            panic!(
                "case {number}: {message:?}\nwith {:?} requests of the tenants: {:#?}\n\
                 run it alone with SIM_CORNERS_CASE={number}",
                requests.collect::<Vec<_>>(),
                least,
            );
        }
        let (outcome, report) = check(&case);
        ends[usize::from(outcome != Outcome::Completed)] += 1;
        if let Some(cache) = report.slc_cache {
            let found = [cache.written_pages, cache.idle_folds, cache.pressed_folds];
            (0..3).for_each(|index| cached[index] += found[index]);
        }
    }
    println!("completed {}, out of space {}", ends[0], ends[1]);
    println!("pages in SLC mode, blocks folded in idle time, and for space: {cached:?}");
    assert!(cases.end - cases.start == 1 || ends[0] > ends[1]);
    assert!(cases.end - cases.start < CASES || cached.iter().all(|&count| count > 100));
}
