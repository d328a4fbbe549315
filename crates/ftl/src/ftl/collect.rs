//! Garbage collection and wear levelling, step by step: choose a victim, move its valid pages,
//! erase it.
//!
//! A move takes effect when its program has ended ([`Ftl::commit_move`]). If the host has rewritten
//! or trimmed the page meanwhile, the move is dropped. So nobody ever waits for a page that is
//! being moved.

use super::{Ftl, Placed};
use crate::block::{BlockState, FrontierId, Pick, Plane};
use crate::layout::{Phys, Spot};
use crate::number::{LogicalPage, Owner};
use crate::placement::EXCHANGE_GAP;
use ssdtune_model::{BlockAddr, BlockId, PageId, PlaneId, TenantId};

impl Ftl {
    /// The block that a plane should collect now to win free space; `None` if it need not or
    /// cannot. The caller moves the pages of [`Ftl::victim_pages`], then erases the block.
    pub fn next_victim(&mut self, plane: PlaneId) -> Option<BlockAddr> {
        self.choose_victim(plane).map(|block| self.with_records(block))
    }

    /// As [`Ftl::next_victim`], but the block may be a computed one.
    pub(crate) fn choose_victim(&mut self, plane: PlaneId) -> Option<BlockAddr> {
        let record = &mut self.planes[plane];
        if record.free_blocks() >= self.config.threshold
            || record.collecting >= self.config.concurrent
        {
            return None;
        }
        let block = match self.pressed_fold(plane) {
            Some(block) => block,
            None => {
                let (record, placer) = (&self.planes[plane], &self.placer);
                let soon = |block| {
                    placer.dies_soon(BlockAddr { plane, block }, record.blocks[block].frontier)
                };
                let block = self.rules.choose(record, &mut self.rng, soon)?;
                let valid = self.geometry.pages_per_block - record.invalid[block];
                self.placer.will_move(valid, record.blocks[block].frontier);
                block
            }
        };
        self.planes[plane].start_collecting(block);
        self.counters.collections += 1;
        Some(BlockAddr { plane, block })
    }

    /// The block that a plane should collect now to level wear; `None` if there is none. Static
    /// wear levelling takes the least erased full block if it is far behind. A placement policy may
    /// ask for other blocks.
    pub fn next_wear_victim(&mut self, plane: PlaneId) -> Option<BlockAddr> {
        self.choose_wear_victim(plane).map(|block| self.with_records(block))
    }

    /// As [`Ftl::next_wear_victim`], but the block may be a computed one.
    pub(crate) fn choose_wear_victim(&mut self, plane: PlaneId) -> Option<BlockAddr> {
        let record = &self.planes[plane];
        if record.collecting > 0 || record.free_blocks() <= self.config.reserve {
            return None;
        }
        let block = self.drifted(plane).or_else(|| self.exchanged(plane))?;
        self.planes[plane].start_collecting(block);
        self.counters.wear_collections += 1;
        Some(BlockAddr { plane, block })
    }

    /// The least erased full block, if it lags behind the most erased one by the configured gap.
    fn drifted(&mut self, plane: PlaneId) -> Option<BlockId> {
        let gap = self.config.static_wear?;
        let record = &mut self.planes[plane];
        // Most often no block is that far behind, and that is known without a look at them.
        let most = record.most_erased_if_apart(gap)?;
        let cold = |&block: &BlockId| {
            record.states[block] == BlockState::Full && record.blocks[block].programs == 0
        };
        let block = (record.blocks.names())
            .filter(cold)
            .min_by_key(|&block| (record.blocks[block].erases, record.blocks[block].filled_at))?;
        (most - record.blocks[block].erases >= gap).then_some(block)
    }

