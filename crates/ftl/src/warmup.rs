//! Ageing a drive without time: every write is placed, programmed and, where it must be, made room
//! for at once, by the same rules as in a run.
//!
//! For drives that a workload has used before the part of it that is simulated. Left out is
//! whatever hangs on time: two things never happen at once, so nothing is dropped because the host
//! was faster, and dynamic placement knows no load. Cost: one page-table access and one page record
//! a write, and the same for each page that collection moves.

use crate::block::SectorMask;
use crate::error::FtlError;
use crate::ftl::{Ftl, FtlCounters, MappingAccess, NoLoad, Placed, WriteBack};
use crate::layout::BlockRef;
use crate::page_table::EntryRef;
use ssdtune_model::PlaneId;

/// An FTL that is told of accesses without their time.
pub struct Warmup<'a> {
    ftl: &'a mut Ftl,
    tokens: Vec<u32>,
}

impl Ftl {
    /// Ages the drive. Nothing may be under way in it.
    pub fn warm_up(&mut self) -> Warmup<'_> {
        Warmup { ftl: self, tokens: Vec::new() }
    }

    /// Forgets what was counted, so that the counters tell of a run alone.
    pub fn reset_counters(&mut self) {
        self.counters = FtlCounters::default();
    }
}

impl Warmup<'_> {
    /// Writes sectors of a page.
    ///
    /// # Errors
    /// The page's plane is full and nothing in it can be collected.
    pub fn write(&mut self, tenant: usize, lpn: u64, sectors: SectorMask) -> Result<(), FtlError> {
        let at = self.ftl.entry(tenant, lpn);
        self.access_mapping(tenant, lpn, at, true);
        let plane = self.ftl.plane_for_write(tenant, lpn, &NoLoad);
        while self.ftl.must_hold(tenant, lpn, plane) {
            if !self.collect_one(plane) {
                return Err(FtlError::OutOfSpace { plane: plane.0 });
            }
        }
        let plan = self.ftl.place_write(tenant, lpn, at, plane, sectors);
        self.ftl.program_done(plan.placed.phys);
        self.after(plan.placed);
        Ok(())
    }

    /// Writes a page.
    ///
    /// # Errors
    /// Likewise.
    pub fn write_whole(&mut self, tenant: usize, lpn: u64) -> Result<(), FtlError> {
        let sectors = self.ftl.config.full_mask;
        self.write(tenant, lpn, sectors)
    }

    /// Reads a page: only the mapping cache is different for it.
    pub fn read(&mut self, tenant: usize, lpn: u64) {
        if !self.ftl.is_ideal() {
            let at = self.ftl.entry(tenant, lpn);
            self.access_mapping(tenant, lpn, at, false);
        }
    }

    /// The content of a page does not matter any more.
    pub fn trim(&mut self, tenant: usize, lpn: u64) {
        self.ftl.trim(tenant, lpn);
    }

    fn access_mapping(&mut self, tenant: usize, lpn: u64, at: EntryRef, is_write: bool) {
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

    fn finish(&mut self, writeback: WriteBack) {
        if writeback.merge.is_some() {
            self.ftl.mapping_arrived(writeback.page, &mut self.tokens);
        }
        if !self.ftl.config.free_mapping_writes {
            self.ftl.mapping_written(writeback.page, writeback.placed.phys);
        }
        self.after(writeback.placed);
    }

    fn after(&mut self, placed: Placed) {
        if placed.opened {
            let plane = self.ftl.layout().plane(placed.phys);
            while self.collect_one(plane) {}
        }
    }

    /// Collects one victim of a plane, and what levelling its wear asks for; whether there was one.
    fn collect_one(&mut self, plane: PlaneId) -> bool {
        let Some(victim) = self.ftl.next_victim(plane) else { return false };
        self.empty(victim);
        while let Some(cold) = self.ftl.next_wear_victim(plane) {
            self.empty(cold);
        }
        true
    }

    fn empty(&mut self, victim: BlockRef) {
        let mut pages = std::mem::take(&mut self.ftl.victim);
        pages.extend(self.ftl.victim_pages(victim));
        // The pages' entries lie anywhere: first all their lines are asked for, then they are used.
        for ask in [Ftl::prefetch_directory_of, Ftl::prefetch_entry_of] {
            pages.iter().for_each(|&from| ask(self.ftl, from));
        }
        for &from in &pages {
            if let Some(placed) = self.ftl.place_move(from) {
                self.ftl.commit_move(from, placed.phys);
            }
        }
        pages.clear();
        self.ftl.victim = pages;
        self.ftl.erase_done(victim);
    }
}
