//! Whether dividing the channels has been a mistake: what requests took so far, against what they
//! would have taken if all channels had been shared.
//!
//! The second is known by forecast alone. A network for parts is asked what all tenants together
//! would have met on all channels, from all that they asked for since the beginning. Until they
//! were divided they did share all channels, so what the forecast was off by there is known, and it
//! is multiplied by that.
//!
//! What requests took includes those that still wait: where a part cannot do what is asked of it,
//! they are most of all, and those that are completed look as if nothing were wrong.
//!
//! Sharing again is no way back to where one came from: what was placed meanwhile lies on few
//! channels, and goes on to be read from there. Near saturation that alone can be too much for
//! these channels. And a division that pays in the end may look bad while a burst waits in one of
//! its parts. What a division costs as a rule is forecast before it is made (the file `switch`).
//! So losses are borne for long, and only what ends very badly is taken back: tenants that change,
//! and bursts as nobody has seen them.
//!
//! Cost: some ten additions for each completion; a prediction of the network for each slot. Memory:
//! 300 bytes.

use crate::drive::DriveFigures;
use crate::features::SlotPages;
use crate::forecast::latencies_ns;
use crate::queue::Tanks;
use crate::rates::{Rates, ratio};
use ssdtune_learn::mlp::{Buffer, MlpModel};
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, Demand};
use ssdtune_trace::Op;

/// By what factor latencies may be above those of `Shared` before channels are shared again. Many a
/// division that looks bad in a burst pays in the end: of 1,500 mixes 41 end more than 2 % above
/// `Shared` if the allocator goes back at 2.5 times, and 36 if it does at 4 times or never. There
/// must be a limit all the same: where tenants change, what waits may grow to the end.
const ALLOWED: f64 = 4.0;
/// The forecast is believed to be off before the first division by this factor at most.
const OFF_MAX: f64 = 3.0;

/// Sums over the reads and over the writes of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    /// Requests that came.
    asked: u64,
    /// Requests that were completed.
    completed: u64,
    /// When those came that have not been completed, summed, in nanoseconds.
    waiting_since_ns: f64,
    /// Latencies of those that were completed, summed, in nanoseconds.
    latency_ns: f64,
}

impl Taken {
    /// The mean latency in nanoseconds, as if all that still wait were completed now.
    fn mean_ns(&self, now: Nanos) -> f64 {
        let waiting = (self.asked - self.completed) as f64;
        let waited = (waiting * now.0 as f64 - self.waiting_since_ns).max(0.0);
        ratio(self.latency_ns + waited, self.asked as f64)
    }
}

/// The books of a run.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    drive: DriveFigures,
    slot: Nanos,
    slots: u64,
    /// Of reads and of writes.
    taken: [Taken; 2],
    pages: [u64; 2],
    shared: Tanks<1>,
    /// What the forecast for reads and for writes is multiplied by: known once the channels have
    /// been divided for the first time.
    correction: Option<[f64; 2]>,
    buffer: Buffer,
}

impl Guard {
    /// Empty books, for slots of this length.
    pub fn new(drive: DriveFigures, slot: Nanos) -> Self {
        let all = drive.pages_per_s(drive.channels);
        Self {
            drive,
            slot,
            slots: 0,
            taken: [Taken::default(); 2],
            pages: [0; 2],
            shared: Tanks::new(slot.as_secs_f64(), [all]),
            correction: None,
            buffer: Buffer::default(),
        }
    }

    /// Takes note of completed requests.
    pub fn complete(&mut self, done: &[Completion]) {
        for one in done {
            let taken = match one.op {
                Op::Read => &mut self.taken[0],
                Op::Write => &mut self.taken[1],
                Op::Trim | Op::Flush => continue,
            };
            taken.completed += 1;
            taken.waiting_since_ns -= one.arrived.0 as f64;
            taken.latency_ns += (one.completed - one.arrived).0 as f64;
        }
    }

    /// Takes note of what all tenants asked for in a slot.
    pub fn add(&mut self, asked: &[Demand]) {
        // When in the slot they came is not known: in the middle.
        let at = (self.slots as f64 + 0.5) * self.slot.0 as f64;
        self.slots += 1;
        let mut pages = SlotPages::default();
        for own in asked {
            for (op, requests) in [own.reads, own.writes].into_iter().enumerate() {
                self.taken[op].asked += requests;
                self.taken[op].waiting_since_ns += requests as f64 * at;
            }
            for (sum, own) in pages.iter_mut().zip([own.read_pages, own.written_pages]) {
                *sum += own as u32;
            }
        }
        for (sum, own) in self.pages.iter_mut().zip(pages) {
            *sum += u64::from(own);
        }
        let [read, written] = self.drive.work(pages.map(f64::from));
        self.shared.add(read, written);
    }

