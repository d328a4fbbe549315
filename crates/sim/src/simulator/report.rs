//! Gathers a report from the counters of a run.

use super::Simulator;
use crate::accounting::{Counts, FlashCommands, Latencies, OpStats, TenantEnergy, TenantStats};
use crate::core::Core;
use crate::report::{
    Busy, Capacity, Collection, DataCache, Ending, Endurance, EraseBin, Mapping, OpMetrics, Report,
    RequestCounts, SCHEMA, Simulation, SlcCache, TenantCollection, TenantMetrics, TenantReport,
    Times, UNWRITTEN_SHARE_MAX, UnwrittenReads, Utilisation, WriteAmplification,
};
use ssdtune_ftl::FtlCounters;
use ssdtune_model::config::{CacheMode, DeviceConfig, SuspensionSupport};
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{Nanos, PlaneId, Table, TenantId};

/// The report of all that has been measured so far.
pub(super) fn of(simulator: &Simulator) -> Report {
    let core = &simulator.core;
    let config = simulator.config();
    let stats = &core.base.books.stats;
    let ending = simulator.ending;
    let first = stats.first_arrival;
    let seconds = stats.last_completion.saturating_sub(first.unwrap_or_default()).as_secs_f64();
    let size = |tenant| core.host.spaces.size(tenant).bytes().0;
    let spaces: Table<TenantId, u64> = stats.tenants.names().map(size).collect();
    let mut report = Report {
        schema: SCHEMA,
        device: config.name.clone(),
        outcome: ending,
        partial: ending == Ending::Interrupted || stats.arrived != stats.completed,
        requests: RequestCounts {
            arrived: stats.arrived,
            completed: stats.completed,
            unserved: stats.arrived - stats.completed,
        },
        time: Times {
            first_arrival_ns: first.map(|at| at.0),
            last_completion_ns: stats.last_completion.0,
            seconds,
        },
        total: tenant(stats.tenants.iter(), spaces.iter().sum(), seconds),
        tenants: (spaces.named())
            .map(|(tenant, &space)| tenant_report(core, config, tenant, space, seconds))
            .collect(),
        flash: stats.flash,
        write_amplification: write_amplification(
            &stats.flash,
            &stats.counts,
            stats.tenants.iter().map(|tenant| tenant.write.bytes).sum(),
            config,
        ),
        collection: collection(core, config),
        slc_cache: slc_cache(core, config),
        endurance: Endurance::default(),
        mapping: mapping(core.backend.ftl.counters(), &stats.flash, config),
        data_cache: data_cache(&stats.counts),
        utilisation: utilisation(core),
        energy: simulator.energy(),
        capacity: capacity(core, config),
        unwritten_reads: unwritten_reads(&stats.counts),
        never_fired: Vec::new(),
        warnings: Vec::new(),
        simulation: Simulation {
            events: core.base.events.processed(),
            ftl_memory_bytes: core.backend.ftl.memory_bytes(),
            warm_up_pages: core.base.books.stats.warm_up_pages,
            initial_state: core.base.books.stats.initial_state,
            initial_pages: core.base.books.stats.initial_pages,
        },
    };
    report.endurance = Endurance::of(&report, config);
    report.never_fired = never_fired(&report, config, core);
    report.warnings = warnings(&report, config, core);
    report
}

/// `part` divided by `whole`; `None` if the whole is zero.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What some tenants got from the drive, together.
fn tenant<'a>(
    parts: impl Iterator<Item = &'a TenantStats> + Clone,
    address_space_bytes: u64,
    seconds: f64,
) -> TenantMetrics {
    TenantMetrics {
        address_space_bytes,
        all: op(parts.clone().flat_map(|t| [&t.read, &t.write]), seconds),
        read: op(parts.clone().map(|t| &t.read), seconds),
        write: op(parts.clone().map(|t| &t.write), seconds),
        trims: parts.clone().map(|t| t.trims).sum(),
        flushes: parts.map(|t| t.flushes).sum(),
    }
}

