//! The erase blocks of one plane: write frontiers, the pool of free blocks, valid and invalid
//! pages, wear.
//!
//! Memory follows what was written. A plane has block records up to the highest block ever opened,
//! and 16 B of page record (the logical page and its written sectors) for each page of a block that
//! holds data. Blocks that were never opened are one counter. They are handed out in the order of
//! their numbers, before any recycled block, because they are the least worn.

mod computed;

pub(crate) use computed::PlaneSummary;

use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sectors of one page that hold host data, one bit each. Bit 0 is the first sector.
pub type SectorMask = u64;

/// Names one of the write frontiers that a tenant has in a plane. A write frontier is an open block
/// to which one kind of pages is written in order.
///
/// There are three kinds: host data, translation pages, and pages moved by garbage collection. A
/// placement policy adds further frontiers for host data and for moved pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrontierId(u8);

impl FrontierId {
    /// Host data. Under a placement policy: the first queue of host data.
    pub const DATA: Self = Self(0);
    /// Translation pages.
    pub const TRANSLATION: Self = Self(1);
    /// Pages moved by garbage collection. Under a placement policy: the first queue of moved pages.
    pub const MOVED: Self = Self(2);

    /// A frontier that a placement policy adds, by its number from 0.
    pub(crate) const fn further(number: u8) -> Self {
        Self(number.wrapping_add(3))
    }

    /// Its number among a tenant's frontiers in a plane.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Frontiers that each tenant has in a plane without a placement policy.
pub(crate) const FRONTIERS: usize = 3;

/// Which free block a frontier takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// First the blocks that were never opened, then the order of the pool.
    InOrder,
    /// The least erased.
    Least,
    /// The most erased.
    Most,
    /// Any block. The number is the random draw, from the whole range of `u32`.
    Any(u32),
}

/// Where a block is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BlockState {
    Free,
    /// It is a write frontier.
    Open,
    Full,
    /// It is a victim: its valid pages are being moved, then it is erased.
    Collecting,
}

/// The bit of an owner that says that the page's program has ended.
const PROGRAMMED: u64 = 1 << 63;
/// The owner of a page that was overwritten or trimmed. The [`PROGRAMMED`] bit keeps its meaning.
const INVALID: u64 = !PROGRAMMED;

/// A written page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PageRecord {
    /// The entry of the page table, or the translation page, that is stored here; or [`INVALID`].
    owner: u64,
    pub sectors: SectorMask,
}

impl PageRecord {
    /// The entry of the page table, or the translation page, that is stored here. `None` if the
    /// page is invalid.
    pub fn owner(&self) -> Option<u64> {
        let owner = self.owner & !PROGRAMMED;
        (owner != INVALID).then_some(owner)
    }

    /// Whether the page's program has ended, so that flash really holds it.
    pub fn is_programmed(&self) -> bool {
        self.owner & PROGRAMMED != 0
    }
}

/// A block that was opened at least once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    pub pages: Vec<PageRecord>,
    /// How often it was erased.
    pub erases: u32,
    /// Programs that have not ended. A block with any is no victim.
    pub programs: u32,
    pub tenant: u16,
    pub frontier: FrontierId,
    /// Its pages are those that the drive held at the start, less those overwritten since. They are
    /// computed when needed; the block has no page records.
    pub computed: bool,
    /// When it became full, counted in blocks of its plane that became full before.
    pub filled_at: u64,
}

/// A write frontier: the block that it fills, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frontier {
    /// [`NO_BLOCK`] while it has none.
    block: u32,
    next: u32,
}

const NO_BLOCK: u32 = u32::MAX;

/// A page that was just given out by a frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub block: u32,
    pub page: u32,
    /// The block is full now.
    pub filled: bool,
}

