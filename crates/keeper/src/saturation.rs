//! Where a drive saturates: what intensity levels are measured by.
//!
//! Two writing and two reading tenants with equal shares, all channels shared, requests as in [`crate::mix`]. A rate
//! saturates the drive when the requests take `LATE` of their own time longer to complete than to
//! arrive. Level 20 ends at [`SHARE`] of the least rate that does, found by bisection to 1 %.
//!
//! Cost: about ten simulations.

use crate::bench::{Bench, BenchError};
use crate::mix::{Mix, MixTenant};
use crate::strategy::Strategy;
use ssdtune_model::Nanos;
use ssdtune_sim::Stream;

/// Share of the saturating rate at which level 20 ends.
pub const SHARE: f64 = 0.9;
/// How much later than the last arrival the last completion of a saturated drive is.
const LATE: f64 = 0.02;
/// Requests that a rate is tried with.
const REQUESTS: u64 = 100_000;
/// Rates are searched up to this.
const RATE_MAX: f64 = 1e8;

/// The least rate that saturates the drive, in flash pages a second.
///
/// # Errors
/// The drive cannot be simulated, has no room, or the caller stopped it.
pub fn rate_pages(bench: &Bench) -> Result<f64, BenchError> {
    let mut low = 1e3;
    let mut high = low;
    while high < RATE_MAX && !is_saturated(bench, high)? {
        low = high;
        high *= 2.0;
    }
    while high / low > 1.01 {
        let middle = (low * high).sqrt();
        match is_saturated(bench, middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(high)
}

fn is_saturated(bench: &Bench, rate_pages: f64) -> Result<bool, BenchError> {
    let tenants = [true, true, false, false].map(|writes| MixTenant::plain(writes, 0.25));
    let mix = Mix { level: 20, tenants: tenants.into() };
    let writers = mix.writers();
    // The middle of level 20 is the rate.
    let mut play = bench.play(0);
    play.rate_max_pages *= rate_pages / mix.rate_pages(play.rate_max_pages);
    play.requests = REQUESTS;
    let mut drive = bench.drive(&Strategy::Shared, &writers)?;
    let mut last = Nanos::ZERO;
    let requests = mix.requests(play).inspect(|request| last = request.at);
    drive.run(vec![Stream { tenant: None, ..Stream::open(requests) }], |drive| {
        drive.take_completions();
        !bench.is_stopped()
    });
    if bench.is_stopped() {
        return Err(BenchError::Interrupted);
    }
    Ok(drive.now().0 as f64 > last.0 as f64 * (1.0 + LATE))
}
