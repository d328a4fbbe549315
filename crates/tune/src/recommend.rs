//! A recommendation: the best drive of a search, with the evidence for it.
//!
//! The evidence are speedups (as in table 1 of the paper), changed parameters (as in its table 5),
//! the importance of each change, energy, and the choice between performance and power.
//!
//! After a search a few more evaluations are made, which are no part of its budget:
//!
//! 1. The trial to recommend is chosen: the best one that hurts no other workload on validation
//!    traces, from which no proposal has learned ([`choose`]).
//! 2. Each changed parameter is set back to its baseline value, one at a time. What the target
//!    loses is the importance of the change. Layout parameters and the two DRAM sizes are set back
//!    as groups, because one alone would break the limits.
//! 3. Changes without importance are taken back together, if the grade does not suffer
//!    and no other workload does. A recommendation should not change what does not matter.
//! 4. Changes of collection that gain less than 1 % are taken back where no drive collected: what
//!    they do once it does, no run has tried.
//! 5. What gains less than 1 % of the target for more than 1 % of the price is taken back, the
//!    dearest first, where there is a price list. Where limits count the capacity for the host, it
//!    is the price of what the host sees.
//! 6. The baseline runs with the most important change alone. A note says so if that brings most of
//!    the gain: such a baseline stumbles over one setting.
//! 7. The configuration that is best for the target alone is run on the other workloads, for the
//!    rows of table 1 that ignore them.
//! 8. Held-out traces, which no decision has seen, are run last; where drives were used before,
//!    the target from several states of them, so that its speedups have intervals; where windows of
//!    a long trace do not tell 2 %, the trace whole.
//!
//! Cost: one evaluation of the target for each change, and one of each workload for each table.
//!
//! What a search recommends for each of several weights ([`ablate`]) is chosen and judged in the
//! same way, and so is the answer of a what-if analysis.

mod ablation;
mod build;
mod choice;
mod front;
mod judgement;
mod measured;
mod parameters;
mod sentence;
mod simplify;
mod store;
mod terminal;
mod text;

pub use crate::breach::SCHEMA;
pub use crate::interval::SpeedupInterval;
pub use ablation::{AblationRow, Weight, ablate, ablation_text};
pub use build::{Options, evidence_max, question, recommend};
pub use choice::{Choice, FRONT_MAX, Refused, choice_max, choose};
pub use front::{Front, FrontAim, FrontPoint, Pick, front_file};
pub use judgement::Judgement;
pub use parameters::parameter_lines;
pub use terminal::text;
pub use text::markdown;

pub(crate) use choice::HarmMeter;
pub(crate) use measured::Care;

use crate::breach::Breach;
use crate::evaluate::GradedBy;
use crate::grade::{Figures, Speedup};
use crate::limits::BillItem;
use crate::search::{CurvePoint, Ended, Settings};
use crate::space::ParameterChange;
use serde::Serialize;
use serde_json::Value;
use ssdtune_pages::{Shown, page_of};
use std::fs;
use std::path::Path;

/// The files that a search leaves in a directory: the drive in both forms, the document, and the
/// report in both forms.
const FILES: [&str; 5] =
    ["recommended.toml", "recommended.xml", "result.json", "report.html", "report.md"];

/// The files that a search with these settings may leave in a directory: [`Recommendation::files`].
/// With aims there is one for each drive of the front.
pub fn file_names(settings: &Settings) -> Vec<String> {
    let front = if settings.aims.is_empty() { 0 } else { FRONT_MAX };
    FILES.into_iter().map(str::to_owned).chain((1..=front).map(front_file)).collect()
}

/// Whether a directory holds the result of a search for this question, with whatever budget.
pub fn is_result(directory: &Path, question: &Question) -> bool {
    let document = fs::read(directory.join("result.json")).ok();
    let own = serde_json::to_vec(&Stub { schema: SCHEMA, question }).ok();
    let [found, own] = [document, own].map(|text| {
        let mut stub: Value = serde_json::from_slice(&text?).ok()?;
        let question = stub.get_mut("question")?;
        question.get_mut("settings")?.as_object_mut()?.remove("budget");
        question.as_object_mut()?.remove("outside_tested_range");
        Some((stub.get("schema")?.clone(), stub["question"].take()))
    });
    found.is_some() && found == own
}

/// What a document of a result begins with.
#[derive(Serialize)]
struct Stub<'a> {
    schema: u32,
    question: &'a Question,
}

impl Recommendation {
    /// Whether the drive is what a search with several aims was asked for, and no speed that was an
    /// aim is lost on requests that the search never saw.
    pub fn is_what_was_asked(&self) -> bool {
        self.front.as_ref().is_none_or(|front| front.reached && front.unconfirmed.is_none())
    }

