//! When things happen in a flash drive: an event-driven simulator of one SSD.
//!
//! You describe a drive (a `DeviceConfig` of `ssdtune-model`) and hand over requests (of
//! `ssdtune-trace`). The simulator carries each of them over the host link, through queues, the
//! DRAM data cache, the flash translation layer (`ssdtune-ftl`), the scheduler, channels and dies,
//! and says when it was completed. At any moment it reports latencies, throughput, write
//! amplification, wear, utilisation and energy.
//!
//! A simulation is single-threaded and deterministic: the same input gives the same output, to the
//! nanosecond. Run many of them side by side for many configurations. The simulator reads no file
//! and no clock of the machine. It does not read traces (`ssdtune-trace` does), and it does not
//! choose configurations.
//!
//! # Requests one by one
//!
//! ```
//! use ssdtune_model::{DeviceConfig, Nanos, Sectors};
//! use ssdtune_sim::{Observe, Simulator, Tenant};
//! use ssdtune_trace::{Op, Request, TenantId};
//!
//! let config = DeviceConfig::default().check()?;
//! let observe = Observe { completions: true, ..Observe::default() };
//! let mut drive = Simulator::new(&config, &[Tenant::sole(&config)], observe)?;
//!
//! // Write 4 KiB at once, and read them after two milliseconds.
//! for (at, op) in [(0, Op::Write), (2_000_000, Op::Read)] {
//!     let (at, lba, tenant) = (Nanos(at), Sectors(64), TenantId(0));
//!     drive.push(Request { at, lba, sectors: 8, tenant, op });
//! }
//! drive.run_until(Nanos::from_ms(1));
//! assert_eq!(drive.take_completions().len(), 1, "the write is done, the read has not come");
//! drive.run_to_end();
//! assert_eq!(drive.report().total.read.requests, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Streams of requests
//!
//! Long streams need no memory: [`Simulator::run`] draws them from iterators, at the requests' own
//! times ([`Stream::open`]) or in a closed loop ([`Stream::closed`]).
//! [`Simulator::run_in_intervals`] also stops at regular times, so that you can look at the drive
//! or change it.
//!
//! # The state of the drive at the start
//!
//! A new drive is empty. Before anything else, [`Simulator::set_initial_content`] can give it data
//! that are computed instead of written, in next to no time; [`Simulator::warm_up`] can age it by
//! requests without time. [`Simulator::snapshot`] stores the whole state as bytes, and
//! [`Simulator::restore`] continues from them.

mod accounting;
mod backend;
mod base;
mod controller;
mod core;
mod data_cache;
mod engine;
mod flash;
mod host;
mod id;
mod operation;
mod report;
mod simulator;
mod slowdown;
mod stored;
mod vocabulary;

pub use accounting::{
    ControllerEnergy, Demand, DramEnergy, Energy, FlashCommands, FlashEnergy, LatencySummary,
    PageTypes, TenantEnergy,
};
pub use report::{
    Busy, Capacity, Collection, DataCache, Ending, Endurance, EraseBin, Mapping, OpMetrics, Report,
    RequestCounts, SCHEMA, Simulation, SlcCache, TenantCollection, TenantMetrics, TenantReport,
    Times, UNWRITTEN_SHARE_MAX, UnwrittenReads, Utilisation, WriteAmplification,
};
pub use simulator::{
    BusyTime, CachedPage, Filling, Footprint, InitialContent, Look, Outcome, PagesLookedFor, Past,
    PastRoom, Replay, Simulator, SnapshotError, Stream, Work,
};
pub use slowdown::{Slowdown, TenantSlowdown};
pub use ssdtune_ftl::{Border, FtlError, PastMapping, PastPage, Places};
pub use vocabulary::{BY_LOAD_VERSION, Completion, InitialState, Observe, SimError, Tenant};
