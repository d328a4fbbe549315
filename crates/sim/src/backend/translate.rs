//! From logical to physical pages: a transaction gets its mapping and its place, or waits for one
//! of them.

use super::Backend;
use crate::base::Base;
use crate::flash::{Flash, Purpose, Transaction};
use crate::host::{Host, Spaces};
use crate::id::{Place, TransactionId};
use crate::operation::Class;
use ssdtune_ftl::{Load, MappingAccess, Phys, Placed, Token, TranslationPageId, WriteBack};
use ssdtune_model::{Lpn, PlaneId, Sectors, TenantId};
use std::iter;

/// What became of a transaction that asked for its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Translated {
    /// It has its place.
    Placed,
    /// It waits for its mapping, or for its plane to be collected.
    Waits,
    /// It is a read of a page that holds no data.
    Unwritten,
}

/// The backlog of planes for dynamic placement: what waits for their scheduling units, and what
/// has been staged for them.
struct Backlog<'a>(&'a Flash);

impl Load for Backlog<'_> {
    fn backlog(&self, plane: PlaneId) -> u64 {
        self.0.backlog(plane)
    }
}

impl Backend {
    /// Finds places for the transactions of a list, then queues those that have one.
    pub fn dispatch(&mut self, base: &mut Base, host: &mut Host, mut list: Vec<TransactionId>) {
        if self.ftl.is_by_load() {
            self.dispatch_each(base, host, list);
            return;
        }
        let mut ready = 0;
        for index in 0..list.len() {
            let id = list[index];
            match self.translate(base, id) {
                Translated::Placed => {
                    list[ready] = id;
                    ready += 1;
                }
                Translated::Waits => {}
                Translated::Unwritten => self.unwritten(base, host, id),
            }
        }
        for &id in &list[..ready] {
            self.stage(id);
        }
        if ready > 0 {
            self.flash.schedule(base, &self.ftl);
        }
        self.give_list(list);
    }

    /// As [`Backend::dispatch`], where places depend on the load: every transaction is staged
    /// before the next one gets its place. Else all pages of a request would take the plane that
    /// was the idlest one before it came.
    fn dispatch_each(&mut self, base: &mut Base, host: &mut Host, list: Vec<TransactionId>) {
        self.flash.defer();
        for &id in &list {
            let translated = self.translate(base, id);
            self.go_on(base, host, id, translated);
        }
        self.flash.resume(base, &self.ftl);
        self.give_list(list);
    }

    /// Asks for what a request of several pages will touch, before its pages are served one by one.
    #[inline]
    pub fn look_ahead(
        &mut self,
        spaces: &Spaces,
        tenant: TenantId,
        (mut cursor, mut rest): (u64, u32),
        is_write: bool,
    ) {
        if spaces.pages_touched(Sectors(cursor), rest) == 1 {
            return;
        }
        let pages =
            iter::from_fn(|| (rest > 0).then(|| spaces.cut(tenant, &mut cursor, &mut rest).lpn));
        self.ftl.look_ahead(tenant, pages, is_write);
    }

    /// Finds a place for one transaction, then queues it if it has one.
    #[inline]
    pub fn dispatch_one(&mut self, base: &mut Base, host: &mut Host, id: TransactionId) {
        let translated = self.translate(base, id);
        self.go_on(base, host, id, translated);
        if translated == Translated::Placed {
            self.flash.schedule(base, &self.ftl);
        }
    }

    /// Stages a transaction that has its place, and ends one that needs none.
    #[inline]
    fn go_on(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        id: TransactionId,
        translated: Translated,
    ) {
        match translated {
            Translated::Placed => self.stage(id),
            Translated::Waits => {}
            Translated::Unwritten => self.unwritten(base, host, id),
        }
    }

    /// Ends the read of a page that holds no data: it costs no flash read.
    fn unwritten(&mut self, base: &mut Base, host: &mut Host, id: TransactionId) {
        let record = self.flash.transaction(id);
        base.books.count(record.tenant, |counts| counts.unwritten_reads += 1);
        let purpose = record.purpose;
        self.flash.remove(id);
        if let Purpose::Request(request) = purpose {
            host.part_done(base, request);
        }
    }

    /// Gets a transaction its mapping, then its place.
    #[inline]
    fn translate(&mut self, base: &mut Base, id: TransactionId) -> Translated {
        if self.ftl.is_ideal() {
            return self.place(base, id);
        }
        let record = self.flash.transaction(id);
        let (tenant, lpn, entry) = (record.tenant, record.lpn(), record.entry);
        let is_write = record.class == Class::UserWrite;
        let (access, writeback) = self.ftl.access_mapping(tenant, lpn, entry, is_write);
        base.books.mapping_looked_up(tenant, access, is_write);
        if let Some(writeback) = writeback {
            self.write_back_mapping(base, writeback);
        }
        match access {
            MappingAccess::Hit | MappingAccess::Resident => return self.place(base, id),
            MappingAccess::Awaited => {}
            MappingAccess::Load { page, phys } => {
                let mut load =
                    Transaction::new(Class::MappingRead, Purpose::MappingLoad, entry, tenant);
                load.set_translation_page(page);
                load.sectors = 1;
                let load = self.insert(load, phys);
                base.books.count_flash(tenant, |flash| flash.mapping_reads += 1);
                self.flash.stage(load);
                self.flash.schedule(base, &self.ftl);
            }
        }
        self.ftl.await_mapping(tenant, entry, Token(id.index() as u32), is_write);
        Translated::Waits
    }

