//! The DRAM data cache: slots for pages, in the order of their last use. A page's slot is found
//! through its page-table entry.
//!
//! The mark in a page-table entry is one of three: nothing; the slot that holds the page; or the
//! epoch in which the page was last written. A page that is written for the first time in an epoch
//! goes to flash at once, since most such pages are cold. A page that is written again in the same
//! epoch stays in the cache until it is pushed out. An epoch ends with the first write after each
//! second of simulated time, tenant by tenant.

use crate::tx::NIL;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{CacheMark, EntryRef, prefetch};
use ssdtune_model::Nanos;

/// How the page in a slot compares with flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SlotState {
    /// Flash holds the same.
    Clean,
    /// Flash holds older data.
    Dirty,
    /// Flash holds older data, and a copy of the page is on its way there.
    WritingBack,
}

/// A cached page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub entry: EntryRef,
    /// The logical page, in its tenant's address space.
    pub lpn: u64,
    /// Sectors that the cache holds.
    pub mask: u64,
    /// When its newest data were in the drive.
    pub stamp: Nanos,
    /// The mark that the page's entry gets when the page leaves the cache.
    pub mark: CacheMark,
    newer: u32,
    older: u32,
    pub tenant: u16,
    pub state: SlotState,
}

/// The bit that tells the mark of a slot from that of an epoch.
const IS_SLOT: u32 = 1 << 27;

/// What a [`CacheMark`] means to the data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing is known of the page.
    Nothing,
    /// The page is in this slot.
    Slot(u32),
    /// The page is not cached. It was last written in this epoch, counted from 1.
    Written(u32),
}

/// What a mark means.
pub(crate) fn read_mark(mark: CacheMark) -> Mark {
    match mark.0 {
        0 => Mark::Nothing,
        slot if slot & IS_SLOT != 0 => Mark::Slot(slot & !IS_SLOT),
        epoch => Mark::Written(epoch),
    }
}

/// The mark of a page in a slot.
pub(crate) fn slot_mark(slot: u32) -> CacheMark {
    CacheMark(slot | IS_SLOT)
}

/// The mark of a page that was written in an epoch.
pub(crate) fn epoch_mark(epoch: u32) -> CacheMark {
    CacheMark(epoch % IS_SLOT)
}

/// The data cache of one tenant, or of all tenants together.
#[derive(Serialize, Deserialize)]
pub(crate) struct DataCache {
    capacity: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl DataCache {
    /// A cache for a number of pages, at least one.
    pub fn new(pages: u64) -> Self {
        // A mark can number this many slots; 2^27 pages of 4 KiB are 512 GiB of DRAM.
        let capacity = pages.clamp(1, u64::from(IS_SLOT) - 1) as usize;
        Self { capacity, slots: Vec::new(), free: Vec::new(), newest: NIL, oldest: NIL }
    }

    /// Whether a page must leave before another one can enter.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// Pages in the cache.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Prefetches the cache line of a slot.
    #[inline]
    pub fn prefetch_slot(&self, slot: u32) {
        prefetch(&self.slots[slot as usize]);
    }

    #[inline]
    pub fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    fn unlink(&mut self, slot: u32) {
        let (newer, older) = (self.slots[slot as usize].newer, self.slots[slot as usize].older);
        match newer {
            NIL => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        match older {
            NIL => self.oldest = newer,
            _ => self.slots[older as usize].newer = newer,
        }
    }

    fn link(&mut self, slot: u32) {
        let newest = self.newest;
        self.slots[slot as usize].newer = NIL;
        self.slots[slot as usize].older = newest;
        match newest {
            NIL => self.oldest = slot,
            _ => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    /// Makes a page the one used last.
    #[inline]
    pub fn touch(&mut self, slot: u32) {
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
    }

    /// Adds a page. There is room.
    pub fn insert(&mut self, mut slot: Slot) -> u32 {
        debug_assert!(!self.is_full());
        slot.newer = NIL;
        slot.older = NIL;
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.link(index);
        index
    }

    /// Removes a page. Its record can be read until the next insertion.
    pub fn remove(&mut self, slot: u32) {
        self.unlink(slot);
        self.free.push(slot);
    }

    /// The page used longest ago.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NIL).then_some(self.oldest)
    }

    /// All slots in use, the one used longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            (at != NIL).then(|| {
                let slot = at;
                at = self.slots[slot as usize].newer;
                slot
            })
        })
    }
}

impl Slot {
    /// A dirty page.
    pub fn new(entry: EntryRef, tenant: u16, lpn: u64, mask: u64, stamp: Nanos) -> Self {
        Self {
            entry,
            lpn,
            mask,
            stamp,
            mark: CacheMark(0),
            newer: NIL,
            older: NIL,
            tenant,
            state: SlotState::Dirty,
        }
    }
}
