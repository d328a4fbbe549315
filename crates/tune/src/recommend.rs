//! What a search found, as evidence: speedups beside the paper's SpeedupTable 1, parameters beside
//! its SpeedupTable 5, why each parameter is as it is, energy, and the choice between performance
//! and power.
//!
//! After a search a few more evaluations are made. Every changed parameter is put back to the
//! baseline alone (layout parameters and the two DRAM sizes as groups, since one alone would break
//! the limits); what the target loses is the parameter's importance. Changes that bring nothing are
//! then taken back together, if the grade stays: a recommendation should not change what does not
//! matter. The configuration that is best for the target alone is run on the other workloads too,
//! for the three rows of SpeedupTable 1 that ignore them. Held-out traces, which no decision has
//! seen, judge the result last.

mod build;
mod html;
mod store;
mod terminal;
mod text;

pub use build::{Options, recommend};
pub use html::html_page;
pub use terminal::text;
pub use text::{markdown, parameter_lines};

use crate::grade::{Figures, Speedup};
use crate::search::{CurvePoint, DiscardReport, Ended, Settings};
use crate::space::ParameterChange;
use serde::Serialize;

/// Version of the document below.
pub const SCHEMA: u32 = 1;

/// Everything about a search's result.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// Version of this document.
    pub schema: u32,
    /// What was asked.
    pub question: Question,
    /// Why the search ended.
    pub ended: Ended,
    /// How much it took.
    pub effort: Effort,
    /// Grade of the recommended configuration; 0 is the baseline.
    pub grade: f64,
    /// Speedups on the traces that the search used.
    pub training: SpeedupTable,
    /// Speedups on held-out traces, where there are any.
    pub held_out: Option<SpeedupTable>,
    /// The best for the target alone, on the traces that the search used.
    pub ignoring_others: SpeedupTable,
    /// Every parameter that differs from the baseline.
    pub parameters: Vec<ParameterChange>,
    /// What is lost when changes are taken back, one at a time; greatest loss first.
    pub importance: Vec<Importance>,
    /// The recommended configuration, as TOML.
    pub toml: String,
    /// The same as MQSim's XML, where it can be written.
    pub mqsim_xml: Option<String>,
    /// The best grade as it grew.
    pub curve: Vec<CurvePoint>,
    /// Performance of the target against power, every trial.
    pub trade: Vec<PowerTrade>,
    /// The top configurations.
    pub top: Vec<TopConfiguration>,
    /// How proposals ended.
    pub verdicts: Verdicts,
    /// What a reader of the figures must know.
    pub notes: Vec<String>,
}

/// What was asked.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the target.
    pub target: String,
    /// Names of the others.
    pub others: Vec<String>,
    /// Name of the space and the number of its points.
    pub space: String,
    /// Points of the space, limits not looked at.
    pub points: f64,
    /// The limits.
    pub limits: Vec<String>,
    /// Requests of the target's traces.
    pub requests: usize,
    /// What drives have been through.
    pub initial_state: String,
    /// Weight of throughput.
    pub alpha: f64,
    /// Weight of the others.
    pub beta: f64,
    /// How the search was run.
    pub settings: Settings,
}

/// How much a search took.
#[derive(Clone, Debug, Serialize)]
pub struct Effort {
    /// Proposals.
    pub proposals: usize,
    /// Evaluations of the target, prefixes counted by their part.
    pub spent: f64,
    /// Evaluations run by this process, and answered from memory besides.
    pub run: u64,
    /// Evaluations answered in all.
    pub answered: u64,
    /// Requests simulated by this process.
    pub requests: u64,
    /// What the filter of hopeless proposals did; `None` where there was no filter.
    #[serde(rename = "screened")]
    pub discard_report: Option<DiscardReport>,
    /// Wall-clock seconds, search and evidence together; set by the caller.
    pub seconds: f64,
}

/// Speedups of one configuration.
#[derive(Clone, Debug, Serialize)]
pub struct SpeedupTable {
    /// The target.
    pub target: WorkloadResult,
    /// The others.
    pub others: Vec<WorkloadResult>,
    /// Geometric mean of the others.
    pub others_mean: Option<Speedup>,
    /// The smallest latency speedup and the smallest throughput speedup among the others.
    pub others_worst: Option<Speedup>,
}

/// One workload of a table.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadResult {
    /// The workload.
    pub workload: String,
    /// Its speedup.
    pub speedup: Speedup,
    /// What the baseline did.
    pub baseline: DriveResult,
    /// What the configuration did.
    pub own: DriveResult,
}

/// One drive on one workload: means over the traces.
#[derive(Clone, Debug, Serialize)]
pub struct DriveResult {
    /// Latency and throughput.
    pub figures: Figures,
    /// Busiest part in the open loop, where known.
    pub busiest: Option<String>,
    /// How busy it was.
    pub utilisation: Option<f64>,
    /// Energy of the open loop in joule.
    pub energy_j: Option<f64>,
    /// Average power of the open loop in watt.
    pub average_watts: Option<f64>,
    /// Highest power of a millisecond.
    pub peak_watts: Option<f64>,
    /// Victims collected in both runs.
    pub collections: Option<u64>,
    /// Mapping look-ups that went to flash, in both runs.
    pub mapping_misses: Option<u64>,
}

/// What is lost when one change is taken back.
#[derive(Clone, Debug, Serialize)]
pub struct Importance {
    /// The parameter, or the members of the group.
    pub keys: Vec<&'static str>,
    /// Formula 1 of the target with the change, less that without it. `None` where the drive
    /// without it breaks the limits or cannot serve.
    pub loss: Option<f64>,
    /// Speedup of the target without the change.
    pub without: Option<Speedup>,
}

/// One trial of the choice between performance and power.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PowerTrade {
    /// The trial.
    pub number: usize,
    /// Formula 1 of the target.
    pub performance: f64,
    /// Average power in watt.
    pub average_watts: f64,
    /// Whether no other trial is better in one and as good in the other.
    pub pareto: bool,
}

/// One of the top configurations.
#[derive(Clone, Debug, Serialize)]
pub struct TopConfiguration {
    /// The trial.
    pub number: usize,
    /// Its grade.
    pub grade: f64,
    /// Speedup of the target.
    pub target: Speedup,
    /// The configuration, as TOML.
    pub toml: String,
}

/// How many proposals ended how.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Verdicts {
    /// Everything measured.
    pub graded: usize,
    /// Others left out.
    pub censored: usize,
    /// Lost the race on the prefix.
    pub raced: usize,
    /// Could not serve.
    pub unfit: usize,
    /// Above the power budget.
    pub over_power: usize,
    /// Predicted to be hopeless.
    #[serde(rename = "screened")]
    pub hopeless: usize,
}
