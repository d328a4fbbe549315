//! Runs of writes on a small drive: most of each without time, and its end with time.
//!
//! A run writes the same share of the small drive ([`small`]) as of the whole one.
//!
//! For its throughput a run goes on, with time, from the state that it has reached, many requests
//! outstanding. The next run begins without that.

use crate::replay::ReplayError;
use crate::run::{Places, Run, Shape};
use crate::small;
use crate::split::Expression;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use ssdtune_experiment::{Blank, Nothing, Preparation, PrepareError, Served, Start, serve};
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, SECTOR_BYTES, Sectors, TenantId};
use ssdtune_sim::{Observe, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts of a run, the last of which counts: what collection costs settles by then.
const PARTS: u64 = 3;
/// Requests outstanding with time. How many there were is not known; runs are to saturate a drive.
const OUTSTANDING: u32 = 128;
/// The part of the span, in passes, that is written with time before requests count, and then:
/// the pace of collection swings for half a pass after what was served without time.
const TIMED_PASS: [f64; 2] = [0.5, 0.5];
/// Requests that are counted with time, at least.
const TIMED_MIN: u64 = 500;
/// The longest request with time: a small drive has no room for many long ones.
const REQUEST_BYTES_MAX: u64 = 128 << 10;

/// A drive of about this many mapping units, with this share of its raw capacity hidden.
/// Blocks have at least `pages`.
pub(super) fn small(drive: &DeviceConfig, spare: f64, units: u64, pages: u64) -> DeviceConfig {
    let size = small::Size { units, pages, outstanding: OUTSTANDING };
    small::small(drive, spare, size)
}

/// What a run did on the small drive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Aged {
    /// What the flash wrote for each byte of the host, in the last third.
    pub(super) amplification: Option<f64>,
    /// What the host could write after it, in units of 1,000,000 bytes in a second.
    pub(super) megabytes_per_second: Option<f64>,
}

/// How runs are replayed.
pub(super) struct Replay<'a> {
    /// What the host sees of the whole drive.
    pub(super) visible: u64,
    /// Runs before which the drive was sanitised, beside the first one.
    pub(super) sanitised: Option<&'a Expression>,
    /// Whether the end of each run is also served with time.
    pub(super) is_timed: bool,
    /// Decides the random draws.
    pub(super) seed: u64,
    pub(super) stop: &'a AtomicBool,
}

impl Replay<'_> {
    /// Serves runs one after the other on a drive that held nothing before the first of them.
    pub(super) fn age(
        &self,
        drive: &CheckedConfig,
        runs: &[Run],
    ) -> Result<Vec<Aged>, ReplayError> {
        let tenants = [Tenant::sole(drive)];
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank::new(drive, &tenants, observe);
        let nothing = Preparation::of(Start::Empty, self.seed);
        let empty = || blank.prepare(&nothing, &Nothing, self.stop);
        let mut aged = empty()?;
        let mut all = Vec::new();
        for (nth, run) in (0..).zip(runs) {
            if self.sanitised.is_some_and(|rule| rule.holds_for(run)) {
                aged = empty()?;
            }
            let Some(mut places) = self.places(run, nth, &aged) else {
                all.push(Aged::default());
                continue;
            };
            let amplification = Some(self.untimed(run, &mut places, &mut aged)?);
            let megabytes_per_second = match self.is_timed && run.megabytes_per_second.is_some() {
                true => Some(timed(&blank, run, places, &aged, self)?),
                false => None,
            };
            all.push(Aged { amplification, megabytes_per_second });
        }
        Ok(all)
    }

    /// Where the writes of a run lie on the small drive.
    fn places(&self, run: &Run, nth: u64, drive: &Simulator) -> Option<Places> {
        let share = run.span_bytes.min(self.visible) as f64 / self.visible as f64;
        let pages = pages(drive);
        let span = ((share * pages as f64) as u64).clamp(1, pages);
        // Measurers shuffle sequential writes with one seed, so that passes follow each other.
        let own = matches!(run.pattern.shape, Shape::Sequential);
        let rng = Pcg64::seed_from_u64(if own { self.seed } else { self.seed ^ nth });
        let slots = run.span_bytes / u64::from(run.block_bytes.max(1));
        Places::new(&run.pattern, span, slots, rng)
    }

    /// Serves a run without time, and returns its write amplification.
    fn untimed(
        &self,
        run: &Run,
        places: &mut Places,
        drive: &mut Simulator,
    ) -> Result<f64, ReplayError> {
        let share = run.host_bytes() / self.visible as f64;
        let writes = (share * pages(drive) as f64) as u64;
        let last = (writes / PARTS).max(1);
        let unit = unit(drive);
        let mut moved = 0;
        for part in [writes.saturating_sub(last), last] {
            let requests = (0..part)
                .take_while(|_| !self.stop.load(Ordering::Relaxed))
                .map(|_| write(places.next_page(), unit, unit));
            let counted = drive.warm_up(requests).map_err(PrepareError::from)?;
            moved = counted.moved_pages;
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(ReplayError::Interrupted);
        }
        Ok(1.0 + moved as f64 / last as f64)
    }
}

/// What the host writes to a copy of a drive when it goes on with a run, many requests outstanding.
fn timed(
    blank: &Blank<'_>,
    run: &Run,
    mut places: Places,
    aged: &Simulator,
    replay: &Replay<'_>,
) -> Result<f64, ReplayError> {
    let (visible, stop) = (replay.visible, replay.stop);
    let snapshot = aged.snapshot().map_err(ReplayError::from)?;
    let mut drive = blank.resume(&snapshot).map_err(ReplayError::from)?;
    let unit = unit(aged);
    // Shuffled and random requests are of one unit each; sequential ones as long as they were.
    let bytes = u64::from(run.block_bytes).next_multiple_of(unit).min(REQUEST_BYTES_MAX);
    let units = bytes / unit;
    let space = pages(aged) - pages(aged) % units;
    let [before, counted] = TIMED_PASS.map(|passes| {
        let part = passes * run.span_bytes as f64 / visible as f64 * pages(aged) as f64;
        (part as u64 / units).max(TIMED_MIN)
    });
    let requests = (0..before + counted + u64::from(OUTSTANDING)).map(|_| {
        let first = places.next_page() / units * units % space;
        (1..units).for_each(|_| {
            places.next_page();
        });
        write(first, unit, bytes)
    });
    let (mut seen, mut times) = (0, [Nanos::ZERO; 2]);
    let stream = Stream::closed(requests, OUTSTANDING);
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
    match served {
        Served::Completed | Served::GivenUp => {}
        Served::Interrupted => return Err(ReplayError::Interrupted),
        Served::OutOfSpace { .. } => return Err(ReplayError::OutOfSpace(run.to_string())),
    }
    let seconds = (times[1] - times[0]).0.max(1) as f64 / 1e9;
    Ok((counted * bytes) as f64 / seconds / 1e6)
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
