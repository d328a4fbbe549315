//! The slow, obviously correct drive: what each logical page holds, and every block as a list of
//! pages.
//!
//! It decides nothing. It is told what the real FTL decided, and checks that the decision was
//! legal: pages of a block are written in order, once, by one tenant for one purpose; victims hold
//! invalid pages and have no program under way. It also checks what follows from the decision:
//! where each logical page is, what of a block is still valid, how many blocks are free.

use ssdtune_ftl::{FrontierId, Layout, Phys, TranslationPageId};
use ssdtune_model::config::{GcPolicy, PlacementPolicy};
use ssdtune_model::{
    BlockAddr, BlockId, DeviceConfig, Lpn, PageId, Place, PlaneId, Table, TenantId,
};
use std::collections::BTreeMap;

/// What a physical page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A logical page of a tenant.
    Data(TenantId, Lpn),
    /// A translation page.
    Translation(TranslationPageId),
}

/// A page that was written.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub owner: Owner,
    pub version: u64,
    pub sectors: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Free,
    Open,
    Full,
    /// Full, in SLC mode.
    Cached,
    Collecting,
}

/// A block and its history.
#[derive(Clone, Debug)]
pub struct Block {
    pub state: State,
    pub purpose: Option<(TenantId, Purpose)>,
    pub pages: Vec<Page>,
    pub programs: u32,
    pub erases: u32,
    pub filled_at: u64,
    opened_ever: bool,
}

/// What a block was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Host data: the frontier with this number. A placement policy has several, some of them for
    /// moved pages.
    Data(usize),
    Translation,
    Moved,
}

impl Purpose {
    /// Host data in SLC mode.
    pub const SLC: Self = Self::Data(3);

    /// What a frontier is for.
    pub fn of(frontier: FrontierId) -> Self {
        match frontier {
            FrontierId::TRANSLATION => Self::Translation,
            FrontierId::MOVED => Self::Moved,
            frontier => Self::Data(frontier.index()),
        }
    }

    fn kind(self) -> usize {
        match self {
            Self::Data(_) => 0,
            Self::Translation => 1,
            Self::Moved => 2,
        }
    }
}

/// The whole flash array.
pub struct Reference {
    layout: Layout,
    pages_per_block: usize,
    policy: GcPolicy,
    window: u32,
    invalid_min: usize,
    static_wear: Option<u32>,
    dynamic_wear: bool,
    /// Frontiers own a block before their first page. Nobody can see which block until then.
    pub eager: bool,
    /// HAML-SSD's wear rules: the queue that takes the least worn free block, and the one that
    /// takes the most worn.
    wear_rules: Option<[Purpose; 2]>,
    frontiers_per_plane: u32,
    pub planes: Table<PlaneId, Table<BlockId, Block>>,
    frontiers: BTreeMap<(PlaneId, TenantId, Purpose), BlockId>,
    /// Free blocks that must be left by writes which cannot be held back.
    keep: u32,
    fills: u64,
    pub place: BTreeMap<Owner, Phys>,
    pub versions: BTreeMap<Owner, u64>,
    pub appended: [u64; 3],
    slc: Option<Slc>,
}

/// What the SLC cache may take.
struct Slc {
    /// Pages of a block.
    pages: usize,
    fixed: u32,
    /// Free blocks above which others are taken.
    above: u32,
}

impl Reference {
    pub fn new(config: &DeviceConfig, layout: Layout, tenants: usize) -> Self {
        let geometry = config.geometry();
        let block = Block {
            state: State::Free,
            purpose: None,
            pages: Vec::new(),
            programs: 0,
            erases: 0,
            filled_at: 0,
            opened_ever: false,
        };
        let blocks = geometry.blocks_per_plane;
        let spare = config.mapping.overprovisioning * f64::from(geometry.pages_per_block);
        Self {
            layout,
            pages_per_block: geometry.pages_per_block as usize,
            policy: config.gc.policy,
            window: if config.gc.window == 0 { (blocks / 8).max(1) } else { config.gc.window },
            invalid_min: (spare as usize).max(1),
            static_wear: (config.wear.static_leveling && !config.compat.no_static_wear_leveling)
                .then_some(config.wear.static_threshold),
            dynamic_wear: config.wear.dynamic_leveling,
            eager: config.compat.eager_frontiers,
            wear_rules: (config.placement.policy == PlacementPolicy::Haml
                && config.placement.wear_rules)
                .then(|| [Purpose::Data(0), Purpose::Data(config.placement.clusters as usize + 1)]),
            frontiers_per_plane: 3 * tenants as u32,
            planes: Table::of(Table::of(block, blocks as usize), geometry.planes() as usize),
            frontiers: BTreeMap::new(),
            keep: super::cases::reserve(config, tenants as u32),
            fills: 0,
            place: BTreeMap::new(),
            versions: BTreeMap::new(),
            appended: [0; 3],
            slc: config.slc_pages_per_block().map(|pages| {
                let share = |share: f64| (share * f64::from(blocks)) as u32;
                let (cache, least) = (&config.slc_cache, share(config.gc.threshold).max(2));
                let dynamic = cache.dynamic_above < 1.0;
                let above = if dynamic { share(cache.dynamic_above).max(least) } else { u32::MAX };
                Slc { pages: pages as usize, fixed: cache.static_blocks, above }
            }),
        }
    }

