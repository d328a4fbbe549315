//! Where pages lie on flash when a window begins.

use super::super::record::NEVER;
use super::super::{Mark, Run, Window};
use super::Restorer;
use super::clock::Clock;
use super::pages::by_page;
use super::shared::{Shared, Shares};
use ssdtune_model::Lpn;
use ssdtune_model::config::CacheMode;
use ssdtune_sim::PastPage;
use std::cell::Cell;

impl Restorer<'_> {
    /// Which counts of [`Mark::written`] tell what went to flash, with their weights.
    fn counts(&self, window: &Window) -> [(usize, f64); 2] {
        match (&self.clock, self.device.cache.mode) {
            (_, CacheMode::Off | CacheMode::Read) => [(Mark::ALL, 1.0), (Mark::ALL, 0.0)],
            _ if self.room.is_buffer => [(Mark::ALL, 1.0), (Mark::ALL, 0.0)],
            (Clock::Trace, _) => [(0, 1.0), (0, 0.0)],
            (Clock::Served(known), _) => Mark::counts(Clock::epoch_bits(known, window)),
        }
    }

    /// Where the pages lie that a window's run can touch.
    pub(super) fn pages(&self, window: &Window, used: &[Run]) -> (Vec<PastPage>, Vec<u64>) {
        let (marks, counts) = (&self.points.course.marks, self.counts(window));
        let filled_by_start = self.shared.as_ref().map_or(&self.layout.taken[..], Shared::filled);
        let written = flash_writes(marks, counts, window.start);
        let share = |request: u32| flash_writes(marks, counts, request) / written.max(1.0);
        let shares = match &self.shared {
            None => Shares::of_one(self.shares(window, written as u64)),
            Some(shared) => shared.shares(self.points, window, written as u64, share),
        };
        // Neighbours were written by the same request, as a rule.
        let last = Cell::new((window.start, written / written.max(1.0)));
        let added = |position: usize, request: u32| {
            if last.get().0 != request {
                last.set((request, share(request)));
            }
            shares.taken(position, last.get().1)
        };
        let mut taken: Vec<u64> = (filled_by_start.iter().enumerate())
            .map(|(position, filled)| filled + added(position, window.start))
            .collect();
        let (spare, finder) = (self.spare, self.layout.finder());
        let recent = window.recent.iter().map(|(_, run)| run);
        let known: Vec<Run> = recent.chain(&window.before).chain(used).copied().collect();
        let known = by_page(&known);
        let known = known.iter().filter(|run| !run.record.trimmed()).flat_map(|run| {
            let moved = run.first - spare.original(run.first);
            run.pages().map(move |page| (page, page - moved, &run.record))
        });
        let pages = known.filter_map(|(page, original, record)| {
            let filled = finder.find(original)?;
            let rewritten = record.write != NEVER;
            let filled = match &self.shared {
                Some(shared) => shared.place(page, filled, record)?,
                None => filled,
            };
            let at = filled.position as usize;
            let added = || filled_by_start[at] + added(at, record.write);
            let nth = if rewritten { added() } else { filled.nth };
            let (position, sectors) = (filled.position, filled.sectors);
            Some(PastPage { lpn: Lpn(page), position, nth, sectors })
        });
        let pages: Vec<PastPage> = pages.collect();
        self.shared.iter().for_each(|shared| shared.count_reads(&pages, &mut taken));
        let mut pages = by_plane(&pages);
        keep_apart(&mut pages, &taken);
        (pages, taken)
    }

    /// How many of the pages that were written to flash each plane has taken. Some of the writes
    /// stand for all: planes that are written together have taken equally many, and others have
    /// drifted apart.
    fn shares(&self, window: &Window, written: u64) -> Vec<u64> {
        let planes = self.layout.taken.len();
        let even = written / planes as u64;
        let writes = &self.points.course.writes;
        let before = writes.partition_point(|wrote| wrote.request < window.start);
        if before == 0 {
            return vec![even; planes];
        }
        // Pages of all planes, and where more of them begin and end.
        let (mut all, mut change, mut pages) = (0, vec![0_i64; planes + 1], 0);
        for wrote in &writes[..before] {
            let count = u64::from(wrote.pages);
            let (from, rest) = ((wrote.first % planes as u64) as usize, count % planes as u64);
            let to = from + rest as usize;
            all += (count / planes as u64) as i64;
            pages += count;
            change[from] += 1;
            if to < planes {
                change[to] -= 1;
            } else {
                change[planes] -= 1;
                change[0] += 1;
                change[to - planes] -= 1;
            }
        }
        let each = written as f64 / pages.max(1) as f64;
        let shares = change[..planes].iter().map(|&change| {
            all += change;
            (all as f64 * each) as u64
        });
        shares.collect()
    }
}

/// Two pages of a plane have two numbers: the later one keeps its own.
fn keep_apart(pages: &mut Vec<PastPage>, taken: &[u64]) {
    let mut last = (u32::MAX, 0);
    pages.retain_mut(|page| {
        let limit = if last.0 == page.position { last.1 } else { taken[page.position as usize] };
        page.nth = page.nth.min(limit.saturating_sub(1));
        last = (page.position, page.nth);
        limit > 0
    });
}

/// Pages of each plane together, what was written last first, and of that the first page. They come
/// in the order of pages.
fn by_plane(pages: &[PastPage]) -> Vec<PastPage> {
    let key = |(page, at): (&PastPage, u32)| {
        u128::from(page.position) << 96 | u128::from(!page.nth) << 32 | u128::from(at)
    };
    let mut order: Vec<u128> = pages.iter().zip(0..).map(key).collect();
    order.sort_unstable();
    order.iter().map(|&key| pages[key as u32 as usize]).collect()
}

/// Pages written to flash up to a request.
fn flash_writes(marks: &[Mark], counts: [(usize, f64); 2], request: u32) -> f64 {
    let after = marks.partition_point(|mark| mark.request <= request);
    let (early, late) = (&marks[after.max(1) - 1], &marks[after.min(marks.len() - 1)]);
    let of =
        |mark: &Mark| counts.iter().map(|&(nth, weight)| weight * mark.written[nth] as f64).sum();
    let (early_pages, late_pages): (f64, f64) = (of(early), of(late));
    let span = f64::from((late.request - early.request).max(1));
    let part = f64::from(request.saturating_sub(early.request)) / span;
    early_pages + part.min(1.0) * (late_pages - early_pages)
}
