//! Plays the caller of the FTL: submits accesses, holds back what must wait, collects, and lets
//! operations end in random order. The reference drive is told of everything and compared.
//!
//! An operation is one random word, so a run is a list of words, and any part of the list is a run
//! as well. That makes failures shrinkable.

mod compare;
mod ends;

use super::cached_mapping::{CachedMapping, Cost};
use super::cases::reserve;
use super::drive::{Owner, Page, Purpose, Reference, State};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use ssdtune_ftl::placement::ShapeTracker;
use ssdtune_ftl::{
    Border, EntryRef, Ftl, Load, MappingAccess, Phys, Places, TenantSpec, Token, TranslationPageId,
    WriteBack,
};
use ssdtune_model::config::{Frontiers, PlacementPolicy};
use ssdtune_model::{
    BlockAddr, BlockId, DeviceConfig, Lpn, Nanos, PageId, Place, PlaneId, Table, TenantId,
};
use std::collections::VecDeque;

/// A drive, and how it is driven.
#[derive(Clone, Debug)]
pub struct Case {
    pub config: DeviceConfig,
    pub tenants: Vec<TenantSpec>,
    /// There are enough spare blocks whatever happens: no write may wait for ever.
    pub never_starves: bool,
    /// Tenants are bound to other channels now and then.
    pub switches: bool,
}

/// A flash operation that has not ended.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Program { phys: Phys },
    MoveRead { from: Phys, job: usize },
    MoveProgram { from: Phys, to: Phys, job: usize },
    Erase { job: usize },
    MappingRead { page: TranslationPageId, store: Option<Phys> },
    MappingStore { page: TranslationPageId, phys: Phys },
}

/// A host access.
#[derive(Clone, Copy, Debug)]
struct Access {
    tenant: TenantId,
    lpn: Lpn,
    /// Sectors to write; 0 for a read.
    mask: u64,
}

/// A victim, and the pages of it that have not been moved yet.
struct Job {
    victim: BlockAddr,
    left: usize,
}

/// Flash operations at a time, so that ends keep up with beginnings.
const PENDING_MAX: usize = 40;
/// Held accesses at a time.
const HELD_MAX: usize = 12;

/// Backlogs of planes that are two bits of a random word.
struct RandomLoad(u64);

impl Load for RandomLoad {
    fn backlog(&self, plane: PlaneId) -> u64 {
        (self.0 >> (plane.0 * 5 % 60)) & 3
    }
}

/// The real FTL, the reference drive, and everything under way.
pub struct Driver {
    ftl: Ftl,
    reference: Reference,
    mapping: Option<CachedMapping>,
    case: Case,
    full_mask: u64,
    pending: Vec<Pending>,
    jobs: Vec<Job>,
    held: Table<PlaneId, VecDeque<Access>>,
    /// Moves that wait for a free block of a plane, and their jobs.
    held_moves: Table<PlaneId, Vec<(Phys, usize)>>,
    waiting: Vec<Option<Access>>,
    next_version: u64,
    clock: u64,
    shapes: ShapeTracker,
    moves: [u64; 2],
    collections: [u64; 2],
    switched: u64,
    /// Pages of the host written in SLC mode, and blocks that idle time folds.
    in_slc: u64,
    folds: u64,
}

