//! A cache in the order of last use, as far as a window can see it: what the window touches, and
//! what leaves the cache meanwhile.

use super::super::record::Record;
use super::super::spaces::Spaces;
use super::super::{Run, Window};
use super::pages::Pages;
use ssdtune_model::scramble;
use std::ops::Range;

/// Copies of a page are moved by multiples of this many pages, so that pages which are written
/// together lie in planes that are written together.
const ALIGNED: u64 = 64;
/// Copies of a page are moved by less than this many pages.
pub(super) const SHIFT: u64 = 4_096;

/// Addresses that the trace does not use, for more pages of the kind that leaves a cache than the
/// window has kept.
#[derive(Clone, Copy)]
pub(super) struct Spare {
    /// The trace lies below this page.
    pub span: u64,
    /// Pages of the drive; of a tenant's address space where several share it.
    pub pages: u64,
    /// The address spaces of the tenants.
    pub spaces: Spaces,
}

impl Spare {
    /// How often a page can be had, itself included.
    pub fn copies(&self) -> u64 {
        (self.pages.saturating_sub(SHIFT) / self.span).max(1)
    }

    /// A copy in another plane: few originals would burden few planes.
    pub fn copy(&self, page: u64, nth: u64) -> u64 {
        page + nth * self.span + Self::shift(nth)
    }

    /// The nth copy from the end, of a page that may be a copy itself: the stack counts from the
    /// beginning, and what has left a cache is not to push out what is still there.
    pub fn last_copy(&self, page: u64, nth: u64) -> u64 {
        self.copy(self.original(page), (self.copies() - 1).saturating_sub(nth).max(1))
    }

    /// The page that a copy stands for.
    pub fn original(&self, page: u64) -> u64 {
        let nth = self.spaces.within(page) / self.span;
        page - nth * self.span - Self::shift(nth)
    }

    /// Whether a page is one that the trace does not use.
    pub fn is_copy(&self, page: u64) -> bool {
        self.spaces.within(page) >= self.span
    }

    fn shift(nth: u64) -> u64 {
        match nth {
            0 => 0,
            nth => scramble(nth) % (SHIFT / ALIGNED) * ALIGNED,
        }
    }
}

/// A cache as a window finds it.
#[derive(Default)]
pub(super) struct Stack {
    /// It is full.
    pub full: bool,
    /// Pages that are named, the one used longest ago first: what the window touches, and what
    /// leaves the cache meanwhile.
    pub pages: Vec<(u64, Record, f64)>,
    /// Pages that the cache holds besides.
    pub others: u64,
    /// Those of them that the window does not touch.
    pub drawn: Vec<(u64, Record)>,
}

/// What is to be known of a cache before it can be put in order.
pub(super) struct Cache<'a> {
    /// Pages that it has room for.
    pub capacity: u64,
    /// Pages that it would hold if it were endless.
    pub all: f64,
    /// Pages that may leave it at most.
    pub leaving: u64,
    /// Pages that are named in any case, each once.
    pub named: &'a [Run],
    /// Addresses for copies of what leaves.
    pub spare: Spare,
    pub window: &'a Window,
}

/// Pages side by side that an endless cache holds, with how many it would hold that were used later
/// than any of them.
type Ranked = (f64, Run);

/// The parts of a run that an endless cache holds. `holds` gives the rank of a page, if it has one,
/// and up to which page those behind it have that, too.
pub(super) fn ranked(
    run: Run,
    holds: &impl Fn(u64, &Record) -> (Option<f64>, u64),
    mut each: impl FnMut(f64, Run),
) {
    let Range { mut start, end } = run.pages();
    while start < end {
        let (rank, until) = holds(start, &run.record);
        let until = until.clamp(start + 1, end);
        rank.into_iter().for_each(|rank| each(rank, run.part(start..until)));
        start = until;
    }
}

/// Puts what was used longest ago first.
fn sort(parts: &mut [Ranked]) {
    parts.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.first.cmp(&b.1.first)));
}

impl Stack {
    /// `holds` says whether an endless cache would hold a page, and how many it would hold that
    /// were used later; and up to which page that is so for those of one run.
    pub fn of(cache: Cache<'_>, holds: impl Fn(u64, &Record) -> (Option<f64>, u64)) -> Self {
        let Cache { capacity, all, leaving, named, spare, window } = cache;
        let size = capacity as f64;
        let mut held: Vec<Ranked> = Vec::with_capacity(named.len());
        let mut keep = |rank, part| {
            if rank < size {
                held.push((rank, part))
            }
        };
        named.iter().for_each(|run| ranked(*run, &holds, &mut keep));
        sort(&mut held);
        let count: usize = held.iter().map(|(_, part)| part.pages as usize).sum();
        let mut pages: Vec<(u64, Record, f64)> =
            Vec::with_capacity(count + if all >= size { leaving as usize } else { 0 });
        for (rank, part) in held {
            pages.extend(part.records().map(|(page, record)| (page, record, rank)));
        }
        let mut drawn = Vec::new();
        let mut room = 0;
        if all >= size {
            let most = leaving.min(capacity);
            let tail = size - most as f64;
            let among = pages.iter().filter(|page| page.2 >= tail).count() as u64;
            let wanted = most.saturating_sub(among);
            let is_named: Pages = named.iter().map(Run::pages).collect();
            let found = nearest(window, &is_named, size, wanted, &holds);
            let count = wanted.min(found.len() as u64 * spare.copies());
            room = wanted - count;
            let step = most as f64 / count.max(1) as f64;
            let copies = (0..spare.copies()).flat_map(|copy| {
                found.iter().map(move |&(page, record)| (spare.copy(page, copy), record))
            });
            for (nth, (page, record)) in (0..count).zip(copies) {
                pages.push((page, record, size - (nth as f64 + 0.5) * step));
                drawn.push((page, record));
            }
        }
        // Two lists that are in order already.
        pages.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
        let others = (all.min(size) as u64).saturating_sub(pages.len() as u64 + room);
        Self { full: all >= size, pages, others, drawn }
    }
}

/// Pages that are not named and whose rank is nearest to a size, the one used longest ago first.
fn nearest(
    window: &Window,
    named: &Pages,
    size: f64,
    wanted: u64,
    holds: &impl Fn(u64, &Record) -> (Option<f64>, u64),
) -> Vec<(u64, Record)> {
    let mut parts: Vec<Ranked> = Vec::with_capacity(window.samples.len());
    for part in window.samples.iter().flat_map(|run| named.others(*run)) {
        ranked(part, holds, |rank, part| parts.push((rank, part)));
    }
    // The nearest come first, and of two that are equally near the one that was found first.
    let distance = |&(rank, _): &Ranked| (rank / size).ln().abs();
    let mut near: Vec<(f64, usize)> = parts.iter().map(distance).zip(0..).collect();
    near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut left = wanted;
    let mut chosen: Vec<Ranked> = Vec::new();
    for (_, at) in near {
        let (rank, part) = parts[at];
        let pages = left.min(part.pages.into());
        if pages == 0 {
            break;
        }
        chosen.push((rank, part.part(part.first..part.first + pages)));
        left -= pages;
    }
    sort(&mut chosen);
    let mut pages = Vec::with_capacity((wanted - left) as usize);
    chosen.iter().for_each(|(_, part)| pages.extend(part.records()));
    pages
}
