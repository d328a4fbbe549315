//! Paced points: requests that arrive at random times, whatever the drive does.
//!
//! The drive is a small one ([`SCALE`]) in the state that random overwrites of the whole drive
//! leave. It is made once for all loads: computed, then overwritten for a while with many requests
//! outstanding, so that collection has its pace. Each load begins with a copy of it. What the drive
//! holds then hardly depends on how long its commands take, so that drives which differ in times
//! alone, as those of a fit do, share what one of them was prepared for ([`Prepared`]).
//!
//! Each job sends its requests at random times (a Poisson process). Of each kind of job at most
//! depth x jobs are outstanding: later ones wait in the host, where nobody times them, and are sent
//! as others end. So what is completed falls behind what is offered where the drive is too slow.
//! Rates are shares of what arrived, so that chance in the arrivals is no overload.
//! The host looks for completions when a request arrives, and more often while requests wait in it.

use super::{ReplayError, ReplayOptions, figures};
use crate::point::{Figures, Flow, Point};
use crate::small::{Size, small};
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use rand_pcg::Pcg64;
use ssdtune_experiment::{Blank, Nothing, Preparation, Start};
use ssdtune_model::config::GcUnit;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_sim::{Completion, Observe, Outcome, Simulator, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How small the drive is.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Mapping units, at least.
    units: u64,
    /// Superblocks, at most, where the drive has such.
    superblocks: u32,
    /// Pages of a block, at least. Where a superblock is collected, its first reads come in a bunch
    /// and its last programs are waited for: in short ones reads and writes would wait for that.
    pages: u64,
}

const SCALE: Scale = Scale { units: 1 << 20, superblocks: 60, pages: 96 };
/// Superblocks that the host and collection write to.
const OPEN: f64 = 2.0;
/// How often the drive is overwritten with time before the loads. Collection has found its pace
/// then: what an overloaded drive completes no longer depends on how long it is watched.
const OVERWRITTEN: f64 = 2.0;
/// Requests outstanding meanwhile, and how often the host looks for completions.
const OUTSTANDING: u64 = 256;
const LOOK: Nanos = Nanos(100_000);
/// How often the host looks for completions while requests wait in it.
const LOOK_WAITING: Nanos = Nanos(10_000);
/// Looks in a row at which nothing has ended, in a drive that can do nothing any more.
const IDLE_LOOKS_MAX: u32 = 100_000;
/// Entries of the queues of the small drive: the host keeps to depth x jobs by itself.
const QUEUE: u32 = 4_095;
/// How many times the requests that would fill the buffer arrive at most before requests count.
const FULL_MAX: u64 = 20;
/// Requests between two looks at whether the caller has stopped the work.
const STOP_CHECK: u64 = 1 << 12;

/// A load, apart from which of its operations are looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    flows: Vec<Flow>,
    sectors: u32,
}

impl Load {
    /// The load of a point; `None` if it is not paced.
    pub(super) fn of(point: &Point) -> Option<Self> {
        let (flows, sectors) = (point.flows(), u64::from(point.block_bytes) / SECTOR_BYTES);
        (!flows.is_empty()).then_some(Self { flows, sectors: u32::try_from(sectors).ok()? })
    }

    /// Requests that arrive in a second.
    fn rate(&self) -> f64 {
        self.flows.iter().map(|flow| flow.rate).sum()
    }

    /// Requests whose latencies are measured that arrive in a second.
    fn timed_rate(&self) -> f64 {
        self.flows.iter().filter(|flow| flow.is_timed).map(|flow| flow.rate).sum()
    }
}

/// Drives in the state in which loads begin, kept for others that differ from them in times alone.
#[derive(Default)]
pub(crate) struct Prepared(Mutex<VecDeque<(CheckedConfig, Arc<Aged>)>>);

