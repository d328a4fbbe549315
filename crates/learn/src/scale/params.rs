//! Settings of scaling, checked before fitting.

use super::ScaleError;
use crate::guard::guarded_params;

/// What each column is scaled to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Mean 0 and standard deviation 1 (of the population: divided by n).
    Standard,
    /// From `low` to `high`.
    Range {
        /// What the least value becomes.
        low: f64,
        /// What the greatest value becomes.
        high: f64,
    },
}

/// What to do with a column that holds one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConstantColumns {
    /// An error that names it.
    #[default]
    Reject,
    /// Keep it, with 0 (or the range's low end) for that value.
    Keep,
}

/// Parameters of a scaler, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleParams(ScaleValidParams);

/// Parameters of a scaler, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleValidParams {
    pub(super) method: Method,
    pub(super) constant_columns: ConstantColumns,
}

guarded_params!(ScaleParams, ScaleValidParams, ScaleError);

impl ScaleParams {
    /// Scales by `method`; a constant column is an error.
    pub fn new(method: Method) -> Self {
        Self(ScaleValidParams { method, constant_columns: ConstantColumns::default() })
    }

    /// Sets what becomes of constant columns.
    #[must_use]
    pub fn constant_columns(mut self, constant_columns: ConstantColumns) -> Self {
        self.0.constant_columns = constant_columns;
        self
    }
}

impl ScaleValidParams {
    pub(super) fn verify(&self) -> Result<(), ScaleError> {
        match self.method {
            Method::Range { low, high } if !(low.is_finite() && high.is_finite() && low < high) => {
                Err(ScaleError::Range { low, high })
            }
            _ => Ok(()),
        }
    }
}
