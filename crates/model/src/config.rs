//! The configuration of one drive: one struct per part, every field a tunable of the parameter
//! catalogue.
//!
//! A [`DeviceConfig`] is plain data and may be nonsense; `validate` (see the catalogue) turns it
//! into something a simulator may trust. [`DeviceConfig::default`] is the drive that MQSim ships as
//! its example, with ssdtune's right semantics (no [`Compat`] switch on).

mod constants;

pub use constants::{Ageing, Energy};

use crate::geometry::Geometry;
use crate::units::{Bytes, Nanos};

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal | $mqsim:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every value, in the order the documentation lists them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in ssdtune's own files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The name in MQSim's XML; empty where MQSim has no such value.
            pub const fn mqsim_name(self) -> &'static str {
                match self { $(Self::$variant => $mqsim,)+ }
            }

            /// Each value's name here and in MQSim, in the order of [`ALL`](Self::ALL).
            pub const NAMES: &[(&str, &str)] = &[$(($text, $mqsim),)+];

            /// The value of that name in ssdtune's own files.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }

            /// The value of that name in MQSim's XML.
            pub fn from_mqsim_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| !name.is_empty() && value.mqsim_name() == name)
            }
        }

        impl crate::catalogue::Field for $name {
            fn value(&self) -> crate::catalogue::Value {
                crate::catalogue::Value::Name(self.name())
            }

            fn assign(&mut self, value: crate::catalogue::Value) -> bool {
                let crate::catalogue::Value::Name(name) = value else { return false };
                Self::from_name(name).map(|value| *self = value).is_some()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

choice!(
    /// How the host talks to the drive.
    HostInterface {
        /// NVMe over PCIe: several queues, deep.
        Nvme = "nvme" | "NVME",
        /// SATA with native command queueing: one queue, one more server in each direction.
        Sata = "sata" | "SATA",
    }
);

choice!(
    /// What the DRAM data cache holds.
    CacheMode {
        /// Nothing: writes complete when programmed.
        Off = "off" | "TURNED_OFF",
        /// Pages read from flash.
        Read = "read" | "READ_CACHE",
        /// Pages written by the host, until they reach flash.
        Write = "write" | "WRITE_CACHE",
        /// Both.
        ReadWrite = "read-write" | "WRITE_READ_CACHE",
    }
);

choice!(
    /// How tenants share a DRAM structure.
    Sharing {
        /// One structure for all.
        Shared = "shared" | "SHARED",
        /// An equal part each.
        EqualPartitions = "equal-partitions" | "EQUAL_PARTITIONING",
    }
);

choice!(
    /// NVMe priority class of a flow.
    Priority {
        /// Before all others.
        Urgent = "urgent" | "URGENT",
        /// Weight 4 of the weighted round robin.
        High = "high" | "HIGH",
        /// Weight 2.
        Medium = "medium" | "MEDIUM",
        /// Weight 1.
        Low = "low" | "LOW",
    }
);

choice!(
    /// In what order the flash scheduler serves waiting transactions.
    Scheduler {
        /// Oldest ready transaction first, whatever its class.
        OutOfOrder = "out-of-order" | "OUT_OF_ORDER",
        /// Likewise within a priority class; classes share by weight.
        PriorityOutOfOrder = "priority-out-of-order" | "PRIORITY_OUT_OF_ORDER",
    }
);

choice!(
    /// Which levels a logical page number walks through first when it is placed: letters name
    /// channel (C), chip or way (W), die (D) and plane (P), fastest-varying first.
    PlaneOrder {
        /// Channel, way, die, plane.
        Cwdp = "CWDP" | "CWDP",
        /// Channel, way, plane, die.
        Cwpd = "CWPD" | "CWPD",
        /// Channel, die, way, plane.
        Cdwp = "CDWP" | "CDWP",
        /// Channel, die, plane, way.
        Cdpw = "CDPW" | "CDPW",
        /// Channel, plane, way, die.
        Cpwd = "CPWD" | "CPWD",
        /// Channel, plane, die, way.
        Cpdw = "CPDW" | "CPDW",
        /// Way, channel, die, plane.
        Wcdp = "WCDP" | "WCDP",
        /// Way, channel, plane, die.
        Wcpd = "WCPD" | "WCPD",
        /// Way, die, channel, plane.
        Wdcp = "WDCP" | "WDCP",
        /// Way, die, plane, channel.
        Wdpc = "WDPC" | "WDPC",
        /// Way, plane, channel, die.
        Wpcd = "WPCD" | "WPCD",
        /// Way, plane, die, channel.
        Wpdc = "WPDC" | "WPDC",
        /// Die, channel, way, plane.
        Dcwp = "DCWP" | "DCWP",
        /// Die, channel, plane, way.
        Dcpw = "DCPW" | "DCPW",
        /// Die, way, channel, plane.
        Dwcp = "DWCP" | "DWCP",
        /// Die, way, plane, channel.
        Dwpc = "DWPC" | "DWPC",
        /// Die, plane, channel, way.
        Dpcw = "DPCW" | "DPCW",
        /// Die, plane, way, channel.
        Dpwc = "DPWC" | "DPWC",
        /// Plane, channel, way, die.
        Pcwd = "PCWD" | "PCWD",
        /// Plane, channel, die, way.
        Pcdw = "PCDW" | "PCDW",
        /// Plane, way, channel, die.
        Pwcd = "PWCD" | "PWCD",
        /// Plane, way, die, channel.
        Pwdc = "PWDC" | "PWDC",
        /// Plane, die, channel, way.
        Pdcw = "PDCW" | "PDCW",
        /// Plane, die, way, channel.
        Pdwc = "PDWC" | "PDWC",
    }
);

choice!(
    /// Who chooses the plane of a written page.
    Allocation {
        /// The plane order, from the logical page number alone.
        Static = "static" | "",
        /// The plane with the least work waiting at the time of the write.
        Dynamic = "dynamic" | "",
        /// Per tenant: static for readers, dynamic for writers (SSDKeeper, section IV-E).
        Hybrid = "hybrid" | "",
    }
);

choice!(
    /// Which block garbage collection takes.
    GcPolicy {
        /// The one with the most invalid pages.
        Greedy = "greedy" | "GREEDY",
        /// The greedy choice among d random blocks (d-choices, randomised greedy).
        Rga = "d-choices" | "RGA",
        /// Any.
        Random = "random" | "RANDOM",
        /// Any full one.
        RandomPlus = "random+" | "RANDOM_P",
        /// Any full one with at least a threshold of invalid pages.
        RandomPlusPlus = "random++" | "RANDOM_PP",
        /// The one written longest ago.
        Fifo = "fifo" | "FIFO",
        /// The best ratio of space won, times age, to pages moved.
        CostBenefit = "cost-benefit" | "",
        /// The greedy choice among the blocks written longest ago.
        WindowedGreedy = "windowed-greedy" | "",
    }
);

choice!(
    /// Which write frontier of its plane a page goes to.
    PlacementPolicy {
        /// One for host data, one for moved pages.
        None = "none" | "",
        /// One for each application (AutoStream's aim; a tenant has its own in any case).
        AutoStream = "auto-stream" | "",
        /// Hot and cold by constant thresholds, with data that are updated at long intervals among
        /// the hot.
        Hotis = "hotis" | "",
        /// Three clusters of update frequency, by k-means over a sample.
        AsaFtl = "asa-ftl" | "",
        /// Clusters of update frequency and update interval, by k-means over slices (HAML-SSD).
        Haml = "haml" | "",
        /// By the inferred time until a page's death (SepBIT).
        Sepbit = "sepbit" | "",
    }
);

choice!(
    /// Which write frontiers take the pages that collection moves.
    MovedPages {
        /// Those that the placement policy names: one of their own for `none` and `auto-stream`,
        /// four for `sepbit`, one for each queue for the others.
        Policy = "policy" | "",
        /// Those of host data.
        WithHost = "with-host" | "",
        /// One of their own.
        Together = "together" | "",
        /// One for each queue, apart from host data.
        ByQueue = "by-queue" | "",
    }
);

choice!(
    /// How HAML-SSD's tables become coordinates of k-means.
    TableScale {
        /// In proportion to the largest value, as the paper does.
        Linear = "linear" | "",
        /// By the logarithm: the few slices with most of the updates do not press all others
        /// together.
        Log = "log" | "",
    }
);

choice!(
    /// Bits per flash cell.
    FlashTechnology {
        /// One bit.
        Slc = "slc" | "SLC",
        /// Two bits.
        Mlc = "mlc" | "MLC",
        /// Three bits.
        Tlc = "tlc" | "TLC",
        /// Four bits.
        Qlc = "qlc" | "",
    }
);

choice!(
    /// Which flash operations a waiting one may interrupt.
    SuspensionSupport {
        /// None.
        None = "none" | "NONE",
        /// A program, for a read.
        Program = "program" | "PROGRAM",
        /// An erase, for a read or a program.
        Erase = "erase" | "ERASE",
        /// Both.
        ProgramErase = "program-erase" | "PROGRAM_ERASE",
    }
);

/// A drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    /// What reports call it. Not a parameter.
    pub name: String,
    /// How a run begins and what it logs; not silicon, but files that describe drives carry it.
    pub run: Run,
    /// The link to the host and its queues.
    pub host: Host,
    /// The DRAM data cache.
    pub cache: Cache,
    /// The mapping table and where written pages go.
    pub mapping: Mapping,
    /// Which write frontier a page goes to.
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
    /// Read retry, and latencies that change with wear.
    pub ageing: Ageing,
    /// Energy constants.
    pub energy: Energy,
    /// Peculiarities of other simulators, all off by default.
    pub compat: Compat,
}

/// How a run begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Seed of every random choice inside the drive.
    pub seed: u64,
    /// Begin with a used drive (steady state) instead of an empty one.
    pub preconditioned: bool,
    /// MQSim's periodic response-time log.
    pub response_log: bool,
    /// Its period.
    pub response_log_period_us: u64,
}

