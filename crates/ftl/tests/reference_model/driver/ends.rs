//! What follows when a flash operation of the [`Driver`] ends.

use super::{Access, Driver, Pending};
use ssdtune_ftl::{Phys, TranslationPageId};
use ssdtune_model::BlockAddr;

impl Driver {
    /// Ends an operation.
    pub(super) fn end(&mut self, pending: Pending) {
        match pending {
            Pending::Program { phys } => {
                assert!(!self.ftl.is_programmed(phys));
                self.ftl.program_done(phys);
                self.reference.programmed(phys);
                assert!(self.ftl.is_programmed(phys));
                self.collect_for_held(self.ftl.layout().plane(phys));
            }
            Pending::MoveRead { from, job } => self.move_read(from, job),
            Pending::MoveProgram { from, to, job } => self.move_programmed(from, to, job),
            Pending::Erase { job } => self.erased(self.jobs[job].victim),
            Pending::MappingRead { page, store } => {
                if let Some(phys) = store {
                    self.pending.push(Pending::MappingStore { page, phys });
                }
                self.mapping_arrived(page);
            }
            Pending::MappingStore { page, phys } => {
                self.ftl.mapping_written(page, phys);
                self.reference.programmed(phys);
                self.mapping.as_mut().expect("a mapping").departed(page);
                self.collect_for_held(self.ftl.layout().plane(phys));
            }
        }
    }

    fn move_read(&mut self, from: Phys, job: usize) {
        if self.ftl.must_hold_move(from) {
            assert!(self.reference.is_valid(from));
            let plane = self.jobs[job].victim.plane;
            assert!(self.reference.eager && self.reference.free_blocks(plane) == 0);
            self.held_moves[plane].push((from, job));
            return;
        }
        let placed = self.ftl.place_move(from);
        assert_eq!(placed.is_some(), self.reference.is_valid(from));
        let Some(placed) = placed else {
            self.moves[1] += 1;
            return self.moved(job);
        };
        self.moves[0] += 1;
        let (source, layout) = (self.jobs[job].victim, self.ftl.layout());
        assert_eq!(layout.plane(placed.phys), source.plane);
        let page = *self.reference.page(from);
        let block = &self.reference.planes[source.plane][source.block];
        let (tenant, from_purpose) = block.purpose.expect("an open block has a purpose");
        let purpose = self.moved_purpose(placed.phys, from_purpose);
        self.reference.append(placed.phys, placed.opened, tenant, purpose, page);
        self.pending.push(Pending::MoveProgram { from, to: placed.phys, job });
        self.after_placing(placed.phys, placed.opened);
    }

    fn move_programmed(&mut self, from: Phys, to: Phys, job: usize) {
        self.ftl.commit_move(from, to);
        self.reference.programmed(to);
        if self.reference.is_valid(from) {
            let owner = self.reference.page(from).owner;
            self.reference.map(owner, to);
            self.dirty(owner);
        } else {
            self.moves[1] += 1;
        }
        self.moved(job);
    }

    fn erased(&mut self, victim: BlockAddr) {
        self.reference.erase(victim);
        self.ftl.erase_done(victim);
        let plane = victim.plane;
        for (from, job) in std::mem::take(&mut self.held_moves[plane]) {
            self.move_read(from, job);
        }
        if let Some(cold) = self.ftl.next_wear_victim(plane) {
            self.reference.check_wear_victim(cold);
            self.collections[1] += 1;
            self.start_job(cold);
        }
        while let Some(&access) = self.held[plane].front() {
            if access.mask != 0 {
                self.tell(access);
            }
            let Access { tenant, lpn, mask } = access;
            if mask == 0 && self.ftl.static_plane(tenant, lpn) != plane {
                // The tenant got other channels while this read was held, and waits there again.
                self.held[plane].pop_front();
                let entry = self.ftl.entry(tenant, lpn);
                self.place(access, entry, 0);
                continue;
            }
            if self.must_hold(access, plane) {
                break;
            }
            self.held[plane].pop_front();
            self.place_now(access, plane);
        }
        self.collect(plane);
    }

    fn mapping_arrived(&mut self, page: TranslationPageId) {
        let mut tokens = Vec::new();
        self.ftl.mapping_arrived(page, &mut tokens);
        let mapping = self.mapping.as_mut().expect("a mapping");
        let ready = mapping.arrived(page);
        for &token in &tokens {
            let access = self.waiting[token.0 as usize].expect("a token came back twice");
            assert!(ready.contains(&(access.tenant, access.lpn)), "{access:?} was not ready");
        }
        for token in tokens {
            let access = self.waiting[token.0 as usize].take().expect("checked above");
            let entry = self.ftl.entry(access.tenant, access.lpn);
            self.place(access, entry, token.0.into());
        }
        let left = self.waiting.iter().flatten().find(|a| ready.contains(&(a.tenant, a.lpn)));
        assert!(left.is_none(), "{left:?} was forgotten");
    }
}
