//! The page table: logical page to physical page, in leaves of one cache line that exist only where
//! something was written.
//!
//! An entry is 64 bits: 36 for the physical page plus one, 28 for a mark of the data cache (the
//! slot that holds the page, or what the cache wants to remember of a page it dropped). So a cached
//! page is found without hashing, and an access costs two cache misses at most: the directory and
//! the leaf. An entry that is all zero was never looked at: on a drive with a past the page may
//! have a place all the same.
//!
//! Memory: 64 B for each 8 logical pages touched, 4 B of directory for each 8 pages of a touched
//! 32,768.

use crate::layout::{PHYS_BITS, Phys};
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

const LEAF_PAGES: u64 = 8;
const LEAVES_PER_NODE: usize = 4096;
const NONE: u32 = u32::MAX;

type Node = Box<[u32; LEAVES_PER_NODE]>;

/// A leaf; aligned so that it is one cache line.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[repr(align(64))]
struct Leaf([u64; LEAF_PAGES as usize]);

const EMPTY: Leaf = Leaf([0; LEAF_PAGES as usize]);

/// What the data cache remembers in a page-table entry: 28 bits, 0 for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMark(pub u32);

impl CacheMark {
    /// Values below this fit.
    pub const LIMIT: u32 = 1 << (64 - PHYS_BITS);
}

/// Where an entry stands; valid as long as the table lives.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct EntryRef {
    leaf: u32,
    index: u32,
}

/// The number beside an entry: how its mapping stands to the mapping cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheStatus {
    /// Never used: in the cache only if the drive's past put it there.
    Untouched,
    /// As before, but the mapping has changed.
    ChangedInitial,
    /// It left the cache.
    Evicted,
    /// The slot that holds it.
    Slot(u32),
}

const EVICTED: u32 = u32::MAX - 1;
const CHANGED_INITIAL: u32 = u32::MAX - 2;

#[derive(Serialize, Deserialize)]
pub(crate) struct PageTable {
    /// First-level index: node of each 32,768 logical pages, or `NONE`.
    root: Vec<u32>,
    #[serde(with = "nodes")]
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// One number per page beside the leaves, where somebody asked for it (the mapping cache's
    /// slots).
    statuses: Option<Vec<[u32; LEAF_PAGES as usize]>>,
    mapped: u64,
}

const PHYS_MASK: u64 = (1 << PHYS_BITS) - 1;
/// Instead of a physical page: the page has none, whatever the drive's past says.
const UNMAPPED: u64 = PHYS_MASK;

impl PageTable {
    pub fn new(pages: u64, with_status: bool) -> Self {
        let span = LEAF_PAGES * LEAVES_PER_NODE as u64;
        Self {
            root: vec![NONE; pages.div_ceil(span) as usize],
            nodes: Vec::new(),
            leaves: Vec::new(),
            statuses: with_status.then(Vec::new),
            mapped: 0,
        }
    }