    /// Adds a transaction whose place is known.
    #[inline]
    pub(super) fn insert(&mut self, transaction: Transaction, phys: Phys) -> TransactionId {
        let id = self.flash.insert(transaction);
        self.flash.set_place(&self.ftl, id, phys);
        id
    }

    /// Gets a transaction whose mapping is at hand its place.
    #[inline]
    fn place(&mut self, base: &mut Base, id: TransactionId) -> Translated {
        let record = self.flash.transaction(id);
        let (tenant, lpn, shape) = (record.tenant, record.lpn(), record.shape);
        if record.class == Class::UserRead {
            return self.place_read(base, id);
        }
        self.ftl.set_write_context(base.now(), tenant.0);
        self.ftl.expect_write(tenant, lpn, shape);
        let plane = self.plane_for_write(tenant, lpn);
        if self.ftl.must_hold(tenant, lpn, plane) {
            base.books.count(tenant, |counts| counts.held_writes += 1);
            return self.hold(base, id, plane);
        }
        self.place_write(base, id, plane);
        Translated::Placed
    }

    /// Lets a transaction wait until its plane has been collected.
    fn hold(&mut self, base: &mut Base, id: TransactionId, plane: PlaneId) -> Translated {
        self.held[plane].push_back(id);
        self.collect_for_held(base, plane);
        Translated::Waits
    }

    /// Finds the page that a read asks for.
    #[inline]
    fn place_read(&mut self, base: &mut Base, id: TransactionId) -> Translated {
        let record = self.flash.transaction(id);
        let (tenant, lpn) = (record.tenant, record.lpn());
        let (entry, mask) = (record.entry, record.mask);
        let phys = match self.ftl.phys(entry) {
            Some(phys) => phys,
            None if !self.rules.read_allocates => return Translated::Unwritten,
            None if self.ftl.must_hold_read(tenant, lpn) => {
                let plane = self.ftl.static_plane(tenant, lpn);
                return self.hold(base, id, plane);
            }
            None => {
                base.books.count(tenant, |counts| counts.unwritten_reads += 1);
                let placed = self.ftl.place_read(tenant, lpn, entry, mask);
                self.after_placing(base, placed);
                placed.phys
            }
        };
        self.flash.set_place(&self.ftl, id, phys);
        Translated::Placed
    }

    /// The plane that a write goes to.
    #[inline]
    fn plane_for_write(&mut self, tenant: TenantId, lpn: Lpn) -> PlaneId {
        if !self.ftl.is_by_load() {
            return self.ftl.static_plane(tenant, lpn);
        }
        self.ftl.plane_for_write(tenant, lpn, &Backlog(&self.flash))
    }

    /// Places a write. If it covers only a part of its page, it waits for a read of the rest.
    fn place_write(&mut self, base: &mut Base, id: TransactionId, plane: PlaneId) {
        let record = self.flash.transaction(id);
        let (tenant, lpn) = (record.tenant, record.lpn());
        let (entry, mask) = (record.entry, record.mask);
        let old = match self.ftl.is_scattered() {
            true => self.ftl.phys(entry),
            false => None,
        };
        let plan = self.ftl.place_write(tenant, lpn, entry, plane, mask);
        self.flash.set_place(&self.ftl, id, plan.placed.phys);
        if let Some((old, missing)) = plan.merge {
            let mut merge = Transaction::new(Class::UserRead, Purpose::Merge(id), entry, tenant);
            merge.set_lpn(lpn);
            merge.sectors = missing.count_ones() as u16;
            merge.mask = missing;
            merge.priority = self.rules.internal_priority;
            let merge = self.insert(merge, old);
            let record = self.flash.transaction_mut(id);
            record.blocked = true;
            record.rest = Some(merge);
            base.books.count(tenant, |counts| counts.merge_reads += 1);
        }
        self.after_placing(base, plan.placed);
        if self.flash.striping().is_some() {
            self.advance(base, plane);
        }
        if let Some(old) = old {
            // The page it replaces may have turned the block it lay in into the victim that held
            // writes wait for.
            self.after_program(base, old);
        }
    }

    /// Collects if the placement took a free block.
    #[inline]
    pub(super) fn after_placing(&mut self, base: &mut Base, placed: Placed) {
        if placed.opened {
            self.collect(base, self.layout.plane(placed.phys));
        }
    }

