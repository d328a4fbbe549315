//! What can be wrong with a matrix, or with a model that is read from a file; and the checks.
//!
//! The `errors` file of each learner adds what can be wrong with its parameters or its training.

use ndarray::{ArrayView1, ArrayView2};

/// Why no learner can use a matrix or its targets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The matrix has no rows.
    #[error("the data has no rows: give at least one")]
    NoRows,
    /// The matrix has no columns.
    #[error("the data has no columns: give at least one")]
    NoColumns,
    /// A cell is NaN or infinite.
    #[error("row {row}, column {column} is {value}: every cell must be a finite number")]
    NotFinite {
        /// Number of the row, from 0.
        row: usize,
        /// Number of the column, from 0.
        column: usize,
        /// The cell's value.
        value: f64,
    },
    /// A target is NaN or infinite.
    #[error("target {row} is {value}: every target must be a finite number")]
    TargetNotFinite {
        /// Number of the target's row, from 0.
        row: usize,
        /// The target's value.
        value: f64,
    },
    /// The number of targets is not the number of rows.
    #[error("{rows} rows, but {targets} targets: give one target for each row")]
    TargetCount {
        /// Number of rows of the matrix.
        rows: usize,
        /// Number of targets given.
        targets: usize,
    },
    /// The number of columns is not the number that the model was trained on.
    #[error("{found} columns, but the model was trained on {expected}: give the same columns")]
    ColumnCount {
        /// Number of columns that the model was trained on.
        expected: usize,
        /// Number of columns given.
        found: usize,
    },
    /// A column has one value in all rows, and the learner cannot use that.
    #[error("column {column} is {value} in every row: drop it, or vary it")]
    ConstantColumn {
        /// Number of the column, from 0.
        column: usize,
        /// The column's value.
        value: f64,
    },
    /// There are too few rows for what is asked.
    #[error("{rows} rows are too few for {purpose}: give at least {needed}")]
    TooFewRows {
        /// Number of rows given.
        rows: usize,
        /// The least number of rows that suffices.
        needed: usize,
        /// What the rows are needed for.
        purpose: &'static str,
    },
}

/// Why a model that was read cannot be used: its parts do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a usable {model} model: {reason}; the file is damaged, train the model again")]
pub struct ModelError {
    /// The kind of model it claims to be.
    pub model: &'static str,
    /// Which parts do not fit, and how.
    pub reason: String,
}

impl ModelError {
    pub(crate) fn new(model: &'static str, reason: impl Into<String>) -> Self {
        Self { model, reason: reason.into() }
    }
}

/// Accepts a matrix that has rows and columns and whose cells are all finite.
pub(crate) fn check_matrix(x: ArrayView2<'_, f64>) -> Result<(), DataError> {
    if x.nrows() == 0 {
        return Err(DataError::NoRows);
    }
    if x.ncols() == 0 {
        return Err(DataError::NoColumns);
    }
    // Sound data need no positions. Without them, 5 million cells take 3 ms instead of 20.
    if x.as_slice_memory_order().is_some_and(all_finite) {
        return Ok(());
    }
    match x.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((row, column), &value)) => Err(DataError::NotFinite { row, column, value }),
        None => Ok(()),
    }
}

/// Whether all cells are finite. Blocks without an early exit let the compiler use vector code.
fn all_finite(cells: &[f64]) -> bool {
    cells.chunks(1024).all(|block| block.iter().fold(true, |sound, cell| sound & cell.is_finite()))
}

/// Accepts a matrix that passes [`check_matrix`], with one finite target for each row.
pub(crate) fn check_supervised(
    x: ArrayView2<'_, f64>,
    y: ArrayView1<'_, f64>,
) -> Result<(), DataError> {
    check_matrix(x)?;
    if x.nrows() != y.len() {
        return Err(DataError::TargetCount { rows: x.nrows(), targets: y.len() });
    }
    match y.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((row, &value)) => Err(DataError::TargetNotFinite { row, value }),
        None => Ok(()),
    }
}

/// Accepts a matrix that passes [`check_matrix`] and has the number of columns that a model was
/// trained on.
pub(crate) fn check_columns(x: ArrayView2<'_, f64>, expected: usize) -> Result<(), DataError> {
    if x.ncols() != expected {
        return Err(DataError::ColumnCount { expected, found: x.ncols() });
    }
    check_matrix(x)
}

/// Accepts one row of finite cells with the number of columns that a model was trained on.
pub(crate) fn check_row(row: &[f64], expected: usize) -> Result<(), DataError> {
    if row.len() != expected {
        return Err(DataError::ColumnCount { expected, found: row.len() });
    }
    match row.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((column, &value)) => Err(DataError::NotFinite { row: 0, column, value }),
        None => Ok(()),
    }
}

/// Accepts a matrix in which every column has at least two different values.
pub(crate) fn check_no_constant_column(x: ArrayView2<'_, f64>) -> Result<(), DataError> {
    for (column, values) in x.columns().into_iter().enumerate() {
        let first = values[0];
        if values.iter().all(|&value| value == first) {
            return Err(DataError::ConstantColumn { column, value: first });
        }
    }
    Ok(())
}

/// Accepts a model's numbers if all are finite. `part` names them in the message.
pub(crate) fn check_finite<'a>(
    model: &'static str,
    part: &str,
    values: impl IntoIterator<Item = &'a f64>,
) -> Result<(), ModelError> {
    match values.into_iter().position(|value| !value.is_finite()) {
        Some(at) => Err(ModelError::new(model, format!("{part} {at} is not a finite number"))),
        None => Ok(()),
    }
}
