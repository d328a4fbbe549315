//! SepBIT (Wang et al., FAST 2022): separates pages by the time until they are expected to be
//! overwritten.
//!
//! Time is counted in host writes. A host write goes to the first of two queues if the version it
//! overwrites lived for less than l, and to the second otherwise; l is the mean life of the last 16
//! collected blocks of the first queue. A moved page goes to the third queue if it leaves a block
//! of the first. Otherwise its age decides: below 4 l the fourth queue, below 16 l the fifth, else
//! the sixth.
//!
//! The paper stores a page's last write time in its spare area. Here it is a table of 4 B for each
//! logical page. The count wraps after 4 G writes, which makes one page in a long life look young.

use super::per_page::PerPage;
use super::{Cause, Policy, Queue, Write};
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockAddr, BlockId, Place, PlaneId, Table};

/// Collected blocks of the first queue over whose lives l is averaged.
const SEGMENTS: u32 = 16;
const SHORT: Queue = Queue(0);
const LONG: Queue = Queue(1);
const FIRST_MOVED: Queue = Queue(2);

/// The policy and the times it compares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SepBit {
    /// When each logical page was last written; 0 for never.
    written: PerPage<u32>,
    /// Host writes so far, from 1.
    now: u32,
    /// When each block was opened, plane by plane. As long as the highest block opened.
    opened: Table<PlaneId, Table<BlockId, u32>>,
    /// The mean life l; the largest number until it is known.
    life: u32,
    /// Sum of the lives of the blocks collected since l was set.
    lives: u64,
    /// Blocks collected since l was set.
    collected: u32,
}

impl SepBit {
    pub fn new(pages: u64, planes: usize) -> Self {
        Self {
            written: PerPage::new(pages as usize),
            now: 1,
            opened: Table::of(Table::default(), planes),
            life: u32::MAX,
            lives: 0,
            collected: 0,
        }
    }

    /// Host writes since the page was last written; the largest number for a page that never was.
    #[inline]
    fn age(&self, page: LogicalPage) -> u32 {
        match self.written[page] {
            0 => u32::MAX,
            at => self.now.wrapping_sub(at),
        }
    }
}

impl Policy for SepBit {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        let age = self.age(write.page);
        match write.cause {
            Cause::Host if age < self.life => SHORT,
            Cause::Host => LONG,
            Cause::Move(SHORT) => FIRST_MOVED,
            Cause::Move(_) => {
                let within = |times: u32| age < self.life.saturating_mul(times);
                Queue(FIRST_MOVED.0 + 3 - u8::from(within(16)) - u8::from(within(4)))
            }
        }
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        prefetch(&self.written[page]);
    }

    #[inline]
    fn observe(&mut self, write: &Write) {
        self.written.set(write.page, self.now);
        self.now = self.now.wrapping_add(1).max(1);
    }

    fn opened(&mut self, at: BlockAddr, _: Queue) {
        let blocks = &mut self.opened[at.plane];
        if blocks.len() <= at.block.index() {
            blocks.resize(at.block.index() + 1, 0);
        }
        blocks[at.block] = self.now;
    }

    fn collected(&mut self, at: BlockAddr, queue: Queue) {
        let opened = self.opened[at.plane].get(at.block);
        // A block that holds data since the start was opened at no known time.
        let opened = opened.copied().filter(|&at| at > 0);
        let (SHORT, Some(opened)) = (queue, opened) else { return };
        self.lives += u64::from(self.now.wrapping_sub(opened));
        self.collected += 1;
        if self.collected == SEGMENTS {
            self.life = (self.lives / u64::from(SEGMENTS)) as u32;
            (self.lives, self.collected) = (0, 0);
        }
    }

    fn memory_bytes(&self) -> u64 {
        let opened: usize = self.opened.iter().map(Table::capacity).sum();
        4 * (self.written.len() + opened) as u64
    }
}
