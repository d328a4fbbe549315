//! What a simulated drive does with the requests of a point.
//!
//! Points that differ only in their load (the depth, or the offered rate) form a family. Each
//! family has a drive of its own, prepared as [`MeasureSettings`] say. Its points are measured on
//! that drive one after the other, in their order, by one stream of requests that goes on. So a
//! family inherits nothing from another, and its points inherit from each other no more than the
//! writes of a few thousand pages.
//!
//! The first requests of a point are not counted: they fill the queues and the write buffer. In a
//! closed loop the next requests to complete are counted, and as many follow them as keep the
//! queues full. In an open loop the next requests to arrive are counted, and all of them are waited
//! for. An open family first runs its workload with [`CALIBRATION_DEPTH`] requests outstanding: its
//! loads are percentages of the rate that this reaches.
//!
//! Latency is from the arrival at the host to the completion, in whatever queue the request waits.
//!
//! Cost: 1 to 3 us for each page of the requests, and a drive for each family. To make a drive of a
//! million blocks takes 50 ms, as long as to measure four points. To age one by random overwrites
//! takes about 0.1 us for each page written, and memory for all its pages.

use super::point::{CALIBRATION_DEPTH, Load, Point};
use super::requests::PointRequests;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ssdtune_experiment::{
    Age, Blank, Nothing, Preparation, PreparationError, PrepareError, Served, Start, Tally, serve,
};
use ssdtune_model::{CheckedConfig, Nanos, Sectors, TenantId};
use ssdtune_sim::{Completion, Observe, Simulator, Stream, Tenant};
use ssdtune_trace::Request;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of the pages that [`SampleSize`] counts, in bytes.
const PAGE_BYTES: f64 = 4096.0;

/// How many requests are counted at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSize {
    /// The requests counted move this many pages of 4 KiB, within the limits below.
    pub pages: u64,
    /// The most requests that are counted, unless the limits below ask for more.
    pub requests_max: u64,
    /// The fewest requests that are counted.
    pub requests_min: u64,
    /// The fewest requests that are counted for each one outstanding: fewer rounds of a deep queue
    /// would only be a sample of its beginning.
    pub rounds: u64,
    /// Requests that are served before those that are counted, in percent of these.
    pub lead_in_percent: u64,
}

impl Default for SampleSize {
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

impl SampleSize {
    /// The requests to count at a point, and the requests to serve before them.
    pub fn requests(&self, point: &Point, depth: u32) -> (u64, u64) {
        let wanted = (self.pages as f64 * PAGE_BYTES / point.mean_bytes()) as u64;
        let least = self.requests_min.max(self.rounds * u64::from(depth)).max(1);
        let counted = wanted.clamp(least, self.requests_max.max(least));
        (counted, (counted * self.lead_in_percent / 100).max(u64::from(depth)))
    }
}

/// How points are measured: all that decides a measurement beside the point and the drive. The
/// default measures a drive of which every page was written once in the order of addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureSettings {
    #[serde(rename = "state")]
    pub(super) start: Word<Start>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ages: Vec<Word<Age>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) erases: u32,
    /// How many requests are counted.
    #[serde(rename = "effort")]
    pub sample: SampleSize,
    /// Decides the random draws of the requests.
    pub seed: u64,
}

/// A value that files hold as the word for it on a command line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word<T>(T);

impl<T: fmt::Display> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Why no family of points can be measured on a drive that is prepared in some way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitPreparation {
    /// The preparation looks at the requests of one run, to write what they touch.
    #[error(
        "--start footprint writes what one run touches, and many workloads are measured here: \
         write --start sequential, or sequential:SHARE"
    )]
    Footprint,
    /// The preparation serves the requests of one run.
    #[error(
        "--age trace serves the requests of one run, and many workloads are measured here: write \
         --start sequential --age random, or --start steady"
    )]
    Trace,
    /// The start cannot be written into a file of results.
    #[error("a drive is measured from --start empty, sequential[:SHARE] or steady[:SHARE] only")]
    NoWord,
    /// The parts of the preparation do not go together.
    #[error(transparent)]
    Contradiction(#[from] PreparationError),
}

