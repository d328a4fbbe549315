//! Measuring drives against the baseline: on a prefix of the target, on the target, on the others.
//!
//! The judge decides nothing and keeps no record of what it measured.

use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, MeasureError, WorkloadMeasurement};
use crate::grade::Speedup;
use crate::task::Task;
use crate::workload::Workload;
use ssdtune_model::CheckedConfig;

/// The baseline's measurements.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// On the target.
    pub target: WorkloadMeasurement,
    /// On each other workload, in their order.
    pub others: Vec<WorkloadMeasurement>,
}

/// What a drive did on the target.
pub(super) struct TargetResult {
    pub speedup: Speedup,
    /// Formula 1.
    pub performance: f64,
    /// Average power in watt; `None` where the evaluator counts no energy.
    pub average_watts: Option<f64>,
    /// How the power budget is exceeded, if it is.
    pub over_power: Option<String>,
}

pub(super) struct Judge<'a> {
    task: &'a Task,
    evaluator: &'a CachedEvaluator<'a>,
    baseline: Baseline,
    prefix: Workload,
    prefix_baseline: WorkloadMeasurement,
}

impl<'a> Judge<'a> {
    /// Measures the baseline. `prefix_share` of the target's requests are its prefix.
    pub fn new(
        task: &'a Task,
        prefix_share: f64,
        evaluator: &'a CachedEvaluator<'a>,
    ) -> Result<Self, TuneError> {
        let prefix = prefix_of(&task.target, prefix_share);
        let mut workloads = vec![&task.target, &prefix];
        workloads.extend(&task.others);
        let mut measured = task.baseline_on(&workloads, evaluator)?;
        let others = measured.split_off(2);
        let (prefix_baseline, target) = (measured.swap_remove(1), measured.swap_remove(0));
        let baseline = Baseline { target, others };
        Ok(Self { task, evaluator, baseline, prefix, prefix_baseline })
    }

    /// What the baseline did.
    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// The beginning of the target.
    pub fn prefix(&self) -> &Workload {
        &self.prefix
    }

    /// Requests simulated by this process so far.
    pub fn requests_simulated(&self) -> u64 {
        self.evaluator.counts().requests
    }

    /// Formula 1 of each drive on the prefix; `None` where it cannot serve it.
    pub fn on_prefix(&self, drives: &[&CheckedConfig]) -> Result<Vec<Option<f64>>, MeasureError> {
        let answers = self.measure(drives, std::slice::from_ref(&self.prefix))?;
        let performance = |answer: Result<WorkloadMeasurement, String>| {
            let speedup = answer.ok()?.speedup_over(&self.prefix_baseline);
            Some(self.task.weights.performance(&speedup))
        };
        Ok(answers.into_iter().map(performance).collect())
    }

    /// What each drive does on the target, or why it cannot serve it.
    pub fn on_target(
        &self,
        drives: &[&CheckedConfig],
    ) -> Result<Vec<Result<TargetResult, String>>, MeasureError> {
        let answers = self.measure(drives, std::slice::from_ref(&self.task.target))?;
        let constraints = &self.task.limits.constraints;
        let result = |measured: WorkloadMeasurement| {
            let speedup = measured.speedup_over(&self.baseline.target);
            let average_watts = measured.average_watts();
            let violation = average_watts.and_then(|watts| constraints.power_violation(watts));
            TargetResult {
                speedup,
                performance: self.task.weights.performance(&speedup),
                average_watts,
                over_power: violation.map(|violation| violation.to_string()),
            }
        };
        Ok(answers.into_iter().map(|answer| answer.map(result)).collect())
    }

    /// The speedups of each drive on the other workloads, or why it cannot serve one of them.
    pub fn on_others(
        &self,
        drives: &[&CheckedConfig],
    ) -> Result<Vec<Result<Vec<Speedup>, String>>, MeasureError> {
        let mut answers = self.measure(drives, &self.task.others)?.into_iter();
        let of_drive = |_| {
            let own: Vec<_> = answers.by_ref().take(self.task.others.len()).collect();
            let pairs = own.into_iter().zip(&self.baseline.others);
            pairs.map(|(answer, base)| Ok(answer?.speedup_over(base))).collect()
        };
        Ok(drives.iter().map(of_drive).collect())
    }

    /// Every drive on every workload: the workloads of the first drive, then those of the next.
    fn measure(
        &self,
        drives: &[&CheckedConfig],
        workloads: &[Workload],
    ) -> Result<Vec<Result<WorkloadMeasurement, String>>, MeasureError> {
        let pairs = drives.iter().flat_map(|drive| workloads.iter().map(move |own| (*drive, own)));
        self.evaluator.measure_workloads(&pairs.collect::<Vec<_>>())
    }
}

/// A workload of which each trace is cut to its first requests.
fn prefix_of(workload: &Workload, share: f64) -> Workload {
    let traces = workload.traces.iter().map(|trace| {
        let wanted = (trace.requests().len() as f64 * share).ceil() as usize;
        trace.prefix(wanted.max(1))
    });
    Workload { traces: traces.collect(), ..workload.clone() }
}
