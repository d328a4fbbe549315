//! Running a drive: hand over requests, let time pass, take what came out.

use crate::arrivals::Inbox;
use crate::report::{Ending, Energy, Report};
use crate::simulator::{Core, STREAMS_MAX};
use crate::stats::FlashCommands;
use crate::vocabulary::{Completion, Observe, SimError, Tenant};
use ssdtune_model::{Bytes, CheckedConfig, Nanos, PlaneId};
use ssdtune_trace::Request;
use std::collections::VecDeque;

/// When the requests of a stream are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// At their own arrival times.
    Open,
    /// As soon as one before is completed, with this many outstanding at once. Arrival times are
    /// ignored.
    Closed(u32),
}

impl std::str::FromStr for Replay {
    type Err = String;

    /// Reads `open`, or `closed:N` with N from 1 to 65,536.
    fn from_str(text: &str) -> Result<Self, String> {
        let depth = |text: &str| text.parse().ok().filter(|depth| (1..=65_536).contains(depth));
        match (text, text.strip_prefix("closed:").and_then(depth)) {
            ("open", _) => Ok(Self::Open),
            (_, Some(depth)) => Ok(Self::Closed(depth)),
            _ => Err("write open, or closed:N with N from 1 to 65536".to_owned()),
        }
    }
}

/// A stream of requests.
pub struct Stream<'a> {
    /// The requests, in the order of their times.
    pub requests: Box<dyn Iterator<Item = Request> + 'a>,
    /// The tenant that they belong to. `None` lets each request name its own, which works with open
    /// replay only.
    pub tenant: Option<u16>,
    /// When they are submitted.
    pub replay: Replay,
}

impl<'a> Stream<'a> {
    /// Requests of tenant 0 at their own arrival times.
    pub fn open(requests: impl Iterator<Item = Request> + 'a) -> Self {
        Self { requests: Box::new(requests), tenant: Some(0), replay: Replay::Open }
    }

    /// Requests of tenant 0, with `depth` outstanding at once.
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
    /// Host writes wait for free blocks, and no collection can make any.
    OutOfSpace {
        /// Planes without free blocks.
        planes: Vec<PlaneId>,
        /// Requests that were never completed.
        unserved: u64,
    },
}

/// A stream under way: its inbox, where its requests come from, and whether it has ended.
type Source<'a> = (usize, Box<dyn Iterator<Item = Request> + 'a>, bool);

/// Events between two looks at the streams. Each event takes at most a queue depth of requests.
const BATCH: usize = 1024;
/// Requests that a stream holds ready, at least.
const READY: usize = 2 * BATCH;

/// Why a run shows the drive to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing special. This happens every few thousand events.
    Between,
    /// An interval has ended at this time. Everything up to then has happened, and nothing later.
    IntervalEnd(Nanos),
}

/// A drive under simulation. See the [crate's page](crate) for how to run one.
pub struct Simulator {
    pub(crate) core: Core,
    pub(crate) config: CheckedConfig,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) ending: Ending,
}

impl Simulator {
    /// Streams of requests that a drive can be given in its life, all runs together.
    pub const STREAMS_MAX: usize = STREAMS_MAX as usize;

    /// Makes an empty drive with the given tenants.
    ///
    /// # Errors
    /// The flash translation layer refuses the drive or a tenant's places, or the drive is larger
    /// than the simulator can handle.
    pub fn new(
        config: &CheckedConfig,
        tenants: &[Tenant],
        observe: Observe,
    ) -> Result<Self, SimError> {
        let core = Core::new(config, tenants, observe)?;
        let (config, tenants) = (config.clone(), tenants.to_vec());
        Ok(Self { core, config, tenants, ending: Ending::Running })
    }

    /// Runs streams to their ends. `keep_going` is called every few thousand events; if it returns
    /// `false`, the run stops.
    ///
    /// # Panics
    /// The drive has been given more than [`Simulator::STREAMS_MAX`] streams, earlier runs
    /// included.
    pub fn run(
        &mut self,
        streams: Vec<Stream>,
        mut keep_going: impl FnMut(&mut Self) -> bool,
    ) -> Outcome {
        self.run_watched(streams, None, |drive, _| keep_going(drive))
    }