impl Default for MeasureSettings {
    fn default() -> Self {
        let start = Word(Start::sequential(1.0));
        Self { start, ages: Vec::new(), erases: 0, sample: SampleSize::default(), seed: 0 }
    }
}

impl MeasureSettings {
    /// Settings that begin every family with a drive prepared in this way. The seed of the
    /// preparation does not matter: each drive has its own ([`ssdtune_model::config::Run::seed`]).
    ///
    /// # Errors
    /// The preparation looks at the requests of a run, or its parts do not go together.
    pub fn new(
        preparation: Preparation,
        sample: SampleSize,
        seed: u64,
    ) -> Result<Self, UnfitPreparation> {
        preparation.check()?;
        let Preparation { start, ages, erases, seed: _ } = preparation;
        if start == Start::Footprint {
            return Err(UnfitPreparation::Footprint);
        }
        if ages.iter().any(|age| matches!(age, Age::Trace { .. })) {
            return Err(UnfitPreparation::Trace);
        }
        if start.to_string().parse().as_ref() != Ok(&start) {
            return Err(UnfitPreparation::NoWord);
        }
        let ages = ages.into_iter().map(Word).collect();
        Ok(Self { start: Word(start), ages, erases, sample, seed })
    }

    /// The flags that prepare a drive in this way.
    pub(super) fn flags(&self) -> String {
        let ages = self.ages.iter().map(|age| format!(" --age {}", age.0));
        let erases = (self.erases > 0).then(|| format!(" --erases {}", self.erases));
        let start = format!("--start {}", self.start.0);
        std::iter::once(start).chain(ages).chain(erases).collect()
    }

    /// How a drive is prepared; `seed` decides where its pages lie.
    pub(super) fn preparation(&self, seed: u64) -> Preparation {
        let ages = self.ages.iter().map(|age| age.0).collect();
        Preparation { start: self.start.0.clone(), ages, erases: self.erases, seed }
    }
}

/// The performance of a drive at one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Mean latency of a request, in nanoseconds.
    pub latency_ns: f64,
    /// Requests completed in a second.
    pub iops: f64,
    /// Bytes moved in a second.
    pub bandwidth_bps: f64,
    /// In an open loop, requests that arrived in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// Requests counted; 0 where that is not known.
    #[serde(default)]
    pub requests: u64,
}

impl Performance {
    /// What the requests of a tally add up to, from `begin` to the last completion.
    fn of(tally: &Tally, begin: Nanos, offered_iops: Option<f64>) -> Self {
        let sums = tally.total().all();
        let seconds = (tally.last_completion() - begin).0.max(1) as f64 / 1e9;
        Self {
            latency_ns: sums.latency_ns_mean(),
            iops: sums.requests.max(1) as f64 / seconds,
            bandwidth_bps: sums.bytes as f64 / seconds,
            offered_iops,
            requests: sums.requests,
        }
    }
}

/// Why a point could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] PrepareError),
    /// The point is of several jobs.
    #[error("{0} is of several jobs, which only real drives are measured by: leave out its part j")]
    Jobs(Point),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The drive ran out of free blocks.
    #[error("{what} runs the drive out of free blocks: give it more over-provisioning")]
    OutOfSpace {
        /// The point or trace that was served.
        what: String,
    },
}

/// A simulated drive that is measured.
#[derive(Debug)]
pub struct SimulatedDrive<'a> {
    /// The drive.
    pub config: &'a CheckedConfig,
    /// How it is measured.
    pub settings: MeasureSettings,
    /// Measuring ends when this is set.
    pub stop: &'a AtomicBool,
}

