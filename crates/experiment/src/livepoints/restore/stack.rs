//! A cache in the order of last use, as far as a window can see it: what the window touches, and
//! what leaves the cache meanwhile.

use super::super::Window;
use super::super::record::Record;
use super::super::spaces::Spaces;
use super::pages::Pages;
use ssdtune_model::scramble;

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
    /// Pages that are named in any case.
    pub named: Vec<(u64, Record)>,
    /// Addresses for copies of what leaves.
    pub spare: Spare,
    pub window: &'a Window,
}

impl Stack {
    /// `holds` says whether an endless cache would hold a page, and how many it would hold that
    /// were used later.
    pub fn of(cache: Cache<'_>, holds: impl Fn(u64, &Record) -> Option<f64>) -> Self {
        let Cache { capacity, all, leaving, named, spare, window } = cache;
        let size = capacity as f64;
        let is_named: Pages = named.iter().map(|&(page, _)| page).collect();
        let held = named.into_iter().filter_map(|(page, record)| {
            let rank = holds(page, &record)?;
            (rank < size).then_some((page, record, rank))
        });
        let mut pages: Vec<(u64, Record, f64)> = held.collect();
        let mut drawn = Vec::new();
        let mut room = 0;
        if all >= size {
            let most = leaving.min(capacity);
            let tail = size - most as f64;
            let among = pages.iter().filter(|page| page.2 >= tail).count() as u64;
            let wanted = most.saturating_sub(among);
            let found = nearest(window, &is_named, size, wanted as usize, &holds);
            let own = (found.len() as u64).max(1);
            let count = wanted.min(found.len() as u64 * spare.copies());
            room = wanted - count;
            let step = most as f64 / count.max(1) as f64;
            for nth in 0..count {
                let (page, record) = found[(nth % own) as usize];
                let page = spare.copy(page, nth / own);
                pages.push((page, record, size - (nth as f64 + 0.5) * step));
                drawn.push((page, record));
            }
        }
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
    wanted: usize,
    holds: &impl Fn(u64, &Record) -> Option<f64>,
) -> Vec<(u64, Record)> {
    let count: usize = window.samples.iter().map(|run| run.pages as usize).sum();
    let mut ranked: Vec<(f64, u64, Record)> = Vec::with_capacity(count);
    for run in &window.samples {
        for page in run.pages() {
            if !named.contains(page)
                && let Some(rank) = holds(page, &run.record)
            {
                ranked.push((rank, page, run.record));
            }
        }
    }
    // The nearest come first, and of two that are equally near the one that was found first.
    let mut last = (size, 0.0);
    let distance = |&(rank, ..): &(f64, u64, Record)| {
        // Neighbours have one rank, as a rule.
        if rank != last.0 {
            last = (rank, (rank / size).ln().abs());
        }
        last.1
    };
    let mut near: Vec<(f64, usize)> = ranked.iter().map(distance).zip(0..).collect();
    if wanted < near.len() {
        near.select_nth_unstable_by(wanted, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.truncate(wanted);
    }
    let mut chosen: Vec<(f64, u64, Record)> = near.into_iter().map(|(_, at)| ranked[at]).collect();
    chosen.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    chosen.into_iter().map(|(_, page, record)| (page, record)).collect()
}
