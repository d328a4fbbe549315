//! Column scaling on linfa-preprocessing: zero mean and unit deviation, or a range.
//!
//! Cost: one pass over the data. A column that does not vary cannot be scaled; [`ConstantColumns`]
//! says whether that is an error (the default) or the column is only moved to 0 (or to the range's
//! low end).

mod errors;
mod fit;
mod model;
mod params;

pub use errors::ScaleError;
pub use model::Scaler;
pub use params::{ConstantColumns, Method, ScaleParams, ScaleValidParams};
