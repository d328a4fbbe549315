//! Blocks that were filled before the drive's start and of which only some pages are named: the
//! pages that nobody names count as invalid.

use super::{BlockState, FrontierId, NO_BLOCK, Owner, Pick, Plane, SectorMask};
use crate::layout::Spot;
use ssdtune_model::{BlockId, PageId, TenantId};

impl Plane {
    /// Opens a block for a frontier, of which `next` pages were written. Returns whether there was
    /// a block.
    pub fn open_past(&mut self, tenant: TenantId, frontier: FrontierId, next: u32) -> bool {
        let Some(block) = self.open_frontier(tenant, frontier, Pick::InOrder) else { return false };
        let at = self.place_of(tenant, frontier);
        self.frontiers[at].next = next;
        self.begin_past(block, next);
        true
    }

    /// The block that a frontier fills.
    pub fn open_block(&self, tenant: TenantId, frontier: FrontierId) -> Option<BlockId> {
        let block = self.frontiers[self.place_of(tenant, frontier)].block;
        (block != NO_BLOCK).then_some(block)
    }

    /// Takes a block that was filled through a frontier.
    pub fn fill_past(&mut self, tenant: TenantId, frontier: FrontierId) -> Option<BlockId> {
        let block = self.take_free(Pick::InOrder)?;
        self.states[block] = BlockState::Full;
        let filled_at = self.fills;
        self.fills += 1;
        let record = &mut self.blocks[block];
        (record.tenant, record.frontier, record.filled_at) = (tenant, frontier, filled_at);
        self.begin_past(block, self.pages_per_block);
        Some(block)
    }

    /// Gives a block page records, all of them invalid.
    fn begin_past(&mut self, block: BlockId, written: u32) {
        let frame = self.records.take();
        self.blocks[block].frame = frame;
        self.invalid[block] = written;
        for page in (0..written).map(PageId) {
            self.records.set_programmed(self.records.at(frame, page));
        }
    }

    /// Whether a page of a block is named.
    pub fn holds(&self, block: BlockId, page: PageId) -> bool {
        self.is_valid(Spot { block, page })
    }

    /// Names the owner of a page that was written before the start.
    pub fn set_past(&mut self, block: BlockId, page: PageId, owner: Owner, sectors: SectorMask) {
        let at = self.records.at(self.blocks[block].frame, page);
        self.records.set(at, owner, sectors);
        self.records.set_programmed(at);
        self.set_valid(Spot { block, page });
        self.invalid[block] -= 1;
        self.valid += 1;
    }
}
