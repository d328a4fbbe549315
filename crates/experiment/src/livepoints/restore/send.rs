//! What is on its way to flash when a window begins.
//!
//! Programs take milliseconds, in which a drive serves thousands of requests. So a window does not
//! warm up by its own requests alone: the latest writes are sent once more, at their own times,
//! without the requests that they came with.

use super::super::Window;
use super::super::recency::Depth;
use super::Restorer;
use super::clock::Clock;
use super::stack::Stack;
use ssdtune_model::Nanos;
use ssdtune_model::config::CacheMode;
use ssdtune_sim::Simulator;
use std::collections::VecDeque;

/// Pages that were pushed out of late, at most.
const PUSHED_OUT: f64 = 4_096.0;
/// Programs of the slowest page that a write may be on its way, queues included.
const REACH: u64 = 8;

impl Restorer<'_> {
    /// How long before a window the writes began that may still be on their way.
    pub(super) fn reach(&self) -> Nanos {
        Nanos(self.slowest_program().0 * REACH)
    }

    fn slowest_program(&self) -> Nanos {
        let flash = &self.device.flash;
        flash.technology.longest(&flash.program_latency)
    }

    /// Sends what was written last on its way to flash, and lets the drive come to the time at
    /// which the window begins.
    pub(super) fn send(
        &self,
        window: &Window,
        pushed_out: &[(f64, u64, u64)],
        drive: &mut Simulator,
    ) {
        let reach = self.reach();
        let first = window.requests.first().map_or(Nanos::ZERO, |request| request.at);
        let begins = match self.clock {
            Clock::Trace => first,
            Clock::Served(_) => reach,
        };
        // Pages with the time since their writes began, their sectors, and whether they left.
        let mut sent: Vec<(f64, u64, u64, bool)> = Vec::new();
        if self.cache_lanes(window).is_some() || self.device.cache.mode == CacheMode::Write {
            for (at, run) in &window.recent {
                let is_kept = !self.room.is_buffer && self.clock.dirty(&run.record);
                if !is_kept {
                    let ago = self.ago(window, first, *at, run.record.write);
                    let sectors = self.sectors_of(run.record.eighths);
                    sent.extend(run.pages().map(|page| (ago, page, sectors, false)));
                }
            }
        }
        sent.extend(pushed_out.iter().map(|&(ago, page, sectors)| (ago, page, sectors, true)));
        sent.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (ago, page, sectors, is_out) in sent {
            if ago <= reach.0 as f64 && ago <= begins.0 as f64 {
                drive.run_until(begins - Nanos(ago as u64));
                let (tenant, lpn) = self.spare.spaces.place(page);
                drive.write_back(tenant, lpn, sectors, is_out);
            }
        }
        if begins > drive.now() {
            drive.run_until(begins);
        }
    }

    /// Room in a full data cache: pages on their way to flash have pushed others out when they were
    /// many, and left their room behind. It is filled again by what stays.
    pub(super) fn free(&self, window: &Window) -> u64 {
        let first = window.requests.first().map_or(Nanos::ZERO, |request| request.at);
        let together = self.slowest_program().0 as f64;
        let each = self.leaving(window);
        let mut free: f64 = 0.0;
        let mut busy: VecDeque<(f64, u32)> = VecDeque::new();
        let mut pages = 0;
        for (at, run) in &window.recent {
            if !self.room.is_buffer && self.clock.dirty(&run.record) {
                continue;
            }
            let ago = self.ago(window, first, *at, run.record.write);
            busy.push_back((ago, run.pages));
            pages += run.pages;
            while let Some(&(other, gone)) = busy.front().filter(|front| front.0 > ago + together) {
                debug_assert!(other > ago);
                pages -= gone;
                busy.pop_front();
            }
            let most = u64::from(pages).min(self.room.on_the_way) as f64;
            free = free.max(most - each * f64::from(window.start - run.record.write));
        }
        free as u64
    }

    /// Pages that leave a full data cache with each request: as many as were used last at the age
    /// at which pages leave.
    fn leaving(&self, window: &Window) -> f64 {
        let Some(lanes) = self.cache_lanes(window) else { return 0.0 };
        let value = |depth: &Depth| {
            lanes.iter().map(|&(lane, weight)| weight * f64::from(depth.pages[lane])).sum::<f64>()
        };
        let size = self.room.cached as f64;
        let beyond = window.depths.partition_point(|depth| value(depth) < size);
        let late = &window.depths[beyond.saturating_sub(3)];
        let early = &window.depths[(beyond + 2).min(window.depths.len() - 1)];
        let span = f64::from((late.since - early.since).max(1));
        (value(early) - value(late)) / span
    }

    /// Nanoseconds from a request to the window.
    fn ago(&self, window: &Window, first: Nanos, at: Nanos, request: u32) -> f64 {
        match &self.clock {
            Clock::Trace => first.0.saturating_sub(at.0) as f64,
            Clock::Served(known) => Clock::time(known, window.start) - Clock::time(known, request),
        }
    }

    /// Changed pages that a full cache has pushed out of late: how long ago, which, and their
    /// sectors. As many leave with each request as were used last at the age at which pages leave.
    pub(super) fn pushed_out(&self, window: &Window, stack: &Stack) -> Vec<(f64, u64, u64)> {
        if !stack.full || stack.drawn.is_empty() {
            return Vec::new();
        }
        let each = self.leaving(window);
        let per_request = match &self.clock {
            Clock::Trace => {
                let first = window.requests.first().map_or(0, |request| request.at.0);
                let last = window.requests.last().map_or(1, |request| request.at.0);
                (last - first) as f64 / window.requests.len() as f64
            }
            Clock::Served(known) => {
                let from = window.start.saturating_sub(2_000);
                let span = Clock::time(known, window.start) - Clock::time(known, from);
                span / f64::from((window.start - from).max(1))
            }
        };
        let reach = self.reach().0 as f64;
        let count = (each * reach / per_request.max(1.0)).min(PUSHED_OUT) as u64;
        let own = stack.drawn.len() as u64;
        (0..count)
            .filter_map(|nth| {
                let (page, record) = stack.drawn[(nth % own) as usize];
                let page = self.spare.last_copy(page, nth / own);
                let ago = (nth as f64 + 0.5) / count as f64 * reach;
                let is_there = self.spare.spaces.within(page) < self.room.pages;
                let is_written = self.is_dirty(window, &record) && is_there;
                is_written.then(|| (ago, page, self.sectors_of(record.eighths)))
            })
            .collect()
    }
}
