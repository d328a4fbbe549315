//! Drives that are not empty at the start. Their content is computed from a seed wherever it is
//! looked at.
//!
//! A used drive holds its tenants' data in blocks; how many pages of each block are valid follows
//! what the drive's garbage collection leaves behind in the long run (`stationary`). Which logical
//! page lies where is a permutation (`permutation`): of a plane's logical pages over its valid
//! pages, and of each block's valid pages over its offsets. So page types and planes that can work
//! together are met as in a drive that was filled. Nothing of this is stored before it is touched:
//!
//! - A plane gets its block records when the first of its pages is looked for.
//! - A page-table entry is computed and stored when it is first asked for.
//! - A block gets page records when it becomes a victim. Until then, one bit for each page says
//!   what was overwritten.
//!
//! Cost: some 100 ns for the first look at a page, 30 us for the first look at a plane of 2,048
//! blocks, and 16 B of records and one bit for each page that is touched.
//!
//! Left out: the steady state is that of uniform random writes; for other loads, age the drive on
//! from there (`warmup`). Data are whole pages, all blocks are equally worn, and translation pages
//! lie in order.

pub(crate) mod initial_mappings;
pub(crate) mod page_set;
pub(crate) mod permutation;
mod plane;
pub(crate) mod stationary;

use crate::error::FtlError;
use crate::ftl::Ftl;
use crate::gc::VictimRules;
use crate::layout::{BlockRef, Phys};
use crate::page_table::EntryRef;
use crate::prefetch::prefetch;
use page_set::PageSet;
use permutation::Permutation;
use plane::{Group, PlaneContent};
use serde::{Deserialize, Serialize};
use ssdtune_model::PlaneId;
use ssdtune_model::config::GcPolicy;
use ssdtune_model::scramble;
use stationary::Stationary;
use std::collections::BTreeMap;
use std::ops::Range;

/// How the data of a drive that is not empty at the start were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Each page once, in the order of the logical pages.
    Sequential,
    /// Each page once, then overwritten at random until the drive no longer changed in character.
    Steady,
}

/// What a drive holds before its first request.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialContent {
    /// How the data were written.
    pub start: Start,
    /// The share of each tenant's logical pages that hold data, 0 to 1. The last value also holds
    /// for all tenants that follow. Pages of a footprint count first, then the lowest other pages;
    /// a footprint larger than the share is held in full.
    pub occupancy: Vec<f64>,
    /// The logical pages that each tenant will use, as ascending ranges that do not touch. They
    /// hold data, so that reads of them find some. May be shorter than the list of tenants.
    pub footprints: Vec<Vec<Range<u64>>>,
    /// How often each block has been erased.
    pub erases: u32,
    /// Steady drives only: the share of each plane's blocks that are free. The last value also
    /// holds for all planes that follow. Empty: each plane has just collected, so its free blocks
    /// are at the threshold of collection.
    pub free: Vec<f64>,
    /// Decides where pages lie.
    pub seed: u64,
}

/// The initial content of a tenant. `planes` are those it had then; it may be bound to others
/// later.
#[derive(Serialize, Deserialize)]
struct TenantContent {
    members: PageSet,
    planes: Vec<PlaneId>,
    /// Where placement was dynamic: how the tenant's pages were scattered over its planes.
    scatter: Option<Permutation>,
}

/// The initial content of the whole drive.
#[derive(Serialize, Deserialize)]
pub(crate) struct ComputedContent {
    tenants: Vec<TenantContent>,
    planes: Vec<PlaneContent>,
    seed: u64,
    steady: Distributions,
}

/// Distributions of valid pages over blocks, computed once for each share of valid pages.
#[derive(Default, Serialize, Deserialize)]
struct Distributions {
    /// Follow `compat.analytic_start`.
    as_mqsim: bool,
    #[serde(skip)]
    known: BTreeMap<u32, Stationary>,
}

