//! The configuration of one drive: one struct for each part, each field a tunable of the parameter
//! catalogue.
//!
//! A [`DeviceConfig`] is plain data and may be nonsense; [`DeviceConfig::check`] turns it into
//! something that a simulator may trust. [`DeviceConfig::default`] is the drive that MQSim ships as
//! its example, without MQSim's peculiarities (no [`Compat`] switch is on).

mod choices;
mod compat;
mod constants;
mod defaults;
mod placement;
mod slc_cache;

pub use choices::{
    Allocation, BusOrder, CacheMode, CommandTimes, FlashTechnology, GcPolicy, GcUnit,
    HostInterface, IntervalStart, MovedPages, PlacementMemory, PlacementPolicy, PlaneOrder,
    Priority, Scheduler, Sharing, SuspensionSupport, TableScale, UpdateUnit,
};
pub use compat::Compat;
pub use constants::{Ageing, Energy};
pub use placement::{
    DAC_REGIONS, Frontiers, HAML_SLICE_BYTES, LIFESPAN_FRONTIERS, MAX_FRONTIERS, MIDAS_GROUPS,
    Placement, WARCIP_CLUSTERS,
};
pub use slc_cache::SlcCache;

use crate::geometry::Geometry;
use crate::units::{Bytes, Nanos};

/// A drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    /// What reports call the drive. Not a parameter: it changes no result.
    pub name: String,
    /// How a run begins and what it logs. Files that describe drives carry it, though it is no part
    /// of the hardware.
    pub run: Run,
    /// The link to the host and its queues.
    pub host: Host,
    /// What the controller takes for a command, besides link, DRAM and flash.
    pub controller: Controller,
    /// The DRAM data cache and the DRAM behind it.
    pub cache: Cache,
    /// The mapping table, and the plane that a written page goes to.
    pub mapping: Mapping,
    /// The write frontier that a page goes to within its plane.
    pub placement: Placement,
    /// Garbage collection.
    pub gc: Gc,
    /// Wear levelling.
    pub wear: Wear,
    /// Interruption of programs and erases.
    pub suspension: Suspension,
    /// The channels between controller and flash.
    pub bus: Bus,
    /// The flash chips.
    pub flash: Flash,
    /// Blocks written with one bit in each cell.
    pub slc_cache: SlcCache,
    /// Read retry, and latencies that change with wear.
    pub ageing: Ageing,
    /// Energy constants.
    pub energy: Energy,
    /// Switches that reproduce MQSim; all off by default.
    pub compat: Compat,
}

/// How a run begins and what it logs.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Seed of every random choice inside the drive.
    pub seed: u64,
    /// Whether the run begins with a used drive in its steady state instead of an empty one.
    pub preconditioned: bool,
    /// Whether MQSim writes its periodic log of response times. ssdtune ignores it.
    pub response_log: bool,
    /// Period of MQSim's log of response times, in microseconds. ssdtune ignores it.
    pub response_log_period_us: u64,
}

/// The link to the host and its queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The protocol: NVMe or SATA.
    pub interface: HostInterface,
    /// Bandwidth of one PCIe lane in each direction, in GB/s, which is bytes per nanosecond.
    pub pcie_lane_bandwidth_gbps: f64,
    /// PCIe lanes of the link.
    pub pcie_lanes: u32,
    /// Entries of each submission and completion queue (NVMe) or of the command queue (SATA).
    pub queue_depth: u32,
    /// Requests of one flow that the drive has in service at once (NVMe only).
    pub queue_fetch_size: u32,
    /// Time that the SATA host adapter takes for a command in each direction.
    pub sata_processing_delay: Nanos,
    /// Time that the host's software takes for a request before the drive hears of it. Requests do
    /// not wait for each other.
    pub request_time: Nanos,
    /// Processors of the host that send requests.
    pub cores: u32,
    /// Requests that each of them sends in a second; 0 if that has no limit.
    pub core_rate: u64,
}

/// What the controller takes for a command, besides link, DRAM and flash. All of it is off in the
/// default drive, as MQSim has nothing of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// Time for a read command. Commands do not wait for each other.
    pub read_time: Nanos,
    /// Time for a write command, whose data are then in the data cache. Commands do not wait for
    /// each other.
    pub write_time: Nanos,
    /// Processors that take commands, each one after the other.
    pub cores: u32,
    /// Commands that each of them takes in a second; 0 if that has no limit.
    pub core_rate: u64,
    /// How the time of a processor for one command varies.
    pub core_times: CommandTimes,
    /// Time from the end of a page's transfer out of its die until the host can have it, for each
    /// 4 KiB: error correction and copying.
    pub pipeline_time: Nanos,
    /// Bytes that can move between the host's side and the flash's in a second, both directions
    /// together, in MB/s; 0 if that has no limit.
    pub bandwidth_mbs: u32,
    /// Bytes that the host can write in a second, in MB/s; 0 if that has no other limit.
    pub write_bandwidth_mbs: u32,
}

