//! Requests on their way from a stream to the host's driver.
//!
//! A stream's requests stand in an inbox, which the caller fills. In an open replay, a request
//! arrives at its own time: the arrival of the first one in the inbox is an event. In a closed
//! loop, a request arrives when one before it is completed.
//!
//! While requests wait in the inbox, the cache lines that they will touch are asked for, step by
//! step.

use super::{Arrived, Host};
use crate::base::Base;
use crate::engine::{STREAMS_MAX, ServerId};
use crate::id::{Place, StreamId};
use serde::{Deserialize, Serialize};
use ssdtune_model::{Lpn, Nanos};
use ssdtune_trace::{Op, Request, TenantId};
use std::collections::VecDeque;

/// How many requests ahead the directory of the page table is asked for. A line of memory takes
/// about 100 ns to come, a request takes 300 to 400 ns.
const DIRECTORIES_AHEAD: usize = 10;
/// How many requests ahead the page-table entry is asked for.
const ENTRIES_AHEAD: usize = 6;
/// How many requests ahead the old page of a write is asked for.
const OLD_PAGES_AHEAD: usize = 2;

/// Asks for the cache lines that a request will touch, while others are served. Each step needs the
/// lines of the one before.
pub(crate) trait Lookahead {
    /// The directory of the page table.
    fn directory(&self, tenant: TenantId, lpn: Lpn);
    /// The page-table entry.
    fn entry(&self, tenant: TenantId, lpn: Lpn);
    /// What a write overwrites.
    fn old_page(&self, tenant: TenantId, lpn: Lpn);
}

/// A stream of requests as the drive sees it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Inbox {
    /// Requests that the caller has handed over and that have not arrived.
    pub requests: VecDeque<Request>,
    /// The tenant of all its requests; `None` if each request names its own.
    pub tenant: Option<TenantId>,
    /// Closed loop: requests outstanding at once. `None` replays arrival times.
    pub depth: Option<u32>,
    /// Number of the next request.
    pub number: u64,
    /// Arrival time of the last request.
    pub last_at: Nanos,
    /// The next arrival is in the event queue.
    pub pending: bool,
}

impl Inbox {
    /// An empty inbox.
    pub fn new(tenant: Option<TenantId>, depth: Option<u32>) -> Self {
        Self {
            requests: VecDeque::new(),
            tenant,
            depth,
            number: 0,
            last_at: Nanos::ZERO,
            pending: false,
        }
    }

    /// Takes the next request, with its number.
    #[inline]
    pub fn next(&mut self) -> Option<(Request, u64)> {
        let request = self.requests.pop_front()?;
        let number = self.number;
        self.number += 1;
        Some((request, number))
    }

    /// The tenant that a request of this stream names.
    #[inline]
    pub fn tenant_of(&self, request: &Request) -> TenantId {
        self.tenant.unwrap_or(request.tenant)
    }
}

impl Host {
    /// Adds a stream of requests, in an open replay (`depth` is `None`) or in a closed loop.
    ///
    /// # Panics
    /// The drive has as many streams as it can have.
    pub fn add_stream(&mut self, tenant: Option<TenantId>, depth: Option<u32>) -> StreamId {
        // The number of an inbox is that of a server, and other servers follow.
        let streams = self.inboxes.len();
        assert!(streams < STREAMS_MAX as usize, "a drive takes {streams} streams in its life");
        self.has_closed_loops |= depth.is_some();
        self.inboxes.push(Inbox::new(tenant, depth))
    }

    /// The stream that takes single requests.
    pub fn first_stream(&mut self) -> StreamId {
        if self.inboxes.is_empty() {
            self.add_stream(None, None);
        }
        StreamId(0)
    }

    /// Requests of a stream that have not arrived, and how many of it are outstanding at once (0 in
    /// an open replay).
    pub fn ready(&self, stream: StreamId) -> (usize, u32) {
        let inbox = &self.inboxes[stream];
        (inbox.requests.len(), inbox.depth.unwrap_or(0))
    }

    /// Hands over requests of a stream. Returns how many there were.
    pub fn hand_over(
        &mut self,
        base: &mut Base,
        stream: StreamId,
        requests: impl Iterator<Item = Request>,
    ) -> usize {
        let inbox = &mut self.inboxes[stream];
        let before = inbox.requests.len();
        inbox.requests.extend(requests);
        let taken = inbox.requests.len() - before;
        self.await_arrival(base, stream);
        taken
    }