impl SimulatedDrive<'_> {
    /// Measures the points of a family, in their order.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn family(&self, points: &[Point]) -> Result<Vec<Performance>, MeasureError> {
        let Some(first) = points.first() else { return Ok(Vec::new()) };
        if let Some(point) = points.iter().find(|point| point.jobs() != 1) {
            return Err(MeasureError::Jobs(*point));
        }
        let drive = self.drive()?;
        let requests =
            PointRequests::new(first, drive.address_space(TenantId(0)), self.settings.seed);
        let sample = self.settings.sample;
        let mut family = FamilyRun { drive, requests, sample, stop: self.stop };
        let mut capacity_iops = None;
        let measure = |point: &Point| match point.load() {
            Load::Depth(depth) => family.closed(point, depth),
            Load::Percent(percent) => {
                let capacity = match capacity_iops {
                    Some(known) => known,
                    None => {
                        let found = family.closed(point, CALIBRATION_DEPTH)?.iops;
                        *capacity_iops.insert(found)
                    }
                };
                family.open(point, capacity * f64::from(percent) / 100.0)
            }
        };
        points.iter().map(measure).collect()
    }

    /// Measures other requests than a point's. `requests` makes them for an address space of this
    /// many sectors. With a depth this number of them is outstanding at any time; without, they
    /// arrive at their own times. The first `before` requests are not counted.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn replay(
        &self,
        depth: Option<u32>,
        before: u64,
        requests: impl FnOnce(Sectors) -> Vec<Request>,
    ) -> Result<Performance, MeasureError> {
        let mut drive = self.drive()?;
        let requests = requests(drive.address_space(TenantId(0)).sectors_floor()).into_iter();
        let stream = match depth {
            Some(depth) => Stream::closed(requests, depth),
            None => Stream::open(requests),
        };
        let mut counted = FromNumber::new(before);
        let take = |completion: &Completion| counted.add(completion);
        run(&mut drive, stream, self.stop, || "the trace".to_owned(), take)?;
        Ok(Performance::of(&counted.tally, counted.begin, None))
    }

    /// A new drive, prepared.
    fn drive(&self) -> Result<Simulator, MeasureError> {
        let observe = Observe { completions: true, ..Observe::default() };
        let tenants = [Tenant::sole(self.config)];
        let preparation = self.settings.preparation(self.config.run.seed);
        let blank = Blank::new(self.config, &tenants, observe);
        let drive = blank.prepare(&preparation, &Nothing, self.stop)?;
        // Ageing that was stopped leaves a drive of no use.
        if self.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
        Ok(drive)
    }
}

/// A family under way.
struct FamilyRun<'a> {
    drive: Simulator,
    requests: PointRequests,
    sample: SampleSize,
    stop: &'a AtomicBool,
}

impl FamilyRun<'_> {
    /// Measures a point with `depth` requests outstanding, whatever the point's own load is.
    fn closed(&mut self, point: &Point, depth: u32) -> Result<Performance, MeasureError> {
        let (counted, before) = self.sample.requests(point, depth);
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
        run(&mut self.drive, stream, self.stop, || point.to_string(), take)?;
        Ok(Performance::of(&tally, begin, None))
    }

    /// Measures a point whose requests arrive at random times, this many a second.
    fn open(&mut self, point: &Point, rate_iops: f64) -> Result<Performance, MeasureError> {
        let (counted, before) = self.sample.requests(point, CALIBRATION_DEPTH);
        self.requests.at_rate(self.drive.now(), rate_iops);
        let requests = self.requests.by_ref().take((before + counted) as usize);
        let stream = Stream::open(requests);
        let mut counted = FromNumber::new(before);
        let take = |completion: &Completion| counted.add(completion);
        run(&mut self.drive, stream, self.stop, || point.to_string(), take)?;
        Ok(Performance::of(&counted.tally, counted.begin, Some(rate_iops)))
    }
}

/// Sums over the requests from some number on.
struct FromNumber {
    first: u64,
    tally: Tally,
    /// When the first request counted arrived.
    begin: Nanos,
}

impl FromNumber {
    fn new(first: u64) -> Self {
        Self { first, tally: Tally::default(), begin: Nanos::MAX }
    }

    fn add(&mut self, completion: &Completion) {
        if completion.number >= self.first {
            self.begin = self.begin.min(completion.arrived);
            self.tally.add(completion);
        }
    }
}

