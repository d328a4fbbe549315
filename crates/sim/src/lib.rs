//! When things happen in a drive.
//!
//! An event-driven, single-threaded simulation of one drive: host link and queues, DRAM data cache,
//! scheduler, channels and dies around the FTL of `ssdtune-ftl`. It reads no file and no wall clock, and the
//! same input gives the same output to the nanosecond.
//!
//! ```
//! use ssdtune_model::{DeviceConfig, Nanos, Sectors};
//! use ssdtune_sim::{Observe, Simulator, Tenant};
//! use ssdtune_trace::{Op, Request, TenantId};
//!
//! let config = DeviceConfig::default().check()?;
//! let observe = Observe { completions: true, ..Observe::default() };
//! let mut drive = Simulator::new(&config, &[Tenant::sole(&config)], observe)?;
//! for (at, op) in [(0, Op::Write), (2_000_000, Op::Read)] {
//!     let (at, lba, tenant) = (Nanos(at), Sectors(64), TenantId(0));
//!     drive.push(Request { at, lba, sectors: 8, tenant, op });
//! }
//! drive.run_until(Nanos::from_ms(1));
//! assert_eq!(drive.take_completions().len(), 1);
//! drive.run_to_end();
//! assert_eq!(drive.report().total.read.requests, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Longer streams need no memory: [`Simulator::run`] draws them from iterators, at the requests' own times
//! or in a closed loop.

mod ageing;
mod allocate;
mod array;
mod arrivals;
mod cache_commands;
mod collect;
mod data_cache;
mod dram;
mod energy;
mod event;
mod flash;
mod host;
mod initial_content;
mod pipe;
mod report;
mod request;
mod run;
mod scheduler;
mod simulator;
mod slowdown;
mod snapshot;
mod stats;
mod tenant_share;
mod timing;
mod translate;
mod tx;
mod unit_set;
mod vocabulary;
mod warmup;

pub use allocate::Demand;
pub use initial_content::{Footprint, InitialContent, InitialState};
pub use report::{
    Busy, Capacity, Collection, ControllerEnergy, DataCache, DramEnergy, Ending, Endurance, Energy,
    EraseBin, FlashEnergy, Mapping, OpMetrics, PageTypes, Report, RequestCounts, SCHEMA,
    Simulation, TenantCollection, TenantEnergy, TenantMetrics, TenantReport, Times,
    UNWRITTEN_SHARE_MAX, UnwrittenReads, Utilisation, WriteAmplification,
};
pub use run::{Look, Outcome, Replay, Simulator, Stream};
pub use slowdown::{Slowdown, TenantSlowdown};
pub use snapshot::SnapshotError;
pub use ssdtune_ftl::{FtlError, Places};
pub use stats::{FlashCommands, LatencySummary};
pub use vocabulary::{Completion, Observe, SimError, Tenant};
pub use warmup::Filling;
