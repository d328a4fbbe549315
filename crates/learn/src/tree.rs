//! A regression tree whose leaves are linear models (as GUIDE grows them) or constants.
//!
//! ```
//! use ndarray::{Array1, Array2};
//! use ssdtune_learn::tree::{Leaves, TreeParams};
//!
//! // Two lines that meet at 20: one split and two exact leaves.
//! let x = Array2::from_shape_fn((40, 1), |(row, _)| row as f64);
//! let y: Array1<f64> = x.column(0).mapv(|v| if v < 20.0 { v } else { 60.0 - 2.0 * v });
//! let model = TreeParams::new(Leaves::Linear).fit(x.view(), y.view())?;
//! println!("{}", model.describe(&["load"], "time")?);
//! assert!((model.predict_one(&[10.0])? - 10.0).abs() < 1e-6);
//! assert!((model.predict_one(&[25.0])? - 10.0).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Growing.** At each node, thresholds of every column are tried. The one wins that leaves the
//! least squared error of two models, one for each side. Sums of products are carried along the
//! sorted rows, so that a threshold costs one small solve and no pass over the data. GUIDE chooses
//! the column by a test on the signs of residuals, which is cheaper and does not favour columns
//! with many thresholds. Here the number of thresholds is bounded, and cost-complexity pruning by
//! cross-validation removes splits that only fit noise.
//!
//! **Leaves.** A linear leaf is a least-squares fit on all columns that vary in the leaf, with a
//! ridge of 1e-10 of each column's variance against dependent columns. It does not extrapolate:
//! predictions stay within the range of the leaf's training targets, widened by a tenth at both
//! ends. Where targets differ by orders of magnitude, train for relative errors:
//! [`Weighting::Relative`].
//!
//! **Bags.** [`BagParams`] grows many trees on bootstrap samples and averages them. A bag usually
//! predicts better than one tree, but nobody can read it.
//!
//! **Boosted trees.** [`BoostParams`] grows small trees of constant leaves one after the other,
//! each on what the others left over, for several outputs at once.
//!
//! **Cost.** A node with n rows and d columns costs O(d·n·(log n + d²)) with linear leaves and
//! O(d·n·log n) with constant leaves. Pruning by k folds grows k more trees.
//!
//! Left out: categorical columns (encode them with [`crate::space`]), missing values, surrogate
//! splits.

mod bag;
mod boost;
mod errors;
mod fit;
mod flat;
mod grow;
mod grown;
mod model;
mod moments;
mod params;
mod prune;
mod sample;

pub use bag::{BagError, BagModel, BagParams, BagValidParams};
pub use boost::{BoostError, BoostModel, BoostParams, BoostValidParams};
pub use errors::TreeError;
pub use model::{Decision, DecisionPath, TreeModel};
pub use params::{Leaves, Prune, TreeParams, TreeValidParams, Weighting};

#[cfg(test)]
mod tests;