impl Prepared {
    /// A drive of the state that loads begin in, for `drive`: made from `start` if that is the same
    /// drive but for its times.
    pub(super) fn of(
        &self,
        drive: &CheckedConfig,
        start: &CheckedConfig,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Arc<Aged>, ReplayError> {
        if !Simulator::differ_in_times_alone(drive, start) {
            return Ok(Arc::new(Aged::new(drive, seed, stop)?));
        }
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |all: &VecDeque<(CheckedConfig, Arc<Aged>)>| {
            let own = all.iter().find(|(own, _)| own == start);
            own.map(|(_, aged)| Arc::clone(aged))
        };
        if let Some(known) = known(&kept()) {
            return Ok(known);
        }
        let made = Arc::new(Aged::new(start, seed, stop)?);
        let mut all = kept();
        all.push_back((start.clone(), Arc::clone(&made)));
        // Each thread works on one structure at a time.
        while all.len() > rayon::current_num_threads() {
            all.pop_front();
        }
        Ok(made)
    }
}

/// A drive in the state in which loads begin.
pub(super) struct Aged {
    snapshot: Vec<u8>,
    /// Requests that it has been handed over so far.
    pushed: u64,
    now: Nanos,
}

impl Aged {
    /// Makes the small drive of a drive and brings it into the state.
    pub(super) fn new(
        whole: &CheckedConfig,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Self, ReplayError> {
        let drive = shrunk(whole, SCALE).check()?;
        let tenants = [Tenant::sole(&drive)];
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank::new(&drive, &tenants, observe);
        let steady = Preparation::of(Start::steady(1.0), seed);
        let mut aged = blank.prepare(&steady, &Nothing, stop)?;
        let mut rng = Pcg64::seed_from_u64(seed);
        let unit = u64::from(drive.geometry().page_bytes) / SECTOR_BYTES;
        let units = aged.address_space(TenantId(0)).sectors_floor().0 / unit;
        let writes = (OVERWRITTEN * units as f64) as u64;
        let (mut pushed, mut completed, mut idle_looks) = (0, 0, 0);
        while completed < writes && idle_looks < IDLE_LOOKS_MAX {
            while pushed < (completed + OUTSTANDING).min(writes) {
                let lba = Sectors(rng.random_range(0..units) * unit);
                aged.push(request(aged.now(), Op::Write, lba, unit as u32));
                pushed += 1;
            }
            aged.run_until(aged.now() + LOOK);
            let ended = aged.take_completions().len() as u64;
            completed += ended;
            idle_looks = if ended > 0 { 0 } else { idle_looks + 1 };
            if stop.load(Ordering::Relaxed) {
                return Err(ReplayError::Interrupted);
            }
        }
        if let Outcome::OutOfSpace { .. } = aged.run_to_end() {
            return Err(ReplayError::OutOfSpace(
                "overwriting the whole drive at random".to_owned(),
            ));
        }
        aged.take_completions();
        let (snapshot, now) = (aged.snapshot()?, aged.now());
        Ok(Self { snapshot, pushed, now })
    }

    /// What a drive does under a load that is in this state: the figures of its reads and of its
    /// writes. It differs in times alone from the one that was prepared.
    pub(super) fn serve(
        &self,
        whole: &CheckedConfig,
        load: &Load,
        options: &ReplayOptions,
        stop: &AtomicBool,
    ) -> Result<[Figures; 2], ReplayError> {
        let small = shrunk(whole, SCALE).check()?;
        let tenants = [Tenant::sole(&small)];
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank::new(&small, &tenants, observe);
        let mut drive = blank.resume_with_times(&self.snapshot)?;
        let space = drive.address_space(TenantId(0)).sectors_floor();
        let mut host = Host::new(load, self, space, options.seed);
        let counted = u64::from(options.requests.max(1));
        let share = load.timed_rate() / load.rate();
        // The buffer fills before a drive falls behind.
        let buffer = small.cache.write_buffer.0 / (u64::from(load.sectors) * SECTOR_BYTES);
        let (before, all) =
            ((counted as f64 / share / 10.0) as u64, (counted as f64 / share) as u64);
        let mut nth = 0;
        while host.arrived.is_none_or(|arrived| arrived < all) {
            host.arrival(&mut drive);
            // A drive that can do nothing any more completes none.
            let is_full = host.completed >= 2 * buffer || nth > FULL_MAX * (before + buffer);
            if host.arrived.is_none() && nth >= before && is_full {
                host.arrived = Some(0);
            }
            nth += 1;
            if nth.is_multiple_of(STOP_CHECK) && stop.load(Ordering::Relaxed) {
                return Err(ReplayError::Interrupted);
            }
        }
        Ok(host.figures())
    }
}

/// The drive in small, with queues that hold all that the host sends. Of superblocks as many are
/// free and open as in the whole drive, and the rest of the hidden capacity keeps its share, so
/// that collection costs the same.
fn shrunk(drive: &CheckedConfig, scale: Scale) -> DeviceConfig {
    let mut whole = DeviceConfig::clone(drive);
    let (blocks, fewer) = (drive.flash.blocks_per_plane, scale.superblocks);
    if drive.gc.unit != GcUnit::Block && fewer < blocks {
        let ratio = f64::from(blocks) / f64::from(fewer);
        let unused = drive.gc.threshold + OPEN / f64::from(blocks);
        whole.flash.blocks_per_plane = fewer;
        whole.gc.threshold *= ratio;
        whole.gc.hard_threshold *= ratio;
        whole.mapping.overprovisioning += (ratio - 1.0) * unused;
    }
    let size = Size { units: scale.units, pages: scale.pages, outstanding: QUEUE };
    small(&whole, whole.mapping.overprovisioning, size)
}

fn request(at: Nanos, op: Op, lba: Sectors, sectors: u32) -> Request {
    Request { at, lba, sectors, tenant: TenantId(0), op }
}

/// A flow under way.
struct Source {
    flow: Flow,
    /// When its next request arrives, in nanoseconds.
    next_ns: f64,
    in_flight: u32,
    /// Requests that wait in the host.
    waiting: u64,
}

/// The host: it sends the requests of all flows, and notes what ends.
struct Host {
    sources: Vec<Source>,
    rng: Pcg64,
    sectors: u32,
    slots: u64,
    /// Requests that the drive had been handed over before.
    first: u64,
    /// The source of each request since.
    owners: Vec<u8>,
    /// Requests that have arrived since requests are counted; `None` before.
    arrived: Option<u64>,
    /// Requests that have ended.
    completed: u64,
    /// Requests that arrive in a second.
    rate: f64,
    reads: Ended,
    writes: Ended,
}

/// What has ended since requests are counted.
#[derive(Default)]
struct Ended {
    requests: u64,
    latencies_ns: Vec<u64>,
}

impl Host {
    fn new(load: &Load, aged: &Aged, space: Sectors, seed: u64) -> Self {
        let mut rng = Pcg64::seed_from_u64(seed);
        let now = aged.now.0 as f64;
        let source = |&flow: &Flow| {
            let next_ns = now + rng.sample::<f64, _>(Exp1) * 1e9 / flow.rate;
            Source { flow, next_ns, in_flight: 0, waiting: 0 }
        };
        let sources = load.flows.iter().map(source).collect();
        let (sectors, slots) = (load.sectors, space.0 / u64::from(load.sectors));
        let (first, owners, rate) = (aged.pushed, Vec::new(), load.rate());
        let (reads, writes) = (Ended::default(), Ended::default());
        let (arrived, completed) = (None, 0);
        Self {
            sources,
            rng,
            sectors,
            slots,
            first,
            owners,
            arrived,
            completed,
            rate,
            reads,
            writes,
        }
    }

