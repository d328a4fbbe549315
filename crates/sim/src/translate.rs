//! From logical to physical pages: a transaction gets its mapping and its place, or waits for one
//! of them.

use crate::flash::FlashArray;
use crate::simulator::Core;
use crate::tx::{Class, NIL, Purpose, Tx};
use ssdtune_ftl::{Load, MappingAccess, Phys, Placed, WriteBack};
use ssdtune_model::PlaneId;

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

/// The backlog of planes for dynamic placement: what waits for their scheduling units.
struct Backlog<'a>(&'a FlashArray);

impl Load for Backlog<'_> {
    fn backlog(&self, plane: PlaneId) -> u64 {
        let (unit, _, _) = self.0.place(plane);
        let unit = &self.0.units[unit as usize];
        u64::from(unit.queued) + u64::from(unit.busy_dies)
    }
}

impl Core {
    /// Finds places for the transactions of a list, then queues those that have one.
    pub(crate) fn dispatch(&mut self, mut list: Vec<u32>) {
        let mut ready = 0;
        for index in 0..list.len() {
            let tx = list[index];
            match self.translate(tx) {
                Translated::Placed => {
                    list[ready] = tx;
                    ready += 1;
                }
                Translated::Waits => {}
                Translated::Unwritten => self.unwritten(tx),
            }
        }
        for &tx in &list[..ready] {
            self.stage(tx);
        }
        if ready > 0 {
            self.schedule_unless_deferred();
        }
        self.give_list(list);
    }

    /// Finds a place for one transaction, then queues it if it has one.
    #[inline]
    pub(crate) fn dispatch_one(&mut self, tx: u32) {
        match self.translate(tx) {
            Translated::Placed => {
                self.stage(tx);
                self.schedule_unless_deferred();
            }
            Translated::Waits => {}
            Translated::Unwritten => self.unwritten(tx),
        }
    }

    /// Puts a transaction on the list for the next scheduling, with the read that it waits for.
    fn stage(&mut self, tx: u32) {
        self.staged.push(tx);
        if self.txs[tx].class == Class::UserWrite && self.txs[tx].blocked {
            self.staged.push(self.txs[tx].link);
        }
    }

    /// Schedules what is staged, unless the caller has more to stage.
    pub(crate) fn schedule_unless_deferred(&mut self) {
        if self.scheduling_deferred == 0 {
            self.schedule();
        }
    }

    /// Ends the read of a page that holds no data: it costs no flash read.
    fn unwritten(&mut self, tx: u32) {
        let tenant = usize::from(self.txs[tx].tenant);
        self.stats.count(tenant, |counts| counts.unwritten_reads += 1);
        let request = self.txs[tx].request;
        self.drop_tx(tx);
        self.part_done(request);
    }

    /// Gets a transaction its mapping, then its place.
    #[inline]
    fn translate(&mut self, tx: u32) -> Translated {
        if self.ftl.is_ideal() {
            return self.place(tx);
        }
        let record = &self.txs[tx];
        let (tenant, lpn, entry) = (record.tenant as usize, record.address, record.entry);
        let is_write = record.class == Class::UserWrite;
        let (access, writeback) = self.ftl.access_mapping(tenant, lpn, entry, is_write);
        if self.stats.has_several() {
            self.count_lookup_for_tenant(tenant, access, is_write);
        }
        if let Some(writeback) = writeback {
            self.write_back_mapping(writeback);
        }
        match access {
            MappingAccess::Hit | MappingAccess::Resident => return self.place(tx),
            MappingAccess::Awaited => {}
            MappingAccess::Load { page, phys } => {
                let mut load = Tx::new(Class::MappingRead, Purpose::MappingLoad, phys, entry);
                load.address = page;
                load.tenant = tenant as u16;
                load.sectors = 1;
                let load = self.txs.insert(load);
                self.set_address(load, phys);
                self.count_mapping_read(tenant);
                self.staged.push(load);
                self.schedule_unless_deferred();
            }
        }
        self.ftl.await_mapping(tenant, entry, tx, is_write);
        Translated::Waits
    }

