//! The judge compares drives with the baseline: on a prefix of the target, on the target, and on
//! the other workloads.
//!
//! It takes no decisions and keeps no record of what it measured.

use crate::aim::Aim;
use crate::breach::{Breach, TraceSet};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, MeasureError, WindowFigures, WorkloadMeasurement};
use crate::grade::{Speedup, Weights};
use crate::task::Task;
use crate::workload::{Trace, Workload};
use ssdtune_estimate::{Measured, Race, Ratio, Standing};
use ssdtune_model::CheckedConfig;

/// The measurements of the baseline.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The measurement on the target.
    pub target: WorkloadMeasurement,
    /// The measurements on the other workloads, in the order of the task.
    pub others: Vec<WorkloadMeasurement>,
}

/// What a drive does on the prefix of the target, beside the baseline.
#[derive(Clone, Debug, Default)]
pub(super) struct OnPrefix {
    /// The performance (formula 1).
    pub performance: f64,
    /// The performance with nothing charged for work that was left undone.
    pub served: f64,
    /// The gain in each aim; `None` where one is not known.
    pub gains: Option<Vec<f64>>,
}

/// What a drive achieved on the target.
pub(super) struct TargetResult {
    pub speedup: Speedup,
    /// The performance by formula 1.
    pub performance: f64,
    /// Average power in watt; `None` where the evaluator counts no energy.
    pub average_watts: Option<f64>,
    /// The breach of the power budget, if there is one.
    pub over_power: Option<Breach>,
    /// The gain in each aim; `None` where one is not known.
    pub gains: Option<Vec<f64>>,
}

/// Measures drives and compares them with the baseline.
pub(super) struct Judge<'a> {
    task: &'a Task,
    aims: &'a [Aim],
    evaluator: &'a CachedEvaluator<'a>,
    baseline: Baseline,
    prefix: Workload,
    /// The measurement of the baseline on the prefix.
    prefix_baseline: WorkloadMeasurement,
}

impl<'a> Judge<'a> {
    /// A judge for a task and the aims of its search. The baseline is measured at once. The share
    /// `prefix_share` of the target's requests is the prefix.
    pub fn new(
        task: &'a Task,
        aims: &'a [Aim],
        prefix_share: f64,
        evaluator: &'a CachedEvaluator<'a>,
    ) -> Result<Self, TuneError> {
        let prefix = prefix_of(&task.target, prefix_share);
        let mut workloads = vec![&task.target, &prefix];
        workloads.extend(&task.others);
        let mut measured = task.baseline_on(&workloads, evaluator)?;
        let others = measured.split_off(2);
        let (prefix_baseline, target) = (measured.swap_remove(1), measured.swap_remove(0));
        let prices = task.limits.prices.as_ref();
        let unknown = |aim: &&Aim| aim.value(&task.base, &target, prices).is_none();
        if let Some(&aim) = aims.iter().find(unknown) {
            return Err(TuneError::Aim { aim, remedy: aim.remedy() });
        }
        let baseline = Baseline { target, others };
        Ok(Self { task, aims, evaluator, baseline, prefix, prefix_baseline })
    }

    /// The measurements of the baseline.
    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Collections of the baseline for each request, on the prefix and on the whole target.
    pub fn collections(&self) -> [f64; 2] {
        let runs =
            [(&self.prefix, &self.prefix_baseline), (&self.task.target, &self.baseline.target)];
        runs.map(|(workload, measured)| {
            let facts = measured.traces().iter().flat_map(|own| [&own.open, &own.closed]).flatten();
            let collections: u64 = facts.map(|facts| facts.collections).sum();
            let served: usize = workload.traces.iter().map(Trace::requests_served).sum();
            collections as f64 / served.max(1) as f64
        })
    }

    /// Requests simulated by this process so far.
    pub fn requests_simulated(&self) -> u64 {
        self.evaluator.counts().requests
    }

    /// What each drive does on the prefix; `None` where it cannot serve that.
    pub fn on_prefix(
        &self,
        drives: &[&CheckedConfig],
    ) -> Result<Vec<Option<OnPrefix>>, MeasureError> {
        let answers = self.measure(drives, std::slice::from_ref(&self.prefix))?;
        let result = |(answer, drive): (Result<WorkloadMeasurement, String>, &&CheckedConfig)| {
            let (own, baseline) = (answer.ok()?, &self.prefix_baseline);
            let performance = |speedup| self.task.weights.performance(&speedup);
            Some(OnPrefix {
                performance: performance(own.speedup_over(baseline)),
                served: performance(own.served_speedup_over(baseline)),
                gains: self.gains(drive, &own, baseline),
            })
        };
        Ok(answers.into_iter().zip(drives).map(result).collect())
    }

    /// The gain of a drive in each aim; `None` without aims, and where one is not known.
    fn gains(
        &self,
        drive: &CheckedConfig,
        own: &WorkloadMeasurement,
        baseline: &WorkloadMeasurement,
    ) -> Option<Vec<f64>> {
        let Task { base, limits, .. } = self.task;
        let value = |aim: Aim, config: &CheckedConfig, measured| {
            aim.value(config, measured, limits.prices.as_ref())
        };
        let gain =
            |aim: &Aim| Some(aim.gain(value(*aim, drive, own)?, value(*aim, base, baseline)?));
        if self.aims.is_empty() { None } else { self.aims.iter().map(gain).collect() }
    }

