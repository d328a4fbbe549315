//! Drives that are born used: their content is defined by a seed and computed where it is looked
//! at.
//!
//! A used drive holds data of its tenants in blocks whose valid pages follow what its garbage
//! collection leaves behind (`stationary`). Which logical page lies where is a permutation
//! (`permutation`): of a plane's logical pages over its valid pages, and of each block's valid
//! pages over its offsets, so that page types and multi-plane pairs are met as in a filled drive.
//! Nothing of it is stored until it is touched:
//!
//! - a plane gets its block records when the first of its pages is looked for;
//! - a page-table entry is computed when it is first asked for, and stored;
//! - a block gets page records when it becomes a victim; until then one bit a page says what was
//!   overwritten.
//!
//! A logical page is thus defined (an entry never looked at), stored, or unmapped.
//!
//! Cost: some 100 ns for the first look at a page, 30 us for the first at a plane of 2,048 blocks,
//! and 16 B of records and a bit per page for what is touched. The steady state is that of uniform
//! writes; other loads age the drive on from there (`warmup`). Data are whole pages, blocks equally
//! worn, translation pages in order.

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
use page_set::PageSet;
use permutation::{Permutation, mix};
use plane::{Group, PlaneContent};
use serde::{Deserialize, Serialize};
use ssdtune_model::PlaneId;
use ssdtune_model::config::GcPolicy;
use stationary::Stationary;
use std::collections::BTreeMap;
use std::ops::Range;

/// What was done to a drive before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Its pages were written once, in their order.
    Sequential,
    /// Then they were overwritten at random, for ever.
    Steady,
}

/// A drive's past.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialContent {
    /// What was done to it.
    pub start: Start,
    /// Share of each tenant's pages that hold data, the last for those that follow; its footprint
    /// does in any case.
    pub occupancy: Vec<f64>,
    /// The pages each tenant will use, as ascending ranges that do not touch; what it reads should
    /// be there.
    pub footprints: Vec<Vec<Range<u64>>>,
    /// How often each block was erased.
    pub erases: u32,
    /// Share of the blocks that a steady drive's planes have free, the last for those that follow;
    /// empty: each plane has just collected.
    pub free: Vec<f64>,
    /// What decides where pages lie.
    pub seed: u64,
}

/// The past of a tenant: its planes may change later, where its data were then does not.
#[derive(Serialize, Deserialize)]
struct TenantContent {
    members: PageSet,
    planes: Vec<PlaneId>,
    /// Over all its pages, where placement was dynamic.
    scatter: Option<Permutation>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ComputedContent {
    tenants: Vec<TenantContent>,
    planes: Vec<PlaneContent>,
    seed: u64,
    steady: Distributions,
}

/// Of valid pages over blocks, by share of valid pages in steps of `RHO_STEPS`.
#[derive(Default, Serialize, Deserialize)]
struct Distributions {
    /// `compat.analytic_start`.
    as_mqsim: bool,
    #[serde(skip)]
    known: BTreeMap<u32, Stationary>,
}

impl Distributions {
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

/// MQSim's stand-in for the best and for the oldest of all blocks.
const MQSIM_CHOICES: u32 = 30;

/// Distributions of shares closer than this are the same to us.
const RHO_STEPS: f64 = 2000.0;

impl ComputedContent {
    /// The plane of a page and its rank among its tenant's pages there.
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

    /// The logical page with a rank among a tenant's pages in a plane.
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
    /// Gives an empty drive a past; pages that hold data afterwards, tenant by tenant.
    ///
    /// # Errors
    /// A plane has not the room for it.
    ///
    /// # Panics
    /// Something was written already.
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

    fn tenant_content(&self, tenant: usize, spec: &InitialContent) -> TenantContent {
        let own = &self.tenants[tenant];
        let pages = self.tenant_pages(tenant);
        let own_share = spec.occupancy.get(tenant).or(spec.occupancy.last());
        let target = (pages as f64 * own_share.unwrap_or(&0.0).clamp(0.0, 1.0)) as u64;
        let footprint = spec.footprints.get(tenant).map_or(&[][..], Vec::as_slice);
        let members = PageSet::covering(footprint, target, pages);
        let key = mix(spec.seed ^ (tenant as u64 + 1).rotate_left(40));
        let random = own.dynamic && spec.start == Start::Steady && members.len() > 0;
        TenantContent {
            scatter: random.then(|| Permutation::new(members.len(), key)),
            planes: own.planes.clone(),
            members,
        }
    }

    /// Block records of a plane, if it has none yet.
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

    /// The entry of a page, which is computed now if it never was looked at.
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

    /// Page records of a block that has none, since its past said everything.
    pub(crate) fn materialise_block(&mut self, at: BlockRef) {
        let content = self.initial_content.as_ref().expect("a defined block has a content");
        let plane = at.plane as usize;
        let owner = |page: u32| {
            let (group, rank) = content.planes[plane].owner(at.block, page)?;
            let tenant = content.planes[plane].groups[group].tenant;
            Some(self.tenants[tenant].base + content.page(plane, group, rank))
        };
        self.planes[plane].materialise(at.block, self.config.full_mask, owner);
    }

    /// Stores everything that is only defined: the same drive, held in memory. For tests.
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

    /// Stores what is only defined of a block, with the entries of the pages it holds: looking at
    /// it then costs what it costs in a drive that was filled. Whether there was anything to store.
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

    /// Whether a page held data at the start; it may have been overwritten or trimmed since.
    pub(crate) fn held_data_at_start(&self, tenant: usize, lpn: u64) -> bool {
        self.initial_content
            .as_ref()
            .is_some_and(|content| content.members(tenant).rank(lpn).is_some())
    }

    /// Where a page is, if it has any place. What is only defined stays so: for checks.
    pub fn place_of(&mut self, tenant: usize, lpn: u64) -> Option<Phys> {
        if let Some(at) = self.existing_entry(tenant, lpn)
            && (self.initial_content.is_none() || !self.table.is_untouched(at))
        {
            return self.table.phys(at);
        }
        self.initial_place(tenant, lpn)
    }

    fn initial_place(&mut self, tenant: usize, lpn: u64) -> Option<Phys> {
        let (plane, group, rank) = self.initial_content.as_ref()?.locate(tenant, lpn)?;
        self.wake(plane);
        let (block, page) = self.initial_content.as_ref()?.planes[plane.index()].place(group, rank);
        Some(self.layout.pack(BlockRef { plane: plane.0, block }, page))
    }
}