    /// Writes down where on flash a transaction goes: its unit, die, plane and page.
    #[inline]
    pub(crate) fn set_address(&mut self, tx: u32, phys: Phys) {
        let (unit, die, plane) = self.flash.place(self.layout.plane(phys));
        let record = &mut self.txs[tx];
        record.phys = phys;
        record.unit = unit;
        record.die = die;
        record.plane = plane;
        record.page = self.layout.page(phys);
    }

    /// Gets a transaction whose mapping is at hand its place, and stages it unless it has to wait.
    fn place_and_stage(&mut self, tx: u32) {
        match self.place(tx) {
            Translated::Placed => self.stage(tx),
            Translated::Waits => {}
            Translated::Unwritten => self.unwritten(tx),
        }
    }

    /// Gets a transaction whose mapping is at hand its place.
    #[inline]
    fn place(&mut self, tx: u32) -> Translated {
        let record = &self.txs[tx];
        let (tenant, lpn, entry, mask) =
            (record.tenant as usize, record.address, record.entry, record.mask);
        if record.class == Class::UserRead {
            let phys = match self.ftl.phys(entry) {
                Some(phys) => phys,
                None if self.switches.read_allocates && self.ftl.must_hold_read(tenant, lpn) => {
                    let plane = self.ftl.static_plane(tenant, lpn);
                    self.held[plane.index()].push_back(tx);
                    self.collect_for_held(plane);
                    return Translated::Waits;
                }
                None if self.switches.read_allocates => {
                    self.stats.count(tenant, |counts| counts.unwritten_reads += 1);
                    let placed = self.ftl.place_read(tenant, lpn, entry, mask);
                    self.after_placing(placed);
                    placed.phys
                }
                None => return Translated::Unwritten,
            };
            self.set_address(tx, phys);
            return Translated::Placed;
        }
        self.ftl.set_write_context(self.events.now(), tenant as u16);
        let plane = self.plane_for_write(tenant, lpn);
        if self.ftl.must_hold(tenant, lpn, plane) {
            self.held[plane.index()].push_back(tx);
            self.stats.count(tenant, |counts| counts.held_writes += 1);
            self.collect_for_held(plane);
            return Translated::Waits;
        }
        self.place_write(tx, plane);
        Translated::Placed
    }

    /// The plane that a write goes to.
    fn plane_for_write(&mut self, tenant: usize, lpn: u64) -> PlaneId {
        if !self.switches.any_dynamic {
            return self.ftl.static_plane(tenant, lpn);
        }
        self.ftl.plane_for_write(tenant, lpn, &Backlog(&self.flash))
    }

    /// Places a write. If it covers only a part of its page, it waits for a read of the rest.
    fn place_write(&mut self, tx: u32, plane: PlaneId) {
        let record = &self.txs[tx];
        let (tenant, lpn, entry, mask) =
            (record.tenant as usize, record.address, record.entry, record.mask);
        let old = self.ftl.phys(entry).filter(|_| self.switches.any_dynamic);
        let plan = self.ftl.place_write(tenant, lpn, entry, plane, mask);
        self.set_address(tx, plan.placed.phys);
        if let Some((old, missing)) = plan.merge {
            let mut merge = Tx::new(Class::UserRead, Purpose::Merge, old, entry);
            merge.address = lpn;
            merge.link = tx;
            merge.tenant = tenant as u16;
            merge.sectors = missing.count_ones() as u16;
            merge.mask = missing;
            merge.priority = self.internal_priority;
            let merge = self.txs.insert(merge);
            self.set_address(merge, old);
            self.txs[tx].blocked = true;
            self.txs[tx].link = merge;
            self.stats.count(tenant, |counts| counts.merge_reads += 1);
        }
        self.after_placing(plan.placed);
        if let Some(old) = old {
            // The page it replaces may have turned the block it lay in into the victim that held
            // writes wait for.
            self.after_program(old);
        }
    }

