//! The results of a run, as one versioned JSON document (`docs/results-schema.md` explains every field).
//!
//! Times are nanoseconds of simulated time (`…_ns`), rates are taken over floating-point seconds between
//! the first arrival and the last completion, shares lie between 0 and 1. What cannot be known (a rate of
//! nothing, the latency of no request) is `null`. Energies are in joule, powers in watt.

mod build;
mod endurance;
mod energy;

pub use endurance::Endurance;
pub use energy::{ControllerEnergy, DramEnergy, Energy, FlashEnergy, PageTypes, TenantEnergy};

use crate::initial_content::InitialState;
use crate::stats::{FlashCommands, LatencySummary};
use serde::{Deserialize, Serialize};

/// Version of the result schema. It grows when a field changes its meaning or goes; new fields may come
/// without a new version.
pub const SCHEMA: u32 = 1;

/// Share of page reads that find nothing above which a report warns: they cost no flash read and flatter
/// the drive.
pub const UNWRITTEN_SHARE_MAX: f64 = 0.001;

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this schema.
    pub schema: u32,
    /// Name of the configuration.
    pub device: String,
    /// How the run ended.
    pub outcome: Ending,
    /// Not every request was completed: the figures are of those that were.
    pub partial: bool,
    /// How many requests came and went.
    pub requests: RequestCounts,
    /// The time measured.
    pub time: Times,
    /// The whole drive.
    pub total: TenantMetrics,
    /// Each tenant.
    pub tenants: Vec<TenantReport>,
    /// Flash commands and pages.
    pub flash: FlashCommands,
    /// Pages programmed for each one of the host, by cause.
    pub write_amplification: WriteAmplification,
    /// Garbage collection and wear levelling.
    pub collection: Collection,
    /// How far the flash is worn, and how long it lasts under this workload.
    pub endurance: Endurance,
    /// The cached mapping table.
    pub mapping: Mapping,
    /// The DRAM data cache.
    pub data_cache: DataCache,
    /// How busy the parts of the drive were.
    pub utilisation: Utilisation,
    /// What it consumed.
    pub energy: Energy,
    /// Where the capacity is.
    pub capacity: Capacity,
    /// Reads of pages that hold nothing.
    pub unwritten_reads: UnwrittenReads,
    /// Mechanisms of the drive that this run never used, so that it says nothing about them.
    pub never_fired: Vec<String>,
    /// What a reader of the figures must know.
    pub warnings: Vec<String>,
    /// The simulation itself.
    pub simulation: Simulation,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It has not: the caller steps through it.
    Running,
    /// Every request was completed.
    Completed,
    /// The caller stopped it.
    Interrupted,
    /// Host writes wait for free blocks that no collection can make.
    OutOfSpace,
}

/// How many requests came and went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Those that reached the host's driver.
    pub arrived: u64,
    /// Those that were completed.
    pub completed: u64,
    /// Those under way when the run ended.
    pub unserved: u64,
}

/// The time measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// First arrival; `null` if there was none.
    pub first_arrival_ns: Option<u64>,
    /// Last completion.
    pub last_completion_ns: u64,
    /// From one to the other.
    pub seconds: f64,
}

/// Results of a tenant, or of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantMetrics {
    /// Bytes it can address.
    pub address_space_bytes: u64,
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

/// Results of a tenant, and its share of what the drive did. Shares of all tenants add up to the drive's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantReport {
    /// What it got.
    #[serde(flatten)]
    pub metrics: TenantMetrics,
    /// How many of its requests came and went.
    pub requests: RequestCounts,
    /// Flash commands for its data. A command to several planes is the tenant's of the first.
    pub flash: FlashCommands,
    /// Pages programmed for each one it wrote, by cause.
    pub write_amplification: WriteAmplification,
    /// Collection of blocks that hold its data.
    pub collection: TenantCollection,
    /// Look-ups of its mappings.
    pub mapping: Mapping,
    /// The DRAM data cache.
    pub data_cache: DataCache,
    /// Reads of pages that hold nothing.
    pub unwritten_reads: UnwrittenReads,
    /// The energy of its work.
    pub energy: TenantEnergy,
}

/// Collection of one tenant's blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantCollection {
    /// Victims collected for space.
    pub executions: u64,
    /// Victims collected for wear.
    pub wear_executions: u64,
    /// Pages moved by both.
    pub moved_pages: u64,
    /// Of these, for wear.
    pub wear_moved_pages: u64,
    /// Moves overtaken by a host write.
    pub moves_dropped: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Its writes that had to wait for a free block.
    pub held_writes: u64,
}

