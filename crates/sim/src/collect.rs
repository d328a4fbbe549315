//! Garbage collection and wear levelling in time. The pages of a victim are read, programmed
//! elsewhere in the plane, and then the block is erased. What is moved and when that takes effect
//! is decided by the FTL; what waits for what is decided here.

use crate::simulator::Core;
use crate::tx::{Class, NIL, Purpose, Tx};
use serde::{Deserialize, Serialize};
use ssdtune_ftl::BlockRef;
use ssdtune_model::PlaneId;

/// A victim on its way to the pool of free blocks.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    victim: BlockRef,
    /// Pages that have not been moved yet.
    left: u32,
    /// The transaction that erases it.
    erase: u32,
    /// It is collected to level wear, not to win space.
    for_wear: bool,
}

impl Core {
    /// Starts to collect a victim of a plane, if the plane needs it.
    pub(crate) fn collect(&mut self, plane: PlaneId) {
        if let Some(victim) = self.ftl.next_victim(plane) {
            self.start_job(victim, false);
        }
    }

    /// Starts to move the pages of a victim.
    fn start_job(&mut self, victim: BlockRef, for_wear: bool) {
        let entry = self.ftl.entry(0, 0);
        let mut pages = std::mem::take(&mut self.victim_pages);
        pages.extend(self.ftl.victim_pages(victim));
        let at = self.layout.pack(victim, 0);
        let tenant = self.ftl.block_tenant(victim);
        if self.stats.has_several() {
            self.stats.shares[tenant].count_victim(for_wear);
        }
        let erase = self.txs.insert(Tx::new(Class::Erase, Purpose::Erase, at, entry));
        self.txs[erase].tenant = tenant as u16;
        self.set_address(erase, at);
        let job = self.jobs.insert(Job { victim, left: pages.len() as u32, erase, for_wear });
        self.txs[erase].link = job;
        self.txs[erase].blocked = !pages.is_empty();
        for &page in &pages {
            let mut tx = Tx::new(Class::GcRead, Purpose::Move, page, entry);
            tx.link = job;
            tx.tenant = tenant as u16;
            tx.sectors = self.page_sectors as u16;
            let tx = self.txs.insert(tx);
            self.set_address(tx, page);
            self.staged.push(tx);
        }
        pages.clear();
        self.victim_pages = pages;
        self.staged.push(erase);
        self.schedule_unless_deferred();
    }

    /// A page of a victim was read: it gets its new place, unless the host has overwritten it.
    pub(crate) fn move_read(&mut self, tx: u32) {
        let from = self.txs[tx].phys;
        if self.ftl.must_hold_move(from) {
            self.hold_move(tx);
            return;
        }
        let job = self.txs[tx].link;
        let placed = self.ftl.place_move(from);
        self.count_move(tx, job, placed.is_some());
        let Some(placed) = placed else {
            self.drop_tx(tx);
            self.moved(job);
            return;
        };
        let record = &mut self.txs[tx];
        record.class = Class::GcWrite;
        record.address = from.to_bits();
        self.set_address(tx, placed.phys);
        self.staged.push(tx);
        self.schedule_unless_deferred();
        self.after_placing(placed);
    }

    /// Lets a page that was read wait for an erased block of its plane, before any host request.
    fn hold_move(&mut self, tx: u32) {
        let plane = self.layout.plane(self.txs[tx].phys);
        self.held[plane.index()].push_front(tx);
    }

    /// Counts a page of a victim that has a new place, or needs none.
    fn count_move(&mut self, tx: u32, job: u32, placed: bool) {
        let tenant = usize::from(self.txs[tx].tenant);
        let for_wear = u64::from(placed && self.jobs[job].for_wear);
        self.stats.count(tenant, |counts| counts.wear_moved_pages += for_wear);
        if self.stats.has_several() {
            self.stats.shares[tenant].count_move(placed);
        }
    }

    /// A moved page has been programmed.
    pub(crate) fn move_written(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (from, to, job) =
            (ssdtune_ftl::Phys::from_bits(record.address), record.phys, record.link);
        let dropped = self.ftl.counters().moves_dropped;
        self.ftl.commit_move(from, to);
        if self.stats.has_several() {
            let tenant = usize::from(self.txs[tx].tenant);
            self.stats.shares[tenant].ftl.moves_dropped +=
                self.ftl.counters().moves_dropped - dropped;
        }
        self.drop_tx(tx);
        self.moved(job);
    }

    /// One page of a victim less to move. The erase may start when none is left.
    fn moved(&mut self, job: u32) {
        self.jobs[job].left -= 1;
        if self.jobs[job].left == 0 {
            let erase = self.jobs[job].erase;
            self.txs[erase].blocked = false;
        }
    }

    /// A victim has been erased.
    pub(crate) fn erased(&mut self, tx: u32) {
        let job = self.txs[tx].link;
        let victim = self.jobs[job].victim;
        debug_assert_eq!(self.jobs[job].left, 0);
        self.jobs.remove(job);
        self.drop_tx(tx);
        self.ftl.erase_done(victim);
        let plane = PlaneId(victim.plane);
        if let Some(cold) = self.ftl.next_wear_victim(plane) {
            self.start_job(cold, true);
        }
        self.release_held(plane);
        if !self.switches.collect_when_full_only || self.ftl.must_hold(0, 0, plane) {
            self.collect(plane);
        }
    }

    /// Copyback: gives the pages that a die has just read their new places in the same plane.
    /// Returns the list of those that are still valid and need not wait for a place.
    pub(crate) fn copy_back(&mut self, list: u32) -> u32 {
        let (mut head, mut last) = (NIL, NIL);
        let mut at = list;
        while at != NIL {
            let next = self.txs[at].next;
            self.txs[at].next = NIL;
            let (from, job) = (self.txs[at].phys, self.txs[at].link);
            if self.ftl.must_hold_move(from) {
                self.hold_move(at);
                at = next;
                continue;
            }
            let placed = self.ftl.place_move(from);
            self.count_move(at, job, placed.is_some());
            if let Some(placed) = placed {
                self.txs[at].class = Class::GcWrite;
                self.txs[at].address = from.to_bits();
                self.set_address(at, placed.phys);
                match last {
                    NIL => head = at,
                    _ => self.txs[last].next = at,
                }
                last = at;
                self.after_placing(placed);
            } else {
                self.drop_tx(at);
                self.moved(job);
            }
            at = next;
        }
        head
    }
}
