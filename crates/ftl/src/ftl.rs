//! The flash translation layer of one drive.
//!
//! Told what happened, it answers where data are and where they go; it never reads a clock and never waits.
//! The caller decides when flash operations run and reports their ends: [`Ftl::program_done`],
//! [`Ftl::mapping_arrived`], [`Ftl::commit_move`], [`Ftl::erase_done`].
//!
//! What it leaves out: bad blocks, retention, read disturb.

use crate::block::{Pick, Plane, SectorMask, Stream};
use crate::cmt::{MappingCache, TranslationPages};
use crate::defined::Past;
use crate::error::FtlError;
use crate::gc::VictimRules;
use crate::layout::{BlockRef, Layout, Phys};
use crate::page_table::{CacheMark, EntryRef, PageTable};
use crate::placement::{FrontierNeeds, Placer};
use crate::tenant::{Places, Tenant, visible_sectors};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::{Allocation, PlaneOrder, Sharing};
use ssdtune_model::{DeviceConfig, Geometry, PlaneId};

/// How busy planes are, for placement that depends on it.
pub trait Load {
    /// Work waiting for a plane, in any unit that can be compared.
    fn backlog(&self, plane: PlaneId) -> u64;
}

/// No load is known: dynamic placement then walks through the planes in turn.
pub struct NoLoad;

impl Load for NoLoad {
    fn backlog(&self, _: PlaneId) -> u64 {
        0
    }
}

/// A tenant, as the caller describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantSpec {
    /// The planes it may use.
    pub places: Places,
    /// For hybrid allocation: it mostly writes, so its writes are placed dynamically.
    pub writer: bool,
}

/// Where a page was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The page.
    pub phys: Phys,
    /// A free block was taken for it: the moment to ask for [`Ftl::next_victim`].
    pub opened: bool,
}

/// A host write and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// Where it goes.
    pub placed: Placed,
    /// The rest of the page, to be read from the old place before the program.
    pub merge: Option<(Phys, SectorMask)>,
}

/// A translation page on its way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// Which translation page.
    pub page: u64,
    /// Its old place and how many bytes of it must be read to be merged.
    pub merge: Option<(Phys, u32)>,
    /// Its new place.
    pub placed: Placed,
}

/// What an access to a mapping costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingAccess {
    /// Cached.
    Hit,
    /// Not cached, but the content was in DRAM anyway.
    Resident,
    /// Somebody is already reading it.
    Awaited,
    /// The translation page must be read, and the access waits.
    Load {
        /// Which translation page.
        page: u64,
        /// Where it is.
        phys: Phys,
    },
}

/// Counters that only the FTL can keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FtlCounters {
    /// Mapping look-ups that hit.
    pub mapping_hits: u64,
    /// Look-ups for reads that missed.
    pub mapping_misses_read: u64,
    /// Look-ups for writes that missed.
    pub mapping_misses_write: u64,
    /// Misses that cost no flash read.
    pub mapping_misses_free: u64,
    /// Translation pages written back.
    pub mapping_writebacks: u64,
    /// Victims collected for space.
    pub collections: u64,
    /// Victims collected for wear.
    pub wear_collections: u64,
    /// Pages moved by both.
    pub moved_pages: u64,
    /// Moves that were overtaken by a host write.
    pub moves_dropped: u64,
}

/// The flash translation layer.
pub struct Ftl {
    pub(crate) geometry: Geometry,
    pub(crate) layout: Layout,
    pub(crate) table: PageTable,
    pub(crate) planes: Vec<Plane>,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) caches: Vec<MappingCache>,
    pub(crate) translation: TranslationPages,
    /// Translation entries that fit into one page.
    pub(crate) entries_per_page: u64,
    pub(crate) entry_bytes: u64,
    pub(crate) rules: VictimRules,
    pub(crate) rng: Pcg64Mcg,
    pub(crate) config: Switches,
    pub(crate) counters: FtlCounters,
    pub(crate) turn: u32,
    pub(crate) plane_order: PlaneOrder,
    pub(crate) allocation: Allocation,
    /// What lay on it before its first request.
    pub(crate) past: Option<Box<Past>>,
    /// Pages of a victim, while a warm-up moves them.
    pub(crate) victim: Vec<Phys>,
    pub(crate) placer: Placer,
}

