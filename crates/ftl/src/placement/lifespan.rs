//! Lifespan: learns while it runs when a page that is written will be overwritten, and puts pages
//! together that are expected to die at about the same time.
//!
//! Time is counted in page writes of the host. A host write goes to one of eight queues by the
//! expected logarithm of its life (`lifespan/hazard`), of which each spans the same number of
//! octaves, from a block in each plane to four times the logical pages. A page that was never
//! written and is expected to live long goes to a ninth. A moved page goes by its age to eight
//! queues of its own, or to a ninth if it was not written since the drive was filled.
//!
//! What a write is known by (`Writing`): the life of the version before and how long ago it was
//! written, the number of writes, what is known of both neighbours, the shape of the request, its
//! tenant, and the time since the request before. The model is taught by a sample of the pages
//! (`lifespan/sample`).
//!
//! On a drive with much spare space all host writes go to the ninth queue until collection has had
//! to move pages (`lifespan/need`).
//!
//! Every open block takes spare room, which pays only where lives differ. So all frontiers together
//! take a sixth of the spare blocks at most: on small drives there are fewer queues, and each spans
//! more octaves.
//!
//! Where victims go by remaining lives (`gc.policy`), the policy also tells how many pages of a
//! block will soon be dead, by the block's queue and by when it was opened.
//!
//! All arithmetic is in integers, so every machine places a page alike. Cost: 8 B a logical page,
//! 4 B a block, and 168 KiB of weights and sampled pages, or 127 KiB (`placement.memory`), with 18
//! KiB of constants.

mod hazard;
mod log2;
mod need;
mod sample;
#[cfg(test)]
mod tests;

use super::per_page::PerPage;
use super::shape::Shape;
use super::{Cause, Policy, Queue, Write};
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use hazard::{BINS, Hazards, Rows};
use log2::{LOG2_ONE, first_above, log2};
use need::Need;
use sample::Samples;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::{LIFESPAN_FRONTIERS, PlacementMemory};
use ssdtune_model::{BlockAddr, Place};

/// Queues of host data by their expected life, and of moved pages by their age.
const QUEUES: usize = LIFESPAN_FRONTIERS as usize - 1;
/// The share of the spare blocks that may stand open, as its inverse.
const OPEN_SHARE: u32 = 6;
/// The queue of pages that are written for the first time and expected to live long, and of all
/// pages as long as nothing is sorted.
const FRESH: Queue = Queue(QUEUES as u8);
/// The first queue of moved pages.
const MOVED: u8 = QUEUES as u8 + 1;
/// The queue of moved pages that were not written since the drive was filled.
const MOVED_UNWRITTEN: Queue = Queue(MOVED + QUEUES as u8);

/// The least first edge of the bins of lifetimes, in ticks; it is half a block in each plane, since
/// shorter lives need not be told apart.
const FIRST_EDGE: u64 = 16;
/// Ticks that the longest life may have, so that ages fit in 32 bits.
const LIFE_MAX: u64 = 1 << 30;
/// The class of a time that is not known.
const NEVER: u8 = 31;

/// What is known of a logical page. In the table it is one word of 8 B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Past {
    /// When it was last written, in ticks; 0 for never.
    written: u32,
    /// The class of the life of the version before the present one.
    life: u8,
    /// How often it was written, 255 at most.
    writes: u8,
}

impl Past {
    /// From a word of the table. 0 is a page that was never written.
    #[inline]
    fn of(word: u64) -> Self {
        let [rest @ .., life, writes, _, _] = word.to_le_bytes();
        Self { written: u32::from_le_bytes(rest), life: NEVER ^ (life & NEVER), writes }
    }

    /// The word for the table.
    #[inline]
    fn word(self) -> u64 {
        u64::from(self.writes) << 40 | u64::from(NEVER ^ self.life) << 32 | u64::from(self.written)
    }
}

/// What is known of a write when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Writing {
    page: LogicalPage,
    shape: Shape,
    application: u16,
    /// The time in writes.
    at: u64,
}

/// A write that was looked at, and what came out. Asked for again, it need not be looked at again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Outlook {
    of: Writing,
    rows: Rows,
    queue: Queue,
    /// What will be known of the page once it is written, as a word of the table.
    then: u64,
}

