//! Long queues of a die, looked up by the offset of the page in its block.
//!
//! What a command takes besides its first transaction has the same offset. Most queues are short,
//! and a walk finds it. But the collection of a superblock queues thousands of reads in front of a
//! die at once, those of one plane behind those of another. Where the page in the other plane is
//! not valid, a walk to the end finds nothing. So a queue that was long once has this index until
//! it is empty. It says what a walk would find, in the order of the queue, so it changes no result;
//! snapshots leave it out.

use super::transaction::Transaction;
use crate::id::{DieId, Slab, TransactionId};
use ssdtune_model::PageId;
use std::collections::BTreeMap;

/// So many transactions are walked over before the queue gets an index. Queues of a busy drive have
/// hundreds, and a walk finds partners early there: with 64, drives of ordinary blocks were slower.
/// Debug builds use the index early, so that their tests try it.
pub(super) const LONG: u32 = if cfg!(debug_assertions) { 4 } else { 512 };

/// The transactions of a queue by the offset of their page, oldest first.
type ByPage = BTreeMap<PageId, Vec<TransactionId>>;

/// A die, and the place of the queue among its queues.
type Key = (DieId, usize);

#[derive(Clone, Default)]
pub(super) struct LongQueues(BTreeMap<Key, ByPage>);

impl LongQueues {
    /// Whether a queue has an index.
    #[inline]
    pub fn has(&self, key: Key) -> bool {
        !self.0.is_empty() && self.0.contains_key(&key)
    }

    /// Notes a transaction at the end of its queue.
    #[inline]
    pub fn push(&mut self, key: Key, page: PageId, id: TransactionId) {
        if !self.0.is_empty()
            && let Some(pages) = self.0.get_mut(&key)
        {
            pages.entry(page).or_default().push(id);
        }
    }

    /// Notes that a transaction has left its queue, which may be empty now.
    #[inline]
    pub fn remove(&mut self, key: Key, page: PageId, id: TransactionId, is_empty: bool) {
        if !self.0.is_empty() {
            self.remove_from_index(key, page, id, is_empty);
        }
    }

    #[inline(never)]
    fn remove_from_index(&mut self, key: Key, page: PageId, id: TransactionId, is_empty: bool) {
        if is_empty {
            self.0.remove(&key);
        } else if let Some(pages) = self.0.get_mut(&key)
            && let Some(same) = pages.get_mut(&page)
        {
            same.retain(|&other| other != id);
            if same.is_empty() {
                pages.remove(&page);
            }
        }
    }

    /// The transactions of a queue with pages of an offset, oldest first. `first` is the oldest one
    /// of the queue.
    pub fn of_page(
        &mut self,
        transactions: &Slab<TransactionId, Transaction>,
        key: Key,
        first: Option<TransactionId>,
        page: PageId,
    ) -> Vec<TransactionId> {
        let pages = self.0.entry(key).or_insert_with(|| by_page(transactions, first));
        pages.get(&page).cloned().unwrap_or_default()
    }

    /// Checks that a queue's index says what its list does.
    pub fn check(
        &self,
        transactions: &Slab<TransactionId, Transaction>,
        key: Key,
        first: Option<TransactionId>,
    ) {
        if let Some(pages) = self.0.get(&key) {
            assert_eq!(pages, &by_page(transactions, first), "the index of {key:?}");
        }
    }
}

fn by_page(
    transactions: &Slab<TransactionId, Transaction>,
    first: Option<TransactionId>,
) -> ByPage {
    let mut pages = ByPage::new();
    for id in std::iter::successors(first, |id| transactions[*id].next) {
        pages.entry(transactions[id].page).or_default().push(id);
    }
    pages
}