/// Serves a stream to its end and shows every completion. `what` names the stream in errors.
fn run(
    drive: &mut Simulator,
    stream: Stream,
    stop: &AtomicBool,
    what: impl Fn() -> String,
    mut take: impl FnMut(&Completion),
) -> Result<(), MeasureError> {
    let served = serve(drive, vec![stream], None, stop, |_, completions, _| {
        completions.iter().for_each(&mut take);
        true
    });
    match served {
        Served::Completed | Served::GivenUp => Ok(()),
        Served::Interrupted => Err(MeasureError::Interrupted),
        Served::OutOfSpace { .. } => Err(MeasureError::OutOfSpace { what: what() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::DeviceConfig;

    fn settings(start: &str, ages: &[&str], erases: u32) -> Result<MeasureSettings, String> {
        let ages = ages.iter().map(|age| age.parse().unwrap()).collect();
        let preparation = Preparation { start: start.parse().unwrap(), ages, erases, seed: 9 };
        let made = MeasureSettings::new(preparation, SampleSize::default(), 7);
        made.map_err(|error| error.to_string())
    }

    /// Files of earlier versions know three words and no other field.
    #[test]
    fn settings_are_written_as_before_and_read_again() {
        for word in ["empty", "sequential", "steady"] {
            let text = serde_json::to_string(&settings(word, &[], 0).unwrap()).unwrap();
            let effort = r#"{"pages":4096,"requests_max":1024,"requests_min":192,"rounds":16,"#;
            let rest = r#""lead_in_percent":50},"seed":7}"#;
            assert_eq!(text, format!(r#"{{"state":"{word}","effort":{effort}{rest}"#));
        }
        let all = MeasureSettings { seed: 7, ..MeasureSettings::default() };
        assert_eq!(settings("sequential:1", &[], 0), Ok(all));
        let some = [settings("sequential:0.5", &["random:2"], 0), settings("steady:0.7", &[], 3)];
        for settings in some.map(Result::unwrap) {
            let text = serde_json::to_string(&settings).unwrap();
            let read: MeasureSettings = serde_json::from_str(&text).unwrap();
            assert_eq!(read, settings, "{text}");
        }
    }

    #[test]
    fn what_looks_at_one_run_is_refused() {
        let refused = |start: &str, ages: &[&str]| settings(start, ages, 0).unwrap_err();
        assert!(refused("footprint", &[]).contains("write --start sequential"));
        assert!(refused("steady", &["trace"]).contains("--start sequential --age random"));
        assert!(refused("steady", &["random"]).contains("leave one away"));
        let kept = Preparation::of(Start::Restored("drive".into()), 0);
        let error = MeasureSettings::new(kept, SampleSize::default(), 0).unwrap_err();
        assert_eq!(error, UnfitPreparation::NoWord);
    }

    /// Random overwrites make collection pay for writes; a drive half full pays less.
    #[test]
    fn a_drive_is_as_old_and_as_full_as_the_settings_say() {
        let mut config = DeviceConfig::default();
        (config.flash.blocks_per_plane, config.flash.pages_per_block) = (64, 32);
        let (config, stop) = (config.check().unwrap(), AtomicBool::new(false));
        let iops = |start: &str, ages: &[&str]| {
            let mut settings = settings(start, ages, 0).unwrap();
            settings.sample = SampleSize { pages: 20_000, requests_max: 20_000, ..settings.sample };
            let drive = SimulatedDrive { config: &config, settings, stop: &stop };
            drive.family(&["w100-q16-W4k.r100".parse().unwrap()]).unwrap()[0].iops
        };
        let (new, full, aged) =
            (iops("empty", &[]), iops("steady:0.9", &[]), iops("sequential:0.9", &["random:3"]));
        let half = iops("steady:0.5", &[]);
        assert!(full < half && half <= new, "{full} full, {half} half full, {new} new");
        assert!((aged / full - 1.0).abs() < 0.25, "{aged} aged, {full} in steady state");
    }
}
