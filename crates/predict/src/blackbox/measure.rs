//! What a simulated drive does with the requests of a point.
//!
//! Points that differ in nothing but their load (depths, or offered rates) are a family. A family
//! has a drive of its own, born with data in every page ([`State`]), and its points are measured on
//! it one after the other, in their order, by one stream of requests that goes on: so no family
//! inherits what another left behind, and of one another its points inherit no more than a few
//! thousand pages' writes. (A drive of a million blocks takes 50 ms to make, as long as four
//! points.)
//!
//! The first requests of a point are not counted: they fill the queues and the write buffer. In a
//! closed loop the counted ones are the next to complete, and as many follow them as keep the
//! queues full; in an open loop they are the next to arrive, and all of them are waited for. An
//! open family first runs its workload with [`CALIBRATION_DEPTH`] outstanding: its loads are parts
//! of that rate.
//!
//! Latency is from the arrival at the host to the completion, whatever queue the request waits in.
//!
//! Cost: 1 to 3 us for each page of the requests, and the drive.

use super::point::{CALIBRATION_DEPTH, Load, Point};
use super::stream::Requests;
use serde::{Deserialize, Serialize};
use ssdtune_model::{CheckedConfig, Nanos, Sectors};
use ssdtune_sim::{
    Completion, Footprint, InitialContent, InitialState, Observe, Outcome, SimError, Simulator,
    Stream, Tenant,
};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that [`Effort`] counts in.
const PAGE_BYTES: f64 = 4096.0;

/// What a drive holds when a family begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing: reads find no data.
    Empty,
    /// Every page, written once in order; the spare blocks are free.
    #[default]
    Sequential,
    /// Every page, overwritten at random for ever: writes are paid for by collection.
    Steady,
}

/// How much is measured at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Requests counted are as many as move so many pages of 4 KiB,
    pub pages: u64,
    /// but at most so many,
    pub requests_max: u64,
    /// and at least so many,
    pub requests_min: u64,
    /// and so many for each one outstanding: fewer rounds of a deep queue are a sample of its
    /// beginning.
    pub rounds: u64,
    /// Requests before those that are counted, in percent of them.
    pub lead_in_percent: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            pages: 4_096,
            requests_max: 1_024,
            requests_min: 192,
            rounds: 16,
            lead_in_percent: 50,
        }
    }
}

impl Effort {
    /// Requests counted and requests before them.
    pub fn requests(&self, point: &Point, depth: u32) -> (u64, u64) {
        let wanted = (self.pages as f64 * PAGE_BYTES / point.mean_bytes()) as u64;
        let least = self.requests_min.max(self.rounds * u64::from(depth)).max(1);
        let counted = wanted.clamp(least, self.requests_max.max(least));
        (counted, (counted * self.lead_in_percent / 100).max(u64::from(depth)))
    }
}

/// What decides a measurement, beside the point and the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What the drive holds.
    pub state: State,
    /// How much is measured.
    pub effort: Effort,
    /// What decides the random draws of the requests.
    pub seed: u64,
}

/// What was measured at a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Mean latency of a request, nanoseconds.
    pub latency_ns: f64,
    /// Requests completed in a second.
    pub iops: f64,
    /// Bytes moved in a second.
    pub bandwidth_bps: f64,
    /// Requests that arrived in a second, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// Requests counted; 0 where it is not known.
    #[serde(default)]
    pub requests: u64,
}

/// Why a point has no figures.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The drive ran out of free blocks.
    #[error("{what} runs the drive out of free blocks: give it more over-provisioning")]
    OutOfSpace {
        /// What did.
        what: String,
    },
}

