//! The erase blocks of one plane: write frontiers, the pool of free blocks, valid and invalid
//! pages, wear.
//!
//! Memory follows what was written. A plane has block records up to the highest block ever opened,
//! with one bit for each page (is it valid?), and 4 B of page record for each page of a block that
//! holds data; see `records`. What overwriting a page touches is its valid bit and its block's
//! number of invalid pages, so two cache lines. Blocks that were never opened are one counter. They
//! are handed out in the order of their numbers, before any recycled block, because they are the
//! least worn.
//!
//! A superblock would be several blocks with one frontier: a row of these records, one in each of
//! its planes.

mod computed;
mod figures;
mod level;
mod past;
mod records;
mod slc_mode;
mod wear;

pub(crate) use computed::PlaneSummary;

use crate::layout::Spot;
use crate::number::Owner;
use crate::prefetch::prefetch;
use records::{Frame, Records};
use serde::{Deserialize, Serialize};
use slc_mode::InSlcMode;
use ssdtune_model::{BlockId, PageId, Place, Table, TenantId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wear::WearBounds;

/// Sectors of one page that hold host data, one bit each. Bit 0 is the first sector.
pub type SectorMask = u64;

/// Names one of the write frontiers that a tenant has in a plane. A write frontier is an open block
/// to which one kind of pages is written in order.
///
/// There are three kinds: host data, translation pages, and pages moved by garbage collection. A
/// placement policy adds further frontiers for host data and for moved pages, an SLC cache adds one
/// for host data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrontierId(u8);

impl FrontierId {
    /// Host data. Under a placement policy: the first queue of host data.
    pub const DATA: Self = Self(0);
    /// Translation pages.
    pub const TRANSLATION: Self = Self(1);
    /// Pages moved by garbage collection. Under a placement policy: the first queue of moved pages.
    pub const MOVED: Self = Self(2);
    /// Host data in SLC mode, on a drive with an SLC cache. Such a drive has no placement policy.
    pub const SLC: Self = Self::further(0);

    /// A frontier that a placement policy adds, by its number from 0.
    pub(crate) const fn further(number: u8) -> Self {
        Self(number.wrapping_add(3))
    }
}

/// Its place among a tenant's frontiers in a plane.
impl Place for FrontierId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
    #[inline]
    fn at(index: usize) -> Self {
        Self(index as u8)
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
    /// It is in SLC mode and full. Nothing but folding makes it a victim.
    Cached,
    /// It is a victim: its valid pages are being moved, then it is erased.
    Collecting,
}

/// A block that was opened at least once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    /// When it became full, counted in blocks of its plane that became full before.
    pub filled_at: u64,
    /// Where its page records are; [`Frame::NONE`] if it has none.
    frame: Frame,
    /// How often it was erased.
    pub erases: u32,
    /// Programs that have not ended. A block with any is no victim.
    pub programs: u32,
    pub tenant: TenantId,
    pub frontier: FrontierId,
    /// Its pages are those that the drive held at the start, less those overwritten since. They are
    /// computed when needed; the block has no page records.
    pub computed: bool,
}

/// A write frontier: the block that it fills, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frontier {
    /// [`NO_BLOCK`] while it has none.
    block: BlockId,
    next: u32,
    /// Pages that the block takes.
    end: u32,
}

const NO_BLOCK: BlockId = BlockId(u32::MAX);

/// A page that was just given out by a frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub at: Spot,
    /// The block is full now.
    pub filled: bool,
}

/// Pages that were just given out by a frontier, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub first: Spot,
    pub count: u32,
    /// The block is full now.
    pub filled: bool,
}

/// The blocks of one plane.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Plane {
    pub blocks: Table<BlockId, Block>,
    pub states: Table<BlockId, BlockState>,
    /// Number of invalid pages of each block. It stands apart from the records, so that choosing a
    /// victim scans 4 B for each block.
    pub invalid: Table<BlockId, u32>,
    /// One bit for each page of each block: it holds data that were not overwritten since. Of a
    /// computed block: whatever it held at the start was not overwritten.
    valid_bits: Vec<u64>,
    records: Records,
    blocks_total: u32,
    pages_per_block: u32,
    /// The block records of what the drive held at the start have not been made yet. Call
    /// `Ftl::wake` before looking at any block.
    pub asleep: bool,
    /// Erase count of the blocks that were never opened.
    worn: u32,
    /// Number of the first block that was never opened.
    fresh: u32,
    /// The pool of erased blocks, as (wear, order of erasing, block). The smallest is taken first.
    recycled: BinaryHeap<Reverse<(u32, u64, BlockId)>>,
    recycled_seq: u64,
    frontiers: Vec<Frontier>,
    /// Blocks in SLC mode.
    slc: InSlcMode,
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
    wear: WearBounds,
}

