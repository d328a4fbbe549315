//! The fitted scaler.

use crate::errors::{check_columns, check_finite};
use crate::guard::checked_model;
use crate::{DataError, ModelError, Version};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

/// A fitted scaler: `scaled = (value - offset) * factor + low`, with an offset and a factor for
/// each column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Scaler {
    version: Version<1>,
    offsets: Vec<f64>,
    factors: Vec<f64>,
    low: f64,
}

checked_model!(Scaler);

impl Scaler {
    pub(super) fn new(offsets: Vec<f64>, factors: Vec<f64>, low: f64) -> Self {
        Self { version: Version, offsets, factors, low }
    }

    /// What is subtracted from each column: its mean, or its least value.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// What each column is multiplied by after its offset was subtracted; above 0.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Scales data.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(x, self.offsets.len())?;
        Ok(self.each(x, |value, offset, factor| (value - offset) * factor + self.low))
    }

    /// Turns scaled data back into the columns' own units.
    pub fn inverse(&self, scaled: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(scaled, self.offsets.len())?;
        Ok(self.each(scaled, |value, offset, factor| (value - self.low) / factor + offset))
    }

    /// Maps every cell by a function of value, offset and factor.
    fn each(&self, x: ArrayView2<'_, f64>, map: impl Fn(f64, f64, f64) -> f64) -> Array2<f64> {
        let mut out = x.to_owned();
        for (column, mut cells) in out.columns_mut().into_iter().enumerate() {
            cells.mapv_inplace(|value| map(value, self.offsets[column], self.factors[column]));
        }
        out
    }

    fn verify(&self) -> Result<(), ModelError> {
        let name = "scaling";
        if self.offsets.is_empty() || self.offsets.len() != self.factors.len() {
            let reason = format!("{} offsets, {} factors", self.offsets.len(), self.factors.len());
            return Err(ModelError::new(name, reason));
        }
        check_finite(name, "offset", &self.offsets)?;
        check_finite(name, "factor", &self.factors)?;
        check_finite(name, "low end", [&self.low])?;
        match self.factors.iter().position(|&factor| factor <= 0.0) {
            Some(at) => Err(ModelError::new(name, format!("factor {at} is not above 0"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConstantColumns, Method, ScaleError, ScaleParams};
    use super::*;
    use ndarray::array;

    #[test]
    fn standard_scaling_by_hand() {
        let x = array![[1.0, 10.0], [3.0, 30.0]];
        let scaler = ScaleParams::new(Method::Standard).fit(x.view()).unwrap();
        assert_eq!(scaler.transform(x.view()).unwrap(), array![[-1.0, -1.0], [1.0, 1.0]]);
        assert_eq!(scaler.inverse(array![[0.0, 2.0]].view()).unwrap(), array![[2.0, 40.0]]);
    }

    #[test]
    fn a_range_maps_its_ends() {
        let x = array![[1.0], [2.0], [5.0]];
        let method = Method::Range { low: 0.0, high: 512.0 };
        let scaler = ScaleParams::new(method).fit(x.view()).unwrap();
        assert_eq!(scaler.transform(x.view()).unwrap(), array![[0.0], [128.0], [512.0]]);
    }

    #[test]
    fn constant_columns_are_named_or_kept() {
        let x = array![[1.0, 7.0], [2.0, 7.0]];
        let params = ScaleParams::new(Method::Standard);
        let error = ScaleError::Data(DataError::ConstantColumn { column: 1, value: 7.0 });
        assert_eq!(params.fit(x.view()), Err(error));
        let scaler = params.constant_columns(ConstantColumns::Keep).fit(x.view()).unwrap();
        assert_eq!(scaler.transform(x.view()).unwrap().column(1), array![0.0, 0.0]);
    }

    #[test]
    fn bad_input_is_refused() {
        let params = ScaleParams::new(Method::Range { low: 1.0, high: 1.0 });
        assert_eq!(
            params.fit(array![[1.0]].view()),
            Err(ScaleError::Range { low: 1.0, high: 1.0 })
        );
        let params = ScaleParams::new(Method::Standard);
        let empty = Array2::<f64>::zeros((0, 3));
        assert_eq!(params.fit(empty.view()), Err(ScaleError::Data(DataError::NoRows)));
        let scaler = params.fit(array![[1.0], [2.0]].view()).unwrap();
        let wide = array![[1.0, 2.0]];
        let error = DataError::ColumnCount { expected: 1, found: 2 };
        assert_eq!(scaler.transform(wide.view()), Err(error));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let x = array![[1.0], [2.0]];
        let scaler = ScaleParams::new(Method::Standard).fit(x.view()).unwrap();
        let text = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&text).unwrap(), scaler);
        let damaged = text.replace("\"factors\":[", "\"factors\":[0.0,");
        let error = serde_json::from_str::<Scaler>(&damaged).unwrap_err().to_string();
        assert!(error.contains("1 offsets, 2 factors"), "{error}");
    }
}
