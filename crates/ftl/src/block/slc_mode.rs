//! Blocks of a plane in SLC mode: one page where the others have one for each bit of a cell. A
//! block is in this mode from when it is opened for [`FrontierId::SLC`] until it is erased.

use super::{BlockState, FrontierId, Plane};
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockId, TenantId};

/// The blocks of a plane that are in SLC mode, or are kept for it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct InSlcMode {
    /// Pages that such a block takes.
    pub pages: u32,
    /// Blocks that are in this mode.
    pub blocks: u32,
    /// Blocks that are kept for it.
    pub fixed: u32,
    /// How many of the free blocks count as taken: those of `fixed` that are not in SLC mode. A
    /// block that is being folded counts as gone already: the next one has its place, and when it
    /// is erased, the plane has a free block more. So folding gives back the block that its moves
    /// may take, as all collection does.
    pub kept: u32,
}

impl InSlcMode {
    /// A block is opened.
    pub fn open(&mut self) {
        self.blocks += 1;
        self.kept = self.kept.saturating_sub(1);
    }

    /// A block is to be folded. No other one is.
    pub fn fold(&mut self) {
        self.kept += u32::from(self.blocks <= self.fixed);
    }

    /// The block that was folded is erased.
    pub fn erase(&mut self) {
        self.blocks -= 1;
    }
}

impl Plane {
    /// Lets blocks of `pages` pages be written in SLC mode, and keeps some blocks for that.
    pub fn allow_slc_mode(&mut self, pages: u32, fixed: u32) {
        debug_assert!(pages < self.pages_per_block);
        self.slc = InSlcMode { pages, blocks: 0, fixed, kept: fixed };
    }

    /// Whether the blocks of a frontier are in SLC mode.
    #[inline]
    pub(super) fn is_slc(&self, frontier: FrontierId) -> bool {
        // A placement policy has another frontier of this number.
        self.slc.pages > 0 && frontier == FrontierId::SLC
    }

    /// Whether a block that holds something is in SLC mode.
    #[inline]
    pub fn is_in_slc_mode(&self, block: BlockId) -> bool {
        self.slc.blocks > 0 && self.is_slc(self.blocks[block].frontier)
    }

    /// Blocks in SLC mode.
    pub fn slc_blocks(&self) -> u32 {
        self.slc.blocks
    }

    /// Pages that a block takes.
    pub fn capacity(&self, block: BlockId) -> u32 {
        if self.is_in_slc_mode(block) { self.slc.pages } else { self.pages_per_block }
    }

    /// Whether the host's next page in SLC mode finds room: in an open block, in a block that is
    /// kept for that, or in a free block while more than `above` are free. The last `reserve`
    /// erased blocks are for pages that move.
    pub fn admits_slc(&self, tenant: TenantId, above: u32, reserve: u32) -> bool {
        self.has_room(tenant, FrontierId::SLC)
            || self.slc.kept > 0 && self.erased_blocks() > reserve
            || self.free_blocks() > above
    }

    /// Whether blocks are in SLC mode that are not kept for it.
    pub fn has_borrowed(&self) -> bool {
        self.slc.blocks > self.slc.fixed
    }

    /// The block in SLC mode that became full first, of those without a program under way.
    pub fn oldest_cached(&self) -> Option<BlockId> {
        if self.slc.blocks == 0 {
            return None;
        }
        let states = self.states.named().filter(|(_, state)| **state == BlockState::Cached);
        states
            .map(|(block, _)| block)
            .filter(|&block| self.blocks[block].programs == 0)
            .min_by_key(|&block| self.blocks[block].filled_at)
    }

    /// Asserts that blocks in SLC mode are counted right. Walks every record.
    pub(super) fn check_slc_mode(&self) {
        let used = self.blocks.iter().zip(&self.states);
        let in_mode: Vec<BlockState> = used
            .filter(|(block, state)| **state != BlockState::Free && self.is_slc(block.frontier))
            .map(|(_, state)| *state)
            .collect();
        let staying = in_mode.iter().filter(|state| **state != BlockState::Collecting);
        assert_eq!(self.slc.kept, self.slc.fixed.saturating_sub(staying.count() as u32));
        assert_eq!(in_mode.len() as u32, self.slc.blocks);
    }
}
