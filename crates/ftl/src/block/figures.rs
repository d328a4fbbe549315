//! Figures about a plane, and a check of its invariants.

use super::{Block, BlockState, Frontier, NO_BLOCK, Owner, Plane};

impl Plane {
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
        (self.records.memory_bytes()
            + self.valid_bits.capacity() * 8
            + self.blocks.capacity() * (size_of::<Block>() + size_of::<BlockState>() + 4)
            + self.frontiers.len() * size_of::<Frontier>()) as u64
    }

    /// Pages that were written by moves which have not been committed. Walks every record.
    pub fn moves_in_flight(&self) -> u64 {
        let stored = self.blocks.named().filter(|(_, block)| !block.computed);
        let moves = stored.map(|(index, block)| {
            let owner = |page| self.records.owner(self.records.at(block.frame, page));
            self.valid_pages(index).filter(|&page| owner(page) == Owner::IN_FLIGHT).count() as u64
        });
        moves.sum()
    }

    /// Asserts that free, open, full and collecting blocks are all blocks, and that valid pages are
    /// counted right. Walks every record.
    pub fn check(&self) {
        if self.asleep {
            return;
        }
        let count = |state| self.states.iter().filter(|s| **s == state).count() as u32;
        let free = count(BlockState::Free) + self.fresh_blocks();
        assert_eq!(free, self.erased_blocks());
        self.check_slc_mode();
        assert_eq!(count(BlockState::Collecting), self.collecting);
        let open = self.frontiers.iter().filter(|f| f.block != NO_BLOCK).count() as u32;
        assert_eq!(count(BlockState::Open), open);
        let full = count(BlockState::Full) + count(BlockState::Cached);
        let all = free + open + full + self.collecting;
        assert_eq!(all, self.blocks_total);
        let mut valid = 0;
        for ((index, block), &invalid) in self.blocks.named().zip(&self.invalid) {
            if block.computed {
                valid += u64::from(self.computed_pages(index) - invalid);
                continue;
            }
            let live = self.valid_pages(index).count() as u32;
            assert_eq!(self.written(index) - live, invalid);
            valid += u64::from(live);
        }
        assert_eq!(valid, self.valid);
    }
}
