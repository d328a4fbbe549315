//! A set of small numbers that is walked through in turn: the scheduling units of a channel that
//! have something to do. One bit for each number.

use serde::{Deserialize, Serialize};

/// A set of the numbers below a size.
#[derive(Serialize, Deserialize)]
pub(super) struct UnitSet {
    words: Vec<u64>,
}

impl UnitSet {
    pub fn new(size: u32) -> Self {
        Self { words: vec![0; size.div_ceil(64) as usize] }
    }

    #[inline]
    pub fn insert(&mut self, index: u32) {
        self.words[(index / 64) as usize] |= 1 << (index % 64);
    }

    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.words[(index / 64) as usize] &= !(1 << (index % 64));
    }

    /// Whether a number is a member.
    pub fn contains(&self, index: u32) -> bool {
        self.words[(index / 64) as usize] >> (index % 64) & 1 == 1
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        match self.words[..] {
            [word] => word == 0,
            _ => self.words.iter().all(|&word| word == 0),
        }
    }

    /// The smallest member that is not below `from`.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        let mut mask = u64::MAX << (from % 64);
        for index in (from / 64) as usize..self.words.len() {
            let bits = self.words[index] & mask;
            if bits != 0 {
                return Some(index as u32 * 64 + bits.trailing_zeros());
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
