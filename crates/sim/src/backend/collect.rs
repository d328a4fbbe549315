//! Garbage collection and wear levelling in time. The pages of a victim are read, programmed
//! elsewhere in the plane, and then the block is erased. What is moved and when that takes effect
//! is decided by the FTL; what waits for what is decided here. Superblocks are collected in steps:
//! see `relocate`.

use super::Backend;
use crate::base::Base;
use crate::flash::{Purpose, Transaction};
use crate::host::Host;
use crate::id::{DieId, JobId, TransactionId};
use crate::operation::{Class, Work};
use serde::{Deserialize, Serialize};
use ssdtune_ftl::Placed;
use ssdtune_model::{BlockAddr, Lpn, PageId, PlaneId, TenantId};

/// A victim on its way to the pool of free blocks.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub victim: BlockAddr,
    /// Pages that are to be moved and have not been; in steps, those on their way.
    pub left: u32,
    pub way: Way,
    /// It is collected to level wear, not to win space.
    pub for_wear: bool,
}

/// How a victim is collected.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Way {
    /// All its pages at once. The transaction that erases it waits for them.
    AtOnce { erase: TransactionId },
    /// In steps: pages before this one have been read, or needed not be; `None` when all have.
    Steps { next: Option<PageId> },
    /// In steps, all its pages moved: `blocks` of the superblock's blocks are still to be erased.
    Erasing { blocks: u32 },
}

impl Backend {
    /// Starts to collect a victim of a plane, if the plane needs it.
    pub(super) fn collect(&mut self, base: &mut Base, plane: PlaneId) {
        if let Some(victim) = self.ftl.next_victim(plane) {
            self.start_job(base, victim, false);
        } else if self.flash.striping().is_some() {
            self.step(base, plane);
        }
    }

    /// Starts to move the pages of a victim.
    fn start_job(&mut self, base: &mut Base, victim: BlockAddr, for_wear: bool) {
        if self.flash.striping().is_some() {
            self.start_steps(base, victim, for_wear);
            return;
        }
        let entry = self.ftl.entry(TenantId(0), Lpn(0));
        let mut pages = std::mem::take(&mut self.victim_pages);
        pages.extend(self.ftl.victim_pages(victim));
        let tenant = self.ftl.block_tenant(victim);
        base.books.victim_chosen(tenant, for_wear);
        // The job and its erase name each other.
        let job = self.jobs.next();
        let mut erase = Transaction::new(Class::Erase, Purpose::Erase(job), entry, tenant);
        erase.blocked = !pages.is_empty();
        let erase = self.insert(erase, self.layout.pack(victim, PageId(0)));
        let way = Way::AtOnce { erase };
        self.jobs.insert(Job { victim, left: pages.len() as u32, way, for_wear });
        for &page in &pages {
            let mut read = Transaction::new(Class::GcRead, Purpose::Move(job), entry, tenant);
            read.sectors = self.rules.page_sectors;
            let read = self.insert(read, page);
            self.flash.stage(read);
        }
        pages.clear();
        self.victim_pages = pages;
        self.flash.stage(erase);
        self.flash.schedule(base, &self.ftl);
    }

    /// A page of a victim was read: it gets its new place, unless the host has overwritten it or it
    /// has to wait for an erased block.
    pub fn move_read(&mut self, base: &mut Base, id: TransactionId) {
        if self.must_hold_move(id) {
            self.hold_move(id);
        } else {
            self.move_page(base, id);
        }
    }

    fn must_hold_move(&self, id: TransactionId) -> bool {
        self.ftl.must_hold_move(self.flash.transaction(id).phys)
    }

    /// Lets a page that was read wait for an erased block of its plane, before any host request.
    fn hold_move(&mut self, id: TransactionId) {
        let plane = self.layout.plane(self.flash.transaction(id).phys);
        self.held[plane].push_front(id);
    }

    /// Gives a page that was read its new place, and programs it there.
    pub(super) fn move_page(&mut self, base: &mut Base, id: TransactionId) {
        let (placed, job) = self.place_move(base, id);
        match placed {
            Some(placed) => {
                self.stage(id);
                self.flash.schedule(base, &self.ftl);
                self.after_placing(base, placed);
            }
            None => self.moved(base, job, id),
        }
    }

    /// Gives a page that was read its new place, unless the host has overwritten it.
    fn place_move(&mut self, base: &mut Base, id: TransactionId) -> (Option<Placed>, JobId) {
        let record = self.flash.transaction(id);
        let (from, tenant) = (record.phys, record.tenant);
        let job = self.job_of(id);
        let placed = self.ftl.place_move(from);
        base.books.page_moved(tenant, placed.is_some(), self.jobs[job].for_wear);
        if let Some(placed) = placed {
            let record = self.flash.transaction_mut(id);
            record.class = Class::GcWrite;
            record.set_left(from);
            self.flash.set_place(&self.ftl, id, placed.phys);
        }
        (placed, job)
    }

