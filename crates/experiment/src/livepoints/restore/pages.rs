//! Sets of pages, and their records. Most pages lie side by side, and neighbours have one record.
//! So both are kept as runs: a window of wide requests touches 100,000 pages in 3,000 runs.

use super::super::layout::joined;
use super::super::{Run, record::Record};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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

    /// The parts of a run that it does not hold.
    pub fn others(&self, run: Run) -> impl Iterator<Item = Run> {
        let Range { start: mut from, end } = run.pages();
        let first = self.ranges.partition_point(|range| range.end <= from);
        let held = self.ranges[first..].iter().cloned().take_while(move |range| range.start < end);
        held.chain(std::iter::once(end..end)).filter_map(move |range| {
            let gap = from..range.start;
            from = range.end;
            (gap.start < gap.end).then(|| run.part(gap))
        })
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

/// Pages with their records as runs.
pub(super) fn runs(pages: impl IntoIterator<Item = (u64, Record)>) -> Vec<Run> {
    let mut runs = Vec::new();
    pages
        .into_iter()
        .for_each(|(first, record)| append(&mut runs, Run { first, pages: 1, record }));
    runs
}

/// Adds a run to others. It is one with the last of them if it goes on with it.
fn append(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.pages().end == run.first && last.record == run.record => {
            last.pages += run.pages;
        }
        _ => runs.push(run),
    }
}

/// The pages of some runs in order, each once: where runs overlap, the first one of them counts.
///
/// Cost: that of sorting the runs, and of a queue of those that hold a page.
pub(super) fn by_page(runs: &[Run]) -> Vec<Run> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&nth| runs[nth].first);
    let mut coming = order.into_iter().peekable();
    let mut sorted = Vec::with_capacity(runs.len());
    // Runs that have begun, the one that counts on top, and the page up to which all is done.
    let (mut begun, mut page) = (BinaryHeap::new(), 0);
    loop {
        while begun
            .peek()
            .is_some_and(|&Reverse(nth): &Reverse<usize>| runs[nth].pages().end <= page)
        {
            begun.pop();
        }
        let next = coming.peek().map(|&nth| runs[nth].first);
        match (begun.peek(), next) {
            (None, None) => return sorted,
            (Some(&Reverse(nth)), next) if next.is_none_or(|first| first > page) => {
                let end = runs[nth].pages().end;
                let until = next.map_or(end, |first| first.min(end));
                append(&mut sorted, runs[nth].part(page..until));
                page = until;
            }
            _ => {
                page = page.max(next.unwrap_or(page));
                begun.extend(coming.next().map(Reverse));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::scramble;
    use std::collections::{BTreeMap, BTreeSet};

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
        for first in 0..900 {
            let run = Run { first, pages: (first % 40) as u32, record: Record::NONE };
            let others: Vec<u64> = ranges.others(run).flat_map(|part| part.pages()).collect();
            let expected: Vec<u64> = run.pages().filter(|page| !wide.contains(page)).collect();
            assert_eq!(others, expected, "{run:?}");
        }
    }

    /// Against a map that is filled page by page.
    #[test]
    fn the_first_run_that_holds_a_page_counts() {
        for seed in 0..40 {
            let run = |nth: u64| {
                let drawn = scramble(1_000 * seed + nth);
                let record = Record::NONE.after_read((drawn >> 32) as u32 % 5, 1);
                Run { first: drawn % 700, pages: (drawn >> 16) as u32 % 30, record }
            };
            let given: Vec<Run> = (0..80).map(run).collect();
            let mut expected: BTreeMap<u64, Record> = BTreeMap::new();
            for (page, record) in given.iter().flat_map(Run::records) {
                expected.entry(page).or_insert(record);
            }
            let own = by_page(&given);
            let pages: Vec<(u64, Record)> = own.iter().flat_map(Run::records).collect();
            assert_eq!(pages, expected.into_iter().collect::<Vec<_>>(), "seed {seed}");
            assert_eq!(runs(pages), own, "as long as can be, seed {seed}");
        }
        assert_eq!(by_page(&[]), []);
    }
}
