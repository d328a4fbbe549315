//! The published form of a window: four numbers for each of its 3,000 requests.
//!
//! Source: Li, Sun, Huang, "Learning to Drive Software-Defined Solid-State Drives" (AutoBlox),
//! section 3.1. Every request is described relative to the first one of its window. The published
//! code takes logarithms of the fields. The reduction to five dimensions is in `cluster/basis.rs`.
//!
//! The four numbers of a request:
//! - time: ln(1 + nanoseconds since the first request);
//! - address: sign(d) ln(1 + |d|), where d is the distance in sectors from the first request;
//! - size: ln(1 + sectors), less that of the first request;
//! - operation: 0 for a read, 1 for anything else.
//!
//! The fields spread unequally, and without scaling the principal components would show the widest
//! one (time) only. So [`Standardiser`] brings each field to mean 0 and variance 1. It uses one
//! mean and one deviation for each field, over all requests of all windows, which keeps the shape
//! of a window. Requests after the last whole window are left out.
//!
//! Cost: about 10 ns for each request.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use ssdtune_trace::{Op, Request};

/// The number of requests in a window.
pub const WINDOW_REQUESTS: usize = 3_000;
/// The number of fields of a request.
pub(super) const REQUEST_FIELDS: usize = 4;
/// The number of columns of a window.
pub(super) const COLUMNS: usize = WINDOW_REQUESTS * REQUEST_FIELDS;

/// The features of every whole window, row by row.
pub(super) fn rows(requests: &[Request]) -> Vec<f64> {
    rows_of(requests, WINDOW_REQUESTS)
}

/// The features of every whole window of `length` requests, row by row. Panics if `length` is 0.
fn rows_of(requests: &[Request], length: usize) -> Vec<f64> {
    let windows = requests.chunks_exact(length);
    let mut rows = Vec::with_capacity(windows.len() * length * REQUEST_FIELDS);
    for window in windows {
        let first = &window[0];
        let first_size = log1p(first.sectors.into());
        for request in window {
            let distance = log1p(request.lba.0.abs_diff(first.lba.0));
            let fields = [
                log1p(request.at.0.saturating_sub(first.at.0)),
                if request.lba < first.lba { -distance } else { distance },
                log1p(request.sectors.into()) - first_size,
                f32::from(u8::from(request.op != Op::Read)),
            ];
            rows.extend(fields.map(f64::from));
        }
    }
    rows
}

/// ln(1 + x) in single precision. Its relative error of 1e-7 is small against the spread of fields.
fn log1p(x: u64) -> f32 {
    (x as f32 + 1.0).ln()
}

/// Mean and standard deviation of each field, pooled over all windows and requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Standardiser {
    mean: [f64; REQUEST_FIELDS],
    /// The standard deviation; 1 for a field that never changes.
    deviation: [f64; REQUEST_FIELDS],
}

impl Standardiser {
    /// Fits to rows from [`rows`]. Without rows, values stay as they are.
    pub(super) fn fit(rows: ArrayView2<'_, f64>) -> Self {
        let requests = (rows.len() / REQUEST_FIELDS) as f64;
        if requests == 0.0 {
            return Self { mean: [0.0; REQUEST_FIELDS], deviation: [1.0; REQUEST_FIELDS] };
        }
        let each =
            || rows.into_iter().enumerate().map(|(cell, value)| (cell % REQUEST_FIELDS, value));
        let mut mean = [0.0; REQUEST_FIELDS];
        each().for_each(|(field, value)| mean[field] += value);
        mean.iter_mut().for_each(|sum| *sum /= requests);
        let mut squares = [0.0; REQUEST_FIELDS];
        each().for_each(|(field, value)| squares[field] += (value - mean[field]).powi(2));
        let deviation = squares.map(|sum| {
            let deviation = (sum / requests).sqrt();
            if deviation > 1e-12 { deviation } else { 1.0 }
        });
        Self { mean, deviation }
    }

    /// The standardised value of a cell in `column` of its row.
    pub(super) fn standardise(&self, column: usize, value: f64) -> f64 {
        let field = column % REQUEST_FIELDS;
        (value - self.mean[field]) / self.deviation[field]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use proptest::prelude::*;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::TenantId;

    fn request(at: u64, lba: u64, sectors: u32, op: Op) -> Request {
        Request { at: Nanos(at), lba: Sectors(lba), sectors, tenant: TenantId(0), op }
    }

    #[test]
    fn a_window_is_relative_to_its_first_request() {
        let requests = [
            request(1000, 500, 8, Op::Write),
            request(1000 + 99, 500 + 7, 16, Op::Read),
            request(2000, 500 - 31, 8, Op::Trim),
            request(9000, 1, 1, Op::Read),
            request(9000, 1, 1, Op::Read),
        ];
        let row = rows_of(&requests, 3);
        let expected = [
            [0.0, 0.0, 0.0, 1.0],
            [100f64.ln(), 8f64.ln(), (17f64 / 9.0).ln(), 0.0],
            [1001f64.ln(), -32f64.ln(), 0.0, 1.0],
        ];
        assert_eq!(row.len(), 12);
        for (seen, expected) in row.iter().zip(expected.as_flattened()) {
            assert!((seen - expected).abs() < 1e-5, "{seen} {expected}");
        }
    }

    #[test]
    fn moving_a_trace_in_time_and_space_changes_nothing() {
        let requests: Vec<Request> =
            (0..6500u64).map(|i| request(i * i, (i * 7919) % 10_007, 8, Op::Read)).collect();
        let moved: Vec<Request> = requests
            .iter()
            .map(|r| Request { at: r.at + Nanos(1 << 40), lba: r.lba + Sectors(1 << 30), ..*r })
            .collect();
        assert_eq!(rows(&requests), rows(&moved));
        assert_eq!(rows(&requests).len(), 2 * COLUMNS);
    }

    fn standardised(mut rows: Array2<f64>) -> Array2<f64> {
        let standardiser = Standardiser::fit(rows.view());
        for (column, mut cells) in rows.columns_mut().into_iter().enumerate() {
            cells.mapv_inplace(|value| standardiser.standardise(column, value));
        }
        rows
    }

    proptest! {
        #[test]
        fn standardised_fields_have_mean_0_and_variance_1(
            values in prop::collection::vec(-1e3f64..1e3, 8..400)
        ) {
            let rows = values.len() / (2 * REQUEST_FIELDS);
            let cells = values[..rows * 2 * REQUEST_FIELDS].to_vec();
            let shape = (rows, 2 * REQUEST_FIELDS);
            let rows = Array2::from_shape_vec(shape, cells).expect("whole rows");
            let again = Standardiser::fit(standardised(rows).view());
            for field in 0..REQUEST_FIELDS {
                prop_assert!(again.mean[field].abs() < 1e-9);
                prop_assert!((again.deviation[field] - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_constant_field_and_no_rows_do_no_harm() {
        let constant = standardised(Array2::from_elem((4, REQUEST_FIELDS), 3.0));
        assert!(constant.iter().all(|&value| value == 0.0));
        let none = Standardiser::fit(Array2::zeros((0, COLUMNS)).view());
        assert_eq!(
            none,
            Standardiser { mean: [0.0; REQUEST_FIELDS], deviation: [1.0; REQUEST_FIELDS] }
        );
    }
}
