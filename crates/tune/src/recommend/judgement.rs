//! What a drive does on requests that no proposal has learned from: the validation traces on which
//! it was judged, and the held-out traces, which only report.

use super::choice::Refused;
use super::measured::{Care, rows, table};
use super::{SpeedupTable, WorkloadResult};
use crate::breach::{Breach, TraceSet};
use crate::evaluate::{CachedEvaluator, MeasureError};
use crate::grade::Speedup;
use crate::task::Task;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_model::CheckedConfig;

/// How the drive that was chosen, and those before it, were judged. Field names are part of result
/// documents.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// The speedups of the drive on held-out traces; `None` where there are none.
    pub held_out: Option<SpeedupTable>,
    /// What the drive breaks on held-out traces: limits that it keeps on those of the search and of
    /// the validation.
    pub held_out_breaches: Vec<Breach>,
    /// The speedups of the drive on the validation traces of the other workloads; empty where there
    /// are none.
    pub validation: Vec<WorkloadResult>,
    /// Better trials that were not chosen, because they hurt other workloads; best first.
    pub refused: Vec<Refused>,
}

impl Judgement {
    /// Measures a drive that was chosen, on held-out workloads (the target, then the others) and on
    /// the validation traces of the task, with this care for the target.
    pub(crate) fn of(
        task: &Task,
        config: &CheckedConfig,
        refused: Vec<Refused>,
        held_out: Option<&[Workload]>,
        care: Care,
        evaluator: &CachedEvaluator,
    ) -> Result<Self, MeasureError> {
        let held_out = match held_out {
            Some(workloads) => {
                let workloads: Vec<&Workload> = workloads.iter().collect();
                Some(table(evaluator, &task.base, config, &workloads, care)?)
            }
            None => None,
        };
        let validation = task.max_harm.iter().flat_map(|harm| &harm.validation);
        let validation =
            rows(evaluator, &task.base, config, &validation.collect::<Vec<_>>(), Care::Verdict)?;
        let held_out_breaches = held_out.as_ref().map_or(Vec::new(), |table| breaches(task, table));
        Ok(Self { held_out, held_out_breaches, validation, refused })
    }

    /// The smallest latency speedup and the smallest throughput speedup on validation traces;
    /// `None` where there are none.
    pub fn worst_on_validation(&self) -> Option<Speedup> {
        let each = || self.validation.iter().map(|row| &row.speedup);
        let least = |part: fn(&Speedup) -> f64| each().map(part).min_by(f64::total_cmp);
        let latency = least(|speedup| speedup.latency)?;
        Some(Speedup { latency, throughput: least(|speedup| speedup.throughput)? })
    }

    /// What comes first in every text ([`judgement_lines`]).
    pub(crate) fn lines(&self) -> Vec<String> {
        judgement_lines(&self.held_out_breaches, &self.refused)
    }
}

/// The greatest number of refused trials that a text names.
const REFUSED_TOLD: usize = 3;

/// What comes first in every text: limits broken on held-out traces, then better trials that hurt
/// other workloads.
pub(super) fn judgement_lines(held_out: &[Breach], refused: &[Refused]) -> Vec<String> {
    let held_out = held_out.iter().map(|breach| format!("BREACH: {breach}"));
    let told = refused.iter().take(REFUSED_TOLD).flat_map(|one| {
        one.breaches.iter().map(move |breach| {
            format!("not recommended: trial {} (grade {:.4}): {breach}", one.number, one.grade)
        })
    });
    let more = refused.len().saturating_sub(REFUSED_TOLD);
    let more = (more > 0).then(|| format!("{more} more are not recommended either"));
    held_out.chain(told).chain(more).collect()
}

/// What a drive breaks on held-out traces.
fn breaches(task: &Task, held_out: &SpeedupTable) -> Vec<Breach> {
    let watts = held_out.target.own.average_watts;
    let over = watts.and_then(|watts| task.over_power(TraceSet::HeldOut, watts));
    let speedups = held_out.others.iter().map(|row| &row.speedup);
    over.into_iter().chain(task.harm(TraceSet::HeldOut, speedups)).collect()
}
