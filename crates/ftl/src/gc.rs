//! Choosing a victim: which block of a plane garbage collection takes. One function for each
//! policy.
//!
//! A victim is full, none of its pages is still being programmed, and it has at least one invalid
//! page. (Moving a block without any would win nothing.)
//!
//! Cost: the greedy policy looks for the largest of one number for each block, in vectors: 2,048
//! blocks take about 0.2 us, while a victim costs some 100 page moves. The windowed and
//! cost-benefit policies look at each block by itself.

use crate::block::{BlockState, Plane};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use ssdtune_model::config::GcPolicy;
use ssdtune_model::{BlockId, DeviceConfig, Geometry, Place};

/// Candidates that the policy of remaining lives draws by default.
const REMAINING_LIFE_CHOICES: u32 = 64;

/// The policy and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VictimRules {
    pub policy: GcPolicy,
    /// Rga (the d-choices policy) and remaining life: how many candidates are drawn.
    pub choices: u32,
    /// Windowed greedy: how many of the oldest blocks are looked at.
    pub window: u32,
    /// Random++: how many invalid pages a block must have at least.
    pub invalid_min: u32,
    pub pages_per_block: u32,
}

impl VictimRules {
    /// The rules that a configuration asks for. A parameter of 0 stands for a default that depends
    /// on the size of a plane.
    pub fn new(config: &DeviceConfig, geometry: &Geometry) -> Self {
        let (blocks, pages) = (geometry.blocks_per_plane, geometry.pages_per_block);
        let spare = config.mapping.overprovisioning * f64::from(pages);
        Self {
            policy: config.gc.policy,
            choices: match (config.gc.choices, config.gc.policy) {
                (0, GcPolicy::RemainingLife) => REMAINING_LIFE_CHOICES,
                (0, _) => blocks.ilog2().max(1),
                (choices, _) => choices,
            },
            window: if config.gc.window == 0 { (blocks / 8).max(1) } else { config.gc.window },
            invalid_min: (spare as u32).max(1),
            pages_per_block: pages,
        }
    }

    /// The number of the block to collect; `None` if no block can be a victim. `soon` tells which
    /// share of a block's valid pages will be overwritten before long, with 16 bits behind the
    /// point.
    pub fn choose(
        &self,
        plane: &Plane,
        rng: &mut Pcg64Mcg,
        soon: impl Fn(BlockId) -> u32,
    ) -> Option<BlockId> {
        match self.policy {
            GcPolicy::Greedy => greedy(plane),
            GcPolicy::Rga => {
                let draws = draw(plane, rng, self.choices, is_candidate);
                most_invalid(plane, draws.into_iter())
            }
            GcPolicy::Random | GcPolicy::RandomPlus => {
                draw(plane, rng, 1, is_candidate).first().copied()
            }
            GcPolicy::RandomPlusPlus => {
                let enough = |plane: &Plane, block: BlockId| {
                    is_candidate(plane, block) && plane.invalid[block] >= self.invalid_min
                };
                let found = draw(plane, rng, 1, enough).first().copied();
                found.or_else(|| greedy(plane))
            }
            GcPolicy::Fifo => oldest(plane, 1).first().copied(),
            GcPolicy::WindowedGreedy => most_invalid(plane, oldest(plane, self.window).into_iter()),
            GcPolicy::CostBenefit => self.best_benefit(plane),
            GcPolicy::RemainingLife => {
                let drawn = draw(plane, rng, self.choices, is_candidate);
                self.least_to_wait_for(plane, drawn, soon)
            }
        }
    }

    /// The block with the most invalid pages, less the valid ones that will be overwritten before
    /// long: those cost a move now, and none if the block waits. Of equals, the one that was drawn
    /// first.
    fn least_to_wait_for(
        &self,
        plane: &Plane,
        drawn: Vec<BlockId>,
        soon: impl Fn(BlockId) -> u32,
    ) -> Option<BlockId> {
        let mut best: Option<(i64, BlockId)> = None;
        for block in drawn {
            let invalid = plane.invalid[block];
            let waits = i64::from(self.pages_per_block - invalid) * i64::from(soon(block));
            let worth = (i64::from(invalid) << 16) - waits;
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, block));
            }
        }
        best.map(|(_, block)| block)
    }

    /// The block with the largest (1 - u) * age / (1 + u), after Rosenblum and Ousterhout, where u
    /// is the share of valid pages and the age is counted in blocks filled since.
    fn best_benefit(&self, plane: &Plane) -> Option<BlockId> {
        let pages = f64::from(self.pages_per_block);
        let mut best: Option<(f64, BlockId)> = None;
        for block in plane.blocks.names().filter(|&b| is_candidate(plane, b)) {
            let free = f64::from(plane.invalid[block]) / pages;
            let age = (plane.fills() - plane.blocks[block].filled_at) as f64;
            let benefit = free * age / (2.0 - free);
            if best.is_none_or(|(most, _)| benefit > most) {
                best = Some((benefit, block));
            }
        }
        best.map(|(_, block)| block)
    }
}

/// Whether a block can be a victim.
fn is_candidate(plane: &Plane, block: BlockId) -> bool {
    plane.states[block] == BlockState::Full
        && plane.invalid[block] > 0
        && plane.blocks[block].programs == 0
}

/// The candidate with the most invalid pages; of equals, the one with the lowest number.
fn greedy(plane: &Plane) -> Option<BlockId> {
    // The block with the most invalid pages is nearly always a candidate. Whether it is one is
    // asked only once the largest number is known, so that the search for it has no branches.
    let most = plane.invalid.iter().copied().fold(0, u32::max);
    let first = plane.invalid.iter().position(|&invalid| invalid == most).map(BlockId::at)?;
    if is_candidate(plane, first) {
        return Some(first);
    }
    most_invalid(plane, plane.blocks.names())
}

