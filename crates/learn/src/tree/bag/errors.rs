//! What can go wrong with the bagged ensemble of trees.

use super::super::TreeError;

/// Why an ensemble cannot be grown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BagError {
    /// No trees were asked for.
    #[error("0 trees: ask for at least one")]
    NoTrees,
    /// The trees cannot be grown.
    #[error(transparent)]
    Tree(#[from] TreeError),
}
