//! The initial content of one plane: how many valid pages each of its blocks holds, and whose they
//! are.

use super::page_set::PageSet;
use super::permutation::Permutation;
use super::{Distributions, InitialContent, Start};
use crate::block::{FrontierId, Plane, PlaneSummary};
use crate::error::FtlError;
use crate::gc::VictimRules;
use crate::number::GroupId;
use crate::switches::Switches;
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockId, Geometry, PageId, Place, PlaneId, Table, TenantId, scramble};
use std::cmp::Reverse;

/// The pages that one tenant has in a plane.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Group {
    pub tenant: TenantId,
    /// The number of this plane among the tenant's planes.
    pub position: u64,
    /// The tenant's pages in this plane, numbered within the plane.
    pub members: PageSet,
    /// Full blocks that hold them.
    full: u32,
    /// Open blocks that hold them: the frontier, and how many pages are written.
    open: Vec<(FrontierId, u32)>,
    /// How the pages are spread over the valid pages of the blocks; `None` if they lie in order.
    shuffle: Option<Permutation>,
    /// The blocks. Empty while the plane sleeps.
    blocks: Vec<BlockId>,
    /// For each block, the pages that lie in earlier blocks. Empty while the plane sleeps.
    starts: Vec<u32>,
    /// For each full block, the number of blocks filled since. Empty while the plane sleeps.
    ages: Vec<u32>,
}

impl Group {
    pub fn new(tenant: TenantId, position: u64, members: PageSet) -> Self {
        Self {
            tenant,
            position,
            members,
            full: 0,
            open: Vec::new(),
            shuffle: None,
            blocks: Vec::new(),
            starts: Vec::new(),
            ages: Vec::new(),
        }
    }

    /// Pages in open blocks.
    fn opened(&self) -> u64 {
        self.open.iter().map(|&(_, filled)| u64::from(filled)).sum()
    }

    /// Pages in full blocks.
    fn settled(&self) -> u64 {
        self.members.len() - self.opened()
    }
}

/// The initial content of one plane.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct PlaneContent {
    pub groups: Table<GroupId, Group>,
    /// The first block of the initial content. Blocks before it hold translation pages.
    first: BlockId,
    /// Full blocks of the initial content. They come before the open ones, oldest first.
    full: u32,
    /// Pages of a block.
    pages: u32,
    /// The pages of full blocks lie at random offsets.
    shuffled: bool,
    seed: u64,
    /// The group of each block, counted from `first`. Empty while the plane sleeps.
    owners: Vec<GroupId>,
}

/// How many blocks around the expected one are looked at first.
const NEAR: usize = 4;

/// A tenant needs this many blocks of data before some of its pages lie in open blocks.
const OPEN_FROM: u64 = 4;

impl PlaneContent {
    /// Divides the blocks of a plane among the tenants that have data there, without making any
    /// record.
    ///
    /// # Errors
    /// The plane has no room for the data, or more pages than 32 bits can number.
    pub fn settle(
        &mut self,
        id: PlaneId,
        plane: &mut Plane,
        spec: &InitialContent,
        geometry: &Geometry,
        config: &Switches,
    ) -> Result<(), FtlError> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let pages = u64::from(geometry.pages_per_block);
        // Positions in a plane are counted in 32 bits.
        let bits = u64::BITS - geometry.pages_per_plane().leading_zeros();
        if bits > u32::BITS {
            return Err(FtlError::TooLarge { bits, limit: u32::BITS });
        }
        self.first = BlockId(plane.opened_blocks());
        self.pages = pages as u32;
        self.shuffled = spec.start == Start::Steady;
        self.seed = scramble(spec.seed ^ (u64::from(id.0) << 20));
        for group in &mut self.groups {
            let key = scramble(self.seed ^ (u64::from(group.tenant.0) + 1));
            open_frontiers(group, spec.start, pages, key, config.eager_frontiers);
            if self.shuffled {
                group.shuffle = Some(Permutation::new(group.members.len(), key));
            }
        }
        let open: u32 = self.groups.iter().map(|group| group.open.len() as u32).sum();
        let settled: u64 = self.groups.iter().map(Group::settled).sum();
        let spared = spared_blocks(id, spec, geometry, config);
        let room = plane.free_blocks().saturating_sub(spared + open);
        let needed: u64 = self.groups.iter().map(|group| group.settled().div_ceil(pages)).sum();
        let is_steady = spec.start == Start::Steady;
        if needed > u64::from(room)
            || is_steady && settled + u64::from(room) > u64::from(room) * pages
        {
            return Err(FtlError::NoRoomForInitialContent { plane: id, blocks: needed, room });
        }
        match spec.start {
            Start::Sequential => {
                for group in &mut self.groups {
                    group.full = group.settled().div_ceil(pages) as u32;
                }
            }
            Start::Steady => share(&mut self.groups, room, settled, pages),
        }
        self.full = self.groups.iter().map(|group| group.full).sum();
        let mut block = self.first.0 + self.full;
        for group in &self.groups {
            for &(frontier, filled) in &group.open {
                plane.set_frontier(group.tenant, frontier, BlockId(block), filled);
                block += 1;
            }
        }
        let valid = settled + self.groups.iter().map(Group::opened).sum::<u64>();
        let fills = self.oldest() as u64 + 1;
        plane.sleep(PlaneSummary { opened: block, fills, valid, erases: spec.erases });
        Ok(())
    }
}