/// A drive to be measured.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The drive.
    pub config: &'a CheckedConfig,
    /// How it is measured.
    pub settings: Settings,
    /// Measuring ends when this is set.
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    /// Measures a family.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn family(&self, points: &[Point]) -> Result<Vec<Figures>, MeasureError> {
        let Some(first) = points.first() else { return Ok(Vec::new()) };
        let drive = self.drive()?;
        let requests = Requests::new(first, drive.address_space(0), self.settings.seed);
        let mut run = Run { drive, requests, effort: self.settings.effort, stop: self.stop };
        let mut capacity_iops = None;
        let measure = |point: &Point| match point.load() {
            Load::Depth(depth) => run.closed(point, depth),
            Load::Percent(percent) => {
                let capacity = match capacity_iops {
                    Some(known) => known,
                    None => {
                        let found = run.closed(point, CALIBRATION_DEPTH)?.iops;
                        *capacity_iops.insert(found)
                    }
                };
                run.open(point, capacity * f64::from(percent) / 100.0)
            }
        };
        points.iter().map(measure).collect()
    }

    /// Measures requests made for a drive of so many sectors, so many outstanding or at their own
    /// times, the first `before` not counted.
    ///
    /// # Errors
    /// As [`Bench::family`].
    pub fn replay(
        &self,
        depth: Option<u32>,
        before: u64,
        requests: impl FnOnce(Sectors) -> Vec<Request>,
    ) -> Result<Figures, MeasureError> {
        let mut drive = self.drive()?;
        let requests = requests(drive.address_space(0).sectors_floor());
        let mut tally = Tally::default();
        let mut begin = Nanos::MAX;
        let take = |completion: &Completion| {
            if completion.number >= before {
                begin = begin.min(completion.arrived);
                tally.add(completion);
            }
        };
        let requests = requests.into_iter();
        let stream = match depth {
            Some(depth) => Stream::closed(requests, depth),
            None => Stream::open(requests),
        };
        run(&mut drive, stream, None, self.stop, take)?;
        Ok(tally.figures(begin, None))
    }

    fn drive(&self) -> Result<Simulator, MeasureError> {
        let observe = Observe { completions: true, ..Observe::default() };
        let mut drive = Simulator::new(self.config, &[Tenant::sole(self.config)], observe)?;
        let state = match self.settings.state {
            State::Empty => InitialState::Empty,
            State::Sequential => InitialState::Sequential,
            State::Steady => InitialState::Steady,
        };
        let seed = self.config.run.seed;
        let past = InitialContent { state, occupancy: vec![1.0], erases: 0, seed };
        drive.set_initial_content(&past, &Footprint::default())?;
        Ok(drive)
    }
}

/// A family under way.
struct Run<'a> {
    drive: Simulator,
    requests: Requests,
    effort: Effort,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    fn closed(&mut self, point: &Point, depth: u32) -> Result<Figures, MeasureError> {
        let (counted, before) = self.effort.requests(point, depth);
        let total = before + counted + u64::from(depth);
        self.requests.at_once();
        let mut tally = Tally::default();
        let (mut seen, mut begin) = (0, Nanos::ZERO);
        let take = |completion: &Completion| {
            seen += 1;
            if seen == before {
                begin = completion.completed;
            } else if seen > before && seen <= before + counted {
                tally.add(completion);
            }
        };
        let requests = self.requests.by_ref().take(total as usize);
        let stream = Stream::closed(requests, depth);
        run(&mut self.drive, stream, Some(point), self.stop, take)?;
        Ok(tally.figures(begin, None))
    }

    fn open(&mut self, point: &Point, rate_iops: f64) -> Result<Figures, MeasureError> {
        let (counted, before) = self.effort.requests(point, CALIBRATION_DEPTH);
        self.requests.at_rate(self.drive.now(), rate_iops);
        let mut tally = Tally::default();
        let mut begin = Nanos::MAX;
        let take = |completion: &Completion| {
            if completion.number >= before {
                begin = begin.min(completion.arrived);
                tally.add(completion);
            }
        };
        let requests = self.requests.by_ref().take((before + counted) as usize);
        run(&mut self.drive, Stream::open(requests), Some(point), self.stop, take)?;
        Ok(tally.figures(begin, Some(rate_iops)))
    }
}

/// Runs a stream to its end and shows every completion.
fn run(
    drive: &mut Simulator,
    stream: Stream,
    point: Option<&Point>,
    stop: &AtomicBool,
    mut take: impl FnMut(&Completion),
) -> Result<(), MeasureError> {
    let mut look = |drive: &mut Simulator| {
        drive.take_completions().iter().for_each(&mut take);
        !stop.load(Ordering::Relaxed)
    };
    let outcome = drive.run(vec![stream], &mut look);
    look(drive);
    match outcome {
        Outcome::Completed => Ok(()),
        Outcome::Interrupted => Err(MeasureError::Interrupted),
        Outcome::OutOfSpace { .. } => {
            let what = point.map_or("the trace".to_owned(), Point::to_string);
            Err(MeasureError::OutOfSpace { what })
        }
    }
}

/// Sums over the requests counted.
#[derive(Default)]
struct Tally {
    requests: u64,
    writes: u64,
    bytes: u64,
    latency_ns: u128,
    end: Nanos,
}

impl Tally {
    fn add(&mut self, completion: &Completion) {
        self.requests += 1;
        self.writes += u64::from(completion.op == Op::Write);
        self.bytes += u64::from(completion.sectors) * ssdtune_model::SECTOR_BYTES;
        self.latency_ns += u128::from((completion.completed - completion.arrived).0);
        self.end = self.end.max(completion.completed);
    }

    fn figures(&self, begin: Nanos, offered_iops: Option<f64>) -> Figures {
        let seconds = (self.end - begin).0.max(1) as f64 / 1e9;
        let requests = self.requests.max(1) as f64;
        Figures {
            latency_ns: self.latency_ns as f64 / requests,
            iops: requests / seconds,
            bandwidth_bps: self.bytes as f64 / seconds,
            offered_iops,
            requests: self.requests,
        }
    }
}
