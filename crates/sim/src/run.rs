//! Running a drive: hand over requests, move time, take what came out.

use crate::report::Report;
use crate::simulator::{Completion, Core, Inbox, Observe, STREAMS_MAX, SimError, Tenant};
use ssdtune_model::{DeviceConfig, Nanos, PlaneId};
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

/// Events between two looks at the streams. Each takes at most a queue depth of requests.
const BATCH: usize = 1024;
/// Requests a stream holds ready at least.
const READY: usize = 2 * BATCH;

/// A drive under simulation.
pub struct Simulator {
    pub(crate) core: Core,
    config: DeviceConfig,
}

impl Simulator {
    /// An empty drive with the given tenants.
    pub fn new(
        config: &DeviceConfig,
        tenants: &[Tenant],
        observe: Observe,
    ) -> Result<Self, SimError> {
        Ok(Self { core: Core::new(config, tenants, observe)?, config: config.clone() })
    }

    /// Runs streams to their ends. `keep_going` is asked every few thousand events.
    pub fn run(
        &mut self,
        streams: Vec<Stream>,
        mut keep_going: impl FnMut(&Self) -> bool,
    ) -> Outcome {
        let mut sources: Vec<_> = streams
            .into_iter()
            .take(STREAMS_MAX as usize)
            .map(|stream| {
                let depth = match stream.replay {
                    Replay::Open => None,
                    Replay::Closed(depth) => Some(depth.max(1)),
                };
                (self.add_inbox(stream.tenant, depth), stream.requests, false)
            })
            .collect();
        for &(inbox, _, _) in &sources {
            if self.core.inboxes[inbox].depth.is_some() {
                // Closed loops start at the first nanosecond.
                self.core
                    .events
                    .push(self.core.now() + Nanos(1), crate::event::ServerId(inbox as u32));
            }
        }
        loop {
            for (inbox, requests, ended) in &mut sources {
                if !*ended {
                    *ended = self.refill(*inbox, requests.as_mut());
                }
            }
            let mut more = true;
            for _ in 0..BATCH {
                more = self.core.step();
                if !more {
                    break;
                }
            }
            if !more {
                return self.outcome();
            }
            if !keep_going(self) {
                return Outcome::Interrupted;
            }
        }
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
        while self.core.events.next_at().is_some_and(|at| at <= time) {
            self.core.step();
        }
        self.core.events.advance(time);
    }

    /// Lets everything happen that has been asked for.
    pub fn run_to_end(&mut self) -> Outcome {
        while self.core.step() {}
        self.outcome()
    }

    fn outcome(&self) -> Outcome {
        let unserved = self.core.reqs.len() as u64;
        assert_eq!(self.core.stats.arrived, self.core.stats.completed + unserved);
        if unserved == 0 {
            return Outcome::Completed;
        }
        let planes: Vec<PlaneId> = self.core.starved_planes().collect();
        assert!(!planes.is_empty(), "{unserved} requests are lost without a reason");
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

    /// Events processed so far.
    pub fn events(&self) -> u64 {
        self.core.events.processed()
    }

    /// Completions since the last call, if the drive was told to keep them.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        self.core.completions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The configuration it was made from.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
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
