//! One host request: 24 bytes, the unit of every reader, generator, transform and simulation.

use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Sectors};

/// What the host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Op {
    /// Read sectors.
    Read = 0,
    /// Write sectors.
    Write = 1,
    /// Sectors whose content no longer matters.
    Trim = 2,
    /// Everything written before must be on flash before this completes. Carries no sectors.
    Flush = 3,
}

/// The tenant (namespace, flow, volume) a request belongs to; 0 where a trace has one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[repr(transparent)]
pub struct TenantId(pub u16);

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// When the host issued it, from the start of the trace.
    pub at: Nanos,
    /// First sector.
    pub lba: Sectors,
    /// Number of sectors; 0 only for a flush.
    pub sectors: u32,
    /// Whose it is.
    pub tenant: TenantId,
    /// What it asks.
    pub op: Op,
}

// A million requests are 24 MB: one more field would push this to 32 bytes.
const _: () = assert!(size_of::<Request>() == 24);

impl Request {
    /// The first sector after it.
    pub const fn end(&self) -> Sectors {
        Sectors(self.lba.0 + self.sectors as u64)
    }
}
