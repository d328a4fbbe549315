//! The page table: logical page to physical page. It consists of leaves of one cache line, which
//! exist only where something was written.
//!
//! An entry has 64 bits: 36 for the physical page plus one, and 28 for a mark of the data cache
//! (the slot that holds the page, or what the cache wants to remember of a page that it dropped).
//! So a cached page is found without hashing, and an access costs two cache misses at most: one for
//! the directory, one for the leaf. The place field of an entry that was never used is zero. If the
//! drive was not empty at the start, such a page may hold data all the same: see `initial_content`.
//!
//! Memory: 64 B for each group of 8 logical pages that was touched, and 4 B of directory for each
//! such group in every 32,768 pages of which one was touched.

use crate::layout::{PHYS_BITS, Phys};
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// Entries of a leaf: 8 of 8 B fill a cache line.
const LEAF_PAGES: u64 = 8;
const LEAVES_PER_NODE: usize = 4096;
/// No node, no leaf; as a status: never used.
const NONE: u32 = u32::MAX;

type Node = Box<[u32; LEAVES_PER_NODE]>;

/// A leaf, aligned so that it is one cache line.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[repr(align(64))]
struct Leaf([u64; LEAF_PAGES as usize]);

const EMPTY: Leaf = Leaf([0; LEAF_PAGES as usize]);

/// What the data cache has noted about a page: 28 bits whose meaning is the cache's own, 0 for
/// nothing. It stands in the page-table entry, so that the cache needs no hash table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMark(pub u32);

impl CacheMark {
    /// Marks are smaller than this.
    pub const LIMIT: u32 = 1 << (64 - PHYS_BITS);
}

/// Where a page-table entry stands. Valid as long as the FTL lives; an entry never moves.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct EntryRef {
    leaf: u32,
    index: u32,
}

/// How the mapping of a page stands to the mapping cache. Kept beside the page's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheStatus {
    /// The mapping was not used since the start. It is cached only if the cache held it at the
    /// start.
    Untouched,
    /// The cache held the mapping at the start and still does. It was not used since, but it has
    /// changed.
    ChangedInitial,
    /// The mapping was in the cache and has left it.
    Evicted,
    /// The mapping is in this slot of the cache.
    Slot(u32),
}

const EVICTED: u32 = u32::MAX - 1;
const CHANGED_INITIAL: u32 = u32::MAX - 2;

/// The page table of all tenants.
#[derive(Serialize, Deserialize)]
pub(crate) struct PageTable {
    /// First level: the node of each 32,768 logical pages, or [`NONE`].
    root: Vec<u32>,
    #[serde(with = "nodes")]
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// The [`CacheStatus`] of each page, leaf by leaf; `None` if the mapping is ideal.
    statuses: Option<Vec<[u32; LEAF_PAGES as usize]>>,
    /// Logical pages that have a physical page.
    mapped: u64,
}

const PHYS_MASK: u64 = (1 << PHYS_BITS) - 1;
/// In place of a physical page: the page holds no data, whatever the drive held at the start.
const UNMAPPED: u64 = PHYS_MASK;

impl PageTable {
    /// An empty table for a number of logical pages. `with_status` makes room for each page's
    /// [`CacheStatus`].
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

    /// Logical pages that have a physical page.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.root.len() * 4
            + self.nodes.len() * LEAVES_PER_NODE * 4
            + self.leaves.capacity() * size_of::<Leaf>()
            + self.statuses.as_ref().map_or(0, |statuses| statuses.capacity() * 32)) as u64
    }

    /// The entry of a page. It is created if there is none yet.
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

    /// The entry of a page, if there is one.
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

    /// Prefetches the cache line of a page's entry.
    #[inline]
    pub fn prefetch_entry(&self, page: u64) {
        if let Some(at) = self.find(page) {
            prefetch(&self.leaves[at.leaf as usize]);
        }
    }

    /// Prefetches the cache line of the directory that leads to a page's entry.
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

    /// The physical page of a logical page; `None` if it holds no data, or if nobody has asked for
    /// it since the start.
    #[inline]
    pub fn phys(&self, at: EntryRef) -> Option<Phys> {
        match self.word(at) & PHYS_MASK {
            0 | UNMAPPED => None,
            phys => Some(Phys(phys - 1)),
        }
    }

    /// Whether nobody has asked for the page since the start.
    #[inline]
    pub fn is_untouched(&self, at: EntryRef) -> bool {
        self.word(at) & PHYS_MASK == 0
    }

    /// Whether the page holds data or has a mark of the data cache.
    #[inline]
    pub fn is_known(&self, at: EntryRef) -> bool {
        !matches!(self.word(at), 0 | UNMAPPED)
    }

    /// Stores where a page lay at the start.
    pub fn set_initial(&mut self, at: EntryRef, phys: Option<Phys>) {
        self.place(at, phys.map_or(UNMAPPED, |phys| phys.0 + 1));
    }

    /// Says how many pages hold data at the start.
    pub fn set_mapped(&mut self, pages: u64) {
        self.mapped = pages;
    }

    #[inline]
    fn place(&mut self, at: EntryRef, place: u64) {
        let word = self.word_mut(at);
        *word = (*word & !PHYS_MASK) | place;
    }

    /// Maps a page to a new physical page. Its initial place, if it had one, has been stored
    /// before.
    #[inline]
    pub fn set_phys(&mut self, at: EntryRef, phys: Phys) {
        self.mapped += u64::from(self.phys(at).is_none());
        self.place(at, phys.0 + 1);
    }

    /// Maps a page that holds data to a new physical page, whether or not its initial place was
    /// stored.
    #[inline]
    pub fn move_to(&mut self, at: EntryRef, phys: Phys) {
        self.place(at, phys.0 + 1);
    }

    /// Removes the mapping of a page. Its initial place, if it had one, has been stored before.
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

    /// How the page's mapping stands to the mapping cache.
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

    /// The slot of the mapping cache that holds the page's mapping.
    #[inline]
    pub fn slot(&self, at: EntryRef) -> Option<u32> {
        match self.status(at) {
            CacheStatus::Slot(slot) => Some(slot),
            CacheStatus::Untouched | CacheStatus::ChangedInitial | CacheStatus::Evicted => None,
        }
    }

    /// Says how the page's mapping stands to the mapping cache.
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

/// How nodes are stored: as lists, since serde has no arrays of this size.
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
