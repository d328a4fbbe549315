//! The fitted Gaussian process: prediction, one more observation, leave one out.

use super::likelihood::inverse_of;
use super::{GpError, Hyperparameters};
use crate::errors::{check_columns, check_row};
use crate::{DataError, ModelError, Version};
use faer::linalg::triangular_solve;
use faer::{Accum, Mat, MatRef, Par};
use ndarray::{Array1, ArrayView1, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Number of rows that one thread predicts together. Their covariances with some hundred
/// observations stay in the second-level cache.
const BATCH: usize = 128;

/// A Gaussian process conditioned on observations.
///
/// Stored are the observations and the parameters. Reading a model factors the covariance again,
/// which costs O(n³). So a model that has grown by [`Self::add`] is equal after reading up to
/// rounding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct GpModel {
    columns: usize,
    /// Rows as observed, one after the other.
    cells: Vec<f64>,
    /// The rows less `origin`, in units of the length scales.
    scaled: Vec<f64>,
    /// Squared norm of each scaled row.
    norms: Vec<f64>,
    /// Column means of the first observations.
    origin: Vec<f64>,
    targets: Vec<f64>,
    hyper: Hyperparameters,
    jitter: f64,
    /// Cholesky factor of the covariance of the observations.
    factor: Mat<f64>,
    /// `K⁻¹ (y - mean)`
    weights: Vec<f64>,
    likelihood: f64,
    evaluations: usize,
}

/// What a process predicts for some rows, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// Expected value of each row.
    pub means: Array1<f64>,
    /// Variance of each value without noise. A measurement of it also has the noise variance.
    pub variances: Array1<f64>,
}

/// What a process predicts for each observation from all other observations.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaveOneOut {
    /// Expected value of each observation.
    pub means: Array1<f64>,
    /// Variance of each observation, with noise.
    pub variances: Array1<f64>,
    /// Observed value less expected value of each observation.
    pub errors: Array1<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: Version<1>,
    columns: usize,
    rows: Vec<f64>,
    targets: Vec<f64>,
    hyperparameters: Hyperparameters,
}

impl From<GpModel> for Stored {
    fn from(model: GpModel) -> Self {
        Self {
            version: Version,
            columns: model.columns,
            rows: model.cells,
            targets: model.targets,
            hyperparameters: model.hyper,
        }
    }
}

impl TryFrom<Stored> for GpModel {
    type Error = ModelError;

    fn try_from(stored: Stored) -> Result<Self, ModelError> {
        let fault = |reason: String| ModelError::new("Gaussian process", reason);
        let (rows, columns) = (stored.targets.len(), stored.columns);
        let x = ArrayView2::from_shape((rows, columns), &stored.rows)
            .map_err(|_| fault(format!("{} cells for {rows} x {columns}", stored.rows.len())))?;
        let y = ArrayView1::from(&stored.targets);
        GpModel::with_hyperparameters(x, y, stored.hyperparameters)
            .map_err(|e| fault(e.to_string()))
    }
}

impl GpModel {
    pub(super) fn new(
        x: ArrayView2<'_, f64>,
        targets: Vec<f64>,
        hyper: Hyperparameters,
        jitter: f64,
    ) -> Self {
        let origin = crate::linalg::column_means(x).to_vec();
        let mut model = Self {
            columns: x.ncols(),
            cells: x.iter().copied().collect(),
            scaled: Vec::new(),
            norms: Vec::new(),
            origin,
            targets,
            hyper,
            jitter,
            factor: Mat::new(),
            weights: Vec::new(),
            likelihood: f64::NAN,
            evaluations: 0,
        };
        model.scaled = model.cells.chunks(model.columns).flat_map(|row| model.scale(row)).collect();
        model.norms = model.scaled.chunks(model.columns).map(squared_norm).collect();
        model
    }

    pub(super) fn with_solution(
        mut self,
        factor: Mat<f64>,
        weights: Vec<f64>,
        likelihood: f64,
    ) -> Self {
        (self.factor, self.weights, self.likelihood) = (factor, weights, likelihood);
        self
    }