    /// The next request of a stream arrives; a closed loop starts with as many as may be
    /// outstanding.
    pub fn arrival_event(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        stream: StreamId,
    ) -> Option<Arrived> {
        if let Some(depth) = self.inboxes[stream].depth {
            let tenant = self.inboxes[stream].tenant.unwrap_or(TenantId(0));
            for _ in 0..depth {
                self.next_in_closed_loop(base, ahead, tenant);
            }
            return None;
        }
        let inbox = &mut self.inboxes[stream];
        let (request, number) = inbox.next()?;
        inbox.pending = false;
        inbox.last_at = request.at;
        // The arrival behind this one is registered only after what this one causes at once. So its
        // time is looked up here.
        let alone_until = match inbox.requests.front() {
            Some(next) if self.sources_known => {
                base.events.next_at().unwrap_or(Nanos::MAX).min(next.at).min(self.horizon)
            }
            _ => Nanos::ZERO,
        };
        let tenant = self.spaces.tenant(inbox.tenant_of(&request));
        self.look_ahead(ahead, stream, tenant);
        let request = self.arrive(base, tenant, &request, number);
        if self.sata.is_none() && self.cpu.is_none() && alone_until > self.way_in(base.now()) {
            let queue = self.queue_of(tenant);
            if self.link.is_idle(base.now()) && self.queues[queue].is_open() {
                self.await_arrival(base, stream);
                return self.walk_in(base, ahead, queue, request);
            }
        }
        self.send_in(base, ahead, tenant, request);
        self.await_arrival(base, stream);
        None
    }

    /// Asks for what the next requests of a stream will touch, unless they have to wait for their
    /// queue: then they are looked ahead for on their way through it.
    #[inline]
    fn look_ahead(&self, ahead: &impl Lookahead, stream: StreamId, tenant: TenantId) {
        if !self.queues[self.queue_of(tenant)].is_open() {
            return;
        }
        let inbox = &self.inboxes[stream];
        let first_page = |request: &Request| {
            let tenant = self.spaces.tenant(inbox.tenant_of(request));
            (tenant, self.spaces.page_of(self.spaces.inside(tenant, request.lba).0))
        };
        if let Some(request) = inbox.requests.get(DIRECTORIES_AHEAD) {
            let (tenant, lpn) = first_page(request);
            ahead.directory(tenant, lpn);
        }
        if let Some(request) = inbox.requests.get(ENTRIES_AHEAD) {
            let (tenant, lpn) = first_page(request);
            ahead.entry(tenant, lpn);
        }
        if let Some(request) = inbox.requests.get(OLD_PAGES_AHEAD)
            && request.op == Op::Write
        {
            let (tenant, lpn) = first_page(request);
            ahead.old_page(tenant, lpn);
        }
    }

    /// Registers the arrival of a stream's next request, if there is one in the inbox.
    fn await_arrival(&mut self, base: &mut Base, stream: StreamId) {
        let now = base.now();
        let inbox = &mut self.inboxes[stream];
        if inbox.pending || inbox.depth.is_some() {
            return;
        }
        if let Some(request) = inbox.requests.front() {
            inbox.pending = true;
            let (at, caused) = (request.at.max(now), inbox.last_at.min(now));
            base.events.push_beside(at, caused, ServerId(stream.0));
        }
    }

    /// Starts a closed loop: it begins after one nanosecond, as in MQSim.
    pub fn start_closed_loop(&mut self, base: &mut Base, stream: StreamId) {
        if self.inboxes[stream].depth.is_some() {
            base.events.push(base.now() + Nanos(1), ServerId(stream.0));
        }
    }

    /// Submits the next request of a tenant's closed loop, after one was completed.
    pub(super) fn next_in_closed_loop(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        tenant: TenantId,
    ) {
        if !self.has_closed_loops {
            return;
        }
        // A stream that has ended leaves an empty inbox behind; another one of the tenant may still
        // have requests.
        let has_more = |inbox: &Inbox| {
            inbox.depth.is_some() && inbox.tenant == Some(tenant) && !inbox.requests.is_empty()
        };
        let Some(stream) = self.inboxes.iter().position(has_more).map(StreamId::at) else { return };
        let Some((request, number)) = self.inboxes[stream].next() else { return };
        self.look_ahead(ahead, stream, tenant);
        let request = self.arrive(base, tenant, &request, number);
        self.send_in(base, ahead, tenant, request);
    }
}
