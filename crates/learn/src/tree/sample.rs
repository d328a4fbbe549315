//! The training data in the form in which trees are grown.

use super::{TreeError, Weighting};
use crate::errors::check_supervised;
use crate::linalg;
use ndarray::{ArrayView1, ArrayView2};

/// Rows and targets, prepared for growing trees on any choice of the rows.
pub(super) struct Sample {
    pub(super) columns: usize,
    /// Mean of each column over all rows.
    pub(super) means: Vec<f64>,
    /// The rows less `means`, one after the other: centred sums of products lose fewer digits.
    cells: Vec<f64>,
    pub(super) targets: Vec<f64>,
    /// How much each row's squared error counts.
    pub(super) weights: Vec<f64>,
}

impl Sample {
    /// Checks the data and centres the columns.
    pub(super) fn new(
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
        weighting: Weighting,
    ) -> Result<Self, TreeError> {
        check_supervised(x, y)?;
        let weights: Vec<f64> = match weighting {
            Weighting::Uniform => vec![1.0; y.len()],
            Weighting::Relative => {
                if let Some(row) = y.iter().position(|&y| y == 0.0) {
                    return Err(TreeError::ZeroTarget { row });
                }
                y.iter().map(|y| 1.0 / (y * y)).collect()
            }
        };
        let means = linalg::column_means(x);
        let cells = linalg::centred(x, &means).into_iter().collect();
        let (columns, means) = (x.ncols(), means.to_vec());
        Ok(Self { columns, means, cells, targets: y.to_vec(), weights })
    }

    /// One row, less the column means.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.columns..(row + 1) * self.columns]
    }

    /// The weighted squared error of a prediction for one row.
    pub(super) fn weighted_error(&self, row: usize, prediction: f64) -> f64 {
        let error = prediction - self.targets[row];
        self.weights[row] * error * error
    }
}
