//! Runs of writes on a small drive: most of each without time, and its end with time.
//!
//! A run writes the same share of the small drive ([`small`]) as of the whole one.
//!
//! With time there are also fewer channels, and what all dies share is as much slower. Rates of the
//! small drive are multiplied by what it has fewer of them. Its times are multiplied by how much
//! less the same share takes there: bytes over bytes, divided by that number.
//!
//! For its throughput a run goes on, with time, from the state that it has reached, many requests
//! outstanding; one that was sampled is served with time as a whole, for as long as the real one
//! took. The next run begins without that, from the state that was reached without time.

use crate::calibration::Order;
use crate::replay::ReplayError;
use crate::run::{Fall, MIB, Places, Run, Sample, Shape, first_samples, mean_level};
use crate::small;
use crate::split::Expression;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_experiment::{Blank, Nothing, Preparation, PrepareError, Served, Start, serve};
use ssdtune_model::config::HostInterface;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, SECTOR_BYTES, Sectors, TenantId};
use ssdtune_sim::{Observe, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts of a run, the last of which counts: what collection costs settles by then.
const PARTS: u64 = 3;
/// Parts of a pass without time for which throughput is told: each as long as several superblocks,
/// of which it takes a whole number.
const SLICES: u64 = 40;
/// Requests outstanding with time. How many there were is not known; runs are to saturate a drive.
const OUTSTANDING: u32 = 128;
/// Dies that a small drive has at least, unless the whole one has fewer.
const DIES_MIN: u64 = 4;
/// The part of the span, in passes, that is written with time before requests count, and then:
/// the pace of collection swings for half a pass after what was served without time.
const TIMED_PASS: [f64; 2] = [0.5, 0.5];
/// Requests that are counted with time, at least.
const TIMED_MIN: u64 = 500;
/// How many times what the buffer holds is written, at least, before a page comes again. Real
/// drives write each copy: before its fall the throughput of Zipf runs is that of uniform ones or
/// less.
const REPEATS_APART: u64 = 4;
/// What the cache of a small drive holds at least, unless that of the whole one is smaller.
const CACHE_MIN: u64 = 1 << 20;
/// The longest request with time: a small drive has no room for many long ones.
pub(super) const REQUEST_BYTES_MAX: u64 = 128 << 10;

/// A drive of about this many mapping units, with this share of its raw capacity hidden.
/// Blocks have at least `pages`.
pub(super) fn small(drive: &DeviceConfig, spare: f64, units: u64, pages: u64) -> DeviceConfig {
    let size = small::Size { units, pages, outstanding: OUTSTANDING };
    let mut small = small::small(drive, spare, size);
    // As large as it is, the cache would hold a larger part of what is written.
    let [pages, whole] = [&small, drive].map(|drive| u128::from(drive.flash.pages_per_block));
    let cache = &mut small.cache;
    let share = (u128::from(cache.capacity.0) * pages / whole.max(1)) as u64;
    let least = cache.write_buffer.0.max(CACHE_MIN);
    cache.capacity.0 = cache.capacity.0.min(share.max(least));
    small
}

/// Takes half of the channels with their dies away as often as `units` mapping units and
/// [`DIES_MIN`] dies are left, and says how many times fewer there are. What all dies share is as
/// many times slower, so that all rates are; a superblock is filled in the same time.
pub(super) fn thin(small: &mut DeviceConfig, units: u64) -> u64 {
    let mut fewer = 1;
    let is_nvme = small.host.interface == HostInterface::Nvme;
    loop {
        let at = small.geometry();
        let of_all = at.planes() * u64::from(at.blocks_per_plane) * u64::from(at.pages_per_block);
        let is_enough = of_all / 2 < units || at.dies() / 2 < DIES_MIN;
        if is_enough || !small.bus.channels.is_multiple_of(2) || !is_nvme {
            break;
        }
        (small.bus.channels, fewer) = (small.bus.channels / 2, fewer * 2);
    }
    let few = fewer as u32;
    small.host.pcie_lane_bandwidth_gbps /= fewer as f64;
    small.host.core_rate = small.host.core_rate.div_ceil(fewer);
    small.controller.core_rate = small.controller.core_rate.div_ceil(fewer);
    let controller = &mut small.controller;
    controller.bandwidth_mbs = controller.bandwidth_mbs.div_ceil(few);
    controller.write_bandwidth_mbs = controller.write_bandwidth_mbs.div_ceil(few);
    let cache = &mut small.cache;
    cache.dram_data_rate_mts = cache.dram_data_rate_mts.div_ceil(few);
    cache.write_buffer.0 = cache.write_buffer.0.div_ceil(fewer);
    cache.capacity.0 = cache.capacity.0.div_ceil(fewer).max(cache.write_buffer.0);
    fewer
}

/// What a run did on the small drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Aged {
    /// What the flash wrote for each byte of the host, in the last third.
    pub(super) amplification: Option<f64>,
    /// How many times the span is written until the throughput falls, if the run was sampled.
    pub(super) passes: Option<f64>,
    /// What the host could write in a second after it; at its beginning, if that was asked for.
    pub(super) mib_per_second: Option<f64>,
    /// That over time, in the samples of the run.
    pub(super) samples: Vec<Sample>,
}