/// The host link and its queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// NVMe or SATA.
    pub interface: HostInterface,
    /// Bandwidth of one PCIe lane in GB/s, which is bytes per nanosecond.
    pub pcie_lane_bandwidth_gbps: f64,
    /// PCIe lanes.
    pub pcie_lanes: u32,
    /// Entries of each submission and completion queue.
    pub queue_depth: u32,
    /// Requests of one flow that the drive has in service at once (NVMe).
    pub queue_fetch_size: u32,
    /// Time of the SATA host adapter per command and direction.
    pub sata_processing_delay: Nanos,
}

/// The DRAM data cache and the DRAM behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// What it holds, unless a flow says otherwise.
    pub mode: CacheMode,
    /// Whether tenants share it.
    pub sharing: Sharing,
    /// Its size.
    pub capacity: Bytes,
    /// Bytes of one DRAM row.
    pub dram_row_bytes: u32,
    /// Mega-transfers per second.
    pub dram_data_rate_mts: u32,
    /// Bytes of one transfer.
    pub dram_burst_bytes: u32,
    /// Row activate to column command.
    pub dram_t_rcd: Nanos,
    /// Column command to data.
    pub dram_t_cl: Nanos,
    /// Precharge.
    pub dram_t_rp: Nanos,
}

/// The mapping table and page placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The whole table in DRAM, at no cost.
    pub ideal: bool,
    /// DRAM for cached mapping entries.
    pub cmt_capacity: Bytes,
    /// Whether tenants share them.
    pub cmt_sharing: Sharing,
    /// Static order of planes.
    pub plane_order: PlaneOrder,
    /// Who chooses the plane of a write.
    pub allocation: Allocation,
    /// Share of the raw capacity the host does not see.
    pub overprovisioning: f64,
}

