//! How many flash pages a second a drive can serve: what intensity levels are measured by.
//!
//! Two writing and two reading tenants ask for equal shares, all channels are shared, and requests
//! are those of [`crate::mix`]. A rate saturates the drive if the last request completes later than
//! the last one arrives by more than `LATE` of the whole time. The least such rate is found by
//! bisection, to 1 %.
//!
//! Cost: about ten simulations of 100,000 requests.

use super::{MixSimulator, SimulationError};
use crate::mix::{Mix, MixTenant};
use crate::strategy::Strategy;
use ssdtune_experiment::{Served, serve};
use ssdtune_model::Nanos;
use ssdtune_sim::Stream;

/// Intensity level 20 ends at this share of the saturating rate.
pub const LEVEL_20_SHARE: f64 = 0.9;
/// How much later than the last arrival a saturated drive completes, as a share of the time.
const LATE: f64 = 0.02;
/// Requests that a rate is tried with.
const REQUESTS: u64 = 100_000;
/// The lowest and the highest rate that are tried, in flash pages a second.
const RATES: [f64; 2] = [1e3, 1e8];

/// The least rate that saturates a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// The rate, in flash pages a second.
    pub rate_pages: f64,
}

impl Saturation {
    /// Flash pages a second at which intensity level 20 ends.
    pub fn rate_max_pages(&self) -> f64 {
        (self.rate_pages * LEVEL_20_SHARE).round()
    }
}

impl MixSimulator<'_> {
    /// Finds the least rate that saturates the drive when all channels are shared.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn saturation(&self) -> Result<Saturation, SimulationError> {
        let [mut low, rate_max] = RATES;
        let mut high = low;
        while high < rate_max && !self.is_saturated(high)? {
            low = high;
            high *= 2.0;
        }
        while high / low > 1.01 {
            let middle = (low * high).sqrt();
            match self.is_saturated(middle)? {
                true => high = middle,
                false => low = middle,
            }
        }
        Ok(Saturation { rate_pages: high })
    }

    fn is_saturated(&self, rate_pages: f64) -> Result<bool, SimulationError> {
        let tenants = [true, true, false, false].map(|writes| MixTenant::plain(writes, 0.25));
        let mix = Mix { level: 20, tenants: tenants.into() };
        let mut options = self.request_options(0);
        // The rate is to be that of the middle of level 20.
        options.rate_max_pages *= rate_pages / mix.rate_pages(options.rate_max_pages);
        options.requests = REQUESTS;
        let mut drive = self.drive(&Strategy::Shared, &mix.writers())?;
        let mut last = Nanos::ZERO;
        let requests = mix.requests(options).inspect(|request| last = request.at);
        let stream = Stream { tenant: None, ..Stream::open(requests) };
        match serve(&mut drive, vec![stream], None, self.stop, |_, _, _| true) {
            Served::Completed | Served::GivenUp => {
                Ok(drive.now().0 as f64 > last.0 as f64 * (1.0 + LATE))
            }
            Served::Interrupted => Err(SimulationError::Interrupted),
            Served::OutOfSpace { .. } => {
                Err(SimulationError::OutOfSpace { strategy: Strategy::Shared })
            }
        }
    }
}