    /// The block whose data a placement policy wants moved: the least erased one that holds cold
    /// data, or the most erased one that holds hot data.
    fn exchanged(&mut self, plane: PlaneId) -> Option<BlockId> {
        let (frontier, pick) = self.placer.exchange(plane)?;
        let record = &self.planes[plane];
        let erases = |&block: &BlockId| record.blocks[block].erases;
        let all = record.blocks.iter().map(|block| block.erases);
        let own = record.blocks.names().filter(|&block| {
            let at = &record.blocks[block];
            let is_full = record.states[block] == BlockState::Full;
            is_full && at.programs == 0 && at.frontier == frontier
        });
        let (block, gap) = if pick == Pick::Least {
            let block = own.min_by_key(erases)?;
            (block, all.max()? - erases(&block))
        } else {
            let block = own.max_by_key(erases)?;
            (block, erases(&block) - all.min()?)
        };
        (gap >= EXCHANGE_GAP).then_some(block)
    }

    /// Makes the page records of a victim, if it has none: its pages are looked at one by one.
    fn with_records(&mut self, at: BlockAddr) -> BlockAddr {
        if self.planes[at.plane].blocks[at.block].computed {
            self.materialise_block(at);
        }
        at
    }

    /// Whether collection in a plane has priority over host requests.
    pub fn is_urgent(&self, plane: PlaneId) -> bool {
        self.planes[plane].free_blocks() < self.config.hard_threshold
    }

