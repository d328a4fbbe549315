//! Running a drive: hand over requests, let time pass, take what came out.

mod demand;
pub use demand::PagesLookedFor;
mod initial_content;
mod past;
mod report;
mod settle;
mod snapshot;
mod warmup;

pub use initial_content::{Footprint, InitialContent};
pub use past::{CachedPage, Past, PastRoom};
pub use settle::Work;
pub use snapshot::SnapshotError;
pub use warmup::Filling;

use crate::accounting::{Energy, FlashCommands};
use crate::core::{Core, Stop};
use crate::engine::STREAMS_MAX;
use crate::id::StreamId;
use crate::report::{Ending, Report};
use crate::vocabulary::{Completion, Observe, SimError, Tenant};
use ssdtune_model::{Bytes, CheckedConfig, Nanos, PlaneId};
use ssdtune_trace::{Request, TenantId};

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

impl std::fmt::Display for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open => f.write_str("open"),
            Self::Closed(depth) => write!(f, "closed:{depth}"),
        }
    }
}

/// How long parts of a drive were busy; of several equal parts the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTime {
    /// The host link in the direction to the drive.
    pub link_down: Nanos,
    /// The host link in the direction to the host.
    pub link_up: Nanos,
    /// The DRAM channel.
    pub dram: Nanos,
    /// Flash channels.
    pub channels: Nanos,
    /// Flash dies.
    pub dies: Nanos,
}

impl BusyTime {
    /// What came since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            link_down: self.link_down - earlier.link_down,
            link_up: self.link_up - earlier.link_up,
            dram: self.dram - earlier.dram,
            channels: self.channels - earlier.channels,
            dies: self.dies - earlier.dies,
        }
    }
}

/// A stream of requests.
pub struct Stream<'a> {
    /// The requests, in the order of their times.
    pub requests: Box<dyn Iterator<Item = Request> + 'a>,
    /// The tenant that they belong to. `None` lets each request name its own, which works with open
    /// replay only.
    pub tenant: Option<TenantId>,
    /// When they are submitted.
    pub replay: Replay,
}

impl<'a> Stream<'a> {
    /// Requests of tenant 0 at their own arrival times.
    pub fn open(requests: impl Iterator<Item = Request> + 'a) -> Self {
        Self { requests: Box::new(requests), tenant: Some(TenantId(0)), replay: Replay::Open }
    }

    /// Requests of tenant 0, with `depth` outstanding at once.
    pub fn closed(requests: impl Iterator<Item = Request> + 'a, depth: u32) -> Self {
        Self {
            requests: Box::new(requests),
            tenant: Some(TenantId(0)),
            replay: Replay::Closed(depth),
        }
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
type Source<'a> = (StreamId, Box<dyn Iterator<Item = Request> + 'a>, bool);

/// Events between two looks at the streams. Each event takes at most a queue depth of requests.
const BATCH: usize = 1024;
/// Cached pages that checks of debug builds walk over for each event, at most. More than this times
/// [`BATCH`] are walked over at longer intervals, so that checks take some tenth of a run's time
/// whatever the size of the cache.
const WALKED_EACH: usize = 8;
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
#[derive(Clone)]
pub struct Simulator {
    core: Core,
    config: CheckedConfig,
    tenants: Vec<Tenant>,
    ending: Ending,
    /// How things stood when the last run had served everything.
    when_served: Option<WhenServed>,
}

/// How things stood when a run had served everything.
#[derive(Clone, Copy)]
struct WhenServed {
    /// The time.
    at: Nanos,
    /// What the mean die had worked.
    worked: Nanos,
    /// Sectors on their way from the data cache to flash.
    on_the_way: u64,
    /// When sectors from the cache had been on flash by then, in nanoseconds, all added up.
    written_at: u128,
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
        Ok(Self { core, config, tenants, ending: Ending::Running, when_served: None })
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
        self.when_served = None;
        let (mut interval_end, mut unchecked) = (interval, 0);
        self.core.host.sources_known = true;
        let outcome = loop {
            for (inbox, requests, ended) in &mut sources {
                if !*ended {
                    *ended = self.refill(*inbox, requests.as_mut());
                }
            }
            self.core.host.horizon = interval_end.unwrap_or(Nanos::MAX);
            let stop = self.take_events(interval_end.unwrap_or(Nanos::MAX), &sources);
            let starved = stop == Stop::Idle;
            if starved && !self.core.backend.collect_starved(&mut self.core.base) {
                break self.outcome();
            }
            let reached = stop == Stop::Until;
            let look = match interval_end {
                Some(end) if reached => Look::IntervalEnd(end),
                _ => Look::Between,
            };
            if cfg!(debug_assertions) {
                // In release builds only the end of a run is checked: this walks the data cache.
                unchecked += BATCH;
                if unchecked >= self.core.cached_pages() / WALKED_EACH {
                    self.core.check();
                    unchecked = 0;
                }
            }
            if !watch(self, look) {
                self.ending = Ending::Interrupted;
                break Outcome::Interrupted;
            }
            if reached {
                interval_end = interval.zip(interval_end).map(|(step, end)| end + step);
            }
        };
        self.core.host.sources_known = false;
        self.core.host.horizon = Nanos::MAX;
        outcome
    }

