//! Names of things: the numbers that only the simulator has, and slabs of what comes and goes.
//!
//! A number of one kind cannot be taken for one of another, and a list can only be asked by the
//! kind that it is made for. All of this costs what bare integers cost.

pub(crate) use ssdtune_model::{ChannelId, Place, Table};

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// Defines numbers of things that exist as long as the drive.
macro_rules! lasting {
    ($($(#[$doc:meta])+ $name:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) struct $name(pub u32);

        impl Place for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline]
            fn at(index: usize) -> Self {
                Self(index as u32)
            }
        }
    )+};
}

/// Defines numbers of things that come and go. They count from 1, so that an `Option` of one takes
/// no more room than the number.
macro_rules! passing {
    ($($(#[$doc:meta])+ $name:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) struct $name(NonZeroU32);

        impl Place for $name {
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
            #[inline]
            fn at(index: usize) -> Self {
                Self(NonZeroU32::MIN.saturating_add(index as u32))
            }
        }
    )+};
}

lasting! {
    /// A stream of requests.
    StreamId;
    /// A submission queue with its completion queue.
    QueueId;
    /// A part of the data cache: the whole if the tenants share it, else that of one tenant.
    PartitionId;
    /// A scheduling unit: see [`crate::flash`].
    UnitId;
    /// A die.
    DieId;
}

passing! {
    /// A request of the host on its way.
    RequestId;
    /// Work for the flash on its way: one page, or one block to be erased.
    TransactionId;
    /// A block that is being collected.
    JobId;
    /// A place for a page in the data cache.
    SlotId;
    /// An index of a long queue in front of a die.
    IndexId;
}

/// Records of things that come and go. The place of a removed record is used again.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Slab<K, V> {
    items: Table<K, V>,
    free: Vec<K>,
}

impl<K, V> Default for Slab<K, V> {
    fn default() -> Self {
        Self { items: Table::default(), free: Vec::new() }
    }
}

impl<K: Place, V> Slab<K, V> {
    /// Adds a record.
    #[inline]
    pub fn insert(&mut self, item: V) -> K {
        match self.free.pop() {
            Some(name) => {
                self.items[name] = item;
                name
            }
            None => self.items.push(item),
        }
    }

    /// The name that the next record gets.
    pub fn next(&self) -> K {
        self.free.last().copied().unwrap_or(K::at(self.items.len()))
    }

    /// Gives a record's place back. The record can be read until the next insertion.
    #[inline]
    pub fn remove(&mut self, name: K) {
        self.free.push(name);
    }

    /// The names of all places, in use or not.
    pub fn places(&self) -> impl Iterator<Item = K> + use<K, V> {
        self.items.names()
    }

    /// Records in use.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<K: Place, V> Index<K> for Slab<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, name: K) -> &V {
        &self.items[name]
    }
}

impl<K: Place, V> IndexMut<K> for Slab<K, V> {
    #[inline]
    fn index_mut(&mut self, name: K) -> &mut V {
        &mut self.items[name]
    }
}
