//! Whether it pays to sort pages by their lives.
//!
//! On a drive with much spare space the blocks that collection finds are mostly dead, and no policy
//! can move less than nothing. Sorting is not free there: the pages of one burst go to several open
//! superblocks, whose next pages lie in planes that do not follow each other, so that bursts take
//! longer. So it begins only when pages are moved, and then stays: the blocks of a sorted drive
//! hold few valid pages because they are sorted.
//!
//! Other drives sort from the beginning. What was mixed before pages had to be moved would cost
//! them a fifth of what sorting wins in a run that writes the drive a few times.

use super::DriveSize;
use serde::{Deserialize, Serialize};

/// A drive has much spare space if one block in this many is spare, or more. Drives for mixed use
/// have 10 to 20 %, those for many writes a quarter to a third.
const MUCH_SPARE: u32 = 4;

/// Page writes of the host for which a page may be moved without a need to sort. A 64th more write
/// amplification is less than what sorting wins where it wins anything.
const SPARED: u64 = 64;

/// How far the need has grown. Each page that collection moves to win free space adds [`SPARED`],
/// each page that the host writes takes one off, down to 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Need {
    grown: u64,
    /// Sorting begins at this value: as many pages as a block in each plane has were moved, beyond
    /// one for every [`SPARED`] that the host wrote.
    enough: u64,
    /// When it began, in ticks; 0 for a drive that always sorts.
    since: Option<u32>,
}

impl Need {
    /// For a drive.
    pub fn new(drive: &DriveSize) -> Self {
        let has_much = u64::from(MUCH_SPARE) * u64::from(drive.spare) >= u64::from(drive.blocks);
        Self { grown: 0, enough: SPARED * drive.unit, since: (!has_much).then_some(0) }
    }

    /// Whether pages are to be sorted.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.since.is_some()
    }

    /// Whether they were to be sorted at a time, in ticks.
    #[inline]
    pub fn was_there(&self, at: u32) -> bool {
        self.since.is_some_and(|since| since <= at)
    }

    /// Notes that the host has written a page.
    #[inline]
    pub fn written(&mut self) {
        self.grown = self.grown.saturating_sub(1);
    }

    /// Notes that collection moves pages from now on.
    pub fn moves(&mut self, pages: u32, now: u32) {
        self.grown = (self.grown + SPARED * u64::from(pages)).min(self.enough);
        if self.grown == self.enough {
            self.since.get_or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_need_once_more_than_a_64th_of_what_is_written_is_moved() {
        let unit = 8;
        let drive = DriveSize { pages: 600, unit, planes: 1, blocks: 100, spare: 25 };
        let (mut seldom, mut often) = (Need::new(&drive), Need::new(&drive));
        for round in 0..10 * unit {
            (0..SPARED).for_each(|_| seldom.written());
            seldom.moves(1, 7);
            (0..SPARED / 2).for_each(|_| often.written());
            often.moves(1, 7);
            // Half of each moved page stays, and the last counts in full.
            assert_eq!(often.is_there(), round + 1 >= 2 * unit - 1, "round {round}");
        }
        assert!(!seldom.is_there());
        (0..1_000_000).for_each(|_| often.written());
        assert!(often.is_there(), "a sorted drive stays sorted");
        assert_eq!([6, 7, 8].map(|at| often.was_there(at)), [false, true, true]);
        let begins = |blocks, spare| Need::new(&DriveSize { blocks, spare, ..drive }).is_there();
        assert!(begins(100, 24) && begins(43, 10) && !begins(43, 11));
    }
}
