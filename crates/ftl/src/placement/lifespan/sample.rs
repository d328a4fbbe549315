//! A sample of written pages, and the lessons that their lives teach.
//!
//! A table of slots, found by a hash of the page. A page that is written takes its slot if it is
//! empty. When the sampled version dies, the model learns in which bin. A hand goes round the table
//! and teaches of each page the bins that it has outlived so far, so lives that do not end teach
//! as well. What outlives the last bin leaves.
//!
//! Cost: 25 B a slot, 200 KiB or, if it is small, 100 KiB; two slots are looked at for each write,
//! of which each is 4 B unless it has something to teach.

use super::hazard::{BINS, Hazards, Rows};
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// log2 of the number of slots, in a full model and in a small one.
const FULL_LOG2: u32 = 13;
const SMALL_LOG2: u32 = 12;
/// Slots that the hand looks at for each write.
const VISITS: usize = 2;
/// Writes between two rounds of the hand.
const PAUSE: usize = 32;
/// A round looks at as many slots as [`packed`] has bits.
const _: () = assert!(VISITS * PAUSE == u64::BITS as usize);
/// No page has this number.
const NOBODY: u32 = u32::MAX;

/// A page of which the model will learn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sample {
    /// The low bits of the page's number.
    page: u32,
    /// When it was written, in ticks.
    born: u32,
    /// The rows that spoke for it: [`Rows::words`].
    rows: [u32; 3],
}

/// A bit for each answer, the first the lowest.
#[inline]
fn packed(answers: [bool; VISITS * PAUSE]) -> u64 {
    let bits = answers.as_chunks::<8>().0.iter().rev().map(|eight| {
        // The product's highest byte has the lowest bit of each of the eight bytes.
        u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    bits.fold(0, |all, eight| all << 8 | eight)
}

/// The slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Samples {
    slots: Vec<Sample>,
    /// log2 of their number.
    slots_log2: u32,
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
    pub fn new(edges: [u32; BINS], is_small: bool) -> Self {
        let slots_log2 = if is_small { SMALL_LOG2 } else { FULL_LOG2 };
        let slots = 1 << slots_log2;
        let empty = Sample { page: NOBODY, born: 0, rows: Rows::default().words() };
        Self {
            slots: vec![empty; slots],
            due: vec![0; slots],
            taught: vec![0; slots],
            slots_log2,
            hand: 0,
            edges,
        }
    }

    /// The slot of a page.
    #[inline]
    fn slot(&self, page: LogicalPage) -> usize {
        (page.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.slots_log2)) as usize
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
        let at = self.slot(page);
        let sampled = self.slots[at].page;
        if sampled == page.0 as u32 || sampled == NOBODY {
            self.take(hazards, at, Sample { page: page.0 as u32, born: now, rows: rows.words() });
        }
        self.hand += 1;
        if (self.hand as usize).is_multiple_of(PAUSE) {
            self.go_round(hazards, now);
        }
    }

    /// Puts a sample into a slot that is empty or has an earlier version of its page, which teaches
    /// how long it lived. Not inlined: few writes come here, and all others would save registers
    /// for it.
    #[inline(never)]
    fn take(&mut self, hazards: &mut Hazards, at: usize, sample: Sample) {
        let before = self.slots[at];
        if before.page == sample.page {
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
        let rounds = self.slots.len() / (VISITS * PAUSE);
        let first = (self.hand as usize / PAUSE) % rounds * (VISITS * PAUSE);
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
        if sample.page == NOBODY {
            self.due[at] = now.wrapping_add(1 << 30);
            return;
        }
        let outlived = self.bin(now.wrapping_sub(sample.born));
        hazards.teach(Rows::of_words(sample.rows), self.taught[at], outlived, false);
        if usize::from(outlived) < BINS {
            self.taught[at] = outlived;
            self.due[at] = sample.born.wrapping_add(self.next_lesson(outlived));
        } else {
            self.slots[at].page = NOBODY;
            self.due[at] = now.wrapping_add(1 << 30);
        }
    }

    /// Asks for the cache line of a page's slot.
    #[inline]
    pub fn prefetch(&self, page: LogicalPage) {
        prefetch(&self.slots[self.slot(page)]);
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.slots.len() * (size_of::<Sample>() + 4 + 1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_packed_in_their_order() {
        for expected in [0, u64::MAX, 0x8034_bd03_e6c5_a741] {
            assert_eq!(packed(std::array::from_fn(|nth| expected >> nth & 1 == 1)), expected);
        }
    }
}
