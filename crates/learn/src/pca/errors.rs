//! What can go wrong with principal components.

use crate::DataError;

/// Why principal components cannot be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PcaError {
    /// The number of components is 0.
    #[error("0 components: ask for at least one")]
    NoComponents,
    /// The data vary in fewer directions than components are asked for.
    #[error("{asked} components of data that spans {rank} directions: ask for {rank} or fewer")]
    Rank {
        /// Number of components asked for.
        asked: usize,
        /// Number of independent directions in which the data vary.
        rank: usize,
    },
    /// The matrix decomposition did not converge.
    #[error("the decomposition did not converge: scale the columns to comparable sizes first")]
    NotConverged,
    /// The matrix cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
