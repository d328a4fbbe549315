//! What a simulated drive does at a point.
//!
//! A point becomes requests in a closed loop of depth x jobs outstanding, or in an open one at the
//! rate that was offered. Random places are spread evenly: over a run each plane gets the same
//! number of requests, in random order, because one die that is 17 % too hot raises the 99th
//! percentile near saturation by half. Sequential requests follow each other through the address
//! space.
//!
//! Points whose requests arrive at a rate are simulated by `paced`.
//!
//! The drive holds data everywhere: written in the order of addresses for points that only read, in
//! the steady state of random overwrites for those that write. For points that only read it may
//! have fewer blocks in each plane than the real one, so that it is made in milliseconds, as long
//! as nothing that is sized by the capacity (a mapping table that does not fit, a cache) would
//! notice.
//!
//! Left out: several submission queues, files, and the states that earlier runs leave.

mod paced;

pub(crate) use paced::Prepared;

use crate::point::{Direction, Figures, MibPerSecond, Micros, PerSecond, Point};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use ssdtune_experiment::{Blank, Nothing, Preparation, PrepareError, Served, Start, serve};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{CheckedConfig, DeviceConfig, Faults, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_sim::{Completion, Observe, SnapshotError, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::sync::atomic::{AtomicBool, Ordering};

/// Blocks of a plane below which a drive is not scaled.
const BLOCKS_MIN: u32 = 64;
/// How many times its data cache a scaled drive holds at least.
const CACHES_MIN: u64 = 64;

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

/// Simulates points, each on a drive of its own, and returns the figures of each. Paced points that
/// differ only in their direction or in what was measured are simulated once, and those of one
/// drive begin with the same state.
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
    let (mut drives, mut loads, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for (point, drive) in all {
        asked.push(paced::Load::of(point).map(|load| {
            let drive = place_of(&mut drives, drive);
            place_of(&mut loads, &(drive, load))
        }));
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
    let one = |((point, drive), load): (&(&Point, CheckedConfig), &Option<usize>)| match load {
        Some(load) => {
            Ok(served[*load][usize::from(point.operation.direction() == Direction::Write)])
        }
        None => replay_closed(point, drive, options, stop),
    };
    all.par_iter().zip(&asked).with_max_len(1).map(one).collect()
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
    let counted = u64::from(options.requests.max(1));
    // The queues fill and the loop loses its step; the last counted requests have company.
    let before = counted / 10 + 4 * u64::from(depth);
    let total = before + counted + u64::from(depth);
    let requests = Requests::new(point, drive, space, total, options.seed)
        .ok_or_else(|| ReplayError::TooSmall(point.to_string()))?;
    let mut take = Taken { from: before, to: before + counted, ..Taken::new(point) };
    let stream = Stream::closed(requests, depth);
    let served = serve(&mut simulator, vec![stream], None, stop, |_, completions, _| {
        completions.iter().for_each(|completion| take.add(completion));
        true
    });
    match served {
        Served::Completed | Served::GivenUp => Ok(take.figures()),
        Served::Interrupted => Err(ReplayError::Interrupted),
        Served::OutOfSpace { .. } => Err(ReplayError::OutOfSpace(point.to_string())),
    }
}

/// What the drive holds before a point.
fn start(point: &Point) -> Start {
    if reads_only(point) { Start::sequential(1.0) } else { Start::steady(1.0) }
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

/// The requests of a point.
struct Requests {
    rng: Pcg64,
    left: u64,
    read_share: f64,
    direction: Direction,
    is_mixed: bool,
    places: Places,
    sectors: u32,
}

impl Requests {
    /// `total` requests; `None` if the space is too small.
    fn new(
        point: &Point,
        drive: &CheckedConfig,
        space: Sectors,
        total: u64,
        seed: u64,
    ) -> Option<Self> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let sectors = u64::from(point.block_bytes) / SECTOR_BYTES;
        let page = u64::from(drive.geometry().page_bytes) / SECTOR_BYTES;
        let planes = drive.geometry().planes();
        let places = match point.operation.is_sequential() {
            true => Places::in_order(sectors, space)?,
            false => Places::spread(sectors, page.max(1), planes, space, total, &mut rng)?,
        };
        Some(Self {
            rng,
            left: total,
            read_share: point.read_percent / 100.0,
            direction: point.operation.direction(),
            is_mixed: point.operation.is_mixed(),
            places,
            sectors: u32::try_from(sectors).ok()?,
        })
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let op = match (self.is_mixed, self.direction) {
            (true, _) if self.rng.random::<f64>() < self.read_share => Op::Read,
            (true, _) | (false, Direction::Write) => Op::Write,
            (false, Direction::Read) => Op::Read,
        };
        let (at, lba) = (Nanos::ZERO, self.places.next(&mut self.rng));
        Some(Request { at, lba, sectors: self.sectors, tenant: TenantId(0), op })
    }
}

/// Where requests lie.
enum Places {
    /// One behind the other, from the start again at the end.
    InOrder { sectors: u64, slots: u64, next: u64 },
    /// On pages that spread evenly over the planes.
    Spread {
        /// Sectors of a unit: a page, or a request if that is longer.
        unit: u64,
        /// Requests that fit into a unit.
        parts: u64,
        sectors: u64,
        /// Units whose numbers differ by this lie on the same plane.
        classes: u64,
        /// Units of each class.
        rounds: u64,
        /// The classes of the requests to come, in random order.
        order: Vec<u32>,
    },
}

impl Places {
    fn in_order(sectors: u64, space: Sectors) -> Option<Self> {
        let slots = space.0 / sectors;
        (slots > 0).then_some(Self::InOrder { sectors, slots, next: 0 })
    }

    /// Logical pages whose numbers differ by the number of planes lie on one plane, as long as data
    /// were written in the order of addresses.
    fn spread(
        sectors: u64,
        page: u64,
        planes: u64,
        space: Sectors,
        total: u64,
        rng: &mut Pcg64,
    ) -> Option<Self> {
        let unit = sectors.next_multiple_of(page);
        let pages = unit / page;
        let classes = planes / common_divisor(planes, pages);
        let rounds = space.0 / unit / classes;
        if rounds == 0 {
            return None;
        }
        let mut order: Vec<u32> = (0..total).map(|n| (n % classes) as u32).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, rng.random_range(0..=last));
        }
        let parts = if unit > page { 1 } else { page / sectors };
        Some(Self::Spread { unit, parts, sectors, classes, rounds, order })
    }

    fn next(&mut self, rng: &mut Pcg64) -> Sectors {
        match self {
            Self::InOrder { sectors, slots, next } => {
                let here = *next;
                *next = (*next + 1) % *slots;
                Sectors(here * *sectors)
            }
            Self::Spread { unit, parts, sectors, classes, rounds, order } => {
                let class = u64::from(order.pop().unwrap_or(0));
                let number = rng.random_range(0..*rounds) * *classes + class;
                let part = rng.random_range(0..*parts);
                Sectors(number * *unit + part * *sectors)
            }
        }
    }
}

fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
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

    fn point(row: &str) -> Point {
        let text = format!("op,rwmix_read,bs,iodepth,numjobs,offered_iops\n{row}\n");
        parse(Path::new("p"), "rig", &text).unwrap().remove(0)
    }

    /// 4 channels of 2 dies; every read takes 50 us of its die, and the bus is a hundred times as
    /// fast.
    fn drive() -> CheckedConfig {
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

    #[test]
    fn requests_spread_evenly_over_planes_and_lie_on_the_drive() {
        let (drive, space) = (drive(), Sectors(1 << 20));
        let page = u64::from(drive.flash.page_bytes) / SECTOR_BYTES;
        let planes = drive.geometry().planes();
        for row in ["randread,100,4k,1,1,", "randread,100,64k,1,1,", "randread,100,512,1,1,"] {
            let requests = Requests::new(&point(row), &drive, space, 8_000, 1).unwrap();
            let mut counts = vec![0; planes as usize];
            for request in requests {
                assert!(request.end() <= space);
                counts[(request.lba.0 / page % planes) as usize] += 1;
            }
            let used: Vec<i32> = counts.into_iter().filter(|count| *count > 0).collect();
            assert!(used.iter().all(|count| *count == 8_000 / used.len() as i32), "{used:?}");
        }
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
