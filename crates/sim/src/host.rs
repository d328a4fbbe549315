//! The host's side, and the way into the drive: submission queues, doorbells, fetches, completions.
//!
//! NVMe: each tenant has a submission queue of `queue_depth` entries, and the drive serves at most
//! `queue_fetch_size` of its requests at a time. A place in the queue is free again when the host
//! learns, from a completion, that the drive has fetched the entry. SATA: one queue for all
//! tenants, any number of requests in service, and an adapter that takes its time for every command
//! in each direction.
//!
//! The completion queue has as many entries as the submission queue. The host takes completions as
//! they come, and rings a bell for each place that it gives back. Completions that the drive has
//! sent without hearing the bell fill the queue; a full queue holds further completions back.
//!
//! A step on the way in needs an event only if it can meet another message. If the link is idle for
//! as long as a request needs, its steps are arithmetic.

use crate::event::ServerId;
use crate::pipe::Pipe;
use crate::simulator::{Core, DownMessage, FIRST_BELL, UpMessage};
use crate::tx::{NIL, Req};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::HostInterface;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request};
use std::collections::VecDeque;

/// A submission queue and its completion queue. All counters count since the start.
#[derive(Serialize, Deserialize)]
pub(crate) struct HostQueue {
    /// Entries of the queue. One of them always stays empty.
    depth: u64,
    /// Requests that may be in service at a time.
    fetch_limit: u32,
    /// Entries that the host has written.
    submitted: u64,
    /// Entries of which the host knows that they were fetched.
    acknowledged: u64,
    /// Entries whose doorbell has reached the drive.
    rung: u64,
    /// Fetches that were started.
    fetching: u64,
    /// Entries that have arrived in the drive.
    fetched: u64,
    /// Requests that were fetched and are not done.
    in_service: u32,
    /// Requests in the queue that have not been fetched.
    entries: VecDeque<u32>,
    /// Requests that found the queue full.
    waiting: VecDeque<u32>,
    /// Completions that the drive has sent.
    told: u64,
    /// Places of the completion queue that the host has given back, as far as they were counted.
    freed: u64,
    /// When the drive hears of places that were given back and not counted yet, in order.
    bells: VecDeque<Nanos>,
    /// Requests that are done and found the completion queue full.
    withheld: VecDeque<u32>,
    /// The first of `bells` is in the event queue.
    listens: bool,
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
            told: 0,
            freed: 0,
            bells: VecDeque::new(),
            withheld: VecDeque::new(),
            listens: false,
        }
    }

    /// Whether the submission queue is full.
    fn is_full(&self) -> bool {
        self.submitted - self.acknowledged == self.depth - 1
    }

    /// Whether the completion queue is full.
    fn is_full_of_completions(&self) -> bool {
        self.told - self.freed == self.depth - 1
    }
}

/// The SATA adapter: one server in each direction.
#[derive(Serialize, Deserialize)]
pub(crate) struct SataAdapter {
    /// The time that it takes for each command.
    pub delay: Nanos,
    pub submit: Pipe<u32>,
    /// A request, and how many entries of the queue had been fetched when it was completed.
    pub complete: Pipe<(u32, u64)>,
}

