//! Runs and strides of one operation, tenant by tenant.

use crate::TenantId;
use serde::Serialize;

/// How many earlier ends of a tenant a request may continue and still count as near-sequential.
const ENDS: usize = 32;
/// Strides counted at once; a Misra-Gries summary of 64 finds every stride with over 1/65 of the
/// repeats.
const STRIDES: usize = 64;

/// Runs and strides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SequenceDescription {
    /// Requests that start where the one before (same tenant, same operation) ended.
    pub sequential_share: f64,
    /// Requests that start where one of the 32 before ended: interleaved runs count too.
    pub near_sequential_share: f64,
    /// Mean continuations in a near-sequential run, over runs of one or more.
    pub mean_run: f64,
    /// Requests at the same distance from the one before as that one from its own, sequential ones
    /// aside.
    pub stride_share: f64,
    /// The most frequent of those distances, at most five.
    pub strides: Vec<StrideCount>,
}

/// A distance and a lower bound on how often it was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StrideCount {
    /// From start to start; negative runs downwards.
    pub distance_bytes: i64,
    /// At least this many repeats.
    pub count: u64,
}

#[derive(Clone, Debug)]
struct Trail {
    /// End and whether a run led to it.
    ends: [(u64, bool); ENDS],
    next: usize,
    start: u64,
    distance: i64,
    seen: u64,
}

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
            // A continued end is used up: a repeat of the same start is no second continuation.
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
