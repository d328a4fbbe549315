//! A set of page numbers with ranks: which pages hold data at the start.
//!
//! The set is made of all numbers below a limit, and of ranges above it. A rank, or the page with a
//! rank, takes a binary search over the ranges. Memory: 16 B for each range.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A set of page numbers. The rank of a member is the number of smaller members.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PageSet {
    /// All numbers below this are members.
    prefix: u64,
    /// First number and rank of each range above the prefix, in ascending order.
    ranges: Vec<(u64, u64)>,
    /// Number of members.
    len: u64,
}

impl PageSet {
    /// The numbers below `prefix`, and the `ranges`, which are ascending and do not touch.
    pub fn new(prefix: u64, ranges: impl Iterator<Item = Range<u64>>) -> Self {
        let mut members = Self { prefix, ranges: Vec::new(), len: prefix };
        for range in ranges {
            let start = range.start.max(prefix);
            if start < range.end {
                members.ranges.push((start, members.len));
                members.len += range.end - start;
            }
        }
        members
    }

    /// The pages of a footprint, then the lowest other ones, until the set has `target` of `count`
    /// pages. A larger footprint is taken in full.
    pub fn covering(footprint: &[Range<u64>], target: u64, count: u64) -> Self {
        let needed: u64 = footprint.iter().map(|range| range.end - range.start).sum();
        let mut filler = target.min(count).saturating_sub(needed);
        let mut prefix = 0;
        for range in footprint {
            let gap = range.start - prefix;
            if gap > filler {
                break;
            }
            filler -= gap;
            prefix = range.end;
        }
        let prefix = (prefix + filler).min(count);
        Self::new(prefix, footprint.iter().cloned())
    }

    /// The quotients of all members that leave the remainder `position` when divided by `stride`.
    pub fn every(&self, stride: u64, position: u64) -> Self {
        let quotients = |end: u64| (end + stride - 1 - position) / stride;
        let ranges = self.ranges().map(|range| quotients(range.start)..quotients(range.end));
        Self::new(quotients(self.prefix), ranges)
    }

    /// The ranges above the prefix.
    fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        (0..self.ranges.len()).map(|index| {
            let (start, rank) = self.ranges[index];
            let end = self.ranges.get(index + 1).map_or(self.len, |&(_, next)| next);
            start..start + (end - rank)
        })
    }

    /// Number of members.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The rank of a number; `None` if it is no member.
    #[inline]
    pub fn rank(&self, number: u64) -> Option<u64> {
        if number < self.prefix {
            return Some(number);
        }
        let index = self.ranges.partition_point(|&(start, _)| start <= number).checked_sub(1)?;
        let (start, rank) = self.ranges[index];
        let end = self.ranges.get(index + 1).map_or(self.len, |&(_, next)| next);
        let rank = rank + (number - start);
        (rank < end).then_some(rank)
    }

    /// The member with a rank.
    #[inline]
    pub fn member(&self, rank: u64) -> u64 {
        debug_assert!(rank < self.len);
        if rank < self.prefix {
            return rank;
        }
        let index = self.ranges.partition_point(|&(_, first)| first <= rank) - 1;
        let (start, first) = self.ranges[index];
        start + (rank - first)
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.ranges.capacity() * size_of::<(u64, u64)>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn agree(members: &PageSet, truth: &BTreeSet<u64>, count: u64) {
        assert_eq!(members.len(), truth.len() as u64);
        for (rank, &number) in truth.iter().enumerate() {
            assert_eq!(members.member(rank as u64), number);
        }
        let mut below = 0;
        for number in 0..count {
            let expected = truth.contains(&number).then_some(below);
            assert_eq!(members.rank(number), expected, "{number}");
            below += u64::from(expected.is_some());
        }
    }

    #[test]
    fn ranks_agree_with_a_set() {
        let footprint = [3..5, 9..10, 20..33, 40..41];
        for target in 0..60 {
            let members = PageSet::covering(&footprint, target, 50);
            let mut truth: BTreeSet<u64> = footprint.iter().cloned().flatten().collect();
            for filler in 0..50 {
                if truth.len() as u64 >= target {
                    break;
                }
                truth.insert(filler);
            }
            agree(&members, &truth, 50);
            for stride in [1, 2, 3, 7] {
                for position in 0..stride {
                    let part = truth.iter().filter(|&n| n % stride == position).map(|n| n / stride);
                    agree(&members.every(stride, position), &part.collect(), 50 / stride + 1);
                }
            }
        }
    }
}
