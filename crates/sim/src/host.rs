//! The host's side, and the way into the drive: streams, submission queues, the link, completions.
//!
//! NVMe: each tenant has a submission queue of `queue_depth` entries, and the drive serves at most
//! `queue_fetch_size` of its requests at a time. SATA: one queue for all tenants, any number of
//! requests in service, and an adapter that takes its time for every command in each direction.
//!
//! A step on the way in needs an event only if it can meet another message. If the link is idle for
//! as long as a request needs, its steps are arithmetic.
//!
//! If the host's software takes its time, that comes before all this (`software`). A read whose
//! last data are still in the controller's pipeline is held back until they are through.
//!
//! Requests go into the drive as [`Arrived`], which the caller hands on; the drive says
//! [`Host::part_done`] until nothing is left of a request, or [`Host::done`].

mod arrivals;
mod link;
mod queue;
mod request;
mod software;
mod space;

pub(crate) use arrivals::Lookahead;
pub(crate) use request::HostRequest;
pub(crate) use space::{Part, Spaces};

use crate::base::Base;
use crate::engine::{DelayLine, Pipe, Server, ServerId, Servers};
use crate::id::{QueueId, RequestId, Slab, StreamId, Table};
use crate::stored;
use arrivals::Inbox;
use link::{DownMessage, Link, UpMessage};
use queue::HostQueue;
use serde::{Deserialize, Serialize};
use software::HostCpu;
use ssdtune_model::config::HostInterface;
use ssdtune_model::{DeviceConfig, Nanos};
use ssdtune_trace::{Op, Request, TenantId};

/// A request that the drive can work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Arrived {
    /// A read, or a write of no sectors.
    Read(RequestId),
    /// A write whose data are in the drive.
    Write(RequestId),
    Trim(RequestId),
    Flush(RequestId),
}

impl Arrived {
    /// The request.
    pub fn request(self) -> RequestId {
        match self {
            Self::Read(request)
            | Self::Write(request)
            | Self::Trim(request)
            | Self::Flush(request) => request,
        }
    }
}

/// The SATA adapter: one server in each direction.
#[derive(Clone, Serialize, Deserialize)]
struct SataAdapter {
    /// The time that it takes for each command.
    delay: Nanos,
    submit: Pipe<RequestId>,
    /// A request, and how many entries of the queue had been fetched when it was completed.
    complete: Pipe<(RequestId, u64)>,
}

/// What the host does with requests that follows from the configuration.
#[derive(Clone, Default)]
struct Rules {
    /// MQSim: the length of a request has 16 bits.
    wrap_request_size: bool,
    /// The server of each queue that hears its bells.
    bells: Table<QueueId, ServerId>,
}

/// Everything between the streams of requests and the drive.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Host {
    #[serde(skip)]
    rules: Rules,
    #[serde(skip)]
    pub spaces: Spaces,
    link: Link,
    sata: Option<SataAdapter>,
    /// The host's software; `None` if it takes no time.
    cpu: Option<HostCpu>,
    /// Reads that wait for nothing but the controller's pipeline.
    held_back: DelayLine<RequestId>,
    /// Submission and completion queues: one for each tenant with NVMe, one in all with SATA.
    queues: Table<QueueId, HostQueue>,
    /// One for each stream of requests.
    inboxes: Table<StreamId, Inbox>,
    /// Some stream is a closed loop.
    pub(crate) has_closed_loops: bool,
    /// The caller wants to look at the drive at this time: nothing later may happen before.
    pub horizon: Nanos,
    /// The caller runs streams to their ends. Then every inbox that has a request also has the one
    /// behind it, or its stream has ended.
    pub sources_known: bool,
    /// All requests that have arrived and are not completed.
    pub requests: Slab<RequestId, HostRequest>,
}

impl stored::Part for Host {
    fn adopt(&mut self, made: Self) {
        self.rules = made.rules;
        self.spaces = made.spaces;
        self.link.timing = made.link.timing;
    }
}

