//! A window as 46 numbers that do not depend on the order in which unrelated requests meet.
//!
//! The published vector (`cluster/paper.rs`) lists every request of a window relative to the first
//! one. Two windows of one workload then differ by what the first request happened to be, and by
//! the order of requests that have nothing to do with each other: half of the variance is that
//! noise.
//!
//! Here a window is described by logarithms of 8 quantiles of each of these: the gaps between
//! arrivals; the sizes of reads; the sizes of all other requests; the distance from a read to the
//! end of the read before it; that distance among all other requests. Then come shares of the
//! requests: reads; those that begin where an earlier one of the window began; those that go on
//! where one of the last 16 ended; those that begin at a multiple of 4, 16 and 64 KiB.
//!
//! Groups count about equally: a share that is alone in its group weighs as much as 8 quantiles.
//!
//! Cost: about 150 ns for a request.

use super::paper::WINDOW_REQUESTS;
use ssdtune_trace::{Op, Request};

/// The number of quantiles of each distribution.
const QUANTILES: usize = 8;
/// A request is sequential if it begins where one of the last requests ended: this many are looked
/// at.
const STREAMS: usize = 16;
/// The alignments whose shares are counted, in sectors.
const ALIGNMENTS: [u64; 3] = [8, 32, 128];
/// The number of columns of a window.
pub(super) const COLUMNS: usize = 5 * QUANTILES + 1 + 2 + ALIGNMENTS.len();

/// The weight of each standardised column: the root of the number of columns that it counts as.
pub(super) fn weights() -> [f64; COLUMNS] {
    let mut weights = [1.0; COLUMNS];
    weights[5 * QUANTILES] = (QUANTILES as f64).sqrt();
    weights[5 * QUANTILES + 1..].fill(3f64.sqrt());
    weights
}

/// The features of every whole window, row by row.
pub(super) fn rows(requests: &[Request]) -> Vec<f64> {
    let windows = requests.chunks_exact(WINDOW_REQUESTS);
    let mut out = Vec::with_capacity(windows.len() * COLUMNS);
    for window in windows {
        push_row(window, &mut out);
    }
    out
}

/// Adds the features of one window.
fn push_row(window: &[Request], out: &mut Vec<f64>) {
    let gaps = window.windows(2).map(|two| two[1].at.0.saturating_sub(two[0].at.0));
    push_quantiles(gaps.collect(), out);
    let (reads, others): (Vec<&Request>, Vec<&Request>) =
        window.iter().partition(|request| request.op == Op::Read);
    for chosen in [&reads, &others] {
        push_quantiles(chosen.iter().map(|request| request.sectors.into()).collect(), out);
        let jumps = chosen.windows(2).map(|two| two[1].lba.0.abs_diff(two[0].end().0));
        push_quantiles(jumps.collect(), out);
    }
    let share = |count: usize| count as f64 / window.len() as f64;
    out.push(share(reads.len()));
    let mut places: Vec<u64> = window.iter().map(|request| request.lba.0 / ALIGNMENTS[0]).collect();
    places.sort_unstable();
    places.dedup();
    out.push(share(window.len() - places.len()));
    out.push(share(sequential(window)));
    for sectors in ALIGNMENTS {
        let aligned = |request: &&Request| request.lba.0.is_multiple_of(sectors);
        out.push(share(window.iter().filter(aligned).count()));
    }
}

/// The number of requests that begin where one of the last requests ended.
fn sequential(window: &[Request]) -> usize {
    let mut ends = [u64::MAX; STREAMS];
    let mut count = 0;
    for (number, request) in window.iter().enumerate() {
        count += usize::from(ends.contains(&request.lba.0));
        ends[number % STREAMS] = request.end().0;
    }
    count
}

/// Adds logarithms of the quantiles of values, taken at the middles of equal parts. Adds zeros if
/// there are no values.
fn push_quantiles(mut values: Vec<u64>, out: &mut Vec<f64>) {
    values.sort_unstable();
    let at = |part: usize| (2 * part + 1) * values.len() / (2 * QUANTILES);
    out.extend((0..QUANTILES).map(|part| values.get(at(part)).map_or(0.0, |&value| log1p(value))));
}

/// ln(1 + x).
fn log1p(x: u64) -> f64 {
    (x as f64 + 1.0).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::TenantId;

    fn request(at: u64, lba: u64, sectors: u32, op: Op) -> Request {
        Request { at: Nanos(at), lba: Sectors(lba), sectors, tenant: TenantId(0), op }
    }

    #[test]
    fn a_window_by_hand() {
        // Sequential reads of 8 sectors from 0. Every third request is a write of 16 sectors,
        // always to one place.
        let window: Vec<Request> = (0..WINDOW_REQUESTS as u64)
            .map(|i| match i % 3 {
                2 => request(i * 99, 1_000_000, 16, Op::Write),
                _ => request(i * 99, (i - i / 3) * 8, 8, Op::Read),
            })
            .collect();
        let row = rows(&window);
        assert_eq!(row.len(), COLUMNS);
        let all = |part: usize, expected: f64| {
            let part = &row[part * QUANTILES..(part + 1) * QUANTILES];
            assert!(part.iter().all(|value| (value - expected).abs() < 1e-12), "{part:?}");
        };
        all(0, 100f64.ln());
        all(1, 9f64.ln());
        all(2, 0.0);
        all(3, 17f64.ln());
        all(4, 17f64.ln());
        let shares = &row[5 * QUANTILES..];
        let count = WINDOW_REQUESTS as f64;
        let expected = [
            2.0 / 3.0,
            (count / 3.0 - 1.0) / count,
            (count * 2.0 / 3.0 - 1.0) / count,
            1.0,
            // A quarter of the reads, and all writes, since 1,000,000 = 32 * 31,250.
            (500.0 + 1000.0) / count,
            125.0 / count,
        ];
        for (seen, expected) in shares.iter().zip(expected) {
            assert!((seen - expected).abs() < 1e-12, "{shares:?}");
        }
    }

    #[test]
    fn order_of_unrelated_requests_and_a_part_of_a_window_do_not_count() {
        let window: Vec<Request> = (0..WINDOW_REQUESTS as u64 + 7)
            .map(|i| request(i * 10, i * 7919 % 1013 * 8, 8, Op::Read))
            .collect();
        assert_eq!(rows(&window).len(), COLUMNS);
        assert_eq!(rows(&window[..10]), [] as [f64; 0]);
        assert_eq!(COLUMNS, 46);
    }
}
