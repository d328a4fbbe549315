//! Flash transactions and host requests in flight, in slabs with 32-bit handles.

use crate::energy::Work;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{EntryRef, Phys};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::Op;

/// No transaction, no request.
pub(crate) const NIL: u32 = u32::MAX;

/// What a transaction does and for whom: the queue it waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Class {
    UserRead = 0,
    UserWrite = 1,
    MappingRead = 2,
    MappingWrite = 3,
    GcRead = 4,
    GcWrite = 5,
    Erase = 6,
}

pub(crate) const CLASSES: usize = 7;

impl Class {
    /// What a die does for it.
    #[inline]
    pub fn work(self) -> Work {
        match self {
            Self::UserRead | Self::MappingRead | Self::GcRead => Work::Read,
            Self::UserWrite | Self::MappingWrite | Self::GcWrite => Work::Program,
            Self::Erase => Work::Erase,
        }
    }
}

/// Why a transaction exists, beyond its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Purpose {
    /// Part of a host request.
    Request,
    /// Writes a cached page to flash.
    Destage,
    /// Reads the rest of a partly written page; `link` is the write that waits for it.
    Merge,
    /// Reads a translation page somebody waits for.
    MappingLoad,
    /// Reads a translation page for its write-back; `link` is the write.
    MappingMerge,
    /// Programs a translation page.
    MappingStore,
    /// Moves a page of a victim; `link` is the job.
    Move,
    /// Erases a victim; `link` is the job.
    Erase,
}

/// A flash transaction: one page, or one block to erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tx {
    pub phys: Phys,
    /// Source of a move, translation page of a mapping access, logical page otherwise.
    pub address: u64,
    /// When the data arrived in the drive.
    pub stamp: Nanos,
    pub entry: EntryRef,
    pub request: u32,
    pub link: u32,
    pub next: u32,
    pub prev: u32,
    /// Scheduling unit.
    pub unit: u32,
    pub page: u32,
    /// Age in its unit.
    pub seq: u32,
    /// Flush that waits for it.
    pub flush: u32,
    pub tenant: u16,
    /// Die within the unit.
    pub die: u16,
    /// Plane within the die.
    pub plane: u16,
    /// Sectors to transfer.
    pub sectors: u16,
    pub class: Class,
    pub purpose: Purpose,
    /// Waits for a merge read or for page moves.
    pub blocked: bool,
    /// Priority class of the queue, 0 first.
    pub priority: u8,
    /// How often its operation has been interrupted.
    suspended: u8,
    /// In use; flushes look for what is under way.
    pub live: bool,
    pub mask: u64,
}

impl Tx {
    /// A transaction that nothing is known of but what it is for.
    pub fn new(class: Class, purpose: Purpose, phys: Phys, entry: EntryRef) -> Self {
        Self {
            phys,
            address: 0,
            stamp: Nanos::ZERO,
            entry,
            request: NIL,
            link: NIL,
            next: NIL,
            prev: NIL,
            unit: 0,
            page: 0,
            seq: 0,
            flush: NIL,
            tenant: 0,
            die: 0,
            plane: 0,
            sectors: 0,
            class,
            purpose,
            blocked: false,
            priority: 0,
            suspended: 0,
            live: true,
            mask: 0,
        }
    }

    pub fn suspensions(&self) -> u32 {
        self.suspended.into()
    }

    pub fn count_suspension(&mut self) {
        self.suspended = self.suspended.saturating_add(1);
    }
}

/// A host request between arrival and completion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Req {
    pub lba: Sectors,
    pub arrived: Nanos,
    pub enqueued: Nanos,
    /// When its data were in the drive.
    pub stamp: Nanos,
    /// Number of the request in its stream.
    pub number: u64,
    pub sectors: u32,
    /// Sectors of it that the cache has not taken yet (cached writes), and where they begin.
    pub rest: u32,
    pub cursor: u64,
    /// A flush that waits for this one.
    pub next_flush: u32,
    /// Flash transactions it waits for.
    pub waits_flash: u32,
    /// Sectors it waits for on the DRAM channel.
    pub waits_dram: u32,
    pub tenant: u16,
    pub op: Op,
}

/// Records in reused places.
#[derive(Serialize, Deserialize)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.items[index as usize] = item;
                index
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Places, used or not.
    pub fn capacity(&self) -> u32 {
        self.items.len() as u32
    }

    /// Records in use.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}
