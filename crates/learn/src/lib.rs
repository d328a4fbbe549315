//! The learners of ssdtune: matrices in, models out. Nothing here knows what an SSD is.
//!
//! | module | learner | built on |
//! |---|---|---|
//! | [`scale`] | column scaling | linfa-preprocessing |
//! | [`pca`] | principal components, by thin SVD or Gram matrix | faer |
//! | [`kmeans`] | k-means: distances, thresholds, one more cluster | linfa-clustering |
//! | [`ridge`] | Ridge regression in closed form | faer |
//! | [`gp`] | Gaussian process, RBF + rational quadratic + white | faer |
//! | [`tree`] | regression tree with linear or constant leaves, and bags of such trees | - |
//! | [`mlp`] | multilayer perceptron: inference in plain Rust, training by feature `torch` | tch |
//!
//! Beside them: [`selection`] (k-fold, leave one group out, grid search), [`metrics`] (MRE, MAPE,
//! R², percentiles of the error), and [`space`] (mixed spaces of continuous, ordinal, boolean and
//! categorical coordinates as numbers).
//!
//! Every learner has the same files: `params` (the builder), `fit` (the work), `model` (what is
//! kept and predicts), `errors`. Parameters follow linfa's shape: a builder is checked once, by
//! [`ParamGuard::check`], and only checked parameters fit; calling `fit` on the builder does both.
//!
//! ```
//! use ndarray::array;
//! use ssdtune_learn::ridge::RidgeParams;
//!
//! let x = array![[1.0], [2.0], [3.0]];
//! let y = array![2.0, 4.0, 6.0];
//! let model = RidgeParams::new(1e-9).fit(x.view(), y.view())?;
//! assert!((model.predict_one(&[4.0])? - 8.0).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What every learner keeps to:
//! - The same data, parameters and seed give the same model, bit for bit, for any number of
//!   threads, by the same binary on the same class of CPU.
//! - Input is checked, never trusted: an empty matrix, a NaN, targets of another length are a
//!   [`DataError`].
//! - Every model serialises with a [`Version`], and a model read from a file is checked before it
//!   predicts. With JSON, use serde_json's `float_roundtrip`, or the model that comes back differs
//!   in the last bits.

pub mod gp;
pub mod kmeans;
pub mod metrics;
pub mod mlp;
pub mod pca;
pub mod ridge;
pub mod scale;
pub mod selection;
pub mod space;
pub mod tree;

mod errors;
mod guard;
mod linalg;
mod model_file;
mod random;
mod version;
mod vmath;

pub use errors::{DataError, ModelError};
pub use gp::{GpModel, GpParams};
pub use kmeans::{KMeansModel, KMeansParams};
pub use linfa::ParamGuard;
pub use mlp::{MlpModel, MlpParams};
pub use model_file::{ModelFile, ModelFileError};
pub use ndarray;
pub use pca::{PcaModel, PcaParams};
pub use ridge::{RidgeModel, RidgeParams};
pub use scale::{ScaleParams, Scaler};
pub use tree::{BagModel, BagParams, TreeModel, TreeParams};
pub use version::Version;