    /// Whether the target is measured on windows of long traces, so that races can tell what is
    /// known from what is not.
    pub fn is_sampled(&self) -> bool {
        self.task.target.traces.iter().all(|trace| trace.windows().is_some())
    }

    /// Where each drive stands beside another on a share of the target's windows; `None` where it
    /// cannot serve them.
    pub fn standings(
        &self,
        drives: &[&CheckedConfig],
        other: &CheckedConfig,
        share: f64,
    ) -> Result<Vec<Option<Standing>>, MeasureError> {
        let part = prefix_of(&self.task.target, share);
        let all: Vec<&CheckedConfig> =
            std::iter::once(other).chain(drives.iter().copied()).collect();
        let mut answers = self.measure(&all, std::slice::from_ref(&part))?.into_iter();
        let Some(Ok(other)) = answers.next() else { return Ok(vec![None; drives.len()]) };
        let race = Race::new(WRONG);
        let standing = |own: &WorkloadMeasurement| {
            let costs = costs(&self.task.weights, &part, own, &other)?;
            Some(race.standing(&costs, 1.0))
        };
        Ok(answers.map(|answer| answer.ok().as_ref().and_then(standing)).collect())
    }

    /// The result of each drive on the target, or why it cannot serve that.
    pub fn on_target(
        &self,
        drives: &[&CheckedConfig],
    ) -> Result<Vec<Result<TargetResult, String>>, MeasureError> {
        let answers = self.measure(drives, std::slice::from_ref(&self.task.target))?;
        let result = |(measured, drive): (WorkloadMeasurement, &&CheckedConfig)| {
            let speedup = measured.speedup_over(&self.baseline.target);
            let average_watts = measured.average_watts();
            TargetResult {
                speedup,
                performance: self.task.weights.performance(&speedup),
                average_watts,
                over_power: average_watts
                    .and_then(|watts| self.task.over_power(TraceSet::Search, watts)),
                gains: self.gains(drive, &measured, &self.baseline.target),
            }
        };
        let pairs = answers.into_iter().zip(drives);
        Ok(pairs.map(|(answer, drive)| answer.map(|own| result((own, drive)))).collect())
    }

    /// The speedups of each drive on the other workloads, or why it cannot serve one of them.
    pub fn on_others(
        &self,
        drives: &[&CheckedConfig],
    ) -> Result<Vec<Result<Vec<Speedup>, String>>, MeasureError> {
        let mut answers = self.measure(drives, &self.task.others)?.into_iter();
        let of_drive = |_| {
            let measured: Vec<_> = answers.by_ref().take(self.task.others.len()).collect();
            let pairs = measured.into_iter().zip(&self.baseline.others);
            pairs.map(|(answer, base)| Ok(answer?.speedup_over(base))).collect()
        };
        Ok(drives.iter().map(of_drive).collect())
    }

    /// Measures every drive on every workload: all workloads for the first drive, then all for the
    /// next.
    fn measure(
        &self,
        drives: &[&CheckedConfig],
        workloads: &[Workload],
    ) -> Result<Vec<Result<WorkloadMeasurement, String>>, MeasureError> {
        let pairs = drives
            .iter()
            .flat_map(|drive| workloads.iter().map(move |workload| (*drive, workload)));
        self.evaluator.measure_workloads(&pairs.collect::<Vec<_>>())
    }
}

/// With what chance a race ever throws out a drive that is not worse.
const WRONG: f64 = 0.01;

/// How many times the cost of another drive one has by formula 1, told from the windows of the
/// traces of a workload.
fn costs(
    weights: &Weights,
    workload: &Workload,
    own: &WorkloadMeasurement,
    other: &WorkloadMeasurement,
) -> Option<Ratio> {
    let traces = workload.traces.len() as f64;
    let mut all = Vec::new();
    let pairs = own.traces().iter().zip(other.traces());
    for (trace, (own, other)) in workload.traces.iter().zip(pairs) {
        let reach = trace.windows()?.reach();
        let ratio = |value: fn(&WindowFigures) -> f64| {
            let both = own.windows.iter().zip(&other.windows);
            let measured = both.map(|(own, other)| Measured {
                chance: own.chance,
                below: value(other),
                above: value(own),
            });
            Ratio::of(&measured.collect::<Vec<_>>(), reach)
        };
        all.push(((1.0 - weights.alpha) / traces, ratio(|window| window.latency_ns)?));
        all.push((weights.alpha / traces, ratio(|window| window.closed_ns)?));
    }
    Ratio::product(&all)
}

/// The workload with each trace cut to the first `share` of its requests, at least one.
fn prefix_of(workload: &Workload, share: f64) -> Workload {
    let traces = workload.traces.iter().map(|trace| {
        let wanted = (trace.requests().len() as f64 * share).ceil() as usize;
        trace.prefix(wanted.max(1))
    });
    Workload { traces: traces.collect(), ..workload.clone() }
}
