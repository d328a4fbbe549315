//! Which trial is recommended: the best one that hurts no other workload on validation traces.
//!
//! A search has left out what hurts on its own traces. Here the best trials are judged once more,
//! in the order of their grades, on requests that no proposal has learned from, until one takes no
//! more of any other workload than it may. The baseline always passes.
//!
//! Cost: the other workloads, for the baseline and for each trial judged. Mostly that is one.

use crate::breach::{Breach, Nearest, TraceSet};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::grade::Speedup;
use crate::search::{Found, Trial, Verdict};
use crate::task::Task;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_model::CheckedConfig;

/// The most drives of a front that are judged and written down. Of more, those go first that add
/// least to the hypervolume.
pub const FRONT_MAX: usize = 20;

/// A drive that is not recommended although its grade is higher.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// The number of the trial.
    pub number: usize,
    /// The grade of the trial.
    pub grade: f64,
    /// The speedup on the target.
    pub target: Speedup,
    /// What it takes of other workloads beyond what it may.
    pub breaches: Vec<Breach>,
}

impl Refused {
    /// A trial that was measured on the target. If it was not run on the other workloads, its grade
    /// is its performance on the target.
    pub(crate) fn new(trial: &Trial, breaches: Vec<Breach>) -> Option<Self> {
        let grade = trial.grade.or(trial.performance)?;
        Some(Self { number: trial.number, grade, target: trial.target?, breaches })
    }

    /// The drive that comes nearest to keeping every limit.
    pub(crate) fn into_nearest(self) -> Nearest {
        let Self { number, target, breaches, .. } = self;
        Nearest { number, target: Some(target), breaches }
    }
}

/// The trial to recommend.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its number.
    pub number: usize,
    /// Trials with higher grades that hurt other workloads, best first.
    pub refused: Vec<Refused>,
}

/// The most evaluations that choosing the trial to recommend asks for, whether they are in memory
/// or not.
pub fn choice_max(task: &Task, found: &Found) -> u64 {
    let each: usize = validation(task).iter().map(|workload| workload.traces.len()).sum();
    let best = found.ranking.iter().take_while(|number| **number != 0).count();
    let judged = best.max(found.front().len().min(FRONT_MAX));
    // Without a trial to judge the baseline is not measured either.
    if judged == 0 { 0 } else { (each * (judged + 1)) as u64 }
}

/// Chooses the trial to recommend.
///
/// # Errors
/// No trial keeps every limit, the evaluator or AutoDB fails, or the caller asked to stop.
pub fn choose(
    task: &Task,
    found: &Found,
    evaluator: &CachedEvaluator,
) -> Result<Choice, TuneError> {
    let harmful = found.trials.iter().filter(|trial| trial.verdict == Verdict::Harmful);
    let mut refused: Vec<Refused> =
        harmful.filter_map(|trial| Refused::new(trial, trial.breaches.clone())).collect();
    let mut validator = HarmMeter::on_validation(task, evaluator);
    for &number in &found.ranking {
        let trial = &found.trials[number];
        let breaches = if number == 0 { Vec::new() } else { validator.breaches(&trial.config)? };
        if !breaches.is_empty() {
            refused.extend(Refused::new(trial, breaches));
            continue;
        }
        refused.retain(|other| Some(other.grade) > trial.grade);
        refused.sort_by(|a, b| b.grade.total_cmp(&a.grade).then(a.number.cmp(&b.number)));
        return Ok(Choice { number, refused });
    }
    // The trials that keep every limit but this one come nearest.
    let first = found
        .ranking
        .first()
        .and_then(|first| refused.into_iter().find(|refused| refused.number == *first));
    let nearest = first.map(Refused::into_nearest);
    Err(Box::new(found.nothing_kept(nearest)).into())
}

fn validation(task: &Task) -> &[Workload] {
    task.max_harm.as_ref().map_or(&[], |harm| &harm.validation)
}

/// Measures what drives take of other workloads beyond what they may.
pub(crate) struct HarmMeter<'a> {
    task: &'a Task,
    evaluator: &'a CachedEvaluator<'a>,
    traces: TraceSet,
    /// The other workloads with these traces; none where there is no limit.
    workloads: &'a [Workload],
    /// The measurements of the baseline; `None` until they are needed.
    baseline: Option<Vec<WorkloadMeasurement>>,
}

impl<'a> HarmMeter<'a> {
    /// On the traces that the search has learned from.
    pub fn on_search(task: &'a Task, evaluator: &'a CachedEvaluator<'a>) -> Self {
        let workloads = if task.max_harm.is_some() { task.others.as_slice() } else { &[] };
        Self { task, evaluator, traces: TraceSet::Search, workloads, baseline: None }
    }

    /// On validation traces, from which no proposal has learned.
    pub fn on_validation(task: &'a Task, evaluator: &'a CachedEvaluator<'a>) -> Self {
        let (traces, workloads) = (TraceSet::Validation, validation(task));
        Self { task, evaluator, traces, workloads, baseline: None }
    }

    /// What a drive takes of other workloads beyond what it may.
    pub fn breaches(&mut self, drive: &CheckedConfig) -> Result<Vec<Breach>, TuneError> {
        let workloads: Vec<&Workload> = self.workloads.iter().collect();
        if workloads.is_empty() {
            return Ok(Vec::new());
        }
        let baseline = match &mut self.baseline {
            Some(baseline) => baseline,
            none => none.insert(self.task.baseline_on(&workloads, self.evaluator)?),
        };
        let questions: Vec<_> = workloads.iter().map(|workload| (drive, *workload)).collect();
        let answers = self.evaluator.measure_workloads(&questions)?;
        // A drive that cannot serve a workload takes all of it.
        let nothing = Speedup { latency: 0.0, throughput: 0.0 };
        let speedups: Vec<Speedup> = (answers.iter().zip(baseline.iter()))
            .map(|(answer, base)| answer.as_ref().map_or(nothing, |own| own.speedup_over(base)))
            .collect();
        Ok(self.task.harm(self.traces, &speedups))
    }
}
