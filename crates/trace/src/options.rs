//! How to read a trace: the format, which devices and events count, and what is refused.

mod columns;

use crate::format::{Format, TimeUnit};
use ssdtune_model::{Nanos, Sectors};
use std::str::FromStr;

pub use columns::ColumnSpec;
pub(crate) use columns::OpColumn;

/// Which devices of a trace are read, and which tenant each becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// All devices. Each becomes a tenant, numbered in order of first appearance.
    #[default]
    Tenants,
    /// All devices, as one tenant with one address space.
    Merged,
    /// The named devices, as tenants in the order of the list.
    Only(Vec<String>),
}

/// The event that counts as a request's arrival, for traces that record several events of each
/// request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// Issue events if the beginning of the trace has any, else queue events, else completions.
    #[default]
    Auto,
    /// D: the request is issued to the driver.
    Issue,
    /// Q: the request is queued in the block layer.
    Queue,
    /// C: the request has completed.
    Complete,
}

impl FromStr for Event {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "D" | "issue" => Ok(Self::Issue),
            "Q" | "queue" => Ok(Self::Queue),
            "C" | "complete" => Ok(Self::Complete),
            _ => Err("write auto, D, Q or C"),
        }
    }
}

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; `None` to detect it.
    pub format: Option<Format>,
    /// Whether to skip and count faulty lines and records. Otherwise the first one is an error.
    pub lenient: bool,
    /// Whether a request that is more than [`JUMP_BACK`](crate::JUMP_BACK) earlier than one before
    /// it is faulty. Otherwise it is sorted in, and counted in the
    /// [`ReadStats`](crate::ReadStats).
    pub strict: bool,
    /// Whether errors show what stands in a line that cannot be read. It may be a secret.
    pub show_content: bool,
    /// The unit of the times; `None` for the usual unit of the format.
    pub time_unit: Option<TimeUnit>,
    /// The devices to read.
    pub devices: Devices,
    /// The event that counts as a request's arrival.
    pub event: Event,
    /// The columns, for [`Format::Columns`].
    pub columns: Option<ColumnSpec>,
    /// How many places a request may stand after its turn in the order of time.
    pub reorder_window: usize,
    /// The longest time between two requests. A later time stamp is taken as damaged.
    pub max_gap: Nanos,
    /// The end of the address space. Requests that reach beyond it are faults.
    pub capacity: Option<Sectors>,
    /// Whether to count times from the first request. Otherwise they stay as recorded.
    pub rebase: bool,
    /// Whether to accept a trace without requests.
    pub allow_empty: bool,
    /// The size of the input buffer in bytes, and so the longest line.
    pub max_line_bytes: usize,
    /// Bytes of output for each byte of a compressed stream above which the stream is refused as a
    /// decompression bomb.
    pub max_expansion: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            lenient: false,
            strict: false,
            show_content: false,
            time_unit: None,
            devices: Devices::default(),
            event: Event::default(),
            columns: None,
            reorder_window: 64 << 10,
            max_gap: Nanos(366 * 86_400 * 1_000_000_000),
            capacity: None,
            rebase: true,
            allow_empty: false,
            max_line_bytes: 256 << 10,
            max_expansion: 1_000,
        }
    }
}
