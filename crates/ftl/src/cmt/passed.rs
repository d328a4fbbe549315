//! Mappings that could not leave their cache when their turn came. Each is passed once, not again
//! by every mapping that leaves after it.

use super::MappingCache;
use crate::number::MappingSlot;
use crate::stuck::{Stuck, TranslationHome};
use std::collections::{BTreeMap, BTreeSet};

/// Why a mapping cannot leave, as far as is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    /// It is being loaded.
    Awaited,
    /// It has changed, and its translation page cannot be written there.
    Stuck(TranslationHome),
    /// None: it was loaded or written back after it was passed.
    Gone,
}

/// The mappings of a cache that were passed: the oldest, without a gap. It says nothing that a walk
/// over the cache would not find again, so it is not stored.
#[derive(Clone, Default)]
pub(super) struct Passed {
    /// The one used last among them.
    newest: Option<MappingSlot>,
    turns: BTreeMap<MappingSlot, (u64, Cause)>,
    stuck: Stuck<(u64, MappingSlot)>,
    /// Those whose cause is gone.
    loose: BTreeSet<(u64, MappingSlot)>,
    next_turn: u64,
}

impl Passed {
    /// Forgets a mapping; says when its turn was.
    fn forget(&mut self, slot: MappingSlot) -> Option<u64> {
        let (turn, cause) = self.turns.remove(&slot)?;
        match cause {
            Cause::Awaited => {}
            Cause::Stuck(home) => self.stuck.remove(home, (turn, slot)),
            Cause::Gone => drop(self.loose.remove(&(turn, slot))),
        }
        Some(turn)
    }

    fn insert(&mut self, slot: MappingSlot, turn: u64, cause: Cause) {
        match cause {
            Cause::Awaited => {}
            Cause::Stuck(home) => self.stuck.insert(home, (turn, slot)),
            Cause::Gone => drop(self.loose.insert((turn, slot))),
        }
        self.turns.insert(slot, (turn, cause));
    }
}

impl MappingCache {
    /// The mapping used longest ago that was not found unable to leave, or is so no longer.
    pub fn next_in_turn(&self, has_room: impl Fn(TranslationHome) -> bool) -> Option<MappingSlot> {
        let passed = &self.passed;
        let stuck = passed.stuck.first(has_room).map(|(turn, _)| turn);
        let first = stuck.into_iter().chain(passed.loose.first().copied()).min();
        first.map(|(_, slot)| slot).or_else(|| match passed.newest {
            Some(newest) => self.slots.newer(newest),
            None => self.slots.oldest(),
        })
    }

    /// Says why a mapping that [`MappingCache::next_in_turn`] has told cannot leave.
    pub fn pass(&mut self, slot: MappingSlot, cause: Cause) {
        let turn = self.passed.forget(slot).unwrap_or_else(|| {
            self.passed.newest = Some(slot);
            self.passed.next_turn += 1;
            self.passed.next_turn
        });
        self.passed.insert(slot, turn, cause);
    }

    /// What kept a mapping from leaving is gone.
    pub(super) fn loosen(&mut self, slot: MappingSlot) {
        if let Some(turn) = self.passed.forget(slot) {
            self.passed.insert(slot, turn, Cause::Gone);
        }
    }

    /// Translation pages are written in other planes from now on, so what kept mappings from
    /// leaving need not keep them any longer.
    pub fn loosen_stuck(&mut self) {
        for (turn, slot) in std::mem::take(&mut self.passed.stuck).into_turns() {
            self.passed.insert(slot, turn, Cause::Gone);
        }
    }

    /// A mapping is about to lose its place in the order.
    #[inline]
    pub(super) fn unpass(&mut self, slot: MappingSlot) {
        if self.passed.newest.is_some() {
            self.unpass_any(slot);
        }
    }

    #[cold]
    fn unpass_any(&mut self, slot: MappingSlot) {
        if self.passed.forget(slot).is_some() && self.passed.newest == Some(slot) {
            self.passed.newest = self.slots.older(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::LogicalPage;
    use rand::seq::IndexedMutRandom;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use ssdtune_model::{PlaneId, TenantId};

    const HOMES: u32 = 5;

    /// Which planes have room, and how many places each mapping has moved on.
    struct Planes {
        room: [bool; HOMES as usize],
        moved: u32,
    }

    impl Planes {
        /// Where the mapping of a page is written.
        fn home(&self, page: LogicalPage) -> TranslationHome {
            (TenantId(0), PlaneId((page.0 as u32 % HOMES + self.moved) % HOMES))
        }

        fn has_room(&self, (_, plane): TranslationHome) -> bool {
            self.room[plane.0 as usize]
        }
    }

    /// As `Ftl::next_eviction`.
    fn next(cache: &mut MappingCache, planes: &Planes) -> Option<MappingSlot> {
        loop {
            let slot = cache.next_in_turn(|home| planes.has_room(home))?;
            let home = planes.home(cache.page(slot));
            let cause = match (cache.is_waiting(slot), cache.is_dirty(slot)) {
                (true, _) => Cause::Awaited,
                (false, true) if !planes.has_room(home) => Cause::Stuck(home),
                _ => return Some(slot),
            };
            cache.pass(slot, cause);
        }
    }

    /// The first that can leave on a walk over the whole cache.
    fn first_of_all(cache: &MappingCache, planes: &Planes) -> Option<MappingSlot> {
        cache.slots.iter().find(|&slot| {
            let has_room = planes.has_room(planes.home(cache.page(slot)));
            !cache.is_waiting(slot) && (!cache.is_dirty(slot) || has_room)
        })
    }

    #[test]
    fn whoever_leaves_is_the_first_that_can_on_a_walk_over_all() {
        for seed in 0..200 {
            let rng = &mut Pcg64Mcg::seed_from_u64(seed);
            let mut cache = MappingCache::new(1);
            let mut planes = Planes { room: [true; HOMES as usize], moved: 0 };
            let (mut left, mut passed) = (0, 0);
            for step in 0..1_000 {
                let all: Vec<MappingSlot> = cache.slots.iter().collect();
                let any = (!all.is_empty()).then(|| all[rng.random_range(0..all.len().max(1))]);
                match (rng.random_range(0..11), any) {
                    (0..3, _) | (_, None) => drop(cache.reserve(LogicalPage(rng.random()))),
                    (3, Some(slot)) => cache.touch(slot),
                    (4 | 5, Some(slot)) => cache.set_ready(slot),
                    (6, Some(slot)) => cache.set_dirty(slot, rng.random_bool(0.8)),
                    (7, _) => *planes.room.choose_mut(rng).unwrap() = rng.random_bool(0.3),
                    (8, _) => {
                        planes.moved = rng.random_range(0..HOMES);
                        cache.loosen_stuck();
                    }
                    (_, Some(_)) => {
                        let expected = first_of_all(&cache, &planes);
                        assert_eq!(next(&mut cache, &planes), expected, "seed {seed}, step {step}");
                        passed += cache.passed.turns.len();
                        if let Some(slot) = expected.filter(|_| rng.random()) {
                            cache.remove(slot);
                            left += 1;
                        }
                    }
                }
            }
            assert!(left > 10 && passed > 100, "seed {seed}: {left} left, {passed} were passed");
        }
    }
}