    /// Lets the next request arrive, and everything before it happen.
    fn arrival(&mut self, drive: &mut Simulator) {
        let order = |one: &(usize, &Source), other: &(usize, &Source)| {
            one.1.next_ns.total_cmp(&other.1.next_ns)
        };
        let Some((nth, source)) = self.sources.iter().enumerate().min_by(order) else { return };
        let at = Nanos(source.next_ns as u64);
        loop {
            let waits = self.sources.iter().any(|source| source.waiting > 0);
            let until = if waits { at.min(drive.now() + LOOK_WAITING) } else { at };
            drive.run_until(until);
            for completion in drive.take_completions() {
                self.ended(drive, &completion);
            }
            if until == at {
                break;
            }
        }
        self.arrived = self.arrived.map(|arrived| arrived + 1);
        let source = &mut self.sources[nth];
        source.next_ns += self.rng.sample::<f64, _>(Exp1) * 1e9 / source.flow.rate;
        source.waiting += 1;
        self.send(drive, nth);
    }

    /// Sends a request of a source if one waits and the drive may have it.
    fn send(&mut self, drive: &mut Simulator, nth: usize) {
        let source = &mut self.sources[nth];
        if source.waiting == 0 || source.in_flight >= source.flow.outstanding {
            return;
        }
        source.waiting -= 1;
        source.in_flight += 1;
        let is_read = self.rng.random::<f64>() < source.flow.read_share;
        let lba = Sectors(self.rng.random_range(0..self.slots) * u64::from(self.sectors));
        let op = if is_read { Op::Read } else { Op::Write };
        drive.push(request(drive.now(), op, lba, self.sectors));
        self.owners.push(nth as u8);
    }