/// Runs that do not begin with the state that the run before them left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts<'a> {
    /// Before them the drive was sanitised; before the first run of a source, too.
    pub(super) sanitised: Option<&'a Expression>,
    /// Before them it was sanitised, and their span written once in order.
    pub(super) filled: Option<&'a Expression>,
}

impl<'a> Starts<'a> {
    /// What was ordered.
    pub(super) fn of(order: &'a Order) -> Self {
        Self { sanitised: order.sanitised.as_ref(), filled: order.filled.as_ref() }
    }

    /// Whether the drive was written once in order before a run.
    fn fills(&self, run: &Run) -> bool {
        self.filled.is_some_and(|rule| rule.holds_for(run))
    }

    /// Whether a run begins with another state than the run before it left.
    pub(super) fn anew(&self, run: &Run) -> bool {
        self.fills(run) || self.sanitised.is_some_and(|rule| rule.holds_for(run))
    }
}

/// What of runs is served with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timed {
    /// Half a pass behind the end.
    End,
    /// All of those that were sampled, and the end of the others.
    All,
    /// The first 5 % of the span.
    Beginning,
}

/// How runs are replayed.
pub(super) struct Replay<'a> {
    /// What the host sees of the whole drive.
    pub(super) visible: u64,
    /// What runs begin with.
    pub(super) starts: Starts<'a>,
    /// What is served with time, if anything.
    pub(super) timed: Option<Timed>,
    /// How many times fewer dies than the whole one the small drive has.
    pub(super) fewer: u64,
    /// Decides the random draws.
    pub(super) seed: u64,
    pub(super) stop: &'a AtomicBool,
}

