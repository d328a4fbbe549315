//! The surrogate: what a point's grade will be, and how sure that is.
//!
//! Two Gaussian processes over encoded points, because a censored trial has one half of a grade and not the
//! other: one of the target's performance, learnt from every trial that ran it, one of the others' mean,
//! learnt from graded trials only. A grade is their weighted sum, its variance the weighted sum of theirs.
//!
//! The encoded columns are stretched by each axis's weight, so that one trained length serves axes that
//! matter and axes that do not; a last column tells runs on the prefix from runs in full. Fitting costs
//! O(n³) for n trials, with one start from the parameters of the fit before.

use super::{SearchError, Task, judge::Trial};
use crate::space::Point;
use ndarray::{Array1, Array2};
use ssdtune_learn::gp::{GpModel, GpParams, Hyperparameters, LengthScales};

/// How far apart a run on the prefix and one in full are, in units of a whole axis.
const FIDELITY_WEIGHT: f64 = 0.25;
/// Likelihoods evaluated by one fit: some ten milliseconds at 100 trials.
const EVALUATIONS_MAX: usize = 30;
/// Observations up to which a fit from several starts is cheap.
const FEW: usize = 60;

pub(super) struct Surrogate {
    target: Option<GpModel>,
    others: Option<GpModel>,
    columns: Vec<f64>,
    beta: f64,
}

/// What a fit leaves for the next.
#[derive(Default)]
pub(super) struct Warm {
    /// A model that once took everything for noise would stay with it if it had this start alone.
    fresh: usize,
    target: Option<Hyperparameters>,
    others: Option<Hyperparameters>,
}

impl Warm {
    /// With so many starts beside the parameters of the fit before, while observations are few.
    pub fn with_fresh_starts(fresh: usize) -> Self {
        Self { fresh, ..Self::default() }
    }
}

/// A predicted grade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Predicted {
    pub mean: f64,
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
        warm: &mut Warm,
    ) -> Result<Self, SearchError> {
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
        let target = fit(&rows, warm.fresh, &mut warm.target)?;
        let graded = trials.iter().filter_map(|trial| {
            let own = trial.others.as_ref().filter(|own| !own.is_empty())?;
            let each = own.iter().map(|speedup| task.weights.performance(speedup));
            let mean = each.sum::<f64>() / own.len() as f64;
            Some((row(task, &columns, &trial.point, true), mean))
        });
        let others = fit(&graded.collect::<Vec<_>>(), warm.fresh, &mut warm.others)?;
        Ok(Self { target, others, columns, beta })
    }

    /// Grades of points, were they run in full.
    pub fn predict(&self, task: &Task, points: &[&Point]) -> Result<Vec<Predicted>, SearchError> {
        let cells: Vec<f64> =
            points.iter().flat_map(|point| row(task, &self.columns, point, true)).collect();
        let width = self.columns.len() + 1;
        let x = Array2::from_shape_vec((points.len(), width), cells).map_err(failed)?;
        let of = |model: &Option<GpModel>| -> Result<(Array1<f64>, Array1<f64>), SearchError> {
            match model {
                Some(model) => {
                    let predictions = model.predict(x.view()).map_err(failed)?;
                    Ok((predictions.means, predictions.variances))
                }
                // Nothing is known: the baseline's own, and a spread of a tenth.
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

    /// Takes a point for judged, at its predicted performance, so that a batch spreads.
    pub fn believe(&mut self, task: &Task, point: &Point) -> Result<(), SearchError> {
        let own = row(task, &self.columns, point, true);
        let Some(model) = &mut self.target else { return Ok(()) };
        let x = Array2::from_shape_vec((1, own.len()), own.clone()).map_err(failed)?;
        let mean = model.predict(x.view()).map_err(failed)?.means[0];
        model.add(&own, mean).map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> SearchError {
    SearchError::Surrogate(error.to_string())
}

fn row(task: &Task, columns: &[f64], point: &Point, full: bool) -> Vec<f64> {
    let mut row = task.space.encode(point);
    row.iter_mut().zip(columns).for_each(|(cell, weight)| *cell *= weight);
    row.push(if full { FIDELITY_WEIGHT } else { 0.0 });
    row
}

fn fit(
    rows: &[(Vec<f64>, f64)],
    fresh: usize,
    warm: &mut Option<Hyperparameters>,
) -> Result<Option<GpModel>, SearchError> {
    if rows.len() < 3 {
        return Ok(None);
    }
    let width = rows[0].0.len();
    let cells: Vec<f64> = rows.iter().flat_map(|(row, _)| row.iter().copied()).collect();
    let x = Array2::from_shape_vec((rows.len(), width), cells).map_err(failed)?;
    let y: Array1<f64> = rows.iter().map(|(_, target)| *target).collect();
    let mut params = GpParams::new(LengthScales::Isotropic).max_evaluations(EVALUATIONS_MAX);
    params = match warm.take() {
        Some(start) if rows.len() > FEW => params.starts(1).warm_start(start),
        Some(start) => params.starts(1 + fresh).warm_start(start),
        None => params.starts(3),
    };
    let model = params.fit(x.view(), y.view()).map_err(failed)?;
    *warm = Some(model.hyperparameters().clone());
    Ok(Some(model))
}