/// The blocks of one plane.
#[derive(Serialize, Deserialize)]
pub(crate) struct Plane {
    pub blocks: Vec<Block>,
    pub states: Vec<BlockState>,
    /// Number of invalid pages of each block. It stands apart from the records, so that choosing a
    /// victim scans 4 B for each block.
    pub invalid: Vec<u32>,
    blocks_total: u32,
    pages_per_block: u32,
    /// The block records of what the drive held at the start have not been made yet. Call
    /// `Ftl::wake` before looking at any block.
    pub asleep: bool,
    /// Erase count of the blocks that were never opened.
    worn: u32,
    /// One bit for each page of the blocks that held data at the start: it was overwritten since.
    overwritten: Vec<u64>,
    /// Number of the first block that was never opened.
    fresh: u32,
    /// The pool of erased blocks, as (wear, order of erasing, block). The smallest is taken first.
    recycled: BinaryHeap<Reverse<(u32, u64, u32)>>,
    recycled_seq: u64,
    frontiers: Vec<Frontier>,
    /// Write frontiers that each tenant has.
    frontiers_per_tenant: usize,
    /// How many blocks have become full so far.
    fills: u64,
    /// Victims that have not been erased yet.
    pub collecting: u32,
    /// Valid pages.
    pub valid: u64,
    /// Blocks erased so far.
    pub erases: u64,
    /// Page records of erased blocks, kept for the next block that is opened.
    spare: Vec<Vec<PageRecord>>,
}

impl Plane {
    pub fn new(
        blocks: u32,
        pages_per_block: u32,
        tenants: usize,
        frontiers_per_tenant: usize,
    ) -> Self {
        Self {
            blocks: Vec::new(),
            states: Vec::new(),
            invalid: Vec::new(),
            blocks_total: blocks,
            pages_per_block,
            asleep: false,
            worn: 0,
            overwritten: Vec::new(),
            fresh: 0,
            recycled: BinaryHeap::new(),
            recycled_seq: 0,
            frontiers: vec![Frontier { block: NO_BLOCK, next: 0 }; tenants * frontiers_per_tenant],
            frontiers_per_tenant,
            fills: 0,
            collecting: 0,
            valid: 0,
            erases: 0,
            spare: Vec::new(),
        }
    }

    /// Blocks that hold nothing and are no frontier.
    #[inline]
    pub fn free_blocks(&self) -> u32 {
        self.blocks_total - self.fresh + self.recycled.len() as u32
    }

