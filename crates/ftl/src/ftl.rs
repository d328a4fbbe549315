//! The flash translation layer (FTL) of one drive: its state, how it is set up, and how entries are
//! found.
//!
//! The FTL is a passive state machine. The caller says what happened, and the FTL answers where
//! data are and where they go. It never reads a clock and never waits. The caller decides when
//! flash operations run, and reports when they end: [`Ftl::program_done`],
//! [`Ftl::mapping_arrived`], [`Ftl::commit_move`], [`Ftl::erase_done`].
//!
//! The other operations of an [`Ftl`] stand in files of their own: `write` (host writes and trims),
//! `mapping` and `initial_mappings` (the cached mapping table), `collect` (garbage collection and
//! wear levelling), `content` (drives that are not empty at the start), `past` (drives that
//! begin in the middle of a trace), `warmup` (ageing without
//! time), `policy` (placement policies), `slc_cache`, `inspect` (figures and checks), `snapshot`.
//!
//! Cost: a logical page takes 4 B of page table, 8 B if the data cache marks pages, and, once
//! written, 4 B of block record.
//!
//! Left out: bad blocks, data retention, read disturb.

mod collect;
mod content;
mod initial_mappings;
mod inspect;
mod mapping;
mod past;
mod policy;
mod slc_cache;
mod snapshot;
mod vocabulary;
mod warmup;
mod write;

pub use past::{PastMapping, PastPage};
pub use slc_cache::SlcCounters;
pub use snapshot::FtlState;
pub use vocabulary::{
    Border, FtlCounters, Load, MappingAccess, NoLoad, Placed, TenantSpec, WriteBack, WritePlan,
};
pub use warmup::Warmup;

use crate::block::{FrontierId, Pick, Plane, SectorMask};
use crate::cmt::{MappingCache, TranslationPages};
use crate::error::FtlError;
use crate::gc::VictimRules;
use crate::initial_content::ComputedContent;
use crate::layout::{Layout, Phys};
use crate::number::{CacheId, LogicalPage, TranslationPageId};
use crate::page_table::{CacheMark, EntryRef, PageTable};
use crate::placement::{FrontierNeeds, Placer};
use crate::switches::Switches;
use crate::tenant::{Places, Tenant, visible_sectors};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use slc_cache::SlcCache;
use ssdtune_model::config::{Allocation, GcUnit, PlaneOrder, Sharing};
use ssdtune_model::{DeviceConfig, Geometry, Lpn, PlaneId, Table, TenantId};
use warmup::Batch;

/// The flash translation layer of one drive. See the [crate's page](crate) for how to drive it.
#[derive(Clone)]
pub struct Ftl {
    /// The shape of the flash as it is allocated: see [`Ftl::geometry`].
    pub(crate) geometry: Geometry,
    /// The shape of the flash itself.
    flash: Geometry,
    unit: GcUnit,
    pub(crate) layout: Layout,
    /// Logical page to physical page, for all tenants.
    pub(crate) table: PageTable,
    pub(crate) planes: Table<PlaneId, Plane>,
    pub(crate) tenants: Table<TenantId, Tenant>,
    /// The mapping caches: none if the mapping is ideal, one if tenants share it, else one for each
    /// tenant.
    pub(crate) caches: Table<CacheId, MappingCache>,
    pub(crate) translation: TranslationPages,
    /// Mappings that one translation page holds.
    pub(crate) entries_per_page: u64,
    /// Size of a mapping on flash, in bytes.
    pub(crate) entry_bytes: u64,
    /// How victims are chosen.
    pub(crate) rules: VictimRules,
    /// Random choices of victims and free blocks.
    pub(crate) rng: Pcg64Mcg,
    pub(crate) config: Switches,
    pub(crate) counters: FtlCounters,
    /// Counts the writes that were placed by load. Planes with equal backlogs are looked at from
    /// there on, so that they are used in turn.
    pub(crate) turn: u32,
    /// Writes of some tenant may have been placed by backlogs. Once true it stays true.
    pub(crate) is_by_load: bool,
    /// Some tenant was bound to other planes than before, so its pages may lie outside those that
    /// it has now.
    pub(crate) is_rebound: bool,
    pub(crate) plane_order: PlaneOrder,
    pub(crate) allocation: Allocation,
    /// What the drive held at the start, if it was not empty.
    pub(crate) initial_content: Option<Box<ComputedContent>>,
    /// Scratch lists of a victim's pages, used while a warm-up moves them. Empty between two calls.
    pub(crate) batch: Batch,
    /// The placement policy.
    pub(crate) placer: Placer,
    /// Blocks that the host writes in SLC mode, if any.
    pub(crate) slc: Option<SlcCache>,
}

