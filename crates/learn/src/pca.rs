//! Principal components: the directions of greatest variance, and how much of it each explains.
//!
//! Tall data (at least as many rows as columns) goes through a thin SVD of the centred matrix; wide
//! data, such as 400 windows of 12,000 numbers, through the eigenvectors of its rows' Gram matrix,
//! O(rows²·columns) once, in fixed parts that threads share. Both are exact, without random starts. linfa-reduction 0.8.1 is not used:
//! its iterative solver panics where it meets a NaN of its own making (on data of deficient rank,
//! and on a sound 120 x 10 set), passes over failure to converge in silence, divides its variances
//! by the wrong count, and gives ratios of the kept components only. Variances here divide by rows
//! - 1, ratios are of the whole variance.
//!
//! A component's sign is fixed: its entry of greatest magnitude is positive.

mod errors;
mod fit;
mod model;
mod params;

pub use errors::PcaError;
pub use model::PcaModel;
pub use params::{PcaParams, PcaValidParams};
