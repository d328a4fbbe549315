//! SepBIT (Wang et al., FAST 2022): separates pages by the inferred time until their death.
//!
//! Time is counted in host writes. A host write goes to the first of two queues if the version it overwrites
//! lived less than `l`, the mean life of the last 16 collected blocks of that queue. A moved page goes to the
//! third if it leaves a block of the first; otherwise by its age to the fourth (below 4 l), the fifth (below
//! 16 l) or the sixth. The paper stores a page's last write time in its spare area; here it is a table, 4 B a
//! page (the count wraps after 4 G writes, which makes one page in a long life look young).

use super::{Cause, Policy, Write};
use crate::layout::BlockRef;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// Blocks of the first queue whose lives are averaged.
const SEGMENTS: u32 = 16;
const SHORT: u8 = 0;
const LONG: u8 = 1;
const FIRST_MOVED: u8 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SepBit {
    /// When each page was last written; 0 for never.
    written: Vec<u32>,
    now: u32,
    /// When each block was opened, per plane; as long as the highest block opened.
    opened: Vec<Vec<u32>>,
    /// `l`; as long as possible until it is known.
    life: u32,
    lives: u64,
    collected: u32,
}

impl SepBit {
    pub fn new(pages: u64, planes: usize) -> Self {
        Self {
            written: vec![0; pages as usize],
            now: 1,
            opened: vec![Vec::new(); planes],
            life: u32::MAX,
            lives: 0,
            collected: 0,
        }
    }

    /// Writes since the page's last; as many as possible for a page never seen.
    #[inline]
    fn age(&self, page: u64) -> u32 {
        match self.written[page as usize] {
            0 => u32::MAX,
            at => self.now.wrapping_sub(at),
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        let opened: usize = self.opened.iter().map(Vec::capacity).sum();
        4 * (self.written.len() + opened) as u64
    }
}

impl Policy for SepBit {
    #[inline]
    fn queue(&self, write: &Write) -> u8 {
        let age = self.age(write.page);
        match write.cause {
            Cause::Host if age < self.life => SHORT,
            Cause::Host => LONG,
            Cause::Move(SHORT) => FIRST_MOVED,
            Cause::Move(_) => {
                let within = |times: u32| age < self.life.saturating_mul(times);
                FIRST_MOVED + 3 - u8::from(within(16)) - u8::from(within(4))
            }
        }
    }

    #[inline]
    fn prefetch_page(&self, page: u64) {
        prefetch(&self.written[page as usize]);
    }

    #[inline]
    fn observe(&mut self, write: &Write) {
        self.written[write.page as usize] = self.now;
        self.now = self.now.wrapping_add(1).max(1);
    }

    fn opened(&mut self, at: BlockRef, _: u8) {
        let blocks = &mut self.opened[at.plane as usize];
        if blocks.len() <= at.block as usize {
            blocks.resize(at.block as usize + 1, 0);
        }
        blocks[at.block as usize] = self.now;
    }

    fn collected(&mut self, at: BlockRef, queue: u8) {
        let opened = self.opened[at.plane as usize].get(at.block as usize);
        // A block that the drive's past has filled was opened at no time that is known.
        let opened = opened.copied().filter(|&at| at > 0);
        let (SHORT, Some(opened)) = (queue, opened) else { return };
        self.lives += u64::from(self.now.wrapping_sub(opened));
        self.collected += 1;
        if self.collected == SEGMENTS {
            self.life = (self.lives / u64::from(SEGMENTS)) as u32;
            (self.lives, self.collected) = (0, 0);
        }
    }
}