    /// The valid pages of a victim in the order of their offsets.
    pub fn victim_pages(&self, victim: BlockAddr) -> impl Iterator<Item = Phys> + '_ {
        let BlockAddr { plane, block } = victim;
        let pages = self.planes[plane].valid_pages(block);
        pages.map(move |page| self.layout.pack(victim, page))
    }

    /// The first valid page of a victim from an offset on.
    pub fn next_victim_page(&self, victim: BlockAddr, from: PageId) -> Option<PageId> {
        self.planes[victim.plane].next_valid(victim.block, from)
    }

    /// The valid pages of a victim, and how many pages it has when it has been erased.
    pub fn victim_size(&self, victim: BlockAddr) -> (u32, u32) {
        let (plane, pages) = (&self.planes[victim.plane], self.geometry.pages_per_block);
        (plane.capacity(victim.block) - plane.invalid[victim.block], pages)
    }

    /// How much faster than the writes of the host demand it a plane should be collected: 1 when it
    /// has just as many free blocks as start collection, more the nearer they are to the reserve.
    pub fn haste(&self, plane: PlaneId) -> f64 {
        let above = |blocks: u32| f64::from(blocks.saturating_sub(self.config.reserve) + 1);
        above(self.config.threshold) / above(self.planes[plane].free_blocks())
    }

    /// How often a block has been erased.
    pub fn block_erases(&self, block: BlockAddr) -> u32 {
        self.planes[block.plane].blocks[block.block].erases
    }

    /// The tenant whose data a block holds. No block holds data of two tenants.
    pub fn block_tenant(&self, block: BlockAddr) -> TenantId {
        self.planes[block.plane].blocks[block.block].tenant
    }

    /// The page-table entry whose data a physical page holds; `None` for translation pages and
    /// invalid pages.
    pub(crate) fn data_owner(&self, at: Phys) -> Option<LogicalPage> {
        let place = self.layout.block(at);
        if self.block_frontier(place) == FrontierId::TRANSLATION {
            return None;
        }
        let (plane, spot) = self.layout.spot(at);
        self.planes[plane].owner(spot).map(Owner::page)
    }

    /// Whether [`Ftl::place_move`] must wait for an erased block of its plane. That happens only
    /// with `compat.eager_frontiers` and blocks of few pages: MQSim collects ten victims of a plane
    /// at a time, and all their pages may need places before the first of them is erased.
    pub fn must_hold_move(&self, from: Phys) -> bool {
        let at = self.layout.block(from);
        let record = &self.planes[at.plane];
        record.free_blocks() == 0
            && self.move_target(from).is_some_and(|(_, tenant, to)| !record.has_room(tenant, to))
    }

    /// The owner of a page of a victim, its tenant, and the frontier it moves to; `None` if the
    /// page is invalid.
    fn move_target(&self, from: Phys) -> Option<(Owner, TenantId, FrontierId)> {
        let (plane, at) = self.layout.spot(from);
        let record = &self.planes[plane];
        let block = &record.blocks[at.block];
        let owner = record.owner(at)?;
        let to = match block.frontier {
            FrontierId::TRANSLATION => FrontierId::TRANSLATION,
            data => self.moved_frontier((plane, block.tenant), owner.page(), data),
        };
        Some((owner, block.tenant, to))
    }

    /// Gives a page that was just read from a victim a new place in the same plane; `None` if the
    /// page has become invalid and need not be moved. [`Ftl::must_hold_move`] has said that the
    /// move need not wait.
    ///
    /// # Panics
    /// The plane has no room.
    pub fn place_move(&mut self, from: Phys) -> Option<Placed> {
        let Some((owner, tenant, to)) = self.move_target(from) else {
            self.counters.moves_dropped += 1;
            return None;
        };
        if to != FrontierId::TRANSLATION {
            // [`Ftl::commit_move`] will need the entry when the program has ended.
            self.table.prefetch_entry(owner.page());
            self.prefetch_next(from);
        }
        let (plane, at) = self.layout.spot(from);
        let sectors = self.planes[plane].sectors(at);
        let from = self.planes[plane].blocks[at.block].frontier;
        self.count_moves(from, 1);
        Some(self.append(tenant, to, plane, Owner::IN_FLIGHT, sectors))
    }

    /// Prefetches the page table's directory for the next valid page of a block: a victim's pages
    /// are moved in order, so that page is the next.
    #[inline]
    fn prefetch_next(&self, moved: Phys) {
        let (plane, at) = self.layout.spot(moved);
        let plane = &self.planes[plane];
        let next = plane.next_valid(at.block, PageId(at.page.0 + 1));
        if let Some(owner) = next.and_then(|page| plane.owner(Spot { page, ..at })) {
            self.table.prefetch_directory(owner.page());
        }
    }

    /// Reports that the program of a moved page has ended. The logical page lies at `to` from now
    /// on, unless the host has rewritten or trimmed it meanwhile.
    pub fn commit_move(&mut self, from: Phys, to: Phys) {
        let ((plane, source), (_, target)) = (self.layout.spot(from), self.layout.spot(to));
        let plane = &mut self.planes[plane];
        let frontier = plane.blocks[source.block].frontier;
        let tenant = plane.blocks[source.block].tenant;
        let Some(owner) = plane.owner(source) else {
            plane.programmed(target);
            plane.invalidate(target);
            self.counters.moves_dropped += 1;
            return;
        };
        plane.invalidate(source);
        plane.commit(target, owner);
        if frontier == FrontierId::TRANSLATION {
            if !self.caches.is_empty() {
                self.translation.set_phys(owner.translation_page(), to);
            }
        } else {
            self.prefetch_next(from);
            let entry = self.table.entry(owner.page());
            self.table.move_to(entry, to);
            self.placer.moved(owner.page(), frontier);
            self.dirty_mapping(tenant, owner.page(), entry);
        }
    }

    /// Reports that a victim has been erased. Its block is free again.
    pub fn erase_done(&mut self, block: BlockAddr) {
        self.placer.collected(block, self.block_frontier(block));
        let BlockAddr { plane, block } = block;
        let plane = &mut self.planes[plane];
        plane.recycle(block, self.config.dynamic_wear);
        if self.config.eager_frontiers {
            plane.open_missing_frontier();
        }
    }

    /// Pages that were written by moves which have not been committed.
    pub(crate) fn moves_in_flight(&self) -> u64 {
        self.planes.iter().map(Plane::moves_in_flight).sum()
    }
}
