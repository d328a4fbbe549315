//! A sample of written pages, and the lessons that their lives teach.
//!
//! A table of slots, in groups of two. A hash of the page tells its group, and a page that is
//! written takes a slot there if one is empty. When the sampled version dies, the model learns in
//! which bin. A hand goes round the table and teaches of each page the bins that it has outlived so
//! far, so lives that do not end teach as well. What outlives the last bin leaves.
//!
//! Cost: 25 B a slot, 100 KiB; a write looks at 8 B of page numbers, and at the due times of two
//! slots, 4 B each, unless there is something to learn.

use super::hazard::{BINS, Hazards, Rows};
use crate::number::LogicalPage;
use serde::{Deserialize, Serialize};

/// Slots.
const SLOTS: usize = 4_096;
/// Slots that the hand looks at for each write.
const VISITS: usize = 2;
/// Writes between two rounds of the hand.
const PAUSE: usize = 32;
/// Slots that the hand looks at in one round, a bit of [`packed`] each.
const ROUND: usize = VISITS * PAUSE;
/// Slots of a group. A page may be in any slot of its group: with a single slot for each page, some
/// would be empty for long while pages contend for others.
const GROUP: usize = 2;
const _: () = assert!(ROUND == u64::BITS as usize && SLOTS.is_multiple_of(ROUND));
const _: () = assert!((SLOTS / GROUP).is_power_of_two());
/// An empty slot. On drives of 2^32 pages a page's number can look so too: what such a page teaches
/// is wrong, and nothing else.
const NOBODY: u32 = u32::MAX;

/// What is known of a page of which the model will learn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sample {
    /// When it was written, in ticks.
    born: u32,
    /// The rows that spoke for it: [`Rows::words`].
    rows: [u32; 3],
}

