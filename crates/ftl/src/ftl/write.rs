//! Host writes and trims: which plane and which write frontier a page goes to, when a write must
//! wait for space, and what becomes of the page it replaces.
//!
//! Cost of a write: one page-table entry, the valid bit of the page it replaces and its block's
//! counter, and a new record of 4 B, plus what the placement policy takes.

use super::{Ftl, Load, Placed, WritePlan};
use crate::block::{FrontierId, Pick, SectorMask};
use crate::layout::Phys;
use crate::number::Owner;
use crate::page_table::EntryRef;
use ssdtune_model::{BlockAddr, Lpn, PlaneId, TenantId};

/// Planes of a list, from the one whose turn it is on to the one before.
fn rotated(planes: &[PlaneId], turn: u32) -> impl Iterator<Item = PlaneId> {
    let (before, from) = planes.split_at(turn as usize % planes.len().max(1));
    from.iter().chain(before).copied()
}

impl Ftl {
    /// The plane that the next write of a logical page goes to: by static placement its place in
    /// the plane order; by dynamic placement that, too, while nothing waits or runs there, else the
    /// plane with the smallest backlog. Over an open border
    /// ([`Border::Open`](super::Border::Open)) both look at the rest of the drive, too.
    ///
    /// Pages that stay in their order while the drive has little to do are read back from as many
    /// channels as by static placement.
    #[inline]
    pub fn plane_for_write(&mut self, tenant: TenantId, lpn: Lpn, load: &impl Load) -> PlaneId {
        let owner = &self.tenants[tenant];
        let own = owner.static_plane(lpn.0);
        let is_bound = !owner.dynamic && owner.abroad.is_empty();
        if is_bound || load.backlog(own) == 0 && !self.must_hold(tenant, lpn, own) {
            return own;
        }
        self.least_busy_plane(tenant, lpn, load)
    }

    /// The plane with the smallest backlog; those without room come last. Among equals the place by
    /// the static order comes first, then the tenant's own planes, then those over an open border,
    /// each list from the turn on.
    ///
    /// Of the die that was found so, dynamic placement takes the plane whose frontier lags: one
    /// command programs several planes only at one offset, so frontiers that drift apart cost
    /// large writes time.
    fn least_busy_plane(&mut self, tenant: TenantId, lpn: Lpn, load: &impl Load) -> PlaneId {
        let owner = &self.tenants[tenant];
        let own = owner.static_plane(lpn.0);
        let effort = |plane| (self.must_hold(tenant, lpn, plane), load.backlog(plane));
        let (mut best, mut least) = (own, effort(own));
        let in_turn = |planes| rotated(planes, self.turn);
        for plane in in_turn(&owner.planes).chain(in_turn(&owner.abroad)) {
            let effort = effort(plane);
            let lags = || owner.dynamic && self.lags(tenant, lpn, plane, best);
            if effort < least || effort == least && lags() {
                (best, least) = (plane, effort);
            }
        }
        self.turn = self.turn.wrapping_add(1);
        best
    }

    /// Whether a plane is in the same die as another, and the frontier that the page would go to
    /// behind that one's.
    fn lags(&self, tenant: TenantId, lpn: Lpn, plane: PlaneId, other: PlaneId) -> bool {
        let die = |plane: PlaneId| plane.0 / self.geometry.planes_per_die;
        die(plane) == die(other) && {
            let frontier = self.host_frontier(tenant, lpn, plane);
            frontier == self.host_frontier(tenant, lpn, other)
                && self.planes[plane].is_behind(&self.planes[other], tenant, frontier)
        }
    }

    /// The plane of a logical page by the static plane order, whatever the allocation of the
    /// tenant.
    #[inline]
    pub fn static_plane(&self, tenant: TenantId, lpn: Lpn) -> PlaneId {
        self.tenants[tenant].static_plane(lpn.0)
    }

    /// Whether a host write to a plane must be held back until the plane has been collected. Ask
    /// before [`Ftl::place_write`].
    #[inline]
    pub fn must_hold(&self, tenant: TenantId, lpn: Lpn, at: PlaneId) -> bool {
        let free = self.planes[at].free_blocks();
        if self.config.eager_frontiers {
            return free < self.config.reserve;
        }
        free <= self.config.reserve
            && self.must_hold_direct(tenant, lpn, at)
            && !self.admits_slc(tenant, at)
    }

