//! Settings of Gaussian process regression, checked before fitting.

use super::{GpError, Hyperparameters};
use crate::guard::guarded_params;

/// How many length scales are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthScales {
    /// One for all columns.
    Isotropic,
    /// One for each column.
    Ard,
}

/// What the process returns to far from all observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriorMean {
    /// The constant of greatest likelihood.
    Trained,
    /// This one.
    Fixed(f64),
}

/// Parameters of a Gaussian process, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct GpParams(GpValidParams);

/// Parameters of a Gaussian process, checked.
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
    /// Trained mean, 4 starts, seed 0, at most 200 likelihoods for each search, noise of at least a
    /// millionth of the targets' variance.
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

    /// Sets the mean.
    #[must_use]
    pub fn mean(mut self, mean: PriorMean) -> Self {
        self.0.mean = mean;
        self
    }

    /// Sets the number of starts: the first from the data's own scales (or the warm start), the
    /// others drawn at random around it.
    #[must_use]
    pub fn starts(mut self, starts: usize) -> Self {
        self.0.starts = starts;
        self
    }

    /// Begins the first start here, such as at the parameters found for one observation fewer.
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

    /// Sets the most likelihoods evaluated for each search: one from each start, and with several
    /// starts one more from the best end.
    #[must_use]
    pub fn max_evaluations(mut self, max_evaluations: usize) -> Self {
        self.0.max_evaluations = max_evaluations;
        self
    }

    /// Sets the least noise variance, as a fraction of the targets' variance.
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
