//! What a closed loop owes to flash at the end of a window.
//!
//! A loop that writes faster than flash does fills the drive's write buffer, and from then on waits
//! for flash. A window is too short for that, and what the buffer held before it is known for some
//! milliseconds alone. So windows whose buffer holds more when they end than when they began pay
//! for the time that flash takes for these pages, and no interval is told: which dies a whole run
//! waits for is not known. docs/results/sampling.md has what that is worth.

use super::WindowRun;
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::Replay;

/// The share of a write buffer below which what it holds says nothing of how fast flash is.
const LEAST: f64 = 0.1;
/// The share of its time that a closed loop may owe without being taken for one that waits for
/// flash, and the share that it may spend in windows at whose ends half of the buffer is filled.
const OWED_MAX: f64 = 0.02;
const FILLED_MAX: f64 = 0.05;

/// A write buffer, in sectors.
pub(super) struct Buffered {
    /// What it held when the window began.
    pub before: u64,
    /// What it held when the last request was served, and how long flash took for the mean sector
    /// of that.
    pub after: (u64, Nanos),
    /// What it has room for.
    pub room: u64,
}

/// What a window's closed loop does with the write buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Owed {
    /// How long flash takes for what the buffer holds more at the end than at the beginning, in
    /// nanoseconds, as far as the measured requests have brought it.
    pub ns: f64,
    /// Whether half of the buffer is filled at the end.
    pub fills: bool,
}

impl Buffered {
    /// What a window owes. What the buffer held at the end went to flash one after the other, after
    /// one program that takes as long as any; so all of it took twice as long as the mean. (The
    /// last one takes longer, while most dies have nothing left.)
    pub fn owed(&self, device: &CheckedConfig, replay: Replay, measured: f64) -> Owed {
        let (held, took) = self.after;
        let share = held as f64 / self.room.max(1) as f64;
        if replay == Replay::Open || device.cache.write_buffer.0 == 0 || share < LEAST {
            return Owed::default();
        }
        let slowest = device.flash.program_latency.iter().max().copied().unwrap_or_default();
        let more = held.saturating_sub(self.before) as f64 / held as f64;
        let all = Nanos(2 * took.0).saturating_sub(slowest).0 as f64;
        Owed { ns: measured * more * all, fills: share > 0.5 }
    }
}

/// Whether closed loops wait for flash, which windows of this length do not see: they owe much of
/// their time, or spend much of it with a filled buffer.
pub fn waits_for_flash(runs: &[WindowRun]) -> bool {
    let sum = |value: fn(&WindowRun) -> f64| runs.iter().map(value).sum::<f64>();
    let span = sum(|run| run.served.span_ns);
    let filled = sum(|run| if run.owed.fills { run.served.span_ns } else { 0.0 });
    sum(|run| run.owed.ns) > OWED_MAX * span || filled > FILLED_MAX * span
}

impl WindowRun {
    /// How long the measured requests took, in nanoseconds; with what they owe, if closed loops on
    /// this drive wait for flash.
    pub fn taken_ns(&self, waits_for_flash: bool) -> f64 {
        self.served.span_ns + if waits_for_flash { self.owed.ns } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Bytes, DeviceConfig};

    #[test]
    fn what_has_come_to_a_buffer_is_owed() {
        let mut config = DeviceConfig::default();
        let slowest = config.flash.program_latency.iter().max().copied().unwrap();
        let without = config.clone().check().unwrap();
        config.cache.write_buffer = Bytes(1 << 20);
        let device = config.check().unwrap();
        let took = slowest + Nanos(1_000);
        let buffered = |before: u64, held: u64, took: Nanos| Buffered {
            before,
            after: (held, took),
            room: 2_048,
        };
        let owed = |buffered: Buffered| buffered.owed(&device, Replay::Closed(16), 0.5);
        // All of it takes 1.001 programs after the first.
        let full = owed(buffered(500, 2_000, took));
        assert_eq!(full, Owed { ns: 0.5 * 0.75 * (slowest.0 as f64 + 2_000.0), fills: true });
        assert!(!owed(buffered(0, 900, took)).fills);
        let less = owed(buffered(2_000, 1_500, took));
        assert_eq!(less, Owed { ns: 0.0, fills: true });
        assert_eq!(owed(buffered(0, 200, took)), Owed::default(), "nearly empty");
        let open = buffered(0, 2_000, took).owed(&device, Replay::Open, 0.5);
        let other = buffered(0, 2_000, took).owed(&without, Replay::Closed(16), 0.5);
        assert_eq!([open, other], [Owed::default(); 2]);
    }
}