    /// Whether the frontier can take a page without opening a new block.
    #[inline]
    pub fn has_room(&self, tenant: usize, frontier: FrontierId) -> bool {
        self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()].block != NO_BLOCK
    }

    /// Whether the next page fills the frontier's block.
    pub fn is_nearly_full(&self, tenant: usize, frontier: FrontierId) -> bool {
        self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()].next + 1
            >= self.pages_per_block
    }

    /// Gives the frontier a block now. Returns `false` if no block is free.
    pub fn open_frontier(&mut self, tenant: usize, frontier: FrontierId, pick: Pick) -> bool {
        let Some(block) = self.take_free(pick) else { return false };
        let index = block as usize;
        debug_assert_eq!(self.states[index], BlockState::Free);
        self.states[index] = BlockState::Open;
        self.blocks[index].tenant = tenant as u16;
        self.blocks[index].frontier = frontier;
        self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()] =
            Frontier { block, next: 0 };
        true
    }

    /// Gives a block to a frontier that found none when its last block became full; to one of moved
    /// pages first, since no block becomes free without them. With `compat.eager_frontiers` every
    /// other frontier owns a block.
    pub fn open_missing_frontier(&mut self) {
        let each = self.frontiers_per_tenant;
        let missing = (0..self.frontiers.len())
            .filter(|&index| self.frontiers[index].block == NO_BLOCK)
            .max_by_key(|index| index % each);
        if let Some(index) = missing {
            let frontier = FrontierId((index % each) as u8);
            self.open_frontier(index / each, frontier, Pick::InOrder);
        }
    }

    /// Takes a block out of the pool of free blocks.
    fn take_free(&mut self, pick: Pick) -> Option<u32> {
        if let Some(block) = self.pick_recycled(pick) {
            self.recycled.retain(|Reverse((_, _, other))| *other != block);
            return Some(block);
        }
        if self.fresh == self.blocks_total {
            return self.recycled.pop().map(|Reverse((_, _, block))| block);
        }
        self.fresh += 1;
        self.blocks.push(Block {
            pages: Vec::new(),
            erases: self.worn,
            programs: 0,
            tenant: 0,
            frontier: FrontierId::DATA,
            computed: false,
            filled_at: 0,
        });
        self.states.push(BlockState::Free);
        self.invalid.push(0);
        Some(self.fresh - 1)
    }

    /// The erased block that `pick` asks for; `None` if the order of the pool decides. Walks the
    /// pool, which is about as large as the threshold of collection once a plane collects.
    fn pick_recycled(&self, pick: Pick) -> Option<u32> {
        let fresh = self.fresh_blocks();
        let recycled = || self.recycled.iter().map(|Reverse((_, order, block))| (*order, *block));
        let wear = |&(order, block): &(u64, u32)| (self.blocks[block as usize].erases, order);
        let picked = match pick {
            Pick::InOrder => None,
            Pick::Least if fresh > 0 => None,
            Pick::Least => recycled().min_by_key(wear),
            Pick::Most => recycled().max_by_key(|at| (wear(at).0, Reverse(at.0))),
            Pick::Any(draw) => {
                // A multiplication maps the draw to a block without a division.
                let count = u64::from(fresh) + self.recycled.len() as u64;
                let nth = (u64::from(draw) * count) >> 32;
                let nth = nth.checked_sub(fresh.into())?;
                let mut pool: Vec<(u64, u32)> = recycled().collect();
                pool.sort_unstable();
                pool.get(nth as usize).copied()
            }
        };
        picked.map(|(_, block)| block)
    }

    /// Writes the next page of a frontier. The frontier must have room.
    #[inline]
    pub fn append(
        &mut self,
        tenant: usize,
        frontier: FrontierId,
        owner: u64,
        sectors: SectorMask,
    ) -> Slot {
        let frontier = &mut self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()];
        let (block, page) = (frontier.block, frontier.next);
        frontier.next += 1;
        let filled = frontier.next == self.pages_per_block;
        if filled {
            frontier.block = NO_BLOCK;
        }
        let record = &mut self.blocks[block as usize];
        if page == 0 && record.pages.capacity() == 0 {
            record.pages = self.spare.pop().unwrap_or_default();
            record.pages.reserve_exact(self.pages_per_block as usize);
        }
        record.pages.push(PageRecord { owner, sectors });
        record.programs += 1;
        self.valid += 1;
        if filled {
            record.filled_at = self.fills;
            self.fills += 1;
            self.states[block as usize] = BlockState::Full;
        }
        Slot { block, page, filled }
    }

    /// Marks a page as invalid: its logical page was rewritten, moved or trimmed.
    #[inline]
    pub fn invalidate(&mut self, block: u32, page: u32) {
        let record = &mut self.blocks[block as usize];
        if record.computed {
            self.overwrite(block, page);
        } else {
            debug_assert!(record.pages[page as usize].owner().is_some());
            record.pages[page as usize].owner |= INVALID;
        }
        self.invalid[block as usize] += 1;
        self.valid -= 1;
    }

    /// Reports that the program of a page has ended.
    #[inline]
    pub fn programmed(&mut self, block: u32, page: u32) {
        let block = &mut self.blocks[block as usize];
        block.programs -= 1;
        block.pages[page as usize].owner |= PROGRAMMED;
    }

    /// Names the owner of a page that was written before its owner was sure: a move that is
    /// committed now.
    pub fn set_owner(&mut self, block: u32, page: u32, owner: u64) {
        self.blocks[block as usize].pages[page as usize].owner = owner;
    }

    /// Prefetches the cache lines of a page's records.
    #[inline]
    pub fn prefetch_page(&self, block: u32, page: u32) {
        prefetch(&self.invalid[block as usize]);
        if let Some(record) = self.blocks[block as usize].pages.get(page as usize) {
            prefetch(record);
        }
    }

    /// The written sectors of a valid page. Pages that the drive held at the start are whole.
    #[inline]
    pub fn sectors(&self, block: u32, page: u32, whole: SectorMask) -> SectorMask {
        let record = &self.blocks[block as usize];
        if record.computed { whole } else { record.pages[page as usize].sectors }
    }

    /// Whether the program of a page has ended.
    pub fn is_programmed(&self, block: u32, page: u32) -> bool {
        let record = &self.blocks[block as usize];
        record.computed || record.pages.get(page as usize).is_some_and(PageRecord::is_programmed)
    }

    /// The record of a page. The block must not be a computed one.
    #[inline]
    pub fn page(&self, block: u32, page: u32) -> &PageRecord {
        &self.blocks[block as usize].pages[page as usize]
    }

    /// Returns an erased block to the pool. With `level`, the pool is ordered by wear; without, the
    /// block erased first is used first.
    pub fn recycle(&mut self, block: u32, level: bool) {
        let index = block as usize;
        debug_assert_eq!(self.states[index], BlockState::Collecting);
        let record = &mut self.blocks[index];
        debug_assert_eq!(record.pages.iter().filter(|p| p.owner().is_some()).count(), 0);
        debug_assert_eq!(record.programs, 0);
        let mut pages = std::mem::take(&mut record.pages);
        pages.clear();
        self.spare.push(pages);
        record.erases += 1;
        let wear = if level { record.erases } else { 0 };
        self.invalid[index] = 0;
        self.states[index] = BlockState::Free;
        self.recycled.push(Reverse((wear, self.recycled_seq, block)));
        self.recycled_seq += 1;
        self.collecting -= 1;
        self.erases += 1;
    }

    /// Marks a block as a victim.
    pub fn start_collecting(&mut self, block: u32) {
        debug_assert_eq!(self.states[block as usize], BlockState::Full);
        self.states[block as usize] = BlockState::Collecting;
        self.collecting += 1;
    }

    /// Blocks that were never opened.
    pub fn fresh_blocks(&self) -> u32 {
        self.blocks_total - self.fresh
    }

    /// Blocks that have no record, and how often each of them was erased.
    pub fn unseen_blocks(&self) -> (u32, u32) {
        let seen = if self.asleep { 0 } else { self.fresh };
        (self.blocks_total - seen, self.worn)
    }

    /// The number of valid pages of each full block.
    pub fn full_blocks(&self) -> Vec<u32> {
        let blocks = self.states.iter().zip(&self.invalid);
        blocks
            .filter(|(state, _)| **state == BlockState::Full)
            .map(|(_, invalid)| self.pages_per_block - invalid)
            .collect()
    }

    /// How many blocks have become full so far: the plane's own measure of time.
    pub fn fills(&self) -> u64 {
        self.fills
    }

    /// Heap memory of page and block records, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let pages: usize = self.blocks.iter().map(|b| b.pages.capacity()).sum();
        let spare: usize = self.spare.iter().map(Vec::capacity).sum();
        ((pages + spare) * size_of::<PageRecord>()
            + self.overwritten.capacity() * 8
            + self.blocks.capacity() * (size_of::<Block>() + size_of::<BlockState>() + 4)
            + self.frontiers.len() * size_of::<Frontier>()) as u64
    }

    /// Asserts that free, open, full and collecting blocks are all blocks, and that valid pages are
    /// counted right. Walks every record.
    pub fn check(&self) {
        if self.asleep {
            return;
        }
        let count = |state| self.states.iter().filter(|s| **s == state).count() as u32;
        let free = count(BlockState::Free) + self.fresh_blocks();
        assert_eq!(free, self.free_blocks());
        assert_eq!(count(BlockState::Collecting), self.collecting);
        let open = self.frontiers.iter().filter(|f| f.block != NO_BLOCK).count() as u32;
        assert_eq!(count(BlockState::Open), open);
        let all = free + open + count(BlockState::Full) + self.collecting;
        assert_eq!(all, self.blocks_total);
        let mut valid = 0;
        for (block, invalid) in self.blocks.iter().zip(&self.invalid) {
            if block.computed {
                valid += u64::from(self.pages_per_block - invalid);
                continue;
            }
            let live = block.pages.iter().filter(|p| p.owner().is_some()).count();
            assert_eq!(block.pages.len() - live, *invalid as usize);
            valid += live as u64;
        }
        assert_eq!(valid, self.valid);
    }
}
