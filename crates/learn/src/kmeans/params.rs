//! Settings of k-means, checked before fitting.

use super::KMeansError;
use crate::guard::guarded_params;
use ndarray::Array2;

/// Where the centroids begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// k-means++, from `runs` seeded starts; the best is kept.
    PlusPlus,
    /// These rows; one start, no randomness.
    Given(Array2<f64>),
}

/// What becomes of a cluster that loses all its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EmptyCluster {
    /// It moves to the point that lies farthest from its own centroid.
    #[default]
    Farthest,
    /// It stays where it is, as in a hardware unit without a divider for empty clusters.
    Keep,
}

/// Parameters of k-means, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct KMeansParams(KMeansValidParams);

/// Parameters of k-means, checked.
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
    /// This many clusters, best of 10 k-means++ starts, at most 300 iterations, seed 0.
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

    /// Sets the number of k-means++ starts.
    #[must_use]
    pub fn runs(mut self, runs: usize) -> Self {
        self.0.runs = runs;
        self
    }

    /// Sets the most iterations of one start, and of the finish.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.0.max_iterations = max_iterations;
        self
    }

    /// Sets the movement of all centroids below which a k-means++ start stops; the finish has none.
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

    /// Sets where the centroids begin.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.0.init = init;
        self
    }

    /// Sets what becomes of a cluster without points.
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