impl Plane {
    pub fn new(
        blocks: u32,
        pages_per_block: u32,
        tenants: usize,
        frontiers_per_tenant: usize,
        whole: SectorMask,
    ) -> Self {
        Self {
            blocks: Table::default(),
            states: Table::default(),
            invalid: Table::default(),
            valid_bits: Vec::new(),
            records: Records::new(pages_per_block, whole),
            blocks_total: blocks,
            pages_per_block,
            asleep: false,
            worn: 0,
            fresh: 0,
            recycled: BinaryHeap::new(),
            recycled_seq: 0,
            frontiers: vec![
                Frontier { block: NO_BLOCK, next: 0, end: pages_per_block };
                tenants * frontiers_per_tenant
            ],
            slc: InSlcMode::default(),
            frontiers_per_tenant,
            fills: 0,
            collecting: 0,
            valid: 0,
            erases: 0,
            wear: WearBounds::NONE,
        }
    }

    /// Blocks that hold nothing, are no frontier, and are not kept for SLC mode.
    #[inline]
    pub fn free_blocks(&self) -> u32 {
        self.erased_blocks().saturating_sub(self.slc.kept)
    }

    /// Blocks that hold nothing and are no frontier.
    #[inline]
    pub fn erased_blocks(&self) -> u32 {
        self.blocks_total - self.fresh + self.recycled.len() as u32
    }

    /// The place of a tenant's frontier among those of all tenants.
    #[inline]
    fn place_of(&self, tenant: TenantId, frontier: FrontierId) -> usize {
        tenant.index() * self.frontiers_per_tenant + frontier.index()
    }

    /// Whether the frontier can take a page without opening a new block.
    #[inline]
    pub fn has_room(&self, tenant: TenantId, frontier: FrontierId) -> bool {
        self.frontiers[self.place_of(tenant, frontier)].block != NO_BLOCK
    }

    /// Whether the next page fills the frontier's block.
    pub fn is_nearly_full(&self, tenant: TenantId, frontier: FrontierId) -> bool {
        self.frontiers[self.place_of(tenant, frontier)].next + 1 >= self.pages_per_block
    }

