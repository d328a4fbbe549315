//! What the mapping cache holds when a window begins, and where translation pages lie.
//!
//! A mapping stands in the cache by its last use, with one exception: when a translation page is
//! written back, all its changed mappings are refreshed and count as unchanged. In the long run a
//! translation page is written back each time its oldest change has become as old as the cache is
//! large; how much of that time has passed when the window begins is left to luck, once for each
//! translation page.

use super::super::layout::Finder;
use super::super::recency::{Lane, depth};
use super::super::record::{NEVER, Record};
use super::super::{Run, Window};
use super::Restorer;
use super::pages::{Pages, by_page, runs};
use super::stack::{Cache, Stack, ranked};
use crate::preparation::Start;
use ssdtune_model::{Lpn, scramble};
use ssdtune_sim::PastMapping;
use std::cell::Cell;

impl Restorer<'_> {
    /// The mappings of the mapping cache, the one used longest ago first, and how many it holds
    /// besides. `leaving` are pages that leave the data cache, of which `accesses` pages are used
    /// in the window. Last, pages that only leave the mapping cache.
    pub(super) fn mappings(
        &self,
        window: &Window,
        leaving: &[Run],
        accesses: u64,
    ) -> (Vec<PastMapping>, u64, Vec<(u64, Record)>) {
        let Some(capacity) = self.room.mappings else { return Default::default() };
        let ages = Ages::new(self, window, f64::from(capacity));
        let named = self.looked_up(window, &ages, leaving);
        let is_named: Pages = named.iter().map(Run::pages).collect();
        let cache = Cache {
            capacity: capacity.into(),
            all: ages.all,
            leaving: accesses,
            named: &named,
            spare: self.spare,
            window,
        };
        let stack = Stack::of(cache, |page, record| ages.places(page, record));
        let mapping = |&(page, record, place): &(u64, Record, f64)| {
            let older = match is_named.contains(page) {
                true => 1.0,
                // What stands for another page is as old as that would be.
                false => place / ages.place(page, &record).unwrap_or(place).max(1.0),
            };
            PastMapping { lpn: Lpn(page), dirty: ages.changed(page, &record, older) }
        };
        (stack.pages.iter().map(mapping).collect(), stack.others, stack.drawn)
    }

    /// Pages whose mappings may be asked for: those of the window, and those that are on their way
    /// to flash or leave the data cache for it. Of what was written of late the share that had to
    /// be looked up is that of the window's pages; those mappings are not in the cache.
    fn looked_up(&self, window: &Window, ages: &Ages<'_>, leaving: &[Run]) -> Vec<Run> {
        let touched: Pages = window.before.iter().map(Run::pages).collect();
        let (mut all, mut missed) = (0, 0);
        for run in &window.before {
            all += run.pages;
            ranked(*run, &|page, record| ages.places(page, record), |place, part| {
                missed += if place >= ages.size { part.pages } else { 0 };
            });
        }
        let missing = f64::from(missed) / f64::from(all.max(1));
        let is_here = |page: u64| scramble(page) as f64 / u64::MAX as f64 >= missing;
        let recent = window.recent.iter().flat_map(|(_, run)| run.records());
        let mut sent = runs(recent.filter(|&(page, _)| is_here(page)));
        sent.extend_from_slice(leaving);
        let sent = by_page(&sent);
        let sent = sent.iter().flat_map(|run| touched.others(*run));
        window.before.iter().copied().chain(sent).collect()
    }

    /// Where the mapping cache is too small for the trace, translation pages do not lie where a new
    /// drive has them: each was written back by the fill, and again whenever its changes had become
    /// as old as the cache is large.
    pub(super) fn rewrites(
        &self,
        window: &Window,
        pages: impl Iterator<Item = Lpn>,
    ) -> Vec<(Lpn, u32)> {
        let mut groups: Vec<u64> = pages.map(|lpn| lpn.0 / self.entries).collect();
        groups.sort_unstable();
        groups.dedup();
        let lane = Lane::Touched as usize;
        let Ages { seen, tau, .. } =
            Ages::new(self, window, f64::from(self.room.mappings.unwrap_or(u32::MAX)));
        let reached = window.depths.iter().find(|depth| f64::from(depth.pages[lane]) >= tau);
        let turns = match reached.filter(|depth| depth.since < window.start) {
            Some(depth) => f64::from(window.start) / f64::from(window.start - depth.since),
            None => seen / tau,
        };
        let times = |group: u64| {
            let times = 1 + (turns + 1.0 - phase(group)) as u32;
            if times < 8 { times } else { 8 + times % 8 }
        };
        groups.iter().map(|&group| (Lpn(group * self.entries), times(group))).collect()
    }
}

