//! The task of a search: a baseline, what may change, what must hold, and the workloads that judge.

use crate::breach::{Breach, TraceSet};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, EvaluationError, MeasureError, WorkloadMeasurement};
use crate::grade::{Speedup, Weights};
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
    /// What each other workload may lose; `None` if it counts in grades only.
    pub max_harm: Option<MaxHarm>,
}

/// What each other workload may lose of its latency and of its throughput.
///
/// Trials that take more on the traces of the search are no result, and proposals learn from that.
/// The result is judged once more on validation traces, when the search has ended, so no proposal
/// learns from these.
#[derive(Clone, Debug)]
pub struct MaxHarm {
    /// The greatest share that may be lost: 0.02 allows a speedup of 0.98 and more.
    pub share: f64,
    /// The other workloads in their order, with other requests than [`Task::others`]. Empty: the
    /// result is not judged once more.
    pub validation: Vec<Workload>,
}

impl Task {
    /// The target, then each other workload.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        std::iter::once(&self.target).chain(&self.others)
    }

    /// The breach of the power budget by an average power on the target, if there is one.
    pub(crate) fn over_power(&self, traces: TraceSet, watts: f64) -> Option<Breach> {
        Breach::of_power(&self.limits, &self.target, traces, watts)
    }

    /// What the other workloads lose beyond what they may, by the speedups on them in their order.
    pub(crate) fn harm<'a>(
        &self,
        traces: TraceSet,
        speedups: impl IntoIterator<Item = &'a Speedup>,
    ) -> Vec<Breach> {
        let Some(MaxHarm { share, .. }) = &self.max_harm else { return Vec::new() };
        let pairs = self.others.iter().zip(speedups);
        pairs.flat_map(|(other, speedup)| Breach::of_harm(*share, other, traces, speedup)).collect()
    }

    /// Whether a workload is measured on windows of long traces.
    pub fn is_sampled(&self) -> bool {
        let validation = self.max_harm.iter().flat_map(|harm| &harm.validation);
        let traces = self.workloads().chain(validation).flat_map(|workload| &workload.traces);
        traces.into_iter().any(|trace| trace.windows().is_some())
    }

    /// Draws the windows that long traces are measured on by what the baseline takes for each of
    /// them, so that those are seldom missed which decide a mean. The baseline is measured on all
    /// windows once. `held_out` are workloads that are measured after the search.
    ///
    /// # Errors
    /// The baseline cannot serve a workload, AutoDB or the evaluator fails, or the caller asked to
    /// stop.
    pub fn draw_windows(
        &mut self,
        held_out: Option<&mut Vec<Workload>>,
        evaluator: &CachedEvaluator,
    ) -> Result<(), TuneError> {
        let base = self.base.clone();
        let validation = self.max_harm.iter_mut().flat_map(|harm| &mut harm.validation);
        let own = std::iter::once(&mut self.target).chain(&mut self.others).chain(validation);
        for workload in own.chain(held_out.into_iter().flatten()) {
            let Workload { name, traces, .. } = workload;
            for trace in traces {
                let Some(windows) = trace.windows().cloned() else { continue };
                let refused = |reason| TuneError::Baseline { workload: name.clone(), reason };
                let sizes =
                    evaluator.window_sizes(&base, &windows).map_err(|error| match error {
                        EvaluationError::Unfit(reason) => refused(reason),
                        EvaluationError::Broken(error) => MeasureError::from(error).into(),
                        EvaluationError::Interrupted => MeasureError::Interrupted.into(),
                    })?;
                let drawn = windows.by_sizes(&sizes).map_err(|error| refused(error.to_string()))?;
                *trace = trace.with_windows(drawn);
            }
        }
        Ok(())
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
