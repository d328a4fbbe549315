//! What windows of a closed loop owe to flash.
//!
//! A loop that writes faster than flash does fills the drive's write buffer, and from then on waits
//! for flash. A window is too short for that, and what the buffer held before it is known for some
//! milliseconds alone. So if the buffer holds more after the measured requests of all windows than
//! before them, they pay for the time that flash takes for it; and no interval is told, since it is
//! not known which dies a whole run waits for. docs/results/sampling.md has what that is worth.

use super::WindowRun;
use ssdtune_model::{CheckedConfig, Nanos, SECTOR_BYTES, TenantId};
use ssdtune_sim::{Replay, Simulator};

/// The share of a write buffer below which what it holds says nothing of how fast flash is.
const LEAST: f64 = 0.1;
/// The share of its time that may come to the buffer of a closed loop without the loop being taken
/// for one that waits for flash.
const OWED_MAX: f64 = 0.02;
/// The share of its time that such a loop may spend in windows that end with half of the buffer
/// filled.
const FILLED_MAX: f64 = 0.05;
/// How often the buffer is looked at in the time of the slowest program.
const LOOKS: u64 = 8;
/// The shortest time between two looks: a look takes some 100 ns.
const LOOK_MIN: Nanos = Nanos(1_000);

/// What the write buffer of a closed loop held in a window, in sectors. All are 0 in open loops,
/// and without a write buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Buffered {
    /// When the first measured request entered the drive's queue.
    pub before: f64,
    /// When the first request behind them did.
    pub after: f64,
    /// When the last request was served.
    pub left: f64,
    /// How long flash took for what was left, in nanoseconds.
    pub drained_ns: f64,
    /// What there is room for.
    pub room: f64,
}

/// Looks at a write buffer while a window is served.
pub(super) struct Watch {
    /// The time between two looks; none without a write buffer, and in open loops.
    pub interval: Option<Nanos>,
    seen: Vec<(Nanos, u64)>,
    room: u64,
}

impl Watch {
    pub fn new(device: &CheckedConfig, replay: Replay) -> Self {
        let buffer = device.cache.write_buffer.0;
        let interval = Nanos(slowest(device).0 / LOOKS).max(LOOK_MIN);
        let interval = (replay != Replay::Open && buffer > 0).then_some(interval);
        Self { interval, seen: Vec::new(), room: buffer / SECTOR_BYTES }
    }

    /// Looks at the drive.
    pub fn look(&mut self, drive: &Simulator) {
        if self.interval.is_some() {
            self.seen.push((drive.now(), drive.sectors_on_the_way(TenantId(0))));
        }
    }

    /// What the buffer held at some time, between two looks.
    fn held(&self, time: Nanos) -> f64 {
        let next = self.seen.partition_point(|look| look.0 < time);
        let later = self.seen.get(next).or(self.seen.last());
        let earlier = next.checked_sub(1).and_then(|nth| self.seen.get(nth));
        let (Some(&(to, after)), Some(&(from, before))) = (later, earlier.or(later)) else {
            return 0.0;
        };
        let part = time.min(to).saturating_sub(from).0 as f64 / (to - from).0.max(1) as f64;
        before as f64 + (after as f64 - before as f64) * part
    }

    /// What the buffer held at two times.
    ///
    /// What was left at last went to flash one after the other, after one program that takes as
    /// long as any; so all of it took twice as long as the mean sector. (The last one takes longer,
    /// while most dies have nothing left.)
    pub fn told(self, drive: &Simulator, device: &CheckedConfig, between: [Nanos; 2]) -> Buffered {
        if self.interval.is_none() {
            return Buffered::default();
        }
        let (left, mean) = drive.unwritten_when_served();
        let drained_ns = Nanos(2 * mean.0).saturating_sub(slowest(device)).0 as f64;
        // What is sent on its way before a window is not held up.
        let [before, after] = between.map(|time| self.held(time).min(self.room as f64));
        Buffered { before, after, left: left as f64, drained_ns, room: self.room as f64 }
    }
}

/// How long a program takes at most that host writes wait for.
fn slowest(device: &CheckedConfig) -> Nanos {
    let flash = &device.flash;
    let slowest = flash.technology.longest(&flash.program_latency);
    match device.slc_cache.is_on() {
        true => slowest.min(device.slc_cache.program_latency),
        false => slowest,
    }
}

impl Buffered {
    /// What has come to the buffer while requests were measured; less than nothing if some of it
    /// has gone.
    fn more(&self) -> f64 {
        self.after - self.before
    }
}

/// What windows of a closed loop owe to flash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dues {
    /// Nanoseconds for each sector that has come to the buffer in a window.
    each_ns: f64,
    /// Whether the loop waits for flash, which windows of this length do not see: it would owe much
    /// of its time if nothing had left the buffer in others, or spends much of it with a filled
    /// buffer.
    pub waits_for_flash: bool,
}

impl Dues {
    /// What windows owe that were drawn alike.
    pub fn of(runs: &[WindowRun]) -> Self {
        Self::weighted(runs.iter().map(|run| (run, 1.0)))
    }

    /// What windows owe, each with how many windows of the trace it stands for.
    pub fn weighted<'a>(runs: impl Iterator<Item = (&'a WindowRun, f64)> + Clone) -> Self {
        let sum = |value: &dyn Fn(&WindowRun) -> f64| -> f64 {
            runs.clone().map(|(run, weight)| weight * value(run)).sum()
        };
        let tells = |own: &Buffered| own.room > 0.0 && own.left > LEAST * own.room;
        let of = |value: fn(&Buffered) -> f64| {
            sum(&|run| if tells(&run.buffered) { value(&run.buffered) } else { 0.0 })
        };
        let each_ns = of(|own| own.drained_ns) / of(|own| own.left).max(1.0);
        let come = sum(&|run| run.buffered.more().max(0.0));
        let stays = sum(&|run| run.buffered.more()).max(0.0);
        let span = sum(&|run| run.served.span_ns);
        let is_filled = |run: &WindowRun| run.buffered.left > 0.5 * run.buffered.room;
        let filled = sum(&|run| if is_filled(run) { run.served.span_ns } else { 0.0 });
        let waits_for_flash = come * each_ns > OWED_MAX * span || filled > FILLED_MAX * span;
        let paid = if waits_for_flash { stays / come.max(1.0) } else { 0.0 };
        Self { each_ns: each_ns * paid, waits_for_flash }
    }

    /// How long the measured requests of one of the windows took, in nanoseconds, with what it
    /// owes.
    pub fn taken_ns(&self, run: &WindowRun) -> f64 {
        run.served.span_ns + self.each_ns * run.buffered.more().max(0.0)
    }
}
