//! What can go wrong with boosted trees.

use crate::DataError;

/// Why boosted trees cannot be grown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoostError {
    /// The named parameter is 0, but must be at least 1.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// The depth is too large: leaves double with each level.
    #[error("a depth of {0}: give 1 to 12")]
    Depth(usize),
    /// The share of what is left over that each tree takes.
    #[error("a rate of {0}: give a number above 0, up to 1")]
    Rate(f64),
    /// The matrix or the targets cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
