//! Whitening: a linear map after which windows of one category vary by about 1 in every direction.
//!
//! Principal components follow the widest variation, whatever causes it. In recordings much of it
//! lies within workloads, which have phases, and little of it tells one workload from another. In
//! units of the variation within categories, the widest directions are those that separate
//! categories (Fisher's discriminants), and the components find them.
//!
//! The covariance within categories is estimated from some hundred windows, so it is mixed with
//! what it would be if all columns varied alike and independently. A small part of the whole
//! variance is added, so that columns which never vary within a category are not divided by zero.
//! Both constants were chosen on half of the traces (docs/results/clustering.md).
//!
//! Cost: fitting takes 1,100 multiplications for each window and 16,000 once, for 46 columns;
//! applying takes 1,100 for each window.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// The share of the variance within categories that is taken as alike in all columns.
const SHRINKAGE: f64 = 0.3;
/// The share of the mean variance of a column that is added to the variance of each.
const FLOOR: f64 = 1e-3;

/// The lower triangle L of Cholesky's decomposition of the covariance within categories. A row z
/// becomes y with L y = z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Whitening {
    /// The rows of the triangle, one after the other: 1, 2, 3 and so on numbers.
    triangle: Vec<f64>,
}

impl Whitening {
    /// Fits to rows of mean 0. `labels` has the number of each row's category.
    pub(super) fn fit(rows: ArrayView2<'_, f64>, labels: &[u32]) -> Self {
        let columns = rows.ncols();
        let within = deviations(rows, labels);
        let share = 1.0 / rows.nrows() as f64;
        let of_column = |all: ArrayView2<'_, f64>| {
            all.iter().map(|value| value * value).sum::<f64>() * share / columns as f64
        };
        let alike = SHRINKAGE * of_column(within.view()) + FLOOR * of_column(rows);
        // Without any variance every map is as good as another.
        let alike = if alike > 0.0 { alike } else { 1.0 };
        let mut triangle = Vec::with_capacity(columns * (columns + 1) / 2);
        for (i, left) in within.columns().into_iter().enumerate() {
            for right in within.columns().into_iter().take(i + 1) {
                triangle.push((1.0 - SHRINKAGE) * share * left.dot(&right));
            }
            triangle[start(i) + i] += alike;
        }
        decompose(&mut triangle, columns);
        Self { triangle }
    }

    /// The rows after the map.
    pub(super) fn apply(&self, mut rows: Array2<f64>) -> Array2<f64> {
        for mut row in rows.rows_mut() {
            for i in 0..row.len() {
                let line = &self.triangle[start(i)..=start(i) + i];
                let known: f64 = line[..i].iter().zip(&row).map(|(cell, value)| cell * value).sum();
                row[i] = (row[i] - known) / line[i];
            }
        }
        rows
    }

    /// Whether a map that was read from AutoDB can be applied to rows with this number of columns.
    pub(super) fn is_sound(&self, columns: usize) -> bool {
        self.triangle.len() == start(columns)
            && self.triangle.iter().all(|cell| cell.is_finite())
            && (0..columns).all(|i| self.triangle[start(i) + i] > 0.0)
    }
}

/// Where row `i` of a triangle begins.
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// The rows less the mean of their category.
fn deviations(rows: ArrayView2<'_, f64>, labels: &[u32]) -> Array2<f64> {
    let categories = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut means = Array2::<f64>::zeros((categories, rows.ncols()));
    let mut counts = vec![0.0; categories];
    for (row, &label) in rows.rows().into_iter().zip(labels) {
        let mut mean = means.row_mut(label as usize);
        mean += &row;
        counts[label as usize] += 1.0;
    }
    for (mut mean, count) in means.axis_iter_mut(Axis(0)).zip(counts) {
        mean /= f64::max(count, 1.0);
    }
    let mut within = rows.to_owned();
    for (mut row, &label) in within.rows_mut().into_iter().zip(labels) {
        row -= &means.row(label as usize);
    }
    within
}

