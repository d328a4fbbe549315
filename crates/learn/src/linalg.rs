//! Thin bridges between ndarray (what callers hold) and faer (what factors).
//!
//! Everything here runs on one thread: callers parallelise over models, folds or starts, and a
//! sum's order never depends on the number of threads.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, MatRef, Side};
use ndarray::{Array1, Array2, ArrayView2};

/// Lets faer take its work from the calling thread only; called before any of its high-level
/// solvers.
pub(crate) fn one_thread() {
    faer::set_global_parallelism(faer::Par::Seq);
}

/// The matrix as contiguous rows, copied only when it is not.
pub(crate) fn contiguous_rows<'a>(
    x: &'a ArrayView2<'_, f64>,
) -> ndarray::CowArray<'a, f64, ndarray::Ix2> {
    x.as_standard_layout()
}

/// A contiguous row-major array as faer sees it. The caller passes the output of
/// [`contiguous_rows`].
pub(crate) fn as_faer<'a>(x: &'a ndarray::CowArray<'_, f64, ndarray::Ix2>) -> MatRef<'a, f64> {
    let (rows, columns) = x.dim();
    let cells = x.as_slice().expect("contiguous_rows gives standard layout");
    MatRef::from_row_major_slice(cells, rows, columns)
}

/// Means of the columns.
pub(crate) fn column_means(x: ArrayView2<'_, f64>) -> Array1<f64> {
    x.mean_axis(ndarray::Axis(0)).expect("checked: the matrix has rows")
}

/// The rows less the column means.
pub(crate) fn centred(x: ArrayView2<'_, f64>, means: &Array1<f64>) -> Array2<f64> {
    let mut out = x.as_standard_layout().into_owned();
    out -= means;
    out
}

/// Solves `a b = c` for symmetric positive definite `a` (its lower triangle is read); `None` if a
/// pivot is no more than rounding would leave of a dependent row.
pub(crate) fn solve_spd(a: &Mat<f64>, c: &Mat<f64>) -> Option<Mat<f64>> {
    let factor = Llt::new(a.as_ref(), Side::Lower).ok()?;
    let sound = |i: usize| factor.L()[(i, i)] * factor.L()[(i, i)] > 1e-13 * a[(i, i)];
    (0..a.nrows()).all(sound).then(|| factor.solve(c))
}
