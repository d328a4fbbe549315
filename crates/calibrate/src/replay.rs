//! What a simulated drive does at a point.
//!
//! A point becomes requests in a closed loop of depth x jobs outstanding, or in an open one at the
//! rate that was offered. Random places are spread evenly: over a run each plane gets the same
//! number of requests, in random order, because one die that is 17 % too hot raises the 99th
//! percentile near saturation by half. They lie at multiples of their size, but for those that went
//! through a file system: where its file begins in the order in which the drive was written, and
//! what it wrote between the file's parts, is not known, so these begin at any page. Sequential
//! requests follow each other through the address space.
//!
//! Points whose requests arrive at a rate are simulated by `paced`.
//!
//! The drive holds data everywhere, or in the share of a point whose state is unknown
//! ([`Point::written_share`]): written in the order of addresses for points that only read, in the
//! steady state of random overwrites for those that write. For points that only read it may
//! have fewer blocks in each plane than the real one, so that it is made in milliseconds, as long
//! as nothing that is sized by the capacity (a mapping table that does not fit, a cache) would
//! notice.
//!
//! Left out: several submission queues, files, and the states that earlier runs leave.

mod paced;
mod requests;

pub(crate) use paced::Prepared;

use crate::point::{Direction, Figures, MibPerSecond, Micros, PerSecond, Point};
use rayon::prelude::*;
use requests::Requests;
use ssdtune_experiment::{Blank, Nothing, Preparation, PrepareError, Served, Start, serve};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{CheckedConfig, DeviceConfig, Faults, Nanos};
use ssdtune_sim::{Completion, Observe, SnapshotError, Stream, Tenant};
use ssdtune_trace::{Op, TenantId};
use std::sync::atomic::{AtomicBool, Ordering};

/// Blocks of a plane below which a drive is not scaled.
const BLOCKS_MIN: u32 = 64;
/// How many times its data cache a scaled drive holds at least.
const CACHES_MIN: u64 = 64;
/// Pages of a request beyond which fewer requests count.
const PAGES_COUNTED: u64 = 8;
/// How often each outstanding request is followed by another one that counts, at least.
const LOOPS_MIN: u64 = 8;
/// Requests outstanding beyond which a loop has no step that it could lose.
const STEPS_MAX: u64 = 256;

/// How points are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Requests that are counted.
    pub requests: u32,
    /// Decides the random draws.
    pub seed: u64,
    /// Whether the drive is made with fewer blocks where nothing would notice: only for reads.
    pub scaled: bool,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { requests: 50_000, seed: 1, scaled: true }
    }
}

