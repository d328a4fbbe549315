//! The host's side and the way in: streams of arrivals, submission queues, doorbells, fetches, completions.
//!
//! NVMe: each tenant has a submission queue of `queue_depth` entries; the drive has at most
//! `queue_fetch_size` of its requests in service. A slot is free again when the host learns, from a
//! completion, that the drive has fetched it. SATA: one queue for all, any number in service, and an
//! adapter that takes its time for every command in each direction.
//!
//! A full completion queue is left out: the host takes completions as they come.

use crate::pipe::Pipe;
use crate::simulator::{Core, Down, Up};
use crate::tx::{NIL, Req};
use ssdtune_model::config::HostInterface;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request};
use std::collections::VecDeque;

/// One submission queue.
pub(crate) struct HostQueue {
    depth: u64,
    fetch_limit: u32,
    /// Entries ever written by the host.
    submitted: u64,
    /// Of these, known to the host to have been fetched.
    acknowledged: u64,
    /// Of these, rung for.
    rung: u64,
    /// Fetches started.
    fetching: u64,
    /// Entries that have arrived in the drive.
    fetched: u64,
    in_service: u32,
    /// Requests in the queue, fetched ones removed.
    entries: VecDeque<u32>,
    /// Requests that found the queue full.
    waiting: VecDeque<u32>,
}

impl HostQueue {
    pub fn new(depth: u32, fetch_limit: u32) -> Self {
        Self {
            depth: depth.into(),
            fetch_limit,
            submitted: 0,
            acknowledged: 0,
            rung: 0,
            fetching: 0,
            fetched: 0,
            in_service: 0,
            entries: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.submitted - self.acknowledged == self.depth - 1
    }
}

/// The SATA adapter: a server in each direction.
pub(crate) struct SataAdapter {
    pub delay: Nanos,
    pub submit: Pipe<u32>,
    /// A request and what the completion says of the submission queue.
    pub complete: Pipe<(u32, u64)>,
}

impl Core {
    /// A request of a stream reaches the host's driver.
    ///
    /// Nothing that is not in the event queue happens before `alone_until`.
    pub(crate) fn arrive(
        &mut self,
        stream: usize,
        tenant: usize,
        request: &Request,
        number: u64,
        alone_until: Nanos,
    ) {
        let sectors =
            if self.wrap_request_size { request.sectors & 0xffff } else { request.sectors };
        let now = self.now();
        let req = self.reqs.insert(Req {
            lba: self.tenants[tenant].inside(request.lba),
            arrived: now,
            enqueued: now,
            stamp: now,
            number,
            sectors,
            rest: 0,
            cursor: 0,
            next_flush: NIL,
            waits_flash: 0,
            waits_dram: 0,
            tenant: tenant as u16,
            op: request.op,
        });
        self.stats.arrived += 1;
        self.stats.counts[tenant].arrived += 1;
        if self.stats.has_several() {
            self.stats.own[tenant].energy.request();
        }
        self.energy.request(now);
        if let Some(sata) = &mut self.sata {
            sata.submit.send(&mut self.events, sata.delay, req);
        } else if alone_until > self.way_in(now) && self.is_way_in_free(tenant) {
            self.await_arrival(stream);
            self.walk_in(tenant, req);
        } else {
            self.submit(tenant, req);
        }
    }

    /// When the submission entry of a request that arrives now is in the drive, if nothing is in its way:
    /// doorbell, fetch, entry.
    fn way_in(&self, now: Nanos) -> Nanos {
        now + self.link.doorbell + self.link.read_request + self.link.submission_entry
    }

    fn is_way_in_free(&self, queue: usize) -> bool {
        let now = self.events.now();
        let record = &self.queues[queue];
        self.down.is_idle(now)
            && self.up.is_idle(now)
            && record.in_service < record.fetch_limit
            && record.rung == record.submitted
            && record.fetching == record.rung
            && !record.is_full()
    }

    /// The way in of a request that meets nobody on it: no event is needed for its steps.
    fn walk_in(&mut self, queue: usize, req: u32) {
        let record = &mut self.queues[queue];
        record.submitted += 1;
        record.rung += 1;
        record.fetching += 1;
        record.in_service += 1;
        record.entries.push_back(req);
        let now = self.events.now();
        let rung = now + self.link.doorbell;
        let asked = rung + self.link.read_request;
        self.down.occupy(now, self.link.doorbell);
        self.up.occupy(rung, self.link.read_request);
        self.down.occupy(asked, self.link.submission_entry);
        self.events.move_to(self.way_in(now));
        self.entry_arrived(queue);
    }

    pub(crate) fn submit(&mut self, queue: usize, req: u32) {
        if self.queues[queue].is_full() {
            self.queues[queue].waiting.push_back(req);
        } else {
            self.enter_queue(queue, req);
        }
    }

