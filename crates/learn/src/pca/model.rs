//! The fitted principal components: projection and its inverse.

use crate::errors::{check_columns, check_finite};
use crate::guard::checked_model;
use crate::linalg;
use crate::{DataError, ModelError, Version};
use faer::{MatRef, Par};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

/// Fitted principal components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct PcaModel {
    version: Version<1>,
    means: Vec<f64>,
    /// One unit vector for each component, row after row.
    components: Vec<f64>,
    variances: Vec<f64>,
    total_variance: f64,
}

checked_model!(PcaModel);

impl PcaModel {
    pub(super) fn new(
        means: Vec<f64>,
        components: Array2<f64>,
        variances: Vec<f64>,
        total_variance: f64,
    ) -> Self {
        let components = components.into_iter().collect();
        Self { version: Version, means, components, variances, total_variance }
    }

    /// One unit vector for each component as a row, greatest variance first.
    pub fn components(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((self.variances.len(), self.means.len()), &self.components)
            .expect("verified: one entry for each component and column")
    }

    /// Mean of each column, which is subtracted before projecting.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Variance of the training data along each component.
    pub fn explained_variance(&self) -> &[f64] {
        &self.variances
    }

    /// Variance of the training data along each component, as a fraction of the variance in all
    /// directions.
    pub fn explained_variance_ratio(&self) -> Vec<f64> {
        self.variances.iter().map(|variance| variance / self.total_variance).collect()
    }

