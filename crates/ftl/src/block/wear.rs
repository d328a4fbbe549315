//! How far apart the erase counts of a plane's blocks are.

use super::{Block, Plane};
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockId, Table};

/// Erase counts between which those of all blocks with records lie. Counts only grow, so the lower
/// bound stays one when blocks are erased; it is made exact when it matters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct WearBounds {
    pub least: u32,
    pub most: u32,
}

impl WearBounds {
    /// The bounds of no block.
    pub const NONE: Self = Self { least: u32::MAX, most: 0 };

    pub fn of(blocks: &Table<BlockId, Block>) -> Self {
        blocks.iter().fold(Self::NONE, |bounds, block| bounds.with(block.erases))
    }

    pub fn with(self, erases: u32) -> Self {
        Self { least: self.least.min(erases), most: self.most.max(erases) }
    }
}

impl Plane {
    /// The erase count of the most erased block, if some block lags behind it by `gap` or more.
    pub fn most_erased_if_apart(&mut self, gap: u32) -> Option<u32> {
        let apart = |wear: WearBounds| wear.most.saturating_sub(wear.least) >= gap;
        if !apart(self.wear) {
            return None;
        }
        self.wear = WearBounds::of(&self.blocks);
        apart(self.wear).then_some(self.wear.most)
    }
}
