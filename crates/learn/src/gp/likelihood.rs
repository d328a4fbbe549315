//! The log marginal likelihood of the targets and its gradient.
//!
//! For each pair of rows the squared distance stands once in a packed lower triangle (column after
//! column, without the diagonal), and all passes over pairs are straight loops over such columns.

use super::Mean;
use super::kernel::{FIXED, Hyperparameters};
use super::optimise::Objective;
use crate::vmath;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, inverse};
use faer::linalg::triangular_solve;
use faer::{Mat, Par};
use ndarray::ArrayView2;
use pulp::Arch;

/// Partial sums that the compiler keeps in vector registers.
const LANES: usize = 8;

/// Solved state of one covariance matrix.
pub(super) struct Solved {
    /// Lower Cholesky factor; above its diagonal stands rubbish.
    pub(super) factor: Mat<f64>,
    /// `K⁻¹ (y - mean)`.
    pub(super) weights: Vec<f64>,
    pub(super) mean: f64,
    pub(super) likelihood: f64,
}

/// Rows of the data, packed distances and buffers for repeated evaluation.
pub(super) struct Likelihood<'a> {
    rows: usize,
    columns: usize,
    cells: Vec<f64>,
    targets: &'a [f64],
    mean: Mean,
    arch: Arch,
    /// Squared distances with all lengths 1; only kept for a single length scale.
    plain: Vec<f64>,
    /// Squared distances in units of the length scales.
    squared: Vec<f64>,
    rbf: Vec<f64>,
    rq: Vec<f64>,
    log_base: Vec<f64>,
    at: Hyperparameters,
    solved: Option<Solved>,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(x: ArrayView2<'_, f64>, targets: &'a [f64], mean: Mean) -> Self {
        let (rows, columns) = x.dim();
        let pairs = rows * (rows - 1) / 2;
        Self {
            rows,
            columns,
            cells: x.iter().copied().collect(),
            targets,
            mean,
            arch: Arch::new(),
            plain: Vec::new(),
            squared: vec![0.0; pairs],
            rbf: vec![0.0; pairs],
            rq: vec![0.0; pairs],
            log_base: vec![0.0; pairs],
            at: Hyperparameters::from_logs(&[0.0; FIXED + 1], 1.0, 0.0),
            solved: None,
        }
    }

    /// Factors the covariance at `hyper` with `jitter` on its diagonal; `None` if it is not
    /// positive definite.
    pub(super) fn solve(&mut self, hyper: &Hyperparameters, jitter: f64) -> Option<()> {
        self.at.clone_from(hyper);
        self.solved = None;
        self.measure_distances();
        self.evaluate_kernel();
        let n = self.rows;
        let mut matrix = Mat::<f64>::zeros(n, n);
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
        cholesky(&mut matrix)?;
        self.solved = Some(weigh(matrix, self.targets, self.mean)?);
        Some(())
    }

    pub(super) fn take_solved(&mut self) -> Option<Solved> {
        self.solved.take()
    }

    fn measure_distances(&mut self) {
        let (rows, columns, arch) = (self.rows, self.columns, self.arch);
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
        let squared = &mut self.squared;
        arch.dispatch(
            #[inline(always)]
            || pairwise(&scaled, rows, columns, squared),
        );
        if single {
            self.plain.clone_from(&self.squared);
            self.measure_distances();
        }
    }

    fn evaluate_kernel(&mut self) {
        let hyper = &self.at;
        let (rbf_variance, rq_variance, alpha) =
            (hyper.rbf_variance, hyper.rq_variance, hyper.rq_alpha);
        let spread = 1.0 / (2.0 * alpha * hyper.rq_ratio * hyper.rq_ratio);
        let (squared, rbf) = (&self.squared, &mut self.rbf);
        let (rq, log_base) = (&mut self.rq, &mut self.log_base);
        self.arch.dispatch(
            #[inline(always)]
            || {
                let outs = rbf.iter_mut().zip(rq.iter_mut()).zip(log_base.iter_mut());
                for (&r2, ((rbf, rq), log_base)) in squared.iter().zip(outs) {
                    let log = vmath::ln(1.0 + spread * r2);
                    *rbf = rbf_variance * vmath::exp(-0.5 * r2);
                    *rq = rq_variance * vmath::exp(-alpha * log);
                    *log_base = log;
                }
            },
        );
    }

    /// The gradient of the likelihood by the logarithms of the parameters, at the point last
    /// solved.
    pub(super) fn gradient(&self, into: &mut [f64]) {
        into.fill(0.0);
        let Some(solved) = &self.solved else { return };
        let precision = inverse_of(&solved.factor);
        let trace: f64 =
            (0..self.rows).map(|i| solved.weights[i] * solved.weights[i] - precision[(i, i)]).sum();
        let hyper = &self.at;
        into[0] = 0.5 * trace * hyper.rbf_variance;
        into[1] = 0.5 * trace * hyper.rq_variance;
        into[4] = 0.5 * trace * hyper.noise_variance;
        let single = hyper.length_scales.len() == 1;
        let scaled: Vec<f64> = if single {
            Vec::new()
        } else {
            let cells = self.cells.iter().enumerate();
            cells.map(|(i, cell)| cell / hyper.length_scales[i % self.columns]).collect()
        };
        let mut pull = vec![0.0; self.rows];
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
            let pull = &mut pull[..end - start];
            let sums = self.arch.dispatch(
                #[inline(always)]
                || pairs.sums(hyper, pull),
            );
            for (total, sum) in into[..4].iter_mut().zip(sums) {
                *total += sum;
            }
            if single {
                into[FIXED] += sums[4];
            } else {
                let lengths = &mut into[FIXED..];
                let columns = self.columns;
                self.arch.dispatch(
                    #[inline(always)]
                    || pull_lengths(&scaled, columns, column, pull, lengths),
                );
            }
            start = end;
        }
    }
}

