//! The cached mapping table (CMT): which logical pages have their mapping in DRAM, which
//! translation pages are on their way from or to flash, and which accesses wait for them.
//!
//! The cache is an exact LRU list of single mappings, as in MQSim. It holds no mappings itself:
//! they are in the page table. A mapping that leaves the cache is written to its translation page
//! at the same moment, so both always agree, and the cache decides only what an access costs. The
//! number of a cached mapping's slot stands beside its page-table entry, so nothing is hashed.

mod passed;

pub(crate) use passed::Cause;

use crate::initial_content::initial_mappings::InitialMappings;
use crate::layout::Phys;
use crate::lru::LruList;
use crate::number::{LogicalPage, MappingSlot, Token, TranslationPageId};
use passed::Passed;
use serde::{Deserialize, Serialize};
use ssdtune_model::Table;

/// No node.
const NIL: u32 = u32::MAX;

/// A first-in, first-out list, linked through [`Nodes`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Chain {
    head: u32,
    tail: u32,
}

const EMPTY: Chain = Chain { head: NIL, tail: NIL };

/// The nodes of many [`Chain`]s: (value, next node).
#[derive(Clone, Serialize, Deserialize)]
struct Nodes<T> {
    values: Vec<(T, u32)>,
    free: Vec<u32>,
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Nodes<T> {
    fn push(&mut self, chain: &mut Chain, value: T) {
        let node = match self.free.pop() {
            Some(node) => {
                self.values[node as usize] = (value, NIL);
                node
            }
            None => {
                self.values.push((value, NIL));
                self.values.len() as u32 - 1
            }
        };
        if chain.tail == NIL {
            chain.head = node;
        } else {
            self.values[chain.tail as usize].1 = node;
        }
        chain.tail = node;
    }

    fn pop(&mut self, chain: &mut Chain) -> Option<T> {
        if chain.head == NIL {
            return None;
        }
        let (value, next) = self.values[chain.head as usize];
        self.free.push(chain.head);
        chain.head = next;
        if next == NIL {
            chain.tail = NIL;
        }
        Some(value)
    }
}

/// A cached mapping, or one that is being loaded.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Slot {
    page: LogicalPage,
    /// Its translation page is still being read.
    waiting: bool,
    /// It has changed since its translation page was written.
    dirty: bool,
    /// Tokens of reads that wait for it.
    reads: Chain,
    /// Tokens of writes that wait for it.
    writes: Chain,
}

/// The mapping cache of one tenant, or of all tenants together.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct MappingCache {
    capacity: u32,
    slots: LruList<MappingSlot, Slot>,
    /// Nodes of the lists of waiting tokens.
    tokens: Nodes<Token>,
    #[serde(skip)]
    passed: Passed,
    /// Mappings that it holds since the start and that nobody has used. They are older than all
    /// others.
    pub initial: InitialMappings,
}

impl MappingCache {
    pub fn new(capacity: u32) -> Self {
        Self {
            capacity: capacity.max(1),
            slots: LruList::default(),
            tokens: Nodes::default(),
            passed: Passed::default(),
            initial: InitialMappings::default(),
        }
    }

    /// Whether another mapping must leave before a new one can enter.
    pub fn is_full(&self) -> bool {
        self.slots.len() as u64 + self.initial.left >= self.capacity.into()
    }

    /// Mappings it can hold.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Takes room from the cache for good, for mappings that nobody will ask for.
    pub fn shrink(&mut self, by: u64) {
        let least = self.slots.len().max(1) as u64;
        self.capacity = u64::from(self.capacity).saturating_sub(by).max(least) as u32;
    }

    /// Makes a mapping the one used last.
    #[inline]
    pub fn touch(&mut self, slot: MappingSlot) {
        self.unpass(slot);
        self.slots.touch(slot);
    }

    /// Takes a slot for a mapping that is still being loaded. The caller has made room.
    pub fn reserve(&mut self, page: LogicalPage) -> MappingSlot {
        self.slots.push(Slot { page, waiting: true, dirty: false, reads: EMPTY, writes: EMPTY })
    }

    /// The logical page whose mapping a slot holds.
    pub fn page(&self, slot: MappingSlot) -> LogicalPage {
        self.slots[slot].page
    }

    /// Drops a mapping.
    pub fn remove(&mut self, slot: MappingSlot) {
        self.unpass(slot);
        self.slots.remove(slot);
    }

