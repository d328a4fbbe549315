//! What an allocator sees of a running drive: who asks for what, and how much of what is read lies
//! on all channels already.
//!
//! Labels of allocators at work and the allocator itself see the same, through the same eyes.

use crate::features::{DemandCollector, ObservedMix, PeriodDemand, SLOTS};
use crate::rates::ratio;
use crate::vector::Intensity;
use ssdtune_model::Nanos;
use ssdtune_sim::{Demand, PagesLookedFor, Simulator};

/// The slots from the start of a run after which the channels may be divided for the first time:
/// the end of the first period, three times before and two after. What is placed until then stays
/// on all channels, so what a division can gain falls with every slot; what is known of the tenants
/// grows, and of bursts most is known late. A moment is less than three quarters of the next, since
/// what comes after that belongs to the next ([`Watch::add`]).
pub(crate) const MOMENTS: [u64; 6] =
    [SLOTS / 10, SLOTS / 5, SLOTS * 2 / 5, SLOTS, SLOTS * 7 / 5, LAST_MOMENT];
/// The last of [`MOMENTS`].
pub(crate) const LAST_MOMENT: u64 = 2 * SLOTS;

/// Follows the demands of a drive, slot by slot.
#[derive(Debug)]
pub(crate) struct Watch {
    collector: DemandCollector,
    /// How many slots what was asked for is gathered for, before it begins anew.
    slots: u64,
    /// How many of them there are at first.
    first_slots: u64,
    /// What had been asked for until the end of the last slot.
    last: Vec<Demand>,
    /// What reads had looked for before the last quarter of the time until the next moment.
    looked_for: Vec<PagesLookedFor>,
}

impl Watch {
    /// Begins to follow a drive. `period` is T, which has [`SLOTS`] slots. Of the first `slots`
    /// slots all is gathered, then of each period.
    pub fn new(period: Nanos, slots: u64, drive: &Simulator) -> Self {
        let last: Vec<Demand> = drive.demands().collect();
        let collector = DemandCollector::new(last.len(), period);
        Self { collector, slots, first_slots: slots, last, looked_for: Vec::new() }
    }

    /// Length of a slot.
    pub fn slot(&self) -> Nanos {
        self.collector.slot()
    }

    /// What each tenant asked for since the last call.
    pub fn asked(&mut self, drive: &Simulator) -> Vec<Demand> {
        let now: Vec<Demand> = drive.demands().collect();
        let asked = now.iter().zip(&self.last).map(|(now, last)| now.since(last)).collect();
        self.last = now;
        asked
    }

    /// Takes note of a slot. Returns which of some moments has come, if any. They are numbers of
    /// slots since what is gathered began.
    pub fn add(&mut self, asked: &[Demand], drive: &Simulator, moments: &[u64]) -> Option<u64> {
        self.collector.add(asked);
        if moments.iter().any(|moment| self.collector.is_at(moment * 3 / 4)) {
            self.looked_for = drive.pages_looked_for().collect();
        }
        moments.iter().copied().find(|&moment| self.collector.is_at(moment))
    }

    /// Whether all that was to be gathered has been.
    pub fn is_at_end(&self) -> bool {
        self.collector.is_at(self.slots)
    }

    /// Forgets what was gathered: the first slots, of which all is gathered, begin anew.
    pub fn begin_anew(&mut self) {
        self.collector.take();
        self.slots = self.first_slots;
    }

    /// What was gathered until now. Where that is all that was to be gathered, a new period begins.
    pub fn period(&mut self) -> PeriodDemand {
        if self.is_at_end() {
            self.slots = SLOTS;
            return self.collector.take();
        }
        self.collector.so_far()
    }

    /// For each tenant, the share of its reads that found data in the last quarter of the time
    /// until this moment. If the channels have been shared all the time, these data are on all of
    /// them, and go on to be read from there.
    pub fn settled(&self, drive: &Simulator) -> Vec<f64> {
        let of = |(now, before): (PagesLookedFor, &PagesLookedFor)| {
            let [pages, unwritten] =
                [now.pages - before.pages, now.unwritten - before.unwritten].map(|n| n as f64);
            ratio((pages - unwritten).max(0.0), pages)
        };
        drive.pages_looked_for().zip(&self.looked_for).map(of).collect()
    }
}

/// A mix as it is seen where channels have been shared until now.
pub(crate) fn seen(period: &PeriodDemand, intensity: Intensity, settled: Vec<f64>) -> ObservedMix {
    ObservedMix { settled, ..ObservedMix::new(period, intensity) }
}
