//! What can go wrong with Ridge regression.

use crate::DataError;

/// Why a Ridge model cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RidgeError {
    /// The penalty is negative or not finite.
    #[error("penalty {0}: give a finite number, 0 or above")]
    Penalty(f64),
    /// The columns depend linearly on each other, and the penalty is too small to decide between
    /// them.
    #[error(
        "the columns depend linearly on each other: drop some, or raise the penalty above {penalty}"
    )]
    Singular {
        /// The penalty in use.
        penalty: f64,
    },
    /// The matrix or the targets cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
