//! What can go wrong with column scaling.

use crate::DataError;

/// Why a scaler cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The range to scale to has no width, or an end that is not finite.
    #[error("range {low} to {high}: give two finite ends, the lower first")]
    Range {
        /// Low end of the range given.
        low: f64,
        /// High end of the range given.
        high: f64,
    },
    /// The matrix cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