/// Blocks of a plane that the content leaves free. Unless told otherwise, a steady plane has just
/// collected: its free blocks are at the threshold.
fn spared_blocks(
    id: PlaneId,
    spec: &InitialContent,
    geometry: &Geometry,
    config: &Switches,
) -> u32 {
    match spec.start {
        Start::Sequential => config.reserve + 1,
        Start::Steady if config.analytic_start => config.threshold / 2,
        Start::Steady => {
            let blocks = f64::from(geometry.blocks_per_plane);
            let free = spec.free.get(id.index()).or(spec.free.last());
            free.map_or(config.threshold, |share| (share * blocks) as u32)
        }
    }
}

/// Decides how far the frontiers of a tenant are filled: at random, so that the planes do not run
/// in step.
fn open_frontiers(group: &mut Group, start: Start, pages: u64, key: u64, eager: bool) {
    let held = group.members.len();
    // Where every frontier owns a block from the beginning, that block is still empty.
    if eager {
        return;
    }
    match start {
        Start::Sequential if !held.is_multiple_of(pages) => {
            group.open.push((FrontierId::DATA, (held % pages) as u32));
        }
        Start::Steady if held >= OPEN_FROM * pages && pages > 1 => {
            for frontier in [FrontierId::DATA, FrontierId::MOVED] {
                let filled =
                    1 + scramble(key ^ ((frontier.index() as u64 + 1) << 32)) % (pages - 1);
                group.open.push((frontier, filled as u32));
            }
        }
        _ => {}
    }
}

/// Gives each group its part of the blocks, and at least as many as its data need.
fn share(groups: &mut Table<GroupId, Group>, room: u32, settled: u64, pages: u64) {
    let (mut blocks, mut rest) = (u64::from(room), settled);
    for group in groups {
        let own = group.settled();
        let part = (own * blocks).checked_div(rest).unwrap_or(0);
        group.full = part.max(own.div_ceil(pages)).min(blocks) as u32;
        blocks -= u64::from(group.full);
        rest -= own;
    }
}

impl PlaneContent {
    /// An upper bound of all ages, counted in blocks filled since.
    fn oldest(&self) -> f64 {
        16.0 * f64::from(self.full)
    }

