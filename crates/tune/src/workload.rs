//! What drives are judged by: workloads, each a name, the depth of its closed loop, and recorded or
//! generated requests in memory.
//!
//! A trace also knows its footprint, the merged extents it touches, so that a drive can hold them before the
//! run: reading pages that were never written costs no flash read and would flatter every drive alike. The
//! footprint costs a sort of the requests once; requests take 24 bytes each.

mod characteristics;

pub use characteristics::{Characteristics, ReadsAndWrites};

use crate::digest::{Digest, digest_requests};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::workload::{Generator, Model, ModelError, Seed};
use ssdtune_trace::{Op, Request, TenantId};
use std::sync::{Arc, OnceLock};

/// A named category with the traces that stand for it.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name in reports.
    pub name: String,
    /// Requests outstanding in the closed loop.
    pub depth: u32,
    /// At least one.
    pub traces: Vec<Trace>,
}

/// One stream of requests.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name in reports.
    pub name: String,
    requests: Arc<Vec<Request>>,
    /// Only the first so many count.
    length: usize,
    digest: Digest,
    footprint: Arc<OnceLock<Vec<Extent>>>,
    characteristics: Arc<OnceLock<Characteristics>>,
}

/// A run of sectors that a trace touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// Its first sector.
    pub first: u64,
    /// The sector after its last.
    pub end: u64,
}

/// Extents are rounded to this many sectors (4 KiB), the smallest page of the drives searched.
const GRAIN: u64 = 8;
/// Sectors of one write when a footprint is laid down: 1 MiB.
const WRITE_SECTORS: u64 = 2_048;

impl Trace {
    /// Requests in order of time. They become those of one tenant.
    pub fn new(name: impl Into<String>, mut requests: Vec<Request>) -> Self {
        for request in &mut requests {
            request.tenant = TenantId(0);
        }
        let (length, digest) = (requests.len(), digest_requests(&requests));
        Self {
            name: name.into(),
            requests: Arc::new(requests),
            length,
            digest,
            footprint: Arc::default(),
            characteristics: Arc::default(),
        }
    }

    /// The first requests of a model.
    ///
    /// # Errors
    /// The model is not sound.
    pub fn of_model(model: &Model, seed: Seed, requests: usize) -> Result<Self, ModelError> {
        let generator = Generator::new(model, seed)?;
        Ok(Self::new(&model.name, generator.take(requests).collect()))
    }

    /// Only its first requests, if it has more.
    #[must_use]
    pub fn prefix(&self, length: usize) -> Self {
        if length >= self.length {
            return self.clone();
        }
        Self { length, footprint: Arc::default(), characteristics: Arc::default(), ..self.clone() }
    }

    /// The requests.
    pub fn requests(&self) -> &[Request] {
        &self.requests[..self.length]
    }

    /// The digest of the whole stream it is the beginning of.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What it touches, in rising order, without gaps or overlaps between neighbours.
    pub fn footprint(&self) -> &[Extent] {
        self.footprint.get_or_init(|| footprint(self.requests()))
    }

    /// What its requests are like.
    pub fn characteristics(&self) -> &Characteristics {
        self.characteristics
            .get_or_init(|| Characteristics::of(self.requests(), self.footprint_sectors()))
    }

    /// Sectors of the footprint: what laying it down costs.
    pub fn footprint_sectors(&self) -> u64 {
        self.footprint().iter().map(|extent| extent.end - extent.first).sum()
    }

    /// Writes that lay the footprint down, in the order of addresses.
    pub fn laying(&self) -> impl Iterator<Item = Request> + '_ {
        self.footprint().iter().flat_map(|extent| {
            let starts = (extent.first..extent.end).step_by(WRITE_SECTORS as usize);
            starts.map(|first| Request {
                at: Nanos::ZERO,
                lba: Sectors(first),
                sectors: (extent.end - first).min(WRITE_SECTORS) as u32,
                tenant: TenantId(0),
                op: Op::Write,
            })
        })
    }
}

fn footprint(requests: &[Request]) -> Vec<Extent> {
    let moving = requests.iter().filter(|request| request.sectors > 0);
    let mut extents: Vec<Extent> = moving
        .map(|request| Extent {
            first: request.lba.0 / GRAIN * GRAIN,
            end: request.end().0.div_ceil(GRAIN) * GRAIN,
        })
        .collect();
    extents.sort_unstable();
    let mut merged: Vec<Extent> = Vec::new();
    for extent in extents {
        match merged.last_mut() {
            Some(last) if extent.first <= last.end => last.end = last.end.max(extent.end),
            _ => merged.push(extent),
        }
    }
    merged
}

/// Depths of AutoBlox's replay (`Best_Queue_Size` of its artifact), by the names of the bundled models.
const DEPTHS: [(&str, u32); 7] = [
    ("batch-analytics", 256),
    ("cloud-storage", 4),
    ("database", 32),
    ("kvstore", 4),
    ("livemaps", 16),
    ("recomm", 16),
    ("websearch", 256),
];

/// The depth for workloads that nothing is published about.
pub const DEFAULT_DEPTH: u32 = 16;

/// The published closed-loop depth of a workload, or [`DEFAULT_DEPTH`].
pub fn published_depth(name: &str) -> u32 {
    let base = name.split('@').next().unwrap_or(name);
    let found = DEPTHS.iter().find(|(own, _)| *own == base);
    found.map_or(DEFAULT_DEPTH, |(_, depth)| *depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(lba: u64, sectors: u32) -> Request {
        let (at, lba, tenant) = (Nanos::ZERO, Sectors(lba), TenantId(3));
        Request { at, lba, sectors, tenant, op: Op::Read }
    }

    #[test]
    fn a_footprint_is_what_is_touched_and_no_more() {
        let all = vec![request(100, 8), request(0, 8), request(4, 8), request(5_000, 4_000)];
        let trace = Trace::new("t", all);
        let extents: Vec<(u64, u64)> =
            trace.footprint().iter().map(|extent| (extent.first, extent.end)).collect();
        assert_eq!(extents, [(0, 16), (96, 112), (5_000, 9_000)]);
        let laid: u64 = trace.laying().map(|write| u64::from(write.sectors)).sum();
        assert_eq!(laid, trace.footprint_sectors());
        assert!(trace.laying().all(|write| write.tenant == TenantId(0)));
        assert_eq!(trace.prefix(1).footprint_sectors(), 16);
        assert_eq!(trace.prefix(1).digest(), trace.digest());
    }

    #[test]
    fn published_depths_are_of_bundled_models() {
        for (name, depth) in DEPTHS {
            assert!(ssdtune_trace::workload::bundled(name).is_ok(), "{name}");
            assert_eq!(published_depth(&format!("{name}@skew-half")), depth);
        }
        assert_eq!(published_depth("mine"), DEFAULT_DEPTH);
    }
}
