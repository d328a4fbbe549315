//! What placement policies make of the writes of a trace or a workload model.
//!
//! A flash drive that writes hot and cold pages into different blocks moves fewer pages when it
//! collects garbage. Policies differ in how they tell hot from cold: by the application
//! (auto-stream), by counters (hotis, asa-ftl), by the age of a page (sepbit), or by clustering
//! update frequency and interval (haml, of HAML-SSD, Li et al., DATE 2021). This crate compares
//! them on the same writes and the same drive, beside a drive without a policy and a reference
//! that knows the future.
//!
//! The way of a comparison:
//!
//! 1. [`Candidates`] names policies and settings and lists the [`Candidate`]s.
//! 2. [`Comparison::load`] reads a source of requests into a [`Load`]: its writes, on pages
//!    numbered without gaps.
//! 3. [`Comparison::run`] chooses a drive by the [`DriveRule`] and replays the load on it once for
//!    each candidate. It can also time some requests with the simulator.
//! 4. [`Study`] puts the results of loads together, [`text()`] prints it and [`figures`] draws it.
//!
//! ```
//! use ssdtune_experiment::RequestSource;
//! use ssdtune_model::{Nanos, Sectors};
//! use ssdtune_placement::{Candidates, Comparison, DriveRule, Sizing, Study};
//! use ssdtune_trace::{Op, Request, TenantId};
//! use std::sync::atomic::AtomicBool;
//!
//! // 5,000 pages of 8 KiB are written once; then every other write goes to one of 250 hot pages.
//! let page = |n: u64| match n {
//!     0..5_000 => n,
//!     _ if n % 2 == 0 => n * 7_919 % 250 * 20,
//!     _ => n * 104_729 % 5_000,
//! };
//! let write = |n: u64| Request {
//!     at: Nanos(n * 100_000),
//!     lba: Sectors(16 * page(n)),
//!     sectors: 16,
//!     tenant: TenantId(0),
//!     op: Op::Write,
//! };
//! let source = RequestSource::of_requests("skewed", (0..40_000).map(write).collect::<Vec<_>>());
//!
//! let policies = ["none", "sepbit", "oracle"].map(str::to_owned).to_vec();
//! let comparison = Comparison {
//!     candidates: Candidates { policies, ..Candidates::default() }.list()?,
//!     drives: DriveRule::Sized(Sizing::default()),
//!     one_address_space: false,
//!     write_buffer: 0,
//!     settle: None,
//!     timed_requests: 0,
//! };
//! let load = comparison.load(&source)?;
//! let result = comparison.run(&load, &AtomicBool::new(false), &|_, _, _| {});
//! let study = Study::of(&comparison.drives, vec![result], false).beside(&["none".to_owned()]);
//! let mean = |policy: &str| study.geometric_means[policy].write_amplification;
//! assert!(mean("oracle") < mean("sepbit") && mean("sepbit") < mean("none"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost: a replay takes about 0.1 us for each page written, and memory for the drive's page table
//! and blocks, about 50 B for each page of the footprint. It leaves out time, except where requests
//! are timed, and everything that reads do to a drive.
//!
//! The policies themselves are in `ssdtune-ftl`. [`UnitComparison`] holds the hardware of HAML-SSD
//! against software.

mod buffer;
mod candidate;
mod drive;
mod error;
mod figures;
mod load;
mod paired;
mod replay;
mod response;
mod scaled;
mod study;
mod text;
mod training;
mod unit;

pub use candidate::{Candidate, Candidates, UnknownName, Victims};
pub use drive::{DriveRule, Sizing, TABLE_III_PAGE_BYTES, TABLE_III_SPARE};
pub use error::PlacementError;
pub use figures::{figure_names, figures};
pub use load::{Buffered, HostRequest, Load, LoadOptions, TABLE_IV_VOLUMES, WriteRequest};
pub use paired::{Paired, Verdict};
pub use replay::{ReplayFigures, Watch, WearSpread, replay};
pub use response::ResponseTimes;
pub use study::title;
pub use study::{Comparison, DriveShape, LoadResult, PolicyMean, PolicyResult, Progress, Study};
pub use text::text;
pub use training::TrainingFigures;
pub use unit::{UnitComparison, unit_text};