/// What a drive is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriveSize {
    /// Logical pages.
    pub pages: u64,
    /// Pages of a block in each plane.
    pub unit: u64,
    pub planes: u64,
    /// Blocks of a plane.
    pub blocks: u32,
    /// Spare blocks of a plane.
    pub spare: u32,
}

/// The policy: what is known of pages, the model, and the sample that teaches it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lifespan {
    pages: PerPage<u64>,
    hazards: Hazards,
    samples: Samples,
    need: Need,
    /// Page writes of the host so far, from 1.
    writes: u64,
    /// log2 of the page writes of a tick.
    shift: u32,
    next: Option<Outlook>,
    /// The longest expected life of each queue but the last: log2 of ticks, with 16 bits behind
    /// the point, above that of a page that dies at once.
    longest: [u32; QUEUES - 1],
    /// The greatest age of each queue of moved pages but the last, in ticks.
    oldest: [u32; QUEUES - 1],
    /// From this queue on a page's first write goes to [`FRESH`].
    long: u8,
    /// When each block was opened, in ticks, plane by plane.
    opened: Vec<u32>,
    /// Blocks of a plane.
    blocks: u32,
    /// Ticks in which the host writes all spare blocks.
    spare: u64,
}

impl Lifespan {
    /// For a drive.
    pub fn new(drive: &DriveSize, memory: PlacementMemory) -> Self {
        let &DriveSize { pages, unit, spare, .. } = drive;
        let is_small = memory == PlacementMemory::Small;
        // Two queues at least, of host data and of moved pages, beside a further one each.
        let queues = (spare / OPEN_SHARE / 2).saturating_sub(1).clamp(2, QUEUES as u32);
        let mut shift = 0;
        while (2 * pages) >> shift > LIFE_MAX {
            shift += 1;
        }
        let longest = ((2 * pages) >> shift).max(2 * FIRST_EDGE);
        let first = (unit >> (shift + 1)).clamp(FIRST_EDGE, longest / 2);
        let (first, last) = (log2(first), log2(longest));
        let step = (last - first) / (BINS as u32 - 1);
        let edge = |bin: usize| match bin + 1 {
            BINS => longest as u32,
            _ => first_above(first + bin as u32 * step) as u32 - 1,
        };
        let need = Need::new(drive);
        let unit = log2((unit >> shift).max(1)).min(last);
        let width = (last + LOG2_ONE - unit) / (queues - 1);
        // The last queue in use has no upper end.
        let upper = |queue: usize| (queue as u32 + 1 < queues).then(|| unit + queue as u32 * width);
        let soonest = first - step / 2;
        Self {
            pages: PerPage::new(pages as usize),
            hazards: Hazards::new(step, is_small),
            samples: Samples::new(std::array::from_fn(edge)),
            need,
            writes: 1 << shift,
            shift,
            next: None,
            longest: std::array::from_fn(|queue| {
                upper(queue).map_or(u32::MAX, |upper| upper.saturating_sub(soonest))
            }),
            oldest: std::array::from_fn(|queue| {
                upper(queue).map_or(u32::MAX, |upper| (first_above(upper) - 1) as u32)
            }),
            long: (3 * queues / 4) as u8,
            opened: vec![0; (drive.planes * u64::from(drive.blocks)) as usize],
            blocks: drive.blocks,
            spare: ((drive.unit * u64::from(spare)) >> shift).max(1),
        }
    }

    /// The share of the valid pages of a block that will be overwritten before long, with 16 bits
    /// behind the point: before the host has written all spare blocks, which is about as long as a
    /// victim can wait. A page dies at a steady rate for the rest of its life. It lives as long as
    /// its queue says, counted from when the block was opened, and once that is over, as long again
    /// as the block is old; so do pages that were not sorted.
    pub fn dies_soon(&self, at: BlockAddr, queue: Queue) -> u32 {
        let nth = if queue.0 >= MOVED { queue.0 - MOVED } else { queue.0 };
        let opened = self.opened[self.nth(at)];
        let life = match queue {
            FRESH if !self.need.was_there(opened) => 0,
            _ => self.oldest.get(usize::from(nth)).copied().unwrap_or(u32::MAX),
        };
        let age = self.now().wrapping_sub(opened);
        let rest = u64::from(life.saturating_sub(age).max(age));
        ((self.spare << 16) / (self.spare + rest)) as u32
    }

    /// Is told that collection has to move pages.
    pub fn will_move(&mut self, pages: u32) {
        self.need.moves(pages, self.now());
    }