    /// As [`Ftl::must_hold`], for a write that does not go to the SLC cache.
    pub(crate) fn must_hold_direct(&self, tenant: TenantId, lpn: Lpn, plane: PlaneId) -> bool {
        let plane = &self.planes[plane];
        let free = plane.free_blocks();
        if self.config.eager_frontiers {
            return free < self.config.reserve;
        }
        free <= self.config.reserve && {
            let frontier = self.direct_frontier(tenant, lpn);
            free < self.config.floor || !plane.has_room(tenant, frontier)
        }
    }

    /// Whether a page that cannot be held back may be written without taking space that page moves
    /// rely on.
    pub(crate) fn has_room_unheld(
        &self,
        tenant: TenantId,
        frontier: FrontierId,
        plane: PlaneId,
    ) -> bool {
        let record = &self.planes[plane];
        let opens_none = if self.config.eager_frontiers {
            !record.is_nearly_full(tenant, frontier)
        } else {
            record.has_room(tenant, frontier)
        };
        // Translation pages that are moved and those that are written back share a frontier. So
        // room in the frontier does not suffice: a free block must be left as well.
        let keep = self.config.keep;
        record.free_blocks() > keep || record.free_blocks() == keep && opens_none
    }

    /// Whether [`Ftl::place_read`] must be held back until the page's plane has been collected.
    pub fn must_hold_read(&self, tenant: TenantId, lpn: Lpn) -> bool {
        !self.has_room_unheld(tenant, FrontierId::DATA, self.static_plane(tenant, lpn))
    }

    /// Places a host write of some sectors of a page, and invalidates the old physical page.
    ///
    /// `plane` comes from [`Ftl::plane_for_write`], and [`Ftl::must_hold`] has said that the write
    /// need not wait.
    ///
    /// # Panics
    /// The plane has no room.
    #[inline]
    pub fn place_write(
        &mut self,
        tenant: TenantId,
        lpn: Lpn,
        at: EntryRef,
        plane: PlaneId,
        sectors: SectorMask,
    ) -> WritePlan {
        let frontier = self.host_frontier(tenant, lpn, plane);
        self.place_on(tenant, lpn, at, (plane, frontier), sectors)
    }

    /// As [`Ftl::place_write`], on a frontier.
    #[inline]
    pub(crate) fn place_on(
        &mut self,
        tenant: TenantId,
        lpn: Lpn,
        at: EntryRef,
        (plane, frontier): (PlaneId, FrontierId),
        sectors: SectorMask,
    ) -> WritePlan {
        let mut merge = None;
        let mut all = sectors;
        if let Some(old) = self.table.phys(at) {
            let (old_plane, spot) = self.layout.spot(old);
            if sectors != self.config.full_mask {
                let before = self.planes[old_plane].sectors(spot);
                if before & !sectors != 0 {
                    merge = Some((old, before & !sectors));
                }
                all |= before;
            }
            self.planes[old_plane].invalidate(spot);
        }
        let owner = self.tenants[tenant].page(lpn);
        if self.slc.is_some() && frontier == FrontierId::SLC {
            self.count_slc_page();
        }
        let placed = self.append(tenant, frontier, plane, owner.into(), all);
        self.placer.observe(owner);
        self.table.set_phys(at, placed.phys);
        self.dirty_mapping(tenant, owner, at);
        WritePlan { placed, merge }
    }

    /// Gives a page that was never written a place, because the host reads it. A peculiarity of
    /// MQSim (`compat.read_allocates`). [`Ftl::must_hold_read`] has said that the read need not
    /// wait.
    pub fn place_read(
        &mut self,
        tenant: TenantId,
        lpn: Lpn,
        at: EntryRef,
        sectors: SectorMask,
    ) -> Placed {
        let plane = self.tenants[tenant].static_plane(lpn.0);
        let owner = self.tenants[tenant].page(lpn);
        let placed = self.append(tenant, FrontierId::DATA, plane, owner.into(), sectors);
        self.table.set_phys(at, placed.phys);
        self.dirty_mapping(tenant, owner, at);
        placed
    }