/// What of the configuration steers decisions at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    /// Free blocks below which a plane collects.
    pub threshold: u32,
    /// Free blocks below which collection goes before the host.
    pub hard_threshold: u32,
    /// Free blocks that host writes leave alone.
    pub reserve: u32,
    /// Free blocks below which the host does not write even where its frontier has room.
    pub floor: u32,
    /// Free blocks that writes which cannot be held leave alone.
    pub keep: u32,
    /// Victims a plane collects at once.
    pub concurrent: u32,
    pub dynamic_wear: bool,
    /// Erase-count gap that starts static wear levelling.
    pub static_wear: Option<u32>,
    /// Frontiers own a block even before their first page.
    pub eager_frontiers: bool,
    pub free_mapping_writes: bool,
    /// How MQSim lays out a steady drive.
    pub analytic_start: bool,
    pub full_mask: SectorMask,
}

fn is_dynamic(allocation: Allocation, spec: &TenantSpec) -> bool {
    match allocation {
        Allocation::Static => false,
        Allocation::Dynamic => true,
        Allocation::Hybrid => spec.writer,
    }
}

/// The reserve of MQSim, whatever the size of a plane.
const MQSIM_RESERVE: u32 = 10;

impl Ftl {
    /// An empty drive.
    pub fn new(config: &DeviceConfig, specs: &[TenantSpec]) -> Result<Self, FtlError> {
        let geometry = config.geometry();
        let layout = Layout::new(&geometry)?;
        if specs.is_empty() {
            return Err(FtlError::NoTenant);
        }
        let places = (specs.iter().enumerate())
            .map(|(tenant, spec)| spec.places.check(tenant, &geometry))
            .collect::<Result<Vec<_>, _>>()?;
        let sectors_per_page = u64::from(geometry.sectors_per_page());
        let visible = visible_sectors(&places, &geometry, config.mapping.overprovisioning);
        let mut tenants = Vec::with_capacity(specs.len());
        let mut base = 0;
        for (tenant, (spec, sectors)) in specs.iter().zip(visible).enumerate() {
            if sectors == 0 {
                return Err(FtlError::NoCapacity { tenant });
            }
            let planes = places[tenant].in_order(config.mapping.plane_order, &geometry);
            let dynamic = is_dynamic(config.mapping.allocation, spec);
            tenants.push(Tenant::new(base, sectors, planes, dynamic));
            // Leaves are not shared between tenants, so that a leaf's pages are one tenant's neighbours.
            base += sectors.div_ceil(sectors_per_page).next_multiple_of(8);
        }
        let needs = FrontierNeeds::of(config, specs.len() as u32);
        let switches = Switches::new(config, &geometry, &needs);
        let needed = needs.open + switches.reserve + 1;
        if geometry.blocks_per_plane < needed {
            return Err(FtlError::TooFewBlocks { blocks: geometry.blocks_per_plane, needed });
        }
        let placer = Placer::new(config, base);
        placer.check_spare(config, &needs)?;
        let mut ftl = Self {
            layout,
            table: PageTable::new(base, !config.mapping.ideal),
            planes: (0..geometry.planes())
                .map(|_| {
                    let (blocks, pages) = (geometry.blocks_per_plane, geometry.pages_per_block);
                    Plane::new(blocks, pages, specs.len(), placer.streams())
                })
                .collect(),
            tenants,
            caches: Vec::new(),
            translation: TranslationPages::default(),
            entries_per_page: 0,
            entry_bytes: 0,
            rules: VictimRules::new(config),
            rng: Pcg64Mcg::seed_from_u64(config.run.seed),
            config: switches,
            counters: FtlCounters::default(),
            turn: 0,
            plane_order: config.mapping.plane_order,
            allocation: config.mapping.allocation,
            past: None,
            victim: Vec::new(),
            placer,
            geometry,
        };
        ftl.lay_out_frontiers();
        ftl.lay_out_mapping(config);
        Ok(ftl)
    }

