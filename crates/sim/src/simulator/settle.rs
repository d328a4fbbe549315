//! What a drive leaves undone when the last request of a run is completed, and what that would have
//! cost.
//!
//! A drive that puts collection off, or keeps what was written in its data cache, looks fast for
//! as long as a run lasts. Whoever compares drives on short runs lets them settle and charges the
//! work.

use super::{Outcome, Replay, Simulator, Stream};
use ssdtune_model::{Nanos, Place, Sectors, TenantId};
use ssdtune_trace::{Op, Request};

/// Work of the mean die, before and after the last request of a run was completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// What it had done by then.
    pub done: Nanos,
    /// What was left for afterwards: collection that was put off, and writes that were still in
    /// the data cache.
    pub left: Nanos,
}

impl Simulator {
    /// Lets the drive do what it has left undone in the last run: what the host has written leaves
    /// the data cache for flash, and collection goes on until nothing asks for it. The answer also
    /// counts what the drive did by itself after the last request of the run. `None` if it runs out
    /// of free blocks: it could not have gone on.
    ///
    /// Changed mappings that a mapping cache holds are not written back: that of a used drive was
    /// full of them before the first request, too.
    ///
    /// The flushes that it takes count as requests: take the [`Simulator::report`] before.
    pub fn settle(&mut self) -> Option<Work> {
        let done = self.when_served.map_or_else(|| self.worked(), |then| then.worked);
        let at = self.core.now();
        let flush = |place| {
            let tenant = TenantId::at(place);
            let flush = Request { at, lba: Sectors(0), sectors: 0, tenant, op: Op::Flush };
            let requests = Box::new(std::iter::once(flush));
            Stream { requests, tenant: Some(tenant), replay: Replay::Open }
        };
        let flushes = (0..self.tenants.len()).map(flush).collect();
        let is_done = self.run(flushes, |_| true) == Outcome::Completed;
        is_done.then(|| Work { done, left: self.worked().saturating_sub(done) })
    }

    /// What the mean die has worked since the first request arrived.
    pub(super) fn worked(&self) -> Nanos {
        let now = self.core.now();
        let first = self.core.base.books.stats.first_arrival.unwrap_or_default();
        let span = now.saturating_sub(first);
        let idle = self.core.backend.flash.idle(span, now);
        span.saturating_sub(Nanos(idle.0 / self.config.geometry().dies().max(1)))
    }
}
