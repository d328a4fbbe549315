//! Training: finding the principal components.

use super::{PcaError, PcaModel, PcaParams, PcaValidParams};
use crate::DataError;
use crate::errors::check_matrix;
use crate::linalg;
use crate::vmath::vectorised;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::{SelfAdjointEigen, Svd};
use faer::{Accum, Mat, MatRef, Par, Side};
use linfa::ParamGuard;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;
use std::ops::Range;

/// Number of columns that are centred at a time. With 400 rows they take 800 kB of the second-level
/// cache.
const PANEL: usize = 256;
/// Number of partial Gram matrices. It is the same for any number of threads, so that the sum is
/// too.
const GRAM_PARTS: usize = 4;

impl PcaParams {
    /// Checks the parameters, then finds the components.
    pub fn fit(&self, x: ArrayView2<'_, f64>) -> Result<PcaModel, PcaError> {
        self.check_ref()?.fit(x)
    }
}

/// The directions that were found, greatest variance first.
struct Directions {
    /// One unit vector in each row.
    rows: Array2<f64>,
    /// Squared singular value of each direction.
    squares: Vec<f64>,
    /// Sum of all squared singular values, those of other directions included.
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
        let mut found = if rows >= columns {
            by_svd(&linalg::centred(x, &means), self.components)?
        } else {
            by_gram(x, &means, self.components)?
        };
        // Rounding gives a direction without variance about eps² of the total (SVD) or eps (Gram).
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

/// The first `keep` directions by a thin singular value decomposition.
fn by_svd(centred: &Array2<f64>, keep: usize) -> Result<Directions, PcaError> {
    let cells = centred.as_slice().expect("centred gives standard layout");
    let x = MatRef::from_row_major_slice(cells, centred.nrows(), centred.ncols());
    let svd = Svd::new_thin(x).map_err(|_| PcaError::NotConverged)?;
    let values = svd.S().column_vector();
    let total = (0..values.nrows()).map(|i| values[i] * values[i]).sum();
    let squares = (0..keep).map(|i| values[i] * values[i]).collect();
    let rows = Array2::from_shape_fn((keep, x.ncols()), |(i, j)| svd.V()[(j, i)]);
    Ok(Directions { rows, squares, total })
}

/// The first `keep` directions by the Gram matrix of the centred rows: if `x xᵀ = U Λ Uᵀ`, they are
/// the rows of `Λ^-½ Uᵀ x`.
fn by_gram(
    x: ArrayView2<'_, f64>,
    means: &Array1<f64>,
    keep: usize,
) -> Result<Directions, PcaError> {
    let x = linalg::contiguous_rows(&x);
    let means = means.as_slice().expect("a fresh vector is contiguous");
    let wide = Wide {
        rows: x.nrows(),
        cells: x.as_slice().expect("contiguous_rows gives standard layout"),
        means,
    };
    let gram = wide.gram();
    let rows = wide.rows;
    let total = (0..rows).map(|i| gram[(i, i)]).sum();
    let eigen =
        SelfAdjointEigen::new(gram.as_ref(), Side::Lower).map_err(|_| PcaError::NotConverged)?;
    let values = eigen.S().column_vector();
    let squares: Vec<f64> = (0..keep).map(|i| values[rows - 1 - i].max(0.0)).collect();
    let weights: Vec<f64> = (0..rows)
        .flat_map(|row| (0..keep).map(move |i| (row, rows - 1 - i)))
        .map(|place| eigen.U()[place])
        .collect();
    let mut directions = wide.combine(&weights, keep);
    for mut direction in directions.axis_iter_mut(Axis(0)) {
        let length = direction.dot(&direction).sqrt();
        if length > 0.0 {
            direction /= length;
        }
    }
    Ok(Directions { rows: directions, squares, total })
}

/// Few rows of many columns. They are centred piece by piece, since a centred copy of all would not
/// fit into a cache.
struct Wide<'a> {
    rows: usize,
    cells: &'a [f64],
    means: &'a [f64],
}

impl Wide<'_> {
    /// The cells of one row in a range of columns.
    fn part(&self, row: usize, range: &Range<usize>) -> &[f64] {
        let start = row * self.means.len();
        &self.cells[start + range.start..start + range.end]
    }

    /// The lower triangle of the Gram matrix. It is added up from a fixed number of parts in a
    /// fixed order, so that the result does not depend on the number of threads.
    fn gram(&self) -> Mat<f64> {
        let columns = self.means.len();
        let bounds = |part: usize| part * columns / GRAM_PARTS..(part + 1) * columns / GRAM_PARTS;
        let parts: Vec<Mat<f64>> =
            (0..GRAM_PARTS).into_par_iter().map(|part| self.gram_of(bounds(part))).collect();
        let mut sum = Mat::zeros(self.rows, self.rows);
        parts.iter().for_each(|part| sum += part);
        sum
    }

    /// The part of the Gram matrix that a range of columns contributes.
    fn gram_of(&self, columns: Range<usize>) -> Mat<f64> {
        let mut gram = Mat::zeros(self.rows, self.rows);
        let mut panel = Vec::with_capacity(self.rows * PANEL);
        for range in panels(columns) {
            panel.clear();
            let means = &self.means[range.clone()];
            for row in 0..self.rows {
                let cells = self.part(row, &range).iter().zip(means);
                panel.extend(cells.map(|(cell, mean)| cell - mean));
            }
            let panel = MatRef::from_row_major_slice(&panel, self.rows, range.len());
            triangular::matmul(
                gram.as_mut(),
                BlockStructure::TriangularLower,
                Accum::Add,
                panel,
                BlockStructure::Rectangular,
                panel.transpose(),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
        }
        gram
    }

    /// `keep` weighted sums of the centred rows. `weights` holds `keep` numbers for each row.
    fn combine(&self, weights: &[f64], keep: usize) -> Array2<f64> {
        let columns = self.means.len();
        let sums: Vec<(Range<usize>, Vec<f64>)> = panels(0..columns)
            .into_par_iter()
            .map(|range| {
                let mut sums = vec![0.0; keep * range.len()];
                for (row, weights) in weights.chunks_exact(keep).enumerate() {
                    let (cells, means) = (self.part(row, &range), &self.means[range.clone()]);
                    add_weighted(cells, means, weights, &mut sums);
                }
                (range, sums)
            })
            .collect();
        let mut out = Array2::zeros((keep, columns));
        for (range, sums) in sums {
            let sums = ArrayView2::from_shape((keep, range.len()), &sums).expect("as allocated");
            out.slice_mut(s![.., range]).assign(&sums);
        }
        out
    }
}

/// Divides a range of columns into panels.
fn panels(columns: Range<usize>) -> Vec<Range<usize>> {
    let end = columns.end;
    columns.step_by(PANEL).map(|start| start..(start + PANEL).min(end)).collect()
}

vectorised! {
    /// Adds a centred piece of one row to each sum, times the sum's weight.
    fn add_weighted<'a>(
        cells: &'a [f64],
        means: &'a [f64],
        weights: &'a [f64],
        sums: &'a mut [f64],
    ) {
        for (sums, &weight) in sums.chunks_exact_mut(cells.len()).zip(weights) {
            for ((sum, cell), mean) in sums.iter_mut().zip(cells).zip(means) {
                *sum += weight * (cell - mean);
            }
        }
    }
}

/// Turns a direction around if its entry of greatest magnitude is negative.
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
