//! How a mapping cache is stored: its slots with their links, the lists of free slots and of
//! waiting tokens. The order of the fields is the format, and snapshots have it.

use super::{Chain, InitialMappings, LogicalPage, LruList, MappingCache, Nodes, Slot};
use crate::lru::LruParts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct StoredSlot {
    page: u64,
    newer: u32,
    older: u32,
    waiting: bool,
    dirty: bool,
    reads: Chain,
    writes: Chain,
}

#[derive(Serialize)]
struct Borrowed<'a> {
    capacity: u32,
    slots: Vec<StoredSlot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    tokens: &'a Nodes,
    initial: &'a InitialMappings,
}

#[derive(Deserialize)]
struct Stored {
    capacity: u32,
    slots: Vec<StoredSlot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    tokens: Nodes,
    initial: InitialMappings,
}

impl Serialize for MappingCache {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { capacity, slots, tokens, initial } = self;
        let LruParts { slots, free, newest, oldest } = slots.parts();
        let stored = |(slot, newer, older): (&Slot, u32, u32)| {
            let &Slot { page, waiting, dirty, reads, writes } = slot;
            StoredSlot { page: page.0, newer, older, waiting, dirty, reads, writes }
        };
        let slots = slots.into_iter().map(stored).collect();
        Borrowed { capacity: *capacity, slots, free, newest, oldest, tokens, initial }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for MappingCache {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Stored { capacity, slots, free, newest, oldest, tokens, initial } =
            Stored::deserialize(from)?;
        let read = |slot: StoredSlot| {
            let StoredSlot { page, newer, older, waiting, dirty, reads, writes } = slot;
            (Slot { page: LogicalPage(page), waiting, dirty, reads, writes }, newer, older)
        };
        let slots = slots.into_iter().map(read).collect();
        let slots = LruList::from_parts(LruParts { slots, free, newest, oldest });
        Ok(Self { capacity, slots, tokens, initial })
    }
}
