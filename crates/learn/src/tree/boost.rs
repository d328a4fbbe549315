//! Boosted symmetric trees: each tree learns what those before it left over, and all of them
//! together predict several numbers at once.
//!
//! In a symmetric tree all nodes of a level ask the same question. So a tree of depth `d` is `d`
//! questions, whose answers are the number of a leaf: it is small in a file, and a prediction
//! takes `d` comparisons for each tree and no jump. Several outputs share the questions; each has
//! numbers of its own in the leaves. The outputs count alike, whatever their scales.
//!
//! **Cost.** A tree of depth `d` costs `d` passes over the rows and columns, with some additions
//! for each cell and output. No number is drawn at random.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::BoostError;
pub use model::BoostModel;
pub use params::{BoostParams, BoostValidParams};
