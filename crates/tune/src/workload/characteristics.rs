//! What the requests of a trace are like, as a few numbers that a learner can compare.

use serde::{Deserialize, Serialize};
use ssdtune_model::SECTOR_BYTES;
use ssdtune_trace::Request;
use ssdtune_trace::features::blackbox::{Extended, extended};

/// What requests are like. Field names are part of the format of AutoDB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Characteristics {
    /// The number of requests.
    pub requests: u64,
    /// Arrivals in a second; 0 where all requests arrive at once.
    pub rate_iops: f64,
    /// Bytes that the requests touch at least once.
    pub footprint_bytes: f64,
    /// Sizes, shares and strides by equation 4 of Li and Huang. Its queue depth is 0: the depth is
    /// no property of the requests.
    pub pattern: Extended,
}

impl Characteristics {
    /// The characteristics of requests that touch this many sectors.
    pub fn of(requests: &[Request], footprint_sectors: u64) -> Self {
        let seconds = match requests {
            [first, .., last] => last.at.0.saturating_sub(first.at.0) as f64 / 1e9,
            _ => 0.0,
        };
        let rate = (requests.len().saturating_sub(1)) as f64 / seconds;
        Self {
            requests: requests.len() as u64,
            rate_iops: if seconds > 0.0 { rate } else { 0.0 },
            footprint_bytes: (footprint_sectors * SECTOR_BYTES) as f64,
            pattern: extended(requests, 0.0),
        }
    }

    /// The columns of a learner. What ranges over orders of magnitude goes in as a binary logarithm.
    pub(crate) fn columns(&self, depth: u32) -> [f64; 11] {
        let log2 = |value: f64| value.max(1.0).log2();
        let Extended { rw_ratio, wr_size, rd_size, wr_rand, rd_rand, wr_stride, rd_stride, .. } =
            self.pattern;
        [
            log2(self.requests as f64),
            log2(f64::from(depth)),
            log2(self.rate_iops),
            log2(self.footprint_bytes),
            rw_ratio,
            log2(wr_size),
            log2(rd_size),
            wr_rand,
            rd_rand,
            log2(wr_stride),
            log2(rd_stride),
        ]
    }
}