/// The planes of an empty drive. `frontiers` are those of each tenant in each plane, `whole` all
/// sectors of a page.
fn empty_planes(
    config: &DeviceConfig,
    geometry: &Geometry,
    tenants: usize,
    frontiers: usize,
    whole: SectorMask,
) -> Table<PlaneId, Plane> {
    let (blocks, pages) = (geometry.blocks_per_plane, geometry.pages_per_block);
    let empty = || {
        let mut plane = Plane::new(blocks, pages, tenants, frontiers, whole);
        if let Some(pages) = config.slc_pages_per_block() {
            plane.allow_slc_mode(pages, config.slc_cache.static_blocks);
        }
        plane
    };
    (0..geometry.planes()).map(|_| empty()).collect()
}

impl Ftl {
    /// Makes an empty drive.
    ///
    /// # Errors
    /// The configuration or the tenants ask for a drive that cannot work; [`FtlError`] says why.
    pub fn new(config: &DeviceConfig, specs: &[TenantSpec]) -> Result<Self, FtlError> {
        let (flash, unit) = (config.flash_geometry(), config.gc.unit);
        let geometry = config.allocation_geometry();
        let layout = Layout::new(&geometry)?;
        if specs.is_empty() {
            return Err(FtlError::NoTenant);
        }
        let specs: Table<TenantId, &TenantSpec> = specs.iter().collect();
        let places: Table<TenantId, Places> = (specs.named())
            .map(|(tenant, spec)| {
                spec.places.check(tenant, &flash)?.allocated(tenant, unit, &flash)
            })
            .collect::<Result<_, _>>()?;
        let sectors_per_page = u64::from(geometry.sectors_per_page());
        let visible = visible_sectors(&places, &geometry, config.mapping.overprovisioning);
        let mut tenants = Table::default();
        let mut base = 0;
        for (tenant, spec) in specs.named() {
            let sectors = visible[tenant];
            if sectors == 0 {
                return Err(FtlError::NoCapacity { tenant });
            }
            let planes = places[tenant].in_order(config.mapping.plane_order, &geometry);
            let dynamic = spec.is_dynamic(config.mapping.allocation);
            tenants.push(Tenant::new(LogicalPage(base), sectors, planes, dynamic));
            // Each tenant starts at a leaf of its own, so the pages of a leaf belong to one tenant.
            base += sectors.div_ceil(sectors_per_page).next_multiple_of(8);
        }
        let needs = FrontierNeeds::of(config, specs.len() as u32);
        let switches = Switches::new(config, &geometry, &needs);
        let slc = SlcCache::new(config, switches.threshold);
        let extra = slc.as_ref().map_or(0, |slc| slc.blocks_needed(config, specs.len() as u32));
        let needed = (needs.open + switches.reserve + 1).saturating_add(extra);
        if geometry.blocks_per_plane < needed {
            return Err(FtlError::TooFewBlocks { blocks: geometry.blocks_per_plane, needed });
        }
        let placer = Placer::new(config, base);
        placer.check_spare(config, &needs)?;
        let frontiers = placer.frontiers() + usize::from(slc.is_some());
        let mut ftl = Self {
            layout,
            table: PageTable::new(base, !config.mapping.ideal),
            planes: empty_planes(config, &geometry, specs.len(), frontiers, switches.full_mask),
            tenants,
            caches: Table::default(),
            translation: TranslationPages::default(),
            entries_per_page: 0,
            entry_bytes: 0,
            rules: VictimRules::new(config, &geometry),
            rng: Pcg64Mcg::seed_from_u64(config.run.seed),
            config: switches,
            counters: FtlCounters::default(),
            turn: 0,
            is_by_load: config.mapping.allocation != Allocation::Static,
            is_rebound: false,
            plane_order: config.mapping.plane_order,
            allocation: config.mapping.allocation,
            initial_content: None,
            batch: Batch::default(),
            placer,
            slc,
            geometry,
            flash,
            unit,
        };
        ftl.lay_out_frontiers();
        ftl.lay_out_mapping(config);
        Ok(ftl)
    }

