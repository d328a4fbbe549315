//! The DRAM data cache: page slots in order of use, found through their page-table entries.
//!
//! A mark of a page-table entry is one of: nothing; the slot that holds the page; the destage epoch in which
//! the page was last written. A page written for the first time since its epoch began goes to flash at once
//! (most such pages are cold); one that is written again stays until it is evicted. An epoch ends at the
//! first write after each second of simulated time, tenant by tenant.

use crate::tx::NIL;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{CacheMark, EntryRef, prefetch};
use ssdtune_model::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SlotState {
    Clean,
    Dirty,
    /// Dirty, and a copy is on its way to flash.
    WritingBack,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub entry: EntryRef,
    pub lpn: u64,
    pub mask: u64,
    pub stamp: Nanos,
    /// The mark to leave behind.
    pub mark: CacheMark,
    newer: u32,
    older: u32,
    pub tenant: u16,
    pub state: SlotState,
}

const IS_SLOT: u32 = 1 << 27;

/// A mark, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Nothing,
    Slot(u32),
    /// Written in this epoch (numbered from 1).
    Written(u32),
}

pub(crate) fn read_mark(mark: CacheMark) -> Mark {
    match mark.0 {
        0 => Mark::Nothing,
        slot if slot & IS_SLOT != 0 => Mark::Slot(slot & !IS_SLOT),
        epoch => Mark::Written(epoch),
    }
}

pub(crate) fn slot_mark(slot: u32) -> CacheMark {
    CacheMark(slot | IS_SLOT)
}

pub(crate) fn epoch_mark(epoch: u32) -> CacheMark {
    CacheMark(epoch % IS_SLOT)
}

/// One cache: of all tenants, or of one.
#[derive(Serialize, Deserialize)]
pub(crate) struct DataCache {
    capacity: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl DataCache {
    pub fn new(pages: u64) -> Self {
        // A mark has room for this many; 2^27 pages of 4 KiB are 512 GiB of DRAM.
        let capacity = pages.clamp(1, u64::from(IS_SLOT) - 1) as usize;
        Self { capacity, slots: Vec::new(), free: Vec::new(), newest: NIL, oldest: NIL }
    }

    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// Pages held.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Asks for the cache line of a slot.
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

    /// Used just now.
    #[inline]
    pub fn touch(&mut self, slot: u32) {
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
    }

    /// A new slot; there is room.
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

    /// Forgets a slot; its record stays readable until the next insertion.
    pub fn remove(&mut self, slot: u32) {
        self.unlink(slot);
        self.free.push(slot);
    }

    /// The slot used longest ago.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NIL).then_some(self.oldest)
    }

    /// All slots, oldest first.
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
