//! Runs and strides of one operation, for each tenant.

use crate::TenantId;
use serde::Serialize;

/// The number of earlier requests of a tenant that a request may continue and still be
/// near-sequential.
const ENDS: usize = 32;
/// The number of strides counted at a time. A Misra-Gries summary of 64 finds every stride that has
/// more than 1/65 of the repeats.
const STRIDES: usize = 64;

/// Runs and strides of the requests of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SequenceDescription {
    /// The share of requests that start where the one before them of the same tenant ended.
    pub sequential_share: f64,
    /// The share of requests that start where one of the 32 requests before them ended, so that
    /// interleaved runs count too.
    pub near_sequential_share: f64,
    /// The mean number of continuations in a near-sequential run of at least one.
    pub mean_run: f64,
    /// The share of requests that are as far from the start of the one before them as that one is
    /// from its own predecessor. Sequential requests do not count.
    pub stride_share: f64,
    /// The most frequent of these distances, at most five.
    pub strides: Vec<StrideCount>,
}

/// A stride, and how often it was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StrideCount {
    /// The distance from start to start; negative if addresses fall.
    pub distance_bytes: i64,
    /// The number of repeats, or less: a lower bound.
    pub count: u64,
}

/// The recent requests of one tenant.
#[derive(Clone, Debug)]
struct Trail {
    /// The ends of the last requests, and whether each continued a run.
    ends: [(u64, bool); ENDS],
    next: usize,
    start: u64,
    distance: i64,
    seen: u64,
}

/// Measures the runs and strides of one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    trails: Vec<Option<Box<Trail>>>,
    requests: u64,
    sequential: u64,
    near: u64,
    runs: u64,
    strided: u64,
    strides: Vec<(i64, u64)>,
}

impl Sequence {
    pub(super) fn push(&mut self, tenant: TenantId, start: u64, sectors: u32) {
        self.requests += 1;
        let index = usize::from(tenant.0);
        if index >= self.trails.len() {
            self.trails.resize_with(index + 1, || None);
        }
        let trail = self.trails[index].get_or_insert_with(|| {
            Box::new(Trail {
                ends: [(u64::MAX, false); ENDS],
                next: 0,
                start,
                distance: 0,
                seen: 0,
            })
        });
        let latest = (trail.next + ENDS - 1) % ENDS;
        let sequential = trail.ends[latest].0 == start;
        let continued = if sequential {
            Some(latest)
        } else {
            trail.ends.iter().position(|&(end, _)| end == start)
        };
        let distance = start.wrapping_sub(trail.start) as i64;
        let strided = trail.seen >= 2 && distance == trail.distance && distance != 0 && !sequential;
        trail.start = start;
        trail.distance = distance;
        trail.seen += 1;
        self.sequential += u64::from(sequential);
        if let Some(slot) = continued {
            self.near += 1;
            self.runs += u64::from(!trail.ends[slot].1);
            // A continued end is removed, so that a repeat of the continuation does not count as
            // another.
            trail.ends[slot] = (u64::MAX, false);
        }
        trail.ends[trail.next] = (start.saturating_add(u64::from(sectors)), continued.is_some());
        trail.next = (trail.next + 1) % ENDS;
        if strided {
            self.strided += 1;
            self.count_stride(distance);
        }
    }

    fn count_stride(&mut self, distance: i64) {
        if let Some(found) = self.strides.iter_mut().find(|(known, _)| *known == distance) {
            found.1 += 1;
        } else if self.strides.len() < STRIDES {
            self.strides.push((distance, 1));
        } else {
            self.strides.iter_mut().for_each(|(_, count)| *count -= 1);
            self.strides.retain(|&(_, count)| count > 0);
        }
    }

    pub(super) fn describe(&self) -> SequenceDescription {
        let share = |count: u64| super::ratio(count, self.requests);
        let mut strides = self.strides.clone();
        strides.sort_by_key(|&(distance, count)| (std::cmp::Reverse(count), distance));
        SequenceDescription {
            sequential_share: share(self.sequential),
            near_sequential_share: share(self.near),
            mean_run: super::ratio(self.near, self.runs),
            stride_share: share(self.strided),
            strides: strides
                .into_iter()
                .take(5)
                .map(|(sectors, count)| StrideCount {
                    distance_bytes: sectors.saturating_mul(512),
                    count,
                })
                .collect(),
        }
    }
}