/// The reads, the writes, or both, of some tenants.
fn op<'a>(parts: impl Iterator<Item = &'a OpStats> + Clone, seconds: f64) -> OpMetrics {
    let requests: u64 = parts.clone().map(|part| part.prompt.count + part.device.count).sum();
    let bytes: u64 = parts.clone().map(|part| part.bytes).sum();
    let rate = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    OpMetrics {
        requests,
        bytes,
        iops: rate(requests),
        bandwidth_bytes_per_s: rate(bytes),
        device_latency_ns: Latencies::summary(
            parts.clone().flat_map(|part| [&part.prompt, &part.device]),
        ),
        total_latency_ns: Latencies::summary(parts.flat_map(|part| [&part.prompt, &part.total])),
    }
}

fn tenant_report(
    core: &Core,
    config: &DeviceConfig,
    owner: TenantId,
    address_space_bytes: u64,
    seconds: f64,
) -> TenantReport {
    let stats = &core.base.books.stats;
    let share = stats.shares.get(owner);
    let counts = share.map_or(&stats.counts, |share| &share.counts);
    let arrived = share.map_or(stats.arrived, |share| share.arrived);
    // The only tenant has caused everything.
    let flash = share.map_or(&stats.flash, |share| &share.flash);
    let ftl = share.map_or(core.backend.ftl.counters(), |share| &share.ftl);
    let seen = &stats.tenants[owner];
    let metrics = tenant(std::iter::once(seen), address_space_bytes, seconds);
    let completed = metrics.all.requests + metrics.trims + metrics.flushes;
    let [work_j, all_work_j] = core.base.books.work_j(owner);
    TenantReport {
        metrics,
        requests: RequestCounts { arrived, completed, unserved: arrived - completed },
        flash: *flash,
        write_amplification: write_amplification(flash, counts, seen.write.bytes, config),
        collection: TenantCollection {
            executions: ftl.collections,
            wear_executions: ftl.wear_collections,
            moved_pages: ftl.moved_pages,
            wear_moved_pages: counts.wear_moved_pages,
            moves_dropped: ftl.moves_dropped,
            blocks_erased: flash.blocks_erased,
            held_writes: counts.held_writes,
        },
        mapping: mapping(ftl, flash, config),
        data_cache: data_cache(counts),
        unwritten_reads: unwritten_reads(counts),
        energy: TenantEnergy { work_j, share: (all_work_j > 0.0).then(|| work_j / all_work_j) },
    }
}

fn mapping(counters: &FtlCounters, flash: &FlashCommands, config: &DeviceConfig) -> Mapping {
    let misses = counters.mapping_misses_read + counters.mapping_misses_write;
    Mapping {
        ideal: config.mapping.ideal,
        hits: counters.mapping_hits,
        misses_read: counters.mapping_misses_read,
        misses_write: counters.mapping_misses_write,
        misses_free: counters.mapping_misses_free,
        hit_rate: share(counters.mapping_hits, counters.mapping_hits + misses),
        page_reads: flash.mapping_reads,
        writebacks: counters.mapping_writebacks,
    }
}

fn data_cache(counts: &Counts) -> DataCache {
    DataCache {
        read_lookups: counts.cache_lookups,
        read_hits: counts.cache_hits,
        read_hit_rate: share(counts.cache_hits, counts.cache_lookups),
        writes: counts.cache_writes,
        write_hits: counts.cache_write_hits,
        write_hit_rate: share(counts.cache_write_hits, counts.cache_writes),
    }
}

fn unwritten_reads(counts: &Counts) -> UnwrittenReads {
    UnwrittenReads {
        page_reads: counts.page_reads,
        pages: counts.unwritten_reads,
        share: share(counts.unwritten_reads, counts.page_reads).unwrap_or(0.0),
    }
}

fn write_amplification(
    flash: &FlashCommands,
    counts: &Counts,
    written: u64,
    config: &DeviceConfig,
) -> WriteAmplification {
    let host = flash.pages_programmed_host;
    let moved = flash.pages_programmed_moved;
    // A page is counted as moved for wear when it is read, so it may not be programmed yet.
    let wear = counts.wear_moved_pages.min(moved);
    // A merge is counted when it is read, so it may not be programmed yet.
    let merge = counts.merge_reads.min(host);
    let per_host = |pages: u64| if host == 0 { 0.0 } else { pages as f64 / host as f64 };
    let all = host + moved + flash.pages_programmed_mapping;
    let programmed = all * u64::from(config.geometry().page_bytes);
    WriteAmplification {
        total: if host == 0 { 1.0 } else { per_host(all) },
        host: per_host(host - merge),
        merge: per_host(merge),
        gc: per_host(moved - wear),
        wear: per_host(wear),
        mapping: per_host(flash.pages_programmed_mapping),
        bytes: share(programmed, written),
    }
}