impl Host {
    /// A host that has sent nothing.
    pub fn new(config: &DeviceConfig, spaces: Spaces, servers: &Servers) -> Self {
        let queues = queue_count(config.host.interface, spaces.tenants());
        let (fetch_limit, sata) = match config.host.interface {
            HostInterface::Nvme => (config.host.queue_fetch_size, None),
            HostInterface::Sata => (u32::MAX, Some(SataAdapter::new(config, servers))),
        };
        let queue = |_| HostQueue::new(config.host.queue_depth, fetch_limit);
        let queues: Table<QueueId, HostQueue> = (0..queues).map(queue).collect();
        let rules = Rules {
            wrap_request_size: config.compat.wrap_request_size,
            bells: queues.names().map(|queue| servers.number(Server::Bell(queue))).collect(),
        };
        Self {
            rules,
            spaces,
            link: Link::new(config, servers),
            sata,
            cpu: HostCpu::new(config, servers),
            held_back: DelayLine::new(servers.number(Server::Pipeline)),
            queues,
            inboxes: Table::default(),
            has_closed_loops: false,
            horizon: Nanos::MAX,
            sources_known: false,
            requests: Slab::default(),
        }
    }

    /// A request of a stream reaches the host's driver.
    fn arrive(
        &mut self,
        base: &mut Base,
        tenant: TenantId,
        request: &Request,
        number: u64,
    ) -> RequestId {
        let sectors = match self.rules.wrap_request_size {
            true => request.sectors & 0xffff,
            false => request.sectors,
        };
        let (now, lba) = (base.now(), self.spaces.inside(tenant, request.lba));
        let spaces = &self.spaces;
        let pages = || spaces.pages_touched(lba, sectors);
        base.books.request_arrived(now, tenant, request.op, pages);
        self.requests.insert(HostRequest::new(now, tenant, request.op, lba, sectors, number))
    }

    /// When the submission entry of a request that arrives now is in the drive, if nothing is in
    /// its way: doorbell, fetch, entry.
    #[inline]
    fn way_in(&self, now: Nanos) -> Nanos {
        let timing = &self.link.timing;
        now + timing.doorbell + timing.read_request + timing.submission_entry
    }

    /// Takes a request that meets nobody to the drive. Its steps need no event.
    fn walk_in(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        queue: QueueId,
        request: RequestId,
    ) -> Option<Arrived> {
        self.queues[queue].pass(request);
        let now = base.now();
        let timing = &self.link.timing;
        let rung = now + timing.doorbell;
        let asked = rung + timing.read_request;
        self.link.down.occupy(now, timing.doorbell);
        self.link.up.occupy(rung, timing.read_request);
        self.link.down.occupy(asked, timing.submission_entry);
        base.events.move_to(self.way_in(now));
        self.entry_arrived(base, ahead, queue)
    }

    /// Sends a request towards the drive, or lets it wait if its queue is full.
    fn send(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        tenant: TenantId,
        request: RequestId,
    ) {
        match &mut self.sata {
            Some(sata) => sata.submit.send(&mut base.events, sata.delay, request),
            None => self.submit(base, ahead, self.queue_of(tenant), request),
        }
    }

    /// Puts a request into its queue, or lets it wait if the queue is full.
    fn submit(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        queue: QueueId,
        request: RequestId,
    ) {
        if self.queues[queue].submit(request) {
            self.entered_queue(base, ahead, queue, request);
        }
    }

    /// Rings the doorbell for a request that has entered its queue.
    fn entered_queue(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        queue: QueueId,
        request: RequestId,
    ) {
        let record = &mut self.requests[request];
        record.enqueued = base.now();
        ahead.directory(record.tenant, self.spaces.page_of(record.lba.0));
        let takes = self.link.timing.doorbell;
        self.link.down.send(&mut base.events, takes, DownMessage::Doorbell(queue));
    }

    /// A message has reached the drive. Handle what has arrived with it, then call
    /// [`Host::next_message`].
    pub fn down_event(&mut self, base: &mut Base, ahead: &impl Lookahead) -> Option<Arrived> {
        match self.link.down.take()? {
            DownMessage::Doorbell(queue) => {
                if self.queues[queue].ring_doorbell() {
                    self.ask_for_entry(base, queue);
                }
                None
            }
            DownMessage::Entry(queue) => self.entry_arrived(base, ahead, queue),
            DownMessage::Data(request) => Some(self.data_arrived(base, request)),
        }
    }

