//! The expected value of a process without its variance: small to store, quick to ask row by row.
//!
//! It keeps the observations, one weight for each, and the kernel. The prediction for a row is
//! `mean + Σ weight_i · k(row, row_i)`. A row costs one kernel for each observation, 14 ns with 25
//! columns on a shared machine (docs/results/predict.md). The full model's variance costs O(n²) for
//! each row, and reading the full model from a file O(n³).

use super::kernel::Constants;
use super::{GpModel, Hyperparameters};
use crate::errors::check_row;
use crate::guard::checked_model;
use crate::vmath::{self, vectorised};
use crate::{DataError, ModelError, Version};
use serde::{Deserialize, Serialize};

/// Number of observations whose kernels are computed together.
const BLOCK: usize = 64;

/// The expected value of a fitted process, without its variance.
///
/// Serialised are the observations, one weight for each of them, and the parameters. Reading one
/// costs O(observations · columns).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct GpMean {
    version: Version<1>,
    columns: usize,
    /// Rows as observed, one after the other.
    rows: Vec<f64>,
    /// `K⁻¹ (y - mean)`: what each observation's covariance with a row is multiplied by.
    weights: Vec<f64>,
    hyperparameters: Hyperparameters,
    /// The rows in units of the length scales: block after block, within a block column by column.
    #[serde(skip)]
    blocks: Vec<f64>,
}

checked_model!(GpMean, GpMean::scaled);

impl GpModel {
    /// The model's expected value alone: smaller to store, and cheaper to ask row by row.
    pub fn expectation(&self) -> GpMean {
        let mean = GpMean {
            version: Version,
            columns: self.columns(),
            rows: self.cells().to_vec(),
            weights: self.weights().to_vec(),
            hyperparameters: self.hyperparameters().clone(),
            blocks: Vec::new(),
        };
        mean.scaled()
    }
}

impl GpMean {
    /// Lays the rows out for prediction.
    fn scaled(mut self) -> Self {
        let count = self.weights.len().div_ceil(BLOCK);
        self.blocks = vec![0.0; count * BLOCK * self.columns];
        for (number, row) in self.rows.chunks(self.columns).enumerate() {
            let first = number / BLOCK * BLOCK * self.columns + number % BLOCK;
            for (column, cell) in row.iter().enumerate() {
                self.blocks[first + column * BLOCK] = cell / self.hyperparameters.length(column);
            }
        }
        self
    }

    fn verify(&self) -> Result<(), ModelError> {
        let fault = |reason: String| ModelError::new("expectation of a Gaussian process", reason);
        let (observations, columns) = (self.weights.len(), self.columns);
        let wanted = observations.checked_mul(columns).filter(|&cells| cells > 0);
        if wanted != Some(self.rows.len()) {
            return Err(fault(format!("{} cells for {observations} x {columns}", self.rows.len())));
        }
        if self.rows.iter().chain(&self.weights).any(|value| !value.is_finite()) {
            return Err(fault("a cell or weight is not finite".to_owned()));
        }
        let parameters = &self.hyperparameters;
        let checked = parameters.verify().and_then(|()| parameters.check_columns(columns));
        checked.map_err(|error| fault(error.to_string()))
    }

    /// Number of columns that the model was trained on.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The parameters of the kernel and the mean.
    pub const fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyperparameters
    }

    /// Number of observations.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// False: a model has at least one observation.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Predicts one row: its expected value.
    ///
    /// # Errors
    /// The row has another number of columns than the model, or a cell is not finite.
    pub fn predict_one(&self, row: &[f64]) -> Result<f64, DataError> {
        check_row(row, self.columns)?;
        let lengths = (0..self.columns).map(|column| self.hyperparameters.length(column));
        let scaled: Vec<f64> =
            row.iter().zip(lengths).map(|(cell, length)| cell / length).collect();
        let constants = self.hyperparameters.constants();
        Ok(self.hyperparameters.mean + weighted(&self.blocks, &self.weights, &scaled, &constants))
    }
}

vectorised! {
    /// The sum of the observations' kernels with a row, each times its weight. It is added up in
    /// eight partial sums for any width of the CPU's vectors, so that the result is always equal.
    fn weighted<'a>(
        blocks: &'a [f64],
        weights: &'a [f64],
        row: &'a [f64],
        k: &'a Constants,
    ) -> f64 {
        let mut lanes = [0.0; 8];
        for (block, weights) in blocks.chunks_exact(BLOCK * row.len()).zip(weights.chunks(BLOCK)) {
            let mut values = [0.0; BLOCK];
            for (cells, &asked) in block.chunks_exact(BLOCK).zip(row) {
                for (sum, cell) in values.iter_mut().zip(cells) {
                    *sum += (cell - asked) * (cell - asked);
                }
            }
            for value in &mut values {
                let tail = vmath::exp(-k.alpha * vmath::ln(1.0 + k.spread * *value));
                *value = k.rbf * vmath::exp(-0.5 * *value) + k.rq * tail;
            }
            for (values, weights) in values.chunks_exact(8).zip(weights.chunks(8)) {
                for (lane, (value, weight)) in lanes.iter_mut().zip(values.iter().zip(weights)) {
                    *lane += value * weight;
                }
            }
        }
        lanes.iter().sum()
    }
}
