//! How to read a trace: the format, which devices and events count, and what is refused.

mod columns;

use crate::format::{Format, TimeUnit};
use ssdtune_model::{Nanos, Sectors};

pub use columns::ColumnSpec;
pub(crate) use columns::OpColumn;

/// Which devices of a trace become requests, and of which tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// All; each device is a tenant, numbered in order of first appearance.
    #[default]
    Tenants,
    /// All, as one tenant with one address space.
    Merged,
    /// Those named, as tenants in this order.
    Only(Vec<String>),
}

/// Which event of a request's life is its arrival, in traces that record several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// Issue if the beginning of the trace has one, else queue, else completion.
    #[default]
    Auto,
    /// D: handed to the driver.
    Issue,
    /// Q: handed to the block layer.
    Queue,
    /// C: completed.
    Complete,
}

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; `None` detects it.
    pub format: Option<Format>,
    /// Skip and count what cannot be read instead of stopping.
    pub lenient: bool,
    /// Unit of the times, where it is not the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Devices to read and how they become tenants.
    pub devices: Devices,
    /// The event that counts as arrival in traces that have several.
    pub event: Event,
    /// Columns of [`Format::Columns`].
    pub columns: Option<ColumnSpec>,
    /// How many places late a request may stand.
    pub reorder_window: usize,
    /// The longest silence believed; a later time stamp is taken for damaged.
    pub max_gap: Nanos,
    /// End of the address space; requests beyond are faults.
    pub capacity: Option<Sectors>,
    /// Count times from the first request (else they stay as in the trace).
    pub rebase: bool,
    /// A trace without requests is no error.
    pub allow_empty: bool,
    /// Size of the input buffer, and so the longest line.
    pub max_line_bytes: usize,
    /// Bytes per compressed byte beyond which a stream is taken for a bomb.
    pub max_expansion: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            lenient: false,
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
