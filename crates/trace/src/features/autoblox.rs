//! AutoBlox: windows of 3,000 requests as vectors for clustering.
//!
//! Li, Sun, Huang, "Learning to Drive Software-Defined Solid-State Drives" (AutoBlox), section 3.1: absolute addresses
//! become offsets; the trace is cut into windows of 3,000 entries; time, size, address and operation of every entry
//! are taken relative to the first entry of the window; PCA to 5 dimensions follows (not here).
//! The published code takes logarithms of the fields.
//!
//! An entry is four numbers:
//! - time: ln(1 + nanoseconds since the first entry);
//! - address: sign(d) ln(1 + |d|), d in sectors from the first entry's (what base the offsets have cancels);
//! - size: ln(1 + sectors) less that of the first entry;
//! - operation: 0 for a read, 1 for anything else.
//!
//! The fields have unlike spreads, and without care the widest one (time) would be all that PCA sees; so
//! a [`Standardiser`] brings each field to mean 0 and variance 1, pooled over all windows and
//! entries it was fitted to: one mean and one deviation per field, so that the shape inside a window survives.
//! A trailing part shorter than a window is left out. About 10 ns per request.

use super::Matrix;
use crate::{Op, Request};
use serde::{Deserialize, Serialize};

/// Requests in a window.
pub const WINDOW_REQUESTS: usize = 3_000;
/// Numbers per request.
pub const ENTRY_FIELDS: usize = 4;

/// One row per whole window of 3,000 requests.
pub fn windows(requests: &[Request]) -> Matrix {
    windows_of(requests, WINDOW_REQUESTS)
}

/// The same with windows of another length.
///
/// # Panics
/// If `length` is 0.
pub fn windows_of(requests: &[Request], length: usize) -> Matrix {
    let whole = requests.len() / length * length;
    let mut data = vec![0.0; whole * ENTRY_FIELDS];
    let rows = data.chunks_exact_mut(length * ENTRY_FIELDS);
    for (window, row) in requests.chunks_exact(length).zip(rows) {
        fill(window, row);
    }
    Matrix { data, columns: length * ENTRY_FIELDS }
}

fn fill(window: &[Request], row: &mut [f32]) {
    let first = &window[0];
    let first_size = log1p(u64::from(first.sectors));
    for (request, entry) in window.iter().zip(row.chunks_exact_mut(ENTRY_FIELDS)) {
        let magnitude = log1p(request.lba.0.abs_diff(first.lba.0));
        entry[0] = log1p(request.at.0.saturating_sub(first.at.0));
        entry[1] = if request.lba < first.lba { -magnitude } else { magnitude };
        entry[2] = log1p(u64::from(request.sectors)) - first_size;
        entry[3] = f32::from(u8::from(request.op != Op::Read));
    }
}

/// ln(1 + x), in single precision: relative errors of 1e-7 vanish beside the spread of the fields.
fn log1p(x: u64) -> f32 {
    (x as f32 + 1.0).ln()
}

/// Mean and deviation of each field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardiser {
    /// Pooled means.
    pub mean: [f64; ENTRY_FIELDS],
    /// Pooled standard deviations; 1 for a field that never changes.
    pub deviation: [f64; ENTRY_FIELDS],
}

impl Standardiser {
    /// The pooled moments of a matrix from [`windows`]; the identity for an empty one.
    pub fn fit(matrix: &Matrix) -> Self {
        let entries = (matrix.data.len() / ENTRY_FIELDS) as f64;
        if entries == 0.0 {
            return Self { mean: [0.0; ENTRY_FIELDS], deviation: [1.0; ENTRY_FIELDS] };
        }
        let mut mean = [0.0; ENTRY_FIELDS];
        for entry in matrix.data.chunks_exact(ENTRY_FIELDS) {
            mean.iter_mut().zip(entry).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        mean.iter_mut().for_each(|sum| *sum /= entries);
        let mut squares = [0.0; ENTRY_FIELDS];
        for entry in matrix.data.chunks_exact(ENTRY_FIELDS) {
            for field in 0..ENTRY_FIELDS {
                squares[field] += (f64::from(entry[field]) - mean[field]).powi(2);
            }
        }
        let deviation = squares.map(|sum| {
            let deviation = (sum / entries).sqrt();
            if deviation > 1e-12 { deviation } else { 1.0 }
        });
        Self { mean, deviation }
    }

    /// Standardises a matrix in place.
    pub fn apply(&self, matrix: &mut Matrix) {
        let scale = self.deviation.map(|deviation| 1.0 / deviation);
        for entry in matrix.data.chunks_exact_mut(ENTRY_FIELDS) {
            for field in 0..ENTRY_FIELDS {
                entry[field] = ((f64::from(entry[field]) - self.mean[field]) * scale[field]) as f32;
            }
        }
    }
}