impl Distributions {
    /// The distribution for planes with a share `rho` of valid pages.
    fn of(&mut self, rules: &VictimRules, blocks: u32, rho: f64) -> &Stationary {
        let step = ((rho * RHO_STEPS).round() as u32).clamp(1, RHO_STEPS as u32 - 1);
        let as_mqsim = self.as_mqsim;
        self.known.entry(step).or_insert_with(|| {
            let mut rules = *rules;
            if as_mqsim && matches!(rules.policy, GcPolicy::Greedy | GcPolicy::Fifo) {
                (rules.policy, rules.choices) = (GcPolicy::Rga, MQSIM_CHOICES);
            }
            Stationary::new(&rules, blocks, f64::from(step) / RHO_STEPS)
        })
    }
}

/// MQSim's analytic model treats greedy and FIFO collection as d-choices with this d.
const MQSIM_CHOICES: u32 = 30;

/// Shares of valid pages are rounded to this many steps, so that few distributions are computed.
const RHO_STEPS: f64 = 2000.0;

/// A page on the way to its place at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought {
    pub plane: PlaneId,
    /// The number of its tenant's group in the plane.
    group: usize,
    /// Its place among the pages of the group.
    place: u32,
}

impl ComputedContent {
    /// The first half of the way to a page's place: what can be computed without looking at the
    /// records of its plane.
    #[inline]
    pub fn seek(&self, tenant: usize, lpn: u64) -> Option<Sought> {
        let (plane, group, rank) = self.locate(tenant, lpn)?;
        Some(Sought { plane, group, place: self.planes[plane.index()].spread(group, rank) })
    }

    /// The lines that the second half of the way looks at.
    pub fn lines(&self, sought: &Sought) -> [&u32; 2] {
        self.planes[sought.plane.index()].lines(sought.group, sought.place)
    }

    /// The second half: the page's place. The plane is awake.
    #[inline]
    fn place(&self, sought: &Sought) -> (BlockRef, u32) {
        let plane = &self.planes[sought.plane.index()];
        let (block, page) = plane.place(sought.group, sought.place);
        (BlockRef { plane: sought.plane.0, block }, page)
    }

    /// The plane of a page, the number of its tenant's group there, and the page's rank in the
    /// group.
    fn locate(&self, tenant: usize, lpn: u64) -> Option<(PlaneId, usize, u64)> {
        let content = &self.tenants[tenant];
        let count = content.planes.len() as u64;
        let (plane, number) = match &content.scatter {
            None => (content.planes[(lpn % count) as usize], lpn / count),
            Some(scatter) => {
                let place = scatter.forward(content.members.rank(lpn)?);
                (content.planes[(place % count) as usize], place / count)
            }
        };
        let groups = &self.planes[plane.index()].groups;
        let group = groups.iter().position(|group| group.tenant == tenant)?;
        Some((plane, group, groups[group].members.rank(number)?))
    }

    /// The logical page with a rank in a group of a plane.
    fn page(&self, plane: usize, group: usize, rank: u64) -> u64 {
        let group = &self.planes[plane].groups[group];
        let content = &self.tenants[group.tenant];
        let place = group.members.member(rank) * content.planes.len() as u64 + group.position;
        match &content.scatter {
            None => place,
            Some(scatter) => content.members.member(scatter.back(place)),
        }
    }

    pub fn members(&self, tenant: usize) -> &PageSet {
        &self.tenants[tenant].members
    }

    pub fn memory_bytes(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.members.memory_bytes()).sum::<u64>()
            + self.planes.iter().map(PlaneContent::memory_bytes).sum::<u64>()
    }
}

