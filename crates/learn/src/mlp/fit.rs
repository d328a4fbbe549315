//! Training of a multilayer perceptron: checks, then libtorch if it is there.

use super::training::{Targets, Training};
use super::{MlpError, MlpParams, MlpValidParams};
use crate::errors::check_matrix;
use linfa::ParamGuard;
use ndarray::ArrayView2;

impl MlpParams {
    /// Checks the parameters, then trains.
    pub fn fit(&self, x: ArrayView2<'_, f64>, targets: Targets<'_>) -> Result<Training, MlpError> {
        self.check_ref()?.fit(x, targets)
    }
}

impl MlpValidParams {
    /// Trains a network. Without the feature `torch`, returns an error that says how to enable it.
    pub fn fit(&self, x: ArrayView2<'_, f64>, targets: Targets<'_>) -> Result<Training, MlpError> {
        check_matrix(x)?;
        targets.check(x.nrows())?;
        #[cfg(feature = "torch")]
        return super::train::train(self, x, targets);
        #[cfg(not(feature = "torch"))]
        Err(MlpError::NoTorch)
    }
}
