//! Gaussian process regression with the kernel RBF + rational quadratic + white noise.
//!
//! ```text
//! k(a, b) = rbf_variance · exp(-r²/2)
//!         + rq_variance · (1 + r² / (2 · rq_alpha · rq_ratio²))^-rq_alpha
//!         + noise_variance · [a is b],          r² = Σ ((a_d - b_d) / length_d)²
//! ```
//!
//! One length for all columns (isotropic) or one each (ARD, automatic relevance determination); the
//! rational quadratic's length is `rq_ratio` times the RBF's. With one length this is
//! scikit-learn's `C·RBF(l) + C·RationalQuadratic(ratio·l, alpha) + White`, and the tests hold it
//! to that. A constant mean is trained with the rest: for given covariances its best value is a
//! formula, so it costs no search.
//!
//! Training maximises the log marginal likelihood by its analytic gradient inside bounds, from
//! several starts, in logarithms of all parameters, on targets scaled to unit variance (bounds and
//! starts mean the same for any unit; reported parameters are in the targets' own). Each start is
//! followed until two steps running gain less than 1e-3 of log likelihood; of several, the best is
//! then followed until they gain less than 1e-5. One evaluation costs O(n³) with its gradient, ARD's O(n²·columns) beside it.
//! Factorisation is an exact Cholesky; when rounding makes the matrix indefinite, growing jitter is
//! added to the diagonal, and the model says how much.
//!
//! A new observation joins a fitted model in O(n²) without retraining ([`GpModel::add`]). Columns
//! should be of comparable size, best in [0, 1]: see [`crate::space`]. Constant columns do no harm.
//!
//! Where only the expected value is wanted, row by row, [`GpModel::expectation`] keeps what that needs.
//!
//! Left out: gradients with respect to inputs, sparse approximations (n is some thousands at most), more
//! than one target.

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