/// A bit for each answer, the first the lowest.
#[inline]
fn packed(answers: [bool; ROUND]) -> u64 {
    let bits = answers.as_chunks::<8>().0.iter().rev().map(|eight| {
        // The product's highest byte has the lowest bit of each of the eight bytes.
        u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    bits.fold(0, |all, eight| all << 8 | eight)
}

/// The slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Samples {
    /// The low bits of the number of the page in each slot, by groups.
    pages: Vec<[u32; GROUP]>,
    slots: Vec<Sample>,
    /// When each slot has something to teach, in ticks.
    due: Vec<u32>,
    /// The first bin of each slot that was not taught yet.
    taught: Vec<u8>,
    /// Where the hand is.
    hand: u32,
    /// The greatest life of each bin, in ticks.
    edges: [u32; BINS],
}

impl Samples {
    pub fn new(edges: [u32; BINS]) -> Self {
        let empty = Sample { born: 0, rows: Rows::default().words() };
        Self {
            pages: vec![[NOBODY; GROUP]; SLOTS / GROUP],
            slots: vec![empty; SLOTS],
            due: vec![0; SLOTS],
            taught: vec![0; SLOTS],
            hand: 0,
            edges,
        }
    }

    /// The group of a page.
    #[inline]
    fn group(page: LogicalPage) -> usize {
        const SHIFT: u32 = u64::BITS - (SLOTS / GROUP).ilog2();
        (page.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize
    }

    /// The bin of a life.
    #[inline]
    fn bin(&self, life: u32) -> u8 {
        self.edges.iter().map(|&edge| u8::from(life > edge)).sum()
    }

    /// The age at which a page whose first bins were taught is looked at again.
    #[inline]
    fn next_lesson(&self, taught: u8) -> u32 {
        self.edges[usize::from(taught).min(BINS - 1)] + 1
    }

    /// Takes note that a page is written which these rows speak for.
    #[inline]
    pub fn write(&mut self, hazards: &mut Hazards, page: LogicalPage, now: u32, rows: Rows) {
        let group = Self::group(page);
        let sampled = &self.pages[group];
        // Both are compared without a branch, since nobody can guess which it is.
        let has = |number: u32| sampled.iter().fold(false, |any, &page| any | (page == number));
        if has(page.0 as u32) | has(NOBODY) {
            self.take(hazards, group, page.0 as u32, Sample { born: now, rows: rows.words() });
        }
        self.hand = self.hand.wrapping_add(1);
        if (self.hand as usize).is_multiple_of(PAUSE) {
            self.go_round(hazards, now);
        }
    }

    /// Puts a sample into the slot of its group that has an earlier version of its page, which
    /// teaches how long it lived, or else into an empty one. Not inlined: few writes come here, and
    /// all others would save registers for it.
    #[inline(never)]
    fn take(&mut self, hazards: &mut Hazards, group: usize, page: u32, sample: Sample) {
        let sampled = &mut self.pages[group];
        let find = |number: u32| sampled.iter().position(|&page| page == number);
        let its = find(page);
        let Some(nth) = its.or_else(|| find(NOBODY)) else { return };
        sampled[nth] = page;
        let at = group * GROUP + nth;
        let before = self.slots[at];
        if its.is_some() {
            let bin = self.bin(sample.born.wrapping_sub(before.born));
            let (until, dies) = (bin.min(BINS as u8 - 1), usize::from(bin) < BINS);
            hazards.teach(Rows::of_words(before.rows), self.taught[at], until, dies);
        }
        self.slots[at] = sample;
        self.taught[at] = 0;
        self.due[at] = sample.born.wrapping_add(self.next_lesson(0));
    }

    /// Lets the hand look at some slots. Not inlined, as [`Samples::take`].
    #[inline(never)]
    fn go_round(&mut self, hazards: &mut Hazards, now: u32) {
        let first = self.hand as usize / PAUSE % (SLOTS / ROUND) * ROUND;
        // All are asked before any is visited, since nobody can guess which are due: as branches
        // they would be mispredicted.
        let is_due = std::array::from_fn(|nth| now.wrapping_sub(self.due[first + nth]) >> 31 == 0);
        let mut due = packed(is_due);
        while due != 0 {
            self.visit(hazards, first + due.trailing_zeros() as usize, now);
            due &= due - 1;
        }
    }

    /// Teaches the bins that the page of a slot has outlived.
    fn visit(&mut self, hazards: &mut Hazards, at: usize, now: u32) {
        let sample = self.slots[at];
        let (group, nth) = (at / GROUP, at % GROUP);
        if self.pages[group][nth] == NOBODY {
            self.due[at] = now.wrapping_add(1 << 30);
            return;
        }
        let outlived = self.bin(now.wrapping_sub(sample.born));
        hazards.teach(Rows::of_words(sample.rows), self.taught[at], outlived, false);
        if usize::from(outlived) < BINS {
            self.taught[at] = outlived;
            self.due[at] = sample.born.wrapping_add(self.next_lesson(outlived));
        } else {
            self.pages[group][nth] = NOBODY;
            self.due[at] = now.wrapping_add(1 << 30);
        }
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (SLOTS * (size_of::<Sample>() + 4 + 4 + 1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_slot_and_nobody_is_put_out() {
        let (mut samples, mut hazards) = (Samples::new([9; BINS]), Hazards::new(1, false));
        let mut pages = (0..).map(LogicalPage).filter(|&page| Samples::group(page) == 7);
        let three: [LogicalPage; 3] = std::array::from_fn(|_| pages.next().expect("many"));
        let mut write = |page: LogicalPage, now| {
            samples.write(&mut hazards, page, now, Rows::default());
            samples.pages[7].map(u64::from)
        };
        let [a, b, c] = three.map(|page| page.0);
        assert_eq!(write(three[0], 1), [a, NOBODY.into()]);
        assert_eq!(write(three[1], 2), [a, b]);
        assert_eq!(write(three[2], 3), [a, b], "there is no room for {c}");
        assert_eq!(write(three[1], 4), [a, b]);
        assert_eq!(samples.slots[15].born, 4);
        samples.pages[7][0] = NOBODY;
        samples.write(&mut hazards, three[1], 5, Rows::default());
        assert_eq!(samples.pages[7], [NOBODY, b as u32], "it is where it was");
    }

    #[test]
    fn answers_are_packed_in_their_order() {
        for expected in [0, u64::MAX, 0x8034_bd03_e6c5_a741] {
            assert_eq!(packed(std::array::from_fn(|nth| expected >> nth & 1 == 1)), expected);
        }
    }
}
