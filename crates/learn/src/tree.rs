//! A regression tree whose leaves are linear models (as GUIDE grows them) or constants.
//!
//! At each node every column's thresholds are tried and the one with the least squared error of the
//! two sides' own models wins; sums of products are carried along the sorted rows, so that a
//! threshold costs one small solve and no pass over the data. GUIDE chooses the column by a test on
//! the signs of residuals instead, which is cheaper and indifferent to how many thresholds a column
//! offers; here thresholds per column are bounded, and cost-complexity pruning by cross-validation
//! removes what selection alone found.
//!
//! Leaf models are multiple least squares on all columns that vary in the leaf, with a ridge of
//! 1e-10 of the columns' variance against dependence. A linear leaf does not extrapolate:
//! predictions stay within the leaf's training targets, widened by a tenth of their range.
//!
//! Targets of several sizes are better fitted by relative error: [`Weighting::Relative`] weighs
//! each row by the inverse square of its target.
//!
//! Cost of a node with n rows and d columns: O(d·n·(log n + d²)) with linear leaves, O(d·n·log n)
//! with constants; growing visits each level's rows once, and pruning by k folds grows k more
//! trees.
//!
//! Left out: categorical columns (encode them: [`crate::space`]), missing values, surrogate splits.

mod bag;
mod errors;
mod fit;
mod flat;
mod model;
mod moments;
mod params;
mod prune;

pub use bag::{BagError, BagModel, BagParams, BagValidParams};
pub use errors::TreeError;
pub use model::{Decision, DecisionPath, TreeModel};
pub use params::{Leaves, Prune, TreeParams, TreeValidParams, Weighting};

pub(crate) use fit::{Sample, grow};

#[cfg(test)]
mod tests;
