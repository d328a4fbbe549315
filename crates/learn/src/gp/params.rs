//! Parameters of Gaussian process regression, and their check.

use super::{GpError, Hyperparameters};
use crate::guard::guarded_params;

/// How many length scales the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthScales {
    /// One length scale for all columns.
    Isotropic,
    /// One length scale for each column (automatic relevance determination).
    Ard,
}

/// What the process expects far from all observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriorMean {
    /// The constant that gives the greatest likelihood.
    Trained,
    /// A given constant, in the unit of the targets.
    Fixed(f64),
}

/// Parameters of Gaussian process regression. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct GpParams(GpValidParams);

/// Parameters of Gaussian process regression that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct GpValidParams {
    pub(super) scales: LengthScales,
    pub(super) mean: PriorMean,
    pub(super) starts: usize,
    pub(super) warm_start: Option<Hyperparameters>,
    pub(super) seed: u64,
    pub(super) max_evaluations: usize,
    pub(super) noise_floor: f64,
}

guarded_params!(GpParams, GpValidParams, GpError);

impl GpParams {
    /// A trained mean, 4 starts, no warm start, seed 0, at most 200 evaluations of the likelihood
    /// in each search, and a noise variance of at least a millionth of the targets' variance.
    pub fn new(scales: LengthScales) -> Self {
        Self(GpValidParams {
            scales,
            mean: PriorMean::Trained,
            starts: 4,
            warm_start: None,
            seed: 0,
            max_evaluations: 200,
            noise_floor: 1e-6,
        })
    }

    /// Sets what the process expects far from all observations.
    #[must_use]
    pub fn mean(mut self, mean: PriorMean) -> Self {
        self.0.mean = mean;
        self
    }

    /// Sets the number of starts, at least 1. The first is the warm start, or else taken from the
    /// data's own scales. The others are drawn at random around the data's own scales.
    #[must_use]
    pub fn starts(mut self, starts: usize) -> Self {
        self.0.starts = starts;
        self
    }

    /// Sets the parameters of the first start, for example those found with one observation fewer.
    #[must_use]
    pub fn warm_start(mut self, start: Hyperparameters) -> Self {
        self.0.warm_start = Some(start);
        self
    }

    /// Sets the seed of the random starts.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// Sets how many times each search evaluates the likelihood at most, at least once. There is
    /// one search from each start, and with several starts one more from the best end.
    #[must_use]
    pub fn max_evaluations(mut self, max_evaluations: usize) -> Self {
        self.0.max_evaluations = max_evaluations;
        self
    }

    /// Sets the least noise variance, as a fraction of the targets' variance: from 1e-10 to 1.
    #[must_use]
    pub fn noise_floor(mut self, noise_floor: f64) -> Self {
        self.0.noise_floor = noise_floor;
        self
    }
}

impl GpValidParams {
    pub(super) fn verify(&self) -> Result<(), GpError> {
        for (count, name) in [(self.starts, "starts"), (self.max_evaluations, "max_evaluations")] {
            if count == 0 {
                return Err(GpError::Zero(name));
            }
        }
        if !(self.noise_floor >= 1e-10 && self.noise_floor <= 1.0) {
            let (name, value) = ("noise_floor", self.noise_floor);
            return Err(GpError::Parameter { name, value, legal: "a fraction from 1e-10 to 1" });
        }
        if let PriorMean::Fixed(value) = self.mean
            && !value.is_finite()
        {
            return Err(GpError::Parameter { name: "mean", value, legal: "a finite number" });
        }
        match &self.warm_start {
            Some(start) => start.verify(),
            None => Ok(()),
        }
    }
}
