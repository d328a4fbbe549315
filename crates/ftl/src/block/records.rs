//! Page records of a plane: whose data a written page holds, whether its program has ended, and
//! which of its sectors were written.
//!
//! A record is one word of 4 B. Two things get memory only when a page needs them: the high bits
//! of an owner beyond 2^31 (1 B a page), and the written sectors of pages that were not written
//! whole (8 B a page). Records lie in frames of one block each; a frame goes from an erased block
//! to the next that is written. Whether a page is still valid is not said here but in its block's
//! valid bits. Mapping units below a page would be several owners to a page here.

use super::SectorMask;
use crate::number::Owner;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use ssdtune_model::{PageId, Place};

/// The bit of a word that says that the page's program has ended.
const PROGRAMMED: u32 = 1 << 31;
/// The bits of a word that name the owner. All set: [`Owner::IN_FLIGHT`].
const OWNER: u32 = PROGRAMMED - 1;
const OWNER_BITS: u32 = 31;

/// A frame of records, which holds those of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Frame(u32);

impl Frame {
    /// No frame.
    pub const NONE: Self = Self(u32::MAX);
}

/// The page records of one plane.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Records {
    pages_per_block: u32,
    /// All sectors of a page.
    whole: SectorMask,
    words: Vec<u32>,
    /// What does not fit into the words. None as long as everything does, so that the usual write
    /// asks one question for both.
    more: Option<Box<More>>,
    /// Frames so far.
    frames: u32,
    /// Frames that no block uses.
    spare: Vec<Frame>,
}

/// What only some pages have, for all pages of a plane.
#[derive(Clone, Default, Serialize, Deserialize)]
struct More {
    /// The high bits of owners; empty as long as none has any.
    high: Vec<u8>,
    /// Written sectors; empty as long as every page was written whole.
    sectors: Vec<SectorMask>,
}

impl Records {
    pub fn new(pages_per_block: u32, whole: SectorMask) -> Self {
        Self { pages_per_block, whole, ..Self::default() }
    }

    /// A frame for a block that is about to be written.
    pub fn take(&mut self) -> Frame {
        let frame = self.spare.pop().unwrap_or_else(|| {
            self.frames += 1;
            Frame(self.frames - 1)
        });
        let end = (frame.0 as usize + 1) * self.pages_per_block as usize;
        if self.words.len() < end {
            self.words.resize(end, 0);
            self.grow();
        }
        frame
    }

    /// Takes the frame of an erased block back.
    pub fn give(&mut self, frame: Frame) {
        self.spare.push(frame);
    }

    /// The tables that are in use get as long as the words.
    fn grow(&mut self) {
        let Some(more) = &mut self.more else { return };
        if !more.high.is_empty() {
            more.high.resize(self.words.len(), 0);
        }
        if !more.sectors.is_empty() {
            more.sectors.resize(self.words.len(), self.whole);
        }
    }

    /// The number of a page's record.
    #[inline]
    pub fn at(&self, frame: Frame, page: PageId) -> usize {
        frame.0 as usize * self.pages_per_block as usize + page.index()
    }

    /// Prefetches the written sectors of a page, if they are kept and the frame is one.
    #[inline]
    pub fn prefetch_sectors(&self, frame: Frame, page: PageId) {
        let more = self.more.as_ref();
        if let Some(sectors) = more.and_then(|more| more.sectors.get(self.at(frame, page))) {
            prefetch(sectors);
        }
    }

    /// Records a page whose program runs.
    #[inline]
    pub fn set(&mut self, at: usize, owner: Owner, sectors: SectorMask) {
        self.set_owner(at, owner);
        if sectors != self.whole || self.more.is_some() {
            self.set_sectors(at, sectors);
        }
    }

    /// Names the owner of a page whose program runs.
    #[inline]
    pub fn set_owner(&mut self, at: usize, owner: Owner) {
        // A move in flight is the largest number, so it becomes `OWNER`.
        self.words[at] = owner.0.min(OWNER.into()) as u32;
        let is_wide = owner.0 >= u64::from(OWNER) && owner != Owner::IN_FLIGHT;
        if is_wide || self.more.is_some() {
            self.set_wide(at, owner);
        }
    }

