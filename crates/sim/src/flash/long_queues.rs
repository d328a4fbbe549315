//! Long queues of a die, looked up by the offset of the page in its block, or for programs of word
//! lines by the number of the word line.
//!
//! What a command takes besides its first transaction has that in common with it. Most queues are
//! short, and a walk finds it. But in front of an overloaded drive hundreds wait for a die, and the
//! collection of a superblock queues thousands of reads at once, those of one plane behind those of
//! another. Where no other plane has such a page, a walk to the end finds nothing. So a queue that
//! was long once has an index until it is empty: a chain for every offset or word line, modulo
//! [`CHAINS`], in the order of the queue. It says what a walk would find, so it changes no result;
//! snapshots leave it out.

use super::timing::WordLines;
use super::transaction::Transaction;
use crate::id::{IndexId, Place, Slab, TransactionId};
use crate::operation::{Class, Work};
use ssdtune_model::PageId;

/// Transactions that are walked over before the queue gets an index. With 8, 16 and 32, mixes of
/// tenants that overload a drive take the same time, with 64 they take 3 % more, without indexes
/// half more. Debug builds use the index early, so that their tests try it.
pub(super) const LONG: u32 = if cfg!(debug_assertions) { 4 } else { 16 };

/// Chains of an index, of 8 B each; a power of two, so that the modulo costs one instruction. Debug
/// builds have few, so that in their tests pages of several offsets share one.
const CHAINS: usize = if cfg!(debug_assertions) { 4 } else { 256 };

/// The oldest and the youngest transaction of a chain.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Chain {
    first: Option<TransactionId>,
    last: Option<TransactionId>,
}

/// The chains of a queue, by what their transactions have in common, modulo their number.
type Index = [Chain; CHAINS];

#[derive(Clone, Default)]
pub(super) struct LongQueues {
    lines: WordLines,
    indexes: Slab<IndexId, Index>,
    /// The index of each queue that has one. Empty as long as none had.
    of_queue: Vec<Option<IndexId>>,
    /// The transaction behind each one in its chain, by the places of transactions.
    behind: Vec<Option<TransactionId>>,
}

impl LongQueues {
    pub fn new(lines: WordLines) -> Self {
        Self { lines, ..Self::default() }
    }

    /// The chain of the transactions of a class that can go with one of this page.
    #[inline]
    fn chain_of(&self, class: Class, page: PageId) -> usize {
        let common = match class.work() {
            Work::Program => self.lines.line(page),
            Work::Read | Work::Erase => page.0,
        };
        common as usize % CHAINS
    }

    #[inline]
    fn chain(&mut self, index: IndexId, record: &Transaction) -> &mut Chain {
        let number = self.chain_of(record.class, record.page);
        &mut self.indexes[index][number]
    }

    /// The index of a queue. `queue` is its number among all queues of all dies, here and below.
    #[inline]
    fn index_of(&self, queue: usize) -> Option<IndexId> {
        self.of_queue.get(queue).copied().flatten()
    }

    /// Whether a queue has an index.
    #[inline]
    pub fn has(&self, queue: usize) -> bool {
        self.index_of(queue).is_some()
    }

    /// Notes a transaction at the end of its queue.
    #[inline]
    pub fn push(&mut self, queue: usize, record: &Transaction, id: TransactionId) {
        if let Some(index) = self.index_of(queue) {
            self.append(index, record, id);
        }
    }

    fn append(&mut self, index: IndexId, record: &Transaction, id: TransactionId) {
        if self.behind.len() <= id.index() {
            self.behind.resize(id.index() + 1, None);
        }
        self.behind[id.index()] = None;
        let chain = self.chain(index, record);
        match chain.last.replace(id) {
            None => chain.first = Some(id),
            Some(last) => self.behind[last.index()] = Some(id),
        }
    }

    /// Notes that a transaction has left its queue, which may be empty now.
    #[inline]
    pub fn remove(
        &mut self,
        queue: usize,
        record: &Transaction,
        id: TransactionId,
        is_empty: bool,
    ) {
        if let Some(index) = self.index_of(queue) {
            self.unlink(index, record, id);
            if is_empty {
                self.of_queue[queue] = None;
                self.indexes.remove(index);
            }
        }
    }

    fn unlink(&mut self, index: IndexId, record: &Transaction, id: TransactionId) {
        let behind = self.behind[id.index()];
        let mut before = None;
        let mut at = self.chain(index, record).first;
        while let Some(other) = at
            && other != id
        {
            before = at;
            at = self.behind[other.index()];
        }
        debug_assert_eq!(at, Some(id), "every transaction of the queue is in its chain");
        if let Some(before) = before {
            self.behind[before.index()] = behind;
        }
        let chain = self.chain(index, record);
        if before.is_none() {
            chain.first = behind;
        }
        if behind.is_none() {
            chain.last = before;
        }
    }

    /// Gives a queue an index if it has none. `first` is its oldest transaction.
    pub fn index(
        &mut self,
        transactions: &Slab<TransactionId, Transaction>,
        queue: usize,
        first: Option<TransactionId>,
    ) {
        if self.has(queue) {
            return;
        }
        if self.of_queue.len() <= queue {
            self.of_queue.resize(queue + 1, None);
        }
        let index = self.indexes.insert([Chain::default(); CHAINS]);
        self.of_queue[queue] = Some(index);
        for id in std::iter::successors(first, |id| transactions[*id].next) {
            self.append(index, &transactions[id], id);
        }
    }

    /// The oldest transaction in the chain of those that can go with one of this page, in the index
    /// of a queue of a class. It and those behind it may have other offsets or word lines.
    #[inline]
    pub fn first(&self, queue: usize, class: Class, page: PageId) -> Option<TransactionId> {
        let chain = self.chain_of(class, page);
        self.index_of(queue).and_then(|index| self.indexes[index][chain].first)
    }

    /// The transaction behind one in its chain.
    #[inline]
    pub fn behind(&self, id: TransactionId) -> Option<TransactionId> {
        self.behind[id.index()]
    }

    /// Checks that a queue's index says what its list does.
    pub fn check(
        &self,
        transactions: &Slab<TransactionId, Transaction>,
        queue: usize,
        first: Option<TransactionId>,
    ) {
        let Some(index) = self.index_of(queue) else { return };
        assert!(first.is_some(), "queue {queue} is empty and has an index");
        let list: Vec<_> = std::iter::successors(first, |id| transactions[*id].next).collect();
        for (number, chain) in self.indexes[index].iter().enumerate() {
            let found: Vec<_> =
                std::iter::successors(chain.first, |id| self.behind[id.index()]).collect();
            let queued = list.iter().filter(|id| {
                let record = &transactions[**id];
                self.chain_of(record.class, record.page) == number
            });
            assert!(found.iter().eq(queued), "chain {number} of queue {queue}");
            assert_eq!(chain.last, found.last().copied(), "chain {number} of queue {queue}");
        }
    }
}
