//! A bagged ensemble of regression trees: each grown on a bootstrap sample, predictions averaged.
//!
//! The stronger option where a tree that a person can read is not needed. Rows that a sample left
//! out judge its tree, which gives an honest error without a test set. Trees grow in parallel; the
//! seed decides everything. Cost: trees x the cost of [`crate::tree`].

mod errors;
mod fit;
mod model;
mod params;

pub use errors::BagError;
pub use model::BagModel;
pub use params::{BagParams, BagValidParams};