    /// The channels are divided from now on. If it is for the first time, what the forecast is off
    /// by is known from what came before; later that would take former divisions for `Shared`.
    pub fn divide(&mut self, network: &MlpModel) {
        if self.correction.is_some() {
            return;
        }
        let forecast = self.forecast_ns(network);
        let now = self.now();
        self.correction = Some([0, 1].map(|op| {
            let found = ratio(self.taken[op].mean_ns(now), forecast[op]);
            if found > 0.0 { found.clamp(1.0 / OFF_MAX, OFF_MAX) } else { 1.0 }
        }));
    }

    /// By what factor latencies of the whole run are above those of `Shared`, if that is more than
    /// is allowed.
    pub fn is_worse(&mut self, network: &MlpModel) -> Option<f64> {
        let now = self.now();
        let forecast = self.forecast_ns(network);
        let correction = self.correction?;
        let shared: f64 = (0..2).map(|op| correction[op] * forecast[op]).sum();
        let over_shared = ratio(self.taken.iter().map(|own| own.mean_ns(now)).sum(), shared);
        (over_shared > ALLOWED).then_some(over_shared)
    }

    fn now(&self) -> Nanos {
        Nanos(self.slots * self.slot.0)
    }

    /// Mean latencies of reads and of writes until now, if all channels had been shared; 0 for what
    /// nobody asked for.
    fn forecast_ns(&mut self, network: &MlpModel) -> [f64; 2] {
        let seconds = self.now().as_secs_f64();
        let rates = Rates {
            requests: self.taken.map(|own| ratio(own.asked as f64, seconds)),
            pages: self.pages.map(|pages| ratio(pages as f64, seconds)),
        };
        let [waits] = self.shared.waits();
        let found = latencies_ns(
            network,
            &rates,
            (&waits, 1.0),
            self.drive.channels,
            &self.drive,
            &mut self.buffer,
        );
        [0, 1].map(|op| if self.taken[op].asked > 0 { found[op] } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::INPUTS;
    use ssdtune_model::{Sectors, TenantId};

    /// A network that says of every part that requests wait as in an even queue, and 1 ms more.
    fn network() -> MlpModel {
        let layer = serde_json::json!({
            "inputs": INPUTS, "weights": vec![0.0; 2 * INPUTS], "bias": [0.0, 0.0],
        });
        let text = serde_json::json!({
            "version": 1, "activation": "relu", "output": "linear", "layers": [layer],
        });
        serde_json::from_value(text).expect("a sound network")
    }

    /// Slots of 10 ms with 10 reads and 10 writes each. Reads take 2 ms; so do writes until the
    /// channels are divided, and then the time given.
    fn run(write_after: Option<Nanos>) -> Option<(u64, f64)> {
        let (network, slot) = (network(), Nanos::from_ms(10));
        let drive = DriveFigures::plain(1_000.0);
        let mut guard = Guard::new(drive, slot);
        let asked = Demand { reads: 10, writes: 10, read_pages: 10, written_pages: 10 };
        for number in 0..500u64 {
            let arrived = Nanos(number * slot.0 + slot.0 / 2);
            let done = |op, takes: Nanos| Completion {
                number,
                tenant: TenantId(0),
                op,
                lba: Sectors(0),
                sectors: 1,
                arrived,
                enqueued: arrived,
                completed: arrived + takes,
            };
            let is_divided = number >= 100;
            let write = if is_divided { write_after } else { Some(Nanos::from_ms(2)) };
            guard.complete(&[done(Op::Read, Nanos::from_ms(2)); 10]);
            guard.complete(&write.map_or(Vec::new(), |takes| vec![done(Op::Write, takes); 10]));
            guard.add(&[asked]);
            if number == 99 {
                guard.divide(&network);
            }
            if is_divided && let Some(over) = guard.is_worse(&network) {
                return Some((number - 99, over));
            }
        }
        None
    }

    #[test]
    fn what_goes_on_as_before_is_no_mistake() {
        assert_eq!(run(Some(Nanos::from_ms(2))), None);
        assert_eq!(run(Some(Nanos::from_us(500))), None);
        // 2 + 13 ms instead of 2 + 2 ms is 3.75 times as long: borne.
        assert_eq!(run(Some(Nanos::from_ms(13))), None);
    }

    #[test]
    fn slow_requests_are_a_mistake_and_so_are_those_that_never_end() {
        let (slots, over) = run(Some(Nanos::from_ms(60))).expect("a mistake");
        assert!(slots < 60 && over < 1.05 * ALLOWED, "{slots} {over}");
        // Those that wait are longer and longer on their way.
        let (slots, over) = run(None).expect("a mistake");
        assert!(slots < 60 && over < 1.05 * ALLOWED, "{slots} {over}");
    }
}
