//! Training of a Gaussian process: starts, bounds, search, and jitter where it is needed.

use super::kernel::FIXED;
use super::likelihood::{Likelihood, Solved};
use super::optimise::{self, Bounds, Limits, Minimum};
use super::{GpError, GpModel, GpParams, GpValidParams, Hyperparameters, LengthScales, PriorMean};
use crate::errors::{DataError, check_supervised};
use crate::{linalg, random};
use linfa::ParamGuard;
use ndarray::{ArrayView1, ArrayView2};
use rand::RngExt;
use rayon::prelude::*;

/// What is added to the covariance's diagonal until it can be factored, as fractions of the
/// diagonal.
const JITTERS: [f64; 8] = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6];

/// Two steps in a row that gain less log likelihood than this end the search from a start.
///
/// Along the flat valleys of this kernel, the second half of the evaluations gains some hundredths.
/// That is worth its time once, but not for every start, nor for every training from a warm start.
const ROUGH_GAIN: f64 = 1e-3;
/// Two steps in a row that gain less log likelihood than this end the last search, which begins at
/// the best of several ends.
const FINE_GAIN: f64 = 1e-5;

impl GpParams {
    /// Checks the parameters, then trains the kernel and the mean.
    pub fn fit(&self, x: ArrayView2<'_, f64>, y: ArrayView1<'_, f64>) -> Result<GpModel, GpError> {
        self.check_ref()?.fit(x, y)
    }
}

/// Targets scaled to mean 0 and variance 1: `(target - centre) / unit`.
struct Scaled {
    targets: Vec<f64>,
    /// Mean of the targets as given.
    centre: f64,
    /// Standard deviation of the targets as given, or 1 if they do not vary.
    unit: f64,
}

impl GpValidParams {
    /// Trains the kernel and the mean, then conditions the process on the observations.
    pub fn fit(&self, x: ArrayView2<'_, f64>, y: ArrayView1<'_, f64>) -> Result<GpModel, GpError> {
        check_supervised(x, y)?;
        if x.nrows() < 2 {
            let purpose = "training a Gaussian process";
            return Err(DataError::TooFewRows { rows: x.nrows(), needed: 2, purpose }.into());
        }
        if let Some(start) = &self.warm_start {
            start.check_columns(x.ncols())?;
        }
        linalg::one_thread();
        let scaled = Scaled::new(y);
        let mean = match self.mean {
            PriorMean::Trained => PriorMean::Trained,
            PriorMean::Fixed(value) => PriorMean::Fixed((value - scaled.centre) / scaled.unit),
        };
        let lengths = typical_lengths(x, self.scales);
        let bounds = self.bounds(&lengths);
        let starts = self.starts(&lengths, &bounds, scaled.unit);
        let search = |start: &[f64], least_gain: f64| {
            let limits = Limits { max_evaluations: self.max_evaluations, least_gain };
            let mut likelihood = Likelihood::new(x, &scaled.targets, mean);
            optimise::minimise(&mut likelihood, start, &bounds, limits)
        };
        let (best, evaluations) = match &starts[..] {
            [start] => {
                let best = search(start, ROUGH_GAIN);
                let evaluations = best.evaluations;
                (best, evaluations)
            }
            _ => {
                let found: Vec<Minimum> =
                    starts.par_iter().map(|start| search(start, ROUGH_GAIN)).collect();
                let rough = found.iter().min_by(|a, b| a.value.total_cmp(&b.value));
                let best = search(&rough.expect("there are starts").at, FINE_GAIN);
                let rough: usize = found.iter().map(|minimum| minimum.evaluations).sum();
                let evaluations = rough + best.evaluations;
                (best, evaluations)
            }
        };
        let hyper = Hyperparameters::from_logs(&best.at, scaled.unit, scaled.centre);
        Ok(condition(x, y, hyper, self.mean)?.with_evaluations(evaluations))
    }

    /// Where each parameter may lie, in logarithms.
    fn bounds(&self, lengths: &[f64]) -> Bounds {
        let mut low =
            vec![1e-4f64.ln(), 1e-4f64.ln(), 1e-2f64.ln(), 1e-2f64.ln(), self.noise_floor.ln()];
        let mut high = vec![1e3f64.ln(), 1e3f64.ln(), 1e3f64.ln(), 1e2f64.ln(), 2f64.ln()];
        low.extend(lengths.iter().map(|length| (1e-2 * length).ln()));
        // A column that does not matter gets a very long length: leave room for it.
        high.extend(lengths.iter().map(|length| (1e3 * length).ln()));
        Bounds { low, high }
    }