    /// Pages that a block takes.
    fn capacity(&self, purpose: Purpose) -> usize {
        let slc = self.slc.as_ref().filter(|_| purpose == Purpose::SLC);
        slc.map_or(self.pages_per_block, |slc| slc.pages)
    }

    /// Blocks of a plane in SLC mode that are not being folded.
    fn in_slc_mode(&self, plane: PlaneId) -> u32 {
        let is_slc = |block: &&Block| {
            let is_slc = block.purpose.is_some_and(|(_, of)| of == Purpose::SLC);
            is_slc && block.state != State::Collecting
        };
        if self.slc.is_none() {
            return 0;
        }
        self.planes[plane].iter().filter(is_slc).count() as u32
    }

    /// Free blocks that are kept for SLC mode.
    fn kept(&self, plane: PlaneId) -> u32 {
        let fixed = self.slc.as_ref().map_or(0, |slc| slc.fixed);
        fixed.saturating_sub(self.in_slc_mode(plane))
    }

    /// Whether the next host page of a tenant is written in SLC mode.
    pub fn admits_slc(&self, plane: PlaneId, tenant: TenantId) -> bool {
        self.slc.as_ref().is_some_and(|slc| {
            self.frontiers.contains_key(&(plane, tenant, Purpose::SLC))
                || self.in_slc_mode(plane) < slc.fixed && self.erased_blocks(plane) > self.keep
                || self.free_blocks(plane) > slc.above
        })
    }

    /// The block in SLC mode that is folded next, if any can be.
    fn oldest_cached(&self, plane: PlaneId) -> Option<BlockAddr> {
        let all = self.planes[plane]
            .named()
            .filter(|(_, block)| block.state == State::Cached && block.programs == 0);
        let oldest = all.min_by_key(|(_, block)| block.filled_at);
        oldest.map(|(block, _)| BlockAddr { plane, block })
    }

    /// The block that idle time folds now.
    pub fn next_fold(&self, plane: PlaneId) -> Option<BlockAddr> {
        let may = self.collecting(plane) == 0 && self.free_blocks(plane) > self.keep;
        self.oldest_cached(plane).filter(|_| may)
    }

    /// The block that a plane in need of free blocks folds now.
    fn pressed_fold(&self, plane: PlaneId) -> Option<BlockAddr> {
        let slc = self.slc.as_ref()?;
        self.oldest_cached(plane).filter(|_| self.in_slc_mode(plane) > slc.fixed)
    }

    fn block(&self, at: BlockAddr) -> &Block {
        &self.planes[at.plane][at.block]
    }

    fn block_mut(&mut self, at: BlockAddr) -> &mut Block {
        &mut self.planes[at.plane][at.block]
    }

    pub fn page(&self, phys: Phys) -> &Page {
        &self.block(self.layout.block(phys)).pages[self.layout.page(phys).index()]
    }

    /// Whether a physical page is where its owner's data are.
    pub fn is_valid(&self, phys: Phys) -> bool {
        let pages = &self.block(self.layout.block(phys)).pages;
        let page = pages.get(self.layout.page(phys).index());
        page.is_some_and(|page| self.place.get(&page.owner) == Some(&phys))
    }

    /// The valid pages of a block, in order.
    pub fn valid_pages(&self, at: BlockAddr) -> Vec<Phys> {
        let count = self.block(at).pages.len() as u32;
        (0..count).map(|p| self.layout.pack(at, PageId(p))).filter(|&p| self.is_valid(p)).collect()
    }

    fn invalid(&self, at: BlockAddr) -> usize {
        self.block(at).pages.len() - self.valid_pages(at).len()
    }

