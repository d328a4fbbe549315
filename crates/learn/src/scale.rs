//! Column scaling: to mean 0 and deviation 1, or to a range. Built on linfa-preprocessing.
//!
//! ```
//! use ndarray::array;
//! use ssdtune_learn::scale::{Method, ScaleParams};
//!
//! let x = array![[1.0], [2.0], [5.0]];
//! let scaler = ScaleParams::new(Method::Range { low: 0.0, high: 1.0 }).fit(x.view())?;
//! assert_eq!(scaler.transform(x.view())?, array![[0.0], [0.25], [1.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost: one pass over the data. A column with one value in all rows cannot be scaled, which is an
//! error by default. [`ConstantColumns::Keep`] moves such a column to 0 instead, or to the low end
//! of the range.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::ScaleError;
pub use model::Scaler;
pub use params::{ConstantColumns, Method, ScaleParams, ScaleValidParams};
