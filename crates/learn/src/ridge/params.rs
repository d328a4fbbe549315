//! Parameters of Ridge regression, and their check.

use super::RidgeError;
use crate::guard::guarded_params;

/// Parameters of Ridge regression. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct RidgeParams(RidgeValidParams);

/// Parameters of Ridge regression that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct RidgeValidParams {
    pub(super) penalty: f64,
}

guarded_params!(RidgeParams, RidgeValidParams, RidgeError);

impl RidgeParams {
    /// Minimises the squared error plus `penalty` times the sum of the squared coefficients. The
    /// penalty is 0 or above; 0 is least squares.
    pub fn new(penalty: f64) -> Self {
        Self(RidgeValidParams { penalty })
    }
}

impl RidgeValidParams {
    pub(super) fn verify(&self) -> Result<(), RidgeError> {
        if self.penalty.is_finite() && self.penalty >= 0.0 {
            Ok(())
        } else {
            Err(RidgeError::Penalty(self.penalty))
        }
    }
}
