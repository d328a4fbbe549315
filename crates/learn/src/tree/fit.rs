//! Training of a regression tree: grow it in full, then cut it back as cross-validation says.

use super::grow::grow;
use super::prune;
use super::sample::Sample;
use super::{Prune, TreeError, TreeModel, TreeParams, TreeValidParams};
use crate::selection;
use linfa::ParamGuard;
use ndarray::{ArrayView1, ArrayView2};
use rayon::prelude::*;

/// The most pruning prices that cross-validation compares. If a tree offers more, it compares an
/// evenly spaced choice. Each price costs 8 bytes for every row: 12 MB for 12,000 rows.
const PRICES_MAX: usize = 128;

/// A price below every node's price: nothing is cut off.
const KEEP_ALL: f64 = -1.0;

impl TreeParams {
    /// Checks the parameters, then grows and prunes a tree.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<TreeModel, TreeError> {
        self.check_ref()?.fit(x, y)
    }
}

impl TreeValidParams {
    /// Grows and prunes a tree.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<TreeModel, TreeError> {
        let sample = Sample::new(x, y, self.weighting)?;
        let all: Vec<usize> = (0..y.len()).collect();
        let mut grown = grow(self, &sample, &all, 0);
        let prices = prune::prices(&grown);
        let price = match self.prune {
            Prune::No => KEEP_ALL,
            Prune::CrossValidated { folds, standard_errors } => {
                self.best_price(&sample, &prune::steps(&prices), folds, standard_errors)
            }
        };
        grown.uncentre(&sample);
        grown.smooth(self.smoothing);
        Ok(TreeModel::from_grown(&grown, &prices, price, sample.columns))
    }

    /// The pruning price that predicts left-out rows best. With a `margin` (in standard errors of
    /// the least error) it is the highest price whose error is no worse than that, which gives a
    /// smaller tree.
    fn best_price(&self, sample: &Sample, steps: &[f64], folds: usize, margin: f64) -> f64 {
        let rows = sample.targets.len();
        let Ok(splits) = selection::k_fold(rows, folds.min(rows), self.seed) else {
            return KEEP_ALL;
        };
        // The tree stays the same between two steps: try one price of each interval, its geometric
        // mean.
        let mut tried = vec![KEEP_ALL];
        tried.extend(steps.windows(2).map(|pair| (pair[0] * pair[1]).sqrt()));
        let stride = tried.len().div_ceil(PRICES_MAX);
        let mut tried: Vec<f64> = tried.into_iter().step_by(stride).collect();
        tried.extend(steps.last().map(|last| last * 2.0 + f64::MIN_POSITIVE));
        let errors: Vec<(Vec<usize>, Vec<Vec<f64>>)> = splits
            .into_par_iter()
            .enumerate()
            .map(|(fold, split)| {
                let grown = grow(self, sample, &split.train, 1 + fold as u64);
                let prices = prune::prices(&grown);
                let share = split.train.len() as f64 / rows as f64;
                let of_row = |&row: &usize| {
                    let path = grown.path(sample.row(row));
                    let error = |price: &f64| {
                        let stop = path.iter().find(|&&node| prices[node] <= price * share);
                        let node = *stop.unwrap_or(&path[path.len() - 1]);
                        sample.weighted_error(row, grown.nodes[node].predict(sample.row(row)))
                    };
                    tried.iter().map(error).collect()
                };
                let errors = split.test.iter().map(of_row).collect();
                (split.test, errors)
            })
            .collect();
        let mut by_row: Vec<&[f64]> = vec![&[]; rows];
        for (tests, errors) in &errors {
            for (&row, errors) in tests.iter().zip(errors) {
                by_row[row] = errors;
            }
        }
        choose(&tried, &by_row, margin)
    }
}

/// The highest price whose mean error exceeds the least mean error by no more than `margin` of its
/// standard errors. `by_row` holds the squared errors of one row at every price.
fn choose(tried: &[f64], by_row: &[&[f64]], margin: f64) -> f64 {
    let rows = by_row.len() as f64;
    let means: Vec<f64> = (0..tried.len())
        .map(|price| by_row.iter().map(|row| row[price]).sum::<f64>() / rows)
        .collect();
    let least = (0..tried.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0);
    let variance = by_row.iter().map(|row| (row[least] - means[least]).powi(2)).sum::<f64>() / rows;
    let limit = means[least] + margin * (variance / rows).sqrt();
    let best = (0..tried.len()).rev().find(|&price| means[price] <= limit).unwrap_or(least);
    tried[best]
}