impl Core {
    /// A request of a stream reaches the host's driver. Nothing that is not in the event queue
    /// happens before `alone_until`.
    pub(crate) fn arrive(
        &mut self,
        stream: usize,
        tenant: usize,
        request: &Request,
        number: u64,
        alone_until: Nanos,
    ) {
        let sectors = if self.switches.wrap_request_size {
            request.sectors & 0xffff
        } else {
            request.sectors
        };
        let now = self.now();
        let lba = self.tenants[tenant].inside(request.lba);
        let req = self.reqs.insert(Req {
            lba,
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
        if self.stats.has_several() {
            let pages = self.pages_touched(lba, sectors);
            let share = &mut self.stats.shares[tenant];
            share.arrived += 1;
            share.demand.count(request.op, pages);
            share.energy.request();
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

    /// When the submission entry of a request that arrives now is in the drive, if nothing is in
    /// its way: doorbell, fetch, entry.
    fn way_in(&self, now: Nanos) -> Nanos {
        now + self.link.doorbell + self.link.read_request + self.link.submission_entry
    }

    /// Whether a request can go to the drive without meeting another message or waiting in its
    /// queue.
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

    /// Takes a request that meets nobody to the drive. Its steps need no event.
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

    /// Puts a request into its queue, or lets it wait if the queue is full.
    pub(crate) fn submit(&mut self, queue: usize, req: u32) {
        if self.queues[queue].is_full() {
            self.queues[queue].waiting.push_back(req);
        } else {
            self.enter_queue(queue, req);
        }
    }

    /// Puts a request into its queue and rings the doorbell.
    fn enter_queue(&mut self, queue: usize, req: u32) {
        self.reqs[req].enqueued = self.events.now();
        let record = &mut self.queues[queue];
        record.submitted += 1;
        record.entries.push_back(req);
        self.down.send(&mut self.events, self.link.doorbell, DownMessage::Doorbell(queue as u16));
    }

    /// The drive hears a doorbell.
    pub(crate) fn doorbell(&mut self, queue: usize) {
        self.queues[queue].rung += 1;
        if self.queues[queue].in_service < self.queues[queue].fetch_limit {
            self.fetch(queue);
        }
    }

    /// The drive asks for the next entry of a queue.
    fn fetch(&mut self, queue: usize) {
        self.queues[queue].in_service += 1;
        self.queues[queue].fetching += 1;
        self.up.send(&mut self.events, self.link.read_request, UpMessage::Fetch(queue as u16));
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
            self.up.send(&mut self.events, self.link.read_request, UpMessage::FetchData(req));
        }
    }

    /// The drive has done everything that a request asked for.
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
        if self.queues[queue].is_full_of_completions() {
            self.count_bells(queue, usize::MAX);
            if self.queues[queue].is_full_of_completions() {
                self.queues[queue].withheld.push_back(req);
                self.listen(queue);
                return;
            }
        }
        self.tell(queue, req);
    }

    /// Sends a completion to the host.
    fn tell(&mut self, queue: usize, req: u32) {
        self.queues[queue].told += 1;
        let fetched = self.queues[queue].fetched;
        self.up.send(
            &mut self.events,
            self.link.completion_entry,
            UpMessage::Completion(req, fetched),
        );
    }

    /// Counts places of the completion queue that were given back until now, `most` of them at
    /// most.
    #[inline]
    fn count_bells(&mut self, queue: usize, most: usize) {
        let now = self.events.now();
        let record = &mut self.queues[queue];
        for _ in 0..most {
            match record.bells.front() {
                Some(&bell) if bell <= now && !record.listens => {
                    record.bells.pop_front();
                    record.freed += 1;
                }
                _ => break,
            }
        }
    }

    /// The host gives a place of the completion queue back.
    #[inline]
    fn ring(&mut self, queue: usize) {
        let start = self.down.occupy(self.events.now(), self.link.doorbell);
        // Bells that nobody waited for are counted two at a time, so that few are remembered.
        self.count_bells(queue, 2);
        self.queues[queue].bells.push_back(start + self.link.doorbell);
        if !self.queues[queue].withheld.is_empty() {
            self.listen(queue);
        }
    }

    /// A completion is withheld: makes the next bell an event, if one is on its way.
    fn listen(&mut self, queue: usize) {
        let record = &mut self.queues[queue];
        if let Some(&bell) = record.bells.front()
            && !record.listens
        {
            record.listens = true;
            let server = ServerId(FIRST_BELL + queue as u32);
            self.events.push_caused(bell, bell - self.link.doorbell, server);
        }
    }

    /// The drive hears of a place that a withheld completion waits for.
    pub(crate) fn bell(&mut self, queue: usize) {
        let record = &mut self.queues[queue];
        record.listens = false;
        record.bells.pop_front();
        record.freed += 1;
        if let Some(req) = record.withheld.pop_front() {
            self.tell(queue, req);
        }
        if !self.queues[queue].withheld.is_empty() {
            self.listen(queue);
        }
    }

    /// The host sees a completion.
    pub(crate) fn completed(&mut self, queue: usize, req: u32, fetched: u64) {
        self.queues[queue].acknowledged = fetched;
        self.record(req);
        let tenant = self.reqs[req].tenant as usize;
        self.reqs.remove(req);
        if self.sata.is_some() {
            // The adapter tells the generator of requests before it looks after its queues.
            self.next_in_closed_loop(tenant);
            self.ring(queue);
            self.admit_waiting(queue);
        } else {
            self.admit_waiting(queue);
            self.ring(queue);
            self.next_in_closed_loop(tenant);
        }
    }

    /// Puts waiting requests into a queue as long as it has room.
    fn admit_waiting(&mut self, queue: usize) {
        while !self.queues[queue].is_full()
            && let Some(req) = self.queues[queue].waiting.pop_front()
        {
            self.enter_queue(queue, req);
        }
    }

    /// A completion has reached the SATA adapter.
    pub(crate) fn sata_completion(&mut self, req: u32, fetched: u64) {
        if let Some(sata) = &mut self.sata {
            sata.complete.send(&mut self.events, sata.delay, (req, fetched));
        }
    }
}

/// How a tenant's address space lies in the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TenantSpace {
    /// Its size in sectors.
    pub sectors: u64,
    /// Its first sector in the drive. It matters only by its remainder when divided by the page
    /// size, and for requests that cross the end of the address space and go on at its beginning.
    pub start: u64,
}

impl TenantSpace {
    /// An address of a trace, folded into the tenant's address space.
    pub fn inside(&self, lba: Sectors) -> Sectors {
        let last = self.sectors - 1;
        if lba.0 <= last { lba } else { Sectors(lba.0 % last.max(1)) }
    }
}

/// Number of queues that an interface has.
pub(crate) fn queue_count(interface: HostInterface, tenants: usize) -> usize {
    match interface {
        HostInterface::Nvme => tenants,
        HostInterface::Sata => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Observe, Tenant};
    use ssdtune_model::DeviceConfig;

    #[test]
    fn a_full_completion_queue_holds_completions_back_until_the_host_rings() {
        // Of two entries one can be used.
        let config = DeviceConfig::default();
        let tenants = [Tenant::sole(&config)];
        let observe = Observe { completions: true, ..Observe::default() };
        let mut core = Core::new(&config, &tenants, observe).unwrap();
        core.queues[0] = HostQueue { in_service: 5, ..HostQueue::new(2, 16) };
        for number in 0..5 {
            let req = core.reqs.insert(Req {
                lba: Sectors(0),
                arrived: Nanos::ZERO,
                enqueued: Nanos::ZERO,
                stamp: Nanos::ZERO,
                number,
                sectors: 8,
                rest: 0,
                cursor: 0,
                next_flush: NIL,
                waits_flash: 0,
                waits_dram: 0,
                tenant: 0,
                op: Op::Write,
            });
            core.request_done(req);
        }
        while core.step() {}
        let seen: Vec<u64> =
            core.completions.unwrap().iter().map(|done| done.completed.0).collect();
        let (entry, bell) = (core.link.completion_entry.0, core.link.doorbell.0);
        let expected: Vec<u64> = (0..5).map(|k| entry + k * (entry + bell)).collect();
        assert_eq!(seen, expected);
        assert_eq!((core.queues[0].told, core.queues[0].withheld.len()), (5, 0));
    }
}
