//! Screening: proposals that are surely not worth it are discarded before they are simulated.
//!
//! A bagged ensemble of trees with constant leaves learns formula 1 against the baseline from what AutoDB knew
//! when the search began ([`crate::memory::training_examples`]): of a drive (the axes of the space) and a workload (its
//! characteristics). Trees of means underrate the best and overrate the worst, so a prediction is read beside what
//! became of others like it: on traces left out of the fit, 40 drives were predicted about as good, and the bound is what
//! 95 in 100 of those did not exceed. A target that AutoDB has never seen is so not judged with the certainty of
//! one that it has.
//!
//! *Hopeless* is a proposal whose highest likely grade, target and others together, does not reach the worst
//! grade of the top set: the paper's rule for leaving out the others, before the target. A discarded proposal
//! counts against the budget as if it had run, so screening makes a search cheaper and not longer. It has no
//! performance and no grade, and no surrogate learns from it.
//!
//! A model may be wrong where nothing was measured: every tenth hopeless proposal is run all the same. What the
//! search itself measures is learned too, from time to time, and each measurement, predicted before it was learned
//! from, joins those examples. Who knew too little at the start discards nothing to the end.
//!
//! Proposals that are there to learn from are not screened, those of the default algorithm's sensitivity runs and all
//! of the paper's algorithm: without the harmful moves they know their axes less well, and end lower
//! (docs/results/search.md).
//!
//! Decisions are taken by one thread in the order of proposals, from lessons of the generation at the search's
//! start and from trials whose batch is known: threads and interruptions change nothing.
//!
//! Cost: six fits of some 100 ms at the start, one whenever a tenth more is known; a prediction some
//! microseconds.

use super::{Algorithm, SearchError, Settings, Task};
use crate::memory::{Digest, TrainingExample, features};
use crate::workload::Workload;
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::tree::{BagModel, BagParams, Leaves, TreeParams};
use ssdtune_model::DeviceConfig;
use std::collections::BTreeSet;

/// With fewer lessons nothing is discarded.
pub const EXAMPLES_MIN: usize = 100;
/// Lessons learned from at most: a fit stays below a second.
pub const EXAMPLES_MAX: usize = 1_500;
/// Every so many hopeless proposals one is run.
const CHECKED_EACH: usize = 10;
/// So many of them do not exceed the bound.
const CONFIDENCE: f64 = 0.95;
/// Predictions that a prediction is read beside.
const LIKE_IT: usize = 40;
const TREES: usize = 24;
const FOLDS: usize = 5;

/// What screening did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screened {
    /// Evaluations learned from.
    pub lessons: usize,
    /// Why nothing was discarded, where too little is known.
    pub idle: Option<String>,
    /// Proposals discarded.
    pub discarded: usize,
    /// Hopeless proposals that were run all the same.
    pub checked: usize,
    /// Of these, those that reached the top set.
    pub wrong: usize,
}

struct Learned {
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    model: BagModel,
    /// How many rows the model has seen.
    seen: usize,
    seed: u64,
    /// Predictions by models that had not seen the truth, and the truth; by rising prediction.
    examples: Vec<(f64, f64)>,
}

pub(super) struct Screen {
    learned: Option<Learned>,
    pub report: Screened,
}

impl Screen {
    /// Learns from the task's lessons.
    pub fn new(task: &Task, settings: &Settings) -> Result<Self, SearchError> {
        let (lessons, seed) = (&task.examples, settings.seed);
        let mut report = Screened { lessons: lessons.len(), ..Screened::default() };
        if settings.algorithm == Algorithm::Autoblox {
            let reason = "autoblox proposes what it is unsure of, to learn from it";
            report.idle = Some(reason.to_owned());
            return Ok(Self { learned: None, report });
        }
        let traces: BTreeSet<_> = lessons.iter().map(|lesson| lesson.trace).collect();
        if lessons.len() < EXAMPLES_MIN || traces.len() < 2 {
            report.idle = Some(format!(
                "AutoDB holds {} evaluations of drives like these, on {} traces; {EXAMPLES_MIN} on at least 2 are \
                 needed",
                lessons.len(),
                traces.len()
            ));
            return Ok(Self { learned: None, report });
        }
        let targets: Vec<f64> =
            lessons.iter().map(|lesson| task.weights.performance(&lesson.speedup)).collect();
        let rows: Vec<Vec<f64>> = lessons.iter().map(|lesson| lesson.features.clone()).collect();
        let model = fit(&rows, &targets, seed)?;
        let traces: Vec<_> = traces.into_iter().collect();
        let mut examples = left_out(lessons, &targets, &traces, seed)?;
        examples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let learned = Learned { seen: rows.len(), rows, targets, model, seed, examples };
        Ok(Self { learned: Some(learned), report })
    }