    /// Runs streams to their ends, and calls `watch` exactly at the end of every interval that has
    /// requests after it, as well as every few thousand events. If `watch` returns `false`, the run
    /// stops.
    ///
    /// # Panics
    /// The drive has been given more than [`Simulator::STREAMS_MAX`] streams, earlier runs
    /// included.
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

    /// Takes a batch of events, none later than `end`. Returns whether `end` is reached, and
    /// whether events are left.
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

    /// Makes an inbox for each stream and registers its first arrival.
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
        // The last stream starts first, as in MQSim. This decides the order at equal times.
        for (inbox, requests, ended) in sources.iter_mut().rev() {
            *ended = self.refill(*inbox, requests.as_mut());
            if self.core.inboxes[*inbox].depth.is_some() {
                // Closed loops start after one nanosecond, as in MQSim.
                let at = self.core.now() + Nanos(1);
                self.core.events.push(at, crate::event::ServerId(*inbox as u32));
            }
        }
        sources
    }

    fn add_inbox(&mut self, tenant: Option<u16>, depth: Option<u32>) -> usize {
        // The number of an inbox is that of a server, and other servers follow.
        let streams = self.core.inboxes.len();
        assert!(streams < Self::STREAMS_MAX, "a drive takes {streams} streams in its life");
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

    /// Fills the inbox of a stream. Returns `true` when the stream has ended.
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

    /// Hands over one request of the tenant that it names. Times must not fall from one call to the
    /// next.
    pub fn push(&mut self, request: Request) {
        if self.core.inboxes.is_empty() {
            self.add_inbox(None, None);
        }
        self.core.inboxes[0].requests.push_back(request);
        self.core.await_arrival(0);
    }

    /// Lets everything happen up to a time, that time included.
    pub fn run_until(&mut self, time: Nanos) {
        self.core.horizon = time;
        while self.core.events.next_at().is_some_and(|at| at <= time) {
            self.core.step();
        }
        self.core.horizon = Nanos::MAX;
        self.core.events.advance(time);
    }

    /// Lets everything happen that follows from the requests handed over.
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

    /// The number of requests completed so far.
    pub fn completed(&self) -> u64 {
        self.core.stats.completed
    }

    /// The number of requests that have arrived and have not been completed.
    pub fn in_flight(&self) -> u64 {
        self.core.stats.arrived - self.core.stats.completed
    }

    /// Flash commands and pages so far.
    pub fn flash(&self) -> FlashCommands {
        self.core.stats.flash
    }

    /// Energy consumed from the first arrival until now. Later calls never return less of anything.
    pub fn energy(&self) -> Energy {
        self.core.energy.report(&self.core)
    }

    /// The number of events processed so far.
    pub fn events(&self) -> u64 {
        self.core.events.processed()
    }

    /// Completions since the last call. Empty unless [`Observe::completions`] is set.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        self.core.completions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The configuration that the drive was made from.
    pub fn config(&self) -> &CheckedConfig {
        &self.config
    }

    /// The size of a tenant's address space.
    ///
    /// # Panics
    /// The drive has no such tenant.
    pub fn address_space(&self, tenant: usize) -> Bytes {
        self.core.tenant_sectors(tenant).bytes()
    }

    /// Everything measured so far.
    pub fn report(&self) -> Report {
        Report::new(self)
    }

    /// Asserts every invariant of the FTL. This walks the whole drive and is meant for tests.
    ///
    /// # Panics
    /// An invariant is broken.
    pub fn check(&self) {
        self.core.ftl.check();
    }
}

#[cfg(test)]
mod tests {
    use super::Replay;

    #[test]
    fn replays_are_read() {
        let replay = |text: &str| text.parse::<Replay>();
        assert_eq!(replay("open"), Ok(Replay::Open));
        assert_eq!(replay("closed:16"), Ok(Replay::Closed(16)));
        for wrong in ["closed", "closed:0", "closed:x", "open:3", "closed:65537"] {
            assert!(replay(wrong).is_err(), "{wrong}");
        }
    }
}
