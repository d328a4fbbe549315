//! A drive as it stands before a window, defined from what the window knows.
//!
//! | part | what it defines |
//! |---|---|
//! | `placed` | where the pages lie on flash, and how far planes have written |
//! | `mapped` | the mapping cache, and translation pages that were written again |
//! | `cached` | the data cache |
//! | `send` | what is on its way to flash |
//!
//! Of a cache's pages two kinds are named: those that the window touches, and as many of those used
//! longest ago as may leave meanwhile. The others only take room. Cost: that of making an empty
//! drive, and some 100 ns for each page named.

mod cached;
mod clock;
mod mapped;
mod pages;
mod placed;
mod send;
mod shared;
mod stack;

pub use clock::{Clock, Timed};
pub use shared::SharedDrive;

use super::layout::{Layout, layout};
use super::record::Record;
use super::spaces::Spaces;
use super::{LivePoints, LivePointsError, Run, Window};
use crate::error::{PrepareError, SourceError};
use crate::preparation::{Preparation, Start};
use crate::prepare::{Blank, FallibleRequests, Upcoming};
use pages::{Pages, runs};
use shared::Shared;
use ssdtune_model::{CheckedConfig, Lpn, Nanos, Sectors};
use ssdtune_sim::{CachedPage, Observe, Past, PastRoom, Simulator, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use stack::{SHIFT, Spare};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// A sum of lanes with weights.
type Lanes = Vec<(usize, f64)>;

/// Makes drives that begin at windows.
pub struct Restorer<'a> {
    points: &'a LivePoints,
    device: &'a CheckedConfig,
    preparation: Preparation,
    clock: Clock,
    room: PastRoom,
    entries: u64,
    layout: Layout,
    spare: Spare,
    /// The tenants that share the drive, if any do.
    shared: Option<Shared<'a>>,
    /// Drives as they are before any window, by what they keep for their caller.
    prepared: Mutex<Vec<(Observe, Arc<Simulator>)>>,
}

impl<'a> Restorer<'a> {
    /// Restores windows on a drive that was prepared in this way.
    ///
    /// # Errors
    /// The drive cannot be made, or cannot hold the trace.
    pub fn new(
        points: &'a LivePoints,
        windows: impl Iterator<Item = &'a Window>,
        device: &'a CheckedConfig,
        preparation: Preparation,
        clock: Clock,
    ) -> Result<Self, LivePointsError> {
        Self::of(points, windows, device, preparation, clock, None)
    }

    /// Restores windows of a mix on a drive that tenants share, in open replay.
    ///
    /// # Errors
    /// As of [`Restorer::new`], and where the drive's caches are divided or it begins otherwise
    /// than empty or with what the mix touches.
    pub fn shared(
        points: &'a LivePoints,
        windows: impl Iterator<Item = &'a Window>,
        device: &'a CheckedConfig,
        start: Start,
        tenants: SharedDrive<'a>,
    ) -> Result<Self, LivePointsError> {
        let preparation = Preparation { start, ..Preparation::default() };
        Self::of(points, windows, device, preparation, Clock::Trace, Some(tenants))
    }

    fn of(
        points: &'a LivePoints,
        windows: impl Iterator<Item = &'a Window>,
        device: &'a CheckedConfig,
        preparation: Preparation,
        clock: Clock,
        tenants: Option<SharedDrive<'a>>,
    ) -> Result<Self, LivePointsError> {
        let (theirs, ours) = (points.options.page_bytes, device.geometry().page_bytes);
        if theirs != ours {
            return Err(LivePointsError::OtherPage { theirs, ours });
        }
        let spaces = tenants.map_or(Spaces::SOLE, |tenants| tenants.spaces);
        let sharers = vec![Tenant::sole(device); spaces.tenants()];
        let mut blank = Simulator::new(device, &sharers, Observe::default())?;
        let room = blank.past_room(TenantId(0));
        let grains = u64::from(theirs) / 4096;
        let last = match tenants {
            None => points.footprint.max().unwrap_or(0) / grains,
            Some(_) => {
                let pages = points.footprint.iter().map(|grain| spaces.within(grain / grains));
                pages.max().unwrap_or(0)
            }
        };
        if last >= room.pages {
            return Err(LivePointsError::TooSmall { last, pages: room.pages });
        }
        let runs = windows.flat_map(|window| {
            let recent = window.recent.iter().map(|(_, run)| run);
            window.before.iter().chain(&window.samples).chain(recent)
        });
        let layout = layout(points, runs, &room);
        let entries = room.mappings_per_page.max(1);
        let span = (last + 1).next_multiple_of(entries) + SHIFT.next_multiple_of(entries);
        let spare = Spare { span, pages: room.pages, spaces };
        let start = &preparation.start;
        let shared = tenants.map(|tenants| Shared::new(tenants, points, &mut blank, start));
        let shared = shared.transpose()?;
        let prepared = Mutex::default();
        Ok(Self {
            points,
            device,
            preparation,
            clock,
            room,
            entries,
            layout,
            spare,
            shared,
            prepared,
        })
    }

    /// The drive.
    pub fn device(&self) -> &CheckedConfig {
        self.device
    }