    /// Writes a page to a tenant's write frontier, and opens a new block for the frontier if it has
    /// none.
    #[inline]
    pub(crate) fn append(
        &mut self,
        tenant: TenantId,
        frontier: FrontierId,
        plane: PlaneId,
        owner: Owner,
        sectors: SectorMask,
    ) -> Placed {
        self.wake(plane);
        let mut opened = self.make_room(tenant, frontier, plane);
        let record = &mut self.planes[plane];
        let slot = record.append(tenant, frontier, owner, sectors);
        if slot.filled && self.config.eager_frontiers {
            // If no block is free, the frontier gets one of those erased next.
            opened = record.open_frontier(tenant, frontier, Pick::InOrder).is_some();
        }
        let at = BlockAddr { plane, block: slot.at.block };
        Placed { phys: self.layout.pack(at, slot.at.page), opened }
    }

    /// Opens a block for a frontier that has none. Returns whether it did. A block of the drive's
    /// start that is written on gets page records.
    #[inline]
    fn make_room(&mut self, tenant: TenantId, frontier: FrontierId, plane: PlaneId) -> bool {
        let record = &mut self.planes[plane];
        if record.has_room(tenant, frontier) {
            if let Some(block) = record.computed_frontier(tenant, frontier) {
                self.materialise_block(BlockAddr { plane, block });
            }
            return false;
        }
        let pick = self.placer.pick(frontier, &mut self.rng);
        let opened = record.open_frontier(tenant, frontier, pick);
        let block = opened.expect("a plane has no free block: a write was not held");
        self.placer.opened(BlockAddr { plane, block }, frontier);
        true
    }

    /// Writes pages to a tenant's write frontier, as many as its block has room for, without time:
    /// their programs have ended. Returns the first of them and their number. `sectors` are those
    /// of each page, or nothing if all pages are whole.
    pub(crate) fn append_programmed(
        &mut self,
        tenant: TenantId,
        frontier: FrontierId,
        plane: PlaneId,
        owners: &[Owner],
        sectors: &[SectorMask],
    ) -> (Phys, usize) {
        self.make_room(tenant, frontier, plane);
        let record = &mut self.planes[plane];
        let run = record.append_programmed(tenant, frontier, owners, sectors);
        if run.filled && self.config.eager_frontiers {
            record.open_frontier(tenant, frontier, Pick::InOrder);
        }
        let at = BlockAddr { plane, block: run.first.block };
        (self.layout.pack(at, run.first.page), run.count as usize)
    }

    /// Reports that the program of a physical page has ended, whoever wrote it.
    #[inline]
    pub fn program_done(&mut self, phys: Phys) {
        let (plane, at) = self.layout.spot(phys);
        self.planes[plane].programmed(at);
    }

    /// Discards the content of a logical page. Returns the plane that held it: a block there may be
    /// a victim now. `None` if the page held no data.
    pub fn trim(&mut self, tenant: TenantId, lpn: Lpn) -> Option<PlaneId> {
        let at = self.find(tenant, lpn)?;
        let old = self.table.phys(at)?;
        let (plane, spot) = self.layout.spot(old);
        self.planes[plane].invalidate(spot);
        self.table.unmap(at);
        self.dirty_mapping(tenant, self.tenants[tenant].page(lpn), at);
        Some(plane)
    }

