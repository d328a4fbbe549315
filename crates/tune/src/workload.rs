//! The workloads that drives are measured on: a name, the depth of the closed loop, and recorded or
//! generated requests in memory.
//!
//! A trace also knows its footprint: the extents that its requests touch. A drive can be filled
//! with these before a run. Otherwise reads of pages that were never written would cost no flash
//! read, and every drive would look too fast.
//!
//! Cost: 24 bytes for each request, and one sort of the requests for the footprint.

mod characteristics;
mod named;
mod published;
mod set;
mod source_name;
mod tested;
mod windows;

pub use characteristics::{Characteristics, ReadsAndWrites};
pub use named::{HeldTrace, LoadOptions, NamedError, NamedWorkload, Sampling};
pub use published::{
    DEFAULT_DEPTH, PublishedWorkload, published_categories, published_depth, published_workloads,
};
pub use set::{SetOptions, WorkloadSet, parse_depth};
pub use source_name::SourceName;
pub use tested::outside_tested_range;
pub use windows::{WHOLE_MAX, WINDOWS, Windows};

use crate::digest::{Digest, digest_requests};
use ssdtune_experiment::{Extents, FallibleRequests, SourceError, Upcoming};
use ssdtune_sim::Simulator;
use ssdtune_trace::workload::{Generator, Model, ModelError, Seed};
use ssdtune_trace::{Request, TenantId};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// A workload: one or more traces under one name. Its figures are means over the traces.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The name in reports.
    pub name: String,
    /// Requests outstanding in the closed loop, at least 1.
    pub depth: u32,
    /// The traces, at least one.
    pub traces: Vec<Trace>,
}

impl Workload {
    /// Whether it is measured on windows and could run whole: all of its traces can be read again,
    /// and have no more than [`WHOLE_MAX`] requests in all.
    pub(crate) fn can_run_whole(&self) -> bool {
        let requests = self.traces.iter().map(Trace::whole_requests).sum::<Option<u64>>();
        self.traces.iter().any(|trace| trace.windows().is_some())
            && requests.is_some_and(|requests| requests <= WHOLE_MAX)
    }

    /// This workload with a share of the windows of its long traces.
    pub(crate) fn with_fewer_windows(&self, share: f64) -> Self {
        let fewer = |trace: &Trace| match trace.windows() {
            Some(windows) => trace.with_windows(windows.share(share)),
            None => trace.clone(),
        };
        Self { traces: self.traces.iter().map(fewer).collect(), ..self.clone() }
    }

    /// Keeps every second window of its traces, and returns the workload with the others.
    pub(crate) fn split_windows(&mut self) -> Self {
        let mut judged = self.clone();
        for (own, other) in self.traces.iter_mut().zip(&mut judged.traces) {
            if let Some(halves) = own.window_halves() {
                (*own, *other) = halves;
            }
        }
        judged
    }
}

/// A stream of requests in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name in reports.
    pub name: String,
    /// What is to be said of the file that it was read from: times that jump back.
    pub warnings: Vec<String>,
    requests: Arc<Vec<Request>>,
    /// The number of requests that count, from the first on.
    length: usize,
    digest: Digest,
    footprint: Arc<OnceLock<Extents>>,
    characteristics: Arc<OnceLock<Characteristics>>,
    /// What stands for a trace that is too long to be run whole: `requests` are those that are
    /// measured there.
    windows: Option<Arc<Windows>>,
}

impl Trace {
    /// A trace of requests, which must be in order of time. All of them become requests of one
    /// tenant.
    pub fn new(name: impl Into<String>, mut requests: Vec<Request>) -> Self {
        for request in &mut requests {
            request.tenant = TenantId(0);
        }
        let (length, digest) = (requests.len(), digest_requests(&requests));
        Self {
            name: name.into(),
            warnings: Vec::new(),
            requests: Arc::new(requests),
            length,
            digest,
            footprint: Arc::default(),
            characteristics: Arc::default(),
            windows: None,
        }
    }

    /// A trace of the first `requests` requests that a workload model generates.
    ///
    /// # Errors
    /// The model is not valid.
    pub fn of_model(model: &Model, seed: Seed, requests: usize) -> Result<Self, ModelError> {
        let generator = Generator::new(model, seed)?;
        Ok(Self::new(&model.name, generator.take(requests).collect()))
    }

    /// A trace of the first `length` requests of this one, or of all if it has fewer. Of a trace
    /// that is measured on windows these are as many windows as that takes, from all over it.
    #[must_use]
    pub fn prefix(&self, length: usize) -> Self {
        if length >= self.length {
            return self.clone();
        }
        if let Some(windows) = &self.windows {
            return self.with_windows(windows.share(length as f64 / self.length as f64));
        }
        Self { length, footprint: Arc::default(), characteristics: Arc::default(), ..self.clone() }
    }

    /// The requests; of a trace that is measured on windows those that are measured.
    pub fn requests(&self) -> &[Request] {
        &self.requests[..self.length]
    }

    /// The digest of the whole stream. A prefix has the digest of the stream it was cut from.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Requests that one run serves.
    pub fn requests_served(&self) -> usize {
        self.windows.as_ref().map_or(self.length, |windows| windows.requests_served())
    }

    /// The sectors that its requests touch; of windows those of the whole trace.
    pub fn footprint(&self) -> &Extents {
        self.footprint.get_or_init(|| Extents::of(self.requests().iter().copied()))
    }

    /// What its requests are like.
    pub fn characteristics(&self) -> &Characteristics {
        self.characteristics
            .get_or_init(|| Characteristics::of(self.requests(), self.footprint_sectors()))
    }

    /// The number of sectors in the footprint.
    pub fn footprint_sectors(&self) -> u64 {
        self.footprint().sectors()
    }
}

impl Upcoming for Trace {
    fn open<'a>(&'a self, _: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        Ok(Box::new(self.requests().iter().copied().map(Ok)))
    }

    fn extents(&self, _: &Simulator, _: &AtomicBool) -> Result<Cow<'_, Extents>, SourceError> {
        Ok(Cow::Borrowed(self.footprint()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::Op;

    #[test]
    fn a_prefix_is_the_same_stream_with_a_footprint_of_its_own() {
        let request = |lba| Request {
            at: Nanos::ZERO,
            lba: Sectors(lba),
            sectors: 8,
            tenant: TenantId(3),
            op: Op::Read,
        };
        let trace = Trace::new("t", vec![request(96), request(0), request(8)]);
        assert_eq!((trace.footprint_sectors(), trace.prefix(1).footprint_sectors()), (24, 8));
        assert!(trace.footprint().writes().all(|write| write.tenant == TenantId(0)));
        assert_eq!(trace.prefix(1).digest(), trace.digest());
    }
}
