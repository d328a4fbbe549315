//! Learners for small and medium tables of numbers, with reproducible results.
//!
//! Matrices go in, models come out. The crate is for data of up to some ten thousand rows, or for
//! cases where every evaluation is expensive: simulations, measurements, tuning. The other crates
//! of ssdtune learn with it, but nothing here knows what an SSD is.
//!
//! | module | learner | built on |
//! |---|---|---|
//! | [`scale`] | column scaling | linfa-preprocessing |
//! | [`pca`] | principal components, by thin SVD or Gram matrix | faer |
//! | [`kmeans`] | k-means clustering, with distances and thresholds | linfa-clustering |
//! | [`ridge`] | Ridge regression in closed form | faer |
//! | [`gp`] | Gaussian process regression, RBF + rational quadratic + white | faer |
//! | [`tree`] | regression trees with linear or constant leaves, bags of them, boosted trees | - |
//! | [`mlp`] | multilayer perceptron: inference in plain Rust, training by `ssdtune-train` | - |
//!
//! Three more modules help to use them: [`selection`] splits rows for cross-validation and searches
//! grids of parameters, [`metrics`] measures errors, and [`space`] encodes points of mixed spaces
//! (continuous, ordinal, boolean, categorical) as numbers.
//!
//! # Example
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
//! `examples/choose_learner.rs` compares four learners by cross-validation and stores the best.
//!
//! # What all learners have in common
//!
//! - **Three steps.** `Params` is a builder with defaults, `fit` trains, and the model predicts.
//!   `fit` checks the parameters. As in linfa, [`ParamGuard::check`] does so ahead of time and
//!   gives `ValidParams`, which fit without another check.
//! - **Reproducible.** The same data, parameters and seed give the same model bit for bit, for any
//!   number of threads, with the same binary on the same class of CPU.
//! - **Checked input.** An empty matrix, a NaN or a wrong number of targets is a [`DataError`],
//!   never a panic.
//! - **Stored models.** Every model implements serde's traits. It carries a [`Version`] and is
//!   checked when it is read. For JSON, use serde_json's feature `float_roundtrip`, or the model
//!   that is read differs in the last bits. [`ModelFile`] reads a model from a JSON file, with
//!   errors that name the file.
//! - **Files.** The source of each learner has the files `params`, `fit`, `model` and `errors`.
//!
//! # What it is not for
//!
//! It has no support for sparse matrices, missing values, data larger than memory, or GPUs. All
//! numbers are `f64`. Categories have to be encoded as numbers first.
//!
//! Matrices are those of [`ndarray`] 0.16, which this crate re-exports.

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
