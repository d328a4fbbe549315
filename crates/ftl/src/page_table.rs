//! The page table: logical page to physical page, in leaves of one cache line that exist only where
//! something was written.
//!
//! An entry is 64 bits: 36 for the physical page plus one, 28 for a mark of the data cache (the slot that
//! holds the page, or what the cache wants to remember of a page it dropped). So a cached page is found
//! without hashing, and an access costs two cache misses at most: the directory and the leaf.
//!
//! Memory: 64 B for each 8 logical pages touched, 4 B of directory for each 8 pages of a touched 32,768.

use crate::hint::prefetch;
use crate::layout::{PHYS_BITS, Phys};

const LEAF_PAGES: u64 = 8;
const LEAVES_PER_NODE: usize = 4096;
const NONE: u32 = u32::MAX;

/// A leaf; aligned so that it is one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Leaf([u64; LEAF_PAGES as usize]);

const EMPTY: Leaf = Leaf([0; LEAF_PAGES as usize]);

/// What the data cache remembers in a page-table entry: 28 bits, 0 for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheMark(pub u32);

impl CacheMark {
    /// Values below this fit.
    pub const LIMIT: u32 = 1 << (64 - PHYS_BITS);
}

/// Where an entry stands; valid as long as the table lives.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef {
    leaf: u32,
    index: u32,
}

pub(crate) struct PageTable {
    /// First-level index: node of each 32,768 logical pages, or `NONE`.
    root: Vec<u32>,
    nodes: Vec<Box<[u32; LEAVES_PER_NODE]>>,
    leaves: Vec<Leaf>,
    /// One number per page beside the leaves, where somebody asked for it (the mapping cache's slots).
    side: Option<Vec<[u32; LEAF_PAGES as usize]>>,
    mapped: u64,
}

const PHYS_MASK: u64 = (1 << PHYS_BITS) - 1;

impl PageTable {
    pub fn new(pages: u64, with_side: bool) -> Self {
        let span = LEAF_PAGES * LEAVES_PER_NODE as u64;
        Self {
            root: vec![NONE; pages.div_ceil(span) as usize],
            nodes: Vec::new(),
            leaves: Vec::new(),
            side: with_side.then(Vec::new),
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
            + self.side.as_ref().map_or(0, |side| side.capacity() * 32)) as u64
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
            if let Some(side) = &mut self.side {
                side.push([NONE; LEAF_PAGES as usize]);
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
    pub fn expect(&self, page: u64) {
        if let Some(at) = self.find(page) {
            prefetch(&self.leaves[at.leaf as usize]);
        }
    }

    /// Asks for the cache line that says where a page's entry is.
    #[inline]
    pub fn expect_leaf(&self, page: u64) {
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
            0 => None,
            phys => Some(Phys(phys - 1)),
        }
    }

    /// Moves the page.
    #[inline]
    pub fn set_phys(&mut self, at: EntryRef, phys: Phys) {
        let word = self.word_mut(at);
        let was = *word & PHYS_MASK;
        *word = (*word & !PHYS_MASK) | (phys.0 + 1);
        self.mapped += u64::from(was == 0);
    }

    /// Forgets where the page is.
    pub fn unmap(&mut self, at: EntryRef) {
        let word = self.word_mut(at);
        let was = *word & PHYS_MASK;
        *word &= !PHYS_MASK;
        self.mapped -= u64::from(was != 0);
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
    pub fn side(&self, at: EntryRef) -> Option<u32> {
        let side = self.side.as_ref()?;
        let value = side[at.leaf as usize][at.index as usize % LEAF_PAGES as usize];
        (value != NONE).then_some(value)
    }

    /// Sets the number beside the entry.
    #[inline]
    pub fn set_side(&mut self, at: EntryRef, value: Option<u32>) {
        if let Some(side) = &mut self.side {
            let slot = &mut side[at.leaf as usize][at.index as usize % LEAF_PAGES as usize];
            *slot = value.unwrap_or(NONE);
        }
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
        table.set_phys(at, Phys(PHYS_MASK - 1));
        table.set_mark(at, CacheMark(CacheMark::LIMIT - 1));
        table.set_side(at, Some(7));
        let again = table.find(far).unwrap();
        assert_eq!(table.phys(again), Some(Phys(PHYS_MASK - 1)));
        assert_eq!(table.mark(again), CacheMark(CacheMark::LIMIT - 1));
        assert_eq!(table.side(again), Some(7));
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
