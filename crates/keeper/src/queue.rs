//! How long requests wait in a part of a drive, if its channels were all that takes time.
//!
//! A part is taken for a tank: what is asked of it in a slot flows in evenly, and its channels
//! drain it at their rate. What stands in the tank is what the next request waits for. That is
//! crude (it knows neither chips nor sizes nor priorities), but it tells what no mean rate does:
//! whether the same pages come evenly or in bursts, of any length from a slot to the whole period.
//! The network learns the rest. Where a page that is read costs another part of what a channel can
//! do than one that is written, pages here are counted by what they cost.
//!
//! Cost: some ten additions for each slot and rate; those of a slot wait for those of the slot
//! before.

use crate::features::{DEVIATION_GROUPS, SlotPages, equal_groups};
use crate::rates::ratio;
use pulp::{Arch, NullaryFnOnce};

/// Mean waits in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Waits {
    /// Of pages that are read, if nothing were written.
    pub reads_alone: f64,
    /// Of pages that are read.
    pub reads: f64,
    /// Of pages that are written.
    pub writes: f64,
}

/// A part of a drive as a tank, for several rates at once at which it may be served: each slot
/// waits for the one before.
#[derive(Clone, Debug)]
pub(crate) struct Tanks<const RATES: usize> {
    /// Pages a second.
    pages_per_s: [f64; RATES],
    /// Pages that are drained in a slot.
    drained: [f64; RATES],
    /// Pages that stand in it: of those that are read, and of all.
    left: [[f64; RATES]; 2],
    /// Pages read and written so far.
    pages: [f64; 2],
    /// Twice what stood in the tank before each page, summed: for reads among reads, for reads
    /// among all, and for writes.
    sums: [[f64; RATES]; 3],
}

impl<const RATES: usize> Tanks<RATES> {
    /// Empty ones, for slots of this length.
    pub fn new(slot_seconds: f64, pages_per_s: [f64; RATES]) -> Self {
        Self {
            pages_per_s,
            drained: pages_per_s.map(|rate| rate * slot_seconds),
            left: [[0.0; RATES]; 2],
            pages: [0.0; 2],
            sums: [[0.0; RATES]; 3],
        }
    }

    /// Adds pages read and written in the next slot.
    #[inline(always)]
    pub fn add(&mut self, read: f64, written: f64) {
        let Self { drained, left, sums, pages, .. } = self;
        pages[0] += read;
        pages[1] += written;
        for rate in 0..RATES {
            // A comparison costs less than `f64::max`, which must also answer for NaN.
            let above_0 = |pages: f64| if pages > 0.0 { pages } else { 0.0 };
            // Twice what stands in the tank in the middle of the slot.
            let next = above_0(left[0][rate] + (read - drained[rate]));
            sums[0][rate] += read * (left[0][rate] + next);
            left[0][rate] = next;
            let next = above_0(left[1][rate] + (read + written - drained[rate]));
            let both = left[1][rate] + next;
            sums[1][rate] += read * both;
            sums[2][rate] += written * both;
            left[1][rate] = next;
        }
    }

    /// Adds the pages that are read and written in each of the slots that follow.
    pub fn add_all(&mut self, slots: &[[f64; 2]]) {
        Arch::new().dispatch(AddAll { tanks: self, slots });
    }

    /// The mean waits until now.
    pub fn waits(&self) -> [Waits; RATES] {
        std::array::from_fn(|rate| {
            let of = |sum: usize, op: usize| {
                ratio(self.sums[sum][rate], 2.0 * self.pages[op] * self.pages_per_s[rate])
            };
            Waits { reads_alone: of(0, 0), reads: of(1, 0), writes: of(2, 1) }
        })
    }
}

/// [`Tanks::add_all`], compiled for each width of vectors.
struct AddAll<'a, const RATES: usize> {
    tanks: &'a mut Tanks<RATES>,
    slots: &'a [[f64; 2]],
}

impl<const RATES: usize> NullaryFnOnce for AddAll<'_, RATES> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut tanks = self.tanks.clone();
        for &[read, written] in self.slots {
            tanks.add(read, written);
        }
        *self.tanks = tanks;
    }
}

/// The waits of pages that come in these slots, `slot_seconds` long, at a rate at which they may be
/// served.
pub(crate) fn waits(slots: &[[f64; 2]], slot_seconds: f64, pages_per_s: f64) -> Waits {
    let mut tank = Tanks::new(slot_seconds, [pages_per_s]);
    tank.add_all(slots);
    let [waits] = tank.waits();
    waits
}

/// Adds to `all` the pages that a tenant reads and writes in each slot, multiplied by `times`: a
/// factor of 0 or more for reads, and one for writes.
pub(crate) fn add_slots(all: &mut Vec<[f64; 2]>, own: &[SlotPages], times: [f64; 2]) {
    all.resize(own.len(), [0.0; 2]);
    for (sum, own) in all.iter_mut().zip(own) {
        for op in 0..2 {
            sum[op] += times[op] * f64::from(own[op]);
        }
    }
}

/// How unevenly pages come: the variance of what comes in a tenth of the slots, over that of
/// requests at random of `request_pages` pages (of reads and of writes). 1 for requests at random.
pub(crate) fn unevenness(slots: &[[f64; 2]], request_pages: [f64; 2]) -> f64 {
    let groups = equal_groups(slots.len());
    let mut tenths = [0.0; DEVIATION_GROUPS];
    let tenths = &mut tenths[..groups];
    let mut all = [0.0; 2];
    let (size, over) = (slots.len() / groups, slots.len() % groups);
    // Nearly always nothing is over, and nothing need be divided.
    let first = |n: usize| if over == 0 { n * size } else { (n * slots.len()).div_ceil(groups) };
    for (number, tenth) in tenths.iter_mut().enumerate() {
        let add = |sum: [f64; 2], slot: &[f64; 2]| [sum[0] + slot[0], sum[1] + slot[1]];
        let own = slots[first(number)..first(number + 1)].iter().fold([0.0; 2], add);
        *tenth = own[0] + own[1];
        all = add(all, &own);
    }
    let at_random = all[0] * request_pages[0] + all[1] * request_pages[1];
    let count = groups as f64;
    let mean = (all[0] + all[1]) / count;
    let squares: f64 = tenths.iter().map(|tenth| (tenth - mean).powi(2)).sum();
    ratio(squares / (count - 1.0), at_random / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_evenly_does_not_wait_and_bursts_do() {
        let even = [[5.0, 5.0]; 100];
        assert_eq!(waits(&even, 0.01, 1_000.0), Waits::default());
        // A thousand pages in every hundredth slot, which the other slots drain.
        let mut burst = [[0.0; 2]; 100];
        burst[0] = [500.0, 500.0];
        let [found, twice] = [1_000.0, 2_000.0].map(|rate| waits(&burst, 0.01, rate));
        assert!(twice.reads < 0.5 * found.reads);
        // They come within 10 ms and are served within a second: the tank has 990 at the end.
        assert!((found.reads - 0.495).abs() < 1e-9 && (found.writes - 0.495).abs() < 1e-9);
        assert!((found.reads_alone - 0.245).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_part_asked_for_more_than_it_can_do_falls_behind() {
        let slots = |count: usize| vec![[6.0, 6.0]; count];
        let of = |count| waits(&slots(count), 0.01, 1_000.0).writes;
        assert!(of(1_000) > 9.0 * of(100), "{} {}", of(1_000), of(100));
    }
}