    /// Gives the frontier a block now. Returns the block; `None` if no block is free.
    pub fn open_frontier(
        &mut self,
        tenant: TenantId,
        frontier: FrontierId,
        pick: Pick,
    ) -> Option<BlockId> {
        let block = self.take_free(pick)?;
        debug_assert_eq!(self.states[block], BlockState::Free);
        self.states[block] = BlockState::Open;
        self.blocks[block].tenant = tenant;
        self.blocks[block].frontier = frontier;
        let at = self.place_of(tenant, frontier);
        let mut end = self.pages_per_block;
        if self.is_slc(frontier) {
            end = self.slc.pages;
            self.slc.open();
        }
        self.frontiers[at] = Frontier { block, next: 0, end };
        Some(block)
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
            let (tenant, frontier) = (TenantId::at(index / each), FrontierId::at(index % each));
            self.open_frontier(tenant, frontier, Pick::InOrder);
        }
    }

    /// Takes a block out of the pool of free blocks.
    fn take_free(&mut self, pick: Pick) -> Option<BlockId> {
        if let Some(block) = self.pick_recycled(pick) {
            self.recycled.retain(|Reverse((_, _, other))| *other != block);
            return Some(block);
        }
        if self.fresh == self.blocks_total {
            return self.recycled.pop().map(|Reverse((_, _, block))| block);
        }
        self.fresh += 1;
        let block = self.blocks.push(Block {
            filled_at: 0,
            frame: Frame::NONE,
            erases: self.worn,
            programs: 0,
            tenant: TenantId(0),
            frontier: FrontierId::DATA,
            computed: false,
        });
        self.wear = self.wear.with(self.worn);
        self.states.push(BlockState::Free);
        self.invalid.push(0);
        self.valid_bits.extend(std::iter::repeat_n(0, self.words()));
        Some(block)
    }

    /// The erased block that `pick` asks for; `None` if the order of the pool decides. Walks the
    /// pool, which is about as large as the threshold of collection once a plane collects.
    fn pick_recycled(&self, pick: Pick) -> Option<BlockId> {
        let fresh = self.fresh_blocks();
        let recycled = || self.recycled.iter().map(|Reverse((_, order, block))| (*order, *block));
        let wear = |&(order, block): &(u64, BlockId)| (self.blocks[block].erases, order);
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
                let mut pool: Vec<(u64, BlockId)> = recycled().collect();
                pool.sort_unstable();
                pool.get(nth as usize).copied()
            }
        };
        picked.map(|(_, block)| block)
    }

    /// Words of valid bits that one block has.
    #[inline]
    fn words(&self) -> usize {
        self.pages_per_block.div_ceil(u64::BITS) as usize
    }

    /// The word of a page's valid bit, and the bit.
    #[inline]
    fn valid_bit(&self, at: Spot) -> (usize, u64) {
        let Spot { block, page: PageId(page) } = at;
        (block.index() * self.words() + (page / u64::BITS) as usize, 1 << (page % u64::BITS))
    }

    /// Whether a page holds data. Of a computed block: whether it was not overwritten.
    #[inline]
    pub fn is_valid(&self, at: Spot) -> bool {
        let (at, bit) = self.valid_bit(at);
        self.valid_bits[at] & bit != 0
    }

    #[inline]
    fn set_valid(&mut self, at: Spot) {
        let (at, bit) = self.valid_bit(at);
        self.valid_bits[at] |= bit;
    }

    fn clear_valid(&mut self, block: BlockId) {
        let (at, words) = (block.index() * self.words(), self.words());
        self.valid_bits[at..at + words].fill(0);
    }

    /// The valid pages of a block in the order of their offsets. The block must not be a computed
    /// one.
    pub fn valid_pages(&self, block: BlockId) -> impl Iterator<Item = PageId> + '_ {
        let at = block.index() * self.words();
        (0..).zip(&self.valid_bits[at..at + self.words()]).flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < u64::BITS).then_some(PageId(word * u64::BITS + bit))
            })
        })
    }

    /// The first valid page of a block from an offset on. The block must not be a computed one.
    pub fn next_valid(&self, block: BlockId, from: PageId) -> Option<PageId> {
        debug_assert!(!self.blocks[block].computed);
        let words = self.words();
        let first = (from.0 / u64::BITS) as usize;
        let mut mask = u64::MAX << (from.0 % u64::BITS);
        for word in first..words {
            let bits = self.valid_bits[block.index() * words + word] & mask;
            if bits != 0 {
                return Some(PageId(word as u32 * u64::BITS + bits.trailing_zeros()));
            }
            mask = u64::MAX;
        }
        None
    }

    /// The number of pages of a block that have a record.
    fn written(&self, block: BlockId) -> u32 {
        let record = &self.blocks[block];
        match self.states[block] {
            _ if record.frame == Frame::NONE => 0,
            BlockState::Free => 0,
            BlockState::Open => self.frontiers[self.place_of(record.tenant, record.frontier)].next,
            _ if self.is_slc(record.frontier) => self.slc.pages,
            BlockState::Full | BlockState::Cached | BlockState::Collecting => self.pages_per_block,
        }
    }

    /// Gives out the next pages of a frontier, as many as its block has room for and `wanted` at
    /// most. The frontier must have room.
    #[inline]
    fn give_out(&mut self, tenant: TenantId, frontier: FrontierId, wanted: u32) -> Run {
        let at = self.place_of(tenant, frontier);
        let frontier = &mut self.frontiers[at];
        let (block, first) = (frontier.block, frontier.next);
        let count = wanted.min(frontier.end - first);
        frontier.next += count;
        let filled = frontier.next == frontier.end;
        let record = &mut self.blocks[block];
        if record.frame == Frame::NONE {
            record.frame = self.records.take();
        }
        self.valid += u64::from(count);
        if filled {
            frontier.block = NO_BLOCK;
            record.filled_at = self.fills;
            self.fills += 1;
            let is_slc = frontier.end < self.pages_per_block;
            self.states[block] = if is_slc { BlockState::Cached } else { BlockState::Full };
        }
        let first = Spot { block, page: PageId(first) };
        Run { first, count, filled }
    }

    /// Writes the next page of a frontier. The frontier must have room. The page's program runs
    /// until [`Plane::programmed`].
    #[inline]
    pub fn append(
        &mut self,
        tenant: TenantId,
        frontier: FrontierId,
        owner: Owner,
        sectors: SectorMask,
    ) -> Slot {
        let Run { first: at, filled, .. } = self.give_out(tenant, frontier, 1);
        let record = &mut self.blocks[at.block];
        record.programs += 1;
        self.records.set(self.records.at(record.frame, at.page), owner, sectors);
        self.set_valid(at);
        Slot { at, filled }
    }

    /// Writes the next pages of a frontier, as many as its block has room for, with programs that
    /// have ended. The frontier must have room. `sectors` are those of each page, or nothing if
    /// all pages are whole.
    pub fn append_programmed(
        &mut self,
        tenant: TenantId,
        frontier: FrontierId,
        owners: &[Owner],
        sectors: &[SectorMask],
    ) -> Run {
        let run = self.give_out(tenant, frontier, owners.len() as u32);
        let Spot { block, page: PageId(first) } = run.first;
        let at = self.records.at(self.blocks[block].frame, run.first.page);
        for (nth, &owner) in owners[..run.count as usize].iter().enumerate() {
            let sectors = sectors.get(nth).copied().unwrap_or(self.records.whole());
            self.records.set(at + nth, owner, sectors);
            self.records.set_programmed(at + nth);
            self.set_valid(Spot { block, page: PageId(first + nth as u32) });
        }
        run
    }

    /// Marks a page as invalid: its logical page was rewritten, moved or trimmed.
    #[inline]
    pub fn invalidate(&mut self, at: Spot) {
        let (word, bit) = self.valid_bit(at);
        debug_assert!(self.valid_bits[word] & bit != 0);
        self.valid_bits[word] &= !bit;
        self.invalid[at.block] += 1;
        self.valid -= 1;
    }

    /// Marks all pages of a victim as invalid: `moved` of them were valid, and have been moved. A
    /// computed block is an ordinary one from now on.
    pub fn vacate(&mut self, block: BlockId, moved: u32) {
        self.clear_valid(block);
        self.blocks[block].computed = false;
        self.valid -= u64::from(moved);
    }

    /// Reports that the program of a page has ended.
    #[inline]
    pub fn programmed(&mut self, at: Spot) {
        let block = &mut self.blocks[at.block];
        block.programs -= 1;
        self.records.set_programmed(self.records.at(block.frame, at.page));
    }

    /// Reports that the program of a move has ended, and names the owner of the page.
    #[inline]
    pub fn commit(&mut self, at: Spot, owner: Owner) {
        let block = &mut self.blocks[at.block];
        block.programs -= 1;
        let at = self.records.at(block.frame, at.page);
        self.records.set_owner(at, owner);
        self.records.set_programmed(at);
    }

    /// Prefetches the cache lines that overwriting a page touches.
    #[inline]
    pub fn prefetch_page(&self, at: Spot) {
        // A plane that sleeps has no records yet.
        if let Some(invalid) = self.invalid.get(at.block) {
            prefetch(invalid);
            prefetch(&self.valid_bits[self.valid_bit(at).0]);
            self.records.prefetch_sectors(self.blocks[at.block].frame, at.page);
        }
    }

    /// The written sectors of a valid page. Pages that the drive held at the start are whole.
    #[inline]
    pub fn sectors(&self, at: Spot) -> SectorMask {
        let record = &self.blocks[at.block];
        if record.computed || self.records.are_whole() {
            return self.records.whole();
        }
        self.records.sectors(self.records.at(record.frame, at.page))
    }

    /// Whether every page of the plane that was written was written whole.
    pub fn are_whole(&self) -> bool {
        self.records.are_whole()
    }

    /// Whether the program of a page has ended.
    pub fn is_programmed(&self, at: Spot) -> bool {
        let record = &self.blocks[at.block];
        record.computed
            || at.page.0 < self.written(at.block)
                && self.records.is_programmed(self.records.at(record.frame, at.page))
    }

    /// The entry of the page table, or the translation page, that is stored in a page; `None` if
    /// the page is invalid. The block must not be a computed one.
    #[inline]
    pub fn owner(&self, at: Spot) -> Option<Owner> {
        debug_assert!(!self.blocks[at.block].computed);
        let frame = self.blocks[at.block].frame;
        self.is_valid(at).then(|| self.records.owner(self.records.at(frame, at.page)))
    }

    /// Returns an erased block to the pool. With `level`, the pool is ordered by wear; without, the
    /// block erased first is used first.
    pub fn recycle(&mut self, block: BlockId, level: bool) {
        debug_assert_eq!(self.states[block], BlockState::Collecting);
        let record = &mut self.blocks[block];
        debug_assert_eq!(record.programs, 0);
        let frame = std::mem::replace(&mut record.frame, Frame::NONE);
        if frame != Frame::NONE {
            self.records.give(frame);
        }
        record.erases += 1;
        self.wear = self.wear.with(record.erases);
        let wear = if level { record.erases } else { 0 };
        debug_assert_eq!(self.valid_pages(block).count(), 0);
        if self.is_slc(self.blocks[block].frontier) {
            self.slc.erase();
        }
        self.invalid[block] = 0;
        self.states[block] = BlockState::Free;
        self.recycled.push(Reverse((wear, self.recycled_seq, block)));
        self.recycled_seq += 1;
        self.collecting -= 1;
        self.erases += 1;
    }

    /// Marks a block as a victim.
    pub fn start_collecting(&mut self, block: BlockId) {
        debug_assert!(matches!(self.states[block], BlockState::Full | BlockState::Cached));
        if self.is_in_slc_mode(block) {
            self.slc.fold();
        }
        self.states[block] = BlockState::Collecting;
        self.collecting += 1;
    }

    /// Blocks that were never opened.
    pub fn fresh_blocks(&self) -> u32 {
        self.blocks_total - self.fresh
    }
}
