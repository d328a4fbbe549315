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
//! - A block gets page records when it becomes a victim, or is written on. Until then, one bit for
//!   each page says what was overwritten.
//!
//! Cost: some 100 ns for the first look at a page, 30 us for the first look at a plane of 2,048
//! blocks, and one bit for each page of a plane that was looked at.
//!
//! Left out: the steady state is that of uniform random writes; for other loads, age the drive on
//! from there (`warmup`). Data are whole pages, all blocks are equally worn, and translation pages
//! lie in order.

pub(crate) mod initial_mappings;
pub(crate) mod page_set;
pub(crate) mod permutation;
mod plane;
pub(crate) mod stationary;

use crate::block::Plane;
use crate::error::FtlError;
use crate::gc::VictimRules;
use crate::number::{GroupId, Owner};
use crate::switches::Switches;
use crate::tenant::Tenant;
use page_set::PageSet;
use permutation::Permutation;
use plane::{Group, PlaneContent};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::GcPolicy;
use ssdtune_model::{BlockAddr, Geometry, Lpn, PageId, Place, PlaneId, Table, TenantId, scramble};
use stationary::Stationary;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

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
    pub footprints: Vec<Vec<Range<Lpn>>>,
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
#[derive(Clone, Serialize, Deserialize)]
struct TenantContent {
    members: PageSet,
    planes: Vec<PlaneId>,
    /// Where placement was dynamic: how the tenant's pages were scattered over its planes.
    scatter: Option<Permutation>,
}

/// The initial content of the whole drive.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ComputedContent {
    tenants: Table<TenantId, TenantContent>,
    planes: Table<PlaneId, PlaneContent>,
    seed: u64,
    steady: Distributions,
}

/// Distributions of valid pages over blocks, computed once for each share of valid pages.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Distributions {
    /// Follow `compat.analytic_start`.
    as_mqsim: bool,
    #[serde(skip)]
    known: BTreeMap<(u32, u32), Arc<Stationary>>,
}

impl Distributions {
    /// The distribution for planes with a share `rho` of valid pages.
    fn of(&mut self, rules: &VictimRules, blocks: u32, rho: f64) -> &Stationary {
        let step = ((rho * RHO_STEPS).round() as u32).clamp(1, RHO_STEPS as u32 - 1);
        // No other policy depends on how many blocks there are.
        let blocks = if rules.policy == GcPolicy::WindowedGreedy { blocks } else { 0 };
        let as_mqsim = self.as_mqsim;
        self.known.entry((step, blocks)).or_insert_with(|| {
            let mut rules = *rules;
            if as_mqsim && matches!(rules.policy, GcPolicy::Greedy | GcPolicy::Fifo) {
                (rules.policy, rules.choices) = (GcPolicy::Rga, MQSIM_CHOICES);
            }
            remembered(Distribution { rules, blocks, step })
        })
    }
}

/// What decides a distribution: the rules of collection, the blocks of a plane (0 where they do not
/// matter), and the share of valid pages in steps.
#[derive(Clone, Copy, PartialEq)]
struct Distribution {
    rules: VictimRules,
    blocks: u32,
    step: u32,
}

/// A distribution. That of cost and benefit takes some 30 ms to compute and some 300 KB, and a
/// search prepares the same drive for each workload and state: so a few are remembered.
fn remembered(wanted: Distribution) -> Arc<Stationary> {
    static KNOWN: Mutex<Vec<(Distribution, Arc<Stationary>)>> = Mutex::new(Vec::new());
    const MOST: usize = 64;
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = known().iter().find(|(own, _)| *own == wanted) {
        return Arc::clone(found);
    }
    // Others may compute the same meanwhile, which costs time alone.
    let Distribution { rules, blocks, step } = wanted;
    let computed = Arc::new(Stationary::new(&rules, blocks, f64::from(step) / RHO_STEPS));
    let mut known = known();
    if known.len() >= MOST {
        known.clear();
    }
    known.push((wanted, Arc::clone(&computed)));
    computed
}

/// MQSim's analytic model treats greedy and FIFO collection as d-choices with this d.
const MQSIM_CHOICES: u32 = 30;

/// Shares of valid pages are rounded to this many steps, so that few distributions are computed.
const RHO_STEPS: f64 = 2000.0;

/// A page on the way to its place at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought {
    pub plane: PlaneId,
    /// The group of its tenant in the plane.
    group: GroupId,
    /// Its place among the pages of the group.
    place: u32,
}

impl TenantContent {
    /// What a tenant, whose address space has `pages` logical pages, holds at the
    /// start.
    fn new(tenant: TenantId, owner: &Tenant, pages: u64, spec: &InitialContent) -> Self {
        let share = spec.occupancy.get(tenant.index()).or(spec.occupancy.last());
        let target = (pages as f64 * share.unwrap_or(&0.0).clamp(0.0, 1.0)) as u64;
        let footprint = spec.footprints.get(tenant.index()).into_iter().flatten();
        let footprint: Vec<_> = footprint.map(|range| range.start.0..range.end.0).collect();
        let members = PageSet::covering(&footprint, target, pages);
        let key = scramble(spec.seed ^ (u64::from(tenant.0) + 1).rotate_left(40));
        let random = owner.dynamic && spec.start == Start::Steady && members.len() > 0;
        Self {
            scatter: random.then(|| Permutation::new(members.len(), key)),
            planes: owner.planes.clone(),
            members,
        }
    }
}

