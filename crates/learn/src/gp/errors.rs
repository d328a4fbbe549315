//! What can go wrong with Gaussian process regression.

use crate::DataError;

/// Why a Gaussian process cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GpError {
    /// A count that must be at least one is zero.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// A parameter is outside its range.
    #[error("{name} is {value}: give {legal}")]
    Parameter {
        /// Which one.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        legal: &'static str,
    },
    /// Length scales match neither one for all columns nor one for each.
    #[error("{found} length scales for {columns} columns: give 1, or one for each column")]
    LengthScales {
        /// Length scales given.
        found: usize,
        /// Columns of the data.
        columns: usize,
    },
    /// The covariance matrix stayed indefinite with all the jitter allowed.
    #[error(
        "the covariance of {rows} observations cannot be factored even with {jitter:e} added to \
         its diagonal: raise the noise, or drop repeated rows"
    )]
    NotPositiveDefinite {
        /// Observations.
        rows: usize,
        /// The last jitter tried.
        jitter: f64,
    },
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