    /// Lets the link carry the next message to the drive.
    pub fn next_message(&mut self, base: &mut Base) {
        self.link.down.start_next(&mut base.events);
    }

    /// A message has reached the host.
    pub fn up_event(&mut self, base: &mut Base, ahead: &impl Lookahead) {
        let Some(message) = self.link.up.take() else { return };
        let timing = &self.link.timing;
        match message {
            UpMessage::Fetch(queue) => {
                if let Some(request) = self.queues[queue].ask() {
                    let record = &self.requests[request];
                    ahead.entry(record.tenant, self.spaces.page_of(record.lba.0));
                }
                let takes = timing.submission_entry;
                self.link.down.send(&mut base.events, takes, DownMessage::Entry(queue));
            }
            UpMessage::FetchData(request) => {
                let takes = timing.data(self.requests[request].sectors);
                self.link.down.send(&mut base.events, takes, DownMessage::Data(request));
            }
            UpMessage::Completion(request, fetched) => match &mut self.sata {
                Some(sata) => sata.complete.send(&mut base.events, sata.delay, (request, fetched)),
                None => self.completed(base, ahead, request, fetched),
            },
        }
        self.link.up.start_next(&mut base.events);
    }

    /// The SATA adapter has passed a request on.
    pub fn sata_in_event(&mut self, base: &mut Base, ahead: &impl Lookahead) {
        let Some(sata) = &mut self.sata else { return };
        let Some(request) = sata.submit.take() else { return };
        self.submit(base, ahead, QueueId(0), request);
        if let Some(sata) = &mut self.sata {
            sata.submit.start_next(&mut base.events);
        }
    }

    /// The SATA adapter has passed a completion on.
    pub fn sata_out_event(&mut self, base: &mut Base, ahead: &impl Lookahead) {
        let Some(sata) = &mut self.sata else { return };
        let Some((request, fetched)) = sata.complete.take() else { return };
        self.completed(base, ahead, request, fetched);
        if let Some(sata) = &mut self.sata {
            sata.complete.start_next(&mut base.events);
        }
    }

    /// The drive asks for the next entry of a queue.
    fn ask_for_entry(&mut self, base: &mut Base, queue: QueueId) {
        let takes = self.link.timing.read_request;
        self.link.up.send(&mut base.events, takes, UpMessage::Fetch(queue));
    }

    /// A submission entry arrives in the drive.
    fn entry_arrived(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        queue: QueueId,
    ) -> Option<Arrived> {
        let Some(request) = self.queues[queue].fetch() else {
            debug_assert!(false, "an entry nobody submitted");
            return None;
        };
        let record = &mut self.requests[request];
        record.stamp = base.now();
        match record.op {
            Op::Write if record.sectors > 0 => self.ask_for_data(base, ahead, request),
            Op::Read | Op::Write => Some(Arrived::Read(request)),
            Op::Trim => Some(Arrived::Trim(request)),
            Op::Flush => Some(Arrived::Flush(request)),
        }
    }

    /// Asks the host for the data of a write. They are here at once if nothing else can happen
    /// before they come.
    fn ask_for_data(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        request: RequestId,
    ) -> Option<Arrived> {
        let (now, timing) = (base.now(), &self.link.timing);
        let record = &self.requests[request];
        let asked = now + timing.read_request;
        let arrived = asked + timing.data(record.sectors);
        let alone_until = base.events.next_at().unwrap_or(Nanos::MAX).min(self.horizon);
        if alone_until > arrived && self.link.is_idle(now) {
            self.link.up.occupy(now, asked - now);
            self.link.down.occupy(asked, arrived - asked);
            base.events.move_to(arrived);
            return Some(self.data_arrived(base, request));
        }
        ahead.old_page(record.tenant, self.spaces.page_of(record.lba.0));
        self.link.up.send(&mut base.events, timing.read_request, UpMessage::FetchData(request));
        None
    }

