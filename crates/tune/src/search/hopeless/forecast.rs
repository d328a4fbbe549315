//! A forecast of how a drive will do on a workload, before it is run.
//!
//! A bagged ensemble of trees with constant leaves predicts the performance (formula 1) from the
//! axes of the space and the characteristics of the workload. Trees of means underrate the best
//! drives and overrate the worst. So a prediction is compared with what became of similar
//! predictions: of the 40 drives with the nearest predictions, 95 in 100 did not exceed the value
//! returned here. Those predictions were made by models that had not seen the trace, so a target
//! that AutoDB has never seen is not judged with too much certainty.

use crate::error::TuneError;
use crate::memory::{Digest, TrainingExample, features};
use crate::task::Task;
use crate::workload::Workload;
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use ssdtune_learn::tree::{BagModel, BagParams, Leaves, TreeParams};
use ssdtune_model::DeviceConfig;
use std::collections::BTreeSet;

/// The share of similar predictions whose true value does not exceed the value returned.
const CONFIDENCE: f64 = 0.95;
/// The number of similar predictions that one prediction is compared with.
const SIMILAR: usize = 40;
/// The number of trees in the ensemble.
const TREES: usize = 24;
/// The number of parts into which traces are divided. Each part is predicted by a model that was
/// fitted to the others.
const FOLDS: usize = 5;

/// A prediction by a model that had not seen the true value, and the true value.
#[derive(Clone, Copy)]
struct Outcome {
    predicted: f64,
    truth: f64,
}

/// Predicts the performance (formula 1) of drives.
pub(super) struct Forecast {
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    model: BagModel,
    /// The number of rows that the model was fitted to.
    rows_fitted: usize,
    seed: u64,
    /// Earlier predictions with their true values, by rising prediction.
    outcomes: Vec<Outcome>,
}

impl Forecast {
    /// A forecast fitted to examples. `traces` are the traces of the examples.
    pub fn learn(
        task: &Task,
        examples: &[TrainingExample],
        traces: &BTreeSet<Digest>,
        seed: u64,
    ) -> Result<Self, TuneError> {
        let performance = |one: &TrainingExample| task.weights.performance(&one.speedup);
        let targets: Vec<f64> = examples.iter().map(performance).collect();
        let rows: Vec<Vec<f64>> = examples.iter().map(|one| one.features.clone()).collect();
        let model = fit(&rows, &targets, seed)?;
        let traces: Vec<Digest> = traces.iter().copied().collect();
        let mut outcomes = cross_validate(examples, &targets, &traces, seed)?;
        outcomes.sort_by(|a, b| a.predicted.total_cmp(&b.predicted));
        Ok(Self { rows_fitted: rows.len(), rows, targets, model, seed, outcomes })
    }

    /// Fits the model again if a tenth more rows are known than it was fitted to.
    pub fn refresh(&mut self) -> Result<(), TuneError> {
        if self.rows.len() >= self.rows_fitted + self.rows_fitted.div_ceil(10) {
            self.model = fit(&self.rows, &self.targets, self.seed)?;
            self.rows_fitted = self.rows.len();
        }
        Ok(())
    }

    /// The highest likely performance of a drive: the value that most similar predictions did not
    /// exceed, and at least the prediction itself.
    pub fn highest(&self, task: &Task, config: &DeviceConfig, workload: &Workload) -> f64 {
        let predicted = self.predict(task, config, workload);
        let place = self.outcomes.partition_point(|outcome| outcome.predicted < predicted);
        let count = SIMILAR.min(self.outcomes.len());
        let first = place.saturating_sub(count / 2).min(self.outcomes.len() - count);
        let truths = self.outcomes[first..first + count].iter().map(|outcome| outcome.truth);
        quantile(truths.collect(), CONFIDENCE).max(predicted)
    }

    /// Adds the true performance of a drive on a workload.
    pub fn note(&mut self, task: &Task, config: &DeviceConfig, workload: &Workload, truth: f64) {
        let predicted = self.predict(task, config, workload);
        let place = self.outcomes.partition_point(|outcome| outcome.predicted < predicted);
        self.outcomes.insert(place, Outcome { predicted, truth });
        // A row stands for one trace. Of a workload of several traces only the mean is known.
        if let [trace] = &workload.traces[..] {
            self.rows.push(features(&task.space, config, trace.characteristics(), workload.depth));
            self.targets.push(truth);
        }
    }

    /// The mean prediction over the traces of a workload.
    fn predict(&self, task: &Task, config: &DeviceConfig, workload: &Workload) -> f64 {
        let each = workload.traces.iter().map(|trace| {
            let row = features(&task.space, config, trace.characteristics(), workload.depth);
            predict_row(&self.model, &row)
        });
        each.sum::<f64>() / workload.traces.len().max(1) as f64
    }
}

/// The prediction for a row. It is infinite where a feature is not a number, so that nothing is
/// discarded.
fn predict_row(model: &BagModel, row: &[f64]) -> f64 {
    model.predict_one(row).unwrap_or(f64::INFINITY)
}

fn fit(rows: &[Vec<f64>], targets: &[f64], seed: u64) -> Result<BagModel, TuneError> {
    let failed = |error: &dyn std::fmt::Display| TuneError::Filter(error.to_string());
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

/// Predicts every example with a model that has not seen its trace.
fn cross_validate(
    examples: &[TrainingExample],
    targets: &[f64],
    traces: &[Digest],
    seed: u64,
) -> Result<Vec<Outcome>, TuneError> {
    let folds = FOLDS.min(traces.len());
    let fold_of =
        |row: usize| traces.binary_search(&examples[row].trace).map_or(0, |trace| trace % folds);
    let parts = (0..folds).into_par_iter().map(|fold| {
        let (test, train): (Vec<usize>, Vec<usize>) =
            (0..examples.len()).partition(|row| fold_of(*row) == fold);
        let rows: Vec<Vec<f64>> = train.iter().map(|row| examples[*row].features.clone()).collect();
        let known: Vec<f64> = train.iter().map(|row| targets[*row]).collect();
        let model = fit(&rows, &known, seed)?;
        let outcome = |row: &usize| Outcome {
            predicted: predict_row(&model, &examples[*row].features),
            truth: targets[*row],
        };
        Ok(test.iter().map(outcome).collect::<Vec<Outcome>>())
    });
    Ok(parts.collect::<Result<Vec<_>, TuneError>>()?.concat())
}

/// The smallest of the numbers that this share of them does not exceed. Infinity if there are none.
fn quantile(mut numbers: Vec<f64>, share: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let place = (share * numbers.len() as f64).ceil() as usize;
    numbers.get(place.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_by_hand() {
        let all: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(all.clone(), 0.98), 98.0);
        assert_eq!(quantile(all, 1.0), 100.0);
        assert_eq!(quantile(vec![3.0], 0.5), 3.0);
        assert_eq!(quantile(Vec::new(), 0.5), f64::INFINITY);
    }
}