/// Which write frontier a page goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The policy.
    pub policy: PlacementPolicy,
    /// Where moved pages go.
    pub moved: MovedPages,
    /// Clusters of HAML-SSD.
    pub clusters: u32,
    /// Slices into which HAML-SSD divides the logical pages.
    pub slices: u32,
    /// Time between two trainings of HAML-SSD.
    pub period: Nanos,
    /// Iterations of a training.
    pub iterations: u32,
    /// How updates and intervals are scaled.
    pub scale: TableScale,
    /// Cluster by update interval as well as by update frequency.
    pub interval: bool,
    /// Choose free blocks, and exchange hot and cold data, by wear as HAML-SSD does.
    pub wear_rules: bool,
}

/// Write frontiers of a tenant in a plane, those of translation pages aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frontiers {
    /// For host data; pages moved by collection go to them too if there are no others.
    pub host: u32,
    /// For pages moved by collection alone.
    pub moved: u32,
}

impl Placement {
    /// The frontiers that the policy has.
    pub const fn frontiers(&self) -> Frontiers {
        let host = match self.policy {
            PlacementPolicy::None => 1,
            PlacementPolicy::AutoStream => MAX_FRONTIERS,
            PlacementPolicy::Hotis | PlacementPolicy::Sepbit => 2,
            PlacementPolicy::AsaFtl => 3,
            PlacementPolicy::Haml => self.clusters,
        };
        let moved = match (self.moved, self.policy) {
            (_, PlacementPolicy::Sepbit) => 4,
            (MovedPages::WithHost, _) => 0,
            (MovedPages::Together, _)
            | (MovedPages::Policy, PlacementPolicy::None | PlacementPolicy::AutoStream) => 1,
            (MovedPages::ByQueue | MovedPages::Policy, _) => host,
        };
        Frontiers { host, moved }
    }
}

