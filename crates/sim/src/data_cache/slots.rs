//! The pages in the data cache, in the order of their last use. A page's slot is found through the
//! mark in its page-table entry.

use crate::id::{Place, SlotId};
use serde::{Deserialize, Serialize};
use ssdtune_ftl::placement::Shape;
use ssdtune_ftl::{CacheMark, EntryRef, LruList, prefetch};
use ssdtune_model::{Lpn, Nanos, TenantId};
use std::ops::{Index, IndexMut};

/// How the page in a slot compares with flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SlotState {
    /// Flash holds the same.
    Clean,
    /// Flash holds older data.
    Dirty,
    /// Flash holds older data, and a copy of the page is on its way there.
    WritingBack,
    /// The page is read ahead of the host: its data will come from flash.
    Coming,
}

/// A cached page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slot {
    pub entry: EntryRef,
    /// The logical page, in its tenant's address space.
    pub lpn: Lpn,
    /// Sectors that the cache holds.
    pub mask: u64,
    /// When its newest data were in the drive.
    pub stamp: Nanos,
    /// The mark that the page's entry gets when the page leaves the cache.
    pub mark: CacheMark,
    pub tenant: TenantId,
    /// What the host write that wrote it last looked like from here.
    pub shape: Shape,
    pub state: SlotState,
}

/// The bit that tells the mark of a slot from that of an epoch.
const IS_SLOT: u32 = 1 << 27;

/// What a [`CacheMark`] means to the data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing is known of the page.
    Nothing,
    /// The page is in this slot.
    Slot(SlotId),
    /// The page is not cached. It was last written in this epoch, counted from 1.
    Written(u32),
}

impl Mark {
    /// What a mark means.
    #[inline]
    pub fn read(mark: CacheMark) -> Self {
        match mark.0 {
            0 => Self::Nothing,
            slot if slot & IS_SLOT != 0 => Self::Slot(SlotId::at((slot & !IS_SLOT) as usize)),
            epoch => Self::Written(epoch),
        }
    }

    /// The mark that means this.
    #[inline]
    pub fn write(self) -> CacheMark {
        match self {
            Self::Nothing => CacheMark(0),
            Self::Slot(slot) => CacheMark(slot.index() as u32 | IS_SLOT),
            Self::Written(epoch) => CacheMark(epoch % IS_SLOT),
        }
    }
}

/// The slots of one partition of the cache.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Slots {
    capacity: usize,
    pages: LruList<SlotId, Slot>,
}

impl Slots {
    /// Slots for a number of pages, at least one.
    pub fn new(pages: u64) -> Self {
        // A mark can number this many slots; 2^27 pages of 4 KiB are 512 GiB of DRAM.
        let capacity = pages.clamp(1, u64::from(IS_SLOT) - 1) as usize;
        Self { capacity, pages: LruList::default() }
    }

    /// Whether a page must leave before another one can enter.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.pages.len() >= self.capacity
    }

    /// Pages in the cache.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Pages that it can hold.
    pub fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    /// Takes room for good, for pages that nobody will ask for.
    pub fn shrink(&mut self, by: u64) {
        let least = self.len().max(1);
        self.capacity = (self.capacity as u64).saturating_sub(by).max(least as u64) as usize;
    }

    /// Asks for the cache line of a slot.
    #[inline]
    pub fn prefetch(&self, slot: SlotId) {
        prefetch(&self[slot]);
    }

    /// Makes a page the one used last.
    #[inline]
    pub fn touch(&mut self, slot: SlotId) {
        self.pages.touch(slot);
    }

    /// Adds a page. There is room.
    pub fn insert(&mut self, page: Slot) -> SlotId {
        debug_assert!(!self.is_full());
        self.pages.push(page)
    }

    /// Removes a page. Its record can be read until the next insertion.
    pub fn remove(&mut self, slot: SlotId) {
        self.pages.remove(slot);
    }

    /// The page used longest ago.
    pub fn oldest(&self) -> Option<SlotId> {
        self.pages.oldest()
    }

    /// All slots in use, the one used longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.pages.iter()
    }
}

impl Index<SlotId> for Slots {
    type Output = Slot;
    #[inline]
    fn index(&self, slot: SlotId) -> &Slot {
        &self.pages[slot]
    }
}

impl IndexMut<SlotId> for Slots {
    #[inline]
    fn index_mut(&mut self, slot: SlotId) -> &mut Slot {
        &mut self.pages[slot]
    }
}

impl Slot {
    /// A dirty page.
    pub fn new(entry: EntryRef, tenant: TenantId, lpn: Lpn, mask: u64, stamp: Nanos) -> Self {
        Self {
            entry,
            lpn,
            mask,
            stamp,
            mark: CacheMark(0),
            tenant,
            shape: Shape::default(),
            state: SlotState::Dirty,
        }
    }
}