    /// The job that a transaction serves.
    fn job_of(&self, id: TransactionId) -> JobId {
        match self.flash.transaction(id).purpose {
            Purpose::Move(job) | Purpose::Erase(job) => job,
            other => unreachable!("{other:?} serves no job"),
        }
    }

    /// A moved page has been programmed.
    pub fn move_written(&mut self, base: &mut Base, id: TransactionId) {
        let record = self.flash.transaction(id);
        let (from, to, tenant) = (record.left(), record.phys, record.tenant);
        let job = self.job_of(id);
        let dropped = self.ftl.counters().moves_dropped;
        self.ftl.commit_move(from, to);
        base.books.moves_dropped(tenant, self.ftl.counters().moves_dropped - dropped);
        self.moved(base, job, id);
    }

    /// One page of a victim less to move. The erase may start when none is left.
    fn moved(&mut self, base: &mut Base, job: JobId, id: TransactionId) {
        self.flash.remove(id);
        let record = &mut self.jobs[job];
        record.left -= 1;
        match record.way {
            Way::AtOnce { erase } => {
                if record.left == 0 {
                    self.flash.transaction_mut(erase).blocked = false;
                }
            }
            Way::Steps { .. } | Way::Erasing { .. } => {
                let plane = record.victim.plane;
                self.step(base, plane);
            }
        }
    }

    /// A victim has been erased.
    pub fn erased(&mut self, base: &mut Base, host: &mut Host, id: TransactionId) {
        let job = self.job_of(id);
        let victim = self.jobs[job].victim;
        debug_assert_eq!(self.jobs[job].left, 0);
        self.flash.remove(id);
        let plane = victim.plane;
        if let Way::Erasing { blocks } = &mut self.jobs[job].way {
            *blocks -= 1;
            if *blocks > 0 {
                return;
            }
            self.paces[plane].job = None;
        }
        self.jobs.remove(job);
        self.ftl.erase_done(victim);
        if let Some(cold) = self.ftl.next_wear_victim(plane) {
            self.start_job(base, cold, true);
        }
        self.release_held(base, host, plane);
        if !self.rules.collect_when_full_only || self.ftl.must_hold(TenantId(0), Lpn(0), plane) {
            self.collect(base, plane);
        }
        if self.rules.folds {
            self.fold(base, plane);
        }
    }

    /// Folds blocks in SLC mode in all planes, if the host leaves the drive alone.
    pub fn fold_all(&mut self, base: &mut Base) {
        self.flash.defer();
        for plane in self.held.names() {
            self.fold(base, plane);
        }
        self.flash.resume(base, &self.ftl);
    }

    /// Folds a block in SLC mode of a plane, or goes on with one, if the host leaves the drive
    /// alone.
    #[inline(never)]
    pub(super) fn fold(&mut self, base: &mut Base, plane: PlaneId) {
        if !base.is_at_rest() {
            return;
        }
        if let Some(victim) = self.ftl.next_fold(plane) {
            self.start_job(base, victim, false);
        } else if self.flash.striping().is_some() {
            self.step(base, plane);
        }
    }

    /// A die's array operation has ended. Returns the first of its programs or erases, if it is
    /// one: do what follows from each, then call `Flash::die_done`.
    #[inline]
    pub fn die_event(&mut self, base: &mut Base, die: DieId) -> Option<TransactionId> {
        if self.flash.plane_event(base, &self.ftl, die) {
            return None;
        }
        let (list, work) = self.flash.array_ended(die);
        if work != Work::Read {
            return list;
        }
        if let Some(moves) = self.flash.take_moves(die) {
            let kept = self.copy_back(base, moves);
            self.flash.keep(die, kept);
        }
        self.flash.reads_ended(base, &self.ftl, die);
        None
    }

    /// Copyback: gives the pages that a die has just read their new places in the same plane.
    /// Returns the list of those that are still valid and need not wait for a place.
    fn copy_back(&mut self, base: &mut Base, list: TransactionId) -> Option<TransactionId> {
        let (mut head, mut last) = (None, None::<TransactionId>);
        let mut at = Some(list);
        while let Some(id) = at {
            at = self.flash.transaction_mut(id).next.take();
            if self.must_hold_move(id) {
                self.hold_move(id);
                continue;
            }
            let (placed, job) = self.place_move(base, id);
            let Some(placed) = placed else {
                self.moved(base, job, id);
                continue;
            };
            match last {
                None => head = Some(id),
                Some(last) => self.flash.transaction_mut(last).next = Some(id),
            }
            last = Some(id);
            self.after_placing(base, placed);
        }
        head
    }
}
