//! What a simulated drive does with the requests of a point.
//!
//! Every point finds the same drive: born used ([`State::Steady`]: full, and overwritten at random for ever),
//! so that no point inherits what another left behind. The first requests are not counted: they fill the
//! queues and the write buffer. In a closed loop the run stops when enough requests have completed, with the
//! queues still full; in an open loop the counted requests are those that arrive after the first ones, and
//! all of them are waited for.
//!
//! Latency is from the arrival at the host to the completion, whatever queue the request waits in. Bandwidth
//! is IOPS times the mean size of the requests counted.
//!
//! Cost: about 1 us for each page of the requests, 1 ms for the drive.

use super::point::{CALIBRATION_DEPTH, Load, Point};
use super::stream::Requests;
use serde::{Deserialize, Serialize};
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::{
    Completion, Footprint, InitialState, Observe, Outcome, Past, SimError, Simulator, Stream, Tenant,
};
use ssdtune_trace::Op;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that [`Effort`] counts in.
const PAGE_BYTES: f64 = 4096.0;

/// What a drive holds when a point begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing.
    Empty,
    /// Every page, written once in order.
    Sequential,
    /// Every page, and overwritten at random for ever.
    #[default]
    Steady,
}

/// How much is measured at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Requests counted are as many as move so many pages of 4 KiB,
    pub pages: u64,
    /// but at least so many (and four for each one outstanding),
    pub requests_min: u64,
    /// and at most so many.
    pub requests_max: u64,
    /// Requests before those that are counted, in percent of them.
    pub lead_in_percent: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { pages: 16_384, requests_min: 512, requests_max: 8_192, lead_in_percent: 50 }
    }
}

impl Effort {
    /// Requests counted and requests before them.
    pub fn requests(&self, point: &Point, depth: u32) -> (u64, u64) {
        let wanted = (self.pages as f64 * PAGE_BYTES / point.mean_bytes()) as u64;
        let least = self.requests_min.max(4 * u64::from(depth)).max(1);
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
    #[error("{point} runs the drive out of free blocks: give it more over-provisioning")]
    OutOfSpace {
        /// The point.
        point: Point,
    },
}

/// A drive on which points are measured, each from the same beginning.
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
    /// Measures a closed point; of an open one, what `capacity_iops` times its load gives.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn measure(&self, point: &Point, capacity_iops: f64) -> Result<Figures, MeasureError> {
        match point.load() {
            Load::Depth(depth) => self.closed(point, depth),
            Load::Percent(percent) => {
                self.open(point, capacity_iops * f64::from(percent) / 100.0)
            }
        }
    }

    /// The IOPS that loads of this workload are parts of.
    ///
    /// # Errors
    /// As [`Bench::measure`].
    pub fn capacity_iops(&self, point: &Point) -> Result<f64, MeasureError> {
        let closed = point.with_load(Load::Depth(CALIBRATION_DEPTH));
        Ok(self.closed(&closed, CALIBRATION_DEPTH)?.iops)
    }

    fn closed(&self, point: &Point, depth: u32) -> Result<Figures, MeasureError> {
        let (counted, before) = self.settings.effort.requests(point, depth);
        let mut drive = self.drive()?;
        let requests = Requests::new(point, drive.address_space(0), self.settings.seed, None);
        let mut tally = Tally::default();
        let (mut seen, mut begin) = (0, Nanos::ZERO);
        let outcome = drive.run(vec![Stream::closed(requests, depth)], |drive| {
            for completion in drive.take_completions() {
                seen += 1;
                if seen == before {
                    begin = completion.completed;
                } else if seen > before && seen <= before + counted {
                    tally.add(&completion);
                }
            }
            seen < before + counted && !self.stop.load(Ordering::Relaxed)
        });
        if seen < before + counted {
            return Err(self.unfinished(point, &outcome));
        }
        Ok(tally.figures(begin, None))
    }

    fn open(&self, point: &Point, rate_iops: f64) -> Result<Figures, MeasureError> {
        let (counted, before) = self.settings.effort.requests(point, CALIBRATION_DEPTH);
        let mut drive = self.drive()?;
        let space = drive.address_space(0);
        let requests = Requests::new(point, space, self.settings.seed, Some(rate_iops))
            .take((before + counted) as usize);
        let mut tally = Tally::default();
        let mut begin = Nanos::MAX;
        let outcome = {
            let mut take = |drive: &mut Simulator| {
                for completion in drive.take_completions() {
                    if completion.number >= before {
                        begin = begin.min(completion.arrived);
                        tally.add(&completion);
                    }
                }
                !self.stop.load(Ordering::Relaxed)
            };
            let outcome = drive.run(vec![Stream::open(requests)], &mut take);
            take(&mut drive);
            outcome
        };
        if outcome != Outcome::Completed {
            return Err(self.unfinished(point, &outcome));
        }
        Ok(tally.figures(begin, Some(rate_iops)))
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
        let past = Past { state, occupancy: vec![1.0], erases: 0, seed };
        drive.define(&past, &Footprint::default())?;
        Ok(drive)
    }

    fn unfinished(&self, point: &Point, outcome: &Outcome) -> MeasureError {
        match outcome {
            Outcome::OutOfSpace { .. } => MeasureError::OutOfSpace { point: *point },
            _ => MeasureError::Interrupted,
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