/// Results of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpMetrics {
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved for them.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// From the entry into the submission queue to the completion.
    pub device_latency_ns: Option<LatencySummary>,
    /// From the arrival at the host to the completion.
    pub total_latency_ns: Option<LatencySummary>,
}

/// Pages programmed for each page programmed for the host, by cause. `host + merge` is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteAmplification {
    /// All causes together; 1 where nothing was programmed.
    pub total: f64,
    /// Pages of the host.
    pub host: f64,
    /// Pages of the host whose other sectors had to be read first.
    pub merge: f64,
    /// Pages moved to win space.
    pub gc: f64,
    /// Pages moved to level wear.
    pub wear: f64,
    /// Translation pages.
    pub mapping: f64,
    /// Bytes programmed for each byte the host wrote: also counts padding, and what the cache absorbed.
    pub bytes: Option<f64>,
}

/// Garbage collection and wear levelling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Victims collected for space.
    pub executions: u64,
    /// Victims collected for wear.
    pub wear_executions: u64,
    /// Pages moved by both.
    pub moved_pages: u64,
    /// Of these, for wear.
    pub wear_moved_pages: u64,
    /// Moves overtaken by a host write.
    pub moves_dropped: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Host writes that had to wait for a free block.
    pub held_writes: u64,
    /// How many blocks were erased how often.
    pub erase_histogram: Vec<EraseBin>,
}

/// Blocks of one erase count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseBin {
    /// Erases.
    pub erases: u32,
    /// Blocks that have had so many.
    pub blocks: u64,
}

/// The cached mapping table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// The whole table lies in DRAM: no look-up is counted.
    pub ideal: bool,
    /// Look-ups that hit.
    pub hits: u64,
    /// Look-ups of reads that missed.
    pub misses_read: u64,
    /// Look-ups of writes that missed.
    pub misses_write: u64,
    /// Of the misses, those that cost no flash read.
    pub misses_free: u64,
    /// Hits over look-ups.
    pub hit_rate: Option<f64>,
    /// Translation pages read from flash.
    pub page_reads: u64,
    /// Translation pages written back.
    pub writebacks: u64,
}

/// The DRAM data cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataCache {
    /// Pages asked for by reads.
    pub read_lookups: u64,
    /// Of these, those the cache held in full.
    pub read_hits: u64,
    /// Hits over look-ups.
    pub read_hit_rate: Option<f64>,
    /// Pages written into it.
    pub writes: u64,
    /// Of these, those that overwrote a page it held.
    pub write_hits: u64,
    /// Hits over writes.
    pub write_hit_rate: Option<f64>,
}

/// Busy time over the time from the first arrival to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// The link from host to drive.
    pub link_down: f64,
    /// The link from drive to host.
    pub link_up: f64,
    /// The DRAM channel.
    pub dram: f64,
    /// The flash channels.
    pub channels: Busy,
    /// The dies' arrays.
    pub dies: Busy,
}

/// Busy shares of several equal parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// On average.
    pub mean: f64,
    /// The idlest.
    pub min: f64,
    /// The busiest.
    pub max: f64,
    /// One after the other.
    pub each: Vec<f64>,
}

/// Where the capacity is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// All flash pages.
    pub raw_bytes: u64,
    /// What the host sees.
    pub visible_bytes: u64,
    /// The rest.
    pub overprovisioned_bytes: u64,
    /// The part of the rest that collection keeps free.
    pub gc_reserve_bytes: u64,
    /// The part of the rest in open blocks.
    pub frontier_bytes: u64,
    /// Logical pages that hold data at the end.
    pub mapped_bytes: u64,
    /// Free blocks at the end.
    pub free_bytes: u64,
}

/// Reads of pages that hold nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnwrittenReads {
    /// Pages read by the host.
    pub page_reads: u64,
    /// Of these, those that were never written.
    pub pages: u64,
    /// One over the other.
    pub share: f64,
}

/// The simulation itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulation {
    /// Events processed.
    pub events: u64,
    /// Bytes of the FTL's state.
    pub ftl_memory_bytes: u64,
    /// Pages written before the run, without time, to age the drive.
    #[serde(default)]
    pub warm_up_pages: u64,
    /// What the drive was before that.
    #[serde(default)]
    pub initial_state: InitialState,
    /// Pages that held data then.
    #[serde(default)]
    pub initial_pages: u64,
}