fn collection(core: &Core, config: &DeviceConfig) -> Collection {
    // Of each superblock, a block lies in each of these planes.
    let planes = config.flash_geometry().planes() / config.allocation_geometry().planes();
    let counters = core.backend.ftl.counters();
    let counts = &core.base.books.stats.counts;
    Collection {
        executions: counters.collections,
        wear_executions: counters.wear_collections,
        moved_pages: counters.moved_pages,
        wear_moved_pages: counts.wear_moved_pages,
        moves_dropped: counters.moves_dropped,
        blocks_erased: core.base.books.stats.flash.blocks_erased,
        held_writes: counts.held_writes,
        erase_histogram: (core.backend.ftl.erase_histogram().into_iter())
            .map(|(erases, blocks)| EraseBin { erases, blocks: blocks * planes })
            .collect(),
    }
}

fn slc_cache(core: &Core, config: &DeviceConfig) -> Option<SlcCache> {
    // Of each superblock, a block lies in each of these planes.
    let wide = config.flash_geometry().planes() / config.allocation_geometry().planes();
    let ftl = &core.backend.ftl;
    let counters = ftl.slc_counters()?;
    let planes = 0..ftl.geometry().planes() as u32;
    Some(SlcCache {
        written_pages: counters.written_pages,
        folded_pages: counters.folded_pages,
        idle_folds: counters.idle_folds,
        pressed_folds: counters.pressed_folds,
        blocks: planes.map(|plane| u64::from(ftl.slc_blocks(PlaneId(plane)))).sum::<u64>() * wide,
    })
}

fn utilisation(core: &Core) -> Utilisation {
    let since = core.now().saturating_sub(core.base.books.stats.first_arrival.unwrap_or_default());
    // Busy time is counted when an operation starts, and may reach past the end of an interrupted
    // run.
    let busy = |time: Nanos| match since {
        Nanos::ZERO => 0.0,
        _ => (time.0 as f64 / since.0 as f64).min(1.0),
    };
    let several = |times: &[Nanos]| {
        let each: Vec<f64> = times.iter().copied().map(busy).collect();
        let count = each.len().max(1) as f64;
        Busy {
            mean: each.iter().sum::<f64>() / count,
            min: each.iter().copied().fold(1.0, f64::min),
            max: each.iter().copied().fold(0.0, f64::max),
            each,
        }
    };
    let [down, up] = core.host.link_busy();
    let [channels, dies] = core.backend.flash.busy();
    Utilisation {
        link_down: busy(down),
        link_up: busy(up),
        dram: busy(core.base.books.stats.dram_busy),
        channels: several(&channels),
        dies: several(&dies),
    }
}

fn capacity(core: &Core, config: &DeviceConfig) -> Capacity {
    let ledger = Ledger::of(config);
    let geometry = config.geometry();
    let page_bytes = u64::from(geometry.page_bytes);
    let allocated = core.backend.ftl.geometry();
    let free: u64 = (0..allocated.planes() as u32)
        .map(|p| u64::from(core.backend.ftl.free_blocks(PlaneId(p))))
        .sum();
    Capacity {
        raw_bytes: ledger.raw_bytes.0,
        visible_bytes: ledger.visible_bytes.0,
        overprovisioned_bytes: ledger.overprovisioned_bytes.0,
        gc_reserve_bytes: ledger.gc_reserve_bytes.0,
        frontier_bytes: ledger.frontier_bytes.0,
        mapped_bytes: core.backend.ftl.mapped_pages() * page_bytes,
        free_bytes: free * u64::from(allocated.pages_per_block) * page_bytes,
    }
}

