//! What can go wrong with scaling.

use crate::DataError;

/// Why a scaler cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The range to scale to is empty.
    #[error("range {low} to {high}: give two finite ends, the lower first")]
    Range {
        /// Low end given.
        low: f64,
        /// High end given.
        high: f64,
    },
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
