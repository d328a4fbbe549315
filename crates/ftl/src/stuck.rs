//! Changed mappings that are stuck in their cache when their turn to leave comes: no translation
//! page can be written where theirs belongs. They are set aside, so that what leaves in their place
//! costs the same however many they are.

use serde::{Deserialize, Serialize};
use ssdtune_model::{PlaneId, TenantId};
use std::collections::{BTreeMap, BTreeSet};

/// Where translation pages are written: whose they are, and the plane.
pub(crate) type TranslationHome = (TenantId, PlaneId);

/// Stuck mappings. `T` says whose turn came first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stuck<T: Ord> {
    turns: BTreeMap<TranslationHome, BTreeSet<T>>,
}

impl<T: Ord> Default for Stuck<T> {
    fn default() -> Self {
        Self { turns: BTreeMap::new() }
    }
}

impl<T: Ord + Copy> Stuck<T> {
    pub fn insert(&mut self, home: TranslationHome, turn: T) {
        self.turns.entry(home).or_default().insert(turn);
    }

    pub fn remove(&mut self, home: TranslationHome, turn: T) {
        let Some(turns) = self.turns.get_mut(&home) else { return };
        turns.remove(&turn);
        if turns.is_empty() {
            self.turns.remove(&home);
        }
    }

    /// The first whose translation page can be written now.
    pub fn first(
        &self,
        has_room: impl Fn(TranslationHome) -> bool,
    ) -> Option<(T, TranslationHome)> {
        let open = self.turns.iter().filter(|(home, _)| has_room(**home));
        open.filter_map(|(home, turns)| Some((*turns.first()?, *home))).min()
    }

    /// All of them, in the order of their turns.
    pub fn into_turns(self) -> BTreeSet<T> {
        self.turns.into_values().flatten().collect()
    }
}
