//! Ridge regression in closed form: `(XᵀX + penalty·I) w = Xᵀy` on centred data, by Cholesky.
//!
//! The intercept is not penalised. The penalty is scikit-learn's `alpha`: it does not grow with the
//! rows. Cost: O(rows·columns² + columns³). A constant column gets the coefficient 0 whenever the
//! penalty is above 0; with penalty 0 dependent columns are an error. Scale the columns first if
//! their coefficients are to be compared.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::RidgeError;
pub use model::RidgeModel;
pub use params::{RidgeParams, RidgeValidParams};