impl Replay<'_> {
    /// Serves runs one after the other on a drive that held nothing before the first of them.
    /// `from` is the number of the first one in its source; `is_asked` says which are asked about:
    /// the others are served without time.
    pub(super) fn age(
        &self,
        drive: &CheckedConfig,
        runs: &[Run],
        from: u64,
        is_asked: impl Fn(usize) -> bool,
    ) -> Result<Vec<Aged>, ReplayError> {
        let tenants = [Tenant::sole(drive)];
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank::new(drive, &tenants, observe);
        let nothing = Preparation::of(Start::Empty, self.seed);
        let empty = || blank.prepare(&nothing, &Nothing, self.stop);
        let mut aged = empty()?;
        let mut all = Vec::new();
        for (nth, run) in runs.iter().enumerate() {
            if self.starts.anew(run) {
                aged = empty()?;
            }
            let number = from + nth as u64;
            let Some(mut places) = self.places(run, number, &aged) else {
                all.push(Aged::default());
                continue;
            };
            if self.starts.fills(run) {
                let unit = unit(&aged);
                let fill = (0..self.span(run, &aged)).map(|page| write(page, unit, unit));
                aged.warm_up(fill).map_err(PrepareError::from)?;
            }
            let timed = self.timed.filter(|_| run.mib_per_second.is_some() && is_asked(nth));
            let asked = match timed {
                Some(Timed::All) => &run.samples[..],
                Some(Timed::Beginning) => first_samples(&run.samples, run.span_bytes),
                Some(Timed::End) | None => &[],
            };
            let samples =
                self.series(&blank, run, asked, self.places(run, number, &aged), &aged)?;
            if timed == Some(Timed::Beginning) && nth + 1 == runs.len() {
                let mib_per_second = mean_level(&samples);
                all.push(Aged { mib_per_second, ..Aged::default() });
                break;
            }
            let (amplification, passes) = self.untimed(run, &mut places, &mut aged)?;
            let mib_per_second = match timed {
                Some(Timed::Beginning) => mean_level(&samples),
                Some(_) if !samples.is_empty() => {
                    Fall::of(&samples, run.span_bytes).map(|fall| fall.after)
                }
                Some(_) => Some(timed_end(&blank, run, places, &aged, self)?),
                None => None,
            };
            let with_time = Fall::of(&samples, run.span_bytes).and_then(|fall| fall.passes);
            all.push(Aged {
                amplification: Some(amplification),
                passes: with_time.or(passes),
                mib_per_second,
                samples,
            });
        }
        Ok(all)
    }

    /// Requests outstanding.
    fn outstanding(&self) -> u32 {
        (OUTSTANDING / self.fewer as u32).max(1)
    }

    /// Mapping units of the small drive that a run writes.
    fn span(&self, run: &Run, drive: &Simulator) -> u64 {
        let share = run.span_bytes.min(self.visible) as f64 / self.visible as f64;
        let pages = pages(drive);
        ((share * pages as f64) as u64).clamp(1, pages)
    }

    /// What the host writes in samples of a run, if it goes on for as long as the real one did. On
    /// the small drive everything takes as much less time as it holds less; rates are those of the
    /// whole one.
    fn series(
        &self,
        blank: &Blank<'_>,
        run: &Run,
        samples: &[Sample],
        places: Option<Places>,
        aged: &Simulator,
    ) -> Result<Vec<Sample>, ReplayError> {
        let Some(places) = places.filter(|_| !samples.is_empty()) else {
            return Ok(Vec::new());
        };
        let small = self.span(run, aged) * unit(aged);
        let fewer = self.fewer as f64;
        // Of times.
        let scale = run.span_bytes.min(self.visible) as f64 / small as f64 / fewer;
        let mut written = vec![0_u64; samples.len()];
        let requests = Requests::new(run, places, aged);
        let bytes = requests.bytes;
        let mut drive = blank.resume(&aged.snapshot()?)?;
        let stream = Stream::closed(requests, self.outstanding());
        let served = serve(&mut drive, vec![stream], None, self.stop, |_, completions, _| {
            for completion in completions {
                let seconds = completion.completed.0 as f64 / 1e9 * scale;
                let nth = samples.partition_point(|sample| sample.seconds < seconds);
                let Some(written) = written.get_mut(nth) else { return false };
                *written += bytes;
            }
            true
        });
        ended(served, run)?;
        let mut before = 0.0;
        let sample = |(sample, written): (&Sample, u64)| {
            let took = sample.seconds - std::mem::replace(&mut before, sample.seconds);
            Sample { mib_per_second: written as f64 * fewer * scale / took / MIB, ..*sample }
        };
        Ok(samples.iter().zip(written).map(sample).collect())
    }

    /// Where the writes of a run lie on the small drive.
    fn places(&self, run: &Run, nth: u64, drive: &Simulator) -> Option<Places> {
        // Measurers shuffle sequential writes with one seed, so that passes follow each other.
        let own = matches!(run.pattern.shape, Shape::Sequential);
        let rng = Pcg64::seed_from_u64(if own { self.seed } else { self.seed ^ nth });
        let slots = run.span_bytes / u64::from(run.block_bytes.max(1));
        let places = Places::new(&run.pattern, self.span(run, drive), slots, rng)?;
        // What waits for its program or its turn when a page comes again.
        let cache = &drive.config().cache;
        let buffer = if cache.write_buffer.0 > 0 { cache.write_buffer } else { cache.capacity };
        let waits = buffer.0 / unit(drive) + u64::from(OUTSTANDING);
        Some(places.at_most_once_in(REPEATS_APART * waits))
    }

    /// Serves a run without time, and returns its write amplification and, if it was sampled, after
    /// how many passes the throughput falls, which is taken as the inverse of that.
    fn untimed(
        &self,
        run: &Run,
        places: &mut Places,
        drive: &mut Simulator,
    ) -> Result<(f64, Option<f64>), ReplayError> {
        let share = run.host_bytes() / self.visible as f64;
        let writes = (share * pages(drive) as f64) as u64;
        let last = (writes / PARTS).max(1);
        let (unit, span) = (unit(drive), self.span(run, drive));
        let slice = if run.samples.is_empty() { writes } else { (span / SLICES).max(1) };
        let (mut samples, mut seconds) = (Vec::new(), 0.0);
        let mut moved = 0;
        for part in [writes.saturating_sub(last), last] {
            let mut left = part;
            moved = 0;
            while left > 0 {
                let count = left.min(slice);
                left -= count;
                let requests = (0..count)
                    .take_while(|_| !self.stop.load(Ordering::Relaxed))
                    .map(|_| write(places.next_page(), unit, unit));
                let counted = drive.warm_up(requests).map_err(PrepareError::from)?;
                moved += counted.moved_pages;
                let all = (count + counted.moved_pages) as f64;
                seconds += all;
                let mib = count as f64 * unit as f64 / MIB;
                samples.push(Sample { seconds, mib_per_second: mib / all });
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(ReplayError::Interrupted);
            }
        }
        let fall = Fall::of(&samples, span * unit);
        Ok((1.0 + moved as f64 / last as f64, fall.and_then(|fall| fall.passes)))
    }
}

