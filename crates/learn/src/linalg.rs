//! Conversions from ndarray, which callers use, to faer, which factors matrices.
//!
//! Everything here runs on one thread. Callers run several models, folds or starts in parallel, so
//! the order of a sum never depends on the number of threads.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, MatRef, Side};
use ndarray::{Array1, Array2, ArrayView2};

/// Makes faer's solvers use the calling thread only. To be called before any of them.
pub(crate) fn one_thread() {
    faer::set_global_parallelism(faer::Par::Seq);
}

/// The matrix with its rows one after the other in memory, copied only if they are not.
pub(crate) fn contiguous_rows<'a>(
    x: &'a ArrayView2<'_, f64>,
) -> ndarray::CowArray<'a, f64, ndarray::Ix2> {
    x.as_standard_layout()
}

/// The output of [`contiguous_rows`] as a matrix of faer, without a copy.
pub(crate) fn as_faer<'a>(x: &'a ndarray::CowArray<'_, f64, ndarray::Ix2>) -> MatRef<'a, f64> {
    let (rows, columns) = x.dim();
    let cells = x.as_slice().expect("contiguous_rows gives standard layout");
    MatRef::from_row_major_slice(cells, rows, columns)
}

/// The mean of each column.
pub(crate) fn column_means(x: ArrayView2<'_, f64>) -> Array1<f64> {
    x.mean_axis(ndarray::Axis(0)).expect("checked: the matrix has rows")
}

/// A copy of the matrix with the column means subtracted.
pub(crate) fn centred(x: ArrayView2<'_, f64>, means: &Array1<f64>) -> Array2<f64> {
    let mut out = x.as_standard_layout().into_owned();
    out -= means;
    out
}

/// Solves `a b = c` for a symmetric positive definite `a`, of which the lower triangle is read.
/// `None` if a pivot is so small that it may be a rounding error of a dependent row.
pub(crate) fn solve_spd(a: &Mat<f64>, c: &Mat<f64>) -> Option<Mat<f64>> {
    let factor = Llt::new(a.as_ref(), Side::Lower).ok()?;
    let sound = |i: usize| factor.L()[(i, i)] * factor.L()[(i, i)] > 1e-13 * a[(i, i)];
    (0..a.nrows()).all(sound).then(|| factor.solve(c))
}
