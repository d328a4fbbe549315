//! A drive that has a past: some of its pages, the fill of its frontiers and its cached mappings
//! are defined, not written.
//!
//! A run that begins in the middle of a trace needs only what that part of the trace will touch:
//! where those pages lie, how far each plane has written, which mappings are cached. Nothing else
//! is made, so defining costs what the touched pages cost, whatever the drive went through before.
//!
//! Pages are given by their number among all pages that their plane took. The block of a page is
//! made up (another page of that age may stand in a block of its own), its offset is the real one:
//! the offset decides how fast the page is and what it is read together with. Left out: pages that
//! nobody names. A drive on the verge of collection cannot be defined so.

use super::Ftl;
use crate::block::{FrontierId, Plane, SectorMask};
use crate::error::FtlError;
use crate::number::{Owner, TranslationPageId};
use crate::page_table::CacheStatus;
use ssdtune_model::{BlockAddr, BlockId, Lpn, PageId, PlaneId, TenantId};

/// A page that was written before the drive's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastPage {
    /// The logical page.
    pub lpn: Lpn,
    /// The place of its plane in the tenant's order of planes.
    pub position: u32,
    /// How many pages the plane had taken before it.
    pub nth: u64,
    /// Its written sectors.
    pub sectors: SectorMask,
}

/// A mapping that is cached at the drive's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastMapping {
    /// The logical page.
    pub lpn: Lpn,
    /// It has changed since its translation page was written.
    pub dirty: bool,
}

impl Ftl {
    /// The number of planes that a tenant's pages are laid over.
    pub fn plane_count(&self, tenant: TenantId) -> u32 {
        self.tenants[tenant].planes.len() as u32
    }

    /// The planes that a tenant's pages are laid over, in their order.
    pub fn tenant_planes(&self, tenant: TenantId) -> &[PlaneId] {
        &self.tenants[tenant].planes
    }

    /// Mappings that the tenant's cache holds; `None` if every mapping is in DRAM.
    pub fn mapping_capacity(&self, tenant: TenantId) -> Option<u32> {
        self.caches.get(self.cache_of(tenant)).map(|cache| cache.capacity())
    }

    /// Says where pages of an empty drive lie. `taken` tells, plane by plane in the tenant's order,
    /// how many pages the plane has taken so far; a page's number is below that of its plane.
    ///
    /// # Errors
    /// [`FtlError::OutOfSpace`] if a plane has not as many blocks as the pages need.
    ///
    /// # Panics
    /// A page is given twice, or the tables are not as long as the tenant's planes.
    pub fn define_pages(
        &mut self,
        tenant: TenantId,
        pages: &[PastPage],
        taken: &[u64],
    ) -> Result<(), FtlError> {
        let each = u64::from(self.geometry.pages_per_block);
        for (position, &taken) in taken.iter().enumerate() {
            let plane = self.tenants[tenant].planes[position];
            let next = (taken % each) as u32;
            if next > 0 && !self.planes[plane].open_past(tenant, FrontierId::DATA, next) {
                return Err(FtlError::OutOfSpace { plane });
            }
        }
        // The blocks of each plane that hold past pages and are full, in no order.
        let mut full: Vec<Vec<BlockId>> = vec![Vec::new(); taken.len()];
        for page in pages {
            let at = page.position as usize;
            let plane = self.tenants[tenant].planes[at];
            let (block, offset) = (page.nth / each, PageId((page.nth % each) as u32));
            let record = &mut self.planes[plane];
            let is_open = block == taken[at] / each;
            let open = is_open.then(|| record.open_block(tenant, FrontierId::DATA)).flatten();
            let block = match open {
                Some(block) => block,
                None => Self::full_block(record, tenant, &mut full[at], offset)
                    .ok_or(FtlError::OutOfSpace { plane })?,
            };
            let owner = self.tenants[tenant].page(page.lpn);
            record.set_past(block, offset, Owner::from(owner), page.sectors);
            let entry = self.table.entry(owner);
            let phys = self.layout.pack(BlockAddr { plane, block }, offset);
            self.table.set_phys(entry, phys);
        }
        Ok(())
    }

    /// A full block of a plane in which this offset is free.
    fn full_block(
        plane: &mut Plane,
        tenant: TenantId,
        full: &mut Vec<BlockId>,
        offset: PageId,
    ) -> Option<BlockId> {
        let free = full.iter().copied().find(|&block| !plane.holds(block, offset));
        free.or_else(|| {
            let block = plane.fill_past(tenant, FrontierId::DATA)?;
            full.push(block);
            Some(block)
        })
    }