    /// Decides how many pages of each group lie in which block.
    pub(super) fn lay_out(
        &mut self,
        fullest_first: bool,
        rules: &VictimRules,
        steady: &mut Distributions,
    ) {
        let (pages, seed) = (self.pages, self.seed);
        let shares: Table<GroupId, u32> = self.groups.iter().map(|group| group.full).collect();
        self.owners = interleave(&shares, self.full);
        let (mut open, oldest) = (self.first.0 + self.full, self.oldest());
        for (id, group) in self.groups.named_mut() {
            let own = (0..self.full).filter(|&block| self.owners[block as usize] == id);
            let own: Vec<u32> = own.collect();
            let valid = if self.shuffled && group.full > 0 {
                let rho = group.settled() as f64 / (f64::from(group.full) * f64::from(pages));
                let stationary = steady.of(rules, self.full, rho);
                let older = |&block: &u32| 1.0 - (f64::from(block) + 0.5) / f64::from(self.full);
                let ages = own.iter().map(|block| {
                    (stationary.age(older(block)) * f64::from(self.full)).min(oldest) as u32
                });
                group.ages.extend(ages);
                // A golden-section walk spreads the draws evenly over all ages and all counts.
                let offset = scramble(seed ^ u64::from(id.0)) as f64 / u64::MAX as f64;
                let draw = |block: &u32| {
                    let chance = f64::from(*block).mul_add(0.618_033_988_749_895, offset).fract();
                    stationary.valid(older(block), chance)
                };
                let mut valid: Vec<u32> = own.iter().map(draw).collect();
                balance(&mut valid, group.settled(), pages, seed);
                if fullest_first {
                    valid.sort_unstable_by_key(|&count| Reverse(count));
                }
                valid
            } else {
                group.ages.extend(own.iter().map(|block| self.full - 1 - block));
                let rest = |nth: usize| group.settled() - nth as u64 * u64::from(pages);
                (0..own.len()).map(|nth| rest(nth).min(pages.into()) as u32).collect()
            };
            let mut sum = 0;
            for (block, valid) in own.iter().zip(valid) {
                group.blocks.push(BlockId(self.first.0 + block));
                group.starts.push(sum);
                sum += valid;
            }
            for &(_, filled) in &group.open {
                group.blocks.push(BlockId(open));
                group.starts.push(sum);
                self.owners.push(id);
                sum += filled;
                open += 1;
            }
            debug_assert_eq!(u64::from(sum), group.members.len());
        }
    }

    /// Makes the block records of a plane.
    pub fn open(&self, plane: &mut Plane) {
        let fills = plane.fills();
        plane.wake();
        for group in &self.groups {
            for (nth, &block) in group.blocks.iter().enumerate() {
                let valid = group.valid(nth);
                let open = nth.checked_sub(group.full as usize);
                let frontier = open.map_or(FrontierId::DATA, |nth| group.open[nth].0);
                let full = group
                    .ages
                    .get(nth)
                    .map(|&age| (self.pages - valid, fills - 1 - u64::from(age)));
                plane.set_block(block, group.tenant, frontier, full);
            }
        }
    }

    /// How the pages of a block are spread over its offsets; `None` if they lie in order.
    fn offsets(&self, block: BlockId) -> Option<Permutation> {
        (self.shuffled && block.0 < self.first.0 + self.full)
            .then(|| Permutation::new(self.pages.into(), self.seed ^ (u64::from(block.0) << 40)))
    }

    /// The place of the page with a rank in a group, counted over all its blocks.
    #[inline]
    pub fn spread(&self, group: GroupId, rank: u64) -> u32 {
        self.groups[group].shuffle.map_or(rank, |shuffle| shuffle.forward(rank)) as u32
    }

    /// The lines that [`PlaneContent::place`] will most likely look at. The plane is awake.
    pub fn lines(&self, group: GroupId, place: u32) -> [&u32; 3] {
        let group = &self.groups[group];
        let near = group.expected_block(place);
        let last = (near + NEAR).min(group.starts.len() - 1);
        [&group.starts[near.saturating_sub(NEAR)], &group.starts[last], &group.blocks[near].0]
    }

    /// The block and the offset of the page at a place of a group.
    #[inline]
    pub fn place(&self, group: GroupId, place: u32) -> (BlockId, PageId) {
        let group = &self.groups[group];
        let nth = group.block_of(place);
        let (block, slot) = (group.blocks[nth], place - group.starts[nth]);
        let offset = self.offsets(block).map_or(slot, |order| order.forward(slot.into()) as u32);
        (block, PageId(offset))
    }

    /// The group whose pages a block holds.
    pub fn group(&self, block: BlockId) -> GroupId {
        self.owners[(block.0 - self.first.0) as usize]
    }