/// The candidate with the most invalid pages; of equals, the one that `blocks` names first.
fn most_invalid(plane: &Plane, blocks: impl Iterator<Item = BlockId>) -> Option<BlockId> {
    let (mut most, mut victim) = (0, None);
    for block in blocks {
        if plane.invalid[block] > most && is_candidate(plane, block) {
            most = plane.invalid[block];
            victim = Some(block);
        }
    }
    victim
}

/// Draws up to `count` different blocks that `fits` accepts. After as many misses as there are
/// blocks it stops drawing. If it has none by then, it walks from a random block to the first that
/// fits. So it always ends, and it finds a block if there is one.
fn draw(
    plane: &Plane,
    rng: &mut Pcg64Mcg,
    count: u32,
    fits: impl Fn(&Plane, BlockId) -> bool,
) -> Vec<BlockId> {
    let blocks = plane.blocks.len() as u32;
    let mut drawn: Vec<BlockId> = Vec::with_capacity(count as usize);
    let mut misses = 0;
    while (drawn.len() as u32) < count && misses < blocks {
        let block = BlockId(rng.random_range(0..blocks));
        if fits(plane, block) && !drawn.contains(&block) {
            drawn.push(block);
        } else {
            misses += 1;
        }
    }
    if drawn.is_empty() && blocks > 0 {
        let start = rng.random_range(0..blocks);
        let mut in_turn = (0..blocks).map(|i| BlockId((start + i) % blocks));
        drawn.extend(in_turn.find(|&b| fits(plane, b)));
    }
    drawn
}

/// The `count` candidates that became full first, oldest first.
fn oldest(plane: &Plane, count: u32) -> Vec<BlockId> {
    let mut blocks: Vec<BlockId> =
        plane.blocks.names().filter(|&b| is_candidate(plane, b)).collect();
    let age = |&block: &BlockId| plane.blocks[block].filled_at;
    let count = (count as usize).min(blocks.len());
    if count == 0 {
        return Vec::new();
    }
    blocks.select_nth_unstable_by_key(count - 1, age);
    blocks.truncate(count);
    blocks.sort_unstable_by_key(age);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{FRONTIERS, FrontierId, Pick};
    use crate::layout::Spot;
    use crate::number::{LogicalPage, Owner};
    use rand::SeedableRng;
    use ssdtune_model::{PageId, TenantId};

    const PAGES: u32 = 16;

    /// A plane of full blocks of which so many pages are invalid.
    fn plane(invalid: &[u32]) -> Plane {
        let mut plane = Plane::new(invalid.len() as u32, PAGES, 1, FRONTIERS, 1);
        for &dead in invalid {
            let (tenant, frontier) = (TenantId(0), FrontierId::DATA);
            let block = plane.open_frontier(tenant, frontier, Pick::InOrder).expect("free");
            for page in 0..PAGES {
                let slot = plane.append(tenant, frontier, Owner::from(LogicalPage(page.into())), 1);
                plane.programmed(slot.at);
            }
            (0..dead).for_each(|page| plane.invalidate(Spot { block, page: PageId(page) }));
        }
        plane
    }

    fn rules() -> VictimRules {
        let mut config = DeviceConfig::default();
        config.gc.policy = GcPolicy::RemainingLife;
        config.flash.pages_per_block = PAGES;
        VictimRules::new(&config, &config.geometry())
    }

    #[test]
    fn remaining_life_draws_64_by_default() {
        assert_eq!(rules().choices, 64);
    }

    #[test]
    fn the_victim_has_most_pages_that_are_dead_and_fewest_that_will_be() {
        for seed in 0..200 {
            let rng = &mut Pcg64Mcg::seed_from_u64(seed);
            let blocks = rng.random_range(1..9);
            let invalid: Vec<u32> = (0..blocks).map(|_| rng.random_range(0..=PAGES)).collect();
            let soon: Vec<u32> = (0..blocks).map(|_| rng.random_range(0..=1 << 16)).collect();
            let plane = plane(&invalid);
            let victim = rules().choose(&plane, rng, |block| soon[block.index()]);
            assert_eq!(victim.is_some(), invalid.iter().any(|&dead| dead > 0), "seed {seed}");
            let all = plane.blocks.names().filter(|&block| is_candidate(&plane, block)).collect();
            let best = rules().least_to_wait_for(&plane, all, |block| soon[block.index()]);
            let worth = |nth: usize| {
                let valid = f64::from(PAGES - invalid[nth]);
                f64::from(invalid[nth]) - valid * f64::from(soon[nth]) / 65_536.0
            };
            let candidates = (0..invalid.len()).filter(|&nth| invalid[nth] > 0);
            let most = candidates.map(worth).max_by(f64::total_cmp);
            assert_eq!(best.map(|block| worth(block.index())), most, "seed {seed}");
        }
    }

    #[test]
    fn a_block_whose_pages_die_soon_is_waited_for() {
        let plane = plane(&[10, 9, 8]);
        let rng = &mut Pcg64Mcg::seed_from_u64(1);
        let all: Vec<BlockId> = plane.blocks.names().collect();
        let choose = |soon: [u32; 3]| {
            let soon = |block: BlockId| soon[block.index()];
            rules().least_to_wait_for(&plane, all.clone(), soon)
        };
        assert_eq!(choose([0, 0, 0]), Some(BlockId(0)), "greedy if nothing is known");
        assert_eq!(choose([1 << 15, 0, 0]), Some(BlockId(1)));
        assert_eq!(choose([1 << 15, 1 << 15, 0]), Some(BlockId(2)));
        assert!(rules().choose(&plane, rng, |_| 0).is_some());
    }
}
