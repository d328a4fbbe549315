//! Principal components: the directions of greatest variance, and how much variance each explains.
//!
//! ```
//! use ndarray::array;
//! use ssdtune_learn::pca::PcaParams;
//!
//! // Three points on a line through a plane.
//! let x = array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]];
//! let model = PcaParams::new(1).fit(x.view())?;
//! assert!((model.components()[[0, 0]] - 0.6).abs() < 1e-12);
//! assert!((model.explained_variance_ratio()[0] - 1.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data with at least as many rows as columns go through a thin singular value decomposition of the
//! centred matrix. Data with more columns than rows, such as 400 rows of 12,000 numbers, go through
//! the eigenvectors of the Gram matrix of the rows. It costs O(rows²·columns) once and is computed
//! in a fixed number of parts, which threads share. Both ways are exact and need no random numbers.
//!
//! Variances are divided by `rows - 1`. Ratios are shares of the variance in all directions, not of
//! the kept ones only. The sign of a component is chosen so that its entry of greatest magnitude is
//! positive.
//!
//! linfa-reduction 0.8.1 is not used. Its iterative solver panics on data of deficient rank and on
//! some sound data (a set of 120 x 10), and does not report that it failed to converge. It divides
//! variances by another count and gives ratios of the kept components only.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::PcaError;
pub use model::PcaModel;
pub use params::{PcaParams, PcaValidParams};