    fn enter_queue(&mut self, queue: usize, req: u32) {
        self.reqs[req].enqueued = self.events.now();
        let record = &mut self.queues[queue];
        record.submitted += 1;
        record.entries.push_back(req);
        self.down.send(&mut self.events, self.link.doorbell, Down::Doorbell(queue as u16));
    }

    /// The drive hears a doorbell.
    pub(crate) fn doorbell(&mut self, queue: usize) {
        self.queues[queue].rung += 1;
        if self.queues[queue].in_service < self.queues[queue].fetch_limit {
            self.fetch(queue);
        }
    }

    fn fetch(&mut self, queue: usize) {
        self.queues[queue].in_service += 1;
        self.queues[queue].fetching += 1;
        self.up.send(&mut self.events, self.link.read_request, Up::Fetch(queue as u16));
    }

    /// A submission entry arrives in the drive.
    pub(crate) fn entry_arrived(&mut self, queue: usize) {
        self.queues[queue].fetched += 1;
        let Some(req) = self.queues[queue].entries.pop_front() else {
            debug_assert!(false, "an entry nobody submitted");
            return;
        };
        match self.reqs[req].op {
            Op::Write if self.reqs[req].sectors > 0 => {
                self.fetch_data(req);
            }
            Op::Read | Op::Write => {
                self.reqs[req].stamp = self.events.now();
                self.serve_read(req);
            }
            Op::Trim => self.serve_trim(req),
            Op::Flush => self.serve_flush(req),
        }
    }

    /// Asks the host for the data of a write.
    fn fetch_data(&mut self, req: u32) {
        let now = self.events.now();
        let asked = now + self.link.read_request;
        let arrived = asked + self.link.data(self.reqs[req].sectors);
        let alone_until = self.events.next_at().unwrap_or(Nanos::MAX).min(self.horizon);
        if alone_until > arrived && self.up.is_idle(now) && self.down.is_idle(now) {
            self.up.occupy(now, self.link.read_request);
            self.down.occupy(asked, arrived - asked);
            self.events.move_to(arrived);
            self.data_fetched(req);
        } else {
            self.up.send(&mut self.events, self.link.read_request, Up::FetchData(req));
        }
    }

    /// The drive has done all a request asked for.
    pub(crate) fn request_done(&mut self, req: u32) {
        let record = &self.reqs[req];
        let queue = if self.sata.is_some() { 0 } else { record.tenant as usize };
        if record.op == Op::Read {
            let takes = self.link.data(record.sectors);
            self.up.occupy(self.events.now(), takes);
        }
        self.queues[queue].in_service -= 1;
        if self.queues[queue].fetching != self.queues[queue].rung {
            self.fetch(queue);
        }
        let fetched = self.queues[queue].fetched;
        self.up.send(&mut self.events, self.link.completion_entry, Up::Completion(req, fetched));
    }

    /// The host sees a completion.
    pub(crate) fn completed(&mut self, queue: usize, req: u32, fetched: u64) {
        self.queues[queue].acknowledged = fetched;
        self.record(req);
        let tenant = self.reqs[req].tenant as usize;
        self.reqs.remove(req);
        if self.sata.is_some() {
            // The adapter tells the generator before it looks after its queues.
            self.next_in_closed_loop(tenant);
            self.down.occupy(self.events.now(), self.link.doorbell);
            self.admit_waiting(queue);
        } else {
            self.admit_waiting(queue);
            self.down.occupy(self.events.now(), self.link.doorbell);
            self.next_in_closed_loop(tenant);
        }
    }

    fn admit_waiting(&mut self, queue: usize) {
        while !self.queues[queue].is_full()
            && let Some(req) = self.queues[queue].waiting.pop_front()
        {
            self.enter_queue(queue, req);
        }
    }

    pub(crate) fn sata_completion(&mut self, req: u32, fetched: u64) {
        if let Some(sata) = &mut self.sata {
            sata.complete.send(&mut self.events, sata.delay, (req, fetched));
        }
    }
}

/// How a tenant's addresses lie in the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TenantSpace {
    pub sectors: u64,
    /// First sector of the tenant in the drive's space; only its remainder by the page size and the
    /// wrap-around of requests that cross the end depend on it.
    pub start: u64,
}

impl TenantSpace {
    /// An address of a trace, folded into the tenant's space.
    pub fn inside(&self, lba: Sectors) -> Sectors {
        let last = self.sectors - 1;
        if lba.0 <= last { lba } else { Sectors(lba.0 % last.max(1)) }
    }
}

/// Number of queues an interface has.
pub(crate) fn queue_count(interface: HostInterface, tenants: usize) -> usize {
    match interface {
        HostInterface::Nvme => tenants,
        HostInterface::Sata => 1,
    }
}
