//! Weighted sums of products of a set of rows, and the least squares they decide.
//!
//! Sums can be added and taken away, which is what makes trying a threshold cheap. The systems are
//! of the size of the columns and there are thousands of them, so the small Cholesky here works in
//! place in one buffer, where a library's set-up for each would cost more than the solve.

/// Ridge against dependent columns, as a fraction of each column's variance.
const RIDGE: f64 = 1e-10;
/// A column whose variance is below this fraction of its mean square is constant here.
const CONSTANT: f64 = 1e-13;

/// Sums over rows `[1, x_1 .. x_d, y]` of the lower triangle of `w · row · rowᵀ`.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    /// Columns that take part: 0 for constant leaves.
    columns: usize,
    sums: Vec<f64>,
}

/// A linear function with its weighted squared error.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) intercept: f64,
    pub(super) slopes: Vec<f64>,
    pub(super) squared_error: f64,
}

/// Room for one solve, reused.
#[derive(Default)]
pub(super) struct Workspace {
    row: Vec<f64>,
    matrix: Vec<f64>,
    right: Vec<f64>,
    constant: Vec<bool>,
    slopes: Vec<f64>,
}

impl Moments {
    pub(super) fn new(columns: usize) -> Self {
        let size = columns + 2;
        Self { columns, sums: vec![0.0; size * (size + 1) / 2] }
    }

    /// Sum of the weights.
    pub(super) fn weight(&self) -> f64 {
        self.at(0, 0)
    }

    /// Weighted squared deviations of one column from its mean.
    pub(super) fn spread_of(&self, column: usize) -> f64 {
        let i = column + 1;
        (self.at(i, i) - self.at(i, 0) * self.at(i, 0) / self.at(0, 0)).max(0.0)
    }

    pub(super) fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// Adds one row; `x` may be longer than the columns that take part.
    pub(super) fn add(&mut self, x: &[f64], y: f64, weight: f64, workspace: &mut Workspace) {
        let row = &mut workspace.row;
        row.clear();
        row.push(1.0);
        row.extend_from_slice(&x[..self.columns]);
        row.push(y);
        let mut place = 0;
        for (i, &value) in row.iter().enumerate() {
            let weighted = weight * value;
            let sums = &mut self.sums[place..=place + i];
            sums.iter_mut().zip(row.iter()).for_each(|(sum, other)| *sum += weighted * other);
            place += i + 1;
        }
    }

    /// Makes this the sums of `all` without `part`.
    pub(super) fn set_difference(&mut self, all: &Self, part: &Self) {
        for (sum, (all, part)) in self.sums.iter_mut().zip(all.sums.iter().zip(&part.sums)) {
            *sum = all - part;
        }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.sums[i * (i + 1) / 2 + j]
    }

    /// The weighted squared error of the best linear function.
    ///
    /// Thousands of thresholds ask for it and none for the function itself: with the targets as one more
    /// column, the error is what Cholesky's method leaves on their place of the diagonal.
    pub(super) fn squared_error(&self, workspace: &mut Workspace) -> f64 {
        let (d, weight) = (self.columns, self.at(0, 0));
        if weight <= 0.0 {
            return 0.0;
        }
        let Workspace { matrix, right: inverse, .. } = workspace;
        matrix.clear();
        inverse.clear();
        for i in 1..=d + 1 {
            let (row, mean) = (i * (i + 1) / 2, self.at(i, 0) / weight);
            let (start, own) = (matrix.len(), &self.sums[row..=row + i]);
            matrix.extend((1..=i).map(|j| own[j] - mean * self.at(j, 0)));
            let (done, row) = matrix.split_at_mut(start);
            let variance = row[i - 1];
            let is_fixed = i <= d && variance <= CONSTANT * own[i];
            for j in 0..i - 1 {
                let before = j * (j + 1) / 2;
                let dot = dot(&row[..j], &done[before..before + j]);
                row[j] = (row[j] - dot) * inverse[j];
            }
            let ridge = if i <= d { RIDGE * variance } else { 0.0 };
            let rest = variance + ridge - dot(&row[..i - 1], &row[..i - 1]);
            // A constant column, or one that those before it decide, has nothing to explain.
            let counts = !is_fixed && rest > 0.1 * RIDGE * variance;
            inverse.push(if counts { 1.0 / rest.sqrt() } else { 0.0 });
            if i > d {
                return rest.max(0.0);
            }
        }
        0.0
    }

    /// The best linear function.
    pub(super) fn fit(&self, workspace: &mut Workspace) -> Fitted {
        let (intercept, squared_error) = self.solve(workspace);
        Fitted { intercept, slopes: workspace.slopes.clone(), squared_error }
    }

