//! What can go wrong with principal components.

use crate::DataError;

/// Why components cannot be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PcaError {
    /// No components were asked for.
    #[error("0 components: ask for at least one")]
    NoComponents,
    /// The data spans fewer directions than were asked for.
    #[error("{asked} components of data that spans {rank} directions: ask for {rank} or fewer")]
    Rank {
        /// Components asked for.
        asked: usize,
        /// Directions in which the data varies.
        rank: usize,
    },
    /// The decomposition did not converge.
    #[error("the decomposition did not converge: scale the columns to comparable sizes first")]
    NotConverged,
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
