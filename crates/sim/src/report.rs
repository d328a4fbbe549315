//! The results of a run.

use crate::run::Simulator;
use crate::stats::{FlashCommands, Latencies, LatencySummary, OpStats};
use serde::{Deserialize, Serialize};

/// Version of the result schema.
pub const SCHEMA: u32 = 1;

/// Results of one direction of a tenant, or of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpMetrics {
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved for them.
    pub bytes: u64,
    /// Requests per second, between the first arrival and the last completion.
    pub iops: f64,
    /// Bytes per second, likewise.
    pub bandwidth_bytes_per_s: f64,
    /// From submission queue to completion, in nanoseconds.
    pub device_latency_ns: Option<LatencySummary>,
    /// From arrival at the host to completion, in nanoseconds.
    pub total_latency_ns: Option<LatencySummary>,
}

/// Results of a tenant, or of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantMetrics {
    /// Reads and writes.
    pub all: OpMetrics,
    /// Reads.
    pub read: OpMetrics,
    /// Writes.
    pub write: OpMetrics,
    /// Trims completed.
    pub trims: u64,
    /// Flushes completed.
    pub flushes: u64,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this schema.
    pub schema: u32,
    /// Name of the configuration.
    pub device: String,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests completed.
    pub completed: u64,
    /// First arrival to last completion, in seconds.
    pub seconds: f64,
    /// Last completion, in nanoseconds of simulated time.
    pub last_completion_ns: u64,
    /// The whole drive.
    pub total: TenantMetrics,
    /// Each tenant.
    pub tenants: Vec<TenantMetrics>,
    /// Flash commands and pages.
    pub flash: FlashCommands,
    /// Pages programmed over pages programmed for the host.
    pub write_amplification: f64,
    /// Mapping look-ups that hit.
    pub mapping_hits: u64,
    /// Look-ups of reads that missed.
    pub mapping_misses_read: u64,
    /// Look-ups of writes that missed.
    pub mapping_misses_write: u64,
    /// Misses that cost no flash read.
    pub mapping_misses_free: u64,
    /// Victims collected for space.
    pub collections: u64,
    /// Victims collected for wear.
    pub wear_collections: u64,
    /// Pages moved.
    pub moved_pages: u64,
    /// Reads of pages that hold nothing.
    pub unwritten_reads: u64,
    /// Events processed.
    pub events: u64,
    /// Bytes of the FTL's state.
    pub ftl_memory_bytes: u64,
}

fn op<'a>(parts: impl Iterator<Item = &'a OpStats> + Clone, seconds: f64) -> OpMetrics {
    let requests: u64 = parts.clone().map(|part| part.device.count).sum();
    let bytes: u64 = parts.clone().map(|part| part.bytes).sum();
    let rate = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    OpMetrics {
        requests,
        bytes,
        iops: rate(requests),
        bandwidth_bytes_per_s: rate(bytes),
        device_latency_ns: Latencies::summary(parts.clone().map(|part| &part.device)),
        total_latency_ns: Latencies::summary(parts.map(|part| &part.total)),
    }
}

impl Report {
    pub(crate) fn new(simulator: &Simulator) -> Self {
        let core = &simulator.core;
        let stats = &core.stats;
        let first = stats.first_arrival.unwrap_or_default();
        let seconds = stats.last_completion.saturating_sub(first).as_secs_f64();
        let group = |tenants: &[crate::stats::TenantStats]| TenantMetrics {
            all: op(tenants.iter().flat_map(|t| [&t.read, &t.write]), seconds),
            read: op(tenants.iter().map(|t| &t.read), seconds),
            write: op(tenants.iter().map(|t| &t.write), seconds),
            trims: tenants.iter().map(|t| t.trims).sum(),
            flushes: tenants.iter().map(|t| t.flushes).sum(),
        };
        let counters = core.ftl.counters();
        let host = stats.flash.pages_programmed_host;
        let all = host + stats.flash.pages_programmed_moved + stats.flash.pages_programmed_mapping;
        Self {
            schema: SCHEMA,
            device: simulator.config().name.clone(),
            arrived: stats.arrived,
            completed: stats.completed,
            seconds,
            last_completion_ns: stats.last_completion.0,
            total: group(&stats.tenants),
            tenants: stats.tenants.iter().map(|t| group(std::slice::from_ref(t))).collect(),
            flash: stats.flash,
            write_amplification: if host == 0 { 1.0 } else { all as f64 / host as f64 },
            mapping_hits: counters.mapping_hits,
            mapping_misses_read: counters.mapping_misses_read,
            mapping_misses_write: counters.mapping_misses_write,
            mapping_misses_free: counters.mapping_misses_free,
            collections: counters.collections,
            wear_collections: counters.wear_collections,
            moved_pages: counters.moved_pages,
            unwritten_reads: stats.unwritten_reads,
            events: core.events.processed(),
            ftl_memory_bytes: core.ftl.memory_bytes(),
        }
    }
}
