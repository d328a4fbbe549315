//! Requests on their way from a stream to the host's driver.
//!
//! A stream's requests stand in an inbox, which the caller fills. In an open replay, a request
//! arrives at its own time: the arrival of the first one in the inbox is an event. In a closed
//! loop, a request arrives when one before it is completed.
//!
//! While requests wait in the inbox, the cache lines that they will touch are prefetched, step by
//! step: a line takes about 100 ns to come, a request takes about 400 ns of CPU time.

use crate::data_cache::{Mark, read_mark};
use crate::event::ServerId;
use crate::simulator::Core;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_trace::{Op, Request};
use std::collections::VecDeque;

/// How many requests ahead the directory of the page table is prefetched.
const LEAVES_AHEAD: usize = 10;
/// How many requests ahead the page-table entry is prefetched.
const ENTRIES_AHEAD: usize = 6;
/// How many requests ahead the old page of a write and its slot in the data cache are prefetched.
const PLACES_AHEAD: usize = 2;

/// A stream of requests as the drive sees it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inbox {
    /// Requests that the caller has handed over and that have not arrived.
    pub requests: VecDeque<Request>,
    /// The tenant of all its requests; `None` if each request names its own.
    pub tenant: Option<u16>,
    /// Closed loop: requests outstanding at once. `None` replays arrival times.
    pub depth: Option<u32>,
    /// Number of the next request.
    pub number: u64,
    /// Arrival time of the last request.
    pub last_at: Nanos,
    /// The next arrival is in the event queue.
    pub pending: bool,
}

impl Core {
    /// The next request of a stream arrives; a closed loop starts with as many as may be
    /// outstanding.
    pub(crate) fn arrival_event(&mut self, stream: usize) {
        if self.inboxes[stream].depth.is_some() {
            let tenant = self.inboxes[stream].tenant.unwrap_or(0).into();
            for _ in 0..self.inboxes[stream].depth.unwrap_or(0) {
                self.next_in_closed_loop(tenant);
            }
            return;
        }
        let inbox = &mut self.inboxes[stream];
        let Some(request) = inbox.requests.pop_front() else { return };
        inbox.pending = false;
        inbox.last_at = request.at;
        let number = inbox.number;
        inbox.number += 1;
        let tenant = inbox.tenant.unwrap_or(request.tenant.0) as usize;
        self.stats.first_arrival.get_or_insert(self.events.now());
        // The arrival behind this one is registered only after what this one causes at once. So its
        // time is looked up here.
        let mut alone_until = self.events.next_at().unwrap_or(Nanos::MAX);
        match self.inboxes[stream].requests.front() {
            Some(next) => alone_until = alone_until.min(next.at).min(self.horizon),
            None => alone_until = Nanos::ZERO,
        }
        if !self.sources_known {
            alone_until = Nanos::ZERO;
        }
        self.prefetch(stream);
        let tenant = tenant.min(self.tenants.len() - 1);
        self.arrive(stream, tenant, &request, number, alone_until);
        self.await_arrival(stream);
    }

    /// Prefetches the cache lines that the next requests of a stream will touch: what is known of
    /// their first pages and, for writes, what they overwrite.
    #[inline]
    fn prefetch(&self, stream: usize) {
        let inbox = &self.inboxes[stream];
        let first_page = |request: &Request| {
            let tenant = usize::from(inbox.tenant.unwrap_or(request.tenant.0));
            let tenant = tenant.min(self.tenants.len() - 1);
            (tenant, self.page_of(self.tenants[tenant].inside(request.lba).0))
        };
        if let Some(request) = inbox.requests.get(LEAVES_AHEAD) {
            let (tenant, lpn) = first_page(request);
            self.ftl.prefetch_directory(tenant, lpn);
        }
        if let Some(request) = inbox.requests.get(ENTRIES_AHEAD) {
            let (tenant, lpn) = first_page(request);
            self.ftl.prefetch_entry(tenant, lpn);
        }
        if let Some(request) = inbox.requests.get(PLACES_AHEAD)
            && request.op == Op::Write
        {
            let (tenant, lpn) = first_page(request);
            if let Some(entry) = self.ftl.existing_entry(tenant, lpn) {
                self.ftl.prefetch_old_page(entry);
                if let Mark::Slot(slot) = read_mark(self.ftl.mark(entry)) {
                    self.caches[self.cache_of(tenant as u16)].prefetch_slot(slot);
                }
            }
        }
    }

    /// Registers the arrival of a stream's next request, if there is one in the inbox.
    pub(crate) fn await_arrival(&mut self, stream: usize) {
        let now = self.events.now();
        let inbox = &mut self.inboxes[stream];
        if inbox.pending || inbox.depth.is_some() {
            return;
        }
        if let Some(request) = inbox.requests.front() {
            inbox.pending = true;
            let (at, caused) = (request.at.max(now), inbox.last_at.min(now));
            self.events.push_beside(at, caused, ServerId(stream as u32));
        }
    }

    /// Submits the next request of a tenant's closed loop, after one was completed.
    pub(crate) fn next_in_closed_loop(&mut self, tenant: usize) {
        // A stream that has ended leaves an empty inbox behind; another one of the tenant may still
        // have requests.
        let has_more = |inbox: &Inbox| {
            inbox.depth.is_some()
                && inbox.tenant == Some(tenant as u16)
                && !inbox.requests.is_empty()
        };
        let Some(stream) = self.inboxes.iter().position(has_more) else { return };
        let inbox = &mut self.inboxes[stream];
        let Some(request) = inbox.requests.pop_front() else { return };
        let number = inbox.number;
        inbox.number += 1;
        self.stats.first_arrival.get_or_insert(self.events.now());
        self.prefetch(stream);
        self.arrive(stream, tenant, &request, number, Nanos::ZERO);
    }
}
