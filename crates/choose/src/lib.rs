//! Ranks drives that can be bought for a workload.
//!
//! [`choose()`] runs the same requests on every [`Candidate`] and says for each [`Figure`] (mean
//! latency, 99th percentile, throughput, write amplification, endurance) how large it is, with an
//! interval over windows of the requests, and whether drives differ by more than those windows do.
//! Of drives that were calibrated to real ones it says where the workload leaves the range in which
//! they were tested. [`choose_sampled()`] tells these from windows of a long trace.
//!
//! ```
//! use ssdtune_choose::{Candidate, Figure, Question, choose};
//! use ssdtune_experiment::{FlowSet, Preparation, RequestSource, Start};
//! use ssdtune_model::{Nanos, Sectors, presets};
//! use ssdtune_sim::Replay;
//! use ssdtune_trace::{Op, Request, TenantId};
//! use std::sync::atomic::AtomicBool;
//!
//! let request = |n: u64| Request {
//!     at: Nanos(50_000 * n),
//!     lba: Sectors(8 * (n * 7_919 % 10_000)),
//!     sectors: 8,
//!     tenant: TenantId(0),
//!     op: Op::Read,
//! };
//! let reads = RequestSource::of_requests("reads", (0..2_000).map(request).collect::<Vec<_>>());
//! let question = Question {
//!     flows: FlowSet::single(reads, Replay::Open),
//!     preparation: Preparation::of(Start::Footprint, 0),
//!     by: Figure::Mean,
//!     windows: 20,
//! };
//! let preset = |name: &str| -> Result<Candidate, Box<dyn std::error::Error>> {
//!     let device = presets::load(name)?.check()?;
//!     Ok(Candidate { name: name.to_owned(), device, calibrated: None })
//! };
//! let drives = [preset("samsung-850-pro")?, preset("z-ssd")?];
//! let choice = choose(&drives, &question, &AtomicBool::new(false), &|_, _, _| {})?;
//! assert_eq!(choice.ranked[0].drive, "z-ssd");
//! assert!(choice.ranked[1].against_first.latency_ns_mean.unwrap().is_decided);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choice;
mod estimate;
mod sampled;
mod text;
mod windows;

pub use choice::{
    Candidate, Choice, ChooseError, FailedDrive, Question, Ranked, RealDrive, choose,
};
pub use estimate::{Difference, Estimate, Figure, Figures, Times};
pub use sampled::{Sampling, choose_sampled};
