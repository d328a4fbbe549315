//! What can go wrong with Gaussian process regression.

use crate::DataError;

/// Why a Gaussian process cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GpError {
    /// The named parameter is 0, but must be at least 1.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// A parameter is outside its legal range.
    #[error("{name} is {value}: give {legal}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The values that are legal.
        legal: &'static str,
    },
    /// There is neither one length scale for all columns nor one for each.
    #[error("{found} length scales for {columns} columns: give 1, or one for each column")]
    LengthScales {
        /// Number of length scales given.
        found: usize,
        /// Number of columns of the data.
        columns: usize,
    },
    /// Rounding makes the covariance matrix indefinite, even with the most jitter.
    #[error(
        "the covariance of {rows} observations cannot be factored even with {jitter:e} added to \
         its diagonal: raise the noise, or drop repeated rows"
    )]
    NotPositiveDefinite {
        /// Number of observations.
        rows: usize,
        /// The greatest number that was added to the diagonal.
        jitter: f64,
    },
    /// The matrix or the targets cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
