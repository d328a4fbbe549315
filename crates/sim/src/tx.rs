//! Flash transactions and host requests that are under way, in slabs, named by 32-bit numbers.

use crate::energy::Work;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{EntryRef, Phys};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::Op;

/// The number of no transaction and no request.
pub(crate) const NIL: u32 = u32::MAX;

/// What a transaction does, and for whom. It decides the queue in which the transaction waits.
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

/// Number of classes.
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
    /// It is a part of a host request.
    Request,
    /// It writes a cached page to flash.
    Destage,
    /// It reads the rest of a partly written page. `link` is the write that waits for it.
    Merge,
    /// It reads a translation page that other transactions wait for.
    MappingLoad,
    /// It reads a translation page so that it can be written back. `link` is the write.
    MappingMerge,
    /// It programs a translation page.
    MappingStore,
    /// It moves a page of a victim. `link` is the job.
    Move,
    /// It erases a victim. `link` is the job.
    Erase,
}

/// A flash transaction: work on one page, or on one block that is erased.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tx {
    pub phys: Phys,
    /// The logical page. For an access to a translation page, its number; for the program of a
    /// moved page, the physical page it leaves.
    pub address: u64,
    /// When the data were in the drive.
    pub stamp: Nanos,
    /// The page-table entry of the logical page.
    pub entry: EntryRef,
    /// The request that waits for it.
    pub request: u32,
    /// The transaction or the job that it serves: see [`Purpose`].
    pub link: u32,
    /// The next transaction in a queue or in a command.
    pub next: u32,
    /// The transaction before it in a queue.
    pub prev: u32,
    /// Its scheduling unit.
    pub unit: u32,
    /// The offset of the page in its block.
    pub page: u32,
    /// When it was queued, counted in queued transactions.
    pub seq: u32,
    /// The flush that waits for it.
    pub flush: u32,
    pub tenant: u16,
    /// The die within the unit.
    pub die: u16,
    /// The plane within the die.
    pub plane: u16,
    /// Sectors to transfer.
    pub sectors: u16,
    pub class: Class,
    pub purpose: Purpose,
    /// It waits for another transaction, or for the pages of its victim to be moved.
    pub blocked: bool,
    /// Its priority among the transactions of its class; 0 goes first.
    pub priority: u8,
    /// How often its operation has been interrupted.
    suspended: u8,
    /// It is in use. A flush looks through the slab for what is under way.
    pub live: bool,
    /// The sectors it concerns, one bit each.
    pub mask: u64,
}

impl Tx {
    /// A transaction of which only the purpose is known.
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

    /// How often its operation has been interrupted.
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
    /// The first sector, in the tenant's address space.
    pub lba: Sectors,
    /// When it reached the host's driver.
    pub arrived: Nanos,
    /// When it entered the submission queue.
    pub enqueued: Nanos,
    /// When its data were in the drive.
    pub stamp: Nanos,
    /// Its number in its stream.
    pub number: u64,
    pub sectors: u32,
    /// Cached writes: sectors that the cache has not taken yet.
    pub rest: u32,
    /// Cached writes: where these sectors begin.
    pub cursor: u64,
    /// A flush that waits for this one.
    pub next_flush: u32,
    /// Flash transactions that it waits for.
    pub waits_flash: u32,
    /// Sectors that it waits for on the DRAM channel.
    pub waits_dram: u32,
    pub tenant: u16,
    pub op: Op,
}

/// Records named by numbers. The place of a removed record is used again.
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

    /// Places, in use or not.
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