    /// Takes a batch of events. When all streams have ended it goes in ever smaller steps, so that
    /// it notices the moment at which nothing is left to serve.
    fn take_events(&mut self, until: Nanos, sources: &[Source<'_>]) -> Stop {
        let mut left = BATCH;
        let all_came = sources.iter().all(|&(_, _, ended)| ended);
        while all_came && self.when_served.is_none() {
            let waiting = |&(inbox, _, _): &Source<'_>| self.core.host.ready(inbox).0;
            let unserved = self.in_flight() as usize + sources.iter().map(waiting).sum::<usize>();
            if unserved == 0 {
                let (at, worked) = (self.core.now(), self.worked());
                let cache = &self.core.cache;
                let (on_the_way, written_at) = (cache.sectors_to_flash(), cache.written_at());
                self.when_served = Some(WhenServed { at, worked, on_the_way, written_at });
                break;
            }
            // An event completes a few requests at most.
            let most = (unserved / 64).clamp(1, left);
            match self.core.run(most, until) {
                Stop::Most if most < left => left -= most,
                stop => return stop,
            }
        }
        self.core.run(left, until)
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
                (self.core.host.add_stream(stream.tenant, depth), stream.requests, false)
            })
            .collect();
        // The last stream starts first, as in MQSim. This decides the order at equal times.
        for (inbox, requests, ended) in sources.iter_mut().rev() {
            *ended = self.refill(*inbox, requests.as_mut());
            self.core.host.start_closed_loop(&mut self.core.base, *inbox);
        }
        sources
    }

    /// Fills the inbox of a stream. Returns `true` when the stream has ended.
    fn refill(&mut self, stream: StreamId, requests: &mut dyn Iterator<Item = Request>) -> bool {
        let Core { host, base, .. } = &mut self.core;
        let (ready, depth) = host.ready(stream);
        let least = READY + depth as usize;
        if ready >= least {
            return false;
        }
        let wanted = 2 * least - ready;
        host.hand_over(base, stream, requests.take(wanted)) < wanted
    }

    /// Hands over one request of the tenant that it names. Times must not fall from one call to the
    /// next.
    pub fn push(&mut self, request: Request) {
        let Core { host, base, .. } = &mut self.core;
        let stream = host.first_stream();
        host.hand_over(base, stream, std::iter::once(request));
    }

    /// Lets everything happen up to a time, that time included.
    pub fn run_until(&mut self, time: Nanos) {
        self.core.host.horizon = time;
        while self.core.run(usize::MAX, time) == Stop::Most {}
        self.core.host.horizon = Nanos::MAX;
        self.core.base.events.advance(time);
    }

    /// Lets everything happen that follows from the requests handed over.
    pub fn run_to_end(&mut self) -> Outcome {
        while self.core.run(usize::MAX, Nanos::MAX) == Stop::Most
            || self.core.backend.collect_starved(&mut self.core.base)
        {}
        self.outcome()
    }

    fn outcome(&mut self) -> Outcome {
        self.core.check();
        let unserved = self.in_flight();
        if unserved == 0 {
            self.ending = Ending::Completed;
            return Outcome::Completed;
        }
        let planes: Vec<PlaneId> = self.core.backend.starved_planes().collect();
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
        self.core.base.books.stats.completed
    }

    /// The number of requests that have arrived and have not been completed.
    pub fn in_flight(&self) -> u64 {
        self.core.base.books.stats.arrived - self.core.base.books.stats.completed
    }

    /// Flash commands and pages so far.
    pub fn flash(&self) -> FlashCommands {
        self.core.base.books.stats.flash
    }

    /// Energy consumed from the first arrival until now. Later calls never return less of anything.
    pub fn energy(&self) -> Energy {
        let now = self.core.now();
        self.core.base.books.energy(now, |since| self.core.backend.flash.idle(since, now))
    }

    /// How long parts of the drive have been busy so far. Time is counted when an operation begins,
    /// so it may reach beyond now.
    pub fn busy(&self) -> BusyTime {
        let mean = |times: &[Nanos]| {
            Nanos(times.iter().map(|time| time.0).sum::<u64>() / times.len().max(1) as u64)
        };
        let [link_down, link_up] = self.core.host.link_busy();
        let [channels, dies] = self.core.backend.flash.busy();
        let dram = self.core.base.books.stats.dram_busy;
        BusyTime { link_down, link_up, dram, channels: mean(&channels), dies: mean(&dies) }
    }

    /// The number of events processed so far.
    pub fn events(&self) -> u64 {
        self.core.base.events.processed()
    }

    /// Completions since the last call. Empty unless [`Observe::completions`] is set.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        self.core.base.books.completions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The configuration that the drive was made from.
    pub fn config(&self) -> &CheckedConfig {
        &self.config
    }

    /// The size of a tenant's address space.
    ///
    /// # Panics
    /// The drive has no such tenant.
    pub fn address_space(&self, tenant: TenantId) -> Bytes {
        self.core.host.spaces.size(tenant).bytes()
    }

    /// Everything measured so far.
    pub fn report(&self) -> Report {
        report::of(self)
    }

    /// Asserts every invariant of the drive and of its FTL. This walks the whole drive and is meant
    /// for tests.
    ///
    /// # Panics
    /// An invariant is broken.
    pub fn check(&self) {
        self.core.check();
        self.core.backend.ftl.check();
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
