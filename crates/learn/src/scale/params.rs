//! Parameters of column scaling, and their check.

use super::ScaleError;
use crate::guard::guarded_params;

/// What each column is scaled to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Mean 0 and standard deviation 1. The deviation is that of the population, divided by n.
    Standard,
    /// The range from `low` to `high`.
    Range {
        /// What each column's least value becomes.
        low: f64,
        /// What each column's greatest value becomes; above `low`.
        high: f64,
    },
}

/// What to do with a column that has one value in all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ConstantColumns {
    /// Return an error that names the column.
    #[default]
    Reject,
    /// Keep the column. Its value becomes 0, or the low end of the range.
    Keep,
}

/// Parameters of a scaler. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleParams(ScaleValidParams);

/// Parameters of a scaler that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleValidParams {
    pub(super) method: Method,
    pub(super) constant_columns: ConstantColumns,
}

guarded_params!(ScaleParams, ScaleValidParams, ScaleError);

impl ScaleParams {
    /// Scales to `method`. A constant column is an error, unless
    /// [`constant_columns`](Self::constant_columns) says otherwise.
    pub fn new(method: Method) -> Self {
        Self(ScaleValidParams { method, constant_columns: ConstantColumns::default() })
    }

    /// Sets what to do with columns that have one value in all rows.
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