    /// The names and texts of [`file_names`]. Without a text there must be no such file: MQSim has
    /// no words for the drive, or the front has fewer drives.
    ///
    /// # Errors
    /// The document is not JSON: a figure of it is no number.
    pub fn files(&self) -> serde_json::Result<Vec<(String, Option<String>)>> {
        let [toml, xml, document, page, report] = FILES.map(str::to_owned);
        let shown = Shown::new("", serde_json::to_value(self)?);
        let mut files = vec![
            (toml, Some(self.toml.clone())),
            (document, Some(serde_json::to_string_pretty(self)? + "\n")),
            (page, Some(page_of(&[shown]).to_html())),
            (report, Some(markdown(self))),
            (xml, self.mqsim_xml.clone()),
        ];
        if let Some(front) = &self.front {
            let text = |place: usize| front.points.get(place - 1).map(|point| point.toml.clone());
            files.extend((1..=FRONT_MAX).map(|place| (front_file(place), text(place))));
        }
        Ok(files)
    }
}

/// The result document of a search. Its field names, and those of the structures in it, are part of
/// the format.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// The version of this document, [`SCHEMA`].
    pub schema: u32,
    /// The task and the settings of the search.
    pub question: Question,
    /// Why the search ended.
    pub ended: Ended,
    /// What the search cost.
    pub effort: Effort,
    /// The grade of the recommended configuration; 0 is the baseline.
    pub grade: f64,
    /// The speedups of the recommended configuration on the traces of the search.
    pub training: SpeedupTable,
    /// The speedups of the recommended configuration on held-out traces; `None` where there are
    /// none.
    pub held_out: Option<SpeedupTable>,
    /// What the recommended configuration breaks on held-out traces: limits that it keeps on those
    /// of the search and of the validation.
    pub held_out_breaches: Vec<Breach>,
    /// The speedups of the recommended configuration on the validation traces of the other
    /// workloads; empty where there are none.
    pub validation: Vec<WorkloadResult>,
    /// Trials with higher grades that are not recommended, because they hurt other workloads; best
    /// first.
    pub refused: Vec<Refused>,
    /// The speedups of the configuration that is best for the target alone, on the traces of the
    /// search.
    pub ignoring_others: SpeedupTable,
    /// The drives of which none is better in every aim; `None` of a search without aims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub front: Option<Front>,
    /// Every parameter in which the recommended configuration differs from the baseline.
    pub parameters: Vec<ParameterChange>,
    /// What the target loses when changes are taken back, one at a time; greatest loss first.
    pub importance: Vec<Importance>,
    /// The recommended configuration, as TOML.
    pub toml: String,
    /// The recommended configuration as MQSim's XML; `None` where it cannot be written.
    pub mqsim_xml: Option<String>,
    /// What MQSim will not know of it, or why there is no XML, one sentence each.
    pub mqsim_notes: Vec<String>,
    /// The best grade after each trial.
    pub curve: Vec<CurvePoint>,
    /// Performance on the target and power of every trial for which both are known.
    pub trade: Vec<PowerTrade>,
    /// The best trials, best first.
    pub top: Vec<TopConfiguration>,
    /// How many proposals had which verdict.
    pub verdicts: Verdicts,
    /// The price of the baseline and of the recommended configuration, by the price list of the
    /// limits; `None` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<[f64; 2]>,
    /// What the price consists of, for the baseline and for the recommended configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bill: Option<[Vec<BillItem>; 2]>,
    /// Bytes that the host sees of the baseline and of the recommended configuration.
    pub host_bytes: [u64; 2],
    /// Bytes that the host may write, in the manner of the target, until cells are worn as far as
    /// they are rated: of the baseline and of the recommended configuration. `None` where it wrote
    /// nothing.
    pub endurance_bytes: [Option<f64>; 2],
    /// Signal pins of the controller for flash, DRAM and host: of the baseline and of the
    /// recommended configuration.
    pub controller_pins: [u32; 2],
    /// What a reader of the figures must know.
    pub notes: Vec<String>,
}

/// The task and the settings of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// The name of the baseline.
    pub baseline: String,
    /// The name of the target workload.
    pub target: String,
    /// The names of the other workloads.
    pub others: Vec<String>,
    /// The name of the space.
    pub space: String,
    /// The number of points in the space, whether they keep the limits or not.
    pub points: f64,
    /// The limits, a line of text for each.
    pub limits: Vec<String>,
    /// The number of requests in the target's traces.
    pub requests: usize,
    /// What drives hold and have been through before each run, in words.
    pub initial_state: String,
    /// Which response time is graded, and whether speedups hold under MQSim's rules too; nothing
    /// is said of the default.
    #[serde(flatten)]
    pub graded_by: GradedBy,
    /// The weight of throughput against latency (formula 1).
    pub alpha: f64,
    /// The weight of the other workloads against the target (formula 2).
    pub beta: f64,
    /// The share that each other workload may lose; `None` if it counts in the grade only.
    pub max_harm: Option<f64>,
    /// The settings of the search.
    pub settings: Settings,
    /// What a calibrated baseline was not tested at and the workloads ask for; `None` where it was
    /// not calibrated. The caller sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_tested_range: Option<Vec<String>>,
}

