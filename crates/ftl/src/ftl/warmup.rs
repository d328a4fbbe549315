//! Ageing a drive without time. Every write is placed and programmed at once, and room is made for
//! it at once where it must be, by the rules that hold in a run.
//!
//! Use it to bring a drive into the state that an earlier part of a workload would have left.
//! Effects of time are left out: two things never happen at once, so no move is dropped because the
//! host was faster, and placement by load leaves every page at its static place. An SLC cache takes
//! no writes: what it would have taken has been folded. Cost: one page-table access and one page
//! record for each write, and the same for each page that collection moves.

use super::{Ftl, FtlCounters, MappingAccess, NoLoad, Placed, SlcCounters, WriteBack};
use crate::block::{FrontierId, SectorMask};
use crate::error::FtlError;
use crate::layout::{Phys, Spot};
use crate::number::{Owner, Token};
use crate::page_table::EntryRef;
use ssdtune_model::{BlockAddr, Lpn, PlaneId, TenantId};

/// Performs accesses without time, one after the other. Made by [`Ftl::warm_up`].
pub struct Warmup<'a> {
    ftl: &'a mut Ftl,
    /// Receives the tokens of waiting accesses. Stays empty, since nobody waits.
    tokens: Vec<Token>,
}

impl Ftl {
    /// Starts ageing the drive. No flash operation may be under way in it.
    pub fn warm_up(&mut self) -> Warmup<'_> {
        Warmup { ftl: self, tokens: Vec::new() }
    }

    /// Sets all counters to zero, so that they count the run that follows and not the ageing before
    /// it.
    pub fn reset_counters(&mut self) {
        self.counters = FtlCounters::default();
        if let Some(slc) = &mut self.slc {
            slc.counters = SlcCounters::default();
        }
    }
}

impl Warmup<'_> {
    /// Writes some sectors of a logical page.
    ///
    /// # Errors
    /// [`FtlError::OutOfSpace`] if the page's plane is full and no block in it can be collected.
    pub fn write(
        &mut self,
        tenant: TenantId,
        lpn: Lpn,
        sectors: SectorMask,
    ) -> Result<(), FtlError> {
        let at = self.ftl.entry(tenant, lpn);
        self.access_mapping(tenant, lpn, at, true);
        let plane = self.ftl.plane_for_write(tenant, lpn, &NoLoad);
        while self.ftl.must_hold_direct(tenant, lpn, plane) {
            if !self.collect_one(plane) {
                return Err(FtlError::OutOfSpace { plane });
            }
        }
        let frontier = self.ftl.direct_frontier(tenant, lpn);
        let plan = self.ftl.place_on(tenant, lpn, at, (plane, frontier), sectors);
        self.ftl.program_done(plan.placed.phys);
        self.after(plan.placed);
        Ok(())
    }

    /// Writes all sectors of a logical page.
    ///
    /// # Errors
    /// [`FtlError::OutOfSpace`] if the page's plane is full and no block in it can be collected.
    pub fn write_whole(&mut self, tenant: TenantId, lpn: Lpn) -> Result<(), FtlError> {
        let sectors = self.ftl.config.full_mask;
        self.write(tenant, lpn, sectors)
    }

    /// Reads a logical page. This changes nothing but the content of the mapping cache.
    pub fn read(&mut self, tenant: TenantId, lpn: Lpn) {
        if !self.ftl.is_ideal() {
            let at = self.ftl.entry(tenant, lpn);
            self.access_mapping(tenant, lpn, at, false);
        }
    }

    /// Discards the content of a logical page.
    pub fn trim(&mut self, tenant: TenantId, lpn: Lpn) {
        self.ftl.trim(tenant, lpn);
    }

    fn access_mapping(&mut self, tenant: TenantId, lpn: Lpn, at: EntryRef, is_write: bool) {
        if self.ftl.is_ideal() {
            return;
        }
        let (access, writeback) = self.ftl.access_mapping(tenant, lpn, at, is_write);
        if let Some(writeback) = writeback {
            self.finish(writeback);
        }
        if let MappingAccess::Load { page, .. } = access {
            self.ftl.mapping_arrived(page, &mut self.tokens);
        }
        debug_assert!(self.tokens.is_empty(), "nobody waits where nothing takes time");
    }

    /// Ends a write-back of a translation page at once.
    fn finish(&mut self, writeback: WriteBack) {
        if writeback.merge.is_some() {
            self.ftl.mapping_arrived(writeback.page, &mut self.tokens);
        }
        if !self.ftl.config.free_mapping_writes {
            self.ftl.mapping_written(writeback.page, writeback.placed.phys);
        }
        self.after(writeback.placed);
    }

    /// Collects if the placement took a free block.
    fn after(&mut self, placed: Placed) {
        if placed.opened {
            let plane = self.ftl.layout().plane(placed.phys);
            while self.collect_one(plane) {}
        }
    }

    /// Collects one victim of a plane, then the blocks that wear levelling asks for. Returns
    /// whether there was a victim.
    fn collect_one(&mut self, plane: PlaneId) -> bool {
        let Some(victim) = self.ftl.choose_victim(plane) else { return false };
        self.ftl.empty(victim);
        while let Some(cold) = self.ftl.choose_wear_victim(plane) {
            self.ftl.empty(cold);
        }
        true
    }
}