    /// MQSim gives every write frontier a block at once.
    fn lay_out_frontiers(&mut self) {
        if !self.config.eager_frontiers {
            return;
        }
        for plane in &mut self.planes {
            for tenant in self.tenants.names() {
                for frontier in [FrontierId::DATA, FrontierId::TRANSLATION, FrontierId::MOVED] {
                    plane.open_frontier(tenant, frontier, Pick::InOrder);
                }
            }
        }
    }

    /// Computes the sizes of the mapping structures, and writes the translation pages to their
    /// first places.
    fn lay_out_mapping(&mut self, config: &DeviceConfig) {
        let pages_log2 = (self.geometry.pages() as f64).log2();
        let sectors = f64::from(self.geometry.sectors_per_page());
        self.entry_bytes = ((pages_log2 + sectors) / 8.0).ceil() as u64;
        self.entries_per_page = u64::from(self.geometry.page_bytes) / self.entry_bytes;
        if !config.mapping.ideal {
            let slot_bytes = ((2.0 * pages_log2 + sectors) / 8.0).ceil() as u64;
            let slots = (config.mapping.cmt_capacity.0 / slot_bytes).min(u32::MAX.into()) as u32;
            let tenants = self.tenants.len() as u32;
            let (count, each) = match config.mapping.cmt_sharing {
                Sharing::EqualPartitions => (tenants, slots / tenants),
                Sharing::Shared if config.compat.cmt_private_copies => (tenants, slots),
                Sharing::Shared => (1, slots),
            };
            self.caches = (0..count).map(|_| MappingCache::new(each)).collect();
            let pages = self.tenants.names().map(|tenant| self.translation_pages(tenant)).sum();
            self.translation = TranslationPages::new(pages);
        } else if !self.config.eager_frontiers {
            return;
        }
        for tenant in self.tenants.names() {
            let first = self.translation_base(tenant);
            // The last, partly filled translation page is made when it is first needed.
            let full = self.tenant_pages(tenant) / self.entries_per_page;
            // Plane by plane, so that the records of a block are written one after the other in
            // memory.
            let stride = self.tenants[tenant].planes.len();
            for page in (0..stride as u64).flat_map(|at| (at..full).step_by(stride)) {
                let id = TranslationPageId(first.0 + page);
                let placed = self.append_translation(tenant, id, page);
                self.program_done(placed.phys);
                if !config.mapping.ideal {
                    self.translation.set_phys(id, placed.phys);
                }
                if self.config.free_mapping_writes {
                    // In MQSim's model such a program never ends, so its block is never collected.
                    let at = self.layout.block(placed.phys);
                    self.planes[at.plane].blocks[at.block].programs += 1;
                }
            }
        }
    }

    /// Gives a tenant other planes from now on, and tells hybrid allocation whether it is a writer.
    /// `border` says whether its writes may leave these planes.
    ///
    /// Data stay where they are until they are rewritten or collected. The size of the tenant's
    /// address space does not change, so the new planes must have room for its data.
    ///
    /// # Errors
    /// The drive has no such plane.
    ///
    /// # Panics
    /// The drive has no such tenant.
    pub fn bind(
        &mut self,
        tenant: TenantId,
        spec: &TenantSpec,
        border: Border,
    ) -> Result<(), FtlError> {
        let places = spec.places.check(tenant, &self.flash)?;
        let places = places.allocated(tenant, self.unit, &self.flash)?;
        let planes = places.in_order(self.plane_order, &self.geometry);
        let abroad = match border {
            Border::Closed => Vec::new(),
            Border::Open => {
                let mut all =
                    Places::all(&self.geometry).in_order(self.plane_order, &self.geometry);
                all.retain(|plane| !planes.contains(plane));
                all
            }
        };
        self.is_by_load |= !abroad.is_empty();
        self.is_rebound |= planes != self.tenants[tenant].planes;
        let dynamic = spec.is_dynamic(self.allocation);
        self.tenants[tenant] = self.tenants[tenant].bound_to(planes, dynamic, abroad);
        // Its translation pages are written in other planes from now on.
        for cache in self.caches.names() {
            self.caches[cache].loosen_stuck();
            self.rehome_initial_mappings(cache);
        }
        Ok(())
    }

    /// Whether writes must be placed by [`Ftl::plane_for_write`] with real backlogs. If allocation
    /// is static and no tenant ever had an open border, [`Ftl::static_plane`] is enough.
    #[inline]
    pub fn is_by_load(&self) -> bool {
        self.is_by_load
    }

    /// Whether a page may lie in another plane than the one its next write goes to.
    #[inline]
    pub fn is_scattered(&self) -> bool {
        self.is_by_load || self.is_rebound
    }

