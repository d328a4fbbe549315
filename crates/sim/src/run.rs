//! Running a drive: hand over requests, move time, take what came out.

use crate::arrivals::Inbox;
use crate::report::{Ending, Energy, Report};
use crate::simulator::{Core, STREAMS_MAX};
use crate::stats::FlashCommands;
use crate::vocabulary::{Completion, Observe, SimError, Tenant};
use ssdtune_model::{Bytes, CheckedConfig, Nanos, PlaneId};
use ssdtune_trace::Request;
use std::collections::VecDeque;

/// How a stream's requests are given to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// At their own times.
    Open,
    /// So many outstanding at once, whatever their times.
    Closed(u32),
}

/// A stream of requests.
pub struct Stream<'a> {
    /// The requests, in order of time.
    pub requests: Box<dyn Iterator<Item = Request> + 'a>,
    /// Whose they are; `None` lets each request say (open replay only).
    pub tenant: Option<u16>,
    /// When they are submitted.
    pub replay: Replay,
}

impl<'a> Stream<'a> {
    /// Requests of the only tenant, at their own times.
    pub fn open(requests: impl Iterator<Item = Request> + 'a) -> Self {
        Self { requests: Box::new(requests), tenant: Some(0), replay: Replay::Open }
    }

    /// Requests of the only tenant, `depth` at once.
    pub fn closed(requests: impl Iterator<Item = Request> + 'a, depth: u32) -> Self {
        Self { requests: Box::new(requests), tenant: Some(0), replay: Replay::Closed(depth) }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every request was completed.
    Completed,
    /// The caller stopped it.
    Interrupted,
    /// Host writes wait for free blocks that no collection can make.
    OutOfSpace {
        /// Planes concerned.
        planes: Vec<PlaneId>,
        /// Requests that were never completed.
        unserved: u64,
    },
}

/// A stream's inbox, where its requests come from, and whether they have ended.
type Source<'a> = (usize, Box<dyn Iterator<Item = Request> + 'a>, bool);

/// Events between two looks at the streams. Each takes at most a queue depth of requests.
const BATCH: usize = 1024;
/// Requests a stream holds ready at least.
const READY: usize = 2 * BATCH;

/// When a run shows itself to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// In between, every few thousand events.
    Between,
    /// Everything before this end of an interval has happened, and nothing after it.
    IntervalEnd(Nanos),
}

/// A drive under simulation.
pub struct Simulator {
    pub(crate) core: Core,
    pub(crate) config: CheckedConfig,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) ending: Ending,
}

impl Simulator {
    /// Streams of requests a drive can be given.
    pub const STREAMS_MAX: usize = STREAMS_MAX as usize;

    /// An empty drive with the given tenants.
    ///
    /// # Errors
    /// A tenant has no place in the drive, or the drive is larger than the simulator can name.
    pub fn new(
        config: &CheckedConfig,
        tenants: &[Tenant],
        observe: Observe,
    ) -> Result<Self, SimError> {
        let core = Core::new(config, tenants, observe)?;
        let (config, tenants) = (config.clone(), tenants.to_vec());
        Ok(Self { core, config, tenants, ending: Ending::Running })
    }

    /// Runs streams to their ends. `keep_going` is asked every few thousand events.
    ///
    /// # Panics
    /// If there are more than [`Simulator::STREAMS_MAX`] streams.
    pub fn run(
        &mut self,
        streams: Vec<Stream>,
        mut keep_going: impl FnMut(&mut Self) -> bool,
    ) -> Outcome {
        self.run_watched(streams, None, |drive, _| keep_going(drive))
    }

    /// Likewise, and `watch` also sees the drive exactly at the end of every interval that has requests
    /// after it.
    ///
    /// # Panics
    /// If there are more than [`Simulator::STREAMS_MAX`] streams.
    pub fn run_in_intervals(
        &mut self,
        streams: Vec<Stream>,
        interval: Nanos,
        watch: impl FnMut(&mut Self, Look) -> bool,
    ) -> Outcome {
        self.run_watched(streams, Some(interval.max(Nanos(1))), watch)
    }

    fn run_watched(
        &mut self,
        streams: Vec<Stream>,
        interval: Option<Nanos>,
        mut watch: impl FnMut(&mut Self, Look) -> bool,
    ) -> Outcome {
        assert!(streams.len() <= Self::STREAMS_MAX, "{} streams are too many", streams.len());
        let mut sources = self.start(streams);
        let mut interval_end = interval;
        self.core.sources_known = true;
        let outcome = loop {
            for (inbox, requests, ended) in &mut sources {
                if !*ended {
                    *ended = self.refill(*inbox, requests.as_mut());
                }
            }
            self.core.horizon = interval_end.unwrap_or(Nanos::MAX);
            let (reached, more) = self.step_batch(interval_end);
            if !more && !self.core.collect_starved() {
                break self.outcome();
            }
            let look = match interval_end {
                Some(end) if reached => Look::IntervalEnd(end),
                _ => Look::Between,
            };
            if !watch(self, look) {
                self.ending = Ending::Interrupted;
                break Outcome::Interrupted;
            }
            if reached {
                interval_end = interval.zip(interval_end).map(|(step, end)| end + step);
            }
        };
        self.core.sources_known = false;
        self.core.horizon = Nanos::MAX;
        outcome
    }

