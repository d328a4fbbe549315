//! Settings of Ridge regression, checked before fitting.

use super::RidgeError;
use crate::guard::guarded_params;

/// Parameters of Ridge regression, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct RidgeParams(RidgeValidParams);

/// Parameters of Ridge regression, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct RidgeValidParams {
    pub(super) penalty: f64,
}

guarded_params!(RidgeParams, RidgeValidParams, RidgeError);

impl RidgeParams {
    /// `penalty` times the squared coefficients joins the squared error; 0 is least squares.
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
