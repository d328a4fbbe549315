//! Blocks that hold the data of a drive's start. Their content is computed, not stored: until such
//! a block becomes a victim it has no page records, only one bit for each page that says whether it
//! was overwritten.

use super::INVALID;
use super::{Block, BlockState, Frontier, FrontierId, PROGRAMMED, PageRecord, Plane, SectorMask};

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
    pub fn set_frontier(&mut self, tenant: usize, frontier: FrontierId, block: u32, next: u32) {
        self.frontiers[tenant * self.frontiers_per_tenant + frontier.index()] =
            Frontier { block, next };
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
            pages: Vec::new(),
            erases: self.worn,
            programs: 0,
            tenant: 0,
            frontier: FrontierId::DATA,
            computed: true,
            filled_at: 0,
        };
        let opened = self.fresh as usize;
        self.blocks.resize(opened, record);
        self.states.resize(opened, BlockState::Open);
        self.invalid.resize(opened, 0);
        self.overwritten = vec![0; opened * self.words()];
    }

    /// Words of `overwritten` that one block takes.
    fn words(&self) -> usize {
        self.pages_per_block.div_ceil(u64::BITS) as usize
    }

    /// Says whose data a block holds. A full block also gets its number of invalid pages and the
    /// time at which it became full.
    pub fn set_block(
        &mut self,
        block: u32,
        tenant: usize,
        frontier: FrontierId,
        full: Option<(u32, u64)>,
    ) {
        let index = block as usize;
        self.blocks[index].tenant = tenant as u16;
        self.blocks[index].frontier = frontier;
        if let Some((invalid, filled_at)) = full {
            self.states[index] = BlockState::Full;
            self.invalid[index] = invalid;
            self.blocks[index].filled_at = filled_at;
        }
    }

    /// Notes that a page of the initial content was overwritten.
    pub(super) fn overwrite(&mut self, block: u32, page: u32) {
        let at = block as usize * self.words() + (page / u64::BITS) as usize;
        let bit = 1 << (page % u64::BITS);
        debug_assert_eq!(self.overwritten[at] & bit, 0);
        self.overwritten[at] |= bit;
    }

    pub(super) fn is_overwritten(&self, block: u32, page: u32) -> bool {
        let at = block as usize * self.words() + (page / u64::BITS) as usize;
        self.overwritten[at] >> (page % u64::BITS) & 1 != 0
    }

    /// Makes the page records of a computed block. `owner` names the page-table entry that each
    /// page belonged to at the start.
    pub fn materialise(
        &mut self,
        block: u32,
        sectors: SectorMask,
        owner: impl Fn(u32) -> Option<u64>,
    ) {
        let index = block as usize;
        debug_assert!(self.blocks[index].computed);
        let open = self.frontiers.iter().find(|frontier| frontier.block == block);
        let written = open.map_or(self.pages_per_block, |frontier| frontier.next);
        let mut pages = self.spare.pop().unwrap_or_default();
        pages.reserve_exact(self.pages_per_block as usize);
        pages.extend((0..written).map(|page| {
            let owner = owner(page).filter(|_| !self.is_overwritten(block, page));
            PageRecord { owner: owner.unwrap_or(INVALID) | PROGRAMMED, sectors }
        }));
        self.blocks[index].pages = pages;
        self.blocks[index].computed = false;
    }
}