/// What the host writes to a copy of a drive when it goes on with a run, many requests outstanding.
fn timed_end(
    blank: &Blank<'_>,
    run: &Run,
    places: Places,
    aged: &Simulator,
    replay: &Replay<'_>,
) -> Result<f64, ReplayError> {
    let (visible, stop) = (replay.visible, replay.stop);
    let snapshot = aged.snapshot().map_err(ReplayError::from)?;
    let mut drive = blank.resume(&snapshot).map_err(ReplayError::from)?;
    let unit = unit(aged);
    let requests = Requests::new(run, places, aged);
    let bytes = requests.bytes;
    let [before, counted] = TIMED_PASS.map(|passes| {
        let part = passes * run.span_bytes as f64 / visible as f64 * pages(aged) as f64;
        (part as u64 / (bytes / unit)).max(TIMED_MIN)
    });
    let requests = requests.take((before + counted + u64::from(replay.outstanding())) as usize);
    let (mut seen, mut times) = (0, [Nanos::ZERO; 2]);
    let stream = Stream::closed(requests, replay.outstanding());
    let served = serve(&mut drive, vec![stream], None, stop, |_, completions, _| {
        for completion in completions {
            seen += 1;
            if seen == before {
                times[0] = completion.completed;
            } else if seen == before + counted {
                times[1] = completion.completed;
            }
        }
        true
    });
    ended(served, run)?;
    let seconds = (times[1] - times[0]).0.max(1) as f64 / 1e9;
    Ok((replay.fewer * counted * bytes) as f64 / seconds / MIB)
}

/// What a run writes on a small drive, without end.
struct Requests {
    places: Places,
    unit: u64,
    /// Mapping units that the host sees, without those that make no whole request.
    space: u64,
    /// Of a request. Shuffled and random ones are of one unit each, sequential ones as long as they
    /// were.
    bytes: u64,
}

impl Requests {
    fn new(run: &Run, places: Places, drive: &Simulator) -> Self {
        let unit = unit(drive);
        let bytes = u64::from(run.block_bytes).next_multiple_of(unit).min(REQUEST_BYTES_MAX);
        let space = pages(drive) - pages(drive) % (bytes / unit);
        Self { places: places.in_rows_of(bytes / unit), unit, space, bytes }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let units = self.bytes / self.unit;
        let first = self.places.next_page() / units * units % self.space;
        (1..units).for_each(|_| {
            self.places.next_page();
        });
        Some(write(first, self.unit, self.bytes))
    }
}

/// Whether serving a run ended as it should.
fn ended(served: Served, run: &Run) -> Result<(), ReplayError> {
    match served {
        Served::Completed | Served::GivenUp => Ok(()),
        Served::Interrupted => Err(ReplayError::Interrupted),
        Served::OutOfSpace { .. } => Err(ReplayError::OutOfSpace(run.to_string())),
    }
}

/// Bytes of a mapping unit.
fn unit(drive: &Simulator) -> u64 {
    u64::from(drive.config().geometry().page_bytes)
}

/// Mapping units that the host sees.
fn pages(drive: &Simulator) -> u64 {
    drive.address_space(TenantId(0)).0 / unit(drive)
}

/// A write of some bytes from a unit on.
fn write(page: u64, unit: u64, bytes: u64) -> Request {
    let (at, lba, tenant) = (Nanos::ZERO, Sectors(page * (unit / SECTOR_BYTES)), TenantId(0));
    Request { at, lba, sectors: (bytes / SECTOR_BYTES) as u32, tenant, op: Op::Write }
}
