//! The published definitions on streams small enough to work out by hand.

use super::autoblox::{ENTRY_FIELDS, Standardiser, WINDOW_REQUESTS, windows, windows_of};
use super::ssdkeeper::{self, Intensity};
use super::{Matrix, blackbox};
use crate::{Op, Request, TenantId};
use proptest::prelude::*;
use ssdtune_model::{Nanos, Sectors};

fn request(at: u64, lba: u64, sectors: u32, op: Op) -> Request {
    Request { at: Nanos(at), lba: Sectors(lba), sectors, tenant: TenantId(0), op }
}

#[test]
fn a_window_is_relative_to_its_first_entry() {
    let requests = [
        request(1000, 500, 8, Op::Write),
        request(1000 + 99, 500 + 7, 16, Op::Read),
        request(2000, 500 - 31, 8, Op::Trim),
        request(9000, 1, 1, Op::Read),
        request(9000, 1, 1, Op::Read),
    ];
    let matrix = windows_of(&requests, 3);
    assert_eq!((matrix.rows(), matrix.columns), (1, 12));
    let expected = [
        [0.0, 0.0, 0.0, 1.0],
        [100f32.ln(), 8f32.ln(), (17f32 / 9.0).ln(), 0.0],
        [1001f32.ln(), -32f32.ln(), 0.0, 1.0],
    ];
    for (seen, expected) in matrix.row(0).iter().zip(expected.as_flattened()) {
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
    assert_eq!(windows(&requests), windows(&moved));
    assert_eq!(windows(&requests).rows(), 6500 / WINDOW_REQUESTS);
}

proptest! {
    #[test]
    fn standardised_fields_have_mean_0_and_variance_1(
        values in prop::collection::vec(-1e3f32..1e3, 8..400)
    ) {
        let length = values.len() / ENTRY_FIELDS * ENTRY_FIELDS;
        let mut matrix = Matrix { data: values[..length].to_vec(), columns: ENTRY_FIELDS };
        let standardiser = Standardiser::fit(&matrix);
        standardiser.apply(&mut matrix);
        let again = Standardiser::fit(&matrix);
        for field in 0..ENTRY_FIELDS {
            prop_assert!(again.mean[field].abs() < 1e-3);
            prop_assert!((again.deviation[field] - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn a_constant_field_and_an_empty_matrix_do_no_harm() {
    let mut matrix = Matrix { data: vec![3.0; 4 * ENTRY_FIELDS], columns: ENTRY_FIELDS };
    Standardiser::fit(&matrix).apply(&mut matrix);
    assert!(matrix.data.iter().all(|&value| value == 0.0));
    assert_eq!(Standardiser::fit(&Matrix::default()).deviation, [1.0; ENTRY_FIELDS]);
    assert_eq!(Matrix::default().rows(), 0);
}

#[test]
fn four_tenants_give_the_vector_of_the_paper() {
    // The form of section V-A: [f5] [1, 0, 1, 0] [0.1, 0.2, 0.3, 0.4].
    let mut requests = Vec::new();
    for i in 0..1000u64 {
        let (tenant, op) = match i % 10 {
            0 => (0, Op::Read),
            1 | 2 => (1, Op::Write),
            3..=5 => (2, Op::Read),
            _ => (3, Op::Write),
        };
        requests.push(Request { tenant: TenantId(tenant), ..request(i * 1_001_001, 0, 8, op) });
    }
    // 1,000 requests in 1 s, the highest level ends at 4,000 a second: 5 of 20.
    let features = ssdkeeper::features(&requests, Intensity { requests_per_s_max: 4000.0 });
    assert_eq!(features.vector(), [5.0, 1.0, 0.0, 1.0, 0.0, 0.1, 0.2, 0.3, 0.4]);
    let top = ssdkeeper::features(&requests, Intensity { requests_per_s_max: 10.0 });
    assert_eq!(top.level, 19);
    assert_eq!(ssdkeeper::features(&[], Intensity { requests_per_s_max: 1.0 }).vector(), [0.0; 9]);
}

#[test]
fn characteristics_of_runs_strides_and_jumps() {
    // Writes: 64 KiB apart, 4 KiB each. Reads: one run of 8 KiB. Interleaved they are random.
    let requests: Vec<Request> = (0..100u64)
        .flat_map(|i| {
            [
                request(2 * i, i * 128, 8, Op::Write),
                request(2 * i + 1, 1_000_000 + i * 16, 16, Op::Read),
            ]
        })
        .collect();
    let extended = blackbox::extended(&requests, 16.0);
    // The first distance of a stride cannot be a repeat: 1 of 99 counts as random.
    assert_eq!(extended.vector(), [0.5, 16.0, 4096.0, 8192.0, 1.0 / 99.0, 0.0, 65536.0, 0.0]);
    let basic = blackbox::basic(&requests, 1.0);
    assert_eq!((basic.rw_ratio, basic.req_size, basic.rand), (0.5, 6144.0, 1.0));
    assert_eq!(blackbox::basic(&[], 1.0).vector(), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn littles_law() {
    let requests: Vec<Request> = (0..11).map(|i| request(i * 100, 0, 8, Op::Read)).collect();
    assert!((blackbox::mean_outstanding(&requests, 250.0) - 2.5).abs() < 1e-12);
}
