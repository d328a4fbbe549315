//! AutoBlox: from a workload and constraints to a better drive, with the evidence.
//!
//! Workloads are clustered, insensitive parameters pruned, configurations searched with a Gaussian
//! process and judged by simulation; every result is kept in AutoDB, so that nothing is ever
//! simulated twice.
//!
//! | module | what |
//! |---|---|
//! | [`space`] | what a search may vary: axes over the parameter catalogue, points, the encoding |
//! | [`limits`] | what a drive must keep to, and how a proposal is completed to keep to it |
//! | [`workload`] | requests to judge drives by, with their closed-loop depth |
//! | [`evaluate`] | the one door to measuring: `(configuration, trace) -> Measurement`, in-process or external |
//! | [`prune`] | which parameters matter, in which order |
//! | [`search`] | the algorithms that look for a better drive |
//! | [`recommend`] | what a search found, measured, explained and written out |
//! | [`cluster`] | categories of workloads |
//! | [`whatif`] | what it takes to be so many times faster |
//! | [`memory`] | AutoDB, the keys of evaluations, what stored evaluations teach |

mod digest;
mod error;
mod grade;
mod measurement;
mod moves;
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

pub use error::TuneError;
pub use grade::{Figures, Speedup, Weights};
pub use task::Task;
