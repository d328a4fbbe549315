//! What a policy knows of each logical page.
//!
//! A list of zeroes costs no memory where nothing was ever noted, since the system gives memory for
//! what is written alone. So a drive of 2^30 pages of which a run writes a thousand costs some
//! megabytes. Copies keep to that: a search copies a drive for each window of a trace, and copying
//! every zero of a drive of 400 GB took twenty times as long as the window itself.

use crate::number::LogicalPage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssdtune_model::Place;
use std::ops::Index;

/// Pages of a part: notes of 8 B of these fill a page of the system.
const PART: usize = 512;

/// A note for each logical page; the default, which must be all zeroes, for a page of which nothing
/// is known.
#[derive(Debug)]
pub(super) struct PerPage<V> {
    notes: Vec<V>,
    /// Whether something was noted in each part of [`PART`] pages.
    parts: Vec<bool>,
}

impl<V: Copy + Default> PerPage<V> {
    /// Notes of `pages` logical pages, of which nothing is known yet.
    pub fn new(pages: usize) -> Self {
        Self { notes: vec![V::default(); pages], parts: vec![false; pages.div_ceil(PART)] }
    }

    /// Logical pages.
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// Notes something of a page.
    #[inline]
    pub fn set(&mut self, page: LogicalPage, note: V) {
        self.notes[page.index()] = note;
        self.parts[page.index() / PART] = true;
    }
}

impl<V> Index<LogicalPage> for PerPage<V> {
    type Output = V;
    #[inline]
    fn index(&self, page: LogicalPage) -> &V {
        &self.notes[page.index()]
    }
}

/// The copy takes memory for parts alone in which something was noted.
impl<V: Copy + Default> Clone for PerPage<V> {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len());
        copy.parts.copy_from_slice(&self.parts);
        let parts = copy.notes.chunks_mut(PART).zip(self.notes.chunks(PART)).zip(&self.parts);
        for ((into, from), _) in parts.filter(|(_, is_noted)| **is_noted) {
            into.copy_from_slice(from);
        }
        copy
    }
}

/// Stored as a list of all notes.
impl<V: Serialize> Serialize for PerPage<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.notes.serialize(serializer)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for PerPage<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let notes = Vec::deserialize(deserializer)?;
        let parts = vec![true; notes.len().div_ceil(PART)];
        Ok(Self { notes, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_hold_what_was_noted() {
        let mut notes = PerPage::<u32>::new(5 * PART + 3);
        let pages = [0, PART as u64 - 1, 3 * PART as u64, 5 * PART as u64 + 2].map(LogicalPage);
        pages.iter().for_each(|&page| notes.set(page, page.0 as u32 + 1));
        let copy = notes.clone();
        assert_eq!(copy.notes, notes.notes);
        assert_eq!(copy.parts, [true, false, false, true, false, true]);
        let stored = serde_json::to_string(&notes).unwrap();
        assert!(stored.starts_with("[1,0,"), "a plain list");
        let restored: PerPage<u32> = serde_json::from_str(&stored).unwrap();
        assert_eq!(restored.clone().notes, notes.notes);
    }
}
