//! Erase blocks of one plane: write frontiers, the pool of free blocks, valid and invalid pages,
//! wear.
//!
//! A plane materialises what was written: block records up to the highest block ever opened, page
//! records (16 B: the logical page and its written sectors) while a block holds data. Blocks never
//! opened are one counter. They are handed out in order of their number, before any recycled block:
//! they are the least worn.

mod computed;

pub(crate) use computed::PlaneSummary;

use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sectors of one page that hold host data, one bit each.
pub type SectorMask = u64;

/// What a write frontier is for: host data, translation pages, pages moved by garbage collection,
/// and the further frontiers that a placement policy has beyond one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrontierId(u8);

impl FrontierId {
    /// Host data; the first of them under a placement policy.
    pub const DATA: Self = Self(0);
    /// Translation pages.
    pub const TRANSLATION: Self = Self(1);
    /// Pages moved by garbage collection, the first likewise.
    pub const MOVED: Self = Self(2);

    /// The further frontier of that number.
    pub(crate) const fn further(number: u8) -> Self {
        Self(number.wrapping_add(3))
    }

    /// Its number among a tenant's frontiers of a plane.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Frontiers each tenant has in a plane without a placement policy.
pub(crate) const FRONTIERS: usize = 3;

/// Which of the free blocks a frontier takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Blocks never opened first, then as the pool is ordered.
    InOrder,
    /// The least erased.
    Least,
    /// The most erased.
    Most,
    /// Any; the number draws.
    Any(u32),
}

/// Where a block is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BlockState {
    Free,
    /// The write frontier of somebody.
    Open,
    Full,
    /// Its valid pages are being moved, then it is erased.
    Collecting,
}

const PROGRAMMED: u64 = 1 << 63;
/// The owner of a page that was overwritten; whether it was programmed stays known.
const INVALID: u64 = !PROGRAMMED;

/// One written page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct PageRecord {
    owner: u64,
    pub sectors: SectorMask,
}

impl PageRecord {
    /// The page-table entry (or translation page) it holds; `None` once overwritten.
    pub fn owner(&self) -> Option<u64> {
        let owner = self.owner & !PROGRAMMED;
        (owner != INVALID).then_some(owner)
    }

    /// The program has finished, so the flash really holds it.
    pub fn is_programmed(&self) -> bool {
        self.owner & PROGRAMMED != 0
    }
}

/// One erase block that was opened at least once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    pub pages: Vec<PageRecord>,
    pub erases: u32,
    /// Programs on their way; a block with any is no victim.
    pub programs: u32,
    pub tenant: u16,
    pub frontier: FrontierId,
    /// Its pages are as the drive's past says, except those overwritten since; it has no records.
    pub computed: bool,
    /// Fill number: blocks in the order in which they became full.
    pub filled_at: u64,
}

/// A write frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frontier {
    /// `NO_BLOCK` until first used.
    block: u32,
    next: u32,
}

const NO_BLOCK: u32 = u32::MAX;

