//! The pass over the trace: it advances what is known of every page and keeps windows.
//!
//! How long the trace is shows only at its end. So it is divided into strata of equal length with
//! one window in each, at a place drawn by the seed; when there are too many windows, strata are
//! joined in pairs, and of each pair the seed says which window stays.

use super::course::Recorder;
use super::fingerprint::Fingerprint;
use super::log::{Log, Span};
use super::recency::Recency;
use super::record::{NEVER, Record, Records};
use super::{
    About, Epoch, LivePoints, LivePointsError, RECENT_PAGES, Run, SAMPLE_PAGES, SampleOptions,
    Window,
};
use roaring::RoaringTreemap;
use ssdtune_model::{Nanos, scramble};
use ssdtune_trace::{Op, Request, Source, TenantId};
use std::collections::VecDeque;

/// An epoch of cached writes, as the simulator's data cache has it.
const EPOCH: Nanos = Nanos(1_000_000_000);
/// Pages of 4 KiB, in which the start fills a drive.
const GRAIN_SECTORS: u64 = 8;
/// The youngest age at which earlier requests are kept for what leaves a cache.
const YOUNGEST: u32 = 64;
/// Pages of 4 KiB that are noted one by one.
const FEW_GRAINS: u64 = 16;
/// Requests between two steps of looking ahead.
const AHEAD: usize = 6;
/// Requests after which the memory is looked at again.
const MEMORY_EVERY: u32 = 1_024;
/// Sectors of a request from which on it is looked at before it.
const LARGE: u32 = 1 << 17;
/// Latest writes that are kept, for what is on its way to flash when a window begins.
const RECENT: usize = 2_048;

/// A pass over a trace.
pub struct Sampler {
    options: SampleOptions,
    trace: String,
    page_sectors: u64,
    records: Records,
    recency: Recency,
    log: Log,
    footprint: RoaringTreemap,
    /// The latest writes: request, time, first page and pages.
    recent: VecDeque<(u32, Nanos, Span)>,
    windows: Vec<Window>,
    /// The window that is being filled.
    open: Option<Window>,
    /// Length of a stratum.
    stride: u32,
    /// Where the window of the present stratum begins.
    next: u32,
    /// Requests so far.
    now: u32,
    epoch: Epoch,
    course: Recorder,
    fingerprint: Fingerprint,
    /// The times of the first request and of the last.
    times: Option<(Nanos, Nanos)>,
}

impl Sampler {
    /// A pass that has seen nothing.
    ///
    /// # Errors
    /// The options ask for windows that cannot be.
    pub fn new(options: SampleOptions) -> Result<Self, LivePointsError> {
        options.check()?;
        let page_sectors = u64::from(options.page_bytes) / 512;
        let mut sampler = Self {
            options,
            trace: String::new(),
            page_sectors,
            records: Records::default(),
            recency: Recency::default(),
            log: Log::default(),
            footprint: RoaringTreemap::new(),
            recent: VecDeque::new(),
            windows: Vec::new(),
            open: None,
            stride: options.length(),
            next: 0,
            now: 0,
            epoch: Epoch { first: 0, ends: Nanos::ZERO },
            course: Recorder::default(),
            fingerprint: Fingerprint::default(),
            times: None,
        };
        sampler.plan();
        Ok(sampler)
    }

    /// Notes what the user calls the trace.
    pub fn named(mut self, trace: impl Into<String>) -> Self {
        self.trace = trace.into();
        self
    }

    /// Decides where the next window begins.
    fn plan(&mut self) {
        // Two windows stay at least.
        if self.windows.len() == (self.options.windows & !1).max(4) {
            let seed = self.options.seed;
            let mut nth = 0_u64;
            self.windows.retain(|_| {
                let pair = scramble(seed ^ (nth / 2).rotate_left(32));
                nth += 1;
                pair & 1 == (nth - 1) & 1
            });
            self.stride *= 2;
        }
        let stratum = self.windows.len() as u64;
        let room = u64::from(self.stride - self.options.length()) + 1;
        let offset = scramble(self.options.seed.wrapping_add(0x9e37 * stratum)) % room;
        self.next = (stratum * u64::from(self.stride) + offset).min(u32::MAX.into()) as u32;
    }

    /// Takes all requests of a source.
    ///
    /// # Errors
    /// It cannot be read on, or as [`Sampler::push`].
    pub fn push_all(&mut self, source: &mut dyn Source) -> Result<(), LivePointsError> {
        let mut batch = Vec::new();
        while source.fill(&mut batch)? > 0 {
            self.push_batch(&batch)?;
            batch.clear();
        }
        Ok(())
    }

