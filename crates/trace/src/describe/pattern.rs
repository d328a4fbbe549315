//! How the requests of one stream follow each other: runs, strides and jumps.
//!
//! After Li, Huang, "Black-Box Performance Modeling for Solid-State Drives" (MASCOTS 2010), section
//! II. A request is *sequential* when it starts where the one before it ended. It is *strided* when
//! it is not sequential and starts as far from the start of the one before it as that one did from
//! its own predecessor. Every other request but the first is *random*.
//!
//! Looks at direct neighbours only, unlike [`SequenceDescription`](super::SequenceDescription),
//! which follows many interleaved runs. Memory: one counter for each stride that occurs.

use crate::Request;
use ssdtune_model::SECTOR_BYTES;
use std::collections::BTreeMap;

/// How the requests of one stream follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccessPattern {
    /// Requests in the stream.
    pub requests: usize,
    /// Mean size of a request in bytes; 0 for an empty stream.
    pub mean_bytes: f64,
    /// Share of random requests among all but the first, 0 to 1.
    pub random_share: f64,
    /// The most frequent stride in bytes, from start to start; the smaller one of two equally
    /// frequent ones. 0 when fewer than half of the requests are strided.
    pub stride_bytes: f64,
}

impl AccessPattern {
    /// The pattern of `requests`, taken as one stream.
    pub fn of<'r>(requests: impl IntoIterator<Item = &'r Request>) -> Self {
        let (mut count, mut sectors, mut random) = (0usize, 0u64, 0usize);
        let mut strides: BTreeMap<i64, usize> = BTreeMap::new();
        let mut last: Option<&Request> = None;
        let mut last_distance = None;
        for request in requests {
            count += 1;
            sectors += u64::from(request.sectors);
            if let Some(before) = last {
                let distance = request.lba.0.wrapping_sub(before.lba.0) as i64;
                let sequential = request.lba.0 == before.lba.0 + u64::from(before.sectors);
                if !sequential && last_distance == Some(distance) && distance != 0 {
                    *strides.entry(distance).or_default() += 1;
                } else if !sequential {
                    random += 1;
                }
                last_distance = Some(distance);
            }
            last = Some(request);
        }
        let strided: usize = strides.values().sum();
        let most = strides
            .iter()
            .max_by_key(|&(distance, n)| (*n, -distance.unsigned_abs().cast_signed()));
        let stride_sectors = match most {
            Some((distance, _)) if 2 * strided >= count => distance.unsigned_abs(),
            _ => 0,
        };
        let bytes = sectors as f64 * SECTOR_BYTES as f64;
        Self {
            requests: count,
            mean_bytes: if count == 0 { 0.0 } else { bytes / count as f64 },
            random_share: if count < 2 { 0.0 } else { random as f64 / (count - 1) as f64 },
            stride_bytes: stride_sectors as f64 * SECTOR_BYTES as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, TenantId};
    use ssdtune_model::{Nanos, Sectors};

    fn of(places: &[(u64, u32)]) -> AccessPattern {
        let requests: Vec<Request> = places
            .iter()
            .map(|&(lba, sectors)| Request {
                at: Nanos(0),
                lba: Sectors(lba),
                sectors,
                tenant: TenantId(0),
                op: Op::Read,
            })
            .collect();
        AccessPattern::of(&requests)
    }

    #[test]
    fn runs_strides_and_jumps_by_hand() {
        let run = of(&[(0, 8), (8, 8), (16, 16), (32, 8)]);
        assert_eq!((run.requests, run.mean_bytes), (4, 5120.0));
        assert_eq!((run.random_share, run.stride_bytes), (0.0, 0.0));
        // The first distance of a stride repeats nothing and counts as random.
        let backwards = of(&[(400, 8), (300, 8), (200, 8), (100, 8), (0, 8)]);
        assert_eq!((backwards.random_share, backwards.stride_bytes), (0.25, 51_200.0));
        // One strided request of five is no stride of the stream.
        let jumps = of(&[(0, 8), (100, 8), (200, 8), (7, 8), (900, 8)]);
        assert_eq!((jumps.random_share, jumps.stride_bytes), (0.75, 0.0));
        // A request at the place of the one before it is random, not strided.
        assert_eq!(of(&[(5, 8), (5, 8), (5, 8)]).random_share, 1.0);
        assert_eq!(of(&[]), AccessPattern::default());
    }
}