    /// Where the searches begin, in logarithms: the warm start or the data's own scales, then
    /// random points around the data's own scales.
    fn starts(&self, lengths: &[f64], bounds: &Bounds, unit: f64) -> Vec<Vec<f64>> {
        let mut first = vec![0.5f64.ln(), 0.5f64.ln(), 0.0, 0.0, 1e-2f64.ln()];
        first.extend(lengths.iter().map(|length| length.ln()));
        let drawn = (1..self.starts).map(|start| {
            let mut rng = random::stream(self.seed, start as u64);
            let mut at = first.clone();
            let mut spread = |at: &mut f64, width: f64| *at += rng.random_range(-width..width);
            at[..4].iter_mut().for_each(|log| spread(log, 1.5));
            spread(&mut at[4], 3.0);
            // One shift for all lengths together, and a small one for each.
            let mut shift = 0.0;
            spread(&mut shift, 2.0);
            at[FIXED..].iter_mut().for_each(|log| {
                *log += shift;
                spread(log, 0.5);
            });
            bounds.clamp(&mut at);
            at
        });
        let drawn: Vec<Vec<f64>> = drawn.collect();
        let first = match &self.warm_start {
            Some(start) if start.length_scales.len() == lengths.len() => start.to_logs(unit),
            Some(start) => {
                let mut logs = start.to_logs(unit);
                logs.truncate(FIXED);
                logs.extend((0..lengths.len()).map(|column| start.length(column).ln()));
                logs
            }
            None => first,
        };
        std::iter::once(first).chain(drawn).collect()
    }
}

impl GpModel {
    /// A process with given parameters, conditioned on the observations without training.
    pub fn with_hyperparameters(
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
        hyper: Hyperparameters,
    ) -> Result<Self, GpError> {
        check_supervised(x, y)?;
        hyper.verify()?;
        hyper.check_columns(x.ncols())?;
        linalg::one_thread();
        let mean = PriorMean::Fixed(hyper.mean);
        condition(x, y, hyper, mean)
    }
}

/// Conditions a process on the observations. Adds the least jitter that makes the covariance
/// positive definite.
fn condition(
    x: ArrayView2<'_, f64>,
    y: ArrayView1<'_, f64>,
    mut hyper: Hyperparameters,
    mean: PriorMean,
) -> Result<GpModel, GpError> {
    let targets = y.to_vec();
    let mut likelihood = Likelihood::new(x, &targets, mean);
    let diagonal = hyper.signal_variance() + hyper.noise_variance;
    let mut jitter = 0.0;
    for fraction in JITTERS {
        jitter = fraction * diagonal;
        if likelihood.solve(&hyper, jitter).is_some() {
            break;
        }
    }
    let Some(solved) = likelihood.take_solved() else {
        return Err(GpError::NotPositiveDefinite { rows: x.nrows(), jitter });
    };
    let Solved { factor, weights, mean, likelihood } = solved;
    hyper.mean = mean;
    Ok(GpModel::new(x, targets, hyper, jitter).with_solution(factor, weights, likelihood))
}

impl Scaled {
    /// Scales the targets.
    fn new(y: ArrayView1<'_, f64>) -> Self {
        let centre = y.sum() / y.len() as f64;
        let variance = y.iter().map(|y| (y - centre) * (y - centre)).sum::<f64>() / y.len() as f64;
        // Targets that do not vary are trained to the smallest variances, whatever the unit.
        let unit = if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 };
        Self { targets: y.iter().map(|y| (y - centre) / unit).collect(), centre, unit }
    }
}

/// Where the search for length scales begins. One for all columns: the root mean squared distance
/// of two rows. One for each column: the column's part of it, times the root of the number of
/// columns that vary.
fn typical_lengths(x: ArrayView2<'_, f64>, scales: LengthScales) -> Vec<f64> {
    let means = linalg::column_means(x);
    let twice_variances: Vec<f64> = x
        .columns()
        .into_iter()
        .zip(&means)
        .map(|(column, mean)| {
            2.0 * column.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / column.len() as f64
        })
        .collect();
    let total: f64 = twice_variances.iter().sum();
    let usable = |square: f64| if square > 1e-200 && square < 1e200 { square.sqrt() } else { 1.0 };
    match scales {
        LengthScales::Isotropic => vec![usable(total)],
        LengthScales::Ard => {
            let varying = twice_variances.iter().filter(|&&variance| variance > 0.0).count().max(1);
            twice_variances.iter().map(|variance| usable(variance * varying as f64)).collect()
        }
    }
}
