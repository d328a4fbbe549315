//! The task of a search: a baseline, what may change, what must hold, and the workloads that judge.

use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::grade::Weights;
use crate::limits::Limits;
use crate::space::Space;
use crate::workload::Workload;
use ssdtune_model::CheckedConfig;

/// The task of a search, a pruning or a what-if analysis.
///
/// It is complete when it is made and does not change afterwards: together with the settings and
/// the evaluator it identifies a search. What earlier work knows about it is handed over beside it
/// ([`PriorKnowledge`](crate::search::PriorKnowledge)).
#[derive(Clone, Debug)]
pub struct Task {
    /// The drive to beat. Grades are relative to it.
    pub base: CheckedConfig,
    /// What may change. It holds the baseline's own values ([`Space::around`]).
    pub space: Space,
    /// What the result must keep to.
    pub limits: Limits,
    /// The workload to serve better.
    pub target: Workload,
    /// The workloads not to hurt.
    pub others: Vec<Workload>,
    /// The weights of formulas 1 and 2.
    pub weights: Weights,
}

impl Task {
    /// The target, then each other workload.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        std::iter::once(&self.target).chain(&self.others)
    }

    /// Measures the baseline on workloads.
    pub(crate) fn baseline_on(
        &self,
        workloads: &[&Workload],
        evaluator: &CachedEvaluator,
    ) -> Result<Vec<WorkloadMeasurement>, TuneError> {
        let questions: Vec<_> = workloads.iter().map(|workload| (&self.base, *workload)).collect();
        let answers = evaluator.measure_workloads(&questions)?.into_iter().zip(workloads);
        let measured = answers.map(|(answer, workload)| {
            answer.map_err(|reason| TuneError::Baseline { workload: workload.name.clone(), reason })
        });
        measured.collect()
    }
}
