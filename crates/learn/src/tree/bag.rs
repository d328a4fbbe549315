//! A bag of regression trees: each is grown on a bootstrap sample, and predictions are averaged.
//!
//! A bag usually predicts better than one tree, but nobody can read it. The rows that a sample
//! leaves out judge its tree, so the error on unseen rows is known without a test set. Trees are
//! grown in parallel; the seed determines the result. A bag of `n` trees costs as much as `n` trees
//! that are not pruned.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::BagError;
pub use model::BagModel;
pub use params::{BagParams, BagValidParams};
