//! Arrivals.

use crate::data_cache::{Mark, read_mark};
use crate::event::ServerId;
use crate::simulator::Core;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_trace::{Op, Request};
use std::collections::VecDeque;

/// How many requests ahead the places of page-table entries are asked for, the entries, and what stands in
/// them. A line takes about 100 ns to come, a request about 400.
const LEAVES_AHEAD: usize = 10;
const ENTRIES_AHEAD: usize = 6;
const PLACES_AHEAD: usize = 2;

/// A stream of requests as the drive sees it: what was handed over and has not arrived.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inbox {
    pub requests: VecDeque<Request>,
    /// `None`: each request says.
    pub tenant: Option<u16>,
    /// Requests outstanding at once; `None` replays arrival times.
    pub depth: Option<u32>,
    pub number: u64,
    pub last_at: Nanos,
    pub pending: bool,
}

impl Core {
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
        // The next arrival is registered behind what this one causes at once, so it is looked up here.
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

    /// Asks for the cache lines that the next requests of a stream will touch: what is known of their first
    /// pages, and then, for writes, what they overwrite.
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

    /// Registers the arrival of a stream's next request, if it is known.
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

    /// A closed loop submits one request for each that was completed.
    pub(crate) fn next_in_closed_loop(&mut self, tenant: usize) {
        // A stream that has ended leaves its inbox behind; another of the tenant may still have requests.
        let own = |inbox: &Inbox| {
            inbox.depth.is_some()
                && inbox.tenant == Some(tenant as u16)
                && !inbox.requests.is_empty()
        };
        let Some(stream) = self.inboxes.iter().position(own) else { return };
        let inbox = &mut self.inboxes[stream];
        let Some(request) = inbox.requests.pop_front() else { return };
        let number = inbox.number;
        inbox.number += 1;
        self.stats.first_arrival.get_or_insert(self.events.now());
        self.prefetch(stream);
        self.arrive(stream, tenant, &request, number, Nanos::ZERO);
    }
}