    /// Collects if the placement took a free block.
    pub(crate) fn after_placing(&mut self, placed: Placed) {
        if placed.opened {
            self.collect(self.layout.plane(placed.phys));
        }
    }

    /// Reads the rest of a translation page and writes the page back.
    fn write_back_mapping(&mut self, writeback: WriteBack) {
        let entry = self.ftl.entry(0, 0);
        // All pages of a block belong to one tenant.
        let tenant = self.ftl.block_tenant(self.layout.block(writeback.placed.phys));
        if self.stats.has_several() {
            self.stats.shares[tenant].ftl.mapping_writebacks += 1;
        }
        let mut store = NIL;
        if !self.switches.free_mapping_writes {
            let phys = writeback.placed.phys;
            let mut tx = Tx::new(Class::MappingWrite, Purpose::MappingStore, phys, entry);
            tx.address = writeback.page;
            tx.tenant = tenant as u16;
            tx.sectors = self.page_sectors as u16;
            tx.blocked = writeback.merge.is_some();
            store = self.txs.insert(tx);
            self.set_address(store, phys);
        }
        self.after_placing(writeback.placed);
        if let Some((old, bytes)) = writeback.merge {
            let mut tx = Tx::new(Class::MappingRead, Purpose::MappingMerge, old, entry);
            tx.address = writeback.page;
            tx.tenant = tenant as u16;
            tx.link = store;
            tx.sectors = (bytes / 512) as u16;
            let merge = self.txs.insert(tx);
            self.set_address(merge, old);
            self.count_mapping_read(tenant);
            self.staged.push(merge);
        }
        if store != NIL {
            self.staged.push(store);
        }
        self.schedule_unless_deferred();
    }

    /// A translation page was read: all transactions that waited for one of its mappings go on.
    pub(crate) fn mapping_read_done(&mut self, page: u64) {
        let mut tokens = self.take_list();
        self.ftl.mapping_arrived(page, &mut tokens);
        self.scheduling_deferred += 1;
        for &tx in &tokens {
            self.place_and_stage(tx);
        }
        self.scheduling_deferred -= 1;
        self.give_list(tokens);
        self.schedule_unless_deferred();
    }

    /// Starts a collection for a write that is held back. Otherwise collection starts only when a
    /// block is opened.
    pub(crate) fn collect_for_held(&mut self, plane: PlaneId) {
        if !self.switches.collect_when_full_only {
            self.collect(plane);
        }
    }

    /// Lets held transactions go on as long as their plane has room.
    pub(crate) fn release_held(&mut self, plane: PlaneId) {
        self.scheduling_deferred += 1;
        while let Some(&tx) = self.held[plane.index()].front() {
            let record = &self.txs[tx];
            if record.class == Class::GcRead {
                if self.ftl.must_hold_move(record.phys) {
                    break;
                }
                self.held[plane.index()].pop_front();
                self.move_read(tx);
                continue;
            }
            let (tenant, lpn) = (record.tenant as usize, record.address);
            let is_read = record.class == Class::UserRead;
            self.ftl.set_write_context(self.events.now(), tenant as u16);
            if is_read && self.ftl.static_plane(tenant, lpn) != plane {
                // The tenant got other channels while this read was held: its data now belong to
                // another plane, where it may have to wait again.
                self.held[plane.index()].pop_front();
                self.place_and_stage(tx);
                continue;
            }
            let must_hold = if is_read {
                self.ftl.must_hold_read(tenant, lpn)
            } else {
                self.ftl.must_hold(tenant, lpn, plane)
            };
            if must_hold {
                break;
            }
            self.held[plane.index()].pop_front();
            if is_read {
                self.place(tx);
            } else {
                self.place_write(tx, plane);
            }
            self.stage(tx);
        }
        self.scheduling_deferred -= 1;
        self.schedule_unless_deferred();
    }
}