    /// Goes by another clock.
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// A drive as it stands before a window.
    ///
    /// # Errors
    /// It has no room for the data.
    pub fn drive(&self, window: &Window, observe: Observe) -> Result<Simulator, PrepareError> {
        let Restored { past, ranks, pushed_out } = self.past(window);
        let mut drive = Simulator::clone(&*self.prepared(observe)?);
        match &self.shared {
            None => drive.set_past(TenantId(0), &past)?,
            Some(shared) => shared.give(&mut drive, window, &past)?,
        }
        let settled = drive.cached_pages(TenantId(0));
        self.send(window, &pushed_out, &mut drive);
        if let Some(ranks) = ranks {
            // What is on its way has taken the place of what was used longest ago.
            let coming = drive.cached_pages(TenantId(0)).saturating_sub(settled);
            let free = self.free(window).max(coming);
            let most = self.room.cached.saturating_sub(free) as f64;
            let forget = ranks.iter().filter(|&&rank| rank >= most).count();
            drive.fill_cache(TenantId(0), forget as u64, free - coming);
        }
        Ok(drive)
    }

    /// The drive as it is before any window. It is made once and copied for each.
    fn prepared(&self, observe: Observe) -> Result<Arc<Simulator>, PrepareError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, drive)) = prepared.iter().find(|(own, _)| *own == observe) {
            return Ok(Arc::clone(drive));
        }
        let tenants = vec![Tenant::sole(self.device); self.spare.spaces.tenants()];
        let stop = AtomicBool::new(false);
        let drive = Arc::new(match self.preparation.start {
            Start::Footprint => Simulator::new(self.device, &tenants, observe)?,
            _ => Blank::new(self.device, &tenants, observe).prepare(
                &self.preparation,
                self.points,
                &stop,
            )?,
        });
        prepared.push((observe, Arc::clone(&drive)));
        Ok(drive)
    }

    /// What a window's drive has been through.
    fn past(&self, window: &Window) -> Restored {
        let accesses = self.accesses(window);
        let is_filled = self.preparation.start == Start::Footprint;
        let coming: u64 = window.recent.iter().map(|(_, run)| u64::from(run.pages)).sum();
        let stack = self.cached(window, accesses + coming);
        let ranks = stack.full.then(|| stack.pages.iter().map(|page| page.2).collect());
        let other_cached = match stack.full {
            true => stack.others.saturating_sub(coming),
            false => stack.others,
        };
        let mut cached: Vec<CachedPage> = Vec::with_capacity(stack.pages.len());
        for alike in stack.pages.chunk_by(|one, next| one.1 == next.1) {
            let any = self.cached_page(window, alike[0].0, &alike[0].1);
            cached.extend(alike.iter().map(|page| CachedPage { lpn: Lpn(page.0), ..any }));
        }
        let pushed_out = self.pushed_out(window, &stack);
        let mut used = runs(stack.drawn);
        let gone = pushed_out.iter().map(|&(_, page, _)| (page, Record::NONE));
        let leaving = [used.clone(), runs(gone)].concat();
        let (mappings, other_mappings, more) = self.mappings(window, &leaving, accesses);
        used.extend(runs(more));
        let held: Pages = cached.iter().map(|page| page.lpn.0).collect();
        let written = window.before.iter().filter(|run| self.clock.this_epoch(&run.record, window));
        let written =
            written.flat_map(|run| held.others(*run)).flat_map(|run| run.pages()).map(Lpn);
        let (pages, taken) = match is_filled || self.shared.is_some() {
            true => self.pages(window, &used),
            false => Default::default(),
        };
        let own = window.before.iter().flat_map(Run::pages).map(Lpn);
        let looked_up = mappings.iter().map(|mapping| mapping.lpn).chain(own);
        let overflows = self.room.mappings.is_some_and(|most| self.layout.total > most.into());
        let rewrites = match is_filled && overflows {
            true => self.rewrites(window, looked_up),
            false => Vec::new(),
        };
        let past = Past {
            rewrites,
            pages,
            taken,
            mappings,
            other_mappings: if is_filled { other_mappings } else { 0 },
            cached,
            other_cached,
            written: written.collect(),
            epoch_ends: match self.clock {
                Clock::Trace => self.clock.ends(window),
                Clock::Served(_) => self.clock.ends(window) + self.reach(),
            },
        };
        Restored { past, ranks, pushed_out }
    }

    /// Accesses to pages in a window.
    fn accesses(&self, window: &Window) -> u64 {
        let page = u64::from(self.room.page_sectors);
        let pages = |request: &Request| match request.sectors {
            0 => 0,
            _ => (request.end().0 - 1) / page - request.lba.0 / page + 1,
        };
        window.requests.iter().map(pages).sum()
    }
}

/// What a drive is given before a window.
struct Restored {
    past: Past,
    /// If the data cache is full: how many pages it would hold that were used later than each of
    /// those named, the largest number first.
    ranks: Option<Vec<f64>>,
    /// Pages that left it of late: how long ago, which, and their sectors.
    pushed_out: Vec<(f64, u64, u64)>,
}

/// Pieces of 4 KiB in a request that stands for what a trace touches: 1 MiB.
const WRITE_GRAINS: u64 = 256;

/// What the trace touches, as requests: for starts that look at it.
impl Upcoming for LivePoints {
    fn open<'a>(&'a self, _: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        let writes = self.touched().flat_map(|grains| {
            let pieces = grains.clone().step_by(WRITE_GRAINS as usize);
            pieces.map(move |first| (first, (grains.end - first).min(WRITE_GRAINS)))
        });
        Ok(Box::new(writes.map(|(first, count)| {
            let (at, lba, tenant) = (Nanos::ZERO, Sectors(first * 8), TenantId(0));
            Ok(Request { at, lba, sectors: 8 * count as u32, tenant, op: Op::Write })
        })))
    }
}
