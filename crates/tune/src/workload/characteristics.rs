//! Characteristics of a trace: a few numbers from which a learner can tell traces apart.

use serde::{Deserialize, Serialize};
use ssdtune_model::SECTOR_BYTES;
use ssdtune_trace::describe::AccessPattern;
use ssdtune_trace::{Op, Request};

/// Characteristics of the requests of a trace. Field names are part of the format of AutoDB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Characteristics {
    /// The number of requests.
    pub requests: u64,
    /// Arrivals in a second; 0 where all requests arrive at once.
    pub rate_iops: f64,
    /// Bytes that the requests touch at least once.
    pub footprint_bytes: f64,
    /// Sizes, shares and strides of reads and writes.
    pub pattern: ReadsAndWrites,
}

/// Sizes, shares and strides, defined as in [`AccessPattern`]; all are 0 for an operation that does
/// not occur. AutoDB stores them under the names of equation 4 of Li and Huang, "Black-Box
/// Performance Modeling for Solid-State Drives".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadsAndWrites {
    /// Share of writes among reads and writes, 0 to 1.
    #[serde(rename = "rw_ratio")]
    pub write_share: f64,
    /// The equation's queue depth, in stored records: always 0, since the depth is no property of
    /// the requests.
    q_dep: f64,
    /// Mean size of a write in bytes.
    #[serde(rename = "wr_size")]
    pub write_bytes: f64,
    /// Mean size of a read in bytes.
    #[serde(rename = "rd_size")]
    pub read_bytes: f64,
    /// Share of random requests among writes, 0 to 1.
    #[serde(rename = "wr_rand")]
    pub random_write_share: f64,
    /// Share of random requests among reads, 0 to 1.
    #[serde(rename = "rd_rand")]
    pub random_read_share: f64,
    /// Stride of writes in bytes, from start to start.
    #[serde(rename = "wr_stride")]
    pub write_stride_bytes: f64,
    /// Stride of reads in bytes, from start to start.
    #[serde(rename = "rd_stride")]
    pub read_stride_bytes: f64,
}

impl ReadsAndWrites {
    /// The sizes, shares and strides of requests.
    pub fn of(requests: &[Request]) -> Self {
        let [reads, writes] = [Op::Read, Op::Write]
            .map(|op| AccessPattern::of(requests.iter().filter(|request| request.op == op)));
        let both = reads.requests + writes.requests;
        Self {
            write_share: if both == 0 { 0.0 } else { writes.requests as f64 / both as f64 },
            q_dep: 0.0,
            write_bytes: writes.mean_bytes,
            read_bytes: reads.mean_bytes,
            random_write_share: writes.random_share,
            random_read_share: reads.random_share,
            write_stride_bytes: writes.stride_bytes,
            read_stride_bytes: reads.stride_bytes,
        }
    }
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
            pattern: ReadsAndWrites::of(requests),
        }
    }
}
