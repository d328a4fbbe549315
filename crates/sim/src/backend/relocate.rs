//! Collection in steps: what superblocks need, since one of them holds tens of thousands of pages.
//!
//! The valid pages of a victim are read stripe by stripe, all planes of a die in one command, and
//! each page that was read goes to the next place of the frontier of moved pages, mostly in another
//! die. A limited number of pages is on its way at any time. When all have been moved, the blocks
//! of the superblock are erased.
//!
//! Paced collection earns its steps: every page that the host writes pays for v / (n - v) page
//! moves, where v of the victim's n pages were valid when it was chosen. This is what a steady
//! state needs. It pays more as free superblocks become fewer
//! ([`Ftl::haste`](ssdtune_ftl::Ftl::haste)).
//! When the host waits for space, or free superblocks are below `gc.hard_threshold`, nothing needs
//! to be paid; neither while idle time folds an SLC cache, which waits for the job under way.

use super::Backend;
use super::collect::{Job, Way};
use crate::base::Base;
use crate::flash::{Purpose, Striping, Transaction};
use crate::id::JobId;
use crate::operation::Class;
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockAddr, Lpn, PageId, PlaneId, TenantId};

/// How the collection of a plane advances.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Pace {
    /// Its victim.
    pub job: Option<JobId>,
    /// Page moves that have been paid for.
    credit: f64,
    /// Page moves that a page of the host pays for, without haste.
    rate: f64,
}

impl Backend {
    /// Starts to collect a superblock.
    pub(super) fn start_steps(&mut self, base: &mut Base, victim: BlockAddr, for_wear: bool) {
        base.books.victim_chosen(self.ftl.block_tenant(victim), for_wear);
        let way = Way::Steps { next: Some(PageId(0)) };
        let job = self.jobs.insert(Job { victim, left: 0, way, for_wear });
        let (valid, pages) = self.ftl.victim_size(victim);
        let rate = f64::from(valid) / f64::from((pages - valid).max(1));
        debug_assert!(self.paces[victim.plane].job.is_none(), "one victim at a time");
        self.paces[victim.plane] = Pace { job: Some(job), credit: 0.0, rate };
        self.step(base, victim.plane);
    }

    /// The host has written a page to a plane, which pays for some page moves.
    pub(super) fn advance(&mut self, base: &mut Base, plane: PlaneId) {
        if self.paces[plane].job.is_none() {
            return;
        }
        let haste = self.ftl.haste(plane);
        let pace = &mut self.paces[plane];
        pace.credit += pace.rate * haste;
        if pace.credit >= 1.0 {
            self.step(base, plane);
        }
    }

    /// Starts as many page moves of a plane's victim as may be on their way, or erases it if none
    /// is left.
    pub(super) fn step(&mut self, base: &mut Base, plane: PlaneId) {
        let Some(id) = self.paces[plane].job else { return };
        while let Job { way: Way::Steps { next: Some(next) }, left, victim, .. } = self.jobs[id]
            && left < self.rules.moves_max
            && self.may_move(base, plane)
        {
            match self.ftl.next_victim_page(victim, next) {
                Some(page) => self.read_stripe(id, victim, page),
                None => self.jobs[id].way = Way::Steps { next: None },
            }
        }
        if let Job { way: Way::Steps { next: None }, left, .. } = self.jobs[id] {
            // Nothing more comes to fill the stripes of moved pages.
            self.stage_open_stripes();
            if left == 0 {
                self.erase_superblock(id);
            }
        }
        self.flash.schedule(base, &self.ftl);
    }

    /// Whether a plane's collection may move another page now.
    fn may_move(&self, base: &Base, plane: PlaneId) -> bool {
        !self.rules.paced
            || self.paces[plane].credit >= 1.0
            || !self.held[plane].is_empty()
            || self.ftl.is_urgent(plane)
            || self.rules.folds && base.is_at_rest()
    }

    /// Stages reads of the valid pages of the stripes that were filled together, from one of them
    /// on.
    fn read_stripe(&mut self, id: JobId, victim: BlockAddr, first: PageId) {
        let entry = self.ftl.entry(TenantId(0), Lpn(0));
        let tenant = self.ftl.block_tenant(victim);
        let width = self.flash.striping().map_or(1, Striping::row);
        let end = PageId((first.0 / width + 1) * width);
        let mut next = Some(first);
        while let Some(page) = next.filter(|page| *page < end) {
            let mut read = Transaction::new(Class::GcRead, Purpose::Move(id), entry, tenant);
            read.sectors = self.rules.page_sectors;
            let read = self.insert(read, self.layout.pack(victim, page));
            self.flash.stage(read);
            self.jobs[id].left += 1;
            self.paces[victim.plane].credit -= 1.0;
            next = self.ftl.next_victim_page(victim, PageId(page.0 + 1));
        }
        self.jobs[id].way = Way::Steps { next: Some(end) };
    }

    /// Stages the erases of all blocks of a superblock.
    fn erase_superblock(&mut self, id: JobId) {
        let victim = self.jobs[id].victim;
        let entry = self.ftl.entry(TenantId(0), Lpn(0));
        let tenant = self.ftl.block_tenant(victim);
        let Some(blocks) = self.flash.striping() else { return };
        let blocks = blocks.blocks(self.ftl.is_in_slc_mode(victim));
        self.jobs[id].way = Way::Erasing { blocks: blocks.len() as u32 };
        for first in blocks {
            let erase = Transaction::new(Class::Erase, Purpose::Erase(id), entry, tenant);
            let erase = self.insert(erase, self.layout.pack(victim, first));
            self.flash.stage(erase);
        }
    }
}
