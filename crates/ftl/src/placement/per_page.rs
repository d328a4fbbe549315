//! What a policy knows of each logical page.
//!
//! Notes stand in groups of eight neighbouring pages, which exist where something was noted; a
//! directory of 4 B a group says where. One list of all notes costs a page of the system, 4 KiB,
//! for each note that stands alone, and the host writes all over a drive. Lists of zeroes cost no
//! memory where nothing was written, so a new drive of 2^30 pages costs some megabytes.
//!
//! Copies keep to that: a search copies a drive for each window of a trace, and copying every zero
//! of a drive of 400 GB took twenty times as long as the window itself.

use crate::number::LogicalPage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssdtune_model::Place;
use std::ops::Index;

/// Pages of a group: its notes of 8 B are as large as a cache line.
const GROUP: usize = 8;
/// Groups of a part of the directory: they fill a page of the system.
const PART: usize = 1024;

/// A note for each logical page; the default for a page of which nothing is known.
#[derive(Debug)]
pub(super) struct PerPage<V> {
    pages: usize,
    /// Where the notes of each group stand; 0 where nothing was noted.
    directory: Vec<u32>,
    /// Whether something was noted in each part of the directory.
    parts: Vec<bool>,
    /// The notes of groups, in the order in which they came to be. The first is never written: it
    /// holds the defaults that all groups share of which nothing was noted.
    groups: Vec<[V; GROUP]>,
}

impl<V: Copy + Default + PartialEq> PerPage<V> {
    /// Notes of `pages` logical pages, of which nothing is known yet.
    pub fn new(pages: usize) -> Self {
        let groups = pages.div_ceil(GROUP);
        Self {
            pages,
            directory: vec![0; groups],
            parts: vec![false; groups.div_ceil(PART)],
            groups: vec![[V::default(); GROUP]],
        }
    }

    /// Logical pages.
    pub fn len(&self) -> usize {
        self.pages
    }

    /// Notes something of a page.
    ///
    /// # Panics
    /// There are 2^32 groups of which something is noted, in which case notes take 32 GiB or more.
    #[inline]
    pub fn set(&mut self, page: LogicalPage, note: V) {
        debug_assert!(page.index() < self.pages);
        let group = page.index() / GROUP;
        let at = &mut self.directory[group];
        if *at == 0 {
            if note == V::default() {
                return;
            }
            *at = u32::try_from(self.groups.len()).expect("fewer than 2^32 groups");
            self.groups.push([V::default(); GROUP]);
            self.parts[group / PART] = true;
        }
        self.groups[*at as usize][page.index() % GROUP] = note;
    }
}

impl<V> Index<LogicalPage> for PerPage<V> {
    type Output = V;
    #[inline]
    fn index(&self, page: LogicalPage) -> &V {
        debug_assert!(page.index() < self.pages);
        let at = self.directory[page.index() / GROUP];
        &self.groups[at as usize][page.index() % GROUP]
    }
}

/// The copy takes memory for parts of the directory in which something was noted, and for groups.
impl<V: Copy> Clone for PerPage<V> {
    fn clone(&self) -> Self {
        let mut directory = vec![0; self.directory.len()];
        let parts = directory.chunks_mut(PART).zip(self.directory.chunks(PART)).zip(&self.parts);
        for ((into, from), _) in parts.filter(|(_, is_noted)| **is_noted) {
            into.copy_from_slice(from);
        }
        Self {
            pages: self.pages,
            directory,
            parts: self.parts.clone(),
            groups: self.groups.clone(),
        }
    }
}

/// Stored as a list of all notes.
impl<V: Copy + Serialize> Serialize for PerPage<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.pages).map(|page| self[LogicalPage::at(page)]))
    }
}

impl<'de, V: Copy + Default + PartialEq + Deserialize<'de>> Deserialize<'de> for PerPage<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Vec::deserialize(deserializer)?;
        let mut notes = Self::new(stored.len());
        for (page, note) in stored.into_iter().enumerate() {
            notes.set(LogicalPage::at(page), note);
        }
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_what_is_stored_hold_what_was_noted() {
        const PAGES: usize = 3 * PART * GROUP + 3;
        let mut notes = PerPage::<u32>::new(PAGES);
        let noted = [0, GROUP - 1, GROUP, 2 * PART * GROUP, PAGES - 1];
        noted.iter().for_each(|&page| notes.set(LogicalPage::at(page), page as u32 + 1));
        notes.set(LogicalPage(7), 9);
        notes.set(LogicalPage(PART as u64 * 8), 0);
        assert_eq!(
            (notes.len(), notes.groups.len()),
            (PAGES, 5),
            "groups where something is noted"
        );
        assert_eq!(notes.parts, [true, false, true, true]);
        let mut all = vec![0; PAGES];
        noted.iter().for_each(|&page| all[page] = page as u32 + 1);
        all[7] = 9;
        let listed = |notes: &PerPage<u32>| -> Vec<u32> {
            (0..PAGES).map(|page| notes[LogicalPage::at(page)]).collect()
        };
        assert_eq!(listed(&notes), all);
        assert_eq!(listed(&notes.clone()), all);
        let stored = serde_json::to_string(&notes).unwrap();
        assert_eq!(stored, serde_json::to_string(&all).unwrap(), "a plain list");
        let restored: PerPage<u32> = serde_json::from_str(&stored).unwrap();
        assert_eq!((listed(&restored), restored.groups.len()), (all, 5));
    }
}
