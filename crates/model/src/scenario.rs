//! What MQSim's `workload.xml` says: scenarios of flows, each a recorded trace or a generator.
//!
//! Plain data; [`mqsim::read_workload`](crate::mqsim::read_workload) and
//! [`mqsim::write_workload`](crate::mqsim::write_workload) move it from and to XML. Where MQSim leaves a
//! tag without effect (the time unit of traces, the start of a trace's addresses) the value is kept, so
//! that a file can be written again.

use crate::config::{CacheMode, Priority, choice};
use crate::fault::{Fault, Faults, Problem};
use crate::geometry::Geometry;
use crate::units::{Nanos, Sectors};

/// Flows that share one drive; one simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The flows, each with a submission queue of its own.
    pub flows: Vec<Flow>,
}

/// One stream of requests and the part of the drive it may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its priority class.
    pub priority: Priority,
    /// What the drive caches for it.
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

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A recorded trace.
    Trace(TraceSource),
    /// A generator.
    Synthetic(Synthetic),
}

/// A recorded trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSource {
    /// The file, relative to the directory of the run.
    pub file: String,
    /// The first part of it that is run, in percent.
    pub percent_executed: u32,
    /// How often it is run.
    pub relay_count: u32,
    /// What its times count, as the file says; published MQSim takes nanoseconds whatever stands here.
    pub time_unit: TimeUnit,
    /// AutoBlox's fork: requests the drive fetches at once.
    pub best_queue_size: Option<u32>,
    /// AutoBlox's fork: bytes per nanosecond of the drive the trace was recorded on.
    pub device_throughput: Option<f64>,
}

choice!(
    /// What the times of a trace count.
    TimeUnit {
        /// 10^-12 s.
        Picosecond = "ps" | "PICOSECOND",
        /// 10^-9 s.
        Nanosecond = "ns" | "NANOSECOND",
        /// 10^-6 s.
        Microsecond = "us" | "MICROSECOND",
    }
);

choice!(
    /// What paces a generator.
    Pace {
        /// A mean rate of arrivals, whatever the drive does.
        Bandwidth = "bandwidth" | "BANDWIDTH",
        /// A constant number of requests under way.
        QueueDepth = "queue-depth" | "QUEUE_DEPTH",
    }
);

choice!(
    /// How a generator draws addresses.
    AddressPattern {
        /// One after the other.
        Streaming = "streaming" | "STREAMING",
        /// Uniformly.
        Uniform = "uniform" | "RANDOM_UNIFORM",
        /// Mostly from a small region.
        HotCold = "hot-cold" | "RANDOM_HOTCOLD",
    }
);

choice!(
    /// How a generator draws sizes.
    SizePattern {
        /// Always the mean.
        Fixed = "fixed" | "FIXED",
        /// Normally around the mean.
        Normal = "normal" | "NORMAL",
    }
);

/// A generator of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Share of the flow's address space that is used, in percent.
    pub working_set_percent: u32,
    /// What paces it.
    pub pace: Pace,
    /// Share of reads, in percent.
    pub read_percent: u32,
    /// Addresses.
    pub addresses: AddressPattern,
    /// Size of the hot region, in percent of the working set.
    pub hot_region_percent: u32,
    /// Whether addresses are multiples of `alignment`.
    pub aligned: bool,
    /// The unit of aligned addresses.
    pub alignment: Sectors,
    /// Sizes.
    pub sizes: SizePattern,
    /// Mean size.
    pub mean_size: Sectors,
    /// Variance of sizes, in sectors squared.
    pub size_variance: u64,
    /// Seed of its random choices.
    pub seed: u64,
    /// Requests under way, when paced by queue depth.
    pub queue_depth: u32,
    /// Bytes per second, when paced by bandwidth.
    pub bandwidth: Option<u64>,
    /// When it stops; zero where the number of requests decides.
    pub stop: Nanos,
    /// How many requests it makes; zero where the time decides.
    pub requests: u64,
}

impl Scenario {
    /// Whether every flow stays within the drive and can run.
    ///
    /// # Errors
    /// Every list that names something the drive has not, and every generator that cannot start or end.
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
