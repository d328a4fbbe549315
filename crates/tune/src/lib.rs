//! AutoBlox: finds a better flash drive for a workload, and gives the evidence.
//!
//! You state a [`Task`]: a baseline drive, the parameters that may change, the limits that a drive
//! must keep, a target workload to serve better, and other workloads not to hurt. A search proposes
//! drives, measures each in a simulator, and returns every trial. After Li, Sun, Huang, "Learning
//! to Drive Software-Defined Solid-State Drives" (MICRO 2023).
//!
//! A drive is compared with the baseline by its *grade*: a logarithm of its speedup, made of
//! latency and throughput on the target and on the other workloads. 0 is as good as the baseline,
//! and 0.1 is about ten percent faster.
//!
//! # A search
//!
//! Beside this crate you need `ssdtune-model` for drives and `ssdtune-trace` for requests. The
//! example tunes an Intel 750 for 300 requests of a web search engine. A real search takes some
//! thousand requests and the default budget of 60 evaluations.
//!
//! ```
//! use ssdtune_model::{document, presets};
//! use ssdtune_trace::workload::{Seed, bundled};
//! use ssdtune_tune::search;
//! use ssdtune_tune::{
//!     CachedEvaluator, InProcess, Limits, PriorKnowledge, Settings, Space, Task, Trace, Weights,
//!     Workload,
//! };
//! use std::sync::atomic::AtomicBool;
//!
//! // The workload, from a model that is part of ssdtune-trace. `Trace::new` takes any requests.
//! let trace = Trace::of_model(&bundled("websearch")?, Seed::default(), 300)?;
//! let target = Workload { name: "websearch".to_owned(), depth: 16, traces: vec![trace] };
//!
//! // The drive to beat; what may change: the space of the paper; what must hold: capacity,
//! // interface, flash type and DRAM of the baseline.
//! let base = presets::load("intel-750")?;
//! let task = Task {
//!     space: Space::autoblox().around(&base),
//!     limits: Limits::around(&base),
//!     base: base.check()?,
//!     target,
//!     others: Vec::new(),
//!     weights: Weights::default(),
//!     max_harm: None,
//! };
//!
//! // Drives are simulated in this process. `None` in place of an AutoDB remembers nothing on disk.
//! let stop = AtomicBool::new(false);
//! let simulator = InProcess::default();
//! let evaluator = CachedEvaluator::new(&simulator, None, &stop, &|_| {});
//!
//! let settings = Settings { budget: 14.0, ..Settings::default() };
//! let prior = PriorKnowledge::default();
//! let found = search::run(&task, &prior, &settings, &evaluator, &mut |_, _| {})?;
//!
//! let best = found.best().ok_or("no drive keeps every limit")?;
//! assert!(best.grade > Some(0.1), "{:?}", best.grade);
//! println!("{} times as fast:\n{}", best.target.unwrap().latency, document::write(&best.config));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # More
//!
//! - With an [`AutoDb`] nothing is simulated twice, an interrupted search can be resumed
//!   ([`search::begin`]), and later searches learn from earlier ones.
//! - [`recommend`] explains the best drive: which change brings how much, and what
//!   held-out traces say.
//! - Any other simulator can measure: [`evaluate::External`] runs a command, and
//!   [`evaluate::Evaluator`] is the trait to implement.
//! - Any other optimiser can search: [`search::Objective`] grades drives for it.
//!
//! The program `examples/search.rs` shows a whole search with these.
//!
//! | module | what |
//! |---|---|
//! | [`space`] | what a search may vary: axes over the parameter catalogue, points, the encoding |
//! | [`limits`] | what a drive must keep to, and how a proposal is completed to keep to it |
//! | [`workload`] | requests to measure drives on, with their closed-loop depth |
//! | [`evaluate`] | measuring a drive on a trace, in this process or by another program |
//! | [`memory`] | AutoDB, the keys of evaluations, and training examples from them |
//! | [`cluster`] | categories of workloads |
//! | [`prune`] | which parameters matter, and in which order to tune them |
//! | [`search`] | the algorithms that look for a better drive |
//! | [`recommend`] | the best drive of a search, measured, explained and written out |
//! | [`whatif`] | what it takes to reach a given speedup |
//!
//! # What this crate does not do
//!
//! It does not simulate (`ssdtune-sim` does) and does not read traces (`ssdtune-trace` does). It
//! knows what its workloads show: on a trace without garbage collection, parameters of collection
//! look as if they had no effect. Grades compare drives of one simulator on one set of traces; they
//! are not figures of real devices.

mod aim;
mod asked;
mod breach;
mod digest;
mod error;
mod exercised;
mod grade;
mod interval;
mod job;
#[cfg(test)]
mod long;
mod measurement;
mod moves;
mod pareto;
mod random;
mod task;

pub mod cluster;
pub mod evaluate;
pub mod limits;
pub mod memory;
pub mod prune;
pub mod recommend;
pub mod search;
pub mod space;
pub mod whatif;
pub mod workload;

pub use aim::Aim;
pub use asked::{Asked, AskedError, AskedSpace, DefaultSpace};
pub use error::TuneError;
pub use evaluate::{CachedEvaluator, InProcess};
pub use grade::{Figures, LatencyFigure, Speedup, Weights};
pub use job::{JobError, JobOptions, Stage, TuningJob};
pub use limits::Limits;
pub use memory::AutoDb;
pub use search::{Found, PriorKnowledge, Settings};
pub use space::Space;
pub use task::{MaxHarm, Task};
pub use workload::{Trace, Workload};
