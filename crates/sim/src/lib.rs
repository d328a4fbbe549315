//! When things happen in a drive.
//!
//! An event-driven, single-threaded simulation of one drive: host link and queues, DRAM data cache,
//! scheduler, channels and dies around the FTL of `ssdtune-ftl`. It reads no file and no wall clock, and the
//! same input gives the same output to the nanosecond.

mod array;
mod cache;
mod collect;
mod event;
mod flash;
mod host;
mod pipe;
mod report;
mod request;
mod run;
mod scheduler;
mod simulator;
mod stats;
mod timing;
mod translate;
mod tx;

pub use report::{OpMetrics, Report, TenantMetrics};
pub use run::{Outcome, Replay, Simulator, Stream};
pub use simulator::{Completion, Observe, SimError, Tenant};
pub use ssdtune_ftl::Places;
pub use stats::{FlashCommands, LatencySummary};