    pub fn is_waiting(&self, slot: MappingSlot) -> bool {
        self.slots[slot].waiting
    }

    pub fn is_dirty(&self, slot: MappingSlot) -> bool {
        self.slots[slot].dirty
    }

    pub fn set_dirty(&mut self, slot: MappingSlot, dirty: bool) {
        self.slots[slot].dirty = dirty;
        if !dirty {
            self.loosen(slot);
        }
    }

    /// Reports that the mapping of a slot has been loaded.
    pub fn set_ready(&mut self, slot: MappingSlot) {
        self.slots[slot].waiting = false;
        self.loosen(slot);
    }

    /// Makes an access wait until the mapping of a slot is loaded.
    pub fn wait(&mut self, slot: MappingSlot, token: Token, is_write: bool) {
        let record = &mut self.slots[slot];
        let chain = if is_write { &mut record.writes } else { &mut record.reads };
        self.tokens.push(chain, token);
    }

    /// Moves all waiting tokens to `out`: reads first, then writes, each in the order of arrival.
    pub fn take_waiters(&mut self, slot: MappingSlot, out: &mut Vec<Token>) {
        let record = &mut self.slots[slot];
        while let Some(token) = self.tokens.pop(&mut record.reads) {
            out.push(token);
        }
        while let Some(token) = self.tokens.pop(&mut record.writes) {
            out.push(token);
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        self.slots.memory_bytes() as u64
    }
}

/// A translation page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct TranslationPage {
    /// Its physical page plus one; 0 if it was never written.
    phys: u64,
    /// Programs of it that have not ended. While there is one, its content is in DRAM.
    pub departing: u32,
    /// Page-table entries whose mappings are cached when the running read of it ends.
    arriving: Chain,
}

/// All translation pages of the drive.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct TranslationPages {
    pages: Table<TranslationPageId, TranslationPage>,
    /// Nodes of the lists of wanted entries.
    arrivals: Nodes<LogicalPage>,
}

impl TranslationPages {
    pub fn new(count: u64) -> Self {
        let page = TranslationPage { phys: 0, departing: 0, arriving: EMPTY };
        Self { pages: Table::of(page, count as usize), arrivals: Nodes::default() }
    }

    pub fn phys(&self, page: TranslationPageId) -> Option<Phys> {
        self.pages[page].phys.checked_sub(1).map(Phys)
    }

    pub fn set_phys(&mut self, page: TranslationPageId, phys: Phys) {
        self.pages[page].phys = phys.0 + 1;
    }

    /// Whether a program of the page has not ended.
    pub fn departing(&self, page: TranslationPageId) -> bool {
        self.pages[page].departing > 0
    }

    /// Reports that a program of the page begins.
    pub fn depart(&mut self, page: TranslationPageId) {
        self.pages[page].departing += 1;
    }

    /// Reports that a program of the page has ended.
    pub fn departed(&mut self, page: TranslationPageId) {
        self.pages[page].departing -= 1;
    }

    /// Whether the page is being read.
    pub fn is_arriving(&self, page: TranslationPageId) -> bool {
        self.pages[page].arriving.head != NIL
    }

    /// Asks for the mapping of `wanted` to be cached when the read of the page ends.
    pub fn arrive(&mut self, page: TranslationPageId, wanted: LogicalPage) {
        self.arrivals.push(&mut self.pages[page].arriving, wanted);
    }

    /// Takes the next entry that was asked for, once the page was read.
    pub fn next_arrival(&mut self, page: TranslationPageId) -> Option<LogicalPage> {
        self.arrivals.pop(&mut self.pages[page].arriving)
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.pages.capacity() * size_of::<TranslationPage>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_come_back_reads_first_in_their_order() {
        let mut cache = MappingCache::new(1);
        let slot = cache.reserve(LogicalPage(0));
        for (token, is_write) in [(1, true), (2, false), (3, true), (4, false)] {
            cache.wait(slot, Token(token), is_write);
        }
        let mut tokens = Vec::new();
        cache.take_waiters(slot, &mut tokens);
        assert_eq!(tokens, [2, 4, 1, 3].map(Token));
        tokens.clear();
        cache.take_waiters(slot, &mut tokens);
        assert!(tokens.is_empty());
    }
}