impl ComputedContent {
    /// Settles a content on the planes of an empty drive.
    ///
    /// # Errors
    /// A plane has no room for its part, or too many pages to number them in 32 bits.
    pub fn new(
        spec: &InitialContent,
        owners: &Table<TenantId, Tenant>,
        planes: &mut Table<PlaneId, Plane>,
        geometry: &Geometry,
        config: &Switches,
    ) -> Result<Self, FtlError> {
        let sectors = geometry.sectors_per_page().into();
        let tenants: Table<TenantId, TenantContent> = (owners.named())
            .map(|(tenant, owner)| TenantContent::new(tenant, owner, owner.pages(sectors), spec))
            .collect();
        let mut contents: Table<PlaneId, PlaneContent> =
            planes.iter().map(|_| PlaneContent::default()).collect();
        for (tenant, content) in tenants.named() {
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
                    contents[*plane].groups.push(Group::new(tenant, position, members));
                }
            }
        }
        for ((id, content), plane) in contents.named_mut().zip(planes) {
            content.settle(id, plane, spec, geometry, config)?;
        }
        let steady = Distributions { as_mqsim: config.analytic_start, ..Default::default() };
        Ok(Self { tenants, planes: contents, seed: spec.seed, steady })
    }

    /// Makes the block records of a plane.
    pub fn open(
        &mut self,
        id: PlaneId,
        plane: &mut Plane,
        fullest_first: bool,
        rules: &VictimRules,
    ) {
        let content = &mut self.planes[id];
        content.lay_out(fullest_first, rules, &mut self.steady);
        content.open(plane);
    }

    /// The page-table entries of what the pages of a block held at the start, one for each page;
    /// `None` where there was nothing. `tenants` say where the entries of each tenant begin.
    pub fn owners(
        &self,
        at: BlockAddr,
        tenants: &Table<TenantId, Tenant>,
        owners: &mut [Option<Owner>],
    ) {
        let plane = &self.planes[at.plane];
        let group = plane.group(at.block);
        let tenant = &tenants[plane.groups[group].tenant];
        for (page, rank) in plane.pages(group, at.block) {
            let lpn = self.page(at.plane, group, rank);
            owners[page.index()] = Some(tenant.page(lpn).into());
        }
    }

    /// Decides where pages lie.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Pages of each tenant that held data.
    pub fn used(&self) -> Table<TenantId, u64> {
        self.tenants.iter().map(|tenant| tenant.members.len()).collect()
    }

    /// The first half of the way to a page's place: what can be computed without looking at the
    /// records of its plane.
    #[inline]
    pub fn seek(&self, tenant: TenantId, lpn: Lpn) -> Option<Sought> {
        let (plane, group, rank) = self.locate(tenant, lpn)?;
        Some(Sought { plane, group, place: self.planes[plane].spread(group, rank) })
    }

    /// The lines that the second half of the way looks at.
    pub fn lines(&self, sought: &Sought) -> [&u32; 3] {
        self.planes[sought.plane].lines(sought.group, sought.place)
    }

    /// The second half: the page's place. The plane is awake.
    #[inline]
    pub fn place(&self, sought: &Sought) -> (BlockAddr, PageId) {
        let plane = &self.planes[sought.plane];
        let (block, page) = plane.place(sought.group, sought.place);
        (BlockAddr { plane: sought.plane, block }, page)
    }

    /// The plane of a page, the group of its tenant there, and the page's rank in the
    /// group.
    fn locate(&self, tenant: TenantId, lpn: Lpn) -> Option<(PlaneId, GroupId, u64)> {
        let content = &self.tenants[tenant];
        let count = content.planes.len() as u64;
        let (plane, number) = match &content.scatter {
            None => (content.planes[(lpn.0 % count) as usize], lpn.0 / count),
            Some(scatter) => {
                let place = scatter.forward(content.members.rank(lpn.0)?);
                (content.planes[(place % count) as usize], place / count)
            }
        };
        let groups = &self.planes[plane].groups;
        let group = groups.iter().position(|group| group.tenant == tenant).map(GroupId::at)?;
        Some((plane, group, groups[group].members.rank(number)?))
    }

    /// The logical page with a rank in a group of a plane.
    fn page(&self, plane: PlaneId, group: GroupId, rank: u64) -> Lpn {
        let group = &self.planes[plane].groups[group];
        let content = &self.tenants[group.tenant];
        let place = group.members.member(rank) * content.planes.len() as u64 + group.position;
        Lpn(match &content.scatter {
            None => place,
            Some(scatter) => content.members.member(scatter.back(place)),
        })
    }

    pub fn members(&self, tenant: TenantId) -> &PageSet {
        &self.tenants[tenant].members
    }

    pub fn memory_bytes(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.members.memory_bytes()).sum::<u64>()
            + self.planes.iter().map(PlaneContent::memory_bytes).sum::<u64>()
    }
}
