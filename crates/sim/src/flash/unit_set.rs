//! A set of small numbers that is walked through in turn: the scheduling units of a channel that
//! have something to do. One bit for each number.

use serde::{Deserialize, Serialize};

/// A set of small numbers. Numbers below 64, which are all on most drives, need no list.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct UnitSet {
    /// The numbers below 64.
    first: u64,
    /// The others, 64 in a word; empty if there are none.
    more: Vec<u64>,
}

impl UnitSet {
    /// An empty set of numbers below a size.
    pub fn new(size: u32) -> Self {
        Self { first: 0, more: vec![0; size.div_ceil(64).saturating_sub(1) as usize] }
    }

    #[inline]
    fn word(&mut self, index: u32) -> &mut u64 {
        match index {
            0..64 => &mut self.first,
            _ => &mut self.more[(index / 64 - 1) as usize],
        }
    }

    #[inline]
    pub fn insert(&mut self, index: u32) {
        *self.word(index) |= 1 << (index % 64);
    }

    #[inline]
    pub fn remove(&mut self, index: u32) {
        *self.word(index) &= !(1 << (index % 64));
    }

    /// Whether a number is a member.
    pub fn contains(&self, index: u32) -> bool {
        self.next(index) == Some(index)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.more.iter().all(|&word| word == 0)
    }

    /// The smallest member that is not below `from`.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        let bits = if from < 64 { self.first >> from << from } else { 0 };
        if bits != 0 {
            return Some(bits.trailing_zeros());
        }
        if self.more.is_empty() { None } else { self.next_of_more(from.max(64)) }
    }

    fn next_of_more(&self, from: u32) -> Option<u32> {
        let start = (from / 64 - 1) as usize;
        let mut mask = u64::MAX << (from % 64);
        for (index, word) in self.more.iter().enumerate().skip(start) {
            let bits = word & mask;
            if bits != 0 {
                return Some((index as u32 + 1) * 64 + bits.trailing_zeros());
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_order_across_words() {
        let mut set = UnitSet::new(130);
        assert!(set.is_empty());
        for index in [0, 63, 64, 129] {
            set.insert(index);
        }
        let walk: Vec<u32> =
            std::iter::successors(set.next(0), |&last| set.next(last + 1)).collect();
        assert_eq!(walk, [0, 63, 64, 129]);
        set.remove(129);
        assert_eq!((set.next(65), set.is_empty()), (None, false));
    }
}