    /// Learns what was noted, if that is a tenth more than the model has seen.
    pub fn refresh(&mut self) -> Result<(), SearchError> {
        if let Some(learned) = &mut self.learned
            && learned.rows.len() >= learned.seen + learned.seen.div_ceil(10)
        {
            learned.model = fit(&learned.rows, &learned.targets, learned.seed)?;
            learned.seen = learned.rows.len();
        }
        Ok(())
    }

    /// The highest likely grade of a drive; none where too little is known.
    pub fn bound(&self, task: &Task, config: &DeviceConfig) -> Option<f64> {
        let learned = self.learned.as_ref()?;
        let highest = |workload: &Workload| learned.highest(learned.guess(task, config, workload));
        let others: Vec<f64> = task.others.iter().map(highest).collect();
        Some(task.weights.grade(highest(&task.target), &others))
    }

    /// Whether this hopeless proposal, the next one, is to be run all the same.
    pub fn is_to_check(&mut self) -> bool {
        let hopeless = self.report.discarded + self.report.checked;
        let check = hopeless % CHECKED_EACH == CHECKED_EACH - 1;
        match check {
            true => self.report.checked += 1,
            false => self.report.discarded += 1,
        }
        check
    }

    /// Takes note of what a drive did on a workload.
    pub fn note(&mut self, task: &Task, config: &DeviceConfig, workload: &Workload, found: f64) {
        if let Some(learned) = &mut self.learned {
            let guess = learned.guess(task, config, workload);
            let place = learned.examples.partition_point(|example| example.0 < guess);
            learned.examples.insert(place, (guess, found));
            // What a category's traces gave is known as their mean only.
            if let [trace] = &workload.traces[..] {
                let row = features(&task.space, config, trace.characteristics(), workload.depth);
                learned.rows.push(row);
                learned.targets.push(found);
            }
        }
    }
}

impl Learned {
    /// What most of those did not exceed that were guessed about the same.
    fn highest(&self, guess: f64) -> f64 {
        let place = self.examples.partition_point(|example| example.0 < guess);
        let count = LIKE_IT.min(self.examples.len());
        let first = place.saturating_sub(count / 2).min(self.examples.len() - count);
        let truths = self.examples[first..first + count].iter().map(|example| example.1);
        quantile(truths.collect(), CONFIDENCE).max(guess)
    }

    /// Formula 1 of a drive on a workload: the mean over its traces.
    fn guess(&self, task: &Task, config: &DeviceConfig, workload: &Workload) -> f64 {
        let each = workload.traces.iter().map(|trace| {
            guess(
                &self.model,
                &features(&task.space, config, trace.characteristics(), workload.depth),
            )
        });
        each.sum::<f64>() / workload.traces.len().max(1) as f64
    }
}

/// Columns of a row are as many as the lessons'; of a characteristic that is no number everything is possible.
fn guess(model: &BagModel, row: &[f64]) -> f64 {
    model.predict_one(row).unwrap_or(f64::INFINITY)
}

fn fit(rows: &[Vec<f64>], targets: &[f64], seed: u64) -> Result<BagModel, SearchError> {
    let failed = |error: &dyn std::fmt::Display| SearchError::Screen(error.to_string());
    let columns = rows.first().map_or(0, Vec::len);
    let cells = rows.concat();
    let x = Array2::from_shape_vec((rows.len(), columns), cells).map_err(|error| failed(&error))?;
    let y = Array1::from(targets.to_vec());
    let tree = TreeParams::new(Leaves::Constant)
        .min_leaf(2)
        .thresholds(32)
        .columns_per_split(columns.div_ceil(3).max(1))
        .seed(seed);
    BagParams::new(TREES, tree).fit(x.view(), y.view()).map_err(|error| failed(&error))
}

/// What lessons are guessed by models that have not seen their trace, and what they are.
fn left_out(
    lessons: &[TrainingExample],
    targets: &[f64],
    traces: &[Digest],
    seed: u64,
) -> Result<Vec<(f64, f64)>, SearchError> {
    let folds = FOLDS.min(traces.len());
    let fold_of =
        |row: usize| traces.binary_search(&lessons[row].trace).map_or(0, |number| number % folds);
    let parts = (0..folds).into_par_iter().map(|fold| {
        let (test, train): (Vec<usize>, Vec<usize>) =
            (0..lessons.len()).partition(|row| fold_of(*row) == fold);
        let rows: Vec<Vec<f64>> = train.iter().map(|row| lessons[*row].features.clone()).collect();
        let known: Vec<f64> = train.iter().map(|row| targets[*row]).collect();
        let model = fit(&rows, &known, seed)?;
        let example = |row: &usize| (guess(&model, &lessons[*row].features), targets[*row]);
        Ok(test.iter().map(example).collect::<Vec<(f64, f64)>>())
    });
    Ok(parts.collect::<Result<Vec<_>, SearchError>>()?.concat())
}

/// The smallest number that so large a share of them does not exceed.
fn quantile(mut numbers: Vec<f64>, share: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let place = (share * numbers.len() as f64).ceil() as usize;
    numbers.get(place.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests;
