//! What a caller hands to the simulator and gets from it: tenants, completions, what to observe,
//! errors.

use serde::{Deserialize, Serialize};
use ssdtune_ftl::{FtlError, Places};
use ssdtune_model::config::{CacheMode, Priority};
use ssdtune_model::{DeviceConfig, Nanos, Sectors, TenantId};
use ssdtune_trace::Op;

/// The version of what simulations answer for drives whose `mapping.allocation` is dynamic or
/// hybrid, from 1. It is a part of what is stored of such drives alone, so that a change there
/// leaves all else valid. Version 1: every page of a request counts those placed before it. Version
/// 2: pages keep their static place while their die has nothing to do, and a die's planes that are
/// taken by load are kept level.
pub const BY_LOAD_VERSION: u32 = 2;

/// A tenant of the drive: a user with an address space of its own.
///
/// Snapshots compare drives by the `Debug` text of their tenants, so a renamed field would make old
/// snapshots useless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The planes it may use.
    pub places: Places,
    /// What the data cache does for its requests.
    pub cache: CacheMode,
    /// The priority of its requests. It matters only with the scheduler `priority-out-of-order`.
    pub priority: Priority,
    /// The tenant mostly writes. Hybrid allocation places the writes of such a tenant dynamically.
    pub writer: bool,
}

impl Tenant {
    /// The only tenant of a drive: it has all planes, and the cache mode of the configuration.
    pub fn sole(config: &DeviceConfig) -> Self {
        Self {
            places: Places::all(&config.flash_geometry()),
            cache: config.cache.mode,
            priority: Priority::High,
            writer: false,
        }
    }
}

/// A request that has been completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Number of the request in its stream, from 0.
    pub number: u64,
    /// The tenant, counted from 0.
    pub tenant: TenantId,
    /// What the request asked for.
    pub op: Op,
    /// The first sector, in the tenant's address space.
    pub lba: Sectors,
    /// Length in sectors.
    pub sectors: u32,
    /// When the request reached the host's driver.
    pub arrived: Nanos,
    /// When it entered the submission queue. Later than `arrived` if the queue was full.
    pub enqueued: Nanos,
    /// When the host saw its completion.
    pub completed: Nanos,
}

/// How the data of a drive were written before its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// The drive is empty.
    #[default]
    Empty,
    /// Each page was written once, in the order of the logical pages.
    Sequential,
    /// Each page was written once, then pages were overwritten at random until the drive no longer
    /// changed in character.
    Steady,
}

/// How much a run keeps of what happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Keep every latency (8 B each), so that percentiles are exact. Otherwise they have three
    /// significant digits.
    pub exact_percentiles: bool,
    /// Keep every completion for
    /// [`Simulator::take_completions`](crate::Simulator::take_completions).
    pub completions: bool,
}

/// Why a drive cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The flash translation layer refuses the drive.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// The drive has more channels and dies than the event queue can number.
    #[error("the drive has {servers} channels and dies, {limit} is the limit")]
    TooManyServers {
        /// Channels and dies of the drive.
        servers: u64,
        /// Channels and dies it may have.
        limit: u32,
    },
}
