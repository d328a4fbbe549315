//! The data of the comparison with scikit-learn, for tests and benchmarks.
//!
//! `tests/reference/learn_sklearn.py` draws the same numbers from SplitMix64, so that no data have
//! to be stored.

use ndarray::{Array1, Array2};
use rand_xoshiro::SplitMix64;
use rand08::{RngCore, SeedableRng};

/// Uniform random numbers of SplitMix64.
pub struct Uniform(SplitMix64);

impl Uniform {
    /// A generator from a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// A number from 0 to below 1.
    pub fn draw(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A matrix of such numbers, drawn row after row.
    pub fn matrix(&mut self, rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_simple_fn((rows, columns), || self.draw())
    }
}

/// Targets that are a smooth function of the first two columns, with noise.
pub fn smooth(draw: &mut Uniform, x: &Array2<f64>) -> Array1<f64> {
    x.rows()
        .into_iter()
        .map(|r| (6.0 * r[0]).sin() + r[1] * r[1] + 0.1 * (draw.draw() - 0.5))
        .collect()
}