/// Minimised by the search: the negative likelihood over logarithms of the parameters.
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

/// One column of pairs, and what the gradient needs of it.
struct Pairs<'a> {
    squared: &'a [f64],
    rbf: &'a [f64],
    rq: &'a [f64],
    log_base: &'a [f64],
    precision: &'a [f64],
    weights: &'a [f64],
    weight: f64,
}

impl Pairs<'_> {
    /// Sums of `w dK` by the logarithms of both variances, alpha, the ratio and a single length,
    /// where `w = (K⁻¹y)(K⁻¹y)ᵀ - K⁻¹`. Leaves in `pull` what each length's own squared difference
    /// is multiplied by. With `u = r² / (2·alpha·ratio²)`:
    ///
    /// ```text
    /// dK/dln alpha = rq · alpha · (u/(1+u) - ln(1+u))
    /// dK/dln ratio = rq · 2 · alpha · u/(1+u)
    /// dK/dln length_d = (rbf + rq / ((1+u) · ratio²)) · (difference_d / length_d)²
    /// ```
    #[inline(always)]
    fn sums(&self, hyper: &Hyperparameters, pull: &mut [f64]) -> [f64; 5] {
        let n = pull.len();
        let alpha = hyper.rq_alpha;
        let per_ratio = 1.0 / (hyper.rq_ratio * hyper.rq_ratio);
        let spread = per_ratio / (2.0 * alpha);
        let (squared, rbf, rq) = (&self.squared[..n], &self.rbf[..n], &self.rq[..n]);
        let (log_base, precision) = (&self.log_base[..n], &self.precision[..n]);
        let weights = &self.weights[..n];
        let mut totals = [[0.0f64; LANES]; 5];
        for start in (0..n).step_by(LANES) {
            let end = (start + LANES).min(n);
            for i in start..end {
                let lane = i - start;
                let w = self.weight * weights[i] - precision[i];
                let u = spread * squared[i];
                let left = 1.0 / (1.0 + u);
                let share = u * left;
                let (w_rbf, w_rq) = (w * rbf[i], w * rq[i]);
                pull[i] = w_rbf + w_rq * left * per_ratio;
                totals[0][lane] += w_rbf;
                totals[1][lane] += w_rq;
                totals[2][lane] += w_rq * alpha * (share - log_base[i]);
                totals[3][lane] += w_rq * 2.0 * alpha * share;
                totals[4][lane] += pull[i] * squared[i];
            }
        }
        totals.map(|lanes| lanes.iter().sum())
    }
}

/// Adds each pair's pull on each length: rows after `column` against row `column`.
#[inline(always)]
fn pull_lengths(scaled: &[f64], columns: usize, column: usize, pull: &[f64], lengths: &mut [f64]) {
    let (head, tail) = scaled.split_at((column + 1) * columns);
    let own = &head[column * columns..];
    for (row, &pull) in tail.chunks_exact(columns).zip(pull) {
        for ((length, a), b) in lengths.iter_mut().zip(row).zip(own) {
            *length += pull * (a - b) * (a - b);
        }
    }
}

/// Squared distances of all pairs, packed.
#[inline(always)]
fn pairwise(scaled: &[f64], rows: usize, columns: usize, out: &mut [f64]) {
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

fn cholesky(matrix: &mut Mat<f64>) -> Option<()> {
    let n = matrix.nrows();
    let scratch = factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
    let mut buffer = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut buffer);
    let (regular, spec) = (Default::default(), Default::default());
    factor::cholesky_in_place(matrix.as_mut(), regular, Par::Seq, stack, spec).ok()?;
    // A pivot that rounding alone kept above 0 says nothing about the data.
    (0..n).all(|i| matrix[(i, i)].is_finite() && matrix[(i, i)] > 0.0).then_some(())
}

/// `K⁻¹` in the lower triangle.
pub(super) fn inverse_of(factor: &Mat<f64>) -> Mat<f64> {
    let n = factor.nrows();
    let mut out = Mat::zeros(n, n);
    let mut buffer = MemBuffer::new(inverse::inverse_scratch::<f64>(n, Par::Seq));
    inverse::inverse(out.as_mut(), factor.as_ref(), Par::Seq, MemStack::new(&mut buffer));
    out
}

/// Solves for the mean and the weights; `None` if rounding has eaten the answer.
fn weigh(factor: Mat<f64>, targets: &[f64], mean: Mean) -> Option<Solved> {
    let n = factor.nrows();
    // Columns: L⁻¹ y and L⁻¹ 1.
    let mut sides = Mat::from_fn(n, 2, |i, j| if j == 0 { targets[i] } else { 1.0 });
    triangular_solve::solve_lower_triangular_in_place(factor.as_ref(), sides.as_mut(), Par::Seq);
    let (y, ones) = (sides.col_as_slice(0), sides.col_as_slice(1));
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mean = match mean {
        Mean::Fixed(value) => value,
        Mean::Trained => dot(ones, y) / dot(ones, ones),
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