    /// Puts mappings into the tenant's cache, the one used longest ago first. `others` are mappings
    /// that the cache holds besides and that nobody will ask for: they take room and never leave.
    pub fn define_mappings(
        &mut self,
        tenant: TenantId,
        mappings: impl IntoIterator<Item = PastMapping>,
        others: u64,
    ) {
        let id = self.cache_of(tenant);
        if self.caches.get(id).is_none() {
            return;
        }
        for mapping in mappings {
            let page = self.tenants[tenant].page(mapping.lpn);
            let at = self.table.entry(page);
            let cache = &mut self.caches[id];
            let slot = cache.reserve(page);
            cache.set_ready(slot);
            cache.set_dirty(slot, mapping.dirty);
            self.table.set_status(at, CacheStatus::Slot(slot));
        }
        self.caches[id].shrink(others);
    }

    /// Says that translation pages have been written again since the drive was made: those that
    /// hold the mappings of these pages, each as often as stands beside it.
    pub fn define_rewrites(&mut self, tenant: TenantId, rewrites: &[(Lpn, u32)]) {
        if self.is_ideal() {
            return;
        }
        for &(lpn, times) in rewrites {
            let index = lpn.0 / self.entries_per_page;
            let page = TranslationPageId(self.translation_base(tenant).0 + index);
            for _ in 0..times {
                if let Some(old) = self.translation.phys(page) {
                    let (plane, at) = self.layout.spot(old);
                    self.planes[plane].invalidate(at);
                }
                let placed = self.append_translation(tenant, page, index);
                self.translation.set_phys(page, placed.phys);
                self.program_done(placed.phys);
            }
        }
    }

    /// Mappings that one translation page holds.
    pub fn mappings_per_page(&self) -> u64 {
        self.entries_per_page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::TenantSpec;
    use crate::tenant::Places;
    use ssdtune_model::DeviceConfig;

    const TENANT: TenantId = TenantId(0);

    /// A drive of four planes of 32 blocks of 8 pages.
    fn drive(mappings: u64) -> Ftl {
        let mut config = DeviceConfig::default();
        [config.bus.channels, config.bus.chips_per_channel] = [2, 2];
        [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
        [config.flash.blocks_per_plane, config.flash.pages_per_block] = [32, 8];
        config.mapping.ideal = mappings == 0;
        config.mapping.cmt_capacity.0 = mappings * 8;
        let places = Places::all(&config.flash_geometry());
        Ftl::new(&config, &[TenantSpec { places, writer: false }]).unwrap()
    }

    fn place(ftl: &mut Ftl, lpn: Lpn) -> (u32, u32) {
        let entry = ftl.entry(TENANT, lpn);
        let phys = ftl.phys(entry).unwrap();
        (ftl.layout().plane(phys).0, ftl.layout().page(phys).0)
    }

    /// What is defined lies where writing would have put it, and the next write goes to the next
    /// page.
    #[test]
    fn defined_pages_lie_where_written_ones_do() {
        let (mut written, mut defined) = (drive(0), drive(0));
        let whole = written.config.full_mask;
        let planes = u64::from(written.plane_count(TENANT));
        let (mut taken, mut last) = (vec![0_u64; planes as usize], [(0, 0); 96]);
        for write in 0..300_u64 {
            let lpn = write * write % 96;
            written.warm_up().write_whole(TENANT, Lpn(lpn)).unwrap();
            let position = (lpn % planes) as u32;
            let nth = &mut taken[position as usize];
            last[lpn as usize] = (position, *nth + 1);
            *nth += 1;
        }
        let pages: Vec<PastPage> = (last.iter().zip(0..))
            .filter(|((_, count), _)| *count > 0)
            .map(|(&(position, count), lpn)| PastPage {
                lpn: Lpn(lpn),
                position,
                nth: count - 1,
                sectors: whole,
            })
            .collect();
        defined.define_pages(TENANT, &pages, &taken).unwrap();
        defined.check();
        assert_eq!(defined.mapped_pages(), written.mapped_pages());
        for page in &pages {
            assert_eq!(place(&mut defined, page.lpn), place(&mut written, page.lpn));
        }
        for lpn in (0..96).map(Lpn) {
            written.warm_up().write_whole(TENANT, lpn).unwrap();
            defined.warm_up().write_whole(TENANT, lpn).unwrap();
            assert_eq!(place(&mut defined, lpn), place(&mut written, lpn));
        }
        defined.check();
    }

    #[test]
    fn defined_mappings_are_hits_in_their_order_and_others_only_take_room() {
        let mut ftl = drive(64);
        let most = u64::from(ftl.mapping_capacity(TENANT).unwrap());
        let mappings = (0..8).map(|lpn| PastMapping { lpn: Lpn(lpn), dirty: false });
        ftl.define_mappings(TENANT, mappings, most - 8);
        let mut access = |lpn: u64| {
            let hits = ftl.counters().mapping_hits;
            ftl.warm_up().read(TENANT, Lpn(lpn));
            ftl.counters().mapping_hits > hits
        };
        assert!((4..8).all(&mut access));
        // A new one pushes out the one used longest ago, which is the first.
        assert!(!access(100) && access(1) && !access(0));
        assert!(!access(2), "the second one left when the first came back");
    }
}
