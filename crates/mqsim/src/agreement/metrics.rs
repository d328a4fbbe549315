//! The figures of one run, in the words and units of a battery's `cases.json`.

use serde::{Deserialize, Serialize};

/// The figures of one run. What a simulator does not model is `None`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Metrics {
    /// Requests that came.
    pub generated: u64,
    /// Requests that were completed.
    pub served: Split<u64>,
    /// Bytes that they moved.
    pub bytes: Split<u64>,
    /// When the first request came.
    pub first_arrival_ns: Option<u64>,
    /// When the last request was completed.
    pub last_completion_ns: Option<u64>,
    /// Seconds from the first arrival to the last completion.
    pub sim_seconds: f64,
    /// Requests served per simulated second.
    pub iops: Split<f64>,
    /// Bytes moved per simulated second.
    #[serde(rename = "bandwidth_Bps")]
    pub bandwidth: Split<f64>,
    /// Time from the submission queue to the completion.
    pub device_response_ns: Split<Latency>,
    /// Time from the arrival to the completion.
    pub end_to_end_ns: Split<Latency>,
    /// Commands given to the flash.
    #[serde(default)]
    pub flash_cmds: FlashCommandCounts,
    /// Flash pages read and programmed.
    #[serde(default)]
    pub flash_pages: FlashPageCounts,
    /// Look-ups of the cached mapping table.
    #[serde(default)]
    pub cmt: MappingCacheCounts,
    /// Garbage collection and wear levelling.
    #[serde(default)]
    pub gc: CollectionCounts,
    /// Pages programmed for each page that the host has written.
    #[serde(default)]
    pub write_amplification: Option<f64>,
    /// Short runs: a row for each request, in order of arrival, with arrival (ns), first sector,
    /// sectors, operation (0 write, 1 read), device response (ns) and end-to-end time (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<[u64; 6]>>,
    /// The figures of each flow, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowMetrics>,
}

/// The figures of one flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowMetrics {
    /// The flow's number in its scenario, from 0.
    pub flow: u32,
    /// Requests that were completed.
    pub served: Split<u64>,
    /// Requests served per simulated second.
    pub iops: Split<f64>,
    /// Time from the submission queue to the completion.
    pub device_response_ns: Split<Latency>,
    /// Time from the arrival to the completion.
    pub end_to_end_ns: Split<Latency>,
}

/// A figure over all requests, over reads and over writes; `None` if there are none of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Split<T> {
    /// Over all requests.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub all: Option<T>,
    /// Over reads.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub read: Option<T>,
    /// Over writes.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub write: Option<T>,
}

/// `Option::default` would ask `T` for a default of its own.
const fn none<T>() -> Option<T> {
    None
}

impl<T> Default for Split<T> {
    fn default() -> Self {
        Self { all: None, read: None, write: None }
    }
}

impl<T: Copy> Split<T> {
    /// The three figures with their names in the file.
    pub fn parts(&self) -> [(&'static str, Option<T>); 3] {
        [("all", self.all), ("read", self.read), ("write", self.write)]
    }
}

/// A distribution of times in nanoseconds. Percentiles are by nearest rank: the smallest time that
/// at least this share of the requests does not exceed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// Mean, recorded with three decimals.
    pub mean: f64,
    /// Shortest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Longest.
    pub max: u64,
}

macro_rules! counts {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<u64>,
            )+
        }

        impl $name {
            /// Each count with its name in the file.
            pub fn parts(&self) -> Vec<(&'static str, Option<u64>)> {
                vec![$((stringify!($field), self.$field),)+]
            }
        }
    };
}

counts!(
    /// Flash commands. A multi-plane command works on several pages and counts once.
    FlashCommandCounts {
        /// Reads of one plane.
        read,
        /// Reads of several planes.
        read_multiplane,
        /// Programs of one plane.
        program,
        /// Programs of several planes.
        program_multiplane,
        /// Erases of one plane.
        erase,
        /// Erases of several planes.
        erase_multiplane,
        /// Programs that were interrupted.
        suspend_program,
        /// Erases that were interrupted.
        suspend_erase,
        /// Reads of translation pages.
        mapping_read,
        /// Writes of translation pages.
        mapping_program,
    }
);

counts!(
    /// Flash pages.
    FlashPageCounts {
        /// Pages read.
        read,
        /// Pages programmed.
        program,
    }
);

counts!(
    /// Look-ups of the cached mapping table.
    MappingCacheCounts {
        /// The entry was in the cache.
        hits,
        /// The entry was fetched from flash for a read.
        misses_for_read,
        /// The entry was fetched from flash for a write.
        misses_for_write,
        /// The entry was not in the cache, and no flash was read for it.
        misses_free,
    }
);

counts!(
    /// Garbage collection and wear levelling.
    CollectionCounts {
        /// Blocks collected.
        executions,
        /// Valid pages that were moved out of them.
        moved_pages,
        /// Blocks whose data were moved by wear levelling.
        wl_executions,
    }
);