impl Ftl {
    /// Gives an empty drive its initial content. Returns how many pages of each tenant hold data.
    ///
    /// # Errors
    /// [`FtlError::NoRoomForInitialContent`] if a plane has no room for its part,
    /// [`FtlError::TooLarge`] if a plane has too many pages to number them in 32 bits.
    ///
    /// # Panics
    /// Something was written before.
    pub fn set_initial_content(&mut self, spec: &InitialContent) -> Result<Vec<u64>, FtlError> {
        assert!(
            self.table.mapped() == 0 && self.initial_content.is_none(),
            "only an empty drive gets a content"
        );
        let tenants: Vec<TenantContent> =
            (0..self.tenants.len()).map(|tenant| self.tenant_content(tenant, spec)).collect();
        let used: Vec<u64> = tenants.iter().map(|tenant| tenant.members.len()).collect();
        let mut planes: Vec<PlaneContent> =
            self.planes.iter().map(|_| PlaneContent::default()).collect();
        for (tenant, content) in tenants.iter().enumerate() {
            let count = content.planes.len() as u64;
            for (position, plane) in content.planes.iter().enumerate() {
                let position = position as u64;
                let members = match content.scatter {
                    None => content.members.every(count, position),
                    Some(_) => {
                        PageSet::new(content.members.len(), [].into_iter()).every(count, position)
                    }
                };
                if members.len() > 0 {
                    planes[plane.index()].groups.push(Group::new(tenant, position, members));
                }
            }
        }
        let steady = Distributions { as_mqsim: self.config.analytic_start, ..Default::default() };
        for (index, content) in planes.iter_mut().enumerate() {
            self.settle(PlaneId(index as u32), content, spec)?;
        }
        self.table.set_mapped(used.iter().sum());
        self.initial_content =
            Some(Box::new(ComputedContent { tenants, planes, seed: spec.seed, steady }));
        self.fill_mapping_caches(spec.start);
        Ok(used)
    }

    /// What one tenant holds at the start.
    fn tenant_content(&self, tenant: usize, spec: &InitialContent) -> TenantContent {
        let owner = &self.tenants[tenant];
        let pages = self.tenant_pages(tenant);
        let share = spec.occupancy.get(tenant).or(spec.occupancy.last());
        let target = (pages as f64 * share.unwrap_or(&0.0).clamp(0.0, 1.0)) as u64;
        let footprint = spec.footprints.get(tenant).map_or(&[][..], Vec::as_slice);
        let members = PageSet::covering(footprint, target, pages);
        let key = scramble(spec.seed ^ (tenant as u64 + 1).rotate_left(40));
        let random = owner.dynamic && spec.start == Start::Steady && members.len() > 0;
        TenantContent {
            scatter: random.then(|| Permutation::new(members.len(), key)),
            planes: owner.planes.clone(),
            members,
        }
    }

    /// Makes the block records of a plane, if it has none yet.
    pub(crate) fn wake(&mut self, plane: PlaneId) {
        if self.planes[plane.index()].asleep {
            self.wake_cold(plane);
        }
    }

    #[cold]
    fn wake_cold(&mut self, plane: PlaneId) {
        let content = self.initial_content.as_mut().expect("only planes with a content sleep");
        let fullest_first = self.config.analytic_start;
        content.planes[plane.index()].lay_out(fullest_first, &self.rules, &mut content.steady);
        content.planes[plane.index()].open(&mut self.planes[plane.index()]);
        let open: Vec<u32> = content.planes[plane.index()].open_blocks().collect();
        for block in open {
            self.materialise_block(BlockRef { plane: plane.0, block });
        }
    }

    /// Computes and stores where a page lay at the start, if nobody has asked for it yet.
    #[inline]
    pub(crate) fn resolve(&mut self, tenant: usize, lpn: u64, at: EntryRef) {
        if self.initial_content.is_some() && self.table.is_untouched(at) {
            self.resolve_cold(tenant, lpn, at);
        }
    }

    fn resolve_cold(&mut self, tenant: usize, lpn: u64, at: EntryRef) {
        let place = self.initial_place(tenant, lpn);
        self.table.set_initial(at, place);
    }

    /// The page-table entries whose data lie in the pages of a computed block, one for each page;
    /// `None` where nothing is valid.
    pub(crate) fn owners_of(&self, at: BlockRef, owners: &mut Vec<Option<u64>>) {
        let content = self.initial_content.as_ref().expect("a computed block has a content");
        let plane = &content.planes[at.plane as usize];
        owners.clear();
        owners.resize(self.geometry.pages_per_block as usize, None);
        let group = plane.group(at.block);
        let tenant = plane.groups[group].tenant;
        let base = self.tenants[tenant].base;
        for (page, rank) in plane.pages(group, at.block) {
            owners[page as usize] = Some(base + content.page(at.plane as usize, group, rank));
        }
        self.planes[at.plane as usize].drop_overwritten(at.block, owners);
    }