/// How old mappings are, in pages used since.
struct Ages<'a> {
    restorer: &'a Restorer<'a>,
    window: &'a Window,
    finder: Finder<'a>,
    /// Mappings that the cache holds.
    size: f64,
    /// Mappings that it would hold if it were endless.
    all: f64,
    /// Pages that the trace has used before the window.
    seen: f64,
    /// The drive was filled with all that the trace touches.
    is_filled: bool,
    /// The share of pages that the trace has written, among those that the cache holds.
    written: f64,
    /// What was found last for the last use and for the last write of a page.
    found: [Cell<(u32, f64)>; 2],
    /// The first page of the last translation page, and the age of its last write-back.
    back: Cell<(u64, f64)>,
    /// The age at which a mapping leaves the cache that nothing refreshes: a write-back refreshes
    /// all changed mappings of its translation page, so these stay up to twice as long, and the
    /// others less long.
    tau: f64,
}

impl<'a> Ages<'a> {
    fn new(restorer: &'a Restorer<'a>, window: &'a Window, size: f64) -> Self {
        let is_filled = restorer.preparation.start == Start::Footprint;
        let lane = |lane: Lane| depth(&window.depths, 0, lane as usize);
        let (seen, read) = (lane(Lane::Touched), lane(Lane::Read));
        let all = if is_filled { restorer.layout.total as f64 } else { seen };
        let written = match all <= size {
            true => 0.0,
            // What the fill has written it has written back, and nothing is written back before it
            // has become old.
            false => (1.0 - read / seen.max(1.0)) * ((seen - size) / size).clamp(0.0, 1.0),
        };
        let tau = if all <= size { f64::INFINITY } else { size / (1.0 + 0.5 * written) };
        let found = [const { Cell::new((NEVER, 0.0)) }; 2];
        let finder = restorer.layout.finder();
        let back = Cell::new((0, phase(0) * tau));
        Self { restorer, window, finder, size, all, seen, is_filled, written, found, back, tau }
    }

    /// Pages used after a request, or after the fill has written this page.
    fn since(&self, page: u64, request: u32) -> f64 {
        if request != NEVER {
            // Neighbours were used by the same request, as a rule.
            let [last, before] = &self.found;
            let known = [last, before].into_iter().find(|found| found.get().0 == request);
            return known.map_or_else(
                || {
                    let depth = depth(&self.window.depths, request, Lane::Touched as usize);
                    before.set(last.replace((request, depth)));
                    depth
                },
                |found| found.get().1,
            );
        }
        let original = self.restorer.spare.original(page);
        let before = self.finder.find(original).map_or(0, |filled| filled.rank + 1);
        let unseen = 1.0 - self.seen / self.all.max(1.0);
        self.seen + (self.restorer.layout.total - before) as f64 * unseen
    }

    fn is_known(&self, record: &Record) -> bool {
        self.is_filled || record.touch != NEVER
    }

    /// The age of the last write-back of the translation page that holds a page's mapping.
    fn write_back(&self, page: u64) -> f64 {
        let (entries, (first, age)) = (self.restorer.entries, self.back.get());
        // Neighbours have one translation page, as a rule.
        if page.wrapping_sub(first) < entries {
            return age;
        }
        let group = page / entries;
        let age = phase(group) * self.tau;
        self.back.set((group * entries, age));
        age
    }

    /// As [`Ages::place`], and up to which page it is so for those behind it in a run.
    fn places(&self, page: u64, record: &Record) -> (Option<f64>, u64) {
        let until = match (record.touch, record.write) {
            // The fill used one page after the other.
            (NEVER, _) => page + 1,
            (_, NEVER) => u64::MAX,
            // A write-back refreshes the changed mappings of its translation page.
            _ if self.all <= self.size => u64::MAX,
            _ => (page / self.restorer.entries + 1) * self.restorer.entries,
        };
        (self.place(page, record), until)
    }

    /// Mappings that an endless cache would hold and that were used or refreshed later.
    fn place(&self, page: u64, record: &Record) -> Option<f64> {
        let used = self.is_known(record).then(|| self.since(page, record.touch))?;
        if self.all <= self.size {
            return Some(used);
        }
        let (written, back) = (self.since(page, record.write), self.write_back(page));
        let refreshed = record.write != NEVER && back < written && written < back + self.tau;
        let age = if refreshed { used.min(back) } else { used };
        Some(age * (1.0 + 0.5 * self.written * age / self.tau))
    }

    /// Whether a mapping has changed since its translation page was written.
    fn changed(&self, page: u64, record: &Record, older: f64) -> bool {
        // A copy has changes of no translation page that is written back anyway.
        let is_copy = self.restorer.spare.is_copy(page);
        match record.write {
            _ if self.all <= self.size => self.is_filled || record.write != NEVER,
            NEVER => false,
            write => !is_copy && self.since(page, write) * older < self.write_back(page),
        }
    }
}

/// How much of the time between two write-backs of a translation page has passed: luck decides.
fn phase(group: u64) -> f64 {
    scramble(group) as f64 / u64::MAX as f64
}
