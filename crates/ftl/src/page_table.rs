//! The page table: logical page to physical page. It consists of leaves of eight pages, which exist
//! only where something was written.
//!
//! An entry is one word of 32 bits: the physical page plus one. It gets a second word when the
//! first page is marked by the data cache, or when a physical page needs more than 32 bits: 28 bits
//! for the mark (the slot that holds the page, or what the cache wants to remember of a page that
//! it dropped) and 4 more for the physical page. So a cached page is found without hashing, and an
//! access costs two cache misses at most: one for the directory, one for the leaf, which is half a
//! cache line or a whole one. The place of an entry that was never used is zero. If the drive was
//! not empty at the start, such a page may hold data all the same: see `initial_content`.
//!
//! Memory: 32 B for each group of 8 logical pages that was touched (64 B with marks), which never
//! move; and a directory of two levels. A node of it covers up to 32,768 pages, fewer on a small
//! drive, and is made when one of them is touched: 4 B for each group. Mapping units smaller than a
//! page would be more entries of the same kind: the bits below the page's offset belong into the
//! physical address, which has room for them.

use crate::layout::{PHYS_BITS, Phys};
use crate::number::{LogicalPage, MappingSlot};
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// Entries of a leaf: 8 of 4 B fill half a cache line.
const LEAF_PAGES: u64 = 8;
/// Leaves of a node, as a power of two: if these bounds allow it, as few as keep the first level
/// within 2^17 nodes (512 KiB), since a short run touches a few pages in many places and each node
/// is filled at once. 3,000 requests on a new drive of 480 GiB take 39 ms; with 2^14 nodes they
/// took 49 ms, and with 2^20 they take 39 ms too.
const NODE_LOG2: std::ops::RangeInclusive<u32> = 6..=12;
const ROOT_LOG2: u32 = 17;
/// Places of leaves for which room is asked for at once: 64 MiB, enough for 134 million pages.
const LEAVES_AT_ONCE: u64 = 1 << 24;
/// No node, no leaf; as a status: never used.
const NONE: u32 = u32::MAX;

/// Words of one cache line.
const LINE: usize = 16;
/// A cache line of words. Leaves never straddle two of them.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[repr(align(64))]
struct Line([u32; LINE]);

/// Cache lines of a chunk: 16 MiB. Only those that hold leaves are touched.
const CHUNK: usize = 1 << 18;
type Chunk = Vec<Line>;

/// What the data cache has noted about a page: 28 bits whose meaning is the cache's own, 0 for
/// nothing. It stands in the page-table entry, so that the cache needs no hash table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheMark(pub u32);

impl CacheMark {
    /// Marks are smaller than this.
    pub const LIMIT: u32 = 1 << MARK_BITS;
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
    Slot(MappingSlot),
}

const EVICTED: u32 = u32::MAX - 1;
const CHANGED_INITIAL: u32 = u32::MAX - 2;

/// The page table of all tenants.
#[derive(Serialize, Deserialize)]
pub(crate) struct PageTable {
    /// First level: which node leads to the leaves of some logical pages, or [`NONE`].
    root: Vec<u32>,
    /// Leaves of a node as a power of two.
    node_log2: u32,
    /// The leaves of all nodes, or [`NONE`], one node after the other.
    nodes: Vec<u32>,
    /// The words of all leaves, one leaf after the other.
    chunks: Vec<Chunk>,
    /// Leaves so far.
    leaves: u32,
    /// Words of a leaf as a power of two: of its 8 places, and of its 8 marks if there are any.
    leaf_log2: u32,
    /// The [`CacheStatus`] of each page, leaf by leaf; `None` if the mapping is ideal.
    statuses: Option<Vec<[u32; LEAF_PAGES as usize]>>,
    /// Logical pages that have a physical page.
    mapped: u64,
}

/// The copy keeps the room that was asked for, so that it grows without moving.
impl Clone for PageTable {
    fn clone(&self) -> Self {
        let chunks = self.chunks.iter().map(with_room).collect();
        let (root, statuses, nodes) =
            (self.root.clone(), self.statuses.clone(), with_room(&self.nodes));
        Self { root, nodes, chunks, statuses, ..*self }
    }
}

fn with_room<T: Copy>(list: &Vec<T>) -> Vec<T> {
    let mut copy = Vec::with_capacity(list.capacity());
    copy.extend_from_slice(list);
    copy
}