    /// The pages of a block that held data at the start, in no order: their offsets, and their
    /// ranks in the block's group. One after the other takes the CPU much less than the first look
    /// at a single page, since the steps of several pages overlap.
    pub fn pages(
        &self,
        group: GroupId,
        block: BlockId,
    ) -> impl Iterator<Item = (PageId, u64)> + '_ {
        let group = &self.groups[group];
        let nth = group.blocks.partition_point(|&other| other < block);
        let (order, start) = (self.offsets(block), group.starts[nth]);
        (0..group.valid(nth)).map(move |slot| {
            let page = order.map_or(slot, |order| order.forward(slot.into()) as u32);
            let place = u64::from(start + slot);
            (PageId(page), group.shuffle.map_or(place, |shuffle| shuffle.back(place)))
        })
    }

    /// Memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let group = |group: &Group| {
            size_of::<Group>() as u64
                + group.members.memory_bytes()
                + 4 * (group.blocks.capacity() + group.starts.capacity() + group.ages.capacity())
                    as u64
        };
        self.groups.iter().map(group).sum::<u64>() + 2 * self.owners.capacity() as u64
    }
}

impl Group {
    /// Which of its blocks would hold the page at a place if all held the same number of pages.
    #[inline]
    fn expected_block(&self, place: u32) -> usize {
        place as usize * self.starts.len() / self.members.len() as usize
    }

    /// Which of its blocks holds the page at a place, counted over all its blocks.
    #[inline]
    fn block_of(&self, place: u32) -> usize {
        // Blocks hold similar numbers of pages in no order, so the right one is near the expected
        // one; empty blocks in between have no place of their own.
        let (count, near) = (self.starts.len(), self.expected_block(place));
        let (mut low, mut high) = (near.saturating_sub(NEAR), (near + NEAR).min(count));
        if self.starts[low] > place {
            low = 0;
        }
        if self.starts.get(high).is_some_and(|&start| start <= place) {
            high = count;
        }
        low + self.starts[low..high].partition_point(|&start| start <= place) - 1
    }

    /// Valid pages of the nth of its blocks.
    fn valid(&self, nth: usize) -> u32 {
        let end = self.starts.get(nth + 1).copied().unwrap_or(self.members.len() as u32);
        end - self.starts[nth]
    }
}

/// The group of each of `full` blocks, of which each group has its share. Groups take turns in
/// proportion to their blocks, so that all of them age evenly.
fn interleave(shares: &Table<GroupId, u32>, full: u32) -> Vec<GroupId> {
    if shares.len() == 1 {
        return vec![GroupId(0); full as usize];
    }
    let mut given: Table<GroupId, u32> = Table::of(0, shares.len());
    let next = |_| {
        let behind = |&id: &GroupId| {
            let share = shares[id];
            // Where its next block would stand if its blocks were spread evenly.
            (u64::from(given[id]) + 1) * u64::from(full) / u64::from(share).max(1)
                + if given[id] < share { 0 } else { 1 << 40 }
        };
        let id = shares.names().min_by_key(behind).unwrap_or(GroupId(0));
        given[id] += 1;
        id
    };
    (0..full).map(next).collect()
}

/// Brings the counts to the right sum by adding or removing single pages here and there.
fn balance(valid: &mut [u32], target: u64, pages: u32, seed: u64) {
    let sum: u64 = valid.iter().map(|&count| u64::from(count)).sum();
    let blocks = valid.len();
    let mut missing = target as i64 - sum as i64;
    let mut at = scramble(seed) as usize % blocks;
    while missing != 0 {
        let count = &mut valid[at];
        if missing > 0 && *count < pages {
            *count += 1;
            missing -= 1;
        } else if missing < 0 && *count > 0 {
            *count -= 1;
            missing += 1;
        }
        at = (at + 1) % blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_take_turns_in_proportion_to_their_blocks() {
        let shares: Table<GroupId, u32> = [2, 6, 0, 4].into_iter().collect();
        let turns = interleave(&shares, 12).into_iter().map(|group| group.index());
        assert_eq!(turns.collect::<Vec<_>>(), [1, 3, 1, 0, 1, 3, 1, 3, 1, 0, 1, 3]);
    }
}