    pub(super) fn with_evaluations(mut self, evaluations: usize) -> Self {
        self.evaluations = evaluations;
        self
    }

    /// The parameters of the kernel and the mean.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyper
    }

    /// Natural logarithm of the marginal likelihood of the observations.
    pub fn log_marginal_likelihood(&self) -> f64 {
        self.likelihood
    }

    /// What was added to the covariance's diagonal so that it could be factored; 0 if nothing.
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    /// Number of likelihoods that training evaluated, over all searches. 0 without training.
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Number of observations.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// False: a model has at least one observation.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of columns of the observations.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Rows as observed, one after the other.
    pub(super) fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// What each observation's covariance with a row is multiplied by in the expected value.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Predicts expected value and variance of every row.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Predictions, DataError> {
        check_columns(x, self.columns)?;
        let mut out = vec![(0.0, 0.0); x.nrows()];
        out.par_chunks_mut(BATCH).enumerate().for_each(|(batch, out)| {
            let start = batch * BATCH;
            self.predict_batch(x.slice(ndarray::s![start..start + out.len(), ..]), out);
        });
        let (means, variances): (Vec<f64>, Vec<f64>) = out.into_iter().unzip();
        Ok(Predictions { means: means.into(), variances: variances.into() })
    }

    fn predict_batch(&self, x: ArrayView2<'_, f64>, out: &mut [(f64, f64)]) {
        let (n, count, columns) = (self.len(), x.nrows(), self.columns);
        let mut candidates = Vec::with_capacity(count * columns);
        for row in x.rows() {
            for (column, (&value, &origin)) in row.iter().zip(&self.origin).enumerate() {
                candidates.push((value - origin) / self.hyper.length(column));
            }
        }
        // r² = |a|² + |b|² - 2 a·b by one matrix product. Subtracting the origin keeps the norms
        // small, and with them the loss of digits.
        let mut cross = Mat::<f64>::zeros(n, count);
        let observed = MatRef::from_row_major_slice(&self.scaled, n, columns);
        let asked = MatRef::from_row_major_slice(&candidates, count, columns);
        let (seq, replace) = (Par::Seq, Accum::Replace);
        faer::linalg::matmul::matmul(
            cross.as_mut(),
            replace,
            observed,
            asked.transpose(),
            -2.0,
            seq,
        );
        for (candidate, row) in candidates.chunks(columns).enumerate() {
            let norm = squared_norm(row);
            let cells = cross.col_as_slice_mut(candidate);
            let norms = self.norms.iter();
            cells.iter_mut().zip(norms).for_each(|(cell, observed)| *cell += observed + norm);
            self.hyper.covariances(cells);
            out[candidate].0 = self.hyper.mean + dot(cells, &self.weights);
        }
        triangular_solve::solve_lower_triangular_in_place(
            self.factor.as_ref(),
            cross.as_mut(),
            seq,
        );
        for (candidate, slot) in out.iter_mut().enumerate() {
            let explained = squared_norm(cross.col_as_slice(candidate));
            slot.1 = (self.hyper.signal_variance() - explained).max(0.0);
        }
    }

    /// Takes one more observation into the model, in O(n²). The parameters stay as they are.
    ///
    /// The new row of the Cholesky factor is `[L⁻¹k, √(k(x,x) + noise - |L⁻¹k|²)]`. If rounding
    /// leaves no positive root, as for a repeated row without noise, the whole covariance is
    /// factored again with more jitter, in O(n³).
    pub fn add(&mut self, row: &[f64], target: f64) -> Result<(), GpError> {
        check_row(row, self.columns)?;
        if !target.is_finite() {
            return Err(DataError::TargetNotFinite { row: self.len(), value: target }.into());
        }
        let n = self.len();
        let scaled: Vec<f64> = self.scale(row).collect();
        let mut cells: Vec<f64> = self
            .scaled
            .chunks(self.columns)
            .map(|observed| observed.iter().zip(&scaled).map(|(a, b)| (a - b) * (a - b)).sum())
            .collect();
        self.hyper.covariances(&mut cells);
        let mut side = Mat::from_fn(n, 1, |i, _| cells[i]);
        triangular_solve::solve_lower_triangular_in_place(
            self.factor.as_ref(),
            side.as_mut(),
            Par::Seq,
        );
        let diagonal = self.hyper.signal_variance() + self.hyper.noise_variance + self.jitter;
        let left = diagonal - squared_norm(side.col_as_slice(0));
        if left <= 1e-14 * diagonal {
            return self.refactor_with(row, target);
        }
        let root = left.sqrt();
        self.factor.resize_with(n + 1, n + 1, |i, j| match (i == n, j == n) {
            (true, true) => root,
            (true, false) => side[(j, 0)],
            _ => 0.0,
        });
        self.cells.extend_from_slice(row);
        self.norms.push(squared_norm(&scaled));
        self.scaled.extend(scaled);
        self.targets.push(target);
        self.solve_weights();
        Ok(())
    }

    /// Takes one more observation into the model by factoring the whole covariance again.
    fn refactor_with(&mut self, row: &[f64], target: f64) -> Result<(), GpError> {
        let (mut cells, mut targets) = (self.cells.clone(), self.targets.clone());
        cells.extend_from_slice(row);
        targets.push(target);
        let x = ArrayView2::from_shape((targets.len(), self.columns), &cells)
            .expect("the model's rows and one more");
        let grown = Self::with_hyperparameters(x, ArrayView1::from(&targets), self.hyper.clone())?;
        *self = grown.with_evaluations(self.evaluations);
        Ok(())
    }

    /// Computes weights and likelihood from the factor and the targets, in O(n²).
    fn solve_weights(&mut self) {
        let n = self.len();
        let mut side = Mat::from_fn(n, 1, |i, _| self.targets[i] - self.hyper.mean);
        triangular_solve::solve_lower_triangular_in_place(
            self.factor.as_ref(),
            side.as_mut(),
            Par::Seq,
        );
        let quadratic = squared_norm(side.col_as_slice(0));
        let half_log_determinant: f64 = (0..n).map(|i| self.factor[(i, i)].ln()).sum();
        let constant = 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln();
        self.likelihood = -0.5 * quadratic - half_log_determinant - constant;
        let upper = self.factor.as_ref().transpose();
        triangular_solve::solve_upper_triangular_in_place(upper, side.as_mut(), Par::Seq);
        self.weights = side.col_as_slice(0).to_vec();
    }

    /// Predicts each observation from all other observations, with the parameters as they are.
    ///
    /// It does not train n models: with `P = K⁻¹`, the error of observation i is
    /// `(P (y - mean))_i / P_ii`, and its variance is `1 / P_ii`. Cost: O(n³) once.
    pub fn leave_one_out(&self) -> LeaveOneOut {
        let precision = inverse_of(&self.factor);
        let n = self.len();
        let variances = Array1::from_shape_fn(n, |i| 1.0 / precision[(i, i)]);
        let errors = Array1::from_shape_fn(n, |i| self.weights[i] * variances[i]);
        let means = Array1::from_shape_fn(n, |i| self.targets[i] - errors[i]);
        LeaveOneOut { means, variances, errors }
    }

    /// A row less the origin, in units of the length scales.
    fn scale<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let lengths = (0..self.columns).map(|column| self.hyper.length(column));
        row.iter()
            .zip(&self.origin)
            .zip(lengths)
            .map(|((value, origin), length)| (value - origin) / length)
    }
}

fn squared_norm(values: &[f64]) -> f64 {
    dot(values, values)
}

/// A dot product in eight partial sums: the compiler must not reorder the additions of a single
/// sum, and would not use vector code.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (blocks_a, blocks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = blocks_a.remainder().iter().zip(blocks_b.remainder()).map(|(a, b)| a * b).sum();
    let mut lanes = [0.0; 8];
    for (block_a, block_b) in blocks_a.zip(blocks_b) {
        for ((lane, a), b) in lanes.iter_mut().zip(block_a).zip(block_b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f64>() + rest
}
