//! Settings of the bagged ensemble of trees, checked before fitting.

use super::BagError;
use crate::guard::guarded_params;
use crate::tree::{Prune, TreeParams, TreeValidParams};
use linfa::ParamGuard;

/// Parameters of an ensemble, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct BagParams(BagValidParams);

/// Parameters of an ensemble, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct BagValidParams {
    pub(super) trees: usize,
    tree: TreeParams,
}

guarded_params!(BagParams, BagValidParams, BagError);

impl BagParams {
    /// This many trees of this kind, seeded by the kind's seed. They are not pruned: averaging does
    /// what pruning would.
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

    pub(super) fn tree(&self) -> Result<&TreeValidParams, BagError> {
        Ok(self.tree.check_ref()?)
    }
}