/// Cholesky's decomposition of a symmetric matrix, given as its lower triangle, in its place. The
/// matrix is positive definite: something positive was added to its diagonal.
fn decompose(triangle: &mut [f64], columns: usize) {
    for i in 0..columns {
        for j in 0..=i {
            let (left, right) = (&triangle[start(i)..], &triangle[start(j)..]);
            let known: f64 = left[..j].iter().zip(&right[..j]).map(|(a, b)| a * b).sum();
            let rest = triangle[start(i) + j] - known;
            triangle[start(i) + j] =
                if i == j { rest.sqrt() } else { rest / triangle[start(j) + j] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two categories of points on lines that are not parallel to an axis.
    fn two() -> (Array2<f64>, Vec<u32>) {
        let rows = Array2::from_shape_fn((40, 3), |(row, column)| {
            let along = (row % 20) as f64 - 9.5;
            let apart = if row < 20 { 1.0 } else { -1.0 };
            let across = ((row * 7) % 5) as f64 - 2.0;
            [10.0 * along + apart, 10.0 * along - apart, 0.1 * across][column]
        });
        (rows, (0..40).map(|row| row / 20).collect())
    }

    #[test]
    fn the_map_undoes_the_mixed_covariance() {
        let (rows, labels) = two();
        let whitening = Whitening::fit(rows.view(), &labels);
        // L times its transpose is the covariance within categories, mixed as the constants say.
        let within = deviations(rows.view(), &labels);
        let covariance = within.t().dot(&within) / 40.0;
        let whole = rows.t().dot(&rows) / 40.0;
        let mean = |matrix: &Array2<f64>| matrix.diag().sum() / 3.0;
        let alike = SHRINKAGE * mean(&covariance) + FLOOR * mean(&whole);
        let triangle = Array2::from_shape_fn((3, 3), |(i, j)| {
            if j <= i { whitening.triangle[start(i) + j] } else { 0.0 }
        });
        let product = triangle.dot(&triangle.t());
        for ((i, j), seen) in product.indexed_iter() {
            let wanted = (1.0 - SHRINKAGE) * covariance[[i, j]] + if i == j { alike } else { 0.0 };
            assert!((seen - wanted).abs() < 1e-9, "{i} {j}: {seen} {wanted}");
        }
        let white = whitening.apply(rows.clone());
        let back = white.dot(&triangle.t());
        assert!(back.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn what_separates_categories_becomes_wide() {
        let (rows, labels) = two();
        let direction = |rows: &Array2<f64>| {
            let between = (0..3).map(|i| (rows[[0, i]] - rows[[20, i]]).powi(2)).sum::<f64>();
            let within = deviations(rows.view(), &labels);
            between / within.iter().map(|value| value * value).sum::<f64>()
        };
        let white = Whitening::fit(rows.view(), &labels).apply(rows.clone());
        assert!(direction(&white) > 5.0 * direction(&rows));
    }

    #[test]
    fn no_variance_does_no_harm() {
        // One window in each category, and windows that are all alike.
        let apart = Array2::from_shape_vec((2, 2), vec![1.0, 0.0, -1.0, 0.0]).expect("a matrix");
        let white = Whitening::fit(apart.view(), &[0, 1]).apply(apart);
        assert!(white.iter().all(|value| value.is_finite()) && white[[0, 0]] > white[[1, 0]]);
        let alike = Array2::zeros((3, 2));
        let whitening = Whitening::fit(alike.view(), &[0, 0, 0]);
        assert_eq!(whitening.apply(alike.clone()), alike);
    }

    #[test]
    fn damaged_maps_are_refused() {
        let (rows, labels) = two();
        let sound = Whitening::fit(rows.view(), &labels);
        assert!(sound.is_sound(3) && !sound.is_sound(2) && !sound.is_sound(4));
        for damage in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut damaged = sound.clone();
            damaged.triangle[2] = damage;
            assert!(!damaged.is_sound(3), "{damage}");
        }
    }

    proptest! {
        #[test]
        fn maps_of_any_rows_are_sound(
            values in prop::collection::vec(-1e3f64..1e3, 4..200), categories in 1u32..5
        ) {
            let rows = values.len() / 4;
            let cells = values[..4 * rows].to_vec();
            let rows = Array2::from_shape_vec((rows, 4), cells).expect("whole rows");
            let labels: Vec<u32> = (0..rows.nrows() as u32).map(|row| row % categories).collect();
            let whitening = Whitening::fit(rows.view(), &labels);
            prop_assert!(whitening.is_sound(4));
            prop_assert!(whitening.apply(rows).iter().all(|value| value.is_finite()));
        }
    }
}