/// Frontiers of host data that a plane may have.
pub const MAX_FRONTIERS: u32 = 16;

/// Garbage collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Gc {
    /// Victim selection.
    pub policy: GcPolicy,
    /// A plane collects when fewer than this share of its blocks are free.
    pub threshold: f64,
    /// Below this share collection goes before the host even when it is pre-emptible.
    pub hard_threshold: f64,
    /// The host goes first while the hard threshold holds.
    pub preemptible: bool,
    /// Move pages inside the plane without a trip over the channel.
    pub copyback: bool,
    /// Candidates of the d-choices policy; 0 takes the binary logarithm of the blocks per plane.
    pub choices: u32,
    /// Oldest blocks the windowed greedy policy looks at; 0 takes an eighth of the blocks per
    /// plane.
    pub window: u32,
}

/// Wear levelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Wear {
    /// New frontiers take the least-erased free block.
    pub dynamic_leveling: bool,
    /// Cold blocks are moved when erase counts have drifted apart.
    pub static_leveling: bool,
    /// By how many erases.
    pub static_threshold: u32,
}

/// Interruption of programs and erases.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspension {
    /// What may be interrupted.
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
    /// Channels.
    pub channels: u32,
    /// Bytes per transfer.
    pub width_bytes: u32,
    /// Mega-transfers per second.
    pub rate_mts: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Order of service.
    pub scheduler: Scheduler,
}

/// One flash chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Bits per cell.
    pub technology: FlashTechnology,
    /// Array read time of the page types: least significant bit, the ones between, most
    /// significant. SLC uses the first, MLC the first and third, TLC the first three, QLC all four.
    pub read_latency: [Nanos; 4],
    /// Program time of the page types, likewise.
    pub program_latency: [Nanos; 4],
    /// Erase time of a block.
    pub erase_latency: Nanos,
    /// Erases a block is rated for.
    pub pe_cycles_limit: u32,
    /// A die reads the next page while the data of the last one leave its cache register.
    pub cache_read: bool,
    /// A die takes the data of the next page while it programs.
    pub cache_program: bool,
    /// Time to move a page between the two registers of a die, where a cache command does.
    pub cache_busy: Nanos,
    /// Dies in the chip.
    pub dies_per_chip: u32,
    /// Planes in a die.
    pub planes_per_die: u32,
    /// Blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Data bytes of a page.
    pub page_bytes: u32,
    /// Spare bytes of a page; they are never transferred.
    pub page_metadata_bytes: u32,
}

/// Peculiarities of MQSim (commit 722cd84) that change a number without being a crash or a lost
/// request. Each is off for ssdtune's own drives and switched on by importing an MQSim XML, so that
/// imported configurations agree with MQSim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// A chip takes commands only when all its dies are idle and its read data have left.
    pub chip_idle_batches: bool,
    /// Flash transfer times are rounded down to whole nanoseconds per transfer.
    pub integer_bus_ns: bool,
    /// DRAM accesses beyond one row use MQSim's formula.
    pub dram_row_formula: bool,
    /// Reading a page never written allocates and reads one.
    pub read_allocates: bool,
    /// Writes of translation pages cost nothing and never end.
    pub free_mapping_writes: bool,
    /// Garbage collection starts below ten free blocks per plane however small the plane.
    pub gc_reserve_ten: bool,
    /// Static wear levelling never starts.
    pub no_static_wear_leveling: bool,
    /// Each tenant takes its three write frontiers of every plane at the start.
    pub eager_frontiers: bool,
    /// Tenants that share the mapping cache have a full-sized one each.
    pub cmt_private_copies: bool,
    /// A page read into the data cache is found by what the flash stores as its owner: nothing for
    /// pages that were never programmed.
    pub read_fill_by_flash_owner: bool,
    /// Pages read into the data cache are marked dirty and charged twice.
    pub read_fill_dirty: bool,
    /// The destage set forgets the write that clears it as well.
    pub destage_forgets_all: bool,
    /// A cached page that is written again and written back carries only the sectors of the last
    /// write; older ones vanish.
    pub destage_drops_sectors: bool,
    /// A dirty page that another tenant pushes out of a shared data cache is written to that
    /// tenant's address of the same number.
    pub evict_to_evictor: bool,
    /// A tenant's space begins right behind the one before, even in the middle of a page.
    pub unaligned_tenants: bool,
    /// An erase command erases one block, never one in each of several planes.
    pub single_plane_erases: bool,
    /// Request sizes wrap at 65,536 sectors.
    pub wrap_request_size: bool,
    /// A drive that starts in steady state has half the threshold of collection in its pool, and
    /// its oldest blocks are its fullest.
    pub analytic_start: bool,
}