    fn ended(&mut self, drive: &mut Simulator, completion: &Completion) {
        let nth = usize::from(self.owners[(completion.number - self.first) as usize]);
        let source = &mut self.sources[nth];
        source.in_flight -= 1;
        self.completed += 1;
        if self.arrived.is_some() {
            let ended = if completion.op == Op::Read { &mut self.reads } else { &mut self.writes };
            ended.requests += 1;
            if source.flow.is_timed {
                ended.latencies_ns.push((completion.completed - completion.arrived).0);
            }
        }
        self.send(drive, nth);
    }

    /// The figures of reads and of writes.
    fn figures(self) -> [Figures; 2] {
        let of_one = self.rate / self.arrived.unwrap_or(0).max(1) as f64;
        let bytes = self.sectors * SECTOR_BYTES as u32;
        [self.reads, self.writes].map(|Ended { requests, latencies_ns }| {
            figures(latencies_ns, requests as f64 * of_one, bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{Micros, PerSecond};
    use crate::read::parse;
    use crate::replay::replay;
    use ssdtune_model::config::CacheMode;
    use std::path::Path;

    const TIMED: &str =
        "\"target 5000/s (6 at 99pc writes, 1 at 100/0 and 2k/s is the one timed)\"";

    fn point(row: &str) -> Point {
        let text = format!("op,rwmix_read,bs,iodepth,numjobs,offered_iops,notes\n{row}\n");
        parse(Path::new("p"), "rig", &text).unwrap().remove(0)
    }

    /// 4 channels of 2 dies; every read takes 50 us of its die, and the bus is a hundred times as
    /// fast.
    fn drive() -> DeviceConfig {
        let mut config = DeviceConfig::default();
        (config.bus.channels, config.bus.chips_per_channel) = (4, 2);
        (config.flash.dies_per_chip, config.flash.planes_per_die) = (1, 1);
        (config.flash.blocks_per_plane, config.flash.pages_per_block) = (32, 32);
        config.mapping.overprovisioning = 0.3;
        config.flash.read_latency = [Nanos(50_000); 4];
        config.flash.program_latency = [Nanos(100_000); 4];
        config.flash.erase_latency = Nanos(100_000);
        config.bus.rate_mts = 20_000;
        config.mapping.ideal = true;
        config.cache.mode = CacheMode::Off;
        config
    }

    fn run(row: &str, drive: &DeviceConfig) -> Figures {
        let options = ReplayOptions { requests: 4_000, ..ReplayOptions::default() };
        let drive = drive.clone().check().unwrap();
        replay(&point(row), &drive, &options, &AtomicBool::new(false)).unwrap()
    }

    /// A die that is busy for a share r of the time with reads of one length s makes the next wait
    /// for s r / (2 (1 - r)) in the mean: a queue with random arrivals and equal times.
    #[test]
    fn reads_wait_as_in_a_queue_with_random_arrivals() {
        let alone = run("open-r,100,4k,,1,500,", &drive()).mean.unwrap().0;
        let half = run("open-r,100,4k,,1,80000,", &drive());
        let wait = half.mean.unwrap().0 - alone;
        let busy = 80_000.0 * 50e-6 / 8.0;
        let wanted = 50.0 * busy / (2.0 * (1.0 - busy));
        assert!((wait / wanted - 1.0).abs() < 0.1, "{wait} us, by the formula {wanted} us");
        assert!((half.iops.unwrap().0 / 80_000.0 - 1.0).abs() < 0.03, "{half:?}");
    }

    /// 8 dies read 160,000 times in a second at most. Where more is asked for, depth x jobs are
    /// outstanding (Little's law), and the rest waits where nobody times it.
    #[test]
    fn a_load_above_what_the_drive_can_do_is_a_closed_loop() {
        let over = run("open-r,100,4k,4,2,300000,", &drive());
        let rate = over.iops.unwrap().0;
        assert!((90_000.0..160_000.0).contains(&rate), "{rate}");
        let outstanding = rate * over.mean.unwrap().0 / 1e6;
        assert!((7.5..8.05).contains(&outstanding), "{outstanding}");
    }

    #[test]
    fn all_requests_count_as_completed_and_those_of_the_timed_job_have_latencies() {
        let reads = run(&format!("open-r,29,4k,64,7,,{TIMED}"), &drive());
        let writes = run(&format!("open-w,29,4k,64,7,,{TIMED}"), &drive());
        // 2,000 of the timed job and 1 % of 5,000 others; 99 % of the others.
        assert!((reads.iops.unwrap().0 / 2_050.0 - 1.0).abs() < 0.05, "{reads:?}");
        assert!((writes.iops.unwrap().0 / 4_950.0 - 1.0).abs() < 0.05, "{writes:?}");
        assert!(reads.mean.unwrap() > Micros(50.0), "{reads:?}");
        assert_eq!((writes.mean, writes.p99), (None, None));
    }

    /// Points that are one load are one simulation, whatever was measured at them.
    #[test]
    fn halves_and_repeats_of_a_load_are_simulated_once_with_one_answer() {
        let drive = drive().check().unwrap();
        let mut points: Vec<Point> =
            ["open-r,25,4k,4,1,2000,", "open-w,25,4k,4,1,2000,"].into_iter().map(point).collect();
        points.push(Point {
            figures: Figures { iops: Some(PerSecond(1.0)), ..Figures::default() },
            ..points[0].clone()
        });
        let (options, stop) =
            (ReplayOptions { requests: 500, ..Default::default() }, AtomicBool::new(false));
        let all: Vec<_> = points.iter().map(|point| (point, drive.clone())).collect();
        let found = crate::replay::replay_all(&all, &options, &stop).unwrap();
        assert_eq!(found[0], found[2]);
        assert_ne!(found[0], found[1]);
        for (point, found) in points.iter().zip(&found) {
            assert_eq!(replay(point, &drive, &options, &stop).unwrap(), *found);
        }
    }

    /// A state is made once for drives that differ in times alone, and says of a drive within 5 %
    /// what the state says that this drive would have been brought into.
    #[test]
    fn drives_that_differ_in_times_alone_share_a_state() {
        let start = drive().check().unwrap();
        let mut slow = drive();
        slow.flash.program_latency = [Nanos(300_000); 4];
        slow.controller.write_time = Nanos(20_000);
        let slow = slow.check().unwrap();
        let mut other = drive();
        other.mapping.overprovisioning = 0.4;
        let other = other.check().unwrap();
        let (prepared, stop) = (Prepared::default(), AtomicBool::new(false));
        let of = |drive: &CheckedConfig| prepared.of(drive, &start, 1, &stop).unwrap();
        let shared = of(&slow);
        assert!(Arc::ptr_eq(&shared, &of(&start)));
        assert!(!Arc::ptr_eq(&shared, &of(&other)));
        let load = Load::of(&point("open-r,50,4k,16,1,4000,")).unwrap();
        // By chance means differ by -5.4, -2.1 and +1.9 % with 8,000, 60,000 and 200,000 requests.
        let options = ReplayOptions { requests: 60_000, ..ReplayOptions::default() };
        let mean = |aged: &Aged| {
            aged.serve(&slow, &load, &options, &stop).unwrap().map(|one| one.mean.unwrap().0)
        };
        let (shared, own) = (mean(&shared), mean(&Aged::new(&slow, 1, &stop).unwrap()));
        for (shared, own) in shared.into_iter().zip(own) {
            assert!((shared / own - 1.0).abs() < 0.05, "{shared} us, {own} us");
        }
    }

    /// What is hidden and neither free nor open keeps its share, so that collection costs the same.
    #[test]
    fn fewer_superblocks_leave_as_many_free_and_as_much_to_collect() {
        let mut config = drive();
        config.gc.unit = GcUnit::Drive;
        config.flash.blocks_per_plane = 240;
        (config.gc.threshold, config.gc.hard_threshold) = (0.02, 0.005);
        config.mapping.overprovisioning = 0.2;
        let small = shrunk(&config.clone().check().unwrap(), SCALE);
        assert_eq!(small.flash.blocks_per_plane, 60);
        let blocks = |drive: &DeviceConfig| f64::from(drive.flash.blocks_per_plane);
        let free = |drive: &DeviceConfig| drive.gc.threshold * blocks(drive);
        let collected = |drive: &DeviceConfig| {
            drive.mapping.overprovisioning - (free(drive) + 2.0) / blocks(drive)
        };
        assert!((free(&small) - free(&config)).abs() < 1e-9);
        assert!((collected(&small) - collected(&config)).abs() < 1e-9);
        config.flash.blocks_per_plane = 50;
        let few = shrunk(&config.clone().check().unwrap(), SCALE);
        assert_eq!(few.mapping.overprovisioning, 0.2);
    }
}