    /// Logical pages that have a physical one.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Heap bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.root.len() * 4
            + self.nodes.len() * LEAVES_PER_NODE * 4
            + self.leaves.capacity() * size_of::<Leaf>()
            + self.statuses.as_ref().map_or(0, |statuses| statuses.capacity() * 32)) as u64
    }

    /// The entry of a page, made if absent.
    #[inline]
    pub fn entry(&mut self, page: u64) -> EntryRef {
        let leaf_no = page / LEAF_PAGES;
        let index = (page % LEAF_PAGES) as u32;
        let root = &mut self.root[(leaf_no as usize) / LEAVES_PER_NODE];
        if *root == NONE {
            *root = self.nodes.len() as u32;
            self.nodes.push(Box::new([NONE; LEAVES_PER_NODE]));
        }
        let leaf = &mut self.nodes[*root as usize][(leaf_no as usize) % LEAVES_PER_NODE];
        if *leaf == NONE {
            *leaf = self.leaves.len() as u32;
            self.leaves.push(EMPTY);
            if let Some(statuses) = &mut self.statuses {
                statuses.push([NONE; LEAF_PAGES as usize]);
            }
        }
        EntryRef { leaf: *leaf, index }
    }

    /// The entry of a page, if there ever was one.
    #[inline]
    pub fn find(&self, page: u64) -> Option<EntryRef> {
        let leaf_no = page / LEAF_PAGES;
        let node = self.root[(leaf_no as usize) / LEAVES_PER_NODE];
        if node == NONE {
            return None;
        }
        let leaf = self.nodes[node as usize][(leaf_no as usize) % LEAVES_PER_NODE];
        (leaf != NONE).then_some(EntryRef { leaf, index: (page % LEAF_PAGES) as u32 })
    }

    /// Asks for the cache line of a page's entry.
    #[inline]
    pub fn prefetch_entry(&self, page: u64) {
        if let Some(at) = self.find(page) {
            prefetch(&self.leaves[at.leaf as usize]);
        }
    }

    /// Asks for the cache line that says where a page's entry is.
    #[inline]
    pub fn prefetch_directory(&self, page: u64) {
        let leaf_no = page / LEAF_PAGES;
        let node = self.root[(leaf_no as usize) / LEAVES_PER_NODE];
        if node != NONE {
            prefetch(&self.nodes[node as usize][(leaf_no as usize) % LEAVES_PER_NODE]);
        }
    }

    #[inline]
    fn word(&self, at: EntryRef) -> u64 {
        self.leaves[at.leaf as usize].0[at.index as usize % LEAF_PAGES as usize]
    }

    #[inline]
    fn word_mut(&mut self, at: EntryRef) -> &mut u64 {
        &mut self.leaves[at.leaf as usize].0[at.index as usize % LEAF_PAGES as usize]
    }

    /// Where the page is.
    #[inline]
    pub fn phys(&self, at: EntryRef) -> Option<Phys> {
        match self.word(at) & PHYS_MASK {
            0 | UNMAPPED => None,
            phys => Some(Phys(phys - 1)),
        }
    }

    /// Whether nobody has looked for the page yet.
    #[inline]
    pub fn is_untouched(&self, at: EntryRef) -> bool {
        self.word(at) & PHYS_MASK == 0
    }

    /// Whether the page has a place or the data cache remembers something of it.
    #[inline]
    pub fn is_known(&self, at: EntryRef) -> bool {
        !matches!(self.word(at), 0 | UNMAPPED)
    }

    /// Stores what the drive's past says of a page.
    pub fn set_initial(&mut self, at: EntryRef, phys: Option<Phys>) {
        self.place(at, phys.map_or(UNMAPPED, |phys| phys.0 + 1));
    }

    /// So many pages have a place by the drive's past.
    pub fn set_mapped(&mut self, pages: u64) {
        self.mapped = pages;
    }

    #[inline]
    fn place(&mut self, at: EntryRef, place: u64) {
        let word = self.word_mut(at);
        *word = (*word & !PHYS_MASK) | place;
    }

    /// Writes the page to a new place. Its entry has been looked at.
    #[inline]
    pub fn set_phys(&mut self, at: EntryRef, phys: Phys) {
        self.mapped += u64::from(self.phys(at).is_none());
        self.place(at, phys.0 + 1);
    }

    /// Moves a page that has a place, looked at or not.
    #[inline]
    pub fn move_to(&mut self, at: EntryRef, phys: Phys) {
        self.place(at, phys.0 + 1);
    }

    /// Forgets where the page is. Its entry has been looked at.
    pub fn unmap(&mut self, at: EntryRef) {
        self.mapped -= u64::from(self.phys(at).is_some());
        self.place(at, UNMAPPED);
    }

    #[inline]
    pub fn mark(&self, at: EntryRef) -> CacheMark {
        CacheMark((self.word(at) >> PHYS_BITS) as u32)
    }

    #[inline]
    pub fn set_mark(&mut self, at: EntryRef, mark: CacheMark) {
        debug_assert!(mark.0 < CacheMark::LIMIT);
        let word = self.word_mut(at);
        *word = (*word & PHYS_MASK) | (u64::from(mark.0) << PHYS_BITS);
    }

    /// The number beside the entry.
    #[inline]
    pub fn status(&self, at: EntryRef) -> CacheStatus {
        let Some(statuses) = self.statuses.as_ref() else { return CacheStatus::Evicted };
        match statuses[at.leaf as usize][at.index as usize % LEAF_PAGES as usize] {
            NONE => CacheStatus::Untouched,
            EVICTED => CacheStatus::Evicted,
            CHANGED_INITIAL => CacheStatus::ChangedInitial,
            slot => CacheStatus::Slot(slot),
        }
    }

    /// The slot that holds the mapping.
    #[inline]
    pub fn slot(&self, at: EntryRef) -> Option<u32> {
        match self.status(at) {
            CacheStatus::Slot(slot) => Some(slot),
            CacheStatus::Untouched | CacheStatus::ChangedInitial | CacheStatus::Evicted => None,
        }
    }

    /// Sets the number beside the entry.
    #[inline]
    pub fn set_status(&mut self, at: EntryRef, value: CacheStatus) {
        if let Some(statuses) = &mut self.statuses {
            let slot = &mut statuses[at.leaf as usize][at.index as usize % LEAF_PAGES as usize];
            *slot = match value {
                CacheStatus::Untouched => NONE,
                CacheStatus::Evicted => EVICTED,
                CacheStatus::ChangedInitial => CHANGED_INITIAL,
                CacheStatus::Slot(slot) => slot,
            };
        }
    }
}

/// Nodes in a snapshot.
mod nodes {
    use super::Node;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(nodes: &[Node], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(nodes.iter().map(|node| node.as_slice()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Node>, D::Error> {
        let nodes = Vec::<Box<[u32]>>::deserialize(from)?.into_iter();
        nodes
            .map(|node| node.try_into().map_err(|_| D::Error::custom("a node of another size")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_page_and_mark_apart() {
        let mut table = PageTable::new(1 << 40, true);
        let far = (1 << 40) - 1;
        let at = table.entry(far);
        assert_eq!((table.phys(at), table.mark(at)), (None, CacheMark(0)));
        table.set_phys(at, Phys(PHYS_MASK - 2));
        table.set_mark(at, CacheMark(CacheMark::LIMIT - 1));
        table.set_status(at, CacheStatus::Slot(7));
        let again = table.find(far).unwrap();
        assert_eq!(table.phys(again), Some(Phys(PHYS_MASK - 2)));
        assert_eq!(table.mark(again), CacheMark(CacheMark::LIMIT - 1));
        assert_eq!(table.slot(again), Some(7));
        assert_eq!(table.mapped(), 1);
        table.unmap(again);
        assert_eq!((table.phys(again), table.mapped()), (None, 0));
        assert!(table.find(0).is_none());
    }

    #[test]
    fn untouched_space_costs_the_root_only() {
        let mut table = PageTable::new(1 << 31, false);
        table.entry(12345);
        assert!(table.memory_bytes() < 300_000);
    }
}