impl Driver {
    pub fn new(case: &Case) -> Self {
        let config = &case.config;
        let ftl = Ftl::new(config, &case.tenants).expect("a drive the FTL takes");
        let tenants = case.tenants.len();
        let pages = (0..tenants).map(|tenant| ftl.tenant_pages(TenantId::at(tenant))).collect();
        let planes = config.geometry().planes() as usize;
        let sectors = config.geometry().sectors_per_page();
        let mut driver = Self {
            reference: Reference::new(config, ftl.layout(), tenants),
            mapping: Some(CachedMapping::new(config, pages)),
            case: case.clone(),
            full_mask: if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 },
            pending: Vec::new(),
            jobs: Vec::new(),
            held: Table::of(VecDeque::new(), planes),
            held_moves: Table::of(Vec::new(), planes),
            waiting: Vec::new(),
            next_version: 0,
            clock: 0,
            shapes: ShapeTracker::default(),
            moves: [0; 2],
            collections: [0; 2],
            switched: 0,
            in_slc: 0,
            folds: 0,
            ftl,
        };
        driver.expect_first_translation_pages();
        driver
    }

    /// Tells the reference drive of the full translation pages, which lie in their frontiers from
    /// the start.
    fn expect_first_translation_pages(&mut self) {
        let config = &self.case.config.clone();
        if config.mapping.ideal && !config.compat.eager_frontiers {
            self.mapping = None;
            return;
        }
        let layout = self.ftl.layout();
        let mapping = self.mapping.take().expect("made above");
        let mut at: std::collections::BTreeMap<(PlaneId, TenantId), (u32, u32)> =
            Default::default();
        let mut opened = Table::of(0, self.held.len());
        for tenant in (0..self.case.tenants.len()).map(TenantId::at) {
            for index in 0..self.ftl.tenant_pages(tenant) / mapping.entries_per_page {
                let plane = self.ftl.static_plane(tenant, Lpn(index));
                let pages = config.flash.pages_per_block;
                let place = at.entry((plane, tenant)).or_insert((u32::MAX, pages));
                let eager = config.compat.eager_frontiers;
                assert!(!eager || place.0 == u32::MAX || place.1 < pages, "geometry of this test");
                if place.1 == pages {
                    let first = 3 * u32::from(tenant.0) + 1;
                    *place = (if eager { first } else { opened[plane] }, 0);
                    opened[plane] += 1;
                }
                let block = BlockAddr { plane, block: BlockId(place.0) };
                let phys = layout.pack(block, PageId(place.1));
                let starts_block = place.1 == 0 && !eager || eager && place.1 + 1 == pages;
                place.1 += 1;
                let page = mapping.nth_page(tenant, index);
                let content = self.content(Owner::Translation(page), self.full_mask);
                self.reference.append(phys, starts_block, tenant, Purpose::Translation, content);
                self.reference.map(content.owner, phys);
                if !config.compat.free_mapping_writes {
                    self.reference.programmed(phys);
                }
            }
        }
        self.reference.appended = [0; 3];
        self.mapping = (!config.mapping.ideal).then_some(mapping);
    }

    /// New content for an owner.
    fn content(&mut self, owner: Owner, sectors: u64) -> Page {
        self.next_version += 1;
        self.reference.versions.insert(owner, self.next_version);
        Page { owner, version: self.next_version, sectors }
    }

    /// Does what a random word says.
    pub fn step(&mut self, word: u64) {
        let mut rng = Pcg32::seed_from_u64(word);
        let busy = self.pending.len() >= PENDING_MAX
            || self.held.iter().map(VecDeque::len).sum::<usize>() >= HELD_MAX;
        let choice = rng.random_range(0..100);
        if self.case.switches && rng.random_range(0..400) == 0 {
            self.switch(&mut rng);
        }
        if self.case.config.slc_cache.is_on() && rng.random_range(0..12) == 0 {
            self.fold(PlaneId::at(rng.random_range(0..self.held.len())));
        }
        if busy || choice >= 45 {
            self.end_one(&mut rng);
        } else {
            let tenant = TenantId::at(rng.random_range(0..self.case.tenants.len()));
            let pages = self.ftl.tenant_pages(tenant);
            // Most accesses go to an eighth of the pages.
            let hot = rng.random_range(0..4) > 0;
            let lpn = Lpn(rng.random_range(0..if hot { pages.div_ceil(8) } else { pages }));
            let mask = match rng.random_range(0..3) {
                0 => rng.random_range(1..=self.full_mask),
                _ => self.full_mask,
            };
            match choice {
                0..30 => self.access(Access { tenant, lpn, mask }, word),
                30..40 => self.access(Access { tenant, lpn, mask: 0 }, word),
                _ => self.trim(tenant, lpn),
            }
            self.compare(tenant, lpn);
        }
    }

    /// Binds a tenant to other channels, whatever is under way. Nothing is lost and nothing moves.
    fn switch(&mut self, rng: &mut Pcg32) {
        let channels = self.case.config.bus.channels;
        let first = rng.random_range(0..channels);
        let last = rng.random_range(first..channels);
        let all = Places::all(&self.case.config.geometry());
        let places = Places { channels: (first..=last).collect(), ..all };
        let tenant = TenantId::at(rng.random_range(0..self.case.tenants.len()));
        let spec = TenantSpec { places, writer: rng.random() };
        let border = if rng.random() { Border::Open } else { Border::Closed };
        self.ftl.bind(tenant, &spec, border).expect("there are such channels");
        self.switched += 1;
        self.check();
    }

    /// Ends one of the operations under way, drawn at random.
    fn end_one(&mut self, rng: &mut Pcg32) {
        if self.pending.is_empty() {
            self.check_starvation();
        } else {
            let index = rng.random_range(0..self.pending.len());
            let pending = self.pending.swap_remove(index);
            self.end(pending);
        }
    }

    /// Lets everything end. What is left must be explained.
    pub fn drain(&mut self) {
        let mut rng = Pcg32::seed_from_u64(0);
        while !self.pending.is_empty() {
            self.end_one(&mut rng);
        }
        self.check_starvation();
        assert!(self.waiting.iter().all(Option::is_none), "an access waits for ever");
        self.check();
    }

    /// Nothing is under way, so what is held back will wait for ever: only a lack of victims
    /// excuses that.
    fn check_starvation(&mut self) {
        for plane in self.held.names() {
            let stuck = std::mem::take(&mut self.held_moves[plane]);
            assert!(stuck.is_empty() || !self.case.never_starves, "{plane:?} starves");
            if self.held[plane].is_empty() {
                continue;
            }
            let candidates = self.reference.candidates(plane);
            assert!(candidates.is_empty(), "{plane:?} starves though {candidates:?} could go");
            assert!(!self.case.never_starves, "{plane:?} starves");
            self.held[plane].clear();
        }
    }

    /// Submits an access: its mapping first, if the mapping table is cached.
    fn access(&mut self, access: Access, word: u64) {
        let Access { tenant, lpn, mask } = access;
        let entry = self.ftl.entry(tenant, lpn);
        if self.mapping.is_none() {
            return self.place(access, entry, word);
        }
        let (ftl, reference) = (&self.ftl, &self.reference);
        let is_stored = |page| reference.place.contains_key(&Owner::Translation(page));
        let has_room = |tenant, index| {
            let plane = ftl.static_plane(tenant, Lpn(index));
            reference.has_room(plane, tenant, Purpose::Translation)
        };
        let mapping = self.mapping.as_mut().expect("checked above");
        let (cost, evicted) = mapping.access((tenant, lpn), mask != 0, is_stored, has_room);
        let (seen, writeback) = self.ftl.access_mapping(tenant, lpn, entry, mask != 0);
        assert_eq!(writeback.map(|w| w.page), evicted.map(|owner| mapping.page_of(owner)));
        if let Some(writeback) = writeback {
            self.write_back(writeback, evicted.map_or(TenantId(0), |(tenant, _)| tenant));
        }
        match seen {
            MappingAccess::Hit | MappingAccess::Resident => {
                let expected = if seen == MappingAccess::Hit { Cost::Hit } else { Cost::Resident };
                assert_eq!(cost, expected);
                return self.place(access, entry, word);
            }
            MappingAccess::Awaited => assert_eq!(cost, Cost::Awaited),
            MappingAccess::Load { page, phys } => {
                assert_eq!(cost, Cost::Load(page));
                assert_eq!(self.reference.place.get(&Owner::Translation(page)), Some(&phys));
                self.pending.push(Pending::MappingRead { page, store: None });
            }
        }
        let token = self.waiting.iter().position(Option::is_none).unwrap_or_else(|| {
            self.waiting.push(None);
            self.waiting.len() - 1
        });
        self.waiting[token] = Some(access);
        self.ftl.await_mapping(tenant, entry, Token(token as u32), mask != 0);
    }

    /// Writes a translation page back.
    fn write_back(&mut self, writeback: WriteBack, tenant: TenantId) {
        let owner = Owner::Translation(writeback.page);
        let old = self.reference.place.get(&owner).copied();
        assert_eq!(writeback.merge.map(|(phys, _)| phys), old);
        let placed = writeback.placed;
        let content = self.content(owner, self.full_mask);
        self.reference.append(placed.phys, placed.opened, tenant, Purpose::Translation, content);
        self.reference.map(owner, placed.phys);
        let free = self.case.config.compat.free_mapping_writes;
        let store = (!free).then_some(placed.phys);
        match (old, store) {
            (Some(_), _) => self.pending.push(Pending::MappingRead { page: writeback.page, store }),
            (None, Some(phys)) => {
                self.pending.push(Pending::MappingStore { page: writeback.page, phys });
            }
            (None, None) => {}
        }
        self.after_placing(placed.phys, placed.opened);
    }

    /// Goes on with an access whose mapping is at hand.
    fn place(&mut self, access: Access, entry: EntryRef, word: u64) {
        let Access { tenant, lpn, mask } = access;
        let owner = Owner::Data(tenant, lpn);
        let read_allocates = self.case.config.compat.read_allocates;
        let plane = if mask == 0 {
            assert_eq!(self.ftl.phys(entry), self.reference.place.get(&owner).copied());
            if self.ftl.phys(entry).is_some() || !read_allocates {
                return;
            }
            self.ftl.static_plane(tenant, lpn)
        } else {
            self.tell(access);
            self.ftl.plane_for_write(tenant, lpn, &RandomLoad(word))
        };
        if self.must_hold(access, plane) {
            self.held[plane].push_back(access);
            self.collect(plane);
        } else {
            self.place_now(access, plane);
        }
    }

    fn must_hold(&self, access: Access, plane: PlaneId) -> bool {
        if access.mask == 0 {
            self.ftl.must_hold_read(access.tenant, access.lpn)
        } else {
            self.ftl.must_hold(access.tenant, access.lpn, plane)
        }
    }

    /// Places an access that need not wait.
    fn place_now(&mut self, access: Access, plane: PlaneId) {
        let Access { tenant, lpn, mask } = access;
        let owner = Owner::Data(tenant, lpn);
        let entry = self.ftl.entry(tenant, lpn);
        let old = self.reference.place.get(&owner).copied();
        if mask == 0 && old.is_some() {
            return;
        }
        let in_slc = self.reference.admits_slc(plane, tenant);
        let mut sectors = mask;
        let placed = if mask == 0 {
            sectors = 1;
            self.ftl.place_read(tenant, lpn, entry, sectors)
        } else {
            let plan = self.ftl.place_write(tenant, lpn, entry, plane, mask);
            let before = old.map_or(0, |old| self.reference.page(old).sectors);
            let missing = before & !mask;
            let expected = old.filter(|_| missing != 0).map(|old| (old, missing));
            assert_eq!(plan.merge, expected);
            sectors |= before;
            plan.placed
        };
        assert_eq!(self.ftl.layout().plane(placed.phys), plane);
        if self.case.config.slc_cache.is_on() {
            let expected = if in_slc { Purpose::SLC } else { Purpose::Data(0) };
            assert_eq!(self.purpose(placed.phys, mask == 0), expected);
            self.in_slc += u64::from(in_slc);
        }
        assert_eq!(self.ftl.sectors(placed.phys), sectors);
        let content = self.content(owner, sectors);
        let purpose = self.purpose(placed.phys, mask == 0);
        self.reference.append(placed.phys, placed.opened, tenant, purpose, content);
        self.reference.map(owner, placed.phys);
        self.dirty(owner);
        self.pending.push(Pending::Program { phys: placed.phys });
        self.after_placing(placed.phys, placed.opened);
        if let Some(old) = old {
            // If the page went to another plane, the old one may have a victim for held writes now.
            self.collect_for_held(self.ftl.layout().plane(old));
        }
    }

    /// Lets time go on and says what is written. Applications are spread over the pages, and a page
    /// is one of a request of up to 300.
    fn tell(&mut self, access: Access) {
        let Access { tenant, lpn, mask } = access;
        self.clock += 1 + lpn.0 % 7;
        self.ftl.set_write_context(Nanos(self.clock), (lpn.0 % 19) as u16);
        let (at, pages) = (Nanos(self.clock), 1 + (lpn.0 * lpn.0 % 300) as u32);
        let request = self.shapes.request(at, tenant, lpn.0, pages, mask.count_ones());
        let (before, after) = (lpn.0 % 2 == 0, lpn.0 % 3 == 0);
        let shape = request.of_page(before, after, mask & 1 == 0, mask < self.full_mask);
        self.ftl.expect_write(tenant, lpn, shape);
    }

    /// The frontier that a host page went to. Which of its frontiers a policy takes is its own
    /// matter; without a policy there is one.
    fn purpose(&self, phys: Phys, is_read: bool) -> Purpose {
        let purpose = Purpose::of(self.ftl.block_frontier(self.ftl.layout().block(phys)));
        if self.case.config.slc_cache.is_on() {
            return purpose;
        }
        let one = is_read || self.case.config.placement.policy == PlacementPolicy::None;
        assert!(!one || purpose == Purpose::Data(0), "{purpose:?}");
        assert!(matches!(purpose, Purpose::Data(_)), "{purpose:?} for host data");
        let Frontiers { host, .. } = self.case.config.placement.frontiers();
        assert!(purpose == Purpose::Data(0) || purpose < Purpose::Data(host as usize + 2));
        purpose
    }

    /// The frontier that a moved page went to. Translation pages stay among themselves, and moved
    /// pages go to frontiers of their own if they have any.
    fn moved_purpose(&self, phys: Phys, from: Purpose) -> Purpose {
        let purpose = Purpose::of(self.ftl.block_frontier(self.ftl.layout().block(phys)));
        let Frontiers { host, moved } = self.case.config.placement.frontiers();
        let is_legal = match (from, moved) {
            (Purpose::Translation, _) => purpose == Purpose::Translation,
            (_, 0) => matches!(purpose, Purpose::Data(_)),
            (_, 1) => purpose == Purpose::Moved,
            _ => {
                purpose == Purpose::Moved
                    || matches!(purpose, Purpose::Data(index) if index >= host as usize + 2)
            }
        };
        assert!(is_legal, "{purpose:?} for a page of {from:?}");
        purpose
    }

    fn dirty(&mut self, owner: Owner) {
        if let Some(mapping) = &mut self.mapping {
            mapping.dirty(owner);
        }
    }

    /// Collects if the placement took a free block.
    fn after_placing(&mut self, phys: Phys, opened: bool) {
        if opened {
            self.collect(self.ftl.layout().plane(phys));
        }
    }

    fn trim(&mut self, tenant: TenantId, lpn: Lpn) {
        let owner = Owner::Data(tenant, lpn);
        let was = self.reference.place.remove(&owner);
        self.reference.versions.remove(&owner);
        let plane = self.ftl.trim(tenant, lpn);
        assert_eq!(plane, was.map(|phys| self.ftl.layout().plane(phys)));
        if let Some(plane) = plane {
            self.dirty(owner);
            self.collect_for_held(plane);
        }
    }

    fn collect_for_held(&mut self, plane: PlaneId) {
        if !self.held[plane].is_empty() {
            self.collect(plane);
        }
    }

    /// Collects a plane if the FTL asks for it.
    fn collect(&mut self, plane: PlaneId) {
        let free = self.reference.free_blocks(plane);
        assert_eq!(self.ftl.free_blocks(plane), free);
        match self.ftl.next_victim(plane) {
            Some(victim) => {
                assert_eq!(victim.plane, plane);
                self.reference.check_victim(victim);
                self.collections[0] += 1;
                self.start_job(victim);
            }
            None => {
                let idle = self.reference.collecting(plane) == 0;
                let candidates = self.reference.candidates(plane);
                let least = reserve(&self.case.config, self.case.tenants.len() as u32);
                assert!(!idle || free > least || candidates.is_empty(), "{plane:?} idles");
            }
        }
    }

    /// Lets a plane fold a block in SLC mode, as in idle time.
    fn fold(&mut self, plane: PlaneId) {
        let expected = self.reference.next_fold(plane);
        assert_eq!(self.ftl.next_fold(plane), expected);
        if let Some(victim) = expected {
            self.collections[0] += 1;
            self.folds += 1;
            self.start_job(victim);
        }
    }

    /// Begins to move the pages of a victim.
    fn start_job(&mut self, victim: BlockAddr) {
        let pages: Vec<Phys> = self.ftl.victim_pages(victim).collect();
        assert_eq!(pages, self.reference.valid_pages(victim));
        self.reference.start_collecting(victim);
        let job = self.jobs.len();
        self.jobs.push(Job { victim, left: pages.len() });
        if pages.is_empty() {
            self.pending.push(Pending::Erase { job });
        }
        self.pending.extend(pages.into_iter().map(|from| Pending::MoveRead { from, job }));
    }

    /// A page of a victim has been moved, or need not be.
    fn moved(&mut self, job: usize) {
        self.jobs[job].left -= 1;
        if self.jobs[job].left == 0 {
            self.pending.push(Pending::Erase { job });
        }
    }
}
