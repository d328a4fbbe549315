//! Ablation of a weight of the grade (AutoBlox, section 4.6): one search for each value of the
//! weight.
//!
//! As in the paper, no search learns from another one. The searches share measurements through the
//! evaluator's memory, which saves time and changes no result. What each recommends is chosen and
//! judged as by any search: by what it does to the other workloads on validation traces.
//!
//! Cost: one search for each value, and one evaluation of each workload on its validation and on
//! its held-out traces for each drive judged.

use super::choice::{Choice, choose};
use super::judgement::Judgement;
use super::measured::Care;
use crate::error::TuneError;
use crate::evaluate::CachedEvaluator;
use crate::grade::{Speedup, Weights};
use crate::search::{PriorKnowledge, Settings, run};
use crate::task::Task;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_report::{Table, Text};

/// One of the two weights of the grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The weight of throughput against latency (formula 1).
    Alpha,
    /// The weight of the other workloads against the target (formula 2).
    Beta,
}

/// The drive that a search recommends with one value of the weight. Field names are part of the
/// result document.
#[derive(Clone, Debug, Serialize)]
pub struct AblationRow {
    /// The value of the weight.
    pub value: f64,
    /// The grade of the drive.
    pub grade: f64,
    /// The speedup of the drive on the target.
    pub target: Speedup,
    /// The geometric mean of the speedups on the other workloads; 1 if there are none.
    pub others_mean: Speedup,
    /// The smallest latency speedup on another workload; `None` if there are none.
    pub others_worst_latency: Option<f64>,
    /// How the drive was judged.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// Runs a search for each value of the weight. `held_out` are the workloads, the target first, with
/// traces that no decision sees. Calls `tell` with each row when it is known.
///
/// # Errors
/// One of the errors of [`run`] and [`choose`].
pub fn ablate(
    task: &Task,
    weight: Weight,
    values: &[f64],
    settings: &Settings,
    evaluator: &CachedEvaluator,
    held_out: Option<&[Workload]>,
    tell: &(dyn Fn(&AblationRow) + Sync),
) -> Result<Vec<AblationRow>, TuneError> {
    let one = |&value: &f64| {
        let weights = match weight {
            Weight::Alpha => Weights { alpha: value, ..task.weights },
            Weight::Beta => Weights { beta: value, ..task.weights },
        };
        let task = Task { weights, ..task.clone() };
        let prior = PriorKnowledge::default();
        let found = run(&task, &prior, settings, evaluator, &mut |_, _| {})?;
        let Choice { number, refused } = choose(&task, &found, evaluator)?;
        let best = &found.trials[number];
        let judgement =
            Judgement::of(&task, &best.config, refused, held_out, Care::Verdict, evaluator)?;
        let others = best.others.clone().unwrap_or_default();
        let row = AblationRow {
            value,
            grade: best.grade.unwrap_or(0.0),
            target: best.target.unwrap_or(Speedup { latency: 1.0, throughput: 1.0 }),
            others_mean: Speedup::mean(&others),
            others_worst_latency: others
                .iter()
                .map(|speedup| speedup.latency)
                .min_by(f64::total_cmp),
            judgement,
        };
        tell(&row);
        Ok(row)
    };
    values.iter().map(one).collect()
}

/// The rows of an ablation as text for terminals: what is broken on held-out traces and what is not
/// recommended first, then a table.
pub fn ablation_text(weight: Weight, rows: &[AblationRow]) -> Text {
    let name = match weight {
        Weight::Alpha => "alpha",
        Weight::Beta => "beta",
    };
    let mut text = Text::new();
    for row in rows {
        let lines = row.judgement.lines().into_iter();
        lines.for_each(|line| _ = text.line(format_args!("{name} {}: {line}", row.value)));
    }
    let mut table = Table::new([
        name,
        "grade",
        "target latency",
        "target throughput",
        "others latency",
        "others throughput",
        "worst latency",
        "worst on validation",
    ]);
    for row in rows {
        let judged = row.judgement.worst_on_validation();
        table.add_row([
            row.value.to_string(),
            format!("{:.4}", row.grade),
            format!("{:.2}x", row.target.latency),
            format!("{:.2}x", row.target.throughput),
            format!("{:.2}x", row.others_mean.latency),
            format!("{:.2}x", row.others_mean.throughput),
            row.others_worst_latency.map(|worst| format!("{worst:.2}x")).unwrap_or_default(),
            judged.map_or("-".to_owned(), |worst| {
                format!("{:.2}x / {:.2}x", worst.latency, worst.throughput)
            }),
        ]);
    }
    table.align_right(..);
    text.table(table);
    text
}
