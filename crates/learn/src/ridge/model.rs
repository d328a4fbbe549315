//! The fitted linear function of Ridge regression.

use crate::errors::{check_columns, check_finite, check_row};
use crate::guard::checked_model;
use crate::{DataError, ModelError, Version};
use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Serialize};

/// A fitted linear function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct RidgeModel {
    version: Version<1>,
    coefficients: Vec<f64>,
    intercept: f64,
}

checked_model!(RidgeModel);

impl RidgeModel {
    pub(super) fn new(coefficients: Vec<f64>, intercept: f64) -> Self {
        Self { version: Version, coefficients, intercept }
    }

    /// One coefficient for each column: the change of the prediction for one unit of the column.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The prediction where every column is 0.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// Predicts every row.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>, DataError> {
        check_columns(x, self.coefficients.len())?;
        Ok(x.rows().into_iter().map(|row| self.value(row.iter())).collect())
    }

    /// Predicts one row.
    pub fn predict_one(&self, row: &[f64]) -> Result<f64, DataError> {
        check_row(row, self.coefficients.len())?;
        Ok(self.value(row.iter()))
    }

    fn value<'a>(&self, row: impl Iterator<Item = &'a f64>) -> f64 {
        row.zip(&self.coefficients).fold(self.intercept, |sum, (x, c)| sum + x * c)
    }

    fn verify(&self) -> Result<(), ModelError> {
        if self.coefficients.is_empty() {
            return Err(ModelError::new("Ridge", "it has no coefficients"));
        }
        check_finite("Ridge", "coefficient", &self.coefficients)?;
        check_finite("Ridge", "intercept", [&self.intercept])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RidgeError, RidgeParams};
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    /// One column by hand: w = Sxy / (Sxx + penalty).
    #[test]
    fn one_column_by_hand() {
        let x = array![[1.0], [2.0], [3.0], [6.0]];
        let y = array![2.0, 3.0, 5.0, 10.0];
        let model = RidgeParams::new(2.0).fit(x.view(), y.view()).unwrap();
        // Means 3 and 5: Sxx = 4+1+0+9 = 14, Sxy = 6+2+0+15 = 23.
        assert!((model.coefficients()[0] - 23.0 / 16.0).abs() < 1e-14);
        assert!((model.intercept() - (5.0 - 3.0 * 23.0 / 16.0)).abs() < 1e-14);
    }

    #[test]
    fn columns_that_cannot_be_told_apart() {
        let x = array![[1.0, 2.0], [2.0, 4.0], [5.0, 10.0]];
        let y = array![1.0, 2.0, 5.0];
        let error = RidgeParams::new(0.0).fit(x.view(), y.view()).unwrap_err();
        assert_eq!(error, RidgeError::Singular { penalty: 0.0 });
        let model = RidgeParams::new(1.0).fit(x.view(), y.view()).unwrap();
        assert!((model.coefficients()[1] - 2.0 * model.coefficients()[0]).abs() < 1e-12);
    }

    #[test]
    fn a_constant_column_counts_for_nothing() {
        let x = array![[1.0, 9.0], [2.0, 9.0], [4.0, 9.0]];
        let model = RidgeParams::new(0.1).fit(x.view(), array![1.0, 2.0, 4.0].view()).unwrap();
        assert_eq!(model.coefficients()[1], 0.0);
    }

    #[test]
    fn bad_parameters_and_data_are_refused() {
        let (x, y) = (array![[1.0], [2.0]], array![1.0, f64::INFINITY]);
        assert_eq!(RidgeParams::new(-1.0).fit(x.view(), y.view()), Err(RidgeError::Penalty(-1.0)));
        let error = DataError::TargetNotFinite { row: 1, value: f64::INFINITY };
        assert_eq!(RidgeParams::new(1.0).fit(x.view(), y.view()), Err(error.into()));
    }

    proptest! {
        /// The gradient of the penalised squared error is zero at the answer.
        #[test]
        fn the_answer_is_a_minimum(
            cells in prop::collection::vec(-5.0f64..5.0, 60),
            targets in prop::collection::vec(-5.0f64..5.0, 20),
            penalty in 0.01f64..10.0,
        ) {
            let x = ndarray::Array2::from_shape_vec((20, 3), cells).unwrap();
            let y = Array1::from(targets);
            let model = RidgeParams::new(penalty).fit(x.view(), y.view()).unwrap();
            let residual = &y - &model.predict(x.view()).unwrap();
            prop_assert!(residual.sum().abs() < 1e-10);
            for (column, weight) in x.columns().into_iter().zip(model.coefficients()) {
                prop_assert!((column.dot(&residual) - penalty * weight).abs() < 1e-10);
            }
        }

        #[test]
        fn a_model_survives_its_file(cells in prop::collection::vec(-5.0f64..5.0, 12)) {
            let x = ndarray::Array2::from_shape_vec((6, 2), cells).unwrap();
            let y = x.column(0).mapv(|v| v * 0.1 + 1.0);
            let model = RidgeParams::new(0.5).fit(x.view(), y.view()).unwrap();
            let text = serde_json::to_string(&model).unwrap();
            prop_assert_eq!(serde_json::from_str::<RidgeModel>(&text).unwrap(), model);
        }
    }
}
