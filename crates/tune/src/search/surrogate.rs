//! The surrogate: what the grade of a point will be, and how sure that is.
//!
//! A censored trial has one half of a grade and not the other, so there are two Gaussian processes
//! over encoded points: one of the target's performance, fitted to every trial that ran it, and one
//! of the others' mean performance, fitted to graded trials only. A predicted grade is their
//! weighted sum; its variance is the sum of theirs by the squared weights.
//!
//! The encoded columns are stretched by the weight of each axis, so that one length scale serves
//! axes that matter and axes that do not. A last column tells runs on the prefix from runs in full.
//!
//! Cost: a fit takes O(n³) for n trials. It starts from the parameters of the fit before.

use super::trial::Trial;
use crate::error::TuneError;
use crate::space::Point;
use crate::task::Task;
use ndarray::{Array1, Array2};
use ssdtune_learn::gp::{GpModel, GpParams, Hyperparameters, LengthScales};

/// The distance between a run on the prefix and one in full, in units of a whole axis.
const FIDELITY_WEIGHT: f64 = 0.25;
/// Likelihoods evaluated by one fit: some ten milliseconds at 100 trials.
const EVALUATIONS_MAX: usize = 30;
/// Observations up to which a fit from several starts is cheap.
const FEW: usize = 60;

pub(super) struct Surrogate {
    target: Option<GpModel>,
    others: Option<GpModel>,
    /// The weight of each encoded column.
    columns: Vec<f64>,
    beta: f64,
}

/// The parameters of the last fit, from which the next one starts.
#[derive(Default)]
pub(super) struct FitHistory {
    /// Further starts while observations are few. A model that once took everything for noise would
    /// stay with that if it always started where it ended.
    random_starts: usize,
    target: Option<Hyperparameters>,
    others: Option<Hyperparameters>,
}

impl FitHistory {
    /// No fit yet. While observations are few, each fit has this many random starts beside the
    /// parameters of the fit before.
    pub fn with_random_starts(random_starts: usize) -> Self {
        Self { random_starts, ..Self::default() }
    }
}

/// A predicted grade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Predicted {
    /// What is expected.
    pub mean: f64,
    /// The standard deviation of the prediction.
    pub deviation: f64,
}

/// The weight of each encoded column, from the weight of each axis.
fn columns(task: &Task, weights: &[f64]) -> Vec<f64> {
    let each = task.space.widths().zip(weights);
    each.flat_map(|(width, weight)| std::iter::repeat_n(*weight, width)).collect()
}

impl Surrogate {
    /// Fits to trials. `weights` has one number for each axis.
    pub fn fit(
        task: &Task,
        trials: &[Trial],
        weights: &[f64],
        history: &mut FitHistory,
    ) -> Result<Self, TuneError> {
        let beta = if task.others.is_empty() { 0.0 } else { task.weights.beta };
        let columns = columns(task, weights);
        let mut rows = Vec::new();
        for trial in trials {
            if let Some(performance) = trial.performance {
                rows.push((row(task, &columns, &trial.point, true), performance));
            } else if let Some(performance) = trial.prefix_performance {
                rows.push((row(task, &columns, &trial.point, false), performance));
            }
        }
        let target = fit(&rows, history.random_starts, &mut history.target)?;
        let graded = trials.iter().filter_map(|trial| {
            let own = trial.others.as_ref().filter(|own| !own.is_empty())?;
            let each = own.iter().map(|speedup| task.weights.performance(speedup));
            let mean = each.sum::<f64>() / own.len() as f64;
            Some((row(task, &columns, &trial.point, true), mean))
        });
        let graded: Vec<_> = graded.collect();
        let others = fit(&graded, history.random_starts, &mut history.others)?;
        Ok(Self { target, others, columns, beta })
    }

    /// The grades of points, were they run in full.
    pub fn predict(&self, task: &Task, points: &[&Point]) -> Result<Vec<Predicted>, TuneError> {
        let cells: Vec<f64> =
            points.iter().flat_map(|point| row(task, &self.columns, point, true)).collect();
        let width = self.columns.len() + 1;
        let x = Array2::from_shape_vec((points.len(), width), cells).map_err(failed)?;
        let of = |model: &Option<GpModel>| -> Result<(Array1<f64>, Array1<f64>), TuneError> {
            match model {
                Some(model) => {
                    let predictions = model.predict(x.view()).map_err(failed)?;
                    Ok((predictions.means, predictions.variances))
                }
                // Nothing is known: the baseline's own performance, give or take a tenth.
                None => Ok((Array1::zeros(points.len()), Array1::from_elem(points.len(), 0.01))),
            }
        };
        let (target, others) = (of(&self.target)?, of(&self.others)?);
        let (own, rest) = (1.0 - self.beta, self.beta);
        let both = |index: usize| Predicted {
            mean: own * target.0[index] + rest * others.0[index],
            deviation: (own * own * target.1[index] + rest * rest * others.1[index]).sqrt(),
        };
        Ok((0..points.len()).map(both).collect())
    }

    /// Takes a point for measured, at its predicted performance, so that the points of a batch
    /// spread.
    pub fn believe(&mut self, task: &Task, point: &Point) -> Result<(), TuneError> {
        let own = row(task, &self.columns, point, true);
        let Some(model) = &mut self.target else { return Ok(()) };
        let x = Array2::from_shape_vec((1, own.len()), own.clone()).map_err(failed)?;
        let mean = model.predict(x.view()).map_err(failed)?.means[0];
        model.add(&own, mean).map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> TuneError {
    TuneError::Surrogate(error.to_string())
}

/// A point as the processes see it.
fn row(task: &Task, columns: &[f64], point: &Point, is_full: bool) -> Vec<f64> {
    let mut row = task.space.encode(point);
    row.iter_mut().zip(columns).for_each(|(cell, weight)| *cell *= weight);
    row.push(if is_full { FIDELITY_WEIGHT } else { 0.0 });
    row
}

/// Fits one process; `None` of fewer than three observations.
fn fit(
    rows: &[(Vec<f64>, f64)],
    random_starts: usize,
    last: &mut Option<Hyperparameters>,
) -> Result<Option<GpModel>, TuneError> {
    if rows.len() < 3 {
        return Ok(None);
    }
    let width = rows[0].0.len();
    let cells: Vec<f64> = rows.iter().flat_map(|(row, _)| row.iter().copied()).collect();
    let x = Array2::from_shape_vec((rows.len(), width), cells).map_err(failed)?;
    let y: Array1<f64> = rows.iter().map(|(_, target)| *target).collect();
    let mut params = GpParams::new(LengthScales::Isotropic).max_evaluations(EVALUATIONS_MAX);
    params = match last.take() {
        Some(start) if rows.len() > FEW => params.starts(1).warm_start(start),
        Some(start) => params.starts(1 + random_starts).warm_start(start),
        None => params.starts(3),
    };
    let model = params.fit(x.view(), y.view()).map_err(failed)?;
    *last = Some(model.hyperparameters().clone());
    Ok(Some(model))
}
