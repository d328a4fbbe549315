//! Training of k-means.

use super::lloyd::{self, Settled};
use super::{Init, KMeansError, KMeansModel, KMeansParams, KMeansValidParams};
use crate::errors::check_matrix;
use linfa::traits::Fit;
use linfa::{DatasetBase, ParamGuard};
use linfa_clustering::KMeans;
use ndarray::{Array2, ArrayView2};
use rand_xoshiro::Xoshiro256Plus;
use rand08::SeedableRng;

impl KMeansParams {
    /// Checks the parameters, then clusters the rows.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<KMeansModel, KMeansError> {
        self.check_ref()?.fit(x)
    }
}

impl KMeansValidParams {
    /// Clusters the rows.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<KMeansModel, KMeansError> {
        check_matrix(x)?;
        if self.clusters > x.nrows() {
            return Err(KMeansError::TooFewPoints { clusters: self.clusters, points: x.nrows() });
        }
        let start = match &self.init {
            Init::PlusPlus => self.explore(x)?,
            Init::Given(centroids) => self.given(x, centroids)?,
        };
        let Settled { centroids, labels, counts, inertia, iterations, converged } =
            lloyd::settle(x, start, self.max_iterations, self.empty);
        Ok(KMeansModel::new(centroids, counts, inertia)
            .with_training(labels.into_iter().map(|label| label as usize).collect())
            .with_progress(iterations, converged))
    }

    /// The centroids that linfa finds from several starts.
    fn explore(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, KMeansError> {
        let distinct = distinct_rows(x, self.clusters);
        if distinct < self.clusters {
            return Err(KMeansError::TooFewDistinct { clusters: self.clusters, distinct });
        }
        let rng = Xoshiro256Plus::seed_from_u64(self.seed);
        let model = KMeans::params_with_rng(self.clusters, rng)
            .n_runs(self.runs)
            .max_n_iterations(self.max_iterations as u64)
            .tolerance(self.tolerance)
            .fit(&DatasetBase::from(x))
            .map_err(|error| KMeansError::Linfa(error.to_string()))?;
        Ok(model.centroids().clone())
    }

    /// The given centroids, if they have the right shape.
    fn given(
        &self,
        x: ArrayView2<'_, f64>,
        centroids: &Array2<f64>,
    ) -> Result<Array2<f64>, KMeansError> {
        let (rows, columns) = centroids.dim();
        let (clusters, expected) = (self.clusters, x.ncols());
        if rows != clusters || columns != expected {
            return Err(KMeansError::Centroids { rows, columns, clusters, expected });
        }
        check_matrix(centroids.view())?;
        Ok(centroids.clone())
    }
}

/// The number of rows that differ from each other. Counting stops at `enough`.
fn distinct_rows(x: ArrayView2<'_, f64>, enough: usize) -> usize {
    let mut seen: Vec<usize> = Vec::with_capacity(enough);
    for row in 0..x.nrows() {
        if seen.len() == enough {
            break;
        }
        if seen.iter().all(|&other| x.row(other) != x.row(row)) {
            seen.push(row);
        }
    }
    seen.len()
}