    /// The number of tenants.
    pub fn tenants(&self) -> usize {
        self.tenants.len()
    }

    /// The size of a tenant's address space in logical pages. The last page may be a partial one.
    pub fn tenant_pages(&self, tenant: TenantId) -> u64 {
        self.tenants[tenant].sectors.div_ceil(self.geometry.sectors_per_page().into())
    }

    /// The size of a tenant's address space in sectors.
    pub fn tenant_sectors(&self, tenant: TenantId) -> u64 {
        self.tenants[tenant].sectors
    }

    /// The number of a tenant's translation pages. The last one is partly filled.
    pub(crate) fn translation_pages(&self, tenant: TenantId) -> u64 {
        self.tenant_pages(tenant) / self.entries_per_page + 1
    }

    /// A tenant's first translation page.
    pub(crate) fn translation_base(&self, tenant: TenantId) -> TranslationPageId {
        let before = (0..tenant.0).map(TenantId);
        TranslationPageId(before.map(|other| self.translation_pages(other)).sum())
    }

    /// The shape of the flash as it is allocated and collected. With superblocks (`gc.unit`), the
    /// planes that one lies in are one plane here, and its blocks are the superblocks.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How physical pages are packed into numbers.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The page-table entry of a tenant's logical page. The entry is created if there is none yet.
    #[inline]
    pub fn entry(&mut self, tenant: TenantId, lpn: Lpn) -> EntryRef {
        let at = self.table.entry(self.tenants[tenant].page(lpn));
        self.resolve(tenant, lpn, at);
        at
    }

    /// The page-table entry of a logical page that holds data or has a [`CacheMark`]; `None` for
    /// all others.
    #[inline]
    pub fn find(&mut self, tenant: TenantId, lpn: Lpn) -> Option<EntryRef> {
        match self.table.find(self.tenants[tenant].page(lpn)) {
            Some(at) => {
                self.resolve(tenant, lpn, at);
                // The leaf may exist only because of a neighbouring page.
                self.table.is_known(at).then_some(at)
            }
            None => self.held_data_at_start(tenant, lpn).then(|| self.entry(tenant, lpn)),
        }
    }

    /// The page-table entry of a logical page, if it already exists. Unlike [`Ftl::find`], this
    /// does not look at what the drive held at the start, so it works on a shared reference.
    #[inline]
    pub fn existing_entry(&self, tenant: TenantId, lpn: Lpn) -> Option<EntryRef> {
        self.table.find(self.tenants[tenant].page(lpn))
    }

    /// Prefetches the cache line of the page-table directory that leads to a page's entry. First of
    /// three steps for a page that will be accessed soon; then [`Ftl::prefetch_entry`], then
    /// [`Ftl::prefetch_old_page`].
    #[inline]
    pub fn prefetch_directory(&self, tenant: TenantId, lpn: Lpn) {
        self.table.prefetch_directory(self.tenants[tenant].page(lpn));
    }

    /// Prefetches the cache lines of a page's entry and of what the placement policy remembers of
    /// the page. Second step, after [`Ftl::prefetch_directory`].
    #[inline]
    pub fn prefetch_entry(&self, tenant: TenantId, lpn: Lpn) {
        let page = self.tenants[tenant].page(lpn);
        self.table.prefetch_entry(page);
        self.placer.prefetch_page(page);
    }

    /// Prefetches the records of the physical page that the next write of a logical page will
    /// invalidate. Third step, after [`Ftl::prefetch_entry`].
    #[inline]
    pub fn prefetch_old_page(&self, at: EntryRef) {
        if let Some(old) = self.table.phys(at) {
            let (plane, at) = self.layout.spot(old);
            self.planes[plane].prefetch_page(at);
        }
    }

    /// The physical page of a logical page; `None` if it holds no data.
    #[inline]
    pub fn phys(&self, at: EntryRef) -> Option<Phys> {
        self.table.phys(at)
    }

    /// What the data cache has noted about a page.
    #[inline]
    pub fn mark(&self, at: EntryRef) -> CacheMark {
        self.table.mark(at)
    }

    /// Notes something about a page for the data cache.
    #[inline]
    pub fn set_mark(&mut self, at: EntryRef, mark: CacheMark) {
        self.table.set_mark(at, mark);
    }

    /// Whether the program of a physical page has ended, so that flash really holds its data.
    pub fn is_programmed(&self, phys: Phys) -> bool {
        let (plane, at) = self.layout.spot(phys);
        self.planes[plane].is_programmed(at)
    }
}