    /// Makes the page records of a block that has none, because its initial content is computed.
    pub(crate) fn materialise_block(&mut self, at: BlockRef) {
        let mut owners = Vec::new();
        self.owners_of(at, &mut owners);
        self.planes[at.plane as usize].materialise(at.block, &owners);
    }

    /// Stores everything that is computed otherwise: the same drive, held in memory. For tests.
    pub fn materialise(&mut self) {
        for tenant in 0..self.tenants.len() {
            let Some(content) = &self.initial_content else { return };
            let pages: Vec<u64> = {
                let members = content.members(tenant);
                (0..members.len()).map(|rank| members.member(rank)).collect()
            };
            for lpn in pages {
                self.entry(tenant, lpn);
            }
        }
        for plane in 0..self.planes.len() as u32 {
            self.wake(PlaneId(plane));
            for block in 0..self.planes[plane as usize].blocks.len() as u32 {
                if self.planes[plane as usize].blocks[block as usize].computed {
                    self.materialise_block(BlockRef { plane, block });
                }
            }
        }
        self.store_initial_mappings();
    }

    /// Stores the content of a block and the page-table entries of its pages, if they are computed
    /// so far. Looking at the block then costs what it costs in a drive that was filled. Returns
    /// whether there was anything to store.
    pub fn store_block(&mut self, at: BlockRef) -> bool {
        if self.initial_content.is_none() {
            return false;
        }
        self.wake(PlaneId(at.plane));
        let block = self.planes[at.plane as usize].blocks.get(at.block as usize);
        if !block.is_some_and(|block| block.computed) {
            return false;
        }
        self.materialise_block(at);
        let owners: Vec<u64> =
            self.victim_pages(at).filter_map(|page| self.data_owner(page)).collect();
        for owner in owners {
            let tenant = self.tenant_of_page(owner);
            self.entry(tenant, owner - self.tenants[tenant].base);
        }
        true
    }

    /// Whether a page held data at the start. It may have been overwritten or trimmed since.
    pub(crate) fn held_data_at_start(&self, tenant: usize, lpn: u64) -> bool {
        self.initial_content
            .as_ref()
            .is_some_and(|content| content.members(tenant).rank(lpn).is_some())
    }

    /// The physical page of a logical page, without storing anything that is computed. For checks.
    pub fn place_of(&mut self, tenant: usize, lpn: u64) -> Option<Phys> {
        if let Some(at) = self.existing_entry(tenant, lpn)
            && (self.initial_content.is_none() || !self.table.is_untouched(at))
        {
            return self.table.phys(at);
        }
        self.initial_place(tenant, lpn)
    }

    /// The physical page of a logical page at the start.
    fn initial_place(&mut self, tenant: usize, lpn: u64) -> Option<Phys> {
        let sought = self.initial_content.as_ref()?.seek(tenant, lpn)?;
        self.wake(sought.plane);
        let (at, page) = self.initial_content.as_ref()?.place(&sought);
        Some(self.layout.pack(at, page))
    }

    /// The first half of the way to the place of a page that nobody has asked for since the start;
    /// `None` if somebody has, or if it held no data. Wakes the page's plane.
    pub(crate) fn seek(&mut self, tenant: usize, lpn: u64) -> Option<Sought> {
        let content = self.initial_content.as_ref()?;
        let entry = self.existing_entry(tenant, lpn);
        if entry.is_some_and(|at| !self.table.is_untouched(at)) {
            return None;
        }
        let sought = content.seek(tenant, lpn)?;
        self.wake(sought.plane);
        self.initial_content.as_ref()?.lines(&sought).into_iter().for_each(prefetch);
        Some(sought)
    }

    /// Stores the place of a page that was sought, if nobody has asked for it meanwhile.
    pub(crate) fn resolve_sought(&mut self, tenant: usize, lpn: u64, sought: &Sought) {
        let at = self.table.entry(self.tenants[tenant].base + lpn);
        if let Some(content) = self.initial_content.as_ref().filter(|_| self.table.is_untouched(at))
        {
            let (block, page) = content.place(sought);
            self.table.set_initial(at, Some(self.layout.pack(block, page)));
        }
    }
}
