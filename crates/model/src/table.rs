//! Lists that can only be asked by the kind of number that they are made for. They cost what a
//! `Vec` costs, and are stored as one.

use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that says where something stands in a list.
pub trait Place: Copy {
    /// Its place in the list, from 0.
    fn index(self) -> usize;
    /// The number of a place.
    fn at(index: usize) -> Self;
}

/// A list with one item for each thing of a kind.
///
/// ```
/// use ssdtune_model::{PlaneId, Table};
///
/// let mut free_blocks: Table<PlaneId, u32> = [7, 9].into_iter().collect();
/// let third = free_blocks.push(4);
/// free_blocks[third] -= 1;
/// assert_eq!((third, free_blocks[PlaneId(2)]), (PlaneId(2), 3));
///
/// let fewest = free_blocks.named().min_by_key(|(_, blocks)| **blocks);
/// assert_eq!(fewest, Some((PlaneId(2), &3)));
/// ```
///
/// A number of another kind is refused:
///
/// ```compile_fail,E0277
/// use ssdtune_model::{BlockId, PlaneId, Table};
///
/// let free_blocks: Table<PlaneId, u32> = [7, 9].into_iter().collect();
/// println!("{}", free_blocks[BlockId(0)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Table<K, V> {
    items: Vec<V>,
    #[serde(skip)]
    kind: PhantomData<K>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { items: Vec::new(), kind: PhantomData }
    }
}

impl<K, V> Table<K, V> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Items for which there is memory.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }

    /// Items, in order.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }

    /// Items that can be changed, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }
}

impl<K: Place, V> Table<K, V> {
    /// Items with their names, in order.
    pub fn named(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (K::at(index), item))
    }

    /// Items that can be changed, with their names, in order.
    pub fn named_mut(&mut self) -> impl DoubleEndedIterator<Item = (K, &mut V)> {
        self.items.iter_mut().enumerate().map(|(index, item)| (K::at(index), item))
    }

    /// The names of all items, in order.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::at)
    }

    /// An item; `None` if the list is too short.
    #[inline]
    pub fn get(&self, name: K) -> Option<&V> {
        self.items.get(name.index())
    }

    /// An item that can be changed; `None` if the list is too short.
    #[inline]
    pub fn get_mut(&mut self, name: K) -> Option<&mut V> {
        self.items.get_mut(name.index())
    }

    /// Adds an item behind the last.
    pub fn push(&mut self, item: V) -> K {
        self.items.push(item);
        K::at(self.items.len() - 1)
    }
}

impl<K, V: Clone> Table<K, V> {
    /// A list of equal items.
    pub fn of(item: V, count: usize) -> Self {
        Self { items: vec![item; count], kind: PhantomData }
    }

    /// Adds copies of an item, or drops the last items, until there are `count`.
    pub fn resize(&mut self, count: usize, item: V) {
        self.items.resize(count, item);
    }
}

impl<K, V> FromIterator<V> for Table<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        Self { items: Vec::from_iter(items), kind: PhantomData }
    }
}

impl<'a, K, V> IntoIterator for &'a Table<K, V> {
    type Item = &'a V;
    type IntoIter = std::slice::Iter<'a, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut Table<K, V> {
    type Item = &'a mut V;
    type IntoIter = std::slice::IterMut<'a, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<K: Place, V> Index<K> for Table<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, name: K) -> &V {
        &self.items[name.index()]
    }
}

impl<K: Place, V> IndexMut<K> for Table<K, V> {
    #[inline]
    fn index_mut(&mut self, name: K) -> &mut V {
        &mut self.items[name.index()]
    }
}
