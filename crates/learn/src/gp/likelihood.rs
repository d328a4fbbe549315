//! The log marginal likelihood of the targets, and its gradient.
//!
//! The squared distances of all pairs of rows stand in a packed lower triangle, column after column
//! without the diagonal. All passes over pairs are loops over such columns.

use super::PriorMean;
use super::kernel::{self, Constants, FIXED, Hyperparameters};
use super::optimise::Objective;
use crate::vmath::vectorised;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, inverse};
use faer::linalg::triangular_solve;
use faer::{Mat, Par};
use ndarray::ArrayView2;

/// Number of partial sums, which the compiler keeps in vector registers.
const LANES: usize = 8;

/// A process conditioned on the observations at one set of parameters.
pub(super) struct Solved {
    /// Cholesky factor `L` of the covariance. The cells above the diagonal have no meaning.
    pub(super) factor: Mat<f64>,
    /// `K⁻¹ (y - mean)`.
    pub(super) weights: Vec<f64>,
    /// The constant mean: as given, or the best one.
    pub(super) mean: f64,
    /// Natural logarithm of the marginal likelihood.
    pub(super) likelihood: f64,
}

/// The observations, the distances of their pairs, and buffers for repeated evaluation.
pub(super) struct Likelihood<'a> {
    rows: usize,
    columns: usize,
    cells: Vec<f64>,
    targets: &'a [f64],
    mean: PriorMean,
    /// Squared distances with all length scales 1. Kept only for a single length scale.
    plain: Vec<f64>,
    /// Squared distances in units of the length scales.
    squared: Vec<f64>,
    /// RBF part of each pair's covariance.
    rbf: Vec<f64>,
    /// Rational quadratic part of each pair's covariance.
    rq: Vec<f64>,
    /// `ln(1 + spread · r²)` of each pair.
    log_base: Vec<f64>,
    /// Buffer of [`pair_sums`].
    pull: Vec<f64>,
    /// The parameters last solved for.
    at: Hyperparameters,
    solved: Option<Solved>,
    /// Memory of the last factor, reused: a new matrix would cost a page fault for every 4 KiB.
    spare: Mat<f64>,
    /// `K⁻¹` in the lower triangle, for the gradient.
    precision: Mat<f64>,
    scratch: MemBuffer,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(x: ArrayView2<'_, f64>, targets: &'a [f64], mean: PriorMean) -> Self {
        let (rows, columns) = x.dim();
        let pairs = rows * (rows - 1) / 2;
        let scratch = factor::cholesky_in_place_scratch::<f64>(rows, Par::Seq, Default::default())
            .or(inverse::inverse_scratch::<f64>(rows, Par::Seq));
        Self {
            rows,
            columns,
            cells: x.iter().copied().collect(),
            targets,
            mean,
            plain: Vec::new(),
            squared: vec![0.0; pairs],
            rbf: vec![0.0; pairs],
            rq: vec![0.0; pairs],
            log_base: vec![0.0; pairs],
            pull: vec![0.0; rows],
            at: Hyperparameters::from_logs(&[0.0; FIXED + 1], 1.0, 0.0),
            solved: None,
            spare: Mat::new(),
            precision: Mat::new(),
            scratch: MemBuffer::new(scratch),
        }
    }

    /// Conditions the process at `hyper`, with `jitter` added to the covariance's diagonal. `None`
    /// if the covariance is not positive definite.
    pub(super) fn solve(&mut self, hyper: &Hyperparameters, jitter: f64) -> Option<()> {
        self.at.clone_from(hyper);
        if let Some(last) = self.solved.take() {
            self.spare = last.factor;
        }
        self.update_distances();
        let (squared, rbf) = (&self.squared, &mut self.rbf);
        kernel::parts(squared, &hyper.constants(), rbf, &mut self.rq, &mut self.log_base);
        let n = self.rows;
        let mut matrix = std::mem::replace(&mut self.spare, Mat::new());
        if matrix.nrows() != n {
            matrix = Mat::zeros(n, n);
        }
        let diagonal = hyper.signal_variance() + hyper.noise_variance + jitter;
        let mut start = 0;
        for column in 0..n {
            let below = &mut matrix.col_as_slice_mut(column)[column..];
            let end = start + below.len() - 1;
            below[0] = diagonal;
            let parts = self.rbf[start..end].iter().zip(&self.rq[start..end]);
            below[1..].iter_mut().zip(parts).for_each(|(cell, (rbf, rq))| *cell = rbf + rq);
            start = end;
        }
        if cholesky(&mut matrix, MemStack::new(&mut self.scratch)).is_none() {
            self.spare = matrix;
            return None;
        }
        self.solved = Some(weigh(matrix, self.targets, self.mean)?);
        Some(())
    }

    /// The result of the last successful [`Self::solve`].
    pub(super) fn take_solved(&mut self) -> Option<Solved> {
        self.solved.take()
    }

    /// Computes the squared distances in units of the current length scales.
    fn update_distances(&mut self) {
        let (rows, columns) = (self.rows, self.columns);
        let single = self.at.length_scales.len() == 1;
        if single && !self.plain.is_empty() {
            let scale = 1.0 / (self.at.length_scales[0] * self.at.length_scales[0]);
            self.squared.iter_mut().zip(&self.plain).for_each(|(to, from)| *to = from * scale);
            return;
        }
        let scaled: Vec<f64> = if single {
            self.cells.clone()
        } else {
            let scales = &self.at.length_scales;
            self.cells.iter().enumerate().map(|(i, cell)| cell / scales[i % columns]).collect()
        };
        pairwise(&scaled, rows, columns, &mut self.squared);
        if single {
            self.plain.clone_from(&self.squared);
            self.update_distances();
        }
    }

    /// The gradient of the likelihood with respect to the logarithms of the parameters, at the
    /// parameters last solved for.
    pub(super) fn gradient(&mut self, into: &mut [f64]) {
        into.fill(0.0);
        let Some(solved) = &self.solved else { return };
        invert(&solved.factor, &mut self.precision, MemStack::new(&mut self.scratch));
        let precision = &self.precision;
        let trace: f64 =
            (0..self.rows).map(|i| solved.weights[i] * solved.weights[i] - precision[(i, i)]).sum();
        let hyper = &self.at;
        into[0] = 0.5 * trace * hyper.rbf_variance;
        into[1] = 0.5 * trace * hyper.rq_variance;
        into[4] = 0.5 * trace * hyper.noise_variance;
        let constants = hyper.constants();
        let single = hyper.length_scales.len() == 1;
        let scaled: Vec<f64> = if single {
            Vec::new()
        } else {
            let cells = self.cells.iter().enumerate();
            cells.map(|(i, cell)| cell / hyper.length_scales[i % self.columns]).collect()
        };
        let mut start = 0;
        for column in 0..self.rows {
            let end = start + self.rows - column - 1;
            let pairs = Pairs {
                squared: &self.squared[start..end],
                rbf: &self.rbf[start..end],
                rq: &self.rq[start..end],
                log_base: &self.log_base[start..end],
                precision: &precision.col_as_slice(column)[column + 1..],
                weights: &solved.weights[column + 1..],
                weight: solved.weights[column],
            };
            let pull = &mut self.pull[..end - start];
            let sums = pair_sums(&pairs, &constants, pull);
            for (total, sum) in into[..4].iter_mut().zip(sums) {
                *total += sum;
            }
            if single {
                into[FIXED] += sums[4];
            } else {
                pull_lengths(&scaled, self.columns, column, pull, &mut into[FIXED..]);
            }
            start = end;
        }
    }
}

