//! The choices of a configuration: one enum each, with its names in ssdtune's files and in MQSim's.

use crate::units::Nanos;

/// Declares an enum whose values have a name in ssdtune's files and one in MQSim's XML (empty if
/// MQSim has no such value), and makes it a field of the parameter catalogue.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal | $mqsim:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// Every value, in the order in which the documentation lists them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name of each value in ssdtune's files and in MQSim's, in the order of
            /// [`ALL`](Self::ALL). MQSim's name is empty if it has no such value.
            pub const NAMES: &[(&str, &str)] = &[$(($text, $mqsim),)+];

            /// The name in ssdtune's files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The name in MQSim's XML; empty if MQSim has no such value.
            pub const fn mqsim_name(self) -> &'static str {
                match self { $(Self::$variant => $mqsim,)+ }
            }

            /// The value with this name in ssdtune's files.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl crate::value::Field for $name {
            fn value(&self) -> crate::value::Value {
                crate::value::Value::Name(self.name())
            }

            fn assign(&mut self, value: crate::value::Value) -> bool {
                let crate::value::Value::Name(name) = value else { return false };
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
    /// How the host is connected to the drive.
    HostInterface {
        /// NVMe over PCIe: several deep queues.
        Nvme = "nvme" | "NVME",
        /// SATA with native command queueing: one queue of 32 entries, and a host adapter that
        /// takes time for each command.
        Sata = "sata" | "SATA",
    }
);

choice!(
    /// What the DRAM data cache holds.
    CacheMode {
        /// Nothing. A write is completed when the flash has programmed it.
        Off = "off" | "TURNED_OFF",
        /// Pages read from flash.
        Read = "read" | "READ_CACHE",
        /// Pages written by the host, until they reach flash.
        Write = "write" | "WRITE_CACHE",
        /// Pages read from flash and pages written by the host.
        ReadWrite = "read-write" | "WRITE_READ_CACHE",
    }
);

choice!(
    /// How tenants share a DRAM structure.
    Sharing {
        /// All tenants use one structure.
        Shared = "shared" | "SHARED",
        /// Each tenant has a part of its own; all parts have one size.
        EqualPartitions = "equal-partitions" | "EQUAL_PARTITIONING",
    }
);

choice!(
    /// NVMe priority class of a submission queue.
    Priority {
        /// Served before all other classes.
        Urgent = "urgent" | "URGENT",
        /// Weight 4 in the weighted round robin.
        High = "high" | "HIGH",
        /// Weight 2 in the weighted round robin.
        Medium = "medium" | "MEDIUM",
        /// Weight 1 in the weighted round robin.
        Low = "low" | "LOW",
    }
);

choice!(
    /// In what order the flash scheduler serves waiting transactions.
    Scheduler {
        /// The oldest transaction that can start, whatever its priority class.
        OutOfOrder = "out-of-order" | "OUT_OF_ORDER",
        /// The oldest transaction that can start within a priority class. Classes share the flash
        /// by their weights.
        PriorityOutOfOrder = "priority-out-of-order" | "PRIORITY_OUT_OF_ORDER",
    }
);

choice!(
    /// What is filled, collected and erased as one.
    GcUnit {
        /// A block: every plane has its own free blocks and collects for itself, as in MQSim.
        Block = "block" | "",
        /// A superblock of one block in each plane of a die.
        Die = "die" | "",
        /// A superblock of one block in each plane of the drive.
        Drive = "drive" | "",
    }
);

choice!(
    /// What a free channel carries first, if both commands and data that were read wait for it.
    BusOrder {
        /// Data, as in MQSim: pages leave their dies as early as they can.
        DataFirst = "data-first" | "",
        /// Commands: dies are kept busy, and data wait in them.
        CommandsFirst = "commands-first" | "",
        /// What belongs to the transaction that has waited longest.
        OldestFirst = "oldest-first" | "",
    }
);

choice!(
    /// How the time of a processor for one command varies.
    CommandTimes {
        /// It is the same for every command.
        Fixed = "fixed" | "",
        /// It is exponentially distributed, decided by `run.seed`.
        Exponential = "exponential" | "",
    }
);

choice!(
    /// Through which levels of the flash consecutive logical pages are spread first. The letters
    /// stand for channel (C), chip or way (W), die (D) and plane (P); the first varies fastest.
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
    /// What decides the plane of a written page.
    Allocation {
        /// The logical page number, by the plane order.
        Static = "static" | "",
        /// The load: as `static` to a die with nothing to do when the page is written, the pages
        /// before it of the same request included, else to the plane with the least to do.
        Dynamic = "dynamic" | "",
        /// The logical page number for tenants that mostly read, the load for tenants that mostly
        /// write (SSDKeeper, section IV-E).
        Hybrid = "hybrid" | "",
    }
);

