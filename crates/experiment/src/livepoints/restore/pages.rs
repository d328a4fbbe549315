//! Pages one by one, and sets of them, most of which lie side by side.

use super::super::layout::joined;
use super::super::{Run, record::Record};
use std::cell::Cell;
use std::ops::Range;

/// A set of pages. It is asked most quickly for pages that lie near the last one.
pub(super) struct Pages {
    /// In order, with gaps between them.
    ranges: Vec<Range<u64>>,
    /// Ranges that begin at or before the page that was asked for last.
    before: Cell<usize>,
}

impl Pages {
    /// Whether it holds a page.
    pub fn contains(&self, page: u64) -> bool {
        let begins = |nth: usize| self.ranges.get(nth).is_some_and(|range| range.start <= page);
        let mut before = self.before.get();
        if begins(before) || (before > 0 && !begins(before - 1)) {
            before = self.ranges.partition_point(|range| range.start <= page);
            self.before.set(before);
        }
        before.checked_sub(1).is_some_and(|nth| page < self.ranges[nth].end)
    }
}

impl FromIterator<Range<u64>> for Pages {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        Self { ranges: joined(ranges.into_iter().collect()), before: Cell::new(0) }
    }
}

impl FromIterator<u64> for Pages {
    fn from_iter<I: IntoIterator<Item = u64>>(pages: I) -> Self {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for page in pages {
            match ranges.last_mut() {
                Some(last) if last.end == page => last.end = page + 1,
                _ => ranges.push(page..page + 1),
            }
        }
        Self { ranges: joined(ranges), before: Cell::new(0) }
    }
}

/// The pages of runs, each with its record.
pub fn records<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<(u64, Record)> {
    let count: usize = runs.clone().map(|run| run.pages as usize).sum();
    let mut all = Vec::with_capacity(count);
    runs.for_each(|run| all.extend(run.records()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::scramble;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_holds_what_it_was_given_in_whatever_order_it_is_asked() {
        let given: Vec<u64> = (0..300).map(|nth| scramble(nth) % 900).collect();
        let (pages, known): (Pages, BTreeSet<u64>) =
            (given.iter().copied().collect(), given.iter().copied().collect());
        let ranges: Pages = given.iter().map(|&page| page..page + 3).collect();
        let wide: BTreeSet<u64> = given.iter().flat_map(|&page| page..page + 3).collect();
        let asked = (0..950).chain((0..950).rev()).chain((0..2_000).map(|nth| scramble(nth) % 950));
        for page in asked {
            assert_eq!(pages.contains(page), known.contains(&page), "{page}");
            assert_eq!(ranges.contains(page), wide.contains(&page), "{page}");
        }
        assert!(!Pages::from_iter([0_u64; 0]).contains(0));
    }
}