/// What the search minimises: the negative likelihood as a function of the logarithms.
impl Objective for Likelihood<'_> {
    fn value(&mut self, at: &[f64]) -> f64 {
        let hyper = Hyperparameters::from_logs(at, 1.0, 0.0);
        if self.solve(&hyper, 0.0).is_none() {
            return f64::INFINITY;
        }
        self.solved.as_ref().map_or(f64::INFINITY, |solved| -solved.likelihood)
    }

    fn gradient(&mut self, into: &mut [f64]) {
        Likelihood::gradient(self, into);
        into.iter_mut().for_each(|slope| *slope = -*slope);
    }
}

/// What the gradient needs of one column of the triangle: the pairs of one row with all later rows.
struct Pairs<'a> {
    squared: &'a [f64],
    rbf: &'a [f64],
    rq: &'a [f64],
    log_base: &'a [f64],
    /// `K⁻¹` of the pairs.
    precision: &'a [f64],
    /// Weights of the later rows.
    weights: &'a [f64],
    /// Weight of the row itself.
    weight: f64,
}

/// Copies of `LANES` pairs, which are computed side by side.
struct Block {
    squared: [f64; LANES],
    rbf: [f64; LANES],
    rq: [f64; LANES],
    log_base: [f64; LANES],
    precision: [f64; LANES],
    weights: [f64; LANES],
}