    /// The data of a write are in the drive.
    fn data_arrived(&mut self, base: &mut Base, request: RequestId) -> Arrived {
        let record = &mut self.requests[request];
        record.stamp = base.now();
        record.rest = record.sectors;
        record.cursor = record.lba.0;
        Arrived::Write(request)
    }

    /// One flash transaction of a request is done.
    #[inline]
    pub fn part_done(&mut self, base: &mut Base, request: RequestId) {
        self.requests[request].waits_flash -= 1;
        self.finish(base, request);
    }

    /// Sectors of a request have been read from DRAM or written to it.
    #[inline]
    pub fn dram_done(&mut self, base: &mut Base, request: RequestId, sectors: u32) {
        self.requests[request].waits_dram -= sectors;
        self.finish(base, request);
    }

    /// Completes a request if it waits for nothing any more.
    #[inline]
    fn finish(&mut self, base: &mut Base, request: RequestId) {
        let record = &self.requests[request];
        if !record.is_done() {
            return;
        }
        let ready = record.data_ready();
        if ready > base.now() {
            self.held_back.push(&mut base.events, ready, request);
        } else {
            self.done(base, request);
        }
    }

    /// Holds a read back until the controller will have some of its data ready for the host.
    pub fn data_ready_at(&mut self, request: RequestId, ready: Nanos) {
        let record = &mut self.requests[request];
        debug_assert_eq!(record.op, Op::Read);
        record.cursor = record.cursor.max(ready.0);
    }

    /// The last data of a read are ready for the host.
    pub fn pipeline_event(&mut self, base: &mut Base) {
        if let Some(request) = self.held_back.take(&mut base.events) {
            self.done(base, request);
        }
    }

    /// The drive has done everything that a request asked for.
    pub fn done(&mut self, base: &mut Base, request: RequestId) {
        let record = &self.requests[request];
        let queue = self.queue_of(record.tenant);
        if record.op == Op::Read {
            self.link.up.occupy(base.now(), self.link.timing.data(record.sectors));
        }
        if self.queues[queue].leave() {
            self.ask_for_entry(base, queue);
        }
        if self.queues[queue].withhold(base.now(), request) {
            self.listen(base, queue);
        } else {
            self.tell(base, queue, request);
        }
    }

    /// Sends a completion to the host.
    fn tell(&mut self, base: &mut Base, queue: QueueId, request: RequestId) {
        let takes = self.link.timing.completion_entry;
        let message = UpMessage::Completion(request, self.queues[queue].fetched());
        self.link.up.send(&mut base.events, takes, message);
    }

    /// Makes the next bell an event, if a completion waits for it.
    #[inline]
    fn listen(&mut self, base: &mut Base, queue: QueueId) {
        if let Some(bell) = self.queues[queue].listen() {
            let caused = bell - self.link.timing.doorbell;
            base.events.push_caused(bell, caused, self.rules.bells[queue]);
        }
    }

    /// The drive hears of a place that a withheld completion waits for.
    pub fn bell_event(&mut self, base: &mut Base, queue: QueueId) {
        if let Some(request) = self.queues[queue].hear() {
            self.tell(base, queue, request);
        }
        self.listen(base, queue);
    }

    /// The host sees a completion.
    fn completed(
        &mut self,
        base: &mut Base,
        ahead: &impl Lookahead,
        request: RequestId,
        fetched: u64,
    ) {
        let record = &self.requests[request];
        let (tenant, queue) = (record.tenant, self.queue_of(record.tenant));
        base.books.request_completed(record.completion(base.now()));
        base.request_left();
        self.requests.remove(request);
        self.queues[queue].acknowledge(fetched);
        if self.sata.is_some() {
            // The adapter tells the generator of requests before it looks after its queues.
            self.next_in_closed_loop(base, ahead, tenant);
            self.ring(base, queue);
            self.admit_waiting(base, ahead, queue);
        } else {
            self.admit_waiting(base, ahead, queue);
            self.ring(base, queue);
            self.next_in_closed_loop(base, ahead, tenant);
        }
    }