    /// A program in a plane has ended. A block that could not be collected before may be a victim
    /// now.
    #[inline]
    pub fn after_program(&mut self, base: &mut Base, phys: Phys) {
        let plane = self.layout.plane(phys);
        if !self.held[plane].is_empty() {
            self.collect_for_held(base, plane);
        }
        if self.rules.folds {
            self.fold(base, plane);
        }
    }

    /// A page of a plane holds no data any more. A block that could not be collected before may be
    /// a victim now.
    pub fn after_trim(&mut self, base: &mut Base, plane: PlaneId) {
        if !self.held[plane].is_empty() {
            self.collect(base, plane);
        }
    }

    /// Reads the rest of a translation page and writes the page back.
    fn write_back_mapping(&mut self, base: &mut Base, writeback: WriteBack) {
        let entry = self.ftl.entry(TenantId(0), Lpn(0));
        let phys = writeback.placed.phys;
        // All pages of a block belong to one tenant.
        let tenant = self.ftl.block_tenant(self.layout.block(phys));
        base.books.mapping_written_back(tenant);
        let store = (!self.rules.free_mapping_writes).then(|| {
            let purpose = Purpose::MappingStore;
            let mut store = Transaction::new(Class::MappingWrite, purpose, entry, tenant);
            store.set_translation_page(writeback.page);
            store.sectors = self.rules.page_sectors;
            store.blocked = writeback.merge.is_some();
            self.insert(store, phys)
        });
        self.after_placing(base, writeback.placed);
        if let Some((old, bytes)) = writeback.merge {
            let purpose = Purpose::MappingMerge(store);
            let mut merge = Transaction::new(Class::MappingRead, purpose, entry, tenant);
            merge.set_translation_page(writeback.page);
            merge.sectors = (bytes / 512) as u16;
            let merge = self.insert(merge, old);
            base.books.count_flash(tenant, |flash| flash.mapping_reads += 1);
            self.flash.stage(merge);
        }
        if let Some(store) = store {
            self.flash.stage(store);
        }
        self.flash.schedule(base, &self.ftl);
    }

    /// A translation page was read: all transactions that waited for one of its mappings go on.
    pub fn mapping_read(&mut self, base: &mut Base, host: &mut Host, page: TranslationPageId) {
        let mut tokens = std::mem::take(&mut self.tokens);
        self.ftl.mapping_arrived(page, &mut tokens);
        self.flash.defer();
        for token in tokens.drain(..) {
            let id = TransactionId::at(token.0 as usize);
            let translated = self.place(base, id);
            self.go_on(base, host, id, translated);
        }
        self.tokens = tokens;
        self.flash.resume(base, &self.ftl);
    }

    /// A translation page was programmed.
    pub fn mapping_written(&mut self, base: &mut Base, id: TransactionId) {
        let record = self.flash.transaction(id);
        let (page, phys) = (record.translation_page(), record.phys);
        self.flash.remove(id);
        self.ftl.mapping_written(page, phys);
        self.after_program(base, phys);
    }

    /// The read that a write waited for has ended.
    pub fn rest_read(&mut self, base: &mut Base, write: TransactionId) {
        self.flash.transaction_mut(write).blocked = false;
        self.flash.unblock(base, &self.ftl, write);
    }

    /// Starts a collection for a write that is held back. Otherwise collection starts only when a
    /// block is opened.
    pub(super) fn collect_for_held(&mut self, base: &mut Base, plane: PlaneId) {
        if !self.rules.collect_when_full_only {
            self.collect(base, plane);
        }
    }

    /// Lets held transactions go on as long as their plane has room.
    pub(super) fn release_held(&mut self, base: &mut Base, host: &mut Host, plane: PlaneId) {
        self.flash.defer();
        while let Some(&id) = self.held[plane].front() {
            let record = self.flash.transaction(id);
            if record.class == Class::GcRead {
                if self.ftl.must_hold_move(record.phys) {
                    break;
                }
                self.held[plane].pop_front();
                self.move_page(base, id);
                continue;
            }
            let (tenant, lpn, shape) = (record.tenant, record.lpn(), record.shape);
            let is_read = record.class == Class::UserRead;
            self.ftl.set_write_context(base.now(), tenant.0);
            if !is_read {
                self.ftl.expect_write(tenant, lpn, shape);
            }
            if is_read && self.ftl.static_plane(tenant, lpn) != plane {
                // The tenant got other channels while this read was held: its data now belong to
                // another plane, where it may have to wait again.
                self.held[plane].pop_front();
                let translated = self.place(base, id);
                self.go_on(base, host, id, translated);
                continue;
            }
            let must_hold = match is_read {
                true => self.ftl.must_hold_read(tenant, lpn),
                false => self.ftl.must_hold(tenant, lpn, plane),
            };
            if must_hold {
                break;
            }
            self.held[plane].pop_front();
            if is_read {
                self.place_read(base, id);
            } else {
                self.place_write(base, id, plane);
            }
            self.stage(id);
        }
        self.flash.resume(base, &self.ftl);
    }
}
