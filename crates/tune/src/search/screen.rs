//! Screening: proposals that are surely not worth it are discarded before they are simulated.
//!
//! A bagged ensemble of trees with constant leaves learns formula 1 against the baseline from what AutoDB knew
//! when the search began ([`crate::lesson`]): of a drive (the axes of the space) and a workload (its
//! characteristics). How far truths lie above predictions is measured on traces left out of the fit, so that a target
//! that AutoDB has never seen is not judged with the certainty of one that it has: 95 in 100 lie below the bound.
//!
//! *Hopeless* is a proposal whose highest likely grade, target and others together, does not reach the worst
//! grade of the top set: the paper's rule for leaving out the others, before the target. A discarded proposal
//! counts against the budget as if it had run, so screening makes a search cheaper and not longer. It has no
//! performance and no grade, and no surrogate learns from it.
//!
//! A model may be wrong where nothing was measured: every tenth hopeless proposal is run all the same. What the
//! search itself measures is learned too, from time to time, and each such measurement, predicted before it
//! was learned from, is an example of how far truths lie above predictions, which may widen the margin but not
//! narrow it: small moves are easier to predict than those to come. Who knew too little at the start discards nothing to the end.
//!
//! Decisions are taken by one thread in the order of proposals, from lessons of the generation at the search's
//! start and from trials whose batch is known: threads and interruptions change nothing.
//!
//! Cost: six fits of some 100 ms at the start, one whenever a tenth more is known; a prediction some
//! microseconds.

use super::{SearchError, Task};
use crate::lesson::{self, Lesson};
use crate::workload::Workload;
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::bag::{BagModel, BagParams};
use ssdtune_learn::tree::{Leaves, TreeParams};
use ssdtune_model::DeviceConfig;
use std::collections::BTreeSet;

/// With fewer lessons nothing is discarded.
pub const LESSONS_MIN: usize = 100;
/// Lessons learned from at most: a fit stays below a second.
pub const LESSONS_MAX: usize = 1_500;
/// Every so many hopeless proposals one is run.
const CHECKED_EACH: usize = 10;
/// So much of what was left out lay below the bound.
const CONFIDENCE: f64 = 0.95;
/// Own measurements from which on they widen the margin.
const OWN_MIN: usize = 20;
const TREES: usize = 24;
const FOLDS: usize = 5;

/// What screening did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// What predictions of formula 1 were raised by, at the start and at the end.
    pub margins: Option<[f64; 2]>,
}

struct Learned {
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    model: BagModel,
    /// How many rows the model has seen.
    seen: usize,
    seed: u64,
    /// By what was left out of the lessons.
    margin: f64,
    /// How far this search's own measurements lay above their predictions.
    own: Vec<f64>,
}

pub(super) struct Screen {
    learned: Option<Learned>,
    pub report: Screened,
}

impl Screen {
    /// Learns from the task's lessons.
    pub fn new(task: &Task, seed: u64) -> Result<Self, SearchError> {
        let lessons = &task.lessons;
        let mut report = Screened { lessons: lessons.len(), ..Screened::default() };
        let traces: BTreeSet<_> = lessons.iter().map(|lesson| lesson.trace).collect();
        if lessons.len() < LESSONS_MIN || traces.len() < 2 {
            report.idle = Some(format!(
                "AutoDB holds {} evaluations of drives like these, on {} traces; {LESSONS_MIN} on at least 2 are \
                 needed",
                lessons.len(),
                traces.len()
            ));
            return Ok(Self { learned: None, report });
        }
        let targets: Vec<f64> =
            lessons.iter().map(|lesson| task.weights.performance(&lesson.speedup)).collect();
        let rows: Vec<Vec<f64>> = lessons.iter().map(|lesson| lesson.row.clone()).collect();
        let model = fit(&rows, &targets, seed)?;
        let excess = left_out(lessons, &targets, &traces.into_iter().collect::<Vec<_>>(), seed)?;
        let margin = quantile(excess, CONFIDENCE).max(0.0);
        report.margins = Some([margin, margin]);
        let (seen, own) = (rows.len(), Vec::new());
        let learned = Learned { rows, targets, model, seen, seed, margin, own };
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
        let margin = learned.margin();
        let highest = |workload: &Workload| learned.guess(task, config, workload) + margin;
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
            learned.own.push(found - guess);
            self.report.margins = self.report.margins.map(|own| [own[0], learned.margin()]);
            // What a category's traces gave is known as their mean only.
            if let [trace] = &workload.traces[..] {
                let row = lesson::row(&task.space, config, trace.traits(), workload.depth);
                learned.rows.push(row);
                learned.targets.push(found);
            }
        }
    }
}

impl Learned {
    fn margin(&self) -> f64 {
        match self.own.len() < OWN_MIN {
            true => self.margin,
            false => self.margin.max(quantile(self.own.clone(), CONFIDENCE)),
        }
    }

    /// Formula 1 of a drive on a workload: the mean over its traces.
    fn guess(&self, task: &Task, config: &DeviceConfig, workload: &Workload) -> f64 {
        let each = workload.traces.iter().map(|trace| {
            guess(&self.model, &lesson::row(&task.space, config, trace.traits(), workload.depth))
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

/// How far truths lie above what they are guessed by models that have not seen their trace.
fn left_out(
    lessons: &[Lesson],
    targets: &[f64],
    traces: &[crate::key::Digest],
    seed: u64,
) -> Result<Vec<f64>, SearchError> {
    let folds = FOLDS.min(traces.len());
    let fold_of =
        |row: usize| traces.binary_search(&lessons[row].trace).map_or(0, |number| number % folds);
    let parts = (0..folds).into_par_iter().map(|fold| {
        let (test, train): (Vec<usize>, Vec<usize>) =
            (0..lessons.len()).partition(|row| fold_of(*row) == fold);
        let rows: Vec<Vec<f64>> = train.iter().map(|row| lessons[*row].row.clone()).collect();
        let known: Vec<f64> = train.iter().map(|row| targets[*row]).collect();
        let model = fit(&rows, &known, seed)?;
        let excess = |row: &usize| targets[*row] - guess(&model, &lessons[*row].row);
        Ok(test.iter().map(excess).collect::<Vec<f64>>())
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
