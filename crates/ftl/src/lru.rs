//! Values in the order of their last use, in numbered slots.
//!
//! A value keeps its slot until it is removed, so a slot's number can stand wherever the value must
//! be found again: beside a page-table entry, say. The links lie beside the values, so that a value
//! and its neighbours' links cost one line each. Every operation takes the same time whatever the
//! length. A removed slot is the first to be used again, while its line is still near.

use serde::{Deserialize, Serialize};
use ssdtune_model::Place;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// No slot.
const NIL: u32 = u32::MAX;

/// A list of values in the order of their last use. `K` numbers its slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LruList<K, T> {
    slots: Vec<Linked<T>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    #[serde(skip)]
    kind: PhantomData<K>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Linked<T> {
    value: T,
    newer: u32,
    older: u32,
}

impl<K, T> Default for LruList<K, T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), newest: NIL, oldest: NIL, kind: PhantomData }
    }
}

impl<K: Place, T> LruList<K, T> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value as the one used last. Returns its slot.
    pub fn push(&mut self, value: T) -> K {
        let linked = Linked { value, newer: NIL, older: NIL };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = linked;
                slot
            }
            None => {
                self.slots.push(linked);
                self.slots.len() as u32 - 1
            }
        };
        self.link_newest(slot);
        K::at(slot as usize)
    }

    /// Makes a value the one used last.
    #[inline]
    pub fn touch(&mut self, slot: K) {
        let slot = slot.index() as u32;
        if self.newest != slot {
            self.unlink(slot);
            self.link_newest(slot);
        }
    }

    /// Removes a value. It can be read until the next [`LruList::push`].
    pub fn remove(&mut self, slot: K) {
        let slot = slot.index() as u32;
        self.unlink(slot);
        self.free.push(slot);
    }

    /// The slot of the value used longest ago.
    #[inline]
    pub fn oldest(&self) -> Option<K> {
        Self::name(self.oldest)
    }

    /// The slot of the value used next after that of another.
    #[inline]
    pub fn newer(&self, slot: K) -> Option<K> {
        Self::name(self.slots[slot.index()].newer)
    }

    /// The slot of the value used last before that of another.
    #[inline]
    pub fn older(&self, slot: K) -> Option<K> {
        Self::name(self.slots[slot.index()].older)
    }

    /// The slot of a link.
    #[inline]
    fn name(link: u32) -> Option<K> {
        (link != NIL).then(|| K::at(link as usize))
    }

    /// All slots with a value, the one used longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        std::iter::successors(self.oldest(), |&slot| self.newer(slot))
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Linked<T>>() + self.free.capacity() * 4
    }

    fn unlink(&mut self, slot: u32) {
        let Linked { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NIL => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        match older {
            NIL => self.oldest = newer,
            _ => self.slots[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let newest = self.newest;
        self.slots[slot as usize].newer = NIL;
        self.slots[slot as usize].older = newest;
        match newest {
            NIL => self.oldest = slot,
            _ => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }
}

impl<K: Place, T> Index<K> for LruList<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: K) -> &T {
        &self.slots[slot.index()].value
    }
}

impl<K: Place, T> IndexMut<K> for LruList<K, T> {
    #[inline]
    fn index_mut(&mut self, slot: K) -> &mut T {
        &mut self.slots[slot.index()].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::MappingSlot;

    #[test]
    fn the_order_is_that_of_a_plain_list() {
        let mut list = LruList::default();
        // (slot, value), the one used longest ago first.
        let mut plain: Vec<(MappingSlot, u32)> = Vec::new();
        let mut state = 1_u32;
        for value in 0..4_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % plain.len().max(1);
            match state >> 30 {
                0 if !plain.is_empty() => {
                    let (slot, value) = plain.remove(at);
                    list.remove(slot);
                    assert_eq!(list[slot], value, "it can be read still");
                }
                1 | 2 if plain.len() > 20 => {
                    let moved = plain.remove(at);
                    list.touch(moved.0);
                    plain.push(moved);
                }
                _ => plain.push((list.push(value), value)),
            }
            assert_eq!(list.oldest(), plain.first().map(|&(slot, _)| slot));
            assert!(list.iter().eq(plain.iter().map(|&(slot, _)| slot)));
            assert!(plain.iter().all(|&(slot, value)| list[slot] == value));
            assert_eq!((list.len(), list.is_empty()), (plain.len(), plain.is_empty()));
        }
    }
}
