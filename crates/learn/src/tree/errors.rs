//! What can go wrong with the regression tree.

use crate::DataError;

/// Why a tree cannot be grown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The named parameter is 0, but must be at least 1.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// Fewer than 2 folds to prune by.
    #[error("pruning by {0} fold(s): give at least 2, or ask for no pruning")]
    Folds(usize),
    /// The margin of pruning is negative or not finite.
    #[error("a margin of {0} standard errors: give a finite number, 0 or above")]
    StandardErrors(f64),
    /// The parent's weight in smoothing is negative or not finite.
    #[error("smoothing {0}: give a number of rows, 0 for none")]
    Smoothing(f64),
    /// A target is 0, and its relative error is undefined.
    #[error(
        "target {row} is 0, so its relative error is undefined: drop the row, or weigh uniformly"
    )]
    ZeroTarget {
        /// Number of the row, from 0.
        row: usize,
    },
    /// The matrix or the targets cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
