//! One way to run an experiment on a simulated drive: prepare it, serve requests, watch, report.
//!
//! Whoever wants to know what a drive does with a workload needs four things, and each is one type
//! here:
//!
//! | type | what it says |
//! |---|---|
//! | [`Preparation`] | what the drive holds and has been through before |
//! | [`RequestSource`] | where requests come from: a file, a model, memory; reading may fail |
//! | [`Experiment`] | the drive, its tenants and flows of requests; `run` gives a report |
//! | [`Observer`] | who follows the run: [`Recorder`], [`KeepCompletions`], or your own |
//!
//! Tools that make requests while the drive runs, or serve several streams one after the other,
//! take the two halves one by one: [`Blank::prepare`] makes the drive, [`serve`] serves streams on
//! it, and a [`Tally`] sums up what was completed. No other crate makes a simulator to serve
//! requests on.
//!
//! A [`Load`] says where a workload leaves the range in which a calibrated drive was tested.
//!
//! A sweep is a [`grid()`] of drives and a [`FlowSet`] that runs on each of them; each of its
//! simulations is a [`Cell`]. [`summary()`] and [`comparison()`] tell people the results.
//!
//! This crate knows no command line, no tuner and no other simulator's files.
//!
//! ```
//! use ssdtune_experiment::{Experiment, Preparation, RequestSource, RunOptions, Start, summary};
//! use ssdtune_model::{Nanos, Sectors, presets};
//! use ssdtune_sim::Replay;
//! use ssdtune_trace::{Op, Request, TenantId};
//! use std::sync::atomic::AtomicBool;
//!
//! // A thousand reads of 4 KiB, ten microseconds apart.
//! let request = |n: u64| Request {
//!     at: Nanos(10_000 * n),
//!     lba: Sectors(8 * (n * 7_919 % 100_000)),
//!     sectors: 8,
//!     tenant: TenantId(0),
//!     op: Op::Read,
//! };
//! let reads = RequestSource::of_requests("reads", (0..1_000).map(request).collect::<Vec<_>>());
//! let device = presets::load("samsung-850-pro")?.check()?;
//!
//! // A drive of which half holds data, overwritten at random for ever.
//! let mut experiment = Experiment::new(&device, reads, Replay::Open);
//! experiment.preparation = Preparation::of(Start::steady(0.5), device.run.seed);
//!
//! let stop = AtomicBool::new(false);
//! let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
//! let report = experiment.run(&options, &mut [])?;
//! assert_eq!(report.total.read.requests, 1_000);
//! println!("{}", summary("reads", &report, None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cell;
mod error;
mod experiment;
mod extents;
mod fit;
mod flow_set;
mod former;
mod grid;
pub mod livepoints;
mod preparation;
mod prepare;
mod recorder;
pub mod sampled;
mod series;
mod serve;
mod source;
mod summary;
mod tally;
mod tested;

pub use cell::{
    CELLS_MAX, Cell, CellOptions, CellResult, CellsDocument, MODEL_REQUESTS, Parameters,
};
pub use error::{ExperimentError, PrepareError, SourceError};
pub use experiment::{Experiment, Flow, RunOptions, unsupported};
pub use extents::{Extent, Extents};
pub use fit::{AddressFit, Fitted};
pub use flow_set::{ChannelList, FlowError, FlowSet};
pub use former::{FormerError, WarmUp, former_data, former_initial_state};
pub use grid::{GridError, GridPoint, grid};
pub use preparation::{
    Age, OVERWRITES, Preparation, PreparationError, PreparationInWords, Share, Shares, Start,
};
pub use prepare::{Binding, Blank, FallibleRequests, Nothing, Upcoming};
pub use recorder::{LOG_COLUMNS, RecordError, Recorder, RecorderOptions};
pub use series::{KeepSeries, SERIES_COLUMNS, SeriesRow};
pub use serve::{KeepCompletions, Observer, ObserverError, Served, serve};
pub use source::{KEPT_MAX, Origin, Position, RequestSource, is_pipe, page_sectors, read_first};
pub use summary::{ComparedRun, comparison, fairness, summary};
pub use tally::{ByOp, Sums, Tally};
pub use tested::{Load, outside_in_words};