    /// Owners from `OWNER` on are stored one higher, since that number stands for a move.
    #[inline(never)]
    fn set_wide(&mut self, at: usize, owner: Owner) {
        let code = match owner {
            Owner::IN_FLIGHT => u64::from(OWNER),
            Owner(owner) => owner + u64::from(owner >= u64::from(OWNER)),
        };
        let high = u8::try_from(code >> OWNER_BITS).expect("an owner has fewer than 2^39 values");
        self.words[at] = code as u32 & OWNER;
        if high > 0 {
            let more = self.more.get_or_insert_default();
            if more.high.is_empty() {
                more.high.resize(self.words.len(), 0);
            }
        }
        if let Some(place) = self.more.as_mut().and_then(|more| more.high.get_mut(at)) {
            *place = high;
        }
    }

    #[inline(never)]
    fn set_sectors(&mut self, at: usize, sectors: SectorMask) {
        if sectors == self.whole && self.are_whole() {
            return;
        }
        let more = self.more.get_or_insert_default();
        if more.sectors.is_empty() {
            more.sectors.resize(self.words.len(), self.whole);
        }
        more.sectors[at] = sectors;
    }

    /// The entry of the page table, or the translation page, that is stored in a page. What it was
    /// last if the page is invalid.
    #[inline]
    pub fn owner(&self, at: usize) -> Owner {
        let low = u64::from(self.words[at] & OWNER);
        let high = self.more.as_ref().and_then(|more| more.high.get(at)).copied().unwrap_or(0);
        let code = low | u64::from(high) << OWNER_BITS;
        if code < u64::from(OWNER) {
            Owner(code)
        } else if code == u64::from(OWNER) {
            Owner::IN_FLIGHT
        } else {
            Owner(code - 1)
        }
    }

    #[inline]
    pub fn sectors(&self, at: usize) -> SectorMask {
        let sectors = self.more.as_ref().and_then(|more| more.sectors.get(at));
        sectors.copied().unwrap_or(self.whole)
    }

    /// Whether every page was written whole.
    pub fn are_whole(&self) -> bool {
        self.more.as_ref().is_none_or(|more| more.sectors.is_empty())
    }

    /// Reports that the program of a page has ended.
    #[inline]
    pub fn set_programmed(&mut self, at: usize) {
        self.words[at] |= PROGRAMMED;
    }

    #[inline]
    pub fn is_programmed(&self, at: usize) -> bool {
        self.words[at] & PROGRAMMED != 0
    }

    /// All sectors of a page.
    pub fn whole(&self) -> SectorMask {
        self.whole
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        let more = |more: &More| more.high.capacity() + more.sectors.capacity() * 8;
        self.words.capacity() * 4 + self.more.as_deref().map_or(0, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_of_any_size_come_back() {
        let mut records = Records::new(8, 0xff);
        let frames = [records.take(), records.take()];
        let border = u64::from(OWNER);
        let moves = Owner::IN_FLIGHT.0;
        let owners =
            [0, border - 1, moves, border, border + 1, (1 << 39) - 2, 7, 1 << 32].map(Owner);
        for (page, &owner) in owners.iter().enumerate() {
            for frame in frames {
                let at = records.at(frame, PageId(page as u32));
                records.set(at, owner, 0xff);
                if page % 2 == 0 {
                    records.set_programmed(at);
                }
            }
        }
        for (page, &owner) in owners.iter().enumerate() {
            let at = records.at(frames[1], PageId(page as u32));
            assert_eq!(records.owner(at), owner);
            assert_eq!(records.is_programmed(at), page % 2 == 0);
            assert_eq!(records.sectors(at), 0xff);
        }
        let at = records.at(frames[0], PageId(3));
        records.set_owner(at, Owner(5));
        assert_eq!((records.owner(at), records.is_programmed(at)), (Owner(5), false));
    }

    #[test]
    fn only_partial_pages_pay_for_sectors() {
        let mut records = Records::new(4, 0xff);
        let frame = records.take();
        records.set(records.at(frame, PageId(0)), Owner(1), 0xff);
        let small = records.memory_bytes();
        assert!(records.are_whole());
        records.set(records.at(frame, PageId(1)), Owner(2), 0x0f);
        assert!(records.memory_bytes() > small && !records.are_whole());
        assert_eq!(
            [0, 1, 2].map(|page| records.sectors(records.at(frame, PageId(page)))),
            [0xff, 15, 0xff]
        );
        records.give(frame);
        let frame = records.take();
        records.set(records.at(frame, PageId(1)), Owner(2), 0xff);
        assert_eq!(records.sectors(records.at(frame, PageId(1))), 0xff);
    }
}
