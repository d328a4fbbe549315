//! How a plane is stored: 16 B for each written page, its owner and its sectors, block by block.
//! That form is older than the one in memory, and snapshots have it.

use super::records::Records;
use super::{
    Block, BlockState, Frontier, FrontierId, NO_FRAME, Owner, Plane, SectorMask, WearBounds,
};
use crate::layout::Spot;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssdtune_model::{BlockId, PageId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The bit of a stored owner that says that the page's program has ended.
const PROGRAMMED: u64 = 1 << 63;
/// The stored owner of a page that was overwritten or trimmed. [`PROGRAMMED`] keeps its meaning.
const INVALID: u64 = !PROGRAMMED;

#[derive(Serialize, Deserialize)]
struct StoredPage {
    owner: u64,
    sectors: SectorMask,
}

#[derive(Serialize, Deserialize)]
struct StoredBlock {
    pages: Vec<StoredPage>,
    erases: u32,
    programs: u32,
    tenant: u16,
    frontier: FrontierId,
    computed: bool,
    filled_at: u64,
}

/// The order of the fields is the format.
#[derive(Serialize, Deserialize)]
struct StoredPlane {
    blocks: Vec<StoredBlock>,
    states: Vec<BlockState>,
    invalid: Vec<u32>,
    blocks_total: u32,
    pages_per_block: u32,
    asleep: bool,
    worn: u32,
    /// One bit for each page of the blocks that held data at the start: it was overwritten since.
    overwritten: Vec<u64>,
    fresh: u32,
    recycled: BinaryHeap<Reverse<(u32, u64, u32)>>,
    recycled_seq: u64,
    frontiers: Vec<Frontier>,
    frontiers_per_tenant: usize,
    fills: u64,
    collecting: u32,
    valid: u64,
    erases: u64,
    /// As many empty lists as there were frames of records without a block.
    spare: Vec<Vec<StoredPage>>,
}

impl Plane {
    fn stored_block(&self, id: BlockId) -> StoredBlock {
        let block = &self.blocks[id.index()];
        let page = |page| {
            let owner = self.owner(Spot { block: id, page }).map_or(INVALID, |owner| owner.0);
            let at = self.records.at(block.frame, page);
            let programmed = if self.records.is_programmed(at) { PROGRAMMED } else { 0 };
            StoredPage { owner: owner | programmed, sectors: self.records.sectors(at) }
        };
        StoredBlock {
            pages: (0..self.written(id)).map(PageId).map(page).collect(),
            erases: block.erases,
            programs: block.programs,
            tenant: block.tenant,
            frontier: block.frontier,
            computed: block.computed,
            filled_at: block.filled_at,
        }
    }
}

impl Serialize for Plane {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let computed = self.blocks.iter().any(|block| block.computed);
        let overwritten = self.valid_bits.iter().filter(|_| computed).map(|valid| !valid);
        let blocks = (0..self.blocks.len() as u32).map(BlockId);
        StoredPlane {
            blocks: blocks.map(|block| self.stored_block(block)).collect(),
            states: self.states.clone(),
            invalid: self.invalid.clone(),
            blocks_total: self.blocks_total,
            pages_per_block: self.pages_per_block,
            asleep: self.asleep,
            worn: self.worn,
            overwritten: overwritten.collect(),
            fresh: self.fresh,
            recycled: self.recycled.clone(),
            recycled_seq: self.recycled_seq,
            frontiers: self.frontiers.clone(),
            frontiers_per_tenant: self.frontiers_per_tenant,
            fills: self.fills,
            collecting: self.collecting,
            valid: self.valid,
            erases: self.erases,
            spare: (0..self.records.spare()).map(|_| Vec::new()).collect(),
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Plane {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = StoredPlane::deserialize(from)?;
        let words = stored.pages_per_block.div_ceil(u64::BITS) as usize;
        let mut plane = Self {
            blocks: Vec::with_capacity(stored.blocks.len()),
            states: stored.states,
            invalid: stored.invalid,
            valid_bits: vec![0; stored.blocks.len() * words],
            // Sectors of a whole page: see `Plane::set_whole`.
            records: Records::new(stored.pages_per_block, SectorMask::MAX),
            blocks_total: stored.blocks_total,
            pages_per_block: stored.pages_per_block,
            asleep: stored.asleep,
            worn: stored.worn,
            fresh: stored.fresh,
            recycled: stored.recycled,
            recycled_seq: stored.recycled_seq,
            frontiers: stored.frontiers,
            frontiers_per_tenant: stored.frontiers_per_tenant,
            fills: stored.fills,
            collecting: stored.collecting,
            valid: stored.valid,
            erases: stored.erases,
            wear: WearBounds::NONE,
        };
        for (index, block) in stored.blocks.into_iter().enumerate() {
            plane.blocks.push(Block {
                frame: if block.pages.is_empty() { NO_FRAME } else { plane.records.take() },
                erases: block.erases,
                programs: block.programs,
                tenant: block.tenant,
                frontier: block.frontier,
                computed: block.computed,
                filled_at: block.filled_at,
            });
            if block.computed {
                for word in 0..words {
                    let at = index * words + word;
                    plane.valid_bits[at] = !stored.overwritten.get(at).copied().unwrap_or(0);
                }
            }
            for (page, stored) in block.pages.into_iter().enumerate() {
                let (id, page) = (BlockId(index as u32), PageId(page as u32));
                let at = plane.records.at(plane.blocks[index].frame, page);
                let owner = stored.owner & !PROGRAMMED;
                let is_valid = owner != INVALID;
                let known = Owner(if is_valid { owner } else { 0 });
                plane.records.set(at, known, stored.sectors);
                if is_valid {
                    plane.set_valid(Spot { block: id, page });
                }
                if stored.owner & PROGRAMMED != 0 {
                    plane.records.set_programmed(at);
                }
            }
        }
        plane.wear = WearBounds::of(&plane.blocks);
        let spare: Vec<_> = stored.spare.iter().map(|_| plane.records.take()).collect();
        spare.into_iter().for_each(|frame| plane.records.give(frame));
        Ok(plane)
    }
}