/// Why a point cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] PrepareError),
    /// The scaled drive is impossible.
    #[error("the drive with fewer blocks: {0}")]
    Scaled(#[from] Faults),
    /// The point has neither a depth nor a rate.
    #[error("{0}: its load is not known")]
    NoLoad(String),
    /// The drive is smaller than a few requests.
    #[error("{0}: the drive is too small for its requests")]
    TooSmall(String),
    /// The drive ran out of free blocks.
    #[error("{0} runs the drive out of free blocks: give it more over-provisioning")]
    OutOfSpace(String),
    /// The state of the drive cannot be copied.
    #[error(transparent)]
    State(#[from] SnapshotError),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Simulates a point, and returns the figures of its direction.
///
/// # Errors
/// The drive cannot be simulated, has no room, the point's load is not known, or `stop` was set.
pub fn replay(
    point: &Point,
    drive: &CheckedConfig,
    options: &ReplayOptions,
    stop: &AtomicBool,
) -> Result<Figures, ReplayError> {
    let mut all = replay_all(&[(point, drive.clone())], options, stop)?;
    Ok(all.remove(0))
}

/// Simulates points, each on a drive of its own, and returns the figures of each. Points of one
/// drive that differ only in what was measured are simulated once, and paced points so that differ
/// in their direction besides; paced points of one drive begin with the same state.
///
/// # Errors
/// A drive cannot be simulated, has no room, a point's load is not known, or `stop` was set.
pub fn replay_all(
    all: &[(&Point, CheckedConfig)],
    options: &ReplayOptions,
    stop: &AtomicBool,
) -> Result<Vec<Figures>, ReplayError> {
    replay_from(all, None, options, stop)
}

/// As [`replay_all`]; drives that differ from the one of `start` in times alone have its state
/// under paced loads.
pub(crate) fn replay_from(
    all: &[(&Point, CheckedConfig)],
    start: Option<(&Prepared, &CheckedConfig)>,
    options: &ReplayOptions,
    stop: &AtomicBool,
) -> Result<Vec<Figures>, ReplayError> {
    let (mut drives, mut loads, mut loops, mut asked) = (vec![], vec![], vec![], vec![]);
    for (point, drive) in all {
        asked.push(match paced::Load::of(point) {
            Some(load) => {
                let drive = place_of(&mut drives, drive);
                Asked::Paced(place_of(&mut loads, &(drive, load)))
            }
            None => Asked::Closed(place_of(&mut loops, &Loop { point, drive })),
        });
    }
    let (alone, seed) = (Prepared::default(), options.seed);
    let aged: Result<Vec<_>, ReplayError> = drives
        .par_iter()
        .with_max_len(1)
        .map(|drive| match start {
            Some((prepared, start)) => prepared.of(drive, start, seed, stop),
            None => alone.of(drive, drive, seed, stop),
        })
        .collect();
    let aged = aged?;
    let served: Result<Vec<[Figures; 2]>, ReplayError> = loads
        .par_iter()
        .with_max_len(1)
        .map(|(drive, load)| aged[*drive].serve(&drives[*drive], load, options, stop))
        .collect();
    let served = served?;
    let looped: Result<Vec<Figures>, ReplayError> = loops
        .par_iter()
        .with_max_len(1)
        .map(|closed| replay_closed(closed.point, closed.drive, options, stop))
        .collect();
    let looped = looped?;
    let one = |((point, _), asked): (&(&Point, CheckedConfig), &Asked)| match *asked {
        Asked::Paced(at) => {
            served[at][usize::from(point.operation.direction() == Direction::Write)]
        }
        Asked::Closed(at) => looped[at],
    };
    Ok(all.iter().zip(&asked).map(one).collect())
}

/// Where the figures of a point are: among paced loads, or among closed loops.
enum Asked {
    Paced(usize),
    Closed(usize),
}

/// A closed loop on a drive. Two are equal if nothing differs that a simulation could see.
#[derive(Clone, Copy)]
struct Loop<'a> {
    point: &'a Point,
    drive: &'a CheckedConfig,
}

impl PartialEq for Loop<'_> {
    fn eq(&self, other: &Self) -> bool {
        let load = |of: &Self| {
            let Point { operation, read_percent, block_bytes, .. } = *of.point;
            let file = of.point.file_system().is_some();
            let (share, rate) = (of.point.written_share, rate_only(of.point));
            (operation, read_percent, block_bytes, of.point.outstanding(), file, share, rate)
        };
        load(self) == load(other) && self.drive == other.drive
    }
}

/// The place of something in a list, to which it is added if it is not there.
fn place_of<T: Clone + PartialEq>(list: &mut Vec<T>, wanted: &T) -> usize {
    list.iter().position(|known| known == wanted).unwrap_or_else(|| {
        list.push(wanted.clone());
        list.len() - 1
    })
}

/// Simulates a point in a closed loop.
fn replay_closed(
    point: &Point,
    drive: &CheckedConfig,
    options: &ReplayOptions,
    stop: &AtomicBool,
) -> Result<Figures, ReplayError> {
    let is_scaled = options.scaled && reads_only(point);
    let small = is_scaled.then(|| scaled(drive)).flatten().map(|config| config.check());
    let small = small.transpose()?;
    let drive = small.as_ref().unwrap_or(drive);
    let tenants = [Tenant::sole(drive)];
    let observe = Observe { completions: true, ..Observe::default() };
    let preparation = Preparation::of(start(point), drive.run.seed);
    let mut simulator =
        Blank::new(drive, &tenants, observe).prepare(&preparation, &Nothing, stop)?;
    if stop.load(Ordering::Relaxed) {
        return Err(ReplayError::Interrupted);
    }
    let space = simulator.address_space(TenantId(0)).sectors_floor();
    let depth = point.outstanding().ok_or_else(|| ReplayError::NoLoad(point.to_string()))?;
    let counted = counted(point, drive, depth, options);
    let before = before(counted, depth, rate_only(point));
    // The last counted requests have company.
    let total = before + counted + u64::from(depth);
    let requests = Requests::new(point, drive, space, total, options.seed)
        .ok_or_else(|| ReplayError::TooSmall(point.to_string()))?;
    let mut take = Taken { from: before, to: before + counted, ..Taken::new(point) };
    let stream = Stream::closed(requests, depth);
    let served = serve(&mut simulator, vec![stream], None, stop, |_, completions, _| {
        completions.iter().for_each(|completion| take.add(completion));
        take.seen < take.to
    });
    match served {
        Served::Completed | Served::GivenUp if rate_only(point) => {
            let Figures { iops, bandwidth, .. } = take.figures();
            Ok(Figures { iops, bandwidth, ..Figures::default() })
        }
        Served::Completed | Served::GivenUp => Ok(take.figures()),
        Served::Interrupted => Err(ReplayError::Interrupted),
        Served::OutOfSpace { .. } => Err(ReplayError::OutOfSpace(point.to_string())),
    }
}