    /// Takes a batch of events, none after `end`: whether `end` is reached, and whether events are left.
    fn step_batch(&mut self, end: Option<Nanos>) -> (bool, bool) {
        let Some(end) = end else { return (false, (0..BATCH).all(|_| self.core.step())) };
        for _ in 0..BATCH {
            match self.core.events.next_at() {
                None => return (false, false),
                Some(at) if at > end => return (true, true),
                Some(_) => {
                    self.core.step();
                }
            }
        }
        (false, true)
    }

    fn start<'a>(&mut self, streams: Vec<Stream<'a>>) -> Vec<Source<'a>> {
        let mut sources: Vec<Source<'a>> = streams
            .into_iter()
            .map(|stream| {
                let depth = match stream.replay {
                    Replay::Open => None,
                    Replay::Closed(depth) => Some(depth.max(1)),
                };
                (self.add_inbox(stream.tenant, depth), stream.requests, false)
            })
            .collect();
        // The stream named last starts first: so do MQSim's, and it decides between equal times.
        for (inbox, requests, ended) in sources.iter_mut().rev() {
            *ended = self.refill(*inbox, requests.as_mut());
            if self.core.inboxes[*inbox].depth.is_some() {
                // Closed loops start at the first nanosecond.
                let at = self.core.now() + Nanos(1);
                self.core.events.push(at, crate::event::ServerId(*inbox as u32));
            }
        }
        sources
    }

    fn add_inbox(&mut self, tenant: Option<u16>, depth: Option<u32>) -> usize {
        self.core.inboxes.push(Inbox {
            requests: VecDeque::new(),
            tenant,
            depth,
            number: 0,
            last_at: Nanos::ZERO,
            pending: false,
        });
        self.core.inboxes.len() - 1
    }

    /// Tops up a stream; `true` when its source has ended.
    fn refill(&mut self, inbox: usize, requests: &mut dyn Iterator<Item = Request>) -> bool {
        let record = &mut self.core.inboxes[inbox];
        let depth = record.depth.unwrap_or(0) as usize;
        if record.requests.len() >= READY + depth {
            return false;
        }
        let wanted = 2 * (READY + depth) - record.requests.len();
        let before = record.requests.len();
        record.requests.extend(requests.take(wanted));
        let ended = record.requests.len() - before < wanted;
        self.core.await_arrival(inbox);
        ended
    }

    /// Hands over one request of the tenant it names. Times must not decrease.
    pub fn push(&mut self, request: Request) {
        if self.core.inboxes.is_empty() {
            self.add_inbox(None, None);
        }
        self.core.inboxes[0].requests.push_back(request);
        self.core.await_arrival(0);
    }

    /// Lets everything happen that falls before or at a time.
    pub fn run_until(&mut self, time: Nanos) {
        self.core.horizon = time;
        while self.core.events.next_at().is_some_and(|at| at <= time) {
            self.core.step();
        }
        self.core.horizon = Nanos::MAX;
        self.core.events.advance(time);
    }

    /// Lets everything happen that has been asked for.
    pub fn run_to_end(&mut self) -> Outcome {
        while self.core.step() || self.core.collect_starved() {}
        self.outcome()
    }

    fn outcome(&mut self) -> Outcome {
        let unserved = self.core.reqs.len() as u64;
        assert_eq!(self.core.stats.arrived, self.core.stats.completed + unserved);
        if unserved == 0 {
            self.ending = Ending::Completed;
            return Outcome::Completed;
        }
        let planes: Vec<PlaneId> = self.core.starved_planes().collect();
        assert!(!planes.is_empty(), "{unserved} requests are lost without a reason");
        self.ending = Ending::OutOfSpace;
        Outcome::OutOfSpace { planes, unserved }
    }

    /// The simulated time.
    pub fn now(&self) -> Nanos {
        self.core.now()
    }

    /// Requests completed so far.
    pub fn completed(&self) -> u64 {
        self.core.stats.completed
    }

    /// Requests that have arrived and not been completed.
    pub fn in_flight(&self) -> u64 {
        self.core.stats.arrived - self.core.stats.completed
    }

    /// Flash commands and pages so far.
    pub fn flash(&self) -> FlashCommands {
        self.core.stats.flash
    }

    /// Energy consumed from the first arrival until now. Later calls never give less of anything.
    pub fn energy(&self) -> Energy {
        self.core.energy.report(&self.core)
    }

    /// Events processed so far.
    pub fn events(&self) -> u64 {
        self.core.events.processed()
    }

    /// Completions since the last call, if the drive was told to keep them.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        self.core.completions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The configuration it was made from.
    pub fn config(&self) -> &CheckedConfig {
        &self.config
    }

    /// Bytes that a tenant can address.
    ///
    /// # Panics
    /// If the drive has no such tenant.
    pub fn address_space(&self, tenant: usize) -> Bytes {
        self.core.tenant_sectors(tenant).bytes()
    }

    /// Everything measured so far.
    pub fn report(&self) -> Report {
        Report::new(self)
    }

    /// Every invariant of the FTL, walking the whole drive: for tests.
    pub fn check(&self) {
        self.core.ftl.check();
    }
}
