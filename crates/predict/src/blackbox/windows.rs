//! Real traces, cut into windows: what the simulator measures of each and what a model says of it.
//!
//! A window is replayed on a drive of its own, in the state the model's points were measured in,
//! with so many requests outstanding (closed), or at its own times (open). Its first third is not
//! counted. Addresses beyond the drive's end are folded back; trims and flushes are left out.

use super::features::Characteristics;
use super::measure::{Bench, Figures, MeasureError};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, TenantId};

/// Requests of a window.
pub const WINDOW_REQUESTS: usize = 3_000;

/// The reads and writes of a trace, window by window; a rest is left out.
pub fn cut(requests: &[Request], length: usize) -> Vec<Vec<Request>> {
    let kept: Vec<Request> = requests
        .iter()
        .filter(|request| matches!(request.op, Op::Read | Op::Write) && request.sectors > 0)
        .map(|request| Request { tenant: TenantId(0), ..*request })
        .collect();
    kept.chunks_exact(length.max(3)).map(<[Request]>::to_vec).collect()
}

/// A window's characteristics, with so many outstanding or, open, at its own rate; none if it has
/// no duration.
pub fn characteristics(window: &[Request], depth: Option<u32>) -> Option<Characteristics> {
    match depth {
        Some(depth) => Some(Characteristics::of_requests(window, f64::from(depth), None)),
        None => {
            let (first, last) = (window.first()?.at.0, window.last()?.at.0);
            let seconds = (last > first).then(|| (last - first) as f64 / 1e9)?;
            let rate = (window.len() - 1) as f64 / seconds;
            Some(Characteristics::of_requests(window, 0.0, Some(rate)))
        }
    }
}

/// What the simulator measures of a window.
///
/// # Errors
/// As [`Bench::family`].
pub fn measure(
    bench: &Bench,
    window: &[Request],
    depth: Option<u32>,
) -> Result<Figures, MeasureError> {
    let begin = window.first().map_or(Nanos::ZERO, |request| request.at);
    bench.replay(depth, window.len() as u64 / 3, |space: Sectors| {
        let fold = move |request: &Request| {
            let room = space.0.saturating_sub(u64::from(request.sectors)).max(1);
            let lba = Sectors(request.lba.0 % room);
            Request { at: request.at - begin, lba, ..*request }
        };
        window.iter().map(fold).collect()
    })
}
