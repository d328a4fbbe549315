//! Which requests stay: filters, cuts, and capture artefacts taken out.

use super::Transform;
use crate::error::TraceError;
use crate::request::{Op, Request, TenantId};
use ssdtune_model::{Nanos, Sectors};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Keeps requests that meet every condition given.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these operations.
    pub ops: Option<Vec<Op>>,
    /// Only sizes in this range, in sectors.
    pub sectors: Option<Range<u32>>,
    /// Only requests that lie wholly in this range. Flushes have no address and stay.
    pub addresses: Option<Range<Sectors>>,
    /// Only these tenants.
    pub tenants: Option<Vec<TenantId>>,
}

impl Filter {
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

/// Keeps a stretch of a trace, counted anew from its start.
#[derive(Clone, Debug)]
pub struct Cut {
    time: Range<Nanos>,
    skip: u64,
    left: u64,
    done: bool,
}

impl Cut {
    /// Keeps the requests that arrive in `time`; of those passes over `skip` and keeps at most
    /// `count`.
    pub fn new(time: Range<Nanos>, skip: u64, count: u64) -> Self {
        Self { time, skip, left: count, done: count == 0 }
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

/// Drops a request that repeats another (operation, address, size, tenant) seen at most a window
/// earlier.
///
/// Layered block devices and requeues make a probe see one request twice. Every sighting restarts
/// the window, also one that is dropped. Memory: one entry per distinct request within a window.
#[derive(Debug)]
pub struct Deduplicate {
    window: Nanos,
    seen: HashMap<(Op, Sectors, u32, TenantId), Nanos>,
    /// Sightings in order of time, to forget by.
    sightings: VecDeque<(Nanos, (Op, Sectors, u32, TenantId))>,
    dropped: u64,
}

impl Deduplicate {
    /// Drops repeats within `window`.
    pub fn new(window: Nanos) -> Self {
        Self { window, seen: HashMap::new(), sightings: VecDeque::new(), dropped: 0 }
    }

    /// How many were dropped so far.
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
