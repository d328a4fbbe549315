//! Where pages lie on flash when a window begins.

use super::super::record::{NEVER, Record};
use super::super::{Mark, Run, Window};
use super::Restorer;
use super::clock::{Clock, between};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{Lpn, scramble};
use ssdtune_sim::PastPage;
use std::cell::Cell;

/// How often the latest writes stand for those before them.
const TURNS: u64 = 8;

impl Restorer<'_> {
    /// Which counts of [`Mark::written`] tell what went to flash, with their weights.
    fn counts(&self, window: &Window) -> [(usize, f64); 2] {
        match (&self.clock, self.device.cache.mode) {
            (_, CacheMode::Off | CacheMode::Read) => [(5, 1.0), (5, 0.0)],
            _ if self.room.is_buffer => [(5, 1.0), (5, 0.0)],
            (Clock::Trace, _) => [(0, 1.0), (0, 0.0)],
            (Clock::Served(known), _) => {
                between(Clock::epoch_bits(known, window)).map(|(nth, weight)| (1 + nth, weight))
            }
        }
    }

    /// Where the pages lie that a window's run can touch.
    pub(super) fn pages(
        &self,
        window: &Window,
        used: &[(u64, Record)],
    ) -> (Vec<PastPage>, Vec<u64>) {
        let (marks, counts) = (&self.points.marks, self.counts(window));
        let planes = self.layout.taken.len();
        let written = flash_writes(marks, counts, window.start);
        let shares = self.shares(window, written as u64);
        // Neighbours were written by the same request, as a rule.
        let last = Cell::new((window.start, written / written.max(1.0)));
        let added = |position: usize, request: u32| {
            if last.get().0 != request {
                last.set((request, flash_writes(marks, counts, request) / written.max(1.0)));
            }
            (shares[position] as f64 * last.get().1) as u64
        };
        let taken: Vec<u64> = (self.layout.taken.iter().enumerate())
            .map(|(position, filled)| filled + added(position, window.start))
            .collect();
        let spare = self.spare;
        let recent = window.recent.iter().map(|(_, run)| run);
        let known = recent.chain(&window.before).flat_map(Run::records);
        let mut known: Vec<(u64, Record)> = known.chain(used.iter().copied()).collect();
        known.sort_by_key(|&(page, _)| page);
        known.dedup_by_key(|&mut (page, _)| page);
        let mut pages: Vec<PastPage> = known
            .iter()
            .filter(|(_, record)| !record.trimmed())
            .filter_map(|&(page, ref record)| {
                let filled = self.layout.find(spare.original(page))?;
                let rewritten = record.write != NEVER;
                let position = match rewritten && !self.room.is_static {
                    true => (scramble(page) % planes as u64) as u32,
                    false => filled.position,
                };
                let nth = match rewritten {
                    false => filled.nth,
                    true => {
                        self.layout.taken[position as usize]
                            + added(position as usize, record.write)
                    }
                };
                let sectors = filled.sectors;
                Some(PastPage { lpn: Lpn(page), position, nth, sectors })
            })
            .collect();
        // Two pages of a plane have two numbers: the later one keeps its own.
        pages.sort_unstable_by_key(|page| (page.position, std::cmp::Reverse(page.nth), page.lpn));
        let mut last = (u32::MAX, 0);
        pages.retain_mut(|page| {
            let limit =
                if last.0 == page.position { last.1 } else { taken[page.position as usize] };
            page.nth = page.nth.min(limit.saturating_sub(1));
            last = (page.position, page.nth);
            limit > 0
        });
        (pages, taken)
    }

    /// How many of the pages that were written to flash each plane has taken. The latest writes
    /// stand for all: planes that are written together have taken equally many, and others by luck.
    fn shares(&self, window: &Window, written: u64) -> Vec<u64> {
        let mut shares = vec![0_u64; self.layout.taken.len()];
        let planes = shares.len() as u64;
        let of_drive = |run: &&Run| self.room.is_buffer || !self.clock.dirty(&run.record);
        let runs: Vec<&Run> = window.recent.iter().map(|(_, run)| run).filter(of_drive).collect();
        let mut left = written;
        'turns: for turn in 0..TURNS {
            for (nth, run) in runs.iter().rev().enumerate() {
                // After the first turn a write comes again or not.
                if turn > 0 && scramble(turn << 32 | nth as u64) & 1 == 0 {
                    continue;
                }
                if left < u64::from(run.pages) {
                    break 'turns;
                }
                left -= u64::from(run.pages);
                run.pages().for_each(|page| shares[(page % planes) as usize] += 1);
            }
        }
        shares.iter_mut().for_each(|share| *share += left / planes);
        shares
    }
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
