//! Gaussian process regression with the kernel RBF + rational quadratic + white noise.
//!
//! ```
//! use ndarray::{Array1, Array2, array};
//! use ssdtune_learn::gp::{GpParams, LengthScales};
//!
//! let x = Array2::from_shape_fn((12, 1), |(row, _)| row as f64 / 11.0);
//! let y: Array1<f64> = x.column(0).mapv(|v| (6.0 * v).sin());
//! let model = GpParams::new(LengthScales::Isotropic).fit(x.view(), y.view())?;
//! let predicted = model.predict(array![[0.5], [5.0]].view())?;
//! assert!((predicted.means[0] - 3f64.sin()).abs() < 0.01);
//! // Far from all observations the model is not sure.
//! assert!(predicted.variances[1] > 100.0 * predicted.variances[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Kernel
//!
//! ```text
//! k(a, b) = rbf_variance · exp(-r²/2)
//!         + rq_variance · (1 + r² / (2 · rq_alpha · rq_ratio²))^-rq_alpha
//!         + noise_variance · [a is b],          r² = Σ ((a_d - b_d) / length_d)²
//! ```
//!
//! There is one length scale for all columns (isotropic), or one for each (ARD, automatic relevance
//! determination). The length of the rational quadratic is `rq_ratio` times that of the RBF. With
//! one length scale this is the kernel
//! `C·RBF(l) + C·RationalQuadratic(ratio·l, alpha) + White` of scikit-learn, and tests compare the
//! two. The constant mean is trained too. It costs no search, because its best value for given
//! covariances is a formula.
//!
//! # Training
//!
//! Training maximises the log marginal likelihood inside bounds, by its analytic gradient, from
//! several starts. It works with the logarithms of all parameters, and with targets scaled to unit
//! variance, so that bounds and starts mean the same for any unit. Reported parameters are in the
//! targets' own unit. A start is followed until two steps in a row gain less than 1e-3 of log
//! likelihood. If there are several starts, the best end is then followed until two steps gain less
//! than 1e-5.
//!
//! One evaluation of the likelihood with its gradient costs O(n³) for n observations, and
//! O(n²·columns) more with a length scale for each column. The covariance is factored by an exact
//! Cholesky decomposition. If rounding makes it indefinite, growing jitter is added to its
//! diagonal, and [`GpModel::jitter`] says how much.
//!
//! # Use
//!
//! [`GpModel::add`] takes one more observation into a fitted model in O(n²) without training again.
//! [`GpModel::expectation`] keeps only what predicts expected values. Columns should be of
//! comparable size, best in [0, 1]: see [`crate::space`]. Constant columns do no harm.
//!
//! Left out: gradients with respect to inputs, sparse approximations (n is some thousands at most),
//! more than one target.

mod errors;
mod expectation;
mod fit;
mod kernel;
mod likelihood;
mod model;
mod optimise;
mod params;

pub use errors::GpError;
pub use expectation::GpMean;
pub use kernel::Hyperparameters;
pub use model::{GpModel, LeaveOneOut, Predictions};
pub use params::{GpParams, GpValidParams, LengthScales, PriorMean};

#[cfg(test)]
mod tests;
