//! Weighted sums of products over a set of rows, and the least-squares fit that they determine.
//!
//! Sums over a part of the rows can be subtracted from the sums over all rows. So a threshold is
//! tried without another pass over the data. Growing a tree solves thousands of systems as small as
//! the number of columns. The Cholesky solver here works in place in one buffer, because the set-up
//! of a library's solver would cost more than the solve.

/// What is added to the diagonal so that dependent columns can be solved for, as a fraction of each
/// column's variance.
const RIDGE: f64 = 1e-10;
/// A column counts as constant if its variance is below this fraction of its mean square.
const CONSTANT: f64 = 1e-13;

/// The sum of `w · r · rᵀ` over all rows, where `r` is `[1, x_1 .. x_d, y]` and `w` the row's
/// weight.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    /// Number of columns `d`; 0 for constant leaves.
    columns: usize,
    /// The lower triangle, row after row.
    sums: Vec<f64>,
}

/// A fitted linear function and its weighted squared error.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) intercept: f64,
    pub(super) slopes: Vec<f64>,
    pub(super) squared_error: f64,
}

/// Buffers for one solve, reused by the next.
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

    /// Sum of the rows' weights.
    pub(super) fn weight(&self) -> f64 {
        self.at(0, 0)
    }

    /// Weighted sum of one column's squared deviations from its mean.
    pub(super) fn spread_of(&self, column: usize) -> f64 {
        let i = column + 1;
        (self.at(i, i) - self.at(i, 0) * self.at(i, 0) / self.at(0, 0)).max(0.0)
    }

    pub(super) fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// Adds one row. Cells of `x` beyond the number of columns are ignored.
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

    /// Sets this to the sums over the rows that are in `all` but not in `part`.
    pub(super) fn set_difference(&mut self, all: &Self, part: &Self) {
        for (sum, (all, part)) in self.sums.iter_mut().zip(all.sums.iter().zip(&part.sums)) {
            *sum = all - part;
        }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.sums[i * (i + 1) / 2 + j]
    }

    /// The weighted squared error of the best linear function, without the function itself.
    ///
    /// This is asked for at every threshold that is tried. The targets are eliminated as one more
    /// column: what Cholesky's method leaves on their diagonal element is the squared error.
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
            let (start, sums) = (matrix.len(), &self.sums[row..=row + i]);
            matrix.extend((1..=i).map(|j| sums[j] - mean * self.at(j, 0)));
            let (done, row) = matrix.split_at_mut(start);
            let variance = row[i - 1];
            let is_fixed = i <= d && variance <= CONSTANT * sums[i];
            for j in 0..i - 1 {
                let before = j * (j + 1) / 2;
                let dot = dot(&row[..j], &done[before..before + j]);
                row[j] = (row[j] - dot) * inverse[j];
            }
            let ridge = if i <= d { RIDGE * variance } else { 0.0 };
            let rest = variance + ridge - dot(&row[..i - 1], &row[..i - 1]);
            // A constant column explains nothing, nor does one that depends on earlier columns.
            let counts = !is_fixed && rest > 0.1 * RIDGE * variance;
            inverse.push(if counts { 1.0 / rest.sqrt() } else { 0.0 });
            if i > d {
                return rest.max(0.0);
            }
        }
        0.0
    }

    /// The linear function with the least weighted squared error.
    pub(super) fn fit(&self, workspace: &mut Workspace) -> Fitted {
        let (intercept, squared_error) = self.solve(workspace);
        Fitted { intercept, slopes: workspace.slopes.clone(), squared_error }
    }

    /// Writes the slopes to the workspace. Returns the intercept and the weighted squared error.
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
            // A constant column gets an equation of its own, whose solution is the slope 0.
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
        // |y - Xb|² = |y|² - b·m - bᵀRb: the ridge R is not part of the error.
        let ridge: f64 =
            (0..d).map(|i| slopes[i] * slopes[i] * spread(i + 1, i + 1)).sum::<f64>() * RIDGE;
        let shift: f64 = (0..d).map(|i| slopes[i] * mean(i + 1)).sum();
        (mean(y) - shift, (total - explained - ridge).max(0.0))
    }
}

/// Solves a symmetric system by Cholesky's method and leaves the solution in `right`. `matrix` is
/// its lower triangle, row after row. A variable whose pivot rounding has consumed becomes 0.
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

/// A dot product in four partial sums, so that an addition need not wait for the one before it.
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
        /// Sums over all rows less those over some rows give the least squares of the other rows.
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
