//! What the data cache holds when a window begins.

use super::super::Window;
use super::super::recency::{Depth, Lane, depth};
use super::super::record::{NEVER, Record};
use super::clock::{Clock, lanes};
use super::pages::Pages;
use super::stack::{Cache, Stack};
use super::{Lanes, Restorer};
use ssdtune_model::Lpn;
use ssdtune_model::config::CacheMode;
use ssdtune_sim::CachedPage;
use std::cell::Cell;

impl Restorer<'_> {
    /// The lanes that count what a data cache holds.
    pub(super) fn cache_lanes(&self, window: &Window) -> Option<Lanes> {
        let mode = self.device.cache.mode;
        let written: Lanes = match &self.clock {
            Clock::Trace => vec![(Lane::Written as usize, 1.0)],
            Clock::Served(known) => lanes(Clock::epoch_bits(known, window)).to_vec(),
        };
        let read = (Lane::Read as usize, 1.0);
        match mode {
            CacheMode::Off => None,
            CacheMode::Read => Some(vec![read]),
            CacheMode::ReadWrite if self.room.is_buffer => Some(vec![read]),
            CacheMode::ReadWrite => Some([vec![read], written].concat()),
            CacheMode::Write if self.room.is_buffer => None,
            CacheMode::Write if self.clock == Clock::Trace => {
                Some(vec![(Lane::Dirty as usize, 1.0)])
            }
            CacheMode::Write => Some(written),
        }
    }

    /// Whether a data cache that is large enough holds the page.
    fn is_cached(&self, record: &Record) -> bool {
        let kept = !self.room.is_buffer && self.clock.dirty(record);
        record.touch != NEVER
            && !record.trimmed()
            && match self.device.cache.mode {
                CacheMode::Off => false,
                CacheMode::Read => record.read_last(),
                CacheMode::ReadWrite => record.read_last() || kept,
                CacheMode::Write => kept,
            }
    }

    /// The pages of the data cache, `leaving` of which may leave.
    pub(super) fn cached(&self, window: &Window, leaving: u64) -> Stack {
        let Some(lanes) = self.cache_lanes(window) else { return Stack::default() };
        // Neighbours were used by the same request, as a rule.
        let last: Cell<Option<(u32, f64)>> = Cell::new(None);
        let depth_of = |request: u32| match last.get() {
            Some((known, depth)) if known == request => depth,
            _ => {
                let of = |&(lane, weight)| weight * depth(&window.depths, request, lane);
                let depth = lanes.iter().map(of).sum();
                last.set(Some((request, depth)));
                depth
            }
        };
        let cache = Cache {
            capacity: self.room.cached,
            all: depth_of(0),
            leaving,
            named: &window.before,
            spare: self.spare,
            window,
        };
        let holds = |record: &Record| self.is_cached(record).then(|| depth_of(record.touch));
        let mut stack = Stack::of(cache, |_, record| (holds(record), u64::MAX));
        self.change(window, &lanes, &mut stack);
        stack
    }

    /// Makes as many of the pages that leave the cache changed ones as there are where they stand
    /// in its order. Which page is which decides nothing but its plane.
    fn change(&self, window: &Window, lanes: &Lanes, stack: &mut Stack) {
        if !stack.full || stack.drawn.is_empty() {
            return;
        }
        // Pages used later than some request, and how many of them were changed.
        let sum = |depth: &Depth, of: &[(usize, f64)]| {
            of.iter().map(|&(lane, weight)| weight * f64::from(depth.pages[lane])).sum::<f64>()
        };
        let written: Lanes =
            lanes.iter().copied().filter(|&(lane, _)| lane != Lane::Read as usize).collect();
        let back = self.changed_reads(window);
        let course: Vec<(f64, f64)> = (window.depths.iter())
            .map(|depth| {
                let (all, changed) = (sum(depth, lanes), sum(depth, &written));
                (all, changed + back * (all - changed))
            })
            .collect();
        // Where the last page stood, as a rule the next one stands, too.
        let near = Cell::new(1);
        let changed = |rank: f64| {
            if rank < course[near.get() - 1].0 || rank >= course[near.get()].0 {
                let after = course.partition_point(|point| point.0 <= rank);
                near.set(after.clamp(1, course.len() - 1));
            }
            let (low, high) = (course[near.get() - 1], course[near.get()]);
            let part = (rank - low.0) / (high.0 - low.0).max(1e-9);
            low.1 + part.min(1.0) * (high.1 - low.1)
        };
        let drawn: Pages = stack.drawn.iter().map(|drawn| drawn.0).collect();
        let mut pages: Vec<_> =
            stack.pages.iter_mut().filter(|page| drawn.contains(page.0)).collect();
        let (mut rest, mut last) = (0.0, None);
        // Neighbours were written together, and leave together.
        for together in pages.chunk_by_mut(|one, next| next.0 == one.0 + 1) {
            for (_, _, rank) in together.iter() {
                let here = changed(*rank);
                rest += last.map_or(0.0, |last: f64| last - here);
                last = Some(here);
            }
            let count = together.len() as f64;
            let is_changed = rest >= count / 2.0;
            for (_, record, _) in together {
                *record = if is_changed { record.as_changed() } else { record.as_clean() };
            }
            rest -= if is_changed { count } else { 0.0 };
        }
        let pages = stack.pages.iter().filter(|page| drawn.contains(page.0));
        stack.drawn = pages.map(|&(page, record, _)| (page, record)).collect();
    }

    /// The share of changed pages among those in the data cache that were read last.
    fn changed_reads(&self, window: &Window) -> f64 {
        let (mut all, mut changed) = (0, 0);
        for run in window.samples.iter().filter(|run| run.record.read_last()) {
            all += run.pages;
            changed += if self.is_dirty(window, &run.record) { run.pages } else { 0 };
        }
        if all == 0 { 0.0 } else { f64::from(changed) / f64::from(all) }
    }

    /// Whether flash holds older data than a page in the data cache. A page that was pushed out
    /// after its last write and came back by a read is clean.
    pub(super) fn is_dirty(&self, window: &Window, record: &Record) -> bool {
        let held = || {
            let lanes = self.cache_lanes(window).unwrap_or_default();
            let since = window.start.saturating_sub(record.gap());
            let used =
                lanes.iter().map(|&(lane, weight)| weight * depth(&window.depths, since, lane));
            used.sum::<f64>() < self.room.cached as f64
        };
        !self.room.is_buffer
            && self.device.cache.mode != CacheMode::Read
            && self.clock.dirty(record)
            && (!record.read_last() || held())
    }

    /// A page as the data cache holds it.
    pub(super) fn cached_page(&self, window: &Window, page: u64, record: &Record) -> CachedPage {
        CachedPage {
            lpn: Lpn(page),
            sectors: self.sectors_of(record.eighths),
            dirty: self.is_dirty(window, record),
            this_epoch: self.clock.this_epoch(record, window),
        }
    }

    /// The sectors of some eighths of a page.
    pub(super) fn sectors_of(&self, eighths: u8) -> u64 {
        let each = self.room.page_sectors / 8;
        let ones = (1_u64 << each) - 1;
        (0..8).filter(|bit| eighths >> bit & 1 == 1).map(|bit| ones << (bit * each)).sum()
    }
}