    /// The place of a block among those of all planes.
    fn nth(&self, at: BlockAddr) -> usize {
        at.plane.index() * self.blocks as usize + at.block.index()
    }

    /// The time in ticks, never 0.
    #[inline]
    fn now(&self) -> u32 {
        ((self.writes >> self.shift) as u32).max(1)
    }

    /// Ticks since a page was written; `None` if it never was.
    #[inline]
    fn age(&self, page: Past) -> Option<u32> {
        (page.written != 0).then(|| self.now().wrapping_sub(page.written))
    }

    /// The class of the time since a page was written: its octave. Without a branch, since nobody
    /// can guess which pages were never written.
    #[inline]
    fn octave(&self, page: Past) -> u8 {
        let ticks = self.now().wrapping_sub(page.written);
        let octave = ((u32::BITS - ticks.leading_zeros()) as u8).min(NEVER - 1);
        octave | (NEVER * u8::from(page.written == 0))
    }

    /// What a host write is known by.
    #[inline]
    fn writing(&self, write: &Write) -> Writing {
        let Write { page, shape, application, .. } = *write;
        Writing { page, shape, application, at: self.writes }
    }

    /// Looks at a write.
    #[inline]
    fn look(&self, of: Writing) -> Outlook {
        let Writing { page, shape, application, .. } = of;
        let last = self.pages.len() as u64 - 1;
        let past = Past::of(self.pages[page]);
        let before = Past::of(self.pages[LogicalPage(page.0.saturating_sub(1))]);
        let after = Past::of(self.pages[LogicalPage((page.0 + 1).min(last))]);
        let since = self.octave(past);
        let after = self.octave(after);
        let rows = self.hazards.rows([
            u32::from(since) << 5 | u32::from(past.life),
            shape.form(),
            shape.run() << 4 | shape.size(),
            u32::from(before.life) << 5 | u32::from(after),
            u32::from(application) << 4 | shape.gap(),
            u32::from(past.writes.min(7)) << 5 | u32::from(since),
        ]);
        let life = self.hazards.expected_life(rows);
        let queue = self.longest.iter().map(|&longest| u8::from(life > longest)).sum();
        let is_fresh = queue >= self.long && past.written == 0;
        let then =
            Past { written: self.now(), life: since, writes: past.writes.saturating_add(1) }.word();
        Outlook { of, rows, queue: if is_fresh { FRESH } else { Queue(queue) }, then }
    }

    /// What was found out of a write, or is found out now.
    #[inline]
    fn outlook<T>(&self, write: &Write, tell: impl Fn(&Outlook) -> T) -> T {
        let of = self.writing(write);
        match &self.next {
            Some(next) if next.of == of => tell(next),
            _ => tell(&self.look(of)),
        }
    }
}

impl Policy for Lifespan {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        match write.cause {
            Cause::Host if !self.need.is_there() => FRESH,
            Cause::Host => self.outlook(write, |outlook| outlook.queue),
            Cause::Move(_) => match self.age(Past::of(self.pages[write.page])) {
                Some(age) => {
                    let older = self.oldest.iter().map(|&oldest| u8::from(age > oldest));
                    Queue(MOVED + older.sum::<u8>())
                }
                None => MOVED_UNWRITTEN,
            },
        }
    }

    #[inline]
    fn expect(&mut self, write: &Write) {
        self.next = Some(self.look(self.writing(write)));
    }

    fn observe(&mut self, write: &Write) {
        let (rows, then) = self.outlook(write, |outlook| (outlook.rows, outlook.then));
        self.pages.set(write.page, then);
        let now = self.now();
        self.samples.write(&mut self.hazards, write.page, now, rows);
        self.need.written();
        self.writes += 1;
    }

    fn opened(&mut self, at: BlockAddr, _: Queue) {
        let nth = self.nth(at);
        self.opened[nth] = self.now();
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        // Both neighbours will be looked at, and the page shares a cache line with one of them.
        let last = self.pages.len() as u64 - 1;
        prefetch(&self.pages[LogicalPage(page.0.saturating_sub(1))]);
        prefetch(&self.pages[LogicalPage((page.0 + 1).min(last))]);
    }

    fn memory_bytes(&self) -> u64 {
        let own = self.pages.len() * size_of::<u64>() + self.opened.len() * size_of::<u32>();
        own as u64 + self.hazards.memory_bytes() + self.samples.memory_bytes()
    }
}
