//! Selects requests: filters, cuts, and removal of requests that a trace recorded twice.

use super::Transform;
use crate::error::TraceError;
use crate::request::{Op, Request};
use ssdtune_model::{Bytes, Nanos, SECTOR_BYTES, Sectors, TenantId};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Keeps the requests that meet every condition. A condition that is `None` is met by all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The operations to keep.
    pub ops: Option<Vec<Op>>,
    /// The sizes to keep, in sectors.
    pub sectors: Option<Range<u32>>,
    /// The addresses to keep: a request must lie completely inside. Flushes have no address and are
    /// kept.
    pub addresses: Option<Range<Sectors>>,
    /// The tenants to keep.
    pub tenants: Option<Vec<TenantId>>,
}

impl Filter {
    /// Keeps only requests of at least and at most these sizes.
    #[must_use]
    pub fn with_sizes(mut self, least: Option<Bytes>, most: Option<Bytes>) -> Self {
        let clamp = |sectors: u64| u32::try_from(sectors).unwrap_or(u32::MAX);
        if least.is_some() || most.is_some() {
            let start = least.map_or(0, |bytes| clamp(bytes.0.div_ceil(SECTOR_BYTES)));
            let end = most.map_or(u32::MAX, |bytes| clamp(bytes.0 / SECTOR_BYTES + 1));
            self.sectors = Some(start..end);
        }
        self
    }

    /// Keeps only requests that begin at `first` or above it and end at `end` or below it.
    #[must_use]
    pub fn with_addresses(mut self, first: Option<Bytes>, end: Option<Bytes>) -> Self {
        if first.is_some() || end.is_some() {
            let first = first.map_or(0, |bytes| bytes.0.div_ceil(SECTOR_BYTES));
            let end = end.map_or(Sectors::MAX, |bytes| bytes.sectors_floor());
            self.addresses = Some(Sectors(first)..end);
        }
        self
    }

    /// The filter, if it has any condition.
    pub fn if_any(self) -> Option<Self> {
        let Self { ops, sectors, addresses, tenants } = &self;
        let any = ops.is_some() || sectors.is_some() || addresses.is_some() || tenants.is_some();
        any.then_some(self)
    }

    fn keeps(&self, r: &Request) -> bool {
        let in_range = |range: &Range<Sectors>| {
            r.op == Op::Flush || (range.start <= r.lba && r.end() <= range.end)
        };
        self.ops.as_ref().is_none_or(|ops| ops.contains(&r.op))
            && self.sectors.as_ref().is_none_or(|s| s.contains(&r.sectors))
            && self.addresses.as_ref().is_none_or(in_range)
            && self.tenants.as_ref().is_none_or(|t| t.contains(&r.tenant))
    }
}

impl Transform for Filter {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.retain(|r| self.keeps(r));
        Ok(())
    }
}

/// Keeps a part of a trace. Times are counted from the start of the part.
#[derive(Clone, Debug)]
pub struct Cut {
    time: Range<Nanos>,
    skip: u64,
    left: u64,
    done: bool,
}

impl Cut {
    /// Keeps the requests that arrive within `time`, without the first `skip` of them, and at most
    /// `count`.
    pub fn new(time: Range<Nanos>, skip: u64, count: u64) -> Self {
        Self { time, skip, left: count, done: count == 0 }
    }

    /// The part between two times, if any, and between two numbers; `None` if that is all.
    pub fn of_parts(
        (start, end): (Option<Nanos>, Option<Nanos>),
        skip: u64,
        count: Option<u64>,
    ) -> Option<Self> {
        let is_part = start.is_some() || end.is_some() || skip > 0 || count.is_some();
        let time = start.unwrap_or_default()..end.unwrap_or(Nanos::MAX);
        is_part.then(|| Self::new(time, skip, count.unwrap_or(u64::MAX)))
    }
}

impl Transform for Cut {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.retain_mut(|r| {
            self.done |= r.at >= self.time.end;
            if self.done || r.at < self.time.start {
                return false;
            }
            if self.skip > 0 {
                self.skip -= 1;
                return false;
            }
            self.left -= 1;
            self.done = self.left == 0;
            r.at -= self.time.start;
            true
        });
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

/// Drops a request that repeats an earlier one: the operation, address, size and tenant are equal,
/// and the earlier one was seen at most a window before.
///
/// Layered block devices and requeued requests make a tracer record one request twice. Every
/// sighting restarts the window, also that of a dropped request. Flushes are never dropped. Memory:
/// one entry for each request within a window.
#[derive(Debug)]
pub struct Deduplicate {
    window: Nanos,
    seen: HashMap<(Op, Sectors, u32, TenantId), Nanos>,
    /// The sightings within the window, in order of time.
    sightings: VecDeque<(Nanos, (Op, Sectors, u32, TenantId))>,
    dropped: u64,
}

impl Deduplicate {
    /// Drops repeats within `window`.
    pub fn new(window: Nanos) -> Self {
        Self { window, seen: HashMap::new(), sightings: VecDeque::new(), dropped: 0 }
    }

    /// The number of requests dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn forget(&mut self, now: Nanos) {
        while let Some(&(at, key)) = self.sightings.front() {
            if now - at <= self.window {
                break;
            }
            self.sightings.pop_front();
            if self.seen.get(&key) == Some(&at) {
                self.seen.remove(&key);
            }
        }
    }
}

impl Transform for Deduplicate {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        let before = batch.len();
        batch.retain(|r| {
            if r.op == Op::Flush {
                return true;
            }
            self.forget(r.at);
            let key = (r.op, r.lba, r.sectors, r.tenant);
            self.sightings.push_back((r.at, key));
            self.seen.insert(key, r.at).is_none()
        });
        self.dropped += (before - batch.len()) as u64;
        Ok(())
    }
}
