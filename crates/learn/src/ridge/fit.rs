//! Training of Ridge regression.

use super::{RidgeError, RidgeModel, RidgeParams, RidgeValidParams};
use crate::errors::check_supervised;
use crate::linalg;
use faer::Mat;
use linfa::ParamGuard;
use ndarray::{ArrayView1, ArrayView2};

impl RidgeParams {
    /// Checks the parameters, then finds the coefficients.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<RidgeModel, RidgeError> {
        self.check_ref()?.fit(x, y)
    }
}

impl RidgeValidParams {
    /// Finds one coefficient for each column, and the intercept.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<RidgeModel, RidgeError> {
        check_supervised(x, y)?;
        linalg::one_thread();
        let columns = x.ncols();
        let x_means = linalg::column_means(x);
        let y_mean = y.sum() / y.len() as f64;
        let x = linalg::centred(x, &x_means);
        let gram = x.t().dot(&x);
        let moment = x.t().dot(&y.mapv(|value| value - y_mean));
        let mut normal = Mat::from_fn(columns, columns, |i, j| gram[[i, j]]);
        for i in 0..columns {
            normal[(i, i)] += self.penalty;
        }
        let right = Mat::from_fn(columns, 1, |i, _| moment[i]);
        let singular = RidgeError::Singular { penalty: self.penalty };
        let weights = linalg::solve_spd(&normal, &right).ok_or(singular.clone())?;
        let coefficients: Vec<f64> = (0..columns).map(|i| weights[(i, 0)]).collect();
        if coefficients.iter().any(|c| !c.is_finite()) {
            return Err(singular);
        }
        let shift: f64 = coefficients.iter().zip(&x_means).map(|(c, m)| c * m).sum();
        Ok(RidgeModel::new(coefficients, y_mean - shift))
    }
}