/// The DRAM data cache and the DRAM behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// What the cache holds, unless a flow of the workload says otherwise.
    pub mode: CacheMode,
    /// Whether tenants share the cache or have equal parts of it.
    pub sharing: Sharing,
    /// Size of the data cache.
    pub capacity: Bytes,
    /// Bytes of the cache in which written data are safe from power loss until they are on flash,
    /// where each write sends them at once; 0 if written pages stay in the cache as MQSim's do.
    pub write_buffer: Bytes,
    /// How far behind reads that follow each other pages are read before the host asks for them; 0
    /// if none are.
    pub read_ahead: Bytes,
    /// Bytes of one DRAM row. A longer access opens more rows.
    pub dram_row_bytes: u32,
    /// Transfers of the DRAM in millions per second.
    pub dram_data_rate_mts: u32,
    /// Bytes of one DRAM transfer.
    pub dram_burst_bytes: u32,
    /// Time from the activation of a DRAM row to the column command (tRCD).
    pub dram_t_rcd: Nanos,
    /// Time from the column command to the data (tCL).
    pub dram_t_cl: Nanos,
    /// Time to close a DRAM row (tRP, precharge).
    pub dram_t_rp: Nanos,
}

impl Cache {
    /// Streams of reads that are read ahead of at once.
    pub const READ_STREAMS: usize = 8;
}

/// The mapping table, and the plane that a written page goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// Whether the whole table is in DRAM, where a look-up takes no time.
    pub ideal: bool,
    /// DRAM for the cached mapping table (CMT).
    pub cmt_capacity: Bytes,
    /// Whether tenants share the cached mapping table or have equal parts of it.
    pub cmt_sharing: Sharing,
    /// Order in which consecutive logical pages are spread over channels, chips, dies and planes.
    pub plane_order: PlaneOrder,
    /// What decides the plane of a written page.
    pub allocation: Allocation,
    /// Share of the raw capacity that the host does not see, 0 to 0.95.
    pub overprovisioning: f64,
    /// Bytes that one entry of the table covers; 0 stands for a page. Smaller units share pages.
    pub unit_bytes: u32,
    /// Dies over which neighbouring units of a superblock are dealt before a page of one die is
    /// full; 1 fills one die after the other.
    pub stripe_dies: u32,
}

/// Garbage collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Gc {
    /// Which block is collected next.
    pub policy: GcPolicy,
    /// A plane collects when fewer than this share of its blocks are free, 0 to 1.
    pub threshold: f64,
    /// When fewer than this share of a plane's blocks are free, collection goes before the host
    /// even if it is pre-emptible.
    pub hard_threshold: f64,
    /// Whether the host goes before collection until the hard threshold is reached.
    pub preemptible: bool,
    /// Whether pages are moved inside their plane, without a trip over the channel.
    pub copyback: bool,
    /// Blocks that the d-choices policy draws; 0 stands for the binary logarithm of the blocks per
    /// plane.
    pub choices: u32,
    /// Oldest blocks that the windowed greedy policy looks at; 0 stands for an eighth of the blocks
    /// per plane.
    pub window: u32,
    /// What is filled, collected and erased as one.
    pub unit: GcUnit,
    /// Whether collection of superblocks advances with the writes of the host instead of as fast as
    /// it can.
    pub paced: bool,
    /// Whether collection of superblocks reads one plane of a die at a time.
    pub single_plane_reads: bool,
}

/// Wear levelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Wear {
    /// Whether a new write frontier takes the free block with the fewest erases.
    pub dynamic_leveling: bool,
    /// Whether cold blocks are moved when erase counts have drifted apart.
    pub static_leveling: bool,
    /// How far apart erase counts may drift before cold blocks are moved.
    pub static_threshold: u32,
}

/// Interruption of programs and erases by operations that wait for the die.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspension {
    /// Which operations may be interrupted.
    pub support: SuspensionSupport,
    /// A read interrupts an erase only if at least this much of it is left.
    pub erase_for_read: Nanos,
    /// A program interrupts an erase only if at least this much of it is left.
    pub erase_for_program: Nanos,
    /// A read interrupts a program only if at least this much of it is left.
    pub program_for_read: Nanos,
    /// Time to bring an erase to a halt.
    pub suspend_erase: Nanos,
    /// Time to bring a program to a halt.
    pub suspend_program: Nanos,
    /// How often one operation may be interrupted, so that reads cannot starve it.
    pub interruptions_max: u32,
}

