//! Multilayer perceptrons: softmax classification and regression.
//!
//! Training runs on libtorch (feature `torch`): SGD, momentum or Adam over seeded mini-batches,
//! with early stopping and the curves of loss and accuracy kept. What it leaves behind is a plain
//! set of weights, [`MlpModel`], that straight Rust code evaluates, as a drive's firmware would: 9
//! inputs, 64 hidden and 42 outputs take 3,264 multiplications and 106 exponentials. Inputs are
//! standardised for training and the standardisation is folded into the first layer (a regression's
//! targets likewise into the last), so nothing has to be kept beside the weights.
//!
//! Numbers are double precision in training and inference, so both agree to about 1e-12. The random
//! numbers are this crate's own, never libtorch's, and each training uses one thread: one seed
//! gives one network. Several trainings run in parallel under [`crate::selection::grid_search`].
//!
//! Without the feature everything but training is here; [`MlpParams::fit`] then says how to enable
//! it. The layers are the papers': 9-64-42 with a logistic layer (SSDKeeper), and 4 to 7 layers of
//! 128 to 512 rectified units (the learned performance model). Left out: convolution, dropout,
//! weight decay.

mod errors;
mod fit;
mod model;
mod params;
#[cfg(feature = "torch")]
mod train;
mod training;

pub use errors::MlpError;
pub use model::{Buffer, MlpModel, Output};
pub use params::{Activation, EarlyStopping, MlpParams, MlpValidParams, Optimiser};
pub use training::{Curves, Targets, Training};

#[cfg(test)]
mod tests;
