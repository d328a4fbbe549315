//! The surrogate: a model that predicts the grade of a point and how certain the prediction is.
//!
//! A censored trial was measured on the target and not on the other workloads. So there are two
//! Gaussian processes over encoded points. One models the performance on the target and is fitted
//! to every trial that ran it. The other models the mean performance on the other workloads and is
//! fitted to graded trials only. A predicted grade is the weighted sum of both; its variance is the
//! sum of their variances with squared weights.
//!
//! Where a trial has broken a limit that shows only when a drive is measured, a further process
//! models by how much, over all trials that were measured for it.
//!
//! Encoded columns are multiplied by the weight of their axis, so that one length scale serves axes
//! with and without effect while observations are few. With [`MANY`] of them each column of the
//! process for the target has its own: then trials say better than weights which axes matter near
//! the best drives. Searches with several aims keep one length: their fronts gained nothing by it.
//! A last column tells runs on the prefix from runs in full.
//!
//! Cost: a fit takes O(n³) for n trials, and O(n²) more for each column that has its own length:
//! some 0.2 s more for a batch with 120 to 400 trials. It starts from the parameters of the fit
//! before.

use super::trial::Trial;
use crate::error::TuneError;
use crate::space::Point;
use crate::task::Task;
use ndarray::{Array1, Array2};
use ssdtune_learn::gp::{GpModel, GpParams, Hyperparameters, LengthScales};

/// The distance between a run on the prefix and a run in full, in units of a whole axis.
const FIDELITY_WEIGHT: f64 = 0.25;
/// The greatest number of likelihoods that one fit evaluates: some ten milliseconds at 100 trials.
const EVALUATIONS_MAX: usize = 30;
/// The greatest number of observations with which a fit from several starts is cheap.
const FEW: usize = 60;
/// The number of observations of the target from which each column has its own length scale.
const MANY: usize = 120;

/// A fitted model of grades.
pub(super) struct Surrogate {
    /// Predicts the performance on the target.
    target: Option<GpModel>,
    /// Predicts the mean performance on the other workloads.
    others: Option<GpModel>,
    /// Predict the logarithm of what a drive has over what a limit allows.
    limits: Vec<GpModel>,
    /// The weight of each encoded column.
    columns: Vec<f64>,
    beta: f64,
}

/// The parameters of the last fit, from which the next one starts.
#[derive(Default)]
pub(super) struct FitHistory {
    /// The number of random starts while observations are few. Without them a model that once
    /// explained everything as noise would stay there, because each fit starts where the last
    /// ended.
    random_starts: usize,
    target: Option<Hyperparameters>,
    others: Option<Hyperparameters>,
    power: Option<Hyperparameters>,
    harm: Option<Hyperparameters>,
}

impl FitHistory {
    /// A history without fits. While observations are few, each fit has this many random starts
    /// besides the parameters of the fit before.
    pub fn with_random_starts(random_starts: usize) -> Self {
        Self { random_starts, ..Self::default() }
    }
}

/// A predicted grade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Predicted {
    /// The expected grade.
    pub mean: f64,
    /// The standard deviation of the prediction.
    pub deviation: f64,
    /// The logarithm of what the drive is expected to have over what a limit allows, for the limit
    /// that it breaks most; minus infinity where no trial has broken one. Above 0 it breaks it.
    pub excess: f64,
}

/// The weight of each encoded column, from the weight of each axis.
pub(super) fn columns(task: &Task, weights: &[f64]) -> Vec<f64> {
    let each = task.space.widths().zip(weights);
    each.flat_map(|(width, weight)| std::iter::repeat_n(*weight, width)).collect()
}

impl Surrogate {
    /// A surrogate fitted to trials. `weights` has one number for each axis.
    pub fn of_grades(
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
        let target =
            fit(&rows, scales_for(rows.len()), history.random_starts, &mut history.target)?;
        let graded = trials.iter().filter_map(|trial| {
            let others = trial.others.as_ref().filter(|others| !others.is_empty())?;
            let each = others.iter().map(|speedup| task.weights.performance(speedup));
            let mean = each.sum::<f64>() / others.len() as f64;
            Some((row(task, &columns, &trial.point, true), mean))
        });
        let graded: Vec<_> = graded.collect();
        let one = LengthScales::Isotropic;
        let others = fit(&graded, one, history.random_starts, &mut history.others)?;
        let limits = Self::of_limits(task, trials, weights, history)?;
        Ok(Self { target, others, beta, ..limits })
    }

    /// A surrogate that knows of the limits alone: every grade is predicted to be 0.
    pub fn of_limits(
        task: &Task,
        trials: &[Trial],
        weights: &[f64],
        history: &mut FitHistory,
    ) -> Result<Self, TuneError> {
        let columns = columns(task, weights);
        let row = |trial: &Trial| row(task, &columns, &trial.point, true);
        let over_power = |trial: &Trial| Some((row(trial), power_excess(task, trial)?));
        let harmful = |trial: &Trial| Some((row(trial), harm_excess(task, trial)?));
        let over_power: Vec<_> = trials.iter().filter_map(over_power).collect();
        let harmful: Vec<_> = trials.iter().filter_map(harmful).collect();
        let random_starts = history.random_starts;
        let limits = [
            broken(&over_power, random_starts, &mut history.power)?,
            broken(&harmful, random_starts, &mut history.harm)?,
        ];
        let limits = limits.into_iter().flatten().collect();
        Ok(Self { target: None, others: None, limits, columns, beta: 0.0 })
    }