impl Compat {
    /// All switches on: what importing an MQSim XML sets.
    pub const MQSIM: Self = Self {
        chip_idle_batches: true,
        integer_bus_ns: true,
        dram_row_formula: true,
        read_allocates: true,
        free_mapping_writes: true,
        gc_reserve_ten: true,
        no_static_wear_leveling: true,
        eager_frontiers: true,
        cmt_private_copies: true,
        read_fill_by_flash_owner: true,
        read_fill_dirty: true,
        destage_forgets_all: true,
        destage_drops_sectors: true,
        evict_to_evictor: true,
        unaligned_tenants: true,
        single_plane_erases: true,
        wrap_request_size: true,
        analytic_start: true,
    };
}

impl DeviceConfig {
    /// The shape of the flash array.
    pub fn geometry(&self) -> Geometry {
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
}

impl Default for DeviceConfig {
    fn default() -> Self {
        let read = Nanos::from_us(75);
        let program = Nanos::from_us(750);
        Self {
            name: "default".to_owned(),
            run: Run {
                seed: 321,
                preconditioned: false,
                response_log: false,
                response_log_period_us: 1_000_000,
            },
            host: Host {
                interface: HostInterface::Nvme,
                pcie_lane_bandwidth_gbps: 1.0,
                pcie_lanes: 4,
                queue_depth: 1024,
                queue_fetch_size: 512,
                sata_processing_delay: Nanos::from_us(400),
            },
            cache: Cache {
                mode: CacheMode::Write,
                sharing: Sharing::Shared,
                capacity: Bytes::from_mib(256),
                dram_row_bytes: 8192,
                dram_data_rate_mts: 800,
                dram_burst_bytes: 4,
                dram_t_rcd: Nanos(13),
                dram_t_cl: Nanos(13),
                dram_t_rp: Nanos(13),
            },
            mapping: Mapping {
                ideal: false,
                cmt_capacity: Bytes::from_mib(2),
                cmt_sharing: Sharing::Shared,
                plane_order: PlaneOrder::Cwdp,
                allocation: Allocation::Static,
                overprovisioning: 0.07,
            },
            placement: Placement {
                policy: PlacementPolicy::None,
                moved: MovedPages::Policy,
                clusters: 6,
                slices: 2_560,
                // Six hours.
                period: Nanos(21_600_000_000_000),
                iterations: 10,
                scale: TableScale::Linear,
                interval: true,
                wear_rules: true,
            },
            gc: Gc {
                policy: GcPolicy::Greedy,
                threshold: 0.05,
                hard_threshold: 0.005,
                preemptible: false,
                copyback: false,
                choices: 0,
                window: 0,
            },
            wear: Wear { dynamic_leveling: true, static_leveling: true, static_threshold: 100 },
            suspension: Suspension {
                support: SuspensionSupport::None,
                erase_for_read: Nanos::from_us(700),
                erase_for_program: Nanos::from_us(700),
                program_for_read: Nanos::from_us(100),
                suspend_erase: Nanos::from_us(700),
                suspend_program: Nanos::from_us(100),
                interruptions_max: 8,
            },
            bus: Bus {
                channels: 8,
                width_bytes: 1,
                rate_mts: 333,
                chips_per_channel: 4,
                scheduler: Scheduler::OutOfOrder,
            },
            flash: Flash {
                technology: FlashTechnology::Mlc,
                read_latency: [read; 4],
                program_latency: [program; 4],
                erase_latency: Nanos(3_800_000),
                pe_cycles_limit: 10_000,
                cache_read: false,
                cache_program: false,
                cache_busy: Nanos(3_000),
                dies_per_chip: 2,
                planes_per_die: 2,
                blocks_per_plane: 2048,
                pages_per_block: 256,
                page_bytes: 8192,
                page_metadata_bytes: 448,
            },
            ageing: Ageing::default(),
            energy: Energy::default(),
            compat: Compat::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_drive_is_mqsims_example_of_512_gib() {
        assert_eq!(DeviceConfig::default().geometry().raw_capacity(), Bytes::from_gib(512));
    }

    #[test]
    fn plane_orders_are_the_24_permutations() {
        assert_eq!(PlaneOrder::ALL.len(), 24);
        for order in PlaneOrder::ALL {
            let mut letters: Vec<char> = order.name().chars().collect();
            letters.sort_unstable();
            assert_eq!(letters, ['C', 'D', 'P', 'W']);
        }
    }
}