    /// The FTL gave out `phys` for a write of `tenant` for `purpose`. Its program begins.
    pub fn append(
        &mut self,
        phys: Phys,
        opened: bool,
        tenant: TenantId,
        purpose: Purpose,
        page: Page,
    ) {
        let at = self.layout.block(phys);
        let some_free = self.free_blocks(at.plane) > 0;
        let key = (at.plane, tenant, purpose);
        let offset = self.layout.page(phys).index();
        match self.frontiers.get(&key) {
            Some(&block) => assert_eq!(block, at.block, "{key:?} left its frontier"),
            None => {
                self.check_choice_of_free_block(at, purpose);
                let block = self.block_mut(at);
                assert_eq!(block.state, State::Free, "{at:?} is not free");
                block.state = State::Open;
                block.opened_ever = true;
                block.purpose = Some((tenant, purpose));
                self.frontiers.insert(key, at.block);
            }
        }
        assert_eq!(self.block(at).pages.len(), offset, "{at:?} is not written in order");
        let block = self.block_mut(at);
        block.pages.push(page);
        block.programs += 1;
        let filled = offset + 1 == self.capacity(purpose);
        let opens = if self.eager { filled && some_free } else { offset == 0 };
        assert_eq!(opened, opens, "{at:?} page {offset}");
        if filled {
            self.fills += 1;
            let (fills, pages) = (self.fills, self.pages_per_block);
            let block = self.block_mut(at);
            let is_slc = purpose == Purpose::SLC && block.pages.len() < pages;
            block.state = if is_slc { State::Cached } else { State::Full };
            block.filled_at = fills;
            self.frontiers.remove(&key);
        }
        self.appended[purpose.kind()] += 1;
    }

    /// Free blocks are taken in this order: those never used first, then, with wear levelling, the
    /// least erased. With HAML-SSD's rules, hot data take the least erased, cold data the most
    /// erased, the others any.
    fn check_choice_of_free_block(&self, at: BlockAddr, purpose: Purpose) {
        if self.eager {
            return;
        }
        let free = || self.planes[at.plane].iter().filter(|b| b.state == State::Free);
        if self.wear_rules.is_some() && purpose == Purpose::Moved {
            // Moved pages may be hot or anything else.
        } else if let (Some([hot, cold]), Purpose::Data(_)) = (self.wear_rules, purpose) {
            let wear = || free().map(|block| block.erases);
            let expected = if purpose == hot {
                wear().min()
            } else if purpose == cold {
                wear().max()
            } else {
                return;
            };
            assert_eq!(Some(self.block(at).erases), expected, "{at:?} for {purpose:?}");
        } else if free().any(|block| !block.opened_ever) {
            assert!(!self.block(at).opened_ever, "{at:?} is recycled, others were never used");
        } else if self.dynamic_wear {
            let least = free().map(|block| block.erases).min();
            assert_eq!(Some(self.block(at).erases), least, "{at:?} is not the least worn");
        }
    }

    pub fn programmed(&mut self, phys: Phys) {
        self.block_mut(self.layout.block(phys)).programs -= 1;
    }

    /// The owner's data are at `phys` from now on.
    pub fn map(&mut self, owner: Owner, phys: Phys) {
        assert_eq!(self.page(phys).owner, owner);
        self.place.insert(owner, phys);
    }

