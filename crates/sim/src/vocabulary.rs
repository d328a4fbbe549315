//! Words.

use serde::{Deserialize, Serialize};
use ssdtune_ftl::{FtlError, Places};
use ssdtune_model::config::{CacheMode, Priority};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_trace::Op;

/// A tenant of the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The places it may use.
    pub places: Places,
    /// What the data cache does for it.
    pub cache: CacheMode,
    /// Its priority class.
    pub priority: Priority,
    /// It mostly writes (hybrid allocation).
    pub writer: bool,
}

impl Tenant {
    /// The only tenant of a drive.
    pub fn sole(config: &DeviceConfig) -> Self {
        Self {
            places: Places::all(&config.geometry()),
            cache: config.cache.mode,
            priority: Priority::High,
            writer: false,
        }
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Number of the request in its stream, from 0.
    pub number: u64,
    /// Whose it was.
    pub tenant: u16,
    /// What it asked for.
    pub op: Op,
    /// First sector, in the tenant's space.
    pub lba: Sectors,
    /// Length in sectors.
    pub sectors: u32,
    /// When it reached the host's driver.
    pub arrived: Nanos,
    /// When it entered the submission queue.
    pub enqueued: Nanos,
    /// When the host saw its completion.
    pub completed: Nanos,
}

/// How a run is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Keep every latency, so that percentiles are exact.
    pub exact_percentiles: bool,
    /// Keep completions for [`crate::Simulator::take_completions`].
    pub completions: bool,
}

/// A drive that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The FTL refuses it.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// More channels and dies than the event queue can name.
    #[error("the drive has {servers} channels and dies, {limit} is the limit")]
    TooManyServers {
        /// Channels and dies it has.
        servers: u64,
        /// How many can be had.
        limit: u32,
    },
}
