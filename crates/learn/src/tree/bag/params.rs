//! Parameters of a bag of trees, and their check.

use super::super::{Prune, TreeParams, TreeValidParams};
use super::BagError;
use crate::guard::guarded_params;
use linfa::ParamGuard;

/// Parameters of a bag of trees. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct BagParams(BagValidParams);

/// Parameters of a bag of trees that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct BagValidParams {
    pub(super) trees: usize,
    tree: TreeParams,
}

guarded_params!(BagParams, BagValidParams, BagError);

impl BagParams {
    /// A bag of `trees` trees, each grown with the parameters `tree`, whose seed also draws the
    /// bootstrap samples. The trees are not pruned: averaging does what pruning would do.
    pub fn new(trees: usize, tree: TreeParams) -> Self {
        Self(BagValidParams { trees, tree: tree.prune(Prune::No) })
    }
}

impl BagValidParams {
    pub(super) fn verify(&self) -> Result<(), BagError> {
        if self.trees == 0 {
            return Err(BagError::NoTrees);
        }
        self.tree.check_ref()?;
        Ok(())
    }

    /// The parameters of each tree, checked.
    pub(super) fn tree(&self) -> Result<&TreeValidParams, BagError> {
        Ok(self.tree.check_ref()?)
    }
}