impl Pairs<'_> {
    /// The pairs from number `start`. Behind the last pair follow pairs of zeros, which add
    /// nothing.
    #[inline(always)]
    fn block(&self, start: usize) -> Block {
        Block {
            squared: lanes(self.squared, start),
            rbf: lanes(self.rbf, start),
            rq: lanes(self.rq, start),
            log_base: lanes(self.log_base, start),
            precision: lanes(self.precision, start),
            weights: lanes(self.weights, start),
        }
    }
}

/// `LANES` values from number `start`, with zeros behind the last one.
#[inline(always)]
fn lanes(values: &[f64], start: usize) -> [f64; LANES] {
    match values[start..].first_chunk::<LANES>() {
        Some(whole) => *whole,
        None => {
            let mut padded = [0.0; LANES];
            padded.iter_mut().zip(&values[start..]).for_each(|(to, from)| *to = *from);
            padded
        }
    }
}

vectorised! {
    /// Five sums of `w · dK` over the pairs: by the logarithms of both variances, alpha, the ratio,
    /// and the length scale if there is only one. Here `w = (K⁻¹y)(K⁻¹y)ᵀ - K⁻¹`.
    ///
    /// It also writes to `pull`, for each pair, the factor of `(difference_d / length_d)²` in the
    /// derivative by any `ln length_d`. With `u = r² / (2·alpha·ratio²)`:
    ///
    /// ```text
    /// dK/dln alpha = rq · alpha · (u/(1+u) - ln(1+u))
    /// dK/dln ratio = rq · 2 · alpha · u/(1+u)
    /// dK/dln length_d = (rbf + rq / ((1+u) · ratio²)) · (difference_d / length_d)²
    /// ```
    fn pair_sums<'a>(pairs: &'a Pairs<'a>, k: &'a Constants, pull: &'a mut [f64]) -> [f64; 5] {
        let mut totals = [[0.0f64; LANES]; 5];
        for (number, pull) in pull.chunks_mut(LANES).enumerate() {
            let block = pairs.block(number * LANES);
            let mut pulls = [0.0; LANES];
            for lane in 0..LANES {
                let w = pairs.weight * block.weights[lane] - block.precision[lane];
                let u = k.spread * block.squared[lane];
                let left = 1.0 / (1.0 + u);
                let share = u * left;
                let (w_rbf, w_rq) = (w * block.rbf[lane], w * block.rq[lane]);
                pulls[lane] = w_rbf + w_rq * left * k.per_ratio;
                totals[0][lane] += w_rbf;
                totals[1][lane] += w_rq;
                totals[2][lane] += w_rq * k.alpha * (share - block.log_base[lane]);
                totals[3][lane] += w_rq * 2.0 * k.alpha * share;
                totals[4][lane] += pulls[lane] * block.squared[lane];
            }
            pull.copy_from_slice(&pulls[..pull.len()]);
        }
        totals.map(|lanes| lanes.iter().sum())
    }

    /// Adds to each length scale's derivative what the pairs of row `column` with all later rows
    /// contribute.
    fn pull_lengths<'a>(
        scaled: &'a [f64],
        columns: usize,
        column: usize,
        pull: &'a [f64],
        lengths: &'a mut [f64],
    ) {
        let (head, tail) = scaled.split_at((column + 1) * columns);
        let first = &head[column * columns..];
        for (row, &pull) in tail.chunks_exact(columns).zip(pull) {
            for ((length, a), b) in lengths.iter_mut().zip(row).zip(first) {
                *length += pull * (a - b) * (a - b);
            }
        }
    }

    /// The squared distances of all pairs of rows, as a packed triangle.
    fn pairwise<'a>(scaled: &'a [f64], rows: usize, columns: usize, out: &'a mut [f64]) {
        let mut place = 0;
        for first in 0..rows {
            let a = &scaled[first * columns..(first + 1) * columns];
            for second in first + 1..rows {
                let b = &scaled[second * columns..(second + 1) * columns];
                let mut lanes = [0.0f64; LANES];
                let (blocks_a, blocks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
                let (rest_a, rest_b) = (blocks_a.remainder(), blocks_b.remainder());
                for (block_a, block_b) in blocks_a.zip(blocks_b) {
                    for lane in 0..LANES {
                        let gap = block_a[lane] - block_b[lane];
                        lanes[lane] += gap * gap;
                    }
                }
                let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| (a - b) * (a - b)).sum();
                out[place] = lanes.iter().sum::<f64>() + rest;
                place += 1;
            }
        }
    }
}

