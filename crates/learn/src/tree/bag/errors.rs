//! What can go wrong with a bag of trees.

use super::super::TreeError;

/// Why a bag of trees cannot be grown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BagError {
    /// The number of trees is 0.
    #[error("0 trees: ask for at least one")]
    NoTrees,
    /// The trees cannot be grown.
    #[error(transparent)]
    Tree(#[from] TreeError),
}
