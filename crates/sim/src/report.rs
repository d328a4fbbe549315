//! The results of a run, as one versioned JSON document. `docs/results-schema.md` explains every
//! field.
//!
//! Times are nanoseconds of simulated time (`..._ns`). Rates are taken over the floating-point
//! seconds between the first arrival and the last completion. Shares lie between 0 and 1. What
//! cannot be known (the latency of no request, a share of nothing) is `null`. Energies are in
//! joule, powers in watt.

mod endurance;

pub use endurance::Endurance;

use crate::accounting::{Energy, FlashCommands, LatencySummary, TenantEnergy};
use crate::vocabulary::InitialState;
use serde::{Deserialize, Serialize};

/// Version of the result schema. It grows when a field changes its meaning or is removed. New
/// fields may come without a new version.
pub const SCHEMA: u32 = 1;

/// A report warns if a larger share than this of the pages read held no data. Such reads cost no
/// flash read and flatter the drive.
pub const UNWRITTEN_SHARE_MAX: f64 = 0.001;

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the schema: [`SCHEMA`].
    pub schema: u32,
    /// Name of the configuration.
    pub device: String,
    /// How the run ended.
    pub outcome: Ending,
    /// Not every request was completed. The figures are of those that were.
    pub partial: bool,
    /// How many requests came and went.
    pub requests: RequestCounts,
    /// The time measured.
    pub time: Times,
    /// Results of all tenants together.
    pub total: TenantMetrics,
    /// Results of each tenant.
    pub tenants: Vec<TenantReport>,
    /// Flash commands and pages.
    pub flash: FlashCommands,
    /// Pages programmed for each page that the host wrote, by cause.
    pub write_amplification: WriteAmplification,
    /// Garbage collection and wear levelling.
    pub collection: Collection,
    /// What the SLC cache did; absent on a drive without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCache>,
    /// How far the flash is worn, and how long it lasts under this workload.
    pub endurance: Endurance,
    /// The cached mapping table.
    pub mapping: Mapping,
    /// The DRAM data cache.
    pub data_cache: DataCache,
    /// How busy the parts of the drive were.
    pub utilisation: Utilisation,
    /// What the drive consumed.
    pub energy: Energy,
    /// Where the capacity is.
    pub capacity: Capacity,
    /// Reads of pages that held no data.
    pub unwritten_reads: UnwrittenReads,
    /// Mechanisms that the drive has and that this run never used. The run says nothing about them.
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
    /// It has not ended: the caller steps through it.
    Running,
    /// Every request was completed.
    Completed,
    /// The caller stopped it.
    Interrupted,
    /// Host writes wait for free blocks, and no collection can make any.
    OutOfSpace,
}

/// How many requests came and went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests that reached the host's driver.
    pub arrived: u64,
    /// Requests that were completed.
    pub completed: u64,
    /// Requests that were under way when the run ended.
    pub unserved: u64,
}

/// The time measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Time of the first arrival; `null` if there was none.
    pub first_arrival_ns: Option<u64>,
    /// Time of the last completion.
    pub last_completion_ns: u64,
    /// Time from the first arrival to the last completion, in seconds.
    pub seconds: f64,
}

/// What a tenant, or all tenants together, got from the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantMetrics {
    /// Size of the address space in bytes.
    pub address_space_bytes: u64,
    /// Reads and writes together.
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

/// Results of a tenant, and its share of what the drive did. The shares of all tenants add up to
/// what the drive did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantReport {
    /// What the tenant got.
    #[serde(flatten)]
    pub metrics: TenantMetrics,
    /// How many of the tenant's requests came and went.
    pub requests: RequestCounts,
    /// Flash commands for the tenant's data. A command to several planes counts for the tenant of
    /// the first page.
    pub flash: FlashCommands,
    /// Pages programmed for each page that the tenant wrote, by cause.
    pub write_amplification: WriteAmplification,
    /// Collection of blocks that hold the tenant's data.
    pub collection: TenantCollection,
    /// Look-ups of the tenant's mappings.
    pub mapping: Mapping,
    /// What the DRAM data cache did for the tenant.
    pub data_cache: DataCache,
    /// Reads of pages that held no data.
    pub unwritten_reads: UnwrittenReads,
    /// The energy of the tenant's work.
    pub energy: TenantEnergy,
}

/// Collection of one tenant's blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantCollection {
    /// Blocks collected to win space.
    pub executions: u64,
    /// Blocks collected to level wear.
    pub wear_executions: u64,
    /// Pages moved out of these blocks.
    pub moved_pages: u64,
    /// Pages moved to level wear, contained in `moved_pages`.
    pub wear_moved_pages: u64,
    /// Moves without effect, because the host had rewritten or trimmed the page meanwhile.
    pub moves_dropped: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Writes of the tenant that had to wait for a free block.
    pub held_writes: u64,
}

/// Results of the reads, of the writes, or of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpMetrics {
    /// Requests that were completed.
    pub requests: u64,
    /// Bytes that these requests moved.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// Latency from the entry into the submission queue to the completion; `null` if there was no
    /// request.
    pub device_latency_ns: Option<LatencySummary>,
    /// Latency from the arrival at the host to the completion; `null` if there was no request.
    pub total_latency_ns: Option<LatencySummary>,
}

