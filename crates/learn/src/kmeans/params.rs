//! Parameters of k-means, and their check.

use super::KMeansError;
use crate::guard::guarded_params;
use ndarray::Array2;

/// Where the centroids start.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// At points that k-means++ draws, several times; the best result is kept.
    PlusPlus,
    /// At the rows of this matrix. There is one start and nothing random.
    Given(Array2<f64>),
}

/// What to do with a cluster that loses all its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EmptyCluster {
    /// Move it to the point that is farthest from the centroid of its cluster.
    #[default]
    Farthest,
    /// Leave its centroid where it is, as simple hardware does.
    Keep,
}

/// Parameters of k-means. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct KMeansParams(KMeansValidParams);

/// Parameters of k-means that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct KMeansValidParams {
    pub(super) clusters: usize,
    pub(super) runs: usize,
    pub(super) max_iterations: usize,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) init: Init,
    pub(super) empty: EmptyCluster,
}

guarded_params!(KMeansParams, KMeansValidParams, KMeansError);

impl KMeansParams {
    /// `clusters` clusters, the best of 10 starts of k-means++, at most 300 iterations, a tolerance
    /// of 1e-4, seed 0. An empty cluster moves to the farthest point.
    pub fn new(clusters: usize) -> Self {
        Self(KMeansValidParams {
            clusters,
            runs: 10,
            max_iterations: 300,
            tolerance: 1e-4,
            seed: 0,
            init: Init::PlusPlus,
            empty: EmptyCluster::default(),
        })
    }

    /// Sets the number of starts of k-means++, at least 1.
    #[must_use]
    pub fn runs(mut self, runs: usize) -> Self {
        self.0.runs = runs;
        self
    }

    /// Sets the limit of iterations, at least 1. It holds for each start and for the second phase.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.0.max_iterations = max_iterations;
        self
    }

    /// Sets the movement of all centroids together, above 0, below which a start of k-means++ ends.
    /// The second phase ends when no point changes its cluster.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.0.tolerance = tolerance;
        self
    }

    /// Sets the seed of k-means++.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// Sets where the centroids start.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.0.init = init;
        self
    }

    /// Sets what to do with a cluster that loses all its points.
    #[must_use]
    pub fn empty(mut self, empty: EmptyCluster) -> Self {
        self.0.empty = empty;
        self
    }
}

impl KMeansValidParams {
    pub(super) fn verify(&self) -> Result<(), KMeansError> {
        if self.clusters == 0 {
            return Err(KMeansError::NoClusters);
        }
        for (count, name) in [(self.runs, "runs"), (self.max_iterations, "max_iterations")] {
            if count == 0 {
                return Err(KMeansError::Zero(name));
            }
        }
        if !(self.tolerance.is_finite() && self.tolerance > 0.0) {
            return Err(KMeansError::Tolerance(self.tolerance));
        }
        Ok(())
    }
}