    /// Free blocks. A frontier that owns a block without a page counts as open.
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        let free = self.erased_blocks(plane);
        if !self.eager {
            return free.saturating_sub(self.kept(plane));
        }
        let visible = self.frontiers.keys().filter(|(at, ..)| *at == plane);
        // A frontier that found no free block waits for the next one that is erased.
        free.saturating_sub(self.frontiers_per_plane - visible.count() as u32)
    }

    fn erased_blocks(&self, plane: PlaneId) -> u32 {
        self.planes[plane].iter().filter(|b| b.state == State::Free).count() as u32
    }

    /// Whether a page may be written although nobody can hold it back: enough blocks must be left
    /// for moves.
    pub fn has_room(&self, plane: PlaneId, tenant: TenantId, purpose: Purpose) -> bool {
        let frontier = self.frontiers.get(&(plane, tenant, purpose));
        let written = |&block: &BlockId| self.planes[plane][block].pages.len();
        let opens_none = match self.eager {
            true => frontier.map_or(0, written) + 1 < self.pages_per_block,
            false => frontier.is_some(),
        };
        let free = self.free_blocks(plane);
        free > self.keep || free == self.keep && opens_none
    }

    /// Blocks that may be collected.
    pub fn candidates(&self, plane: PlaneId) -> Vec<BlockAddr> {
        (self.planes[plane].names())
            .map(|block| BlockAddr { plane, block })
            .filter(|&at| {
                let block = self.block(at);
                block.state == State::Full && block.programs == 0 && self.invalid(at) > 0
            })
            .collect()
    }

    /// The number of blocks of a plane that are being collected.
    pub fn collecting(&self, plane: PlaneId) -> usize {
        self.planes[plane].iter().filter(|b| b.state == State::Collecting).count()
    }

    /// The FTL names a victim: it must be legal, and the one that the policy asks for.
    pub fn check_victim(&self, at: BlockAddr) {
        if let Some(folded) = self.pressed_fold(at.plane) {
            return assert_eq!(at, folded, "blocks in SLC mode go first");
        }
        let candidates = self.candidates(at.plane);
        assert!(candidates.contains(&at), "{at:?} is no candidate: {:?}", self.block(at));
        let most = |of: &[BlockAddr]| of.iter().map(|&b| self.invalid(b)).max().unwrap_or(0);
        let mut by_age = candidates.clone();
        by_age.sort_by_key(|&b| self.block(b).filled_at);
        match self.policy {
            GcPolicy::Greedy => assert_eq!(self.invalid(at), most(&candidates)),
            GcPolicy::Fifo => assert_eq!(at, by_age[0]),
            GcPolicy::WindowedGreedy => {
                by_age.truncate(self.window as usize);
                assert!(by_age.contains(&at));
                assert_eq!(self.invalid(at), most(&by_age));
            }
            GcPolicy::RandomPlusPlus => {
                let enough = self.invalid_min.min(most(&candidates));
                assert!(self.invalid(at) >= enough);
            }
            GcPolicy::CostBenefit => self.check_benefit(at, &candidates),
            // Which were drawn is not known. What a block is worth is tested beside the code.
            GcPolicy::Rga | GcPolicy::RemainingLife | GcPolicy::Random | GcPolicy::RandomPlus => {}
        }
    }

    /// A block that is older and emptier than the victim would have been a better one.
    fn check_benefit(&self, at: BlockAddr, candidates: &[BlockAddr]) {
        for &other in candidates {
            let older = self.block(other).filled_at < self.block(at).filled_at;
            let better = older && self.invalid(other) > self.invalid(at);
            assert!(!better, "{other:?} is older and emptier than {at:?}");
        }
    }

    /// The FTL names a block to move for the sake of wear, or to exchange.
    pub fn check_wear_victim(&self, at: BlockAddr) {
        if let Some([hot, cold]) = self.wear_rules {
            return self.check_exchange(at, hot, cold);
        }
        let blocks = &self.planes[at.plane];
        let cold = |block: &&Block| block.state == State::Full && block.programs == 0;
        let least = blocks.iter().filter(cold).map(|block| block.erases).min();
        let most = blocks.iter().map(|block| block.erases).max().unwrap_or(0);
        let block = self.block(at);
        assert_eq!(block.state, State::Full);
        assert_eq!(block.programs, 0);
        assert_eq!(Some(block.erases), least);
        let gap = self.static_wear.expect("static wear levelling is off");
        assert!(most - block.erases >= gap);
    }

    /// It must be the least worn block of the cold queue, or the most worn of the hot queue.
    fn check_exchange(&self, at: BlockAddr, hot: Purpose, cold: Purpose) {
        let block = self.block(at);
        assert_eq!((block.state, block.programs), (State::Full, 0));
        let (_, purpose) = block.purpose.expect("a full block has a purpose");
        let same_purpose = self.planes[at.plane].iter().filter(|other| {
            other.state == State::Full
                && other.programs == 0
                && other.purpose.is_some_and(|(_, of)| of == purpose)
        });
        let wear = same_purpose.map(|block| block.erases);
        assert!(self.static_wear.is_none(), "both would be to blame");
        let expected = if purpose == cold { wear.min() } else { wear.max() };
        assert!(purpose == cold || purpose == hot, "{at:?} is neither hot nor cold host data");
        assert_eq!(Some(block.erases), expected);
    }

    pub fn start_collecting(&mut self, at: BlockAddr) {
        self.block_mut(at).state = State::Collecting;
    }

    pub fn erase(&mut self, at: BlockAddr) {
        assert!(self.valid_pages(at).is_empty(), "{at:?} holds valid pages");
        let block = self.block_mut(at);
        assert_eq!(block.state, State::Collecting);
        assert_eq!(block.programs, 0, "{at:?} is being programmed");
        block.state = State::Free;
        block.purpose = None;
        block.pages.clear();
        block.erases += 1;
    }

    /// How many blocks were erased how often.
    pub fn erase_histogram(&self) -> Vec<(u32, u64)> {
        let mut counts = BTreeMap::new();
        for block in self.planes.iter().flatten() {
            *counts.entry(block.erases).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }
}