/// Replaces a matrix by its Cholesky factor. `None` if it is not positive definite.
fn cholesky(matrix: &mut Mat<f64>, stack: &mut MemStack) -> Option<()> {
    let n = matrix.nrows();
    let (regular, spec) = (Default::default(), Default::default());
    factor::cholesky_in_place(matrix.as_mut(), regular, Par::Seq, stack, spec).ok()?;
    // A factor with a pivot that is 0 or not finite cannot be solved with.
    (0..n).all(|i| matrix[(i, i)].is_finite() && matrix[(i, i)] > 0.0).then_some(())
}

/// Writes `K⁻¹` to the lower triangle of `out`.
fn invert(factor: &Mat<f64>, out: &mut Mat<f64>, stack: &mut MemStack) {
    let n = factor.nrows();
    if out.nrows() != n {
        *out = Mat::zeros(n, n);
    }
    inverse::inverse(out.as_mut(), factor.as_ref(), Par::Seq, stack);
}

/// `K⁻¹` in the lower triangle of a new matrix.
pub(super) fn inverse_of(factor: &Mat<f64>) -> Mat<f64> {
    let mut out = Mat::new();
    let scratch = inverse::inverse_scratch::<f64>(factor.nrows(), Par::Seq);
    invert(factor, &mut out, MemStack::new(&mut MemBuffer::new(scratch)));
    out
}

/// Solves for the mean and the weights. `None` if the likelihood is not finite.
fn weigh(factor: Mat<f64>, targets: &[f64], mean: PriorMean) -> Option<Solved> {
    let n = factor.nrows();
    // Columns: L⁻¹ y and L⁻¹ 1.
    let mut sides = Mat::from_fn(n, 2, |i, j| if j == 0 { targets[i] } else { 1.0 });
    triangular_solve::solve_lower_triangular_in_place(factor.as_ref(), sides.as_mut(), Par::Seq);
    let (y, ones) = (sides.col_as_slice(0), sides.col_as_slice(1));
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mean = match mean {
        PriorMean::Fixed(value) => value,
        PriorMean::Trained => dot(ones, y) / dot(ones, ones),
    };
    let rest: Vec<f64> = y.iter().zip(ones).map(|(y, one)| y - mean * one).collect();
    let half_log_determinant: f64 = (0..n).map(|i| factor[(i, i)].ln()).sum();
    let constant = 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln();
    let likelihood = -0.5 * dot(&rest, &rest) - half_log_determinant - constant;
    let mut weights = Mat::from_fn(n, 1, |i, _| rest[i]);
    let upper = factor.as_ref().transpose();
    triangular_solve::solve_upper_triangular_in_place(upper, weights.as_mut(), Par::Seq);
    let weights = weights.col_as_slice(0).to_vec();
    likelihood.is_finite().then_some(Solved { factor, weights, mean, likelihood })
}
