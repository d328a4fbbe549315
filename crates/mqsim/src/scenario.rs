//! Scenarios of MQSim's `workload.xml`: flows that share one drive, each a recorded trace or a
//! generator.
//!
//! Plain data; [`read_workload`](crate::read_workload) and
//! [`write_workload`](crate::write_workload) convert it from and to XML. Where a tag has no effect
//! in MQSim (the time unit of traces) its value is kept, so that the file can be written again.

use ssdtune_model::config::{CacheMode, Priority};
use ssdtune_model::{DeviceConfig, Fault, Faults, Geometry, Nanos, Problem, Sectors};

/// A choice that MQSim's files write as a name.
pub(crate) trait MqsimName: Copy + 'static {
    /// Every value, in the order in which messages list them.
    const ALL: &'static [Self];

    /// The name in MQSim's files.
    fn mqsim_name(self) -> &'static str;
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl MqsimName for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn mqsim_name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

impl MqsimName for Priority {
    const ALL: &'static [Self] = Self::ALL;

    fn mqsim_name(self) -> &'static str {
        self.mqsim_name()
    }
}

impl MqsimName for CacheMode {
    const ALL: &'static [Self] = Self::ALL;

    fn mqsim_name(self) -> &'static str {
        self.mqsim_name()
    }
}

named!(
    /// The unit of a trace's times.
    TimeUnit {
        /// 10^-12 s.
        Picosecond = "PICOSECOND",
        /// 10^-9 s.
        Nanosecond = "NANOSECOND",
        /// 10^-6 s.
        Microsecond = "MICROSECOND",
    }
);

named!(
    /// What decides when a generator issues its next request.
    Pace {
        /// A mean rate of arrivals, whatever the drive does.
        Bandwidth = "BANDWIDTH",
        /// A completion: a constant number of requests is outstanding.
        QueueDepth = "QUEUE_DEPTH",
    }
);

named!(
    /// How a generator draws addresses.
    AddressPattern {
        /// One after the other.
        Streaming = "STREAMING",
        /// Uniformly at random.
        Uniform = "RANDOM_UNIFORM",
        /// At random, most of them from a small region.
        HotCold = "RANDOM_HOTCOLD",
    }
);

named!(
    /// How a generator draws sizes.
    SizePattern {
        /// Always the mean.
        Fixed = "FIXED",
        /// From a normal distribution around the mean.
        Normal = "NORMAL",
    }
);

/// Flows that share one drive; a simulation of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The flows, each with a submission queue of its own.
    pub flows: Vec<Flow>,
}

/// One stream of requests and the part of the drive it may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// NVMe priority class of its submission queue.
    pub priority: Priority,
    /// What the drive's DRAM caches for it.
    pub cache_mode: CacheMode,
    /// Channels it may use, ascending.
    pub channels: Vec<u32>,
    /// Chips of each channel it may use, ascending.
    pub chips: Vec<u32>,
    /// Dies of each chip it may use, ascending.
    pub dies: Vec<u32>,
    /// Planes of each die it may use, ascending.
    pub planes: Vec<u32>,
    /// Share of its logical pages that a preconditioned drive holds before the run, in percent.
    pub initial_occupancy_percent: u32,
    /// Where its requests come from.
    pub source: Source,
}

/// Where the requests of a flow come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A recorded trace.
    Trace(TraceSource),
    /// A generator with random choices of its own.
    Synthetic(Synthetic),
}

/// A recorded trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSource {
    /// The trace file. MQSim looks for it relative to its working directory.
    pub file: String,
    /// How much of it is run, from its beginning, in percent of the requests.
    pub percent_executed: u32,
    /// How often it is run, one time after the other.
    pub relay_count: u32,
    /// The unit of its times according to the file. Published MQSim takes nanoseconds whatever
    /// stands here.
    pub time_unit: TimeUnit,
    /// Requests that the drive fetches at once; only AutoBlox's fork of MQSim reads it.
    pub best_queue_size: Option<u32>,
    /// Throughput of the drive on which the trace was recorded, in bytes per nanosecond; only
    /// AutoBlox's fork of MQSim reads it.
    pub device_throughput: Option<f64>,
}

/// A generator of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Share of the flow's address space that is used, in percent.
    pub working_set_percent: u32,
    /// What decides when it issues the next request.
    pub pace: Pace,
    /// Share of reads, in percent of the requests.
    pub read_percent: u32,
    /// How it draws addresses.
    pub addresses: AddressPattern,
    /// Size of the hot region, in percent of the working set.
    pub hot_region_percent: u32,
    /// Whether addresses are multiples of `alignment`.
    pub aligned: bool,
    /// What aligned addresses are a multiple of.
    pub alignment: Sectors,
    /// How it draws sizes.
    pub sizes: SizePattern,
    /// Mean size of a request.
    pub mean_size: Sectors,
    /// Variance of the sizes, in sectors squared.
    pub size_variance: u64,
    /// Seed of its random choices.
    pub seed: u64,
    /// Requests outstanding, if the queue depth sets its pace.
    pub queue_depth: u32,
    /// Bytes per second, if bandwidth sets its pace.
    pub bandwidth: Option<u64>,
    /// When it stops; zero if the number of requests decides.
    pub stop: Nanos,
    /// Requests that it makes; zero if the time decides.
    pub requests: u64,
}

impl Scenario {
    /// A scenario of one flow that replays a trace file once, on the whole drive.
    pub fn replay_of(file: &str, drive: &DeviceConfig) -> Self {
        let all = |count: u32| (0..count).collect();
        let geometry = drive.flash_geometry();
        let source = Source::Trace(TraceSource {
            file: file.to_owned(),
            percent_executed: 100,
            relay_count: 1,
            time_unit: TimeUnit::Nanosecond,
            best_queue_size: None,
            device_throughput: None,
        });
        let flow = Flow {
            priority: Priority::High,
            cache_mode: drive.cache.mode,
            channels: all(geometry.channels),
            chips: all(geometry.chips_per_channel),
            dies: all(geometry.dies_per_chip),
            planes: all(geometry.planes_per_die),
            initial_occupancy_percent: 0,
            source,
        };
        Self { flows: vec![flow] }
    }

    /// Checks that every flow stays within the drive.
    ///
    /// # Errors
    /// Every list of a flow that names a channel, chip, die or plane that the drive does not have.
    pub fn check(&self, geometry: &Geometry) -> Result<(), Faults> {
        let mut faults = Faults::default();
        for (index, flow) in self.flows.iter().enumerate() {
            let path = |name: &str| format!("flow {}: {name}", index + 1);
            for (name, ids, count) in [
                ("Channel_IDs", &flow.channels, geometry.channels),
                ("Chip_IDs", &flow.chips, geometry.chips_per_channel),
                ("Die_IDs", &flow.dies, geometry.dies_per_chip),
                ("Plane_IDs", &flow.planes, geometry.planes_per_die),
            ] {
                if let Some(id) = ids.iter().find(|&&id| id >= count) {
                    let reason = format!("the drive has only {count}, numbered from 0");
                    let fault = Fault::new(path(name), Problem::Conflict { reason });
                    faults.push(fault.with_value(id.to_string()));
                }
            }
        }
        faults.or_ok(())
    }
}