/// The mechanisms that the drive has and the run never used.
fn never_fired(report: &Report, config: &DeviceConfig, core: &Core) -> Vec<String> {
    let flash = &report.flash;
    let misses = report.mapping.misses_read + report.mapping.misses_write;
    let [cache_reads, cache_programs] = core.backend.flash.has_cache_commands();
    let suspension = config.suspension.support != SuspensionSupport::None;
    let wear = config.wear.static_leveling;
    let multiplane = flash.reads_multiplane + flash.programs_multiplane + flash.erases_multiplane;
    // The name of each mechanism, whether the drive has it, and how often it was used.
    let mechanisms = [
        ("garbage collection", true, report.collection.executions),
        ("static wear levelling", wear, report.collection.wear_executions),
        ("mapping misses", !config.mapping.ideal, misses),
        (
            "data-cache read hits",
            core.cache.has_mode(&[CacheMode::Read, CacheMode::ReadWrite]),
            report.data_cache.read_hits,
        ),
        (
            "data-cache write hits",
            core.cache.has_mode(&[CacheMode::Write, CacheMode::ReadWrite]),
            report.data_cache.write_hits,
        ),
        ("multi-plane commands", config.flash.planes_per_die > 1, multiplane),
        ("suspension", suspension, flash.program_suspensions + flash.erase_suspensions),
        ("cache reads", cache_reads, flash.cache_reads),
        ("cache programs", cache_programs, flash.cache_programs),
        (
            "folding of the SLC cache",
            report.slc_cache.is_some(),
            report.slc_cache.map_or(0, |cache| cache.idle_folds + cache.pressed_folds),
        ),
        ("read retries", config.ageing.has_retries(), flash.read_retries),
    ];
    let idle = mechanisms.into_iter().filter(|&(_, has, count)| has && count == 0);
    idle.map(|(what, _, _)| what.to_owned()).collect()
}

/// What to say of requests that wait in front of the drive for longer than it takes to serve them.
fn backlog(report: &Report) -> Option<String> {
    let all = &report.total.all;
    let (served, whole) =
        (all.device_latency_ns.as_ref()?.mean, all.total_latency_ns.as_ref()?.mean);
    (whole > 2.0 * served).then(|| {
        format!(
            "the drive cannot keep up with the times of the requests: from its arrival one takes \
             {} on average, most of it waiting for a place in the queues, which the latency in the \
             drive leaves out",
            Nanos(whole.round() as u64)
        )
    })
}

/// What a reader of the report must know.
fn warnings(report: &Report, config: &DeviceConfig, core: &Core) -> Vec<String> {
    let mut warnings = Vec::new();
    let simulation = &report.simulation;
    if config.run.preconditioned && simulation.warm_up_pages + simulation.initial_pages == 0 {
        warnings.push(
            "the drive started empty although run.preconditioned is set: let it start with data \
             (--start steady)"
                .to_owned(),
        );
    }
    if report.collection.executions > 0
        && let Some(message) = config.preemption_that_never_acts()
    {
        warnings.push(format!("gc.hard_threshold: {message}"));
    }
    let unwritten = &report.unwritten_reads;
    if unwritten.share > UNWRITTEN_SHARE_MAX {
        let remedy = if core.backend.read_allocates() {
            "compat.read_allocates gives each a flash page at the moment of the read"
        } else {
            "they cost no flash read and flatter the drive: write the data first"
        };
        warnings.push(format!(
            "{:.1} % of the pages read ({} of {}) had never been written; {remedy}",
            unwritten.share * 100.0,
            unwritten.pages,
            unwritten.page_reads,
        ));
    }
    // A closed loop has no times to keep up with.
    warnings.extend(backlog(report).filter(|_| !core.host.has_closed_loops));
    let used = report.endurance.used_share_mean;
    if used > 1.0 {
        warnings.push(format!(
            "the flash is worn out: {:.0} % of its rated cycles are used, and nothing here says \
             how a drive behaves then",
            100.0 * used
        ));
    }
    match report.outcome {
        Ending::Interrupted => warnings.push(format!(
            "interrupted: {} requests completed, {} under way",
            report.requests.completed, report.requests.unserved
        )),
        Ending::OutOfSpace => warnings.push(format!(
            "out of free blocks in {} planes: {} requests were never completed; give the drive \
             more over-provisioning (mapping.overprovisioning) or blocks (flash.blocks_per_plane)",
            core.backend.starved_planes().count(),
            report.requests.unserved
        )),
        Ending::Running | Ending::Completed => {}
    }
    warnings
}