/// Requests of a closed loop that count. Long ones count for several, since each of them asks many
/// dies.
fn counted(point: &Point, drive: &CheckedConfig, depth: u32, options: &ReplayOptions) -> u64 {
    let pages = point.block_bytes.div_ceil(drive.geometry().page_bytes);
    let wanted = u64::from(options.requests.max(1));
    let fewer = wanted * PAGES_COUNTED / u64::from(pages.max(1));
    wanted.min(fewer.max(LOOPS_MIN * u64::from(depth)))
}

/// Requests of a closed loop before those that count: the queues fill and the loop loses its step.
/// Where many are outstanding it has none, and each takes the time in which the drive serves as
/// many; the rate is there at once.
fn before(counted: u64, depth: u32, rate_only: bool) -> u64 {
    let depth = u64::from(depth);
    let steps = depth.min(STEPS_MAX);
    counted / 10 + if rate_only { 4 * steps } else { depth + 3 * steps }
}

/// Whether a rate was measured at a point, and no latency.
fn rate_only(point: &Point) -> bool {
    let Figures { iops, bandwidth, mean, p50, p99, p999 } = point.figures;
    let has_latency = [mean, p50, p99, p999].iter().any(Option::is_some);
    (iops.is_some() || bandwidth.is_some()) && !has_latency
}

/// What the drive holds before a point.
fn start(point: &Point) -> Start {
    match reads_only(point) {
        true => Start::sequential(point.written_share),
        false => Start::steady(1.0),
    }
}

/// Whether nothing is written at a point.
fn reads_only(point: &Point) -> bool {
    point.operation.direction() == Direction::Read && !point.operation.is_mixed()
}

/// The drive with fewer blocks in each plane, unless something is sized by its capacity.
fn scaled(drive: &CheckedConfig) -> Option<DeviceConfig> {
    let mut small = DeviceConfig::clone(drive);
    let table_bytes = drive.geometry().pages() * 8;
    if !drive.mapping.ideal && drive.mapping.cmt_capacity.0 < table_bytes {
        return None;
    }
    let per_plane = drive.geometry().block_bytes().0 * drive.geometry().planes();
    let cache = if drive.cache.mode == CacheMode::Off { 0 } else { drive.cache.capacity.0 };
    let for_cache = CACHES_MIN.saturating_mul(cache).div_ceil(per_plane.max(1));
    let blocks = u64::from(BLOCKS_MIN).max(for_cache);
    small.flash.blocks_per_plane = u32::try_from(blocks).ok()?;
    (small.flash.blocks_per_plane < drive.flash.blocks_per_plane).then_some(small)
}

/// What was completed in the counted part of a run.
struct Taken {
    op: Op,
    block_bytes: u32,
    seen: u64,
    from: u64,
    to: u64,
    begin: Nanos,
    end: Nanos,
    latencies_ns: Vec<u64>,
}

impl Taken {
    fn new(point: &Point) -> Self {
        let op = match point.operation.direction() {
            Direction::Read => Op::Read,
            Direction::Write => Op::Write,
        };
        let (begin, end) = (Nanos::ZERO, Nanos::ZERO);
        let block_bytes = point.block_bytes;
        Self { op, block_bytes, seen: 0, from: 0, to: 0, begin, end, latencies_ns: Vec::new() }
    }

    /// Counts by the order of completions.
    fn add(&mut self, completion: &Completion) {
        self.seen += 1;
        if self.seen == self.from {
            self.begin = completion.completed;
        } else if self.seen > self.from && self.seen <= self.to {
            self.end = completion.completed;
            if completion.op == self.op {
                self.latencies_ns.push((completion.completed - completion.arrived).0);
            }
        }
    }