    /// Takes the next requests.
    ///
    /// # Errors
    /// As [`Sampler::push`].
    pub fn push_batch(&mut self, batch: &[Request]) -> Result<(), LivePointsError> {
        for (nth, request) in batch.iter().enumerate() {
            self.look_ahead(batch, nth);
            self.push(request)?;
        }
        Ok(())
    }

    /// Asks for what the next requests will change: first what leads to the records of pages, then
    /// these, then where the pages are counted.
    #[inline]
    fn look_ahead(&self, batch: &[Request], nth: usize) {
        let page = |ahead: usize| {
            let request = batch.get(nth + ahead).filter(|request| request.sectors > 0)?;
            let last = (request.end().0 - 1) / self.page_sectors;
            Some((request.lba.0 / self.page_sectors, last))
        };
        if let Some((first, last)) = page(3 * AHEAD) {
            self.records.prefetch_slot(first);
            if last != first {
                self.records.prefetch_slot(last);
            }
        }
        if let Some((first, last)) = page(2 * AHEAD) {
            self.records.prefetch(first);
            if last != first {
                self.records.prefetch(last);
            }
        }
        if let Some((first, _)) = page(AHEAD)
            && let Some(record) = self.records.find(first)
        {
            self.recency.prefetch(record);
        }
    }

    /// Takes the next request.
    ///
    /// # Errors
    /// The trace is longer than 2^32 requests, is one of several devices, or its pages need more
    /// memory than there may be.
    pub fn push(&mut self, request: &Request) -> Result<(), LivePointsError> {
        if self.now == NEVER {
            return Err(LivePointsError::TooLong);
        }
        if request.tenant != TenantId(0) {
            return Err(LivePointsError::Devices);
        }
        if self.now.is_multiple_of(MEMORY_EVERY) || request.sectors >= LARGE {
            self.check_memory(request)?;
        }
        self.fingerprint.push(request);
        self.times = Some((self.times.map_or(request.at, |(first, _)| first), request.at));
        if self.now == self.next && self.open.is_none() {
            self.begin_window();
        }
        self.course.come(self.now);
        if request.op == Op::Write && request.at > self.epoch.ends {
            self.epoch = Epoch { first: self.now, ends: request.at + EPOCH };
        }
        match request.sectors {
            0 => self.log.push(self.now, Span { first: 0, pages: 0 }),
            _ => self.touch(request),
        }
        self.now += 1;
        let length = self.options.length();
        if let Some(window) = &mut self.open {
            window.requests.push(*request);
            if window.requests.len() as u32 == length {
                self.windows.extend(self.open.take());
                self.plan();
            }
        }
        Ok(())
    }

    /// That there is memory for what a request touches.
    #[cold]
    fn check_memory(&self, request: &Request) -> Result<(), LivePointsError> {
        let more = match request.sectors >= LARGE {
            true => size_of::<Record>() as u64 * u64::from(request.sectors) / self.page_sectors,
            false => 0,
        };
        let (most, requests) = (self.options.memory_bytes, self.now.into());
        match self.records.memory_bytes().max(more) > most {
            true => Err(LivePointsError::Memory { most, requests }),
            false => Ok(()),
        }
    }

    /// Notes what a request does with each of its pages.
    #[inline]
    fn touch(&mut self, request: &Request) {
        let page = self.page_sectors;
        let (first, end) = (request.lba.0, request.end().0);
        let (from, to) = (first / page, (end - 1) / page);
        let span = Span { first: from, pages: (to - from + 1) as u32 };
        self.log.push(self.now, span);
        if request.op == Op::Write {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back((self.now, request.at, span));
            self.course.write(self.now, span);
        }
        let grains = first / GRAIN_SECTORS..end.div_ceil(GRAIN_SECTORS);
        let mut is_new = false;
        for at in from..=to {
            let start = at * page;
            let (low, high) = (first.max(start) - start, end.min(start + page) - start);
            let eighths = eighths(low, high, page);
            let record = self.records.of(at);
            let before = *record;
            let after = match request.op {
                Op::Read => before.after_read(self.now, eighths),
                Op::Write => before.after_write(self.now, eighths, self.epoch.first),
                Op::Trim if high - low == page && before.touch != NEVER => before.after_trim(),
                Op::Trim | Op::Flush => continue,
            };
            *record = after;
            is_new |= before.eighths != after.eighths;
            self.recency.moved(&before, &after);
            if let Some(window) = &mut self.open
                && (before.touch == NEVER || before.touch < window.start)
            {
                push_run(&mut window.before, at, before);
            }
            if request.op == Op::Write {
                self.course.count(&before, &after);
            }
        }
        match is_new {
            false => {}
            // A range counts all bits before it, which takes longer than a few bits.
            true if grains.end - grains.start <= FEW_GRAINS => {
                grains.for_each(|grain| _ = self.footprint.insert(grain));
            }
            true => _ = self.footprint.insert_range(grains),
        }
    }