    /// Predicts the grades that points would have if they were run in full.
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
                // Without a model: the performance of the baseline, with a deviation of 0.1.
                None => Ok((Array1::zeros(points.len()), Array1::from_elem(points.len(), 0.01))),
            }
        };
        let (target, others) = (of(&self.target)?, of(&self.others)?);
        let limits: Vec<Array1<f64>> = (self.limits.iter())
            .map(|model| Ok(model.predict(x.view()).map_err(failed)?.means))
            .collect::<Result<_, TuneError>>()?;
        let (target_weight, others_weight) = (1.0 - self.beta, self.beta);
        let both = |index: usize| Predicted {
            mean: target_weight * target.0[index] + others_weight * others.0[index],
            deviation: (target_weight * target_weight * target.1[index]
                + others_weight * others_weight * others.1[index])
                .sqrt(),
            excess: limits.iter().map(|means| means[index]).fold(f64::NEG_INFINITY, f64::max),
        };
        Ok((0..points.len()).map(both).collect())
    }

    /// Adds a point as if it had been measured to perform as predicted, so that the next point of a
    /// batch lies elsewhere.
    pub fn believe(&mut self, task: &Task, point: &Point) -> Result<(), TuneError> {
        let cells = row(task, &self.columns, point, true);
        let Some(model) = &mut self.target else { return Ok(()) };
        let x = Array2::from_shape_vec((1, cells.len()), cells.clone()).map_err(failed)?;
        let mean = model.predict(x.view()).map_err(failed)?.means[0];
        model.add(&cells, mean).map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> TuneError {
    TuneError::Surrogate(error.to_string())
}

/// The length scales of the process for the target with this many observations.
fn scales_for(observations: usize) -> LengthScales {
    if observations < MANY { LengthScales::Isotropic } else { LengthScales::Ard }
}

/// The row of numbers that the Gaussian processes get for a point.
pub(super) fn row(task: &Task, columns: &[f64], point: &Point, is_full: bool) -> Vec<f64> {
    let mut row = task.space.encode(point);
    row.iter_mut().zip(columns).for_each(|(cell, weight)| *cell *= weight);
    row.push(if is_full { FIDELITY_WEIGHT } else { 0.0 });
    row
}

/// The logarithm of a trial's average power over what the budget allows, if both are known.
fn power_excess(task: &Task, trial: &Trial) -> Option<f64> {
    Some((trial.average_watts? / task.limits.constraints.power_budget_watts?).ln())
}

/// The logarithm of the least speedup allowed on other workloads over a trial's, if both are known.
fn harm_excess(task: &Task, trial: &Trial) -> Option<f64> {
    let least = 1.0 - task.max_harm.as_ref()?.share;
    let others = trial.others.as_ref().filter(|others| !others.is_empty() && least > 0.0)?;
    let worst = others.iter().map(|speedup| speedup.latency.min(speedup.throughput));
    Some((least / worst.fold(f64::INFINITY, f64::min)).ln())
}

/// Fits a model of a limit; `None` where nothing has broken it.
fn broken(
    rows: &[(Vec<f64>, f64)],
    random_starts: usize,
    last: &mut Option<Hyperparameters>,
) -> Result<Option<GpModel>, TuneError> {
    match rows.iter().any(|(_, excess)| *excess > 0.0) {
        true => fit(rows, LengthScales::Isotropic, random_starts, last),
        false => Ok(None),
    }
}

/// Fits one Gaussian process; `None` with fewer than three observations.
pub(super) fn fit(
    rows: &[(Vec<f64>, f64)],
    scales: LengthScales,
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
    let mut params = GpParams::new(scales).max_evaluations(EVALUATIONS_MAX);
    params = match last.take() {
        Some(start) if rows.len() > FEW => params.starts(1).warm_start(start),
        Some(start) => params.starts(1 + random_starts).warm_start(start),
        None => params.starts(3),
    };
    let model = params.fit(x.view(), y.view()).map_err(failed)?;
    *last = Some(model.hyperparameters().clone());
    Ok(Some(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use rand::RngExt;

    /// The mean squared error on 200 rows of a model of `count` rows. Of ten columns one matters;
    /// the targets have a variance of about a half.
    fn error_of(count: usize) -> f64 {
        let mut rng = stream(7, 0, count as u64);
        let mut draw = |_| -> (Vec<f64>, f64) {
            let row: Vec<f64> = (0..10).map(|_| rng.random_range(0.0..1.0)).collect();
            let target = (6.0 * row[0]).sin();
            (row, target)
        };
        let known: Vec<_> = (0..count).map(&mut draw).collect();
        let unknown: Vec<_> = (0..200).map(&mut draw).collect();
        let model = fit(&known, scales_for(count), 0, &mut None).unwrap().expect("enough rows");
        let cells = unknown.iter().flat_map(|(row, _)| row.iter().copied()).collect();
        let x = Array2::from_shape_vec((200, 10), cells).unwrap();
        let means = model.predict(x.view()).unwrap().means;
        means.iter().zip(&unknown).map(|(mean, (_, own))| (mean - own).powi(2)).sum::<f64>() / 200.0
    }

    #[test]
    fn many_observations_tell_which_column_matters() {
        let (few, many) = (error_of(MANY - 1), error_of(MANY));
        assert!(many < 0.01 && few > 10.0 * many, "{few} with few, {many} with many (seed 7)");
    }
}
