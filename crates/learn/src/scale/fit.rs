//! Training of a scaler.

use super::{ConstantColumns, Method, ScaleError, ScaleParams, ScaleValidParams, Scaler};
use crate::errors::{check_matrix, check_no_constant_column};
use linfa::traits::Fit;
use linfa::{DatasetBase, ParamGuard};
use linfa_preprocessing::linear_scaling::LinearScaler;
use ndarray::ArrayView2;

impl ScaleParams {
    /// Checks the parameters, then learns each column's offset and factor.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<Scaler, ScaleError> {
        self.check_ref()?.fit(x)
    }
}

impl ScaleValidParams {
    /// Learns each column's offset and factor.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<Scaler, ScaleError> {
        check_matrix(x)?;
        if self.constant_columns == ConstantColumns::Reject {
            check_no_constant_column(x)?;
        }
        let (params, low, width) = match self.method {
            Method::Standard => (LinearScaler::standard(), 0.0, 1.0),
            Method::Range { low, high } => (LinearScaler::min_max(), low, high - low),
        };
        let scaler = params.fit(&DatasetBase::from(x)).expect("checked: the data has rows");
        let mut factors = scaler.scales() * width;
        for (factor, column) in factors.iter_mut().zip(x.columns()) {
            // linfa treats a spread below 2e-16 as a constant column. Here only a column of one
            // value is constant.
            if column.iter().all(|&value| value == column[0]) {
                *factor = 1.0;
            } else if !factor.is_finite() {
                *factor = f64::MAX;
            }
        }
        Ok(Scaler::new(scaler.offsets().to_vec(), factors.to_vec(), low))
    }
}