/// A page just given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub block: u32,
    pub page: u32,
    /// The block is full now.
    pub filled: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Plane {
    pub blocks: Vec<Block>,
    pub states: Vec<BlockState>,
    /// Invalid pages of each block, apart from the records so that victim selection scans 4 B a
    /// block.
    pub invalid: Vec<u32>,
    blocks_total: u32,
    pages_per_block: u32,
    /// Blocks that were not free at the start have no records yet: `wake` it before looking at any.
    pub asleep: bool,
    /// Erases of blocks never opened.
    worn: u32,
    /// A bit for each page of the blocks that were not free at the start: overwritten since.
    overwritten: Vec<u64>,
    /// First block never opened.
    fresh: u32,
    recycled: BinaryHeap<Reverse<(u32, u64, u32)>>,
    recycled_seq: u64,
    frontiers: Vec<Frontier>,
    /// Frontiers of each tenant.
    frontiers_per_tenant: usize,
    fills: u64,
    pub collecting: u32,
    pub valid: u64,
    pub erases: u64,
    /// Page records of erased blocks, kept for the next block opened.
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

    /// Blocks that hold nothing and are nobody's frontier.
    #[inline]
    pub fn free_blocks(&self) -> u32 {
        self.blocks_total - self.fresh + self.recycled.len() as u32
    }

    /// Whether the frontier can take a page without a new block.
    #[inline]
    pub fn has_room(&self, tenant: usize, frontier: FrontierId) -> bool {
        self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()].block != NO_BLOCK
    }

    /// Whether the next page fills the frontier's block.
    pub fn is_nearly_full(&self, tenant: usize, frontier: FrontierId) -> bool {
        self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()].next + 1
            >= self.pages_per_block
    }

    /// Gives the frontier its block now; `false` without a free one.
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

    /// The recycled block that is picked; `None` where the pool's own order decides. Walks the
    /// pool, which is about as large as the collection threshold once a plane collects.
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
                // A multiplication maps the draw onto the count without a division.
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

    /// Writes the next page of a frontier. The caller has made sure that there is room.
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

    /// The content of a page does not matter any more.
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

    /// A program has finished.
    #[inline]
    pub fn programmed(&mut self, block: u32, page: u32) {
        let block = &mut self.blocks[block as usize];
        block.programs -= 1;
        block.pages[page as usize].owner |= PROGRAMMED;
    }

    /// Names the owner of a page that was written before its owner was sure.
    pub fn set_owner(&mut self, block: u32, page: u32, owner: u64) {
        self.blocks[block as usize].pages[page as usize].owner = owner;
    }

    /// Asks for the cache lines of a page's records.
    #[inline]
    pub fn prefetch_page(&self, block: u32, page: u32) {
        prefetch(&self.invalid[block as usize]);
        if let Some(record) = self.blocks[block as usize].pages.get(page as usize) {
            prefetch(record);
        }
    }

    /// Written sectors of a valid page; `whole` of one that was defined.
    #[inline]
    pub fn sectors(&self, block: u32, page: u32, whole: SectorMask) -> SectorMask {
        let record = &self.blocks[block as usize];
        if record.computed { whole } else { record.pages[page as usize].sectors }
    }

    /// Whether the page's program has ended.
    pub fn is_programmed(&self, block: u32, page: u32) -> bool {
        let record = &self.blocks[block as usize];
        record.computed || record.pages.get(page as usize).is_some_and(PageRecord::is_programmed)
    }

    /// The record of a page in a block that is not just defined.
    #[inline]
    pub fn page(&self, block: u32, page: u32) -> &PageRecord {
        &self.blocks[block as usize].pages[page as usize]
    }

    /// Back to the pool. `level` orders the pool by wear; without it, first erased is first used.
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

    /// Marks a victim.
    pub fn start_collecting(&mut self, block: u32) {
        debug_assert_eq!(self.states[block as usize], BlockState::Full);
        self.states[block as usize] = BlockState::Collecting;
        self.collecting += 1;
    }

    /// Blocks never opened.
    pub fn fresh_blocks(&self) -> u32 {
        self.blocks_total - self.fresh
    }

    /// Blocks without a record of their own, and how often each of them was erased.
    pub fn unseen_blocks(&self) -> (u32, u32) {
        let seen = if self.asleep { 0 } else { self.fresh };
        (self.blocks_total - seen, self.worn)
    }

    /// Valid pages of each full block.
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

    /// Heap bytes of page and block records.
    pub fn memory_bytes(&self) -> u64 {
        let pages: usize = self.blocks.iter().map(|b| b.pages.capacity()).sum();
        let spare: usize = self.spare.iter().map(Vec::capacity).sum();
        ((pages + spare) * size_of::<PageRecord>()
            + self.overwritten.capacity() * 8
            + self.blocks.capacity() * (size_of::<Block>() + size_of::<BlockState>() + 4)
            + self.frontiers.len() * size_of::<Frontier>()) as u64
    }

    /// Free, open, full and collecting blocks are all blocks; valid pages are counted right.
    /// Walks every record: for tests.
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