    fn lay_out_frontiers(&mut self) {
        if !self.config.eager_frontiers {
            return;
        }
        for plane in &mut self.planes {
            for tenant in 0..self.tenants.len() {
                for stream in [Stream::DATA, Stream::TRANSLATION, Stream::MOVED] {
                    plane.open_frontier(tenant, stream, Pick::InOrder);
                }
            }
        }
    }

    /// Sizes of the mapping structures, and the translation pages in their first places.
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
            let pages: u64 = (0..self.tenants.len()).map(|t| self.translation_pages(t)).sum();
            self.translation = TranslationPages::new(pages);
        } else if !self.config.eager_frontiers {
            return;
        }
        for tenant in 0..self.tenants.len() {
            let first = self.translation_base(tenant);
            // The last, partly filled translation page is made when it is first needed.
            let full = self.tenant_pages(tenant) / self.entries_per_page;
            // Plane by plane: a block's records are written one behind the other.
            let stride = self.tenants[tenant].planes.len();
            for page in (0..stride as u64).flat_map(|at| (at..full).step_by(stride)) {
                let placed = self.append_translation(tenant, first + page, page);
                self.program_done(placed.phys);
                if !config.mapping.ideal {
                    self.translation.set_phys(first + page, placed.phys);
                }
                if self.config.free_mapping_writes {
                    // Never collected: in that model a program of a translation page does not end.
                    let at = self.layout.block(placed.phys);
                    self.planes[at.plane as usize].blocks[at.block as usize].programs += 1;
                }
            }
        }
    }

    /// Binds a tenant to other places from now on, and places its writes as hybrid allocation does those of a
    /// reader or a writer. What it has written stays where it is until it is rewritten or collected; what it
    /// sees stays as large as it was, so the new places must have the room.
    ///
    /// # Errors
    /// A place does not exist.
    pub fn bind(&mut self, tenant: usize, spec: &TenantSpec) -> Result<(), FtlError> {
        let places = spec.places.check(tenant, &self.geometry)?;
        let planes = places.in_order(self.plane_order, &self.geometry);
        let dynamic = is_dynamic(self.allocation, spec);
        self.tenants[tenant] = self.tenants[tenant].bound_to(planes, dynamic);
        Ok(())
    }

    /// How many tenants there are.
    pub fn tenants(&self) -> usize {
        self.tenants.len()
    }

    /// Logical pages a tenant sees.
    pub fn tenant_pages(&self, tenant: usize) -> u64 {
        self.tenants[tenant].sectors.div_ceil(self.geometry.sectors_per_page().into())
    }

    /// Sectors a tenant sees.
    pub fn tenant_sectors(&self, tenant: usize) -> u64 {
        self.tenants[tenant].sectors
    }

    /// Translation pages of a tenant, the partly filled one included.
    pub(crate) fn translation_pages(&self, tenant: usize) -> u64 {
        self.tenant_pages(tenant) / self.entries_per_page + 1
    }

    pub(crate) fn translation_base(&self, tenant: usize) -> u64 {
        (0..tenant).map(|t| self.translation_pages(t)).sum()
    }

    /// The shape of the flash array.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The layout of physical pages.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What the FTL counted.
    pub fn counters(&self) -> &FtlCounters {
        &self.counters
    }

    /// The page-table entry of a tenant's logical page.
    #[inline]
    pub fn entry(&mut self, tenant: usize, lpn: u64) -> EntryRef {
        let at = self.table.entry(self.tenants[tenant].base + lpn);
        self.resolve(tenant, lpn, at);
        at
    }

    /// The entry of a logical page that something is known of.
    #[inline]
    pub fn find(&mut self, tenant: usize, lpn: u64) -> Option<EntryRef> {
        match self.table.find(self.tenants[tenant].base + lpn) {
            Some(at) => {
                self.resolve(tenant, lpn, at);
                // Its neighbours in the leaf may be all that is known.
                self.table.is_known(at).then_some(at)
            }
            None => self.was_defined(tenant, lpn).then(|| self.entry(tenant, lpn)),
        }
    }

    /// The entry of a logical page that was looked at before.
    #[inline]
    pub fn existing_entry(&self, tenant: usize, lpn: u64) -> Option<EntryRef> {
        self.table.find(self.tenants[tenant].base + lpn)
    }

    /// A page will be accessed in a while: asks for the cache line that says where its entry is.
    #[inline]
    pub fn prefetch_directory(&self, tenant: usize, lpn: u64) {
        self.table.prefetch_directory(self.tenants[tenant].base + lpn);
    }

    /// A page will be accessed soon: asks for the cache lines of its entry and of what its placement goes by.
    #[inline]
    pub fn prefetch_entry(&self, tenant: usize, lpn: u64) {
        let page = self.tenants[tenant].base + lpn;
        self.table.prefetch_entry(page);
        self.placer.prefetch_page(page);
    }

    /// A page will be written next: asks for the cache lines of the place it leaves.
    #[inline]
    pub fn prefetch_old_page(&self, at: EntryRef) {
        if let Some(old) = self.table.phys(at) {
            let place = self.layout.block(old);
            self.planes[place.plane as usize].prefetch_page(place.block, self.layout.page(old));
        }
    }

    /// Where a page is.
    #[inline]
    pub fn phys(&self, at: EntryRef) -> Option<Phys> {
        self.table.phys(at)
    }

    /// What the data cache remembers of a page.
    #[inline]
    pub fn mark(&self, at: EntryRef) -> CacheMark {
        self.table.mark(at)
    }

    /// Lets the data cache remember something of a page.
    #[inline]
    pub fn set_mark(&mut self, at: EntryRef, mark: CacheMark) {
        self.table.set_mark(at, mark);
    }

    /// Whether the flash really holds something in the page: its program has ended.
    pub fn is_programmed(&self, phys: Phys) -> bool {
        let at = self.layout.block(phys);
        let page = self.layout.page(phys);
        self.planes[at.plane as usize].is_programmed(at.block, page)
    }

    /// The plane of the next write of a page.
    #[inline]
    pub fn plane_for_write(&mut self, tenant: usize, lpn: u64, load: &impl Load) -> PlaneId {
        let own = &self.tenants[tenant];
        if !own.dynamic {
            return own.static_plane(lpn);
        }
        // A plane without room only if there is no other. Ties go to the plane whose turn it is, so that an
        // idle drive is striped.
        let (before, from) = own.planes.split_at(self.turn as usize % own.planes.len());
        let in_turn = from.iter().chain(before).copied();
        let plane = in_turn
            .min_by_key(|&plane| (self.must_hold(tenant, lpn, plane), load.backlog(plane)))
            .unwrap_or(own.planes[0]);
        self.turn = self.turn.wrapping_add(1);
        plane
    }

    /// The plane the static order names.
    #[inline]
    pub fn static_plane(&self, tenant: usize, lpn: u64) -> PlaneId {
        self.tenants[tenant].static_plane(lpn)
    }

    /// Whether a host write of a tenant's page must wait until the plane has been collected.
    #[inline]
    pub fn must_hold(&self, tenant: usize, lpn: u64, plane: PlaneId) -> bool {
        let plane = &self.planes[plane.index()];
        let free = plane.free_blocks();
        if self.config.eager_frontiers {
            return free < self.config.reserve;
        }
        free <= self.config.reserve && {
            let stream = self.placer.host_stream(self.tenants[tenant].base + lpn);
            free < self.config.floor || !plane.has_room(tenant, stream)
        }
    }

    /// Whether a page that is not held may be written without taking the space that page moves rely on.
    pub(crate) fn has_room_unheld(&self, tenant: usize, stream: Stream, plane: PlaneId) -> bool {
        let record = &self.planes[plane.index()];
        let opens_none = if self.config.eager_frontiers {
            !record.is_nearly_full(tenant, stream)
        } else {
            record.has_room(tenant, stream)
        };
        // Moves of translation pages share a frontier with their write-backs, so room in it is not enough.
        let keep = self.config.keep;
        record.free_blocks() > keep || record.free_blocks() == keep && opens_none
    }

    /// Whether [`Ftl::place_read`] must wait until the page's plane has been collected.
    pub fn must_hold_read(&self, tenant: usize, lpn: u64) -> bool {
        !self.has_room_unheld(tenant, Stream::DATA, self.static_plane(tenant, lpn))
    }

    /// Places a host write. The plane is the caller's, from [`Ftl::plane_for_write`], and is not held.
    #[inline]
    pub fn place_write(
        &mut self,
        tenant: usize,
        lpn: u64,
        at: EntryRef,
        plane: PlaneId,
        sectors: SectorMask,
    ) -> WritePlan {
        let mut merge = None;
        let mut all = sectors;
        if let Some(old) = self.table.phys(at) {
            let place = self.layout.block(old);
            let page = self.layout.page(old);
            if sectors != self.config.full_mask {
                let whole = self.config.full_mask;
                let before = self.planes[place.plane as usize].sectors(place.block, page, whole);
                if before & !sectors != 0 {
                    merge = Some((old, before & !sectors));
                }
                all |= before;
            }
            self.planes[place.plane as usize].invalidate(place.block, page);
        }
        let owner = self.tenants[tenant].base + lpn;
        let stream = self.placer.host_stream(owner);
        let placed = self.append(tenant, stream, plane, owner, all);
        self.placer.observe(owner);
        self.table.set_phys(at, placed.phys);
        self.dirty_mapping(tenant, owner, at);
        WritePlan { placed, merge }
    }

    /// Gives a page never written a place because it was read (a peculiarity of MQSim). The caller has asked
    /// [`Ftl::must_hold_read`].
    pub fn place_read(
        &mut self,
        tenant: usize,
        lpn: u64,
        at: EntryRef,
        sectors: SectorMask,
    ) -> Placed {
        let plane = self.tenants[tenant].static_plane(lpn);
        let owner = self.tenants[tenant].base + lpn;
        let placed = self.append(tenant, Stream::DATA, plane, owner, sectors);
        self.table.set_phys(at, placed.phys);
        self.dirty_mapping(tenant, owner, at);
        placed
    }

    #[inline]
    pub(crate) fn append(
        &mut self,
        tenant: usize,
        stream: Stream,
        plane: PlaneId,
        owner: u64,
        sectors: SectorMask,
    ) -> Placed {
        self.wake(plane);
        let record = &mut self.planes[plane.index()];
        let mut opened = false;
        if !record.has_room(tenant, stream) {
            let pick = self.placer.pick(stream, &mut self.rng);
            opened = record.open_frontier(tenant, stream, pick);
            assert!(opened, "plane {} has no free block: a write was not held", plane.0);
        }
        let slot = record.append(tenant, stream, owner, sectors);
        let at = BlockRef { plane: plane.0, block: slot.block };
        if opened {
            self.placer.opened(at, stream);
        }
        if slot.filled && self.config.eager_frontiers {
            opened = record.open_frontier(tenant, stream, Pick::InOrder);
            assert!(opened, "plane {} has no free block for a frontier", plane.0);
        }
        Placed { phys: self.layout.pack(at, slot.page), opened }
    }

    /// A program of any kind has ended.
    #[inline]
    pub fn program_done(&mut self, phys: Phys) {
        let at = self.layout.block(phys);
        self.planes[at.plane as usize].programmed(at.block, self.layout.page(phys));
    }

    /// The content of a logical page does not matter any more; the plane where it was.
    pub fn trim(&mut self, tenant: usize, lpn: u64) -> Option<PlaneId> {
        let at = self.find(tenant, lpn)?;
        let old = self.table.phys(at)?;
        let place = self.layout.block(old);
        self.planes[place.plane as usize].invalidate(place.block, self.layout.page(old));
        self.table.unmap(at);
        self.dirty_mapping(tenant, self.tenants[tenant].base + lpn, at);
        Some(PlaneId(place.plane))
    }

    /// Written sectors of a physical page that is still the newest of its logical one.
    pub fn sectors(&self, phys: Phys) -> SectorMask {
        let at = self.layout.block(phys);
        let plane = &self.planes[at.plane as usize];
        plane.sectors(at.block, self.layout.page(phys), self.config.full_mask)
    }

    /// Free blocks of a plane.
    #[inline]
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.planes[plane.index()].free_blocks()
    }

    /// Valid pages of each full block of a plane.
    pub fn valid_pages(&mut self, plane: PlaneId) -> Vec<u32> {
        self.wake(plane);
        self.planes[plane.index()].full_blocks()
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u64 {
        self.table.mapped()
    }

    /// Heap bytes of the drive's state.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
            + self.planes.iter().map(Plane::memory_bytes).sum::<u64>()
            + self.caches.iter().map(MappingCache::memory_bytes).sum::<u64>()
            + self.translation.memory_bytes()
            + self.past.as_ref().map_or(0, |past| past.memory_bytes())
            + self.placer.memory_bytes()
    }

    /// Erase counts of all blocks, as (erases, blocks) in ascending order.
    pub fn erase_histogram(&self) -> Vec<(u32, u64)> {
        let mut counts = std::collections::BTreeMap::new();
        for plane in &self.planes {
            let (unseen, worn) = plane.unseen_blocks();
            *counts.entry(worn).or_insert(0) += u64::from(unseen);
            for block in plane.blocks.iter().filter(|_| !plane.asleep) {
                *counts.entry(block.erases).or_insert(0) += 1;
            }
        }
        counts.into_iter().filter(|&(_, blocks)| blocks > 0).collect()
    }

    /// Every invariant, walking the whole drive: for tests.
    ///
    /// # Panics
    /// If one is broken.
    pub fn check(&self) {
        self.planes.iter().for_each(Plane::check);
        let valid: u64 = self.planes.iter().map(|plane| plane.valid).sum();
        let translation = (0..self.tenants.len())
            .flat_map(|t| {
                let first = self.translation_base(t);
                first..first + self.translation_pages(t)
            })
            .filter(|&page| !self.caches.is_empty() && self.translation.phys(page).is_some())
            .count() as u64;
        let in_flight = self.moves_in_flight();
        let frozen = if self.caches.is_empty() && self.config.eager_frontiers {
            (0..self.tenants.len()).map(|t| self.tenant_pages(t) / self.entries_per_page).sum()
        } else {
            0
        };
        assert_eq!(valid, self.table.mapped() + translation + in_flight + frozen);
    }
}