/// The valid pages of a victim that is moved as a whole.
#[derive(Clone, Default)]
pub(crate) struct Batch {
    /// Whose data each of them holds.
    owners: Vec<Owner>,
    /// The written sectors of each of them; empty if all are whole.
    sectors: Vec<SectorMask>,
    /// What each page of a computed block holds.
    computed: Vec<Option<Owner>>,
}

impl Ftl {
    /// Moves the valid pages of a victim and erases it: what [`Ftl::place_move`],
    /// [`Ftl::commit_move`] and [`Ftl::erase_done`] do, for all pages at once, where nothing can
    /// come in between. Collection in steps would keep the batch and a cursor into it.
    fn empty(&mut self, victim: BlockAddr) {
        let mut batch = std::mem::take(&mut self.batch);
        self.gather(victim, &mut batch);
        let (from, tenant) = (self.block_frontier(victim), self.block_tenant(victim));
        let mut moved = 0;
        while let Some(&owner) = batch.owners.get(moved) {
            let (to, alike) = match from {
                FrontierId::TRANSLATION => (from, true),
                data => {
                    let place = (victim.plane, tenant);
                    let to = self.moved_frontier(place, owner.page(), data);
                    (to, self.placer.moves_alike())
                }
            };
            let end = if alike { batch.owners.len() } else { moved + 1 };
            let owners = &batch.owners[moved..end];
            let sectors = batch.sectors.get(moved..end).unwrap_or_default();
            let (first, count) = self.append_programmed(tenant, to, victim.plane, owners, sectors);
            self.land(from, tenant, &owners[..count], first);
            moved += count;
        }
        self.planes[victim.plane].vacate(victim.block, moved as u32);
        self.count_moves(from, moved as u64);
        self.batch = batch;
        self.erase_done(victim);
    }

    /// Lists the valid pages of a victim in the order of their offsets, and prefetches what moving
    /// them touches.
    fn gather(&mut self, victim: BlockAddr, batch: &mut Batch) {
        let BlockAddr { plane, block } = victim;
        let plane = &self.planes[plane];
        let spot = |page| Spot { block, page };
        batch.owners.clear();
        batch.sectors.clear();
        if plane.blocks[block].computed {
            self.owners_of(victim, &mut batch.computed);
            batch.owners.extend(batch.computed.iter().flatten());
        } else {
            let pages = plane.valid_pages(block);
            batch.owners.extend(pages.filter_map(|page| plane.owner(spot(page))));
            // Pages that the drive held at the start are whole.
            if !plane.are_whole() {
                let pages = plane.valid_pages(block);
                batch.sectors.extend(pages.map(|page| plane.sectors(spot(page))));
            }
        }
        if self.block_frontier(victim) == FrontierId::TRANSLATION {
            return;
        }
        // The entries lie anywhere in memory: first prefetch all their lines, then use them.
        for &owner in &batch.owners {
            self.table.prefetch_directory(owner.page());
        }
        for &owner in &batch.owners {
            self.table.prefetch_entry(owner.page());
            self.placer.prefetch_page(owner.page());
        }
    }

    /// Notes where the moved pages of a block of some frontier lie: from `first` on.
    fn land(&mut self, from: FrontierId, tenant: TenantId, owners: &[Owner], first: Phys) {
        for (nth, &owner) in (0..).zip(owners) {
            let to = first.plus(nth);
            if from != FrontierId::TRANSLATION {
                let entry = self.table.entry(owner.page());
                self.table.move_to(entry, to);
                self.placer.moved(owner.page(), from);
                self.dirty_mapping(tenant, owner.page(), entry);
            } else if !self.caches.is_empty() {
                self.translation.set_phys(owner.translation_page(), to);
            }
        }
    }
}