    /// Projects data: the coordinates of each row along the components.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(x, self.means.len())?;
        let (rows, keep) = (x.nrows(), self.variances.len());
        let rows_of_x = linalg::contiguous_rows(&x);
        let components = MatRef::from_row_major_slice(&self.components, keep, self.means.len());
        // To project first and subtract the means' projection after needs no centred copy.
        let mut moved = faer::Mat::<f64>::zeros(rows, keep);
        let (lhs, rhs) = (linalg::as_faer(&rows_of_x), components.transpose());
        faer::linalg::matmul::matmul(moved.as_mut(), faer::Accum::Replace, lhs, rhs, 1.0, Par::Seq);
        let shift: Vec<f64> =
            self.components().rows().into_iter().map(|c| self.mean_along(c)).collect();
        Ok(Array2::from_shape_fn((rows, keep), |(i, j)| moved[(i, j)] - shift[j]))
    }

    /// Turns coordinates along the components back into columns. What the kept components do not
    /// explain is lost.
    pub fn inverse(&self, projected: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(projected, self.variances.len())?;
        let means = ndarray::ArrayView1::from(&self.means);
        Ok(projected.dot(&self.components()) + means)
    }

    /// Coordinate of the column means along a component.
    fn mean_along(&self, component: ndarray::ArrayView1<'_, f64>) -> f64 {
        component.iter().zip(&self.means).map(|(c, m)| c * m).sum()
    }

    fn verify(&self) -> Result<(), ModelError> {
        let (kept, columns) = (self.variances.len(), self.means.len());
        if kept == 0 || columns == 0 || Some(self.components.len()) != kept.checked_mul(columns) {
            let reason =
                format!("{kept} variances, {columns} means, {} entries", self.components.len());
            return Err(ModelError::new("PCA", reason));
        }
        check_finite("PCA", "mean", &self.means)?;
        check_finite("PCA", "entry", &self.components)?;
        check_finite("PCA", "variance", &self.variances)?;
        if self.total_variance.is_finite() && self.total_variance > 0.0 {
            Ok(())
        } else {
            Err(ModelError::new("PCA", "its total variance is not above 0"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PcaError, PcaParams};
    use super::*;
    use crate::random;
    use ndarray::array;
    use rand::RngExt;

    /// Rows along random directions with falling weights, so that variances differ clearly.
    fn spread(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
        let mut rng = random::stream(seed, 0);
        let directions = Array2::from_shape_fn((8, columns), |_| rng.random_range(-1.0..1.0));
        let weights = Array2::from_shape_fn((rows, 8), |(_, j)| {
            rng.random_range(-1.0..1.0) * 0.5f64.powi(j as i32)
        });
        weights.dot(&directions) + 3.0
    }

    #[test]
    fn a_line_by_hand() {
        let x = array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]];
        let model = PcaParams::new(1).fit(x.view()).unwrap();
        let component = model.components();
        assert!((component[[0, 0]] - 0.6).abs() < 1e-15 && (component[[0, 1]] - 0.8).abs() < 1e-15);
        assert!((model.explained_variance()[0] - 25.0).abs() < 1e-12);
        assert!((model.explained_variance_ratio()[0] - 1.0).abs() < 1e-12);
        let places = model.transform(x.view()).unwrap();
        assert!((places[[0, 0]] + 5.0).abs() < 1e-12 && (places[[2, 0]] - 5.0).abs() < 1e-12);
        let back = model.inverse(places.view()).unwrap();
        assert!((back - x).iter().all(|gap| gap.abs() < 1e-12));
    }

    /// A column of zeros makes square data wide and changes no component: both ways must agree.
    #[test]
    fn gram_and_svd_agree() {
        let wide = spread(30, 31, 5);
        let tall = wide.slice(ndarray::s![.., ..30]).to_owned();
        let padded = {
            let mut padded = Array2::zeros((30, 31));
            padded.slice_mut(ndarray::s![.., ..30]).assign(&tall);
            padded
        };
        let by_svd = PcaParams::new(4).fit(tall.view()).unwrap();
        let by_gram = PcaParams::new(4).fit(padded.view()).unwrap();
        for i in 0..4 {
            let (a, b) = (by_svd.explained_variance()[i], by_gram.explained_variance()[i]);
            assert!((a - b).abs() < 1e-10 * a);
            let cosine: f64 = by_svd
                .components()
                .row(i)
                .iter()
                .zip(by_gram.components().row(i))
                .map(|(a, b)| a * b)
                .sum();
            assert!(1.0 - cosine < 1e-15 * 10.0, "component {i}: 1 - cos = {:e}", 1.0 - cosine);
        }
    }

    #[test]
    fn components_are_orthonormal_and_decorrelate() {
        for (rows, columns) in [(200, 20), (20, 200)] {
            let x = spread(rows, columns, 9);
            let model = PcaParams::new(5).fit(x.view()).unwrap();
            let gram = model.components().dot(&model.components().t());
            let places = model.transform(x.view()).unwrap();
            let covariance = places.t().dot(&places) / (rows - 1) as f64;
            for ((i, j), value) in covariance.indexed_iter() {
                let expected = if i == j { model.explained_variance()[i] } else { 0.0 };
                assert!((value - expected).abs() < 1e-10 * model.explained_variance()[0]);
                assert!((gram[[i, j]] - f64::from(u8::from(i == j))).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn what_cannot_be_decomposed_is_an_error() {
        let x = array![[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]];
        assert_eq!(PcaParams::new(0).fit(x.view()), Err(PcaError::NoComponents));
        assert_eq!(PcaParams::new(2).fit(x.view()), Err(PcaError::Rank { asked: 2, rank: 1 }));
        assert_eq!(PcaParams::new(3).fit(x.view()), Err(PcaError::Rank { asked: 3, rank: 2 }));
        let constant = Array2::from_elem((3, 5), 2.0);
        assert_eq!(
            PcaParams::new(1).fit(constant.view()),
            Err(PcaError::Rank { asked: 1, rank: 0 })
        );
        let single = array![[1.0, 2.0]];
        assert!(matches!(PcaParams::new(1).fit(single.view()), Err(PcaError::Data(_))));
    }

    #[test]
    fn a_model_survives_its_file_and_a_damaged_one_does_not() {
        let model = PcaParams::new(2).fit(spread(20, 4, 1).view()).unwrap();
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<PcaModel>(&text).unwrap(), model);
        let damaged = text.replace("\"means\":[", "\"means\":[1.0,");
        assert!(serde_json::from_str::<PcaModel>(&damaged).is_err());
    }
}