    /// Leaves the slopes in the workspace; returns the intercept and the squared error.
    fn solve(&self, workspace: &mut Workspace) -> (f64, f64) {
        let (d, y) = (self.columns, self.columns + 1);
        let weight = self.at(0, 0);
        workspace.slopes.clear();
        workspace.slopes.resize(d, 0.0);
        if weight <= 0.0 {
            return (0.0, 0.0);
        }
        let mean = |i: usize| self.at(i, 0) / weight;
        let spread = |i: usize, j: usize| self.at(i, j) - self.at(i, 0) * mean(j);
        let total = spread(y, y).max(0.0);
        if d == 0 {
            return (mean(y), total);
        }
        let Workspace { matrix, right, constant, .. } = workspace;
        matrix.clear();
        right.clear();
        constant.clear();
        for i in 0..d {
            let variance = spread(i + 1, i + 1);
            let fixed = variance <= CONSTANT * self.at(i + 1, i + 1);
            constant.push(fixed);
            // A constant column stands apart with nothing to explain: its slope comes out as 0.
            matrix.extend(
                (0..i).map(|j| if fixed || constant[j] { 0.0 } else { spread(i + 1, j + 1) }),
            );
            matrix.push(if fixed { 1.0 } else { variance * (1.0 + RIDGE) });
            right.push(if fixed { 0.0 } else { spread(y, i + 1) });
        }
        let moments: Vec<f64> = right.clone();
        solve_in_place(matrix, right);
        workspace.slopes.copy_from_slice(right);
        let slopes = &workspace.slopes;
        let explained: f64 =
            slopes.iter().zip(&moments).map(|(slope, moment)| slope * moment).sum();
        // |y - Xb|² = |y|² - b·m - bᵀRb, as the ridge R is no part of the error.
        let ridge: f64 =
            (0..d).map(|i| slopes[i] * slopes[i] * spread(i + 1, i + 1)).sum::<f64>() * RIDGE;
        let shift: f64 = (0..d).map(|i| slopes[i] * mean(i + 1)).sum();
        (mean(y) - shift, (total - explained - ridge).max(0.0))
    }
}

/// Solves a symmetric system by Cholesky; `matrix` is a packed lower triangle, row after row. A
/// pivot lost to rounding takes its variable out.
fn solve_in_place(matrix: &mut [f64], right: &mut [f64]) {
    let n = right.len();
    let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| matrix[at(i, k)] * matrix[at(j, k)]).sum();
            let rest = matrix[at(i, j)] - dot;
            matrix[at(i, j)] = if i == j {
                if rest > 0.1 * RIDGE * matrix[at(i, i)] { rest.sqrt() } else { f64::INFINITY }
            } else {
                rest / matrix[at(j, j)]
            };
        }
    }
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| matrix[at(i, k)] * right[k]).sum();
        right[i] = (right[i] - dot) / matrix[at(i, i)];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| matrix[at(k, i)] * right[k]).sum();
        right[i] = (right[i] - dot) / matrix[at(i, i)];
    }
}

/// A sum of products in four lanes, so that none waits for the one before.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for lane in 0..4 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ridge::RidgeParams;
    use ndarray::{Array1, Array2};
    use proptest::prelude::*;

    proptest! {
        /// Sums with some rows taken away give the least squares of the others.
        #[test]
        fn differences_fit_what_is_left(
            cells in prop::collection::vec(-2.0f64..2.0, 90),
            targets in prop::collection::vec(-2.0f64..2.0, 30),
        ) {
            let mut workspace = Workspace::default();
            let (mut all, mut part, mut rest) = (Moments::new(3), Moments::new(3), Moments::new(3));
            for row in 0..30 {
                let x = &cells[3 * row..3 * row + 3];
                all.add(x, targets[row], 1.0, &mut workspace);
                if row < 12 {
                    part.add(x, targets[row], 1.0, &mut workspace);
                }
            }
            rest.set_difference(&all, &part);
            let ours = rest.fit(&mut workspace);
            let x = Array2::from_shape_vec((18, 3), cells[36..].to_vec()).unwrap();
            let y = Array1::from(targets[12..].to_vec());
            let theirs = RidgeParams::new(1e-9).fit(x.view(), y.view()).unwrap();
            let residual = &y - &theirs.predict(x.view()).unwrap();
            prop_assert!((ours.squared_error - residual.dot(&residual)).abs() < 1e-6);
            prop_assert!((ours.intercept - theirs.intercept()).abs() < 1e-5);
            let error = rest.squared_error(&mut workspace);
            prop_assert!((error - ours.squared_error).abs() < 1e-6, "{error}");
        }
    }

    #[test]
    fn constant_and_repeated_columns_are_harmless() {
        let mut workspace = Workspace::default();
        let mut moments = Moments::new(3);
        for i in 0..10 {
            let v = f64::from(i);
            moments.add(&[v, 7.0, v], 3.0 * v + 1.0, 1.0, &mut workspace);
        }
        let fitted = moments.fit(&mut workspace);
        assert!(fitted.squared_error < 1e-5);
        assert!(moments.squared_error(&mut workspace) < 1e-5);
        assert_eq!(fitted.slopes[1], 0.0);
        assert!((fitted.slopes[0] + fitted.slopes[2] - 3.0).abs() < 1e-6);
    }
}
