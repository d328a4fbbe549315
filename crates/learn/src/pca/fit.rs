//! Fitting of principal components.

use super::{PcaError, PcaModel, PcaParams, PcaValidParams};
use crate::DataError;
use crate::errors::check_matrix;
use crate::linalg;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::{SelfAdjointEigen, Svd};
use faer::{Accum, Mat, MatRef, Par, Side};
use linfa::ParamGuard;
use ndarray::{Array2, ArrayView2, Axis};

impl PcaParams {
    /// Checks the parameters, then finds the components.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<PcaModel, PcaError> {
        self.check_ref()?.fit(x)
    }
}

/// Unit directions as rows, with their squared singular values, greatest first.
struct Directions {
    rows: Array2<f64>,
    squares: Vec<f64>,
    /// Sum of all squared singular values.
    total: f64,
}

impl PcaValidParams {
    /// Finds the components.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<PcaModel, PcaError> {
        check_matrix(x)?;
        let (rows, columns) = x.dim();
        if rows < 2 {
            let purpose = "a variance";
            return Err(DataError::TooFewRows { rows, needed: 2, purpose }.into());
        }
        let most = columns.min(rows - 1);
        if self.components > most {
            return Err(PcaError::Rank { asked: self.components, rank: most });
        }
        linalg::one_thread();
        let means = linalg::column_means(x);
        let centred = linalg::centred(x, &means);
        let cells = centred.as_slice().expect("centred gives standard layout");
        let matrix = MatRef::from_row_major_slice(cells, rows, columns);
        let mut found = if rows >= columns {
            by_svd(matrix, self.components)?
        } else {
            by_gram(matrix, self.components)?
        };
        // Rounding leaves directions of no variance at about eps² of the whole (SVD) or eps (Gram).
        let floor = found.total * if rows >= columns { 1e-28 } else { 1e-13 };
        let rank = found.squares.iter().take_while(|&&square| square > floor).count();
        if rank < self.components {
            return Err(PcaError::Rank { asked: self.components, rank });
        }
        found.rows.axis_iter_mut(Axis(0)).for_each(fix_sign);
        let divisor = (rows - 1) as f64;
        let variances: Vec<f64> = found.squares.iter().map(|square| square / divisor).collect();
        Ok(PcaModel::new(means.to_vec(), found.rows, variances, found.total / divisor))
    }
}

fn by_svd(x: MatRef<'_, f64>, keep: usize) -> Result<Directions, PcaError> {
    let svd = Svd::new_thin(x).map_err(|_| PcaError::NotConverged)?;
    let values = svd.S().column_vector();
    let total = (0..values.nrows()).map(|i| values[i] * values[i]).sum();
    let squares = (0..keep).map(|i| values[i] * values[i]).collect();
    let rows = Array2::from_shape_fn((keep, x.ncols()), |(i, j)| svd.V()[(j, i)]);
    Ok(Directions { rows, squares, total })
}

/// With `x xᵀ = U Λ Uᵀ`, the directions are the rows of `Λ^-½ Uᵀ x`.
fn by_gram(x: MatRef<'_, f64>, keep: usize) -> Result<Directions, PcaError> {
    let (rows, columns) = (x.nrows(), x.ncols());
    let mut gram = Mat::zeros(rows, rows);
    triangular::matmul(
        gram.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        x,
        BlockStructure::Rectangular,
        x.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    let total = (0..rows).map(|i| gram[(i, i)]).sum();
    let eigen =
        SelfAdjointEigen::new(gram.as_ref(), Side::Lower).map_err(|_| PcaError::NotConverged)?;
    let values = eigen.S().column_vector();
    let squares: Vec<f64> = (0..keep).map(|i| values[rows - 1 - i].max(0.0)).collect();
    let top = eigen.U().get(.., rows - keep..);
    let projected: Mat<f64> = top.transpose() * x;
    let mut directions =
        Array2::from_shape_fn((keep, columns), |(i, j)| projected[(keep - 1 - i, j)]);
    for mut direction in directions.axis_iter_mut(Axis(0)) {
        let length = direction.dot(&direction).sqrt();
        if length > 0.0 {
            direction /= length;
        }
    }
    Ok(Directions { rows: directions, squares, total })
}

fn fix_sign(mut direction: ndarray::ArrayViewMut1<'_, f64>) {
    let mut greatest = 0.0f64;
    for &entry in &direction {
        if entry.abs() > greatest.abs() {
            greatest = entry;
        }
    }
    if greatest < 0.0 {
        direction.mapv_inplace(|entry| -entry);
    }
}