/// A leaf that has places only.
const PLACES_ONLY: u32 = LEAF_PAGES.trailing_zeros();
/// A leaf that has marks behind its places.
const WITH_MARKS: u32 = PLACES_ONLY + 1;
/// Bits of a mark. The rest of its word are the high bits of the place.
const MARK_BITS: u32 = 64 - PHYS_BITS;
/// In place of a physical page: the page holds no data, whatever the drive held at the start.
const UNMAPPED: u64 = u32::MAX as u64;

/// The place that stands for a physical page: its number plus one. [`UNMAPPED`] is left out.
#[inline]
fn place_of(phys: Phys) -> u64 {
    phys.0 + 1 + u64::from(phys.0 + 1 >= UNMAPPED)
}

/// The physical page that a place stands for.
#[inline]
fn phys_at(place: u64) -> Option<Phys> {
    (place != 0 && place != UNMAPPED).then(|| Phys(place - 1 - u64::from(place > UNMAPPED)))
}

impl PageTable {
    /// An empty table for a number of logical pages. `with_status` makes room for each page's
    /// [`CacheStatus`].
    pub fn new(pages: u64, with_status: bool) -> Self {
        let leaves = pages.div_ceil(LEAF_PAGES);
        let (least, most) = NODE_LOG2.into_inner();
        let node_log2 = (leaves.max(1).ilog2() + 1).saturating_sub(ROOT_LOG2).clamp(least, most);
        Self {
            root: vec![NONE; leaves.div_ceil(1 << node_log2) as usize],
            node_log2,
            // So much room that few drives ever move them. Only those that are used are touched.
            nodes: Vec::with_capacity(leaves.min(LEAVES_AT_ONCE) as usize),
            chunks: Vec::new(),
            leaves: 0,
            leaf_log2: PLACES_ONLY,
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
            + self.nodes.len() * 4
            + self.chunks.iter().map(Vec::len).sum::<usize>() * size_of::<Line>()
            + self.statuses.as_ref().map_or(0, |statuses| statuses.capacity() * 32)) as u64
    }

    /// The entry of a page. It is created if there is none yet.
    #[inline]
    pub fn entry(&mut self, page: LogicalPage) -> EntryRef {
        let index = (page.0 % LEAF_PAGES) as u32;
        let mut at = self.directory(page);
        if at.is_none() {
            let (node, size) = (self.nodes.len() >> self.node_log2, 1 << self.node_log2);
            self.root[(page.0 / LEAF_PAGES) as usize >> self.node_log2] = node as u32;
            self.nodes.resize(self.nodes.len() + size, NONE);
            at = self.directory(page);
        }
        let leaf = &mut self.nodes[at.unwrap_or_default()];
        if *leaf == NONE {
            *leaf = self.leaves;
            self.add_leaf();
            return EntryRef { leaf: self.leaves - 1, index };
        }
        EntryRef { leaf: *leaf, index }
    }

    /// Where in the nodes the leaf of a page stands, if its node was made.
    #[inline]
    fn directory(&self, page: LogicalPage) -> Option<usize> {
        let leaf = (page.0 / LEAF_PAGES) as usize;
        let node = self.root[leaf >> self.node_log2];
        let within = leaf & ((1 << self.node_log2) - 1);
        (node != NONE).then_some((node as usize) << self.node_log2 | within)
    }

    /// Makes an empty leaf.
    #[inline]
    fn add_leaf(&mut self) {
        if self.leaf_log2 == WITH_MARKS || self.leaves.is_multiple_of(2) {
            self.add_line();
        }
        self.leaves += 1;
        if let Some(statuses) = &mut self.statuses {
            statuses.push([NONE; LEAF_PAGES as usize]);
        }
    }

