//! Blocks that hold the data of a drive's start. Their content is computed, not stored: until such
//! a block becomes a victim or is written on it has no page records, and its valid bits say only
//! which of its pages were not overwritten since.

use super::{Block, BlockState, Frame, Frontier, FrontierId, Owner, Plane, WearBounds};
use crate::layout::Spot;
use ssdtune_model::{BlockId, PageId, TenantId};

/// What is known of a plane's initial content before anything in it is looked at.
pub(crate) struct PlaneSummary {
    /// Blocks that are not free. They have the lowest numbers.
    pub opened: u32,
    /// How many blocks have become full before the start, those collected since included.
    pub fills: u64,
    /// Valid pages of the initial content.
    pub valid: u64,
    /// How often each block was erased.
    pub erases: u32,
}

impl Plane {
    /// Blocks that were opened so far.
    pub fn opened_blocks(&self) -> u32 {
        self.fresh
    }

    /// Makes a partly written block a frontier. `next` is the number of pages it holds.
    pub fn set_frontier(
        &mut self,
        tenant: TenantId,
        frontier: FrontierId,
        block: BlockId,
        next: u32,
    ) {
        let at = self.place_of(tenant, frontier);
        self.frontiers[at] = Frontier { block, next, end: self.pages_per_block };
    }

    /// The block that a frontier fills, if it is a computed one: it needs page records before it is
    /// written on.
    #[inline]
    pub fn computed_frontier(&self, tenant: TenantId, frontier: FrontierId) -> Option<BlockId> {
        let Frontier { block, .. } = self.frontiers[self.place_of(tenant, frontier)];
        self.blocks[block].computed.then_some(block)
    }

    /// The blocks that frontiers fill and that are computed ones; none while the plane sleeps.
    pub fn computed_frontiers(&self) -> Vec<BlockId> {
        let blocks = self.frontiers.iter().map(|frontier| frontier.block);
        blocks.filter(|&block| self.blocks.get(block).is_some_and(|own| own.computed)).collect()
    }

    /// Takes over an initial content without making block records.
    pub fn sleep(&mut self, summary: PlaneSummary) {
        self.fresh = summary.opened;
        self.fills += summary.fills;
        self.valid += summary.valid;
        self.worn = summary.erases;
        self.asleep = true;
    }

    /// Makes the block records of the initial content. [`Plane::set_block`] then says what each
    /// block holds.
    pub fn wake(&mut self) {
        self.asleep = false;
        for block in &mut self.blocks {
            block.erases = self.worn;
        }
        let record = Block {
            filled_at: 0,
            frame: Frame::NONE,
            erases: self.worn,
            programs: 0,
            tenant: TenantId(0),
            frontier: FrontierId::DATA,
            computed: true,
        };
        let opened = self.fresh as usize;
        self.blocks.resize(opened, record);
        self.states.resize(opened, BlockState::Open);
        self.invalid.resize(opened, 0);
        self.wear = WearBounds::of(&self.blocks);
        self.valid_bits.resize(opened * self.words(), u64::MAX);
    }

    /// Says whose data a block holds. A full block also gets its number of invalid pages and the
    /// time at which it became full.
    pub fn set_block(
        &mut self,
        block: BlockId,
        tenant: TenantId,
        frontier: FrontierId,
        full: Option<(u32, u64)>,
    ) {
        self.blocks[block].tenant = tenant;
        self.blocks[block].frontier = frontier;
        if let Some((invalid, filled_at)) = full {
            self.states[block] = BlockState::Full;
            self.invalid[block] = invalid;
            self.blocks[block].filled_at = filled_at;
        }
    }

    /// Drops from the owners that a computed block had at the start, one for each page, those
    /// whose pages were overwritten since.
    pub fn drop_overwritten(&self, block: BlockId, owners: &mut [Option<Owner>]) {
        for (page, owner) in (0..).zip(owners) {
            *owner = owner.filter(|_| self.is_valid(Spot { block, page: PageId(page) }));
        }
    }

    /// Pages that a computed block was written with: all, unless it is open.
    pub(super) fn computed_pages(&self, block: BlockId) -> u32 {
        let open = self.frontiers.iter().find(|frontier| frontier.block == block);
        open.map_or(self.pages_per_block, |frontier| frontier.next)
    }

    /// Makes the page records of a computed block. `owners` are the page-table entries that its
    /// pages belong to.
    pub fn materialise(&mut self, block: BlockId, owners: &[Option<Owner>]) {
        debug_assert!(self.blocks[block].computed);
        let written = self.computed_pages(block);
        let frame = self.records.take();
        self.clear_valid(block);
        for (page, owner) in (0..written).map(PageId).zip(owners) {
            let at = self.records.at(frame, page);
            self.records.set(at, owner.unwrap_or(Owner(0)), self.records.whole());
            self.records.set_programmed(at);
            if owner.is_some() {
                self.set_valid(Spot { block, page });
            }
        }
        self.blocks[block].frame = frame;
        self.blocks[block].computed = false;
    }
}
