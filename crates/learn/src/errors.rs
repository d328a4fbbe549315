//! What can be wrong with a matrix handed in, or with a model read from a file.
//!
//! Each learner's own `errors` adds what can be wrong with its parameters or its fit.

use ndarray::{ArrayView1, ArrayView2};

/// A matrix or a target vector that no learner can use.
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
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// A target is NaN or infinite.
    #[error("target {row} is {value}: every target must be a finite number")]
    TargetNotFinite {
        /// Row, from 0.
        row: usize,
        /// What stands there.
        value: f64,
    },
    /// There are more or fewer targets than rows.
    #[error("{rows} rows, but {targets} targets: give one target for each row")]
    TargetCount {
        /// Rows of the matrix.
        rows: usize,
        /// Targets given.
        targets: usize,
    },
    /// The model was trained on another number of columns.
    #[error("{found} columns, but the model was trained on {expected}: give the same columns")]
    ColumnCount {
        /// Columns the model knows.
        expected: usize,
        /// Columns given.
        found: usize,
    },
    /// A column that holds one value only, where that cannot be used.
    #[error("column {column} is {value} in every row: drop it, or vary it")]
    ConstantColumn {
        /// Column, from 0.
        column: usize,
        /// The one value.
        value: f64,
    },
    /// Too few rows for what was asked.
    #[error("{rows} rows are too few for {purpose}: give at least {needed}")]
    TooFewRows {
        /// Rows given.
        rows: usize,
        /// The least number that would do.
        needed: usize,
        /// What they were wanted for.
        purpose: &'static str,
    },
}

/// A serialised model whose parts do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a usable {model} model: {reason}; the file is damaged, train the model again")]
pub struct ModelError {
    /// Which learner's model it claims to be.
    pub model: &'static str,
    /// What does not fit.
    pub reason: String,
}

impl ModelError {
    pub(crate) fn new(model: &'static str, reason: impl Into<String>) -> Self {
        Self { model, reason: reason.into() }
    }
}

/// Accepts a matrix with rows, columns, and finite cells.
pub(crate) fn check_matrix(x: ArrayView2<'_, f64>) -> Result<(), DataError> {
    if x.nrows() == 0 {
        return Err(DataError::NoRows);
    }
    if x.ncols() == 0 {
        return Err(DataError::NoColumns);
    }
    // The usual answer needs no positions: 5 million cells take 3 ms instead of 20.
    if x.as_slice_memory_order().is_some_and(all_finite) {
        return Ok(());
    }
    match x.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((row, column), &value)) => Err(DataError::NotFinite { row, column, value }),
        None => Ok(()),
    }
}

/// Blocks without an exit become vector code.
fn all_finite(cells: &[f64]) -> bool {
    cells.chunks(1024).all(|block| block.iter().fold(true, |sound, cell| sound & cell.is_finite()))
}

/// Accepts a sound matrix with one finite target for each row.
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

/// Accepts a sound matrix with the columns a model was trained on.
pub(crate) fn check_columns(x: ArrayView2<'_, f64>, expected: usize) -> Result<(), DataError> {
    if x.ncols() != expected {
        return Err(DataError::ColumnCount { expected, found: x.ncols() });
    }
    check_matrix(x)
}

/// Accepts one row with the columns a model was trained on.
pub(crate) fn check_row(row: &[f64], expected: usize) -> Result<(), DataError> {
    if row.len() != expected {
        return Err(DataError::ColumnCount { expected, found: row.len() });
    }
    match row.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((column, &value)) => Err(DataError::NotFinite { row: 0, column, value }),
        None => Ok(()),
    }
}

/// Accepts a matrix in which every column varies.
pub(crate) fn check_no_constant_column(x: ArrayView2<'_, f64>) -> Result<(), DataError> {
    for (column, values) in x.columns().into_iter().enumerate() {
        let first = values[0];
        if values.iter().all(|&value| value == first) {
            return Err(DataError::ConstantColumn { column, value: first });
        }
    }
    Ok(())
}

/// The first part of a model that is not finite makes the model unusable.
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