choice!(
    /// Which block garbage collection takes next.
    GcPolicy {
        /// The one with the most invalid pages.
        Greedy = "greedy" | "GREEDY",
        /// The one with the most invalid pages among d random blocks (d-choices, randomised
        /// greedy).
        Rga = "d-choices" | "RGA",
        /// A random one.
        Random = "random" | "RANDOM",
        /// A random one whose pages are all written.
        RandomPlus = "random+" | "RANDOM_P",
        /// A random one whose pages are all written and of which a minimum is invalid.
        RandomPlusPlus = "random++" | "RANDOM_PP",
        /// The one that was written longest ago.
        Fifo = "fifo" | "FIFO",
        /// The one with the largest ratio of space gained, times age, to pages moved.
        CostBenefit = "cost-benefit" | "",
        /// The one with the most invalid pages among those that were written longest ago.
        WindowedGreedy = "windowed-greedy" | "",
        /// The one with the most invalid pages, less the valid ones that the placement policy
        /// expects to be overwritten before long. Only `lifespan` knows when pages will be.
        RemainingLife = "remaining-life" | "",
    }
);

impl GcPolicy {
    /// Those that go with any placement policy.
    pub const UNPLACED: &[Self] = Self::ALL.split_at(8).0;
}

choice!(
    /// Which of its plane's write frontiers (open blocks) a page goes to.
    PlacementPolicy {
        /// One frontier for host data, one for pages moved by collection.
        None = "none" | "",
        /// A frontier for each application of a tenant (the aim of AutoStream).
        AutoStream = "auto-stream" | "",
        /// Hot and cold frontiers, told apart by constant thresholds. Data that are updated at long
        /// intervals count as hot.
        Hotis = "hotis" | "",
        /// Three frontiers for clusters of update frequency, found by k-means over a sample.
        AsaFtl = "asa-ftl" | "",
        /// A frontier for each cluster of update frequency and update interval, found by k-means
        /// over slices of the address space (HAML-SSD).
        Haml = "haml" | "",
        /// Frontiers by the inferred time until a page's data are overwritten (SepBIT).
        Sepbit = "sepbit" | "",
        /// Regions from hot to cold that pages climb when they are updated and fall when they are
        /// moved (DAC).
        Dac = "dac" | "",
        /// Clusters of rewrite intervals that are split and merged (WARCIP).
        Warcip = "warcip" | "",
        /// A hot group, and a chain of groups that pages pass each time they are moved (MiDAS).
        Midas = "midas" | "",
        /// Frontiers by the time until a page is overwritten, which a model expects that is trained
        /// while the drive runs.
        Lifespan = "lifespan" | "",
    }
);

choice!(
    /// Which write frontiers take the pages that collection moves.
    MovedPages {
        /// Those that the placement policy names: one of their own for `none` and `auto-stream`,
        /// four for `sepbit`, six for `midas`, nine for `lifespan`, one for each frontier of host
        /// data for the others.
        Policy = "policy" | "",
        /// The frontiers of host data.
        WithHost = "with-host" | "",
        /// One frontier of their own.
        Together = "together" | "",
        /// One frontier of their own for each frontier of host data.
        ByQueue = "by-queue" | "",
    }
);

choice!(
    /// What HAML-SSD counts as an update of a slice.
    UpdateUnit {
        /// A page that is written.
        Pages = "pages" | "",
        /// A request that writes to the slice, whatever number of its pages.
        Requests = "requests" | "",
    }
);

choice!(
    /// Since when HAML-SSD counts the interval that an update ends.
    IntervalStart {
        /// The update of the slice before it, or the start of the period.
        Slice = "slice" | "",
        /// The update of any slice before it: the one start time of Algorithm 1 as printed.
        Drive = "drive" | "",
        /// The update of the same page before it. The first one in a period ends no interval.
        Page = "page" | "",
    }
);

choice!(
    /// How much a placement policy remembers to learn from.
    PlacementMemory {
        /// `lifespan`: up to 1,024 rows of weights for a feature.
        Full = "full" | "",
        /// `lifespan`: 256 rows of weights for a feature.
        Small = "small" | "",
    }
);

choice!(
    /// How HAML-SSD turns the counts in its tables into coordinates for k-means.
    TableScale {
        /// In proportion to the largest count, as the paper does.
        Linear = "linear" | "",
        /// By the logarithm, so that a few slices with most of the updates do not press all others
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

impl FlashTechnology {
    /// The types of pages that these cells have, as indices into
    /// [`Flash::read_latency`](super::Flash::read_latency).
    pub const fn page_types(self) -> &'static [usize] {
        match self {
            Self::Slc => &[0],
            Self::Mlc => &[0, 2],
            Self::Tlc => &[0, 1, 2],
            Self::Qlc => &[0, 1, 2, 3],
        }
    }

    /// The mean over these page types of times that are given by page type, in nanoseconds.
    pub fn mean_ns(self, times: &[Nanos; 4]) -> f64 {
        let types = self.page_types();
        types.iter().map(|&kind| times[kind].0 as f64).sum::<f64>() / types.len() as f64
    }

    /// The longest over these page types of times that are given by page type.
    pub fn longest(self, times: &[Nanos; 4]) -> Nanos {
        let all = self.page_types().iter().map(|&kind| times[kind]);
        all.max().unwrap_or_default()
    }
}

choice!(
    /// Which flash operations may be interrupted.
    SuspensionSupport {
        /// None.
        None = "none" | "NONE",
        /// A program, by a read.
        Program = "program" | "PROGRAM",
        /// An erase, by a read or a program.
        Erase = "erase" | "ERASE",
        /// A program by a read, an erase by a read or a program.
        ProgramErase = "program-erase" | "PROGRAM_ERASE",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

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
