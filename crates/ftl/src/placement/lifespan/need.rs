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

/// The least spare share of the blocks that is much, as its inverse. Drives for mixed use have 10
/// to 20 %, those for many writes a quarter to a third.
const MUCH_SPARE: u32 = 4;

/// Page writes of the host for which a page may be moved without a need to sort. A 64th more write
/// amplification is less than what sorting wins where it wins anything.
const SPARED: u64 = 64;

/// How far the need has grown. Each moved page adds [`SPARED`], each page that the host writes
/// takes one off, down to 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Need {
    grown: u64,
    /// There is need from here on: a block in each plane was moved, of more than one page for every
    /// [`SPARED`] written.
    enough: u64,
    is_there: bool,
}

impl Need {
    /// For a drive.
    pub fn new(drive: &DriveSize) -> Self {
        let is_there = drive.spare < drive.blocks / MUCH_SPARE;
        Self { grown: 0, enough: SPARED * drive.unit, is_there }
    }

    /// Whether pages are to be sorted.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Notes that the host has written a page.
    #[inline]
    pub fn written(&mut self) {
        self.grown = self.grown.saturating_sub(1);
    }

    /// Notes that collection has moved a page.
    #[inline]
    pub fn moved(&mut self) {
        self.grown = (self.grown + SPARED).min(self.enough);
        self.is_there |= self.grown == self.enough;
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
            seldom.moved();
            (0..SPARED / 2).for_each(|_| often.written());
            often.moved();
            // Half of each moved page stays, and the last counts in full.
            assert_eq!(often.is_there(), round + 1 >= 2 * unit - 1, "round {round}");
        }
        assert!(!seldom.is_there());
        (0..1_000_000).for_each(|_| often.written());
        assert!(often.is_there(), "a sorted drive stays sorted");
        assert!(Need::new(&DriveSize { spare: 24, ..drive }).is_there());
    }
}