    /// The host gives a place of the completion queue back.
    #[inline]
    fn ring(&mut self, base: &mut Base, queue: QueueId) {
        let (now, takes) = (base.now(), self.link.timing.doorbell);
        let bell = self.link.down.occupy(now, takes) + takes;
        self.queues[queue].give_back(now, bell);
        self.listen(base, queue);
    }

    /// Puts waiting requests into a queue as long as it has room.
    fn admit_waiting(&mut self, base: &mut Base, ahead: &impl Lookahead, queue: QueueId) {
        while let Some(request) = self.queues[queue].admit() {
            self.entered_queue(base, ahead, queue, request);
        }
    }

    /// The queue of a tenant.
    #[inline]
    fn queue_of(&self, tenant: TenantId) -> QueueId {
        if self.sata.is_some() { QueueId(0) } else { QueueId(tenant.0.into()) }
    }

    /// Time that the directions of the link have worked: to the drive, and to the host.
    pub fn link_busy(&self) -> [Nanos; 2] {
        [self.link.down.busy(), self.link.up.busy()]
    }

    /// Asserts that no request is lost between the host and the drive.
    pub fn check(&self, base: &Base) {
        let stats = &base.books.stats;
        assert_eq!(stats.arrived, stats.completed + self.requests.len() as u64);
        self.queues.iter().for_each(HostQueue::check);
        self.held_back.check();
        if let Some(cpu) = &self.cpu {
            cpu.check();
        }
        let outside: usize = self.queues.iter().map(HostQueue::before_the_drive).sum();
        assert!(outside <= self.requests.len(), "a queue holds requests that are gone");
    }
}

impl SataAdapter {
    fn new(config: &DeviceConfig, servers: &Servers) -> Self {
        Self {
            delay: config.host.sata_processing_delay,
            submit: Pipe::new(servers.number(Server::SataIn)),
            complete: Pipe::new(servers.number(Server::SataOut)),
        }
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
    use crate::accounting::Books;
    use crate::vocabulary::Observe;
    use ssdtune_model::{Lpn, Sectors};

    struct Nothing;

    impl Lookahead for Nothing {
        fn directory(&self, _: TenantId, _: Lpn) {}
        fn entry(&self, _: TenantId, _: Lpn) {}
        fn old_page(&self, _: TenantId, _: Lpn) {}
    }

    #[test]
    fn a_full_completion_queue_holds_completions_back_until_the_host_rings() {
        // Of two entries one can be used.
        let config = DeviceConfig::default();
        let servers = Servers::new(1, 1);
        let observe = Observe { completions: true, ..Observe::default() };
        let books = Books::new(&config, 1, observe);
        let mut base = Base::new(&config, books, &servers);
        let spaces = Spaces::new(std::iter::once(1_000), 8, true);
        let mut host = Host::new(&config, spaces, &servers);
        let queue = QueueId(0);
        host.queues[queue] = HostQueue::with_in_service(2, 16, 5);
        for number in 0..5 {
            let (tenant, op, lba) = (TenantId(0), Op::Write, Sectors(0));
            let request = HostRequest::new(Nanos::ZERO, tenant, op, lba, 8, number);
            let request = host.requests.insert(request);
            host.done(&mut base, request);
        }
        while let Some(server) = base.events.pop(Nanos::MAX) {
            match servers.which(server) {
                Server::LinkUp => host.up_event(&mut base, &Nothing),
                Server::Bell(queue) => host.bell_event(&mut base, queue),
                other => panic!("an event of {other:?}"),
            }
        }
        let seen: Vec<u64> =
            base.books.completions.unwrap().iter().map(|done| done.completed.0).collect();
        let timing = &host.link.timing;
        let (entry, bell) = (timing.completion_entry.0, timing.doorbell.0);
        let expected: Vec<u64> = (0..5).map(|k| entry + k * (entry + bell)).collect();
        assert_eq!(seen, expected);
        assert_eq!(host.queues[queue].completions(), (5, 0));
    }
}
