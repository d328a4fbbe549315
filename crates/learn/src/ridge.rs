//! Ridge regression: a linear function of the columns, with a penalty on great coefficients.
//!
//! ```
//! use ndarray::array;
//! use ssdtune_learn::ridge::RidgeParams;
//!
//! let (x, y) = (array![[1.0], [2.0], [3.0]], array![3.0, 5.0, 7.0]);
//! let model = RidgeParams::new(0.0).fit(x.view(), y.view())?;
//! assert!((model.coefficients()[0] - 2.0).abs() < 1e-12);
//! assert!((model.intercept() - 1.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The answer of `(XᵀX + penalty·I) w = Xᵀy` on centred data is found exactly, by Cholesky's
//! method. The intercept is not penalised. The penalty is scikit-learn's `alpha`: it does not grow
//! with the number of rows. Cost: O(rows·columns² + columns³).
//!
//! With a penalty above 0, a constant column gets the coefficient 0. With penalty 0, columns that
//! depend on each other are an error. Scale the columns first if their coefficients are to be
//! compared.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::RidgeError;
pub use model::RidgeModel;
pub use params::{RidgeParams, RidgeValidParams};
