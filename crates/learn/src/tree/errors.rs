//! What can go wrong with the regression tree.

use crate::DataError;

/// Why a tree cannot be grown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A count that must be at least one is zero.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// Too few folds to prune by.
    #[error("pruning by {0} fold(s): give at least 2, or ask for no pruning")]
    Folds(usize),
    /// The margin of pruning is not a number at or above 0.
    #[error("a margin of {0} standard errors: give a finite number, 0 or above")]
    StandardErrors(f64),
    /// A parent cannot count as so many rows.
    #[error("smoothing {0}: write rows, 0 for none")]
    Smoothing(f64),
    /// Relative weights do not exist for a target of 0.
    #[error(
        "target {row} is 0, so its relative error is undefined: drop the row, or weigh uniformly"
    )]
    ZeroTarget {
        /// Row, from 0.
        row: usize,
    },
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