impl Switches {
    fn new(config: &DeviceConfig, geometry: &Geometry, needs: &FrontierNeeds) -> Self {
        let blocks = f64::from(geometry.blocks_per_plane);
        let mqsim = config.compat.gc_reserve_ten;
        let threshold = ((config.gc.threshold * blocks) as u32).max(1);
        let sectors = geometry.sectors_per_page();
        Self {
            threshold: threshold.max(if mqsim { MQSIM_RESERVE } else { needs.keep + 1 }),
            hard_threshold: ((config.gc.hard_threshold * blocks) as u32).max(1),
            // Blocks must be left for the pages of a victim, also when a frontier has just been refilled.
            reserve: if mqsim { MQSIM_RESERVE } else { needs.reserve },
            floor: needs.floor,
            keep: needs.keep,
            concurrent: if mqsim { MQSIM_RESERVE } else { 1 },
            dynamic_wear: config.wear.dynamic_leveling,
            static_wear: (config.wear.static_leveling && !config.compat.no_static_wear_leveling)
                .then_some(config.wear.static_threshold),
            eager_frontiers: config.compat.eager_frontiers,
            free_mapping_writes: config.compat.free_mapping_writes,
            analytic_start: config.compat.analytic_start,
            full_mask: if sectors >= 64 { u64::MAX } else { (1 << sectors) - 1 },
        }
    }
}

impl VictimRules {
    fn new(config: &DeviceConfig) -> Self {
        let blocks = config.flash.blocks_per_plane;
        let pages = config.flash.pages_per_block;
        let spare = config.mapping.overprovisioning * f64::from(pages);
        Self {
            policy: config.gc.policy,
            choices: if config.gc.choices == 0 { blocks.ilog2().max(1) } else { config.gc.choices },
            window: if config.gc.window == 0 { (blocks / 8).max(1) } else { config.gc.window },
            invalid_min: (spare as u32).max(1),
            pages_per_block: pages,
        }
    }
}