/// Pages programmed for each page programmed for the host, by cause. `host` and `merge` add up to
/// 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriteAmplification {
    /// The sum of all causes; 1 if nothing was programmed.
    pub total: f64,
    /// Pages of the host that were written as they came.
    pub host: f64,
    /// Pages of the host of which other sectors had to be read first.
    pub merge: f64,
    /// Pages moved to win space.
    pub gc: f64,
    /// Pages moved to level wear.
    pub wear: f64,
    /// Translation pages.
    pub mapping: f64,
    /// Bytes programmed for each byte that the host wrote. It also counts padding, and what the
    /// data cache absorbed. `null` if the host wrote nothing.
    pub bytes: Option<f64>,
}

/// Garbage collection and wear levelling of the whole drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Blocks collected to win space.
    pub executions: u64,
    /// Blocks collected to level wear.
    pub wear_executions: u64,
    /// Pages moved out of these blocks.
    pub moved_pages: u64,
    /// Pages moved to level wear, contained in `moved_pages`.
    pub wear_moved_pages: u64,
    /// Moves without effect, because the host had rewritten or trimmed the page meanwhile.
    pub moves_dropped: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Host writes that had to wait for a free block.
    pub held_writes: u64,
    /// How many blocks were erased how often.
    pub erase_histogram: Vec<EraseBin>,
}

/// What the SLC cache of the drive did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcCache {
    /// Pages of the host programmed in SLC mode, contained in `flash.pages_programmed_host`.
    pub written_pages: u64,
    /// Pages moved out of blocks in SLC mode, contained in `collection.moved_pages`.
    pub folded_pages: u64,
    /// Blocks folded because the host left the drive alone, contained in `collection.executions`.
    pub idle_folds: u64,
    /// Blocks folded because free blocks were few, contained in `collection.executions`.
    pub pressed_folds: u64,
    /// Blocks in SLC mode at the end.
    pub blocks: u64,
}

/// Blocks with the same erase count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseBin {
    /// The erase count.
    pub erases: u32,
    /// Number of blocks.
    pub blocks: u64,
}

/// The cached mapping table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// The whole table lies in DRAM; no look-up is counted.
    pub ideal: bool,
    /// Look-ups that hit.
    pub hits: u64,
    /// Look-ups for reads that missed.
    pub misses_read: u64,
    /// Look-ups for writes that missed.
    pub misses_write: u64,
    /// Misses that cost no flash read.
    pub misses_free: u64,
    /// Hits divided by look-ups; `null` if there was no look-up.
    pub hit_rate: Option<f64>,
    /// Translation pages read from flash.
    pub page_reads: u64,
    /// Translation pages written back to flash.
    pub writebacks: u64,
}

/// The DRAM data cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataCache {
    /// Pages that reads looked for in the cache.
    pub read_lookups: u64,
    /// Pages that the cache held in full.
    pub read_hits: u64,
    /// `read_hits` divided by `read_lookups`; `null` if there was no look-up.
    pub read_hit_rate: Option<f64>,
    /// Pages written into the cache.
    pub writes: u64,
    /// Pages written into the cache that it already held.
    pub write_hits: u64,
    /// `write_hits` divided by `writes`; `null` if there was no write.
    pub write_hit_rate: Option<f64>,
}

/// Busy time divided by the time from the first arrival to the end of the run.
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
    /// The arrays of the dies.
    pub dies: Busy,
}

/// Busy shares of several equal parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// The average of all parts.
    pub mean: f64,
    /// The idlest part.
    pub min: f64,
    /// The busiest part.
    pub max: f64,
    /// All parts, one after the other.
    pub each: Vec<f64>,
}

/// Where the capacity is, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// All flash pages.
    pub raw_bytes: u64,
    /// What the host can address.
    pub visible_bytes: u64,
    /// Flash pages that the host cannot address.
    pub overprovisioned_bytes: u64,
    /// The part of `overprovisioned_bytes` that collection keeps free.
    pub gc_reserve_bytes: u64,
    /// The part of `overprovisioned_bytes` in open blocks.
    pub frontier_bytes: u64,
    /// Logical pages that hold data at the end.
    pub mapped_bytes: u64,
    /// Free blocks at the end.
    pub free_bytes: u64,
}

/// Reads of pages that held no data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnwrittenReads {
    /// Pages read by the host.
    pub page_reads: u64,
    /// Pages read by the host that held no data.
    pub pages: u64,
    /// `pages` divided by `page_reads`.
    pub share: f64,
}

/// Figures about the simulation, not about the drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulation {
    /// Events processed.
    pub events: u64,
    /// Memory that the state of the FTL takes, in bytes.
    pub ftl_memory_bytes: u64,
    /// Pages written before the run, without time, to age the drive.
    #[serde(default)]
    pub warm_up_pages: u64,
    /// How the data were written that the drive held at the start, before any ageing.
    #[serde(default)]
    pub initial_state: InitialState,
    /// Pages that held data at the start.
    #[serde(default)]
    pub initial_pages: u64,
}