/// What a search cost.
#[derive(Clone, Debug, Serialize)]
pub struct Effort {
    /// The number of proposals.
    pub proposals: usize,
    /// Evaluations of the target spent on proposals, at most the budget. A run on a prefix counts
    /// as its share of one.
    pub spent: f64,
    /// Evaluations run by this process, each of one drive on one trace: proposals, baseline and
    /// evidence.
    pub run: u64,
    /// Those of `run` that were run after the search, for the evidence.
    pub run_for_evidence: u64,
    /// Evaluations answered, whether from memory or by running them.
    pub answered: u64,
    /// Requests simulated by this process.
    pub requests: u64,
    /// Wall-clock seconds of the search and of the evidence together. The caller sets it.
    pub seconds: f64,
}

/// The speedups of one configuration on all workloads.
#[derive(Clone, Debug, Serialize)]
pub struct SpeedupTable {
    /// The result on the target.
    pub target: WorkloadResult,
    /// The results on the other workloads.
    pub others: Vec<WorkloadResult>,
    /// The geometric mean of the speedups on the other workloads; `None` if there are none.
    pub others_mean: Option<Speedup>,
    /// The smallest latency speedup and the smallest throughput speedup on the other workloads;
    /// `None` if there are none.
    pub others_worst: Option<Speedup>,
}

/// A configuration and the baseline on one workload.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadResult {
    /// The name of the workload.
    pub workload: String,
    /// The speedup of the configuration over the baseline; 0 if one of them cannot serve the
    /// workload.
    pub speedup: Speedup,
    /// Where it lies, if the workload is measured on windows of long traces, or from several states
    /// of the drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpeedupInterval>,
    /// The result of the baseline.
    pub baseline: DriveResult,
    /// The result of the configuration.
    pub own: DriveResult,
}

impl WorkloadResult {
    /// Whether it is of whole traces, in place of windows that do not tell enough.
    pub(crate) fn is_whole(&self) -> bool {
        self.interval.as_ref().is_some_and(|interval| interval.whole > 0)
    }
}

/// The result of one drive on one workload, over all traces. Facts that the evaluator does not tell
/// are `None`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DriveResult {
    /// Latency and throughput, as geometric means over the traces; `None` where the drive cannot
    /// serve the workload, so that nothing was served.
    pub figures: Option<Figures>,
    /// The name of the busiest part in the open loop.
    pub busiest: Option<String>,
    /// The share of the time that this part was busy, 0 to 1.
    pub utilisation: Option<f64>,
    /// The energy of the open loop in joule, summed over the traces.
    pub energy_j: Option<f64>,
    /// The average power of the open loop in watt.
    pub average_watts: Option<f64>,
    /// Pages programmed for each page that the host wrote, in the open loop; `None` where it wrote
    /// nothing.
    pub write_amplification: Option<f64>,
    /// The highest power over a millisecond in watt, as a mean over the traces.
    pub peak_watts: Option<f64>,
    /// The number of blocks that garbage collection emptied in both runs.
    pub collections: Option<u64>,
    /// The number of look-ups of the mapping table that had to read flash in both runs.
    pub mapping_misses: Option<u64>,
}

/// What the target loses when one change is taken back.
#[derive(Clone, Debug, Serialize)]
pub struct Importance {
    /// The keys of the parameters or choices taken back: one, or the members of a group.
    pub keys: Vec<String>,
    /// The performance (formula 1) on the target with the change, less that without it. `None`
    /// where the drive without the change breaks the limits or cannot serve the target.
    pub loss: Option<f64>,
    /// The speedup on the target without the change.
    pub without: Option<Speedup>,
    /// The speedup on the target of the baseline with this change alone; `None` where that was not
    /// measured. It was for the first one at least.
    pub alone: Option<Speedup>,
}

/// Performance and power of a trial.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PowerTrade {
    /// The number of the trial.
    pub number: usize,
    /// The performance (formula 1) on the target.
    pub performance: f64,
    /// The average power on the target in watt.
    pub average_watts: f64,
    /// Whether no other trial is better in one and at least as good in the other.
    pub pareto: bool,
}

/// One of the best trials.
#[derive(Clone, Debug, Serialize)]
pub struct TopConfiguration {
    /// The number of the trial.
    pub number: usize,
    /// The grade of the trial.
    pub grade: f64,
    /// The speedup on the target.
    pub target: Speedup,
    /// The configuration, as TOML.
    pub toml: String,
}

/// The number of proposals with each [`Verdict`](crate::search::Verdict).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Verdicts {
    /// Measured on every workload.
    pub graded: usize,
    /// Not run on the other workloads.
    pub censored: usize,
    /// Lost the race on the prefix.
    pub raced: usize,
    /// Took more of another workload than allowed, on the traces of the search.
    pub harmful: usize,
    /// Could not serve a workload.
    pub unfit: usize,
    /// Needed more power than allowed.
    pub over_power: usize,
}