    /// Keeps what a window needs of the past.
    #[cold]
    fn begin_window(&mut self) {
        let now = self.now;
        let mut samples = Vec::new();
        let clumps = self.log.ladder(now, YOUNGEST);
        let spans = clumps.iter().rev().flat_map(|(first, spans)| (*first..).zip(spans));
        let spans: Vec<(u32, &Span)> = spans.collect();
        let mut left = SAMPLE_PAGES;
        for (nth, &(request, span)) in spans.iter().enumerate() {
            let page = |ahead: usize| spans.get(nth + ahead).map(|(_, span)| span.first);
            page(2 * AHEAD).into_iter().for_each(|page| self.records.prefetch_slot(page));
            page(AHEAD).into_iter().for_each(|page| self.records.prefetch(page));
            if left < u64::from(span.pages) {
                break;
            }
            left -= u64::from(span.pages);
            for page in span.first..span.first + u64::from(span.pages) {
                let record = *self.records.of(page);
                if record.touch == request {
                    push_run(&mut samples, page, record);
                }
            }
        }
        let recent = self.recent_writes();
        self.open = Some(Window {
            start: now,
            warm_up: self.options.warm_up,
            recent,
            requests: Vec::with_capacity(self.options.length() as usize),
            before: Vec::new(),
            samples,
            depths: self.recency.depths(now),
            epoch: self.epoch,
        });
    }

    /// The latest writes of pages that were not written since, in their order.
    fn recent_writes(&mut self) -> Vec<(Nanos, Run)> {
        let (mut recent, mut left) = (Vec::new(), RECENT_PAGES);
        for (nth, &(request, at, span)) in self.recent.iter().rev().enumerate() {
            let page = |ahead: usize| {
                let before = self.recent.len().checked_sub(nth + ahead + 1);
                before.and_then(|at| self.recent.get(at)).map(|(_, _, span)| span.first)
            };
            page(2 * AHEAD).into_iter().for_each(|page| self.records.prefetch_slot(page));
            page(AHEAD).into_iter().for_each(|page| self.records.prefetch(page));
            if left < span.pages {
                break;
            }
            left -= span.pages;
            let mut runs = Vec::new();
            for page in span.first..span.first + u64::from(span.pages) {
                let record = *self.records.of(page);
                if record.write == request {
                    push_run(&mut runs, page, record);
                }
            }
            recent.extend(runs.into_iter().rev().map(|run| (at, run)));
        }
        recent.reverse();
        recent
    }

    /// The live-points of the trace that has ended here.
    ///
    /// # Errors
    /// The trace is too short for two windows.
    pub fn finish(mut self) -> Result<LivePoints, LivePointsError> {
        if self.windows.len() < 2 {
            let (requests, least) = (self.now.into(), 2 * u64::from(self.options.length()));
            return Err(LivePointsError::TooShort { requests, least });
        }
        self.windows.truncate(self.options.windows);
        self.footprint.optimize();
        let (first, last) = self.times.unwrap_or_default();
        let fingerprint = self.fingerprint.finish();
        Ok(LivePoints {
            about: About { trace: self.trace, fingerprint, first, last },
            options: self.options,
            requests: self.now.into(),
            windows: self.windows,
            footprint: self.footprint,
            course: self.course.finish(self.now),
        })
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.now.into()
    }

    /// Heap memory of the records of pages, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.records.memory_bytes()
    }
}

/// Eighths of a page that hold a range of its sectors.
#[inline]
fn eighths(low: u64, high: u64, page: u64) -> u8 {
    let each = page / 8;
    let (from, to) = (low / each, high.div_ceil(each));
    ((0xff_u32 >> (8 - (to - from))) << from) as u8
}

/// Adds a page to runs of pages with equal records.
fn push_run(runs: &mut Vec<Run>, page: u64, record: Record) {
    match runs.last_mut() {
        Some(run) if run.first + u64::from(run.pages) == page && run.record == record => {
            run.pages += 1;
        }
        _ => runs.push(Run { first: page, pages: 1, record }),
    }
}