    fn figures(self) -> Figures {
        let seconds = (self.end - self.begin).0.max(1) as f64 / 1e9;
        let rate = self.latencies_ns.len() as f64 / seconds;
        figures(self.latencies_ns, rate, self.block_bytes)
    }
}

/// Figures of requests that took these times, where `rate` requests ended in a second, those that
/// were not timed among them.
fn figures(mut latencies_ns: Vec<u64>, rate: f64, block_bytes: u32) -> Figures {
    latencies_ns.sort_unstable();
    let all = &latencies_ns;
    let figures = Figures {
        iops: Some(PerSecond(rate)).filter(|_| rate > 0.0),
        bandwidth: Some(MibPerSecond(rate * f64::from(block_bytes) / 1_048_576.0))
            .filter(|_| rate > 0.0),
        ..Figures::default()
    };
    let Some(last) = all.len().checked_sub(1) else { return figures };
    let at = |share: f64| {
        let rank = (share * all.len() as f64).ceil() as usize;
        Some(Micros(all[rank.saturating_sub(1).min(last)] as f64 / 1000.0))
    };
    let sum: u128 = all.iter().map(|&nanos| u128::from(nanos)).sum();
    Figures {
        mean: Some(Micros(sum as f64 / all.len() as f64 / 1000.0)),
        p50: at(0.5),
        p99: at(0.99),
        p999: at(0.999),
        ..figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse;
    use std::path::Path;

    pub(super) fn point(row: &str) -> Point {
        let text = format!("op,rwmix_read,bs,iodepth,numjobs,offered_iops\n{row}\n");
        parse(Path::new("p"), "rig", &text).unwrap().remove(0)
    }

    /// 4 channels of 2 dies; every read takes 50 us of its die, and the bus is a hundred times as
    /// fast.
    pub(super) fn drive() -> CheckedConfig {
        let mut config = DeviceConfig::default();
        (config.bus.channels, config.bus.chips_per_channel) = (4, 2);
        (config.flash.dies_per_chip, config.flash.planes_per_die) = (1, 1);
        (config.flash.blocks_per_plane, config.flash.pages_per_block) = (256, 64);
        config.flash.read_latency = [Nanos(50_000); 4];
        config.bus.rate_mts = 20_000;
        config.mapping.ideal = true;
        config.cache.mode = CacheMode::Off;
        (config.host.queue_depth, config.host.queue_fetch_size) = (1024, 1024);
        config.check().unwrap()
    }

    fn run(row: &str) -> Figures {
        let options = ReplayOptions { requests: 4_000, ..ReplayOptions::default() };
        replay(&point(row), &drive(), &options, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn one_outstanding_request_takes_one_read_and_littles_law_holds() {
        let one = run("randread,100,4k,1,1,");
        let mean = one.mean.unwrap().0;
        assert!((50.0..60.0).contains(&mean), "{one:?}");
        let eight = run("randread,100,4k,4,2,");
        let in_flight = eight.iops.unwrap().0 * eight.mean.unwrap().0 / 1e6;
        assert!((in_flight - 8.0).abs() < 0.1, "{in_flight}");
        // 8 requests on 8 dies: 8 x 8 / 15 dies are busy if times are exponential, and those that 8
        // balls hit in 8 bins if all reads begin together. Equal times lie between.
        let busy = eight.iops.unwrap().0 * 50e-6;
        let together = 8.0 * (1.0 - (7.0_f64 / 8.0).powi(8));
        assert!((64.0 / 15.0..together).contains(&busy), "{busy} dies are busy");
    }

    /// With all dies busy at any time the rate is that of 8 dies, since none is hotter than others.
    #[test]
    fn a_saturated_drive_is_as_fast_as_all_its_dies() {
        let rate = run("randread,100,4k,256,1,").iops.unwrap().0;
        assert!((rate / (8.0 / 50e-6) - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn paced_points_have_their_rate_and_mixes_their_share() {
        let reads = run("open-r,25,4k,8,4,200");
        assert!((reads.iops.unwrap().0 / 50.0 - 1.0).abs() < 0.1, "{reads:?}");
        let writes = run("randrw-w,75,4k,4,1,").iops.unwrap().0;
        let reads = run("randrw-r,75,4k,4,1,").iops.unwrap().0;
        assert!((reads / writes - 3.0).abs() < 0.3, "{reads} {writes}");
    }

    /// The rate of a deep loop is there long before its latencies are.
    #[test]
    fn where_a_rate_alone_was_measured_one_is_predicted() {
        let options = ReplayOptions { requests: 2_000, ..Default::default() };
        let run = |point: &Point| replay(point, &drive(), &options, &false.into()).unwrap();
        let deep = point("randread,100,4k,512,2,");
        let mut rate = deep.clone();
        rate.figures.iops = Some(PerSecond(1.0));
        let (whole, short) = (run(&deep), run(&rate));
        assert!(whole.mean.is_some() && short.mean.is_none() && short.p99.is_none());
        let ratio = short.iops.unwrap().0 / whole.iops.unwrap().0;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    }

    /// Repeats are simulated once, and others are not taken for repeats.
    #[test]
    fn each_point_has_the_figures_that_it_has_alone() {
        let (options, stop) = (ReplayOptions { requests: 300, ..Default::default() }, false.into());
        let rows = ["randread,100,4k,8,1,", "randread,100,4k,4,2,", "randread,100,32k,8,1,"];
        let mut points: Vec<Point> = rows.iter().map(|row| point(row)).collect();
        points.push(Point { notes: "ext4".to_owned(), ..points[2].clone() });
        let mut slow = DeviceConfig::clone(&drive());
        slow.flash.read_latency = [Nanos(90_000); 4];
        let drives = [drive(), slow.check().unwrap()];
        let asked = |drive: &CheckedConfig| points.iter().map(|p| (p, drive.clone())).collect();
        let all: Vec<Vec<(&Point, CheckedConfig)>> = drives.iter().map(asked).collect();
        let all = all.concat();
        let found = replay_all(&all, &options, &stop).unwrap();
        for ((point, drive), found) in all.iter().zip(&found) {
            assert_eq!(replay(point, drive, &options, &stop).unwrap(), *found, "{point}");
        }
        assert_eq!(found[0], found[1]);
        assert!(found[0] != found[2] && found[2] != found[3] && found[0] != found[4]);
    }

    #[test]
    fn long_requests_and_deep_loops_take_fewer() {
        let (drive, options) = (drive(), ReplayOptions::default());
        let counted = |row: &str| {
            let point = point(row);
            counted(&point, &drive, point.outstanding().unwrap(), &options)
        };
        let pages = |bytes: u64| bytes / u64::from(drive.flash.page_bytes);
        assert_eq!(counted("randread,100,4k,32,1,"), 50_000);
        assert_eq!(counted("randread,100,1m,32,1,"), 50_000 * 8 / pages(1 << 20));
        assert_eq!(counted("randread,100,1m,256,16,"), 8 * 256 * 16);
        assert_eq!([32, 1].map(|depth| before(50_000, depth, false)), [5_128, 5_004]);
        assert_eq!([32, 1].map(|depth| before(50_000, depth, true)), [5_128, 5_004]);
        assert_eq!(before(50_000, 32_768, false), 5_000 + 32_768 + 768);
        assert_eq!(before(50_000, 32_768, true), 5_000 + 1_024);
    }

    #[test]
    fn the_same_seed_gives_the_same_figures_and_fewer_blocks_nearly_the_same() {
        let (drive, stop, point) = (drive(), AtomicBool::new(false), point("randread,100,4k,8,1,"));
        let of = |scaled| {
            let options = ReplayOptions { requests: 20_000, scaled, ..ReplayOptions::default() };
            replay(&point, &drive, &options, &stop).unwrap()
        };
        assert_eq!(of(true), of(true));
        let (small, whole) = (of(true).mean.unwrap().0, of(false).mean.unwrap().0);
        assert!((small / whole - 1.0).abs() < 0.01, "{small} {whole}");
        assert!(scaled(&drive).is_some());
    }

    #[test]
    fn what_cannot_be_replayed_is_said() {
        let (drive, options) = (drive(), ReplayOptions::default());
        let unknown = point("randread,100,4k,0,1,");
        let error = replay(&unknown, &drive, &options, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("its load is not known"), "{error}");
        let stopped = AtomicBool::new(true);
        let error = replay(&point("randread,100,4k,1,1,"), &drive, &options, &stopped);
        assert!(matches!(error, Err(ReplayError::Interrupted)));
    }
}
