//! What a process expects, and nothing else: small enough for a file, quick enough to be asked row by row.
//!
//! Of the model stay the observations, one weight for each and the kernel: `mean + Σ weight_i · k(row, row_i)`.
//! A row costs one kernel for each observation, 14 ns with 25 columns on a machine that is shared
//! (docs/results/predict.md), where the full model's variance would cost n² and its file a factorisation on reading.

use super::kernel::Constants;
use super::{GpModel, Hyperparameters};
use crate::errors::check_row;
use crate::vmath::{self, vectorised};
use crate::{DataError, ModelError, Version};
use serde::{Deserialize, Serialize};

/// Observations whose kernels are computed together; those of one column lie side by side.
const BLOCK: usize = 64;

/// The expected value of a fitted process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct GpMean {
    columns: usize,
    cells: Vec<f64>,
    weights: Vec<f64>,
    hyper: Hyperparameters,
    /// The cells in units of the length scales, block by block, within a block column by column.
    blocks: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: Version<1>,
    columns: usize,
    rows: Vec<f64>,
    weights: Vec<f64>,
    hyperparameters: Hyperparameters,
}

impl From<GpMean> for Stored {
    fn from(mean: GpMean) -> Self {
        Self {
            version: Version,
            columns: mean.columns,
            rows: mean.cells,
            weights: mean.weights,
            hyperparameters: mean.hyper,
        }
    }
}

impl TryFrom<Stored> for GpMean {
    type Error = ModelError;

    fn try_from(stored: Stored) -> Result<Self, ModelError> {
        let Stored { version: _, columns, rows, weights, hyperparameters: hyper } = stored;
        let fault = |reason: String| ModelError::new("expectation of a Gaussian process", reason);
        let observations = weights.len();
        if columns == 0
            || observations == 0
            || observations.checked_mul(columns) != Some(rows.len())
        {
            return Err(fault(format!("{} cells for {observations} x {columns}", rows.len())));
        }
        if rows.iter().chain(&weights).any(|value| !value.is_finite()) {
            return Err(fault("a cell or weight is not finite".to_owned()));
        }
        hyper.verify().map_err(|error| fault(error.to_string()))?;
        hyper.check_columns(columns).map_err(|error| fault(error.to_string()))?;
        Ok(Self::new(columns, rows, weights, hyper))
    }
}

impl GpModel {
    /// The model without its variances.
    pub fn expectation(&self) -> GpMean {
        let (cells, weights) = (self.cells().to_vec(), self.weights().to_vec());
        GpMean::new(self.columns(), cells, weights, self.hyperparameters().clone())
    }
}

impl GpMean {
    fn new(columns: usize, cells: Vec<f64>, weights: Vec<f64>, hyper: Hyperparameters) -> Self {
        let count = weights.len().div_ceil(BLOCK);
        let mut blocks = vec![0.0; count * BLOCK * columns];
        for (number, row) in cells.chunks(columns).enumerate() {
            let first = number / BLOCK * BLOCK * columns + number % BLOCK;
            for (column, cell) in row.iter().enumerate() {
                blocks[first + column * BLOCK] = cell / hyper.length(column);
            }
        }
        Self { columns, cells, weights, hyper, blocks }
    }

    /// Columns of a row.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The parameters in use.
    pub const fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyper
    }

    /// Observations.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// There is always an observation.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// What is expected of a row.
    ///
    /// # Errors
    /// It has another number of columns, or a cell is not finite.
    pub fn predict_one(&self, row: &[f64]) -> Result<f64, DataError> {
        check_row(row, self.columns)?;
        let lengths = (0..self.columns).map(|column| self.hyper.length(column));
        let scaled: Vec<f64> =
            row.iter().zip(lengths).map(|(cell, length)| cell / length).collect();
        let constants = self.hyper.constants();
        Ok(self.hyper.mean + weighted(&self.blocks, &self.weights, &scaled, &constants))
    }
}

vectorised! {
    /// The weighted kernels of a row. Eight sums, whatever the width of the CPU's vectors.
    fn weighted<'a>(
        blocks: &'a [f64],
        weights: &'a [f64],
        row: &'a [f64],
        k: &'a Constants,
    ) -> f64 {
        let mut lanes = [0.0; 8];
        for (block, weights) in blocks.chunks_exact(BLOCK * row.len()).zip(weights.chunks(BLOCK)) {
            let mut values = [0.0; BLOCK];
            for (cells, &own) in block.chunks_exact(BLOCK).zip(row) {
                for (sum, cell) in values.iter_mut().zip(cells) {
                    *sum += (cell - own) * (cell - own);
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
