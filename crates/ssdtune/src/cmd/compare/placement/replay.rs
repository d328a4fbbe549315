//! Functional replay: the FTL alone, without a clock of its own. The drive is filled once, the first half of the
//! writes is replayed, the second half is measured. Time is the trace's.
//!
//! The fill is no part of the workload, so policies do not learn from it.

use super::drive::Variation;
use super::load::{Load, WriteRequest};
use super::table::Learned;
use anyhow::Context as _;
use serde::Serialize;
use ssdtune_ftl::placement::{Foresight, Training};
use ssdtune_ftl::{Ftl, Places, TenantSpec};
use ssdtune_model::{DeviceConfig, Nanos};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a policy has made of the second half.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) write_amplification: f64,
    pub(crate) host_pages: u64,
    pub(crate) moved_pages: u64,
    pub(crate) erases: u64,
    /// Blocks moved for wear, whose pages are among the moved ones.
    pub(crate) exchanges: u64,
    /// Of the whole replay: erases of a block.
    pub(crate) wear: Wear,
    /// Full blocks at the end by their share of invalid pages, in fifths (Fig. 3).
    pub(crate) invalid_fifths: [u64; 5],
    pub(crate) frontiers: usize,
    pub(crate) memory_bytes: u64,
    /// Processor time of the replay is the machine's, not the result's.
    #[serde(skip)]
    pub(crate) seconds: f64,
    /// Of haml, the last training.
    pub(crate) learned: Option<Learned>,
    #[serde(skip)]
    pub(crate) training: Option<Training>,
}

/// How evenly blocks are worn.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Wear {
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Wear {
    fn of(histogram: &[(u32, u64)]) -> Self {
        let blocks: u64 = histogram.iter().map(|&(_, blocks)| blocks).sum();
        let average = |of: &dyn Fn(f64) -> f64| {
            let sum: f64 = histogram.iter().map(|&(n, blocks)| of(n.into()) * blocks as f64).sum();
            sum / blocks as f64
        };
        let mean = average(&|n| n);
        Self {
            least: histogram.first().map_or(0, |&(n, _)| n),
            most: histogram.last().map_or(0, |&(n, _)| n),
            mean,
            deviation: average(&|n| (n - mean).powi(2)).sqrt(),
        }
    }
}

/// Pages that are known before one is written: their lines are asked for meanwhile.
const AHEAD: usize = 24;
/// Pages between two looks at the clock and at the flag.
const STRIDE: u64 = 1 << 16;

/// What a replay is given besides the load.
pub(crate) struct Watch<'a> {
    pub(crate) stop: &'a AtomicBool,
    /// Share done, and requests since the last call.
    pub(crate) progress: &'a dyn Fn(f64, u64),
}

/// Serves the load; `None` if stopped.
pub(crate) fn replay(
    load: &Load,
    drive: &DeviceConfig,
    variation: &Variation,
    watch: &Watch<'_>,
) -> anyhow::Result<Option<Measured>> {
    let start = Instant::now();
    let config = variation.apply(drive, load).check().map_err(anyhow::Error::new)?;
    let spec = TenantSpec { places: Places::all(&config.geometry()), writer: false };
    let mut ftl = Ftl::new(&config, &[spec])?;
    anyhow::ensure!(
        ftl.tenant_pages(0) >= load.footprint_pages.into(),
        "{}: writes {} pages, the drive has {}",
        load.name,
        load.footprint_pages,
        ftl.tenant_pages(0)
    );
    let pages = ftl.tenant_pages(0);
    let total = pages + load.pages(0..load.writes.len());
    let mut replay = Replay { ftl: &mut ftl, watch, done: 0, total, ahead: VecDeque::new() };
    replay.ftl.set_learning(false);
    let fill = WriteRequest { at_ns: 0, page: 0, count: pages as u32, application: 0 };
    let mut whole = replay.serve(&[fill])?;
    replay.ftl.set_learning(true);
    if variation.oracle {
        let order: Vec<u32> =
            load.writes.iter().flat_map(|write| write.page..write.page + write.count).collect();
        replay.ftl.foresee(Foresight::new(pages, &order));
    }
    let (first, second) = load.writes.split_at(load.half());
    whole = whole && replay.serve(first)?;
    let before = erases(replay.ftl);
    replay.ftl.reset_counters();
    whole = whole && replay.serve(second)?;
    if !whole {
        return Ok(None);
    }
    let counters = *ftl.counters();
    let host_pages = load.pages(load.half()..load.writes.len());
    Ok(Some(Measured {
        write_amplification: 1.0 + counters.moved_pages as f64 / host_pages as f64,
        host_pages,
        moved_pages: counters.moved_pages,
        erases: erases(&ftl) - before,
        exchanges: counters.wear_collections,
        wear: Wear::of(&ftl.erase_histogram()),
        invalid_fifths: invalid_fifths(&mut ftl),
        frontiers: ftl.frontiers_per_plane(),
        memory_bytes: ftl.placement_bytes(),
        learned: ftl.last_training().map(Learned::of),
        training: ftl.last_training().cloned(),
        seconds: start.elapsed().as_secs_f64(),
    }))
}

fn erases(ftl: &Ftl) -> u64 {
    ftl.erase_histogram().iter().map(|&(erases, blocks)| u64::from(erases) * blocks).sum()
}

fn invalid_fifths(ftl: &mut Ftl) -> [u64; 5] {
    let mut fifths = [0; 5];
    let pages = ftl.geometry().pages_per_block;
    for plane in 0..ftl.geometry().planes() as u32 {
        for valid in ftl.valid_pages(ssdtune_model::PlaneId(plane)) {
            let invalid = f64::from(pages - valid) / f64::from(pages);
            fifths[((invalid * 5.0) as usize).min(4)] += 1;
        }
    }
    fifths
}

struct Replay<'a> {
    ftl: &'a mut Ftl,
    watch: &'a Watch<'a>,
    done: u64,
    total: u64,
    ahead: VecDeque<(u32, u64, u16)>,
}

impl Replay<'_> {
    /// Writes all pages of the requests; `false` if stopped.
    fn serve(&mut self, requests: &[WriteRequest]) -> anyhow::Result<bool> {
        for request in requests {
            for page in request.page..request.page + request.count {
                self.ftl.prefetch_directory(0, page.into());
                self.ahead.push_back((page, request.at_ns, request.application));
                self.expect();
                if self.ahead.len() > AHEAD && !self.next()? {
                    return Ok(false);
                }
            }
        }
        while !self.ahead.is_empty() {
            if !self.next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn expect(&self) {
        if let Some(at) = self.ahead.len().checked_sub(AHEAD / 3 + 1) {
            self.ftl.prefetch_entry(0, self.ahead[at].0.into());
        }
        if let Some(at) = self.ahead.len().checked_sub(2 * AHEAD / 3 + 1)
            && let Some(entry) = self.ftl.existing_entry(0, self.ahead[at].0.into())
        {
            self.ftl.prefetch_old_page(entry);
        }
    }

    fn next(&mut self) -> anyhow::Result<bool> {
        let Some((page, at_ns, application)) = self.ahead.pop_front() else { return Ok(true) };
        self.ftl.set_write_context(Nanos(at_ns), application);
        self.ftl.warm_up().write_whole(0, page.into()).context("the drive is too small")?;
        self.done += 1;
        if self.done.is_multiple_of(STRIDE) {
            (self.watch.progress)(self.done as f64 / self.total as f64, STRIDE);
            return Ok(!self.watch.stop.load(Ordering::Relaxed));
        }
        Ok(true)
    }
}