/// The channels between controller and flash, and the scheduler that shares them.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Number of channels.
    pub channels: u32,
    /// Bytes of one transfer on a channel.
    pub width_bytes: u32,
    /// Transfers of a channel in millions per second.
    pub rate_mts: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// In what order waiting flash transactions are served.
    pub scheduler: Scheduler,
    /// What a free channel carries first.
    pub order: BusOrder,
}

/// The flash chips; all are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Bits per cell.
    pub technology: FlashTechnology,
    /// Time to read a page from the cells, by page type: least significant bits (LSB), central
    /// (CSB), most significant (MSB), top (TSB). [`FlashTechnology::page_types`] says which of them
    /// exist.
    pub read_latency: [Nanos; 4],
    /// Time to program a page, by page type: least significant bits, central, most significant,
    /// top.
    pub program_latency: [Nanos; 4],
    /// Time to erase a block.
    pub erase_latency: Nanos,
    /// Erases that a block is rated for. Reports state endurance against it.
    pub pe_cycles_limit: u32,
    /// Whether one command programs all pages of a word line, in the time of one of them.
    pub one_shot: bool,
    /// Whether each plane of a die reads for itself.
    pub independent_plane_reads: bool,
    /// Whether a die reads the next page while the data of the last one leave its cache register.
    pub cache_read: bool,
    /// Whether a die takes the data of the next page while it programs.
    pub cache_program: bool,
    /// Time to move a page between the two registers of a die for a cache command.
    pub cache_busy: Nanos,
    /// Dies in a chip.
    pub dies_per_chip: u32,
    /// Planes in a die.
    pub planes_per_die: u32,
    /// Blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Data bytes of a page.
    pub page_bytes: u32,
    /// Spare bytes of a page. They are never transferred.
    pub page_metadata_bytes: u32,
}

impl DeviceConfig {
    /// Pages that one program command gives a plane at most: those of a word line, or one.
    pub fn pages_per_program(&self) -> u32 {
        if self.flash.one_shot { self.flash.technology.page_types().len() as u32 } else { 1 }
    }

    /// Dies whose pages are filled together, unit by unit in turn: 1 unless a superblock lies in
    /// all dies.
    pub fn stripes_together(&self) -> u32 {
        if self.gc.unit == GcUnit::Drive { self.mapping.stripe_dies.max(1) } else { 1 }
    }

    /// Mapping units that share a page; 1 unless they are smaller than a page.
    pub fn units_per_page(&self) -> u32 {
        match self.mapping.unit_bytes {
            0 => 1,
            bytes => (self.flash.page_bytes / bytes).max(1),
        }
    }

    /// The shape of the flash array as it is built.
    pub fn flash_geometry(&self) -> Geometry {
        Geometry {
            channels: self.bus.channels,
            chips_per_channel: self.bus.chips_per_channel,
            dies_per_chip: self.flash.dies_per_chip,
            planes_per_die: self.flash.planes_per_die,
            blocks_per_plane: self.flash.blocks_per_plane,
            pages_per_block: self.flash.pages_per_block,
            page_bytes: self.flash.page_bytes,
        }
    }

    /// The shape of the flash array as it is addressed: that as it is built, unless several mapping
    /// units share a page. Then a page of this geometry is one unit, and the units of a page lie
    /// next to each other in planes of their own: one plane with pages of four units is four planes
    /// with pages of one unit, which the same commands serve.
    pub fn geometry(&self) -> Geometry {
        let (units, at) = (self.units_per_page(), self.flash_geometry());
        Geometry {
            planes_per_die: at.planes_per_die * units,
            page_bytes: at.page_bytes / units,
            ..at
        }
    }

    /// The shape of the flash as it is allocated and collected. With superblocks, the planes that
    /// one lies in count as one plane, whose blocks are the superblocks.
    pub fn allocation_geometry(&self) -> Geometry {
        let at = self.geometry();
        match self.gc.unit {
            GcUnit::Block => at,
            GcUnit::Die => Geometry {
                planes_per_die: 1,
                pages_per_block: at.pages_per_block * at.planes_per_die,
                ..at
            },
            GcUnit::Drive => Geometry {
                channels: 1,
                chips_per_channel: 1,
                dies_per_chip: 1,
                planes_per_die: 1,
                pages_per_block: at.pages_per_block * at.planes() as u32,
                ..at
            },
        }
    }
}
