//! Compares the real FTL of a [`Driver`] with the reference drive.

use super::{Driver, Owner, State};
use ssdtune_model::{Lpn, Place, TenantId};

impl Driver {
    /// Compares one logical page.
    pub(super) fn compare(&self, tenant: TenantId, lpn: Lpn) {
        let owner = Owner::Data(tenant, lpn);
        let phys = self.ftl.existing_entry(tenant, lpn).and_then(|entry| self.ftl.phys(entry));
        let expected = self.reference.place.get(&owner).copied();
        assert_eq!(phys, expected, "{tenant:?} {lpn:?}");
        if let Some(phys) = phys {
            let page = self.reference.page(phys);
            assert_eq!(page.owner, owner);
            assert_eq!(Some(&page.version), self.reference.versions.get(&owner), "stale data");
            assert_eq!(self.ftl.sectors(phys), page.sectors);
        }
    }

    /// Compares everything, and checks the invariants of the FTL.
    pub fn check(&self) {
        self.ftl.check();
        let mut mapped = 0;
        for tenant in (0..self.case.tenants.len()).map(TenantId::at) {
            for lpn in (0..self.ftl.tenant_pages(tenant)).map(Lpn) {
                self.compare(tenant, lpn);
                mapped += u64::from(self.reference.place.contains_key(&Owner::Data(tenant, lpn)));
            }
        }
        assert_eq!(self.ftl.mapped_pages(), mapped);
        for plane in self.held.names() {
            assert_eq!(self.ftl.free_blocks(plane), self.reference.free_blocks(plane));
        }
        assert_eq!(self.ftl.erase_histogram(), self.reference.erase_histogram());
        let counters = self.ftl.counters();
        assert_eq!(counters.moved_pages, self.moves[0]);
        assert_eq!(counters.moves_dropped, self.moves[1]);
        assert_eq!([counters.collections, counters.wear_collections], self.collections);
        if let Some(counters) = self.ftl.slc_counters() {
            assert_eq!(counters.written_pages, self.in_slc);
            assert_eq!(counters.idle_folds, self.folds);
            assert!(counters.folded_pages <= self.moves[0]);
        }
        if let Some(mapping) = &self.mapping {
            assert_eq!(counters.mapping_hits, mapping.hits);
            assert_eq!(counters.mapping_misses_read, mapping.misses[0]);
            assert_eq!(counters.mapping_misses_write, mapping.misses[1]);
            assert_eq!(counters.mapping_writebacks, mapping.writebacks);
        }
        self.check_blocks();
    }

    /// Programs for the host, for moves and for mappings are all pages ever written.
    fn check_blocks(&self) {
        let [data, translation, moved] = self.reference.appended;
        assert!(moved <= self.moves[0], "more pages written by moves than moved");
        let written = data + translation + moved;
        assert!(written >= data, "write amplification below one");
        for block in self.reference.planes.iter().flatten() {
            assert_eq!(block.state == State::Free, block.purpose.is_none());
        }
    }

    /// Pages written in SLC mode, blocks in that mode that idle time has folded, and those folded
    /// for space.
    pub fn slc_activity(&self) -> [u64; 3] {
        let pressed = self.ftl.slc_counters().map_or(0, |counters| counters.pressed_folds);
        [self.in_slc, self.folds, pressed]
    }

    /// How many blocks were collected for space, how many for wear, how many pages were moved, and
    /// how often a tenant was bound to other channels.
    pub fn activity(&self) -> [u64; 4] {
        [self.collections[0], self.collections[1], self.moves[0], self.switched]
    }
}
