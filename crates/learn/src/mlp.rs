//! Multilayer perceptrons for classification (softmax) and regression.
//!
//! Training runs on libtorch, in the program `ssdtune-train` (crate `ssdtune-train`), which
//! [`MlpParams::fit`] starts. Its result is [`MlpModel`], a set of plain weights, which this crate
//! evaluates in plain Rust. Without that program everything but training works, and `fit` returns
//! an error that says how to get it.
//!
//! ```
//! use ssdtune_learn::mlp::{Buffer, MlpModel};
//!
//! // A stored model: one layer that computes 1 + 2 a - b.
//! let stored = r#"{"version": 1, "activation": "relu", "output": "linear",
//!     "layers": [{"inputs": 2, "weights": [2, -1], "bias": [1]}]}"#;
//! let model: MlpModel = serde_json::from_str(stored)?;
//! assert_eq!(model.predict_one(&[3.0, 4.0], &mut Buffer::default())?, [3.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Training.** SGD, momentum or Adam on seeded mini-batches, with early stopping, and with the
//! curves of loss and accuracy. Inputs are standardised for training, and so are the targets of a
//! regression. The standardisation is folded into the first and the last layer afterwards, so that
//! the weights are all there is to keep.
//!
//! **Cost of a prediction.** One multiplication for each weight and one exponential for each
//! logistic unit or class: 9 inputs, 64 hidden units and 42 classes take 3,264 multiplications and
//! 106 exponentials.
//!
//! **Reproducibility.** Training and inference compute in double precision and agree to about
//! 1e-12. Random numbers come from this crate, not from libtorch, and each training uses one
//! thread, so one seed gives one network. [`crate::selection::grid_search`] trains several in
//! parallel.
//!
//! The layers are those of two papers: 9-64-42 with a logistic layer (SSDKeeper), and 4 to 7 layers
//! of 128 to 512 rectified units (the learned performance model). Left out: convolution, dropout,
//! weight decay.

mod errors;
mod job;
mod model;
mod params;
mod program;
mod training;

pub use errors::MlpError;
pub use job::{InitialLayer, TrainingJob};
pub use model::{Buffer, Layer, MlpModel, Output};
pub use params::{Activation, EarlyStopping, MlpParams, MlpValidParams, Optimiser};
pub use program::{TrainingAnswer, can_train};
pub use training::{Curves, Targets, Training};

#[cfg(test)]
mod tests;