    #[inline]
    fn add_line(&mut self) {
        let line = Line([0; LINE]);
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(line),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(line);
                self.chunks.push(chunk);
            }
        }
    }

    /// The entry of a page, if there is one.
    #[inline]
    pub fn find(&self, page: LogicalPage) -> Option<EntryRef> {
        let leaf = self.nodes[self.directory(page)?];
        (leaf != NONE).then_some(EntryRef { leaf, index: (page.0 % LEAF_PAGES) as u32 })
    }

    /// Prefetches the cache line of a page's entry.
    #[inline]
    pub fn prefetch_entry(&self, page: LogicalPage) {
        if let Some(at) = self.find(page) {
            prefetch(self.word(self.at(at)));
        }
    }

    /// Prefetches the cache line of the directory that leads to a page's entry.
    #[inline]
    pub fn prefetch_directory(&self, page: LogicalPage) {
        if let Some(at) = self.directory(page) {
            prefetch(&self.nodes[at]);
        }
    }

    /// The number of the word that holds an entry's place. Its mark, if there are marks, comes
    /// [`LEAF_PAGES`] words later.
    #[inline]
    fn at(&self, at: EntryRef) -> usize {
        (at.leaf as usize) << self.leaf_log2 | (at.index as usize % LEAF_PAGES as usize)
    }

    #[inline]
    fn word(&self, at: usize) -> &u32 {
        &self.chunks[at / (LINE * CHUNK)][at / LINE % CHUNK].0[at % LINE]
    }

    #[inline]
    fn word_mut(&mut self, at: usize) -> &mut u32 {
        &mut self.chunks[at / (LINE * CHUNK)][at / LINE % CHUNK].0[at % LINE]
    }

    /// The word of an entry's mark; 0 if there are no marks.
    #[inline]
    fn second(&self, at: EntryRef) -> u32 {
        match self.leaf_log2 {
            PLACES_ONLY => 0,
            _ => *self.word(self.at(at) + LEAF_PAGES as usize),
        }
    }

    #[inline]
    fn second_mut(&mut self, at: EntryRef) -> &mut u32 {
        self.word_mut(self.at(at) + LEAF_PAGES as usize)
    }

    /// Gives every entry its second word.
    #[cold]
    fn make_marks(&mut self) {
        let old = std::mem::take(&mut self.chunks);
        self.leaf_log2 = WITH_MARKS;
        let mut left = self.leaves;
        // An old chunk is freed before the next one is looked at, so the table never takes much
        // more than it will take in the end.
        for line in old.into_iter().flatten() {
            for places in line.0.chunks_exact(LEAF_PAGES as usize).take(left as usize) {
                self.add_line();
                if let Some(new) = self.chunks.last_mut().and_then(|chunk| chunk.last_mut()) {
                    new.0[..LEAF_PAGES as usize].copy_from_slice(places);
                }
            }
            left = left.saturating_sub(2);
        }
    }

    #[inline]
    fn place(&self, at: EntryRef) -> u64 {
        let low = u64::from(*self.word(self.at(at)));
        low | u64::from(self.second(at) >> MARK_BITS) << u32::BITS
    }

    #[inline]
    fn set_place(&mut self, at: EntryRef, place: u64) {
        *self.word_mut(self.at(at)) = place as u32;
        let high = (place >> u32::BITS) as u32;
        if self.leaf_log2 == PLACES_ONLY {
            if high == 0 {
                return;
            }
            self.make_marks();
        }
        let second = self.second_mut(at);
        *second = (*second & (CacheMark::LIMIT - 1)) | high << MARK_BITS;
    }

    /// The physical page of a logical page; `None` if it holds no data, or if nobody has asked for
    /// it since the start.
    #[inline]
    pub fn phys(&self, at: EntryRef) -> Option<Phys> {
        phys_at(self.place(at))
    }

    /// Whether nobody has asked for the page since the start.
    #[inline]
    pub fn is_untouched(&self, at: EntryRef) -> bool {
        self.place(at) == 0
    }

    /// Whether the page holds data or has a mark of the data cache.
    #[inline]
    pub fn is_known(&self, at: EntryRef) -> bool {
        self.phys(at).is_some() || self.mark(at).0 != 0
    }

    /// Stores where a page lay at the start.
    pub fn set_initial(&mut self, at: EntryRef, phys: Option<Phys>) {
        self.set_place(at, phys.map_or(UNMAPPED, place_of));
    }

    /// Says how many pages hold data at the start.
    pub fn set_mapped(&mut self, pages: u64) {
        self.mapped = pages;
    }

    /// Maps a page to a new physical page. Its initial place, if it had one, has been stored
    /// before.
    #[inline]
    pub fn set_phys(&mut self, at: EntryRef, phys: Phys) {
        self.mapped += u64::from(self.phys(at).is_none());
        self.set_place(at, place_of(phys));
    }

    /// Maps a page that holds data to a new physical page, whether or not its initial place was
    /// stored.
    #[inline]
    pub fn move_to(&mut self, at: EntryRef, phys: Phys) {
        self.set_place(at, place_of(phys));
    }

    /// Removes the mapping of a page. Its initial place, if it had one, has been stored before.
    pub fn unmap(&mut self, at: EntryRef) {
        self.mapped -= u64::from(self.phys(at).is_some());
        self.set_place(at, UNMAPPED);
    }

    #[inline]
    pub fn mark(&self, at: EntryRef) -> CacheMark {
        CacheMark(self.second(at) & (CacheMark::LIMIT - 1))
    }

    #[inline]
    pub fn set_mark(&mut self, at: EntryRef, mark: CacheMark) {
        debug_assert!(mark.0 < CacheMark::LIMIT);
        if self.leaf_log2 == PLACES_ONLY {
            if mark.0 == 0 {
                return;
            }
            self.make_marks();
        }
        let second = self.second_mut(at);
        *second = (*second & !(CacheMark::LIMIT - 1)) | mark.0;
    }

    /// How the page's mapping stands to the mapping cache.
    #[inline]
    pub fn status(&self, at: EntryRef) -> CacheStatus {
        let Some(statuses) = self.statuses.as_ref() else { return CacheStatus::Evicted };
        match statuses[at.leaf as usize][at.index as usize % LEAF_PAGES as usize] {
            NONE => CacheStatus::Untouched,
            EVICTED => CacheStatus::Evicted,
            CHANGED_INITIAL => CacheStatus::ChangedInitial,
            slot => CacheStatus::Slot(MappingSlot(slot)),
        }
    }

    /// The slot of the mapping cache that holds the page's mapping.
    #[inline]
    pub fn slot(&self, at: EntryRef) -> Option<MappingSlot> {
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
                CacheStatus::Slot(MappingSlot(slot)) => slot,
            };
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
        let far_phys = (1 << (PHYS_BITS - 1)) - 1;
        let at = table.entry(LogicalPage(far));
        assert_eq!((table.phys(at), table.mark(at)), (None, CacheMark(0)));
        table.set_phys(at, Phys(far_phys));
        table.set_mark(at, CacheMark(CacheMark::LIMIT - 1));
        table.set_status(at, CacheStatus::Slot(MappingSlot(7)));
        let again = table.find(LogicalPage(far)).unwrap();
        assert_eq!(table.phys(again), Some(Phys(far_phys)));
        assert_eq!(table.mark(again), CacheMark(CacheMark::LIMIT - 1));
        assert_eq!(table.slot(again), Some(MappingSlot(7)));
        assert_eq!(table.mapped(), 1);
        table.unmap(again);
        assert_eq!((table.phys(again), table.mapped()), (None, 0));
        assert!(table.find(LogicalPage(0)).is_none());
    }

    #[test]
    fn untouched_space_costs_the_root_only() {
        let mut table = PageTable::new(1 << 31, false);
        table.entry(LogicalPage(12345));
        assert!(table.memory_bytes() < 300_000);
    }

    #[test]
    fn marks_come_late_and_places_stay() {
        let mut table = PageTable::new(1 << 20, false);
        // Places around the one number that is left out, and the last that fits into a word.
        let phys =
            |page: u64| Phys((u64::from(u32::MAX) - 4 + page) * u64::from(!page.is_multiple_of(3)));
        let narrow = |page: u64| Phys(page * 2_654_435_761 % u64::from(u32::MAX - 2));
        for page in 0..40_000 {
            let at = table.entry(LogicalPage(page * 7));
            table.set_phys(at, narrow(page));
        }
        let small = table.memory_bytes();
        assert!(small <= 2 * 4 * 40_000 * 7, "4 B an entry: {small}");
        for page in 0..40_000 {
            assert_eq!(
                table.find(LogicalPage(page * 7)).and_then(|at| table.phys(at)),
                Some(narrow(page))
            );
        }
        let at = table.entry(LogicalPage(70));
        table.set_mark(at, CacheMark(9));
        assert!(table.memory_bytes() <= 2 * small);
        for page in 0..40_000 {
            let at = table.entry(LogicalPage(page * 7));
            assert_eq!(table.phys(at), Some(narrow(page)));
            assert_eq!(table.mark(at).0, if page == 10 { 9 } else { 0 });
        }
        for page in 0..9 {
            let at = table.entry(LogicalPage(page));
            table.set_phys(at, phys(page));
            assert_eq!(table.phys(at), Some(phys(page)));
            table.unmap(at);
            assert_eq!((table.phys(at), table.is_untouched(at)), (None, false));
        }
        assert_eq!(table.mark(at).0, 9);
    }
}