    /// The sectors of a physical page that were written. The page must still be valid.
    pub fn sectors(&self, phys: Phys) -> SectorMask {
        let (plane, at) = self.layout.spot(phys);
        self.planes[plane].sectors(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::{Border, TenantSpec};
    use crate::tenant::Places;
    use ssdtune_model::config::Allocation;
    use ssdtune_model::presets;

    const TENANT: TenantId = TenantId(0);

    /// The backlog of each half of the eight planes. Channel by channel, and die by die, planes
    /// have consecutive numbers.
    struct OfHalf([u64; 2]);

    impl Load for OfHalf {
        fn backlog(&self, plane: PlaneId) -> u64 {
            self.0[(plane.0 / 4) as usize]
        }
    }

    /// A drive of two channels and eight planes.
    fn drive(allocation: Allocation, chips: u32, planes: u32) -> (Ftl, Places) {
        let mut config = presets::load("intel-750").expect("a preset");
        (config.bus.channels, config.bus.chips_per_channel) = (2, chips);
        (config.flash.dies_per_chip, config.flash.planes_per_die) = (1, planes);
        config.flash.blocks_per_plane = 64;
        config.mapping.allocation = allocation;
        let all = Places::all(&config.flash_geometry());
        (Ftl::new(&config, &[spec(all.clone())]).expect("a sound drive"), all)
    }

    fn spec(places: Places) -> TenantSpec {
        TenantSpec { places, writer: true }
    }

    /// The channels that eight writes go to of a tenant that was bound to channel 1, and how often
    /// they go to another plane than the static one.
    fn written(allocation: Allocation, border: Border, load: [u64; 2]) -> ([u32; 2], u32) {
        let (mut ftl, all) = drive(allocation, 2, 2);
        let own = Places { channels: vec![1], ..all };
        ftl.bind(TENANT, &spec(own), border).expect("there is such a channel");
        let (mut channels, mut moved) = ([0; 2], 0);
        for lpn in (0..8).map(Lpn) {
            let plane = ftl.plane_for_write(TENANT, lpn, &OfHalf(load));
            channels[(plane.0 / 4) as usize] += 1;
            moved += u32::from(plane != ftl.static_plane(TENANT, lpn));
        }
        (channels, moved)
    }

    #[test]
    fn a_write_stays_in_its_part_unless_there_is_less_to_do_elsewhere() {
        use Allocation::{Dynamic, Static};
        for border in [Border::Closed, Border::Open] {
            for load in [[0, 0], [3, 3], [5, 3]] {
                assert_eq!(written(Static, border, load), ([0, 8], 0), "{border:?} {load:?}");
                assert_eq!(written(Dynamic, border, load).0, [0, 8], "{border:?} {load:?}");
            }
        }
        for allocation in [Static, Dynamic] {
            assert_eq!(written(allocation, Border::Closed, [2, 3]).0, [0, 8], "{allocation:?}");
            assert_eq!(written(allocation, Border::Open, [2, 3]), ([8, 0], 8), "{allocation:?}");
        }
    }

    #[test]
    fn a_dynamic_write_keeps_its_static_place_while_that_has_nothing_to_do() {
        assert_eq!(written(Allocation::Dynamic, Border::Closed, [3, 0]), ([0, 8], 0));
        let (mut ftl, _) = drive(Allocation::Dynamic, 1, 4);
        for lpn in (0..64).map(|number| Lpn(number * number)) {
            let own = ftl.static_plane(TENANT, lpn);
            let (half, mut load) = ((own.0 / 4) as usize, [0, 1]);
            load[half] = 0;
            assert_eq!(ftl.plane_for_write(TENANT, lpn, &OfHalf(load)), own, "{lpn:?}");
            (load[half], load[1 - half]) = (2, 1);
            let other = ftl.plane_for_write(TENANT, lpn, &OfHalf(load));
            assert_eq!((other.0 / 4) as usize, 1 - half, "{lpn:?}");
        }
    }

    /// One command programs four planes only at one offset of their blocks.
    #[test]
    fn dynamic_writes_keep_the_planes_of_a_die_level() {
        let (mut ftl, _) = drive(Allocation::Dynamic, 1, 4);
        let mut written = [0_u32; 8];
        for number in 0..3_000_u64 {
            // Places by the static order that favour some planes.
            let lpn = Lpn(number * number % 31);
            let load = OfHalf([1 + number % 3, 1 + number % 5]);
            let plane = ftl.plane_for_write(TENANT, lpn, &load);
            ftl.append(TENANT, FrontierId::DATA, plane, Owner::IN_FLIGHT, 1);
            written[plane.0 as usize] += 1;
            for die in written.chunks(4) {
                let apart = die.iter().max().unwrap() - die.iter().min().unwrap();
                assert!(apart <= 1, "{written:?}");
            }
        }
        assert!(written.iter().all(|&pages| pages > 100), "{written:?}");
    }
}
