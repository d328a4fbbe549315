//! Functional replay: the translation layer alone serves the writes of a load, without simulated
//! time. The drive is filled once, the first half of the writes ages it, the second half is
//! measured. Time is what the load says. If asked, the load is replayed again and again until what
//! is measured settles; the last pass counts.
//!
//! Policies do not learn from the fill, which is no part of the load. Cost: about 0.1 us for each
//! page, with the drive's page table and blocks in memory.

use crate::candidate::Candidate;
use crate::error::PlacementError;
use crate::load::{Load, WriteRequest};
use crate::training::TrainingFigures;
use serde::Serialize;
use ssdtune_ftl::placement::{Foresight, Reference, Shape, Training};
use ssdtune_ftl::{Ftl, Places, TenantSpec};
use ssdtune_model::{DeviceConfig, Lpn, Nanos, PlaneId, TenantId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The drive's only tenant.
const TENANT: TenantId = TenantId(0);

/// What a policy made of the second half of a load.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayFigures {
    /// Pages programmed for each page that the host wrote.
    pub write_amplification: f64,
    /// The same of the half before, which nothing was measured on.
    pub write_amplification_before: f64,
    /// How often the load was replayed.
    pub passes: u32,
    /// Share of a plane's spare blocks that its write frontiers take.
    pub spare_taken: f64,
    /// Pages programmed for each page that the host wrote into the write buffer, whether it left
    /// the buffer or not. `None` without a buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs_per_host_page: Option<f64>,
    /// Pages that the host wrote. Behind a write buffer: those that left it.
    pub host_pages: u64,
    /// Pages that collection moved.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks moved for wear. Their pages are among the moved ones.
    pub exchanges: u64,
    /// How often blocks were erased in the whole replay.
    pub wear: WearSpread,
    /// Full blocks at the end by their share of invalid pages, in fifths (Fig. 3 of HAML-SSD).
    pub invalid_fifths: [u64; 5],
    /// Write frontiers of a plane.
    pub frontiers: usize,
    /// Bytes that the policy keeps in the drive's memory.
    pub memory_bytes: u64,
    /// Seconds that the replay took on this machine. No part of documents: it is not a result.
    #[serde(skip)]
    pub seconds: f64,
    /// The last training of haml in numbers.
    pub learned: Option<TrainingFigures>,
    /// The last training of haml itself. No part of documents.
    #[serde(skip)]
    pub training: Option<Training>,
}

/// How evenly blocks are worn, in erases of a block.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WearSpread {
    /// Of the block erased least.
    pub least: u32,
    /// Of the block erased most.
    pub most: u32,
    /// Mean of all blocks.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

impl WearSpread {
    /// From how many blocks were erased how often, in order of erases.
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

/// How a replay is watched and ended.
pub struct Watch<'a> {
    /// Ends the replay early when it is set.
    pub stop: &'a AtomicBool,
    /// Told the share that is done, 0 to 1, and how many pages were written since the last time.
    pub progress: &'a dyn Fn(f64, u64),
}

/// Most passes of a load that is replayed until it settles.
const PASSES_MAX: u32 = 12;

/// Pages that are known before the next one is written, so that memory has time to bring what the
/// translation layer will look at.
const AHEAD: usize = 24;
/// Pages between two looks at the stop flag.
const STRIDE: u64 = 1 << 16;

/// Serves a load with a policy; `None` if it was stopped. With `settle`, again and again, until the
/// write amplification of the second half differs from that of the pass before by less than this
/// share, 12 times at most.
///
/// # Errors
/// The drive cannot hold the load, or not with this policy's write frontiers.
pub fn replay(
    load: &Load,
    drive: &DeviceConfig,
    candidate: &Candidate,
    settle: Option<f64>,
    watch: &Watch<'_>,
) -> Result<Option<ReplayFigures>, PlacementError> {
    let start = Instant::now();
    let config = candidate.apply(drive, load).check()?;
    let spec = TenantSpec { places: Places::all(&config.flash_geometry()), writer: false };
    let mut ftl = Ftl::new(&config, &[spec])?;
    let visible = ftl.tenant_pages(TENANT);
    if visible < load.footprint_pages.into() {
        let (name, pages) = (load.name.clone(), load.footprint_pages);
        return Err(PlacementError::TooLarge { name, pages, visible });
    }
    let total = visible + load.pages(0..load.writes.len());
    let mut replay = Replay { ftl: &mut ftl, watch, done: 0, total, ahead: VecDeque::new() };
    let Some(pass) = replay.run(load, candidate.reference, settle)? else { return Ok(None) };
    let counters = *ftl.counters();
    let host_pages = load.pages(load.half()..load.writes.len());
    let blocks = f64::from(config.allocation_geometry().blocks_per_plane);
    let frontiers = ftl.frontiers_per_plane();
    Ok(Some(ReplayFigures {
        write_amplification: pass.second,
        write_amplification_before: pass.first,
        passes: pass.number,
        spare_taken: frontiers as f64 / (blocks * config.mapping.overprovisioning),
        programs_per_host_page: load.buffered.map(|buffered| {
            (host_pages + counters.moved_pages) as f64 / buffered.measured_pages as f64
        }),
        host_pages,
        moved_pages: counters.moved_pages,
        erases: erases(&ftl) - pass.erases_before,
        exchanges: counters.wear_collections,
        wear: WearSpread::of(&ftl.erase_histogram()),
        invalid_fifths: invalid_fifths(&mut ftl),
        frontiers,
        memory_bytes: ftl.placement_bytes(),
        learned: ftl.last_training().map(TrainingFigures::of),
        training: ftl.last_training().cloned(),
        seconds: start.elapsed().as_secs_f64(),
    }))
}

/// Erases of all blocks together.
fn erases(ftl: &Ftl) -> u64 {
    ftl.erase_histogram().iter().map(|&(erases, blocks)| u64::from(erases) * blocks).sum()
}

fn invalid_fifths(ftl: &mut Ftl) -> [u64; 5] {
    let mut fifths = [0; 5];
    let pages = ftl.geometry().pages_per_block;
    for plane in 0..ftl.geometry().planes() as u32 {
        for valid in ftl.valid_pages(PlaneId(plane)) {
            let invalid = f64::from(pages - valid) / f64::from(pages);
            fifths[((invalid * 5.0) as usize).min(4)] += 1;
        }
    }
    fifths
}

/// A page that is to be written.
#[derive(Clone, Copy)]
struct Ahead {
    at_ns: u64,
    page: u32,
    application: u16,
    shape: Shape,
}

/// A pass of a load: its number from 1, the write amplification of its halves, and the erases
/// before the second one.
struct Pass {
    number: u32,
    first: f64,
    second: f64,
    erases_before: u64,
}

/// A replay under way.
struct Replay<'a> {
    ftl: &'a mut Ftl,
    watch: &'a Watch<'a>,
    /// Pages written, and how many there will be.
    done: u64,
    total: u64,
    /// Pages that come next.
    ahead: VecDeque<Ahead>,
}

impl Replay<'_> {
    /// Fills the drive and replays the load, once or until it settles. The last pass; `None` if
    /// stopped.
    fn run(
        &mut self,
        load: &Load,
        reference: Option<Reference>,
        settle: Option<f64>,
    ) -> Result<Option<Pass>, PlacementError> {
        let pages = self.ftl.tenant_pages(TENANT);
        let filled = self.fill(pages as u32)?;
        if let Some(reference) = reference {
            let written = |write: &WriteRequest| write.page..write.page + write.count;
            let order: Vec<u32> = load.writes.iter().flat_map(written).collect();
            self.ftl.foresee(Foresight::new(pages, &order), reference);
        }
        if !filled {
            return Ok(None);
        }
        let mut before: Option<Pass> = None;
        loop {
            let number = before.as_ref().map_or(1, |before| before.number + 1);
            let Some(pass) = self.pass(load, number)? else { return Ok(None) };
            let is_settled = settle.is_none_or(|share| {
                let change = before.map(|before| (pass.second / before.second - 1.0).abs());
                change.is_some_and(|change| change < share)
            });
            if is_settled || number == PASSES_MAX {
                return Ok(Some(pass));
            }
            before = Some(pass);
        }
    }

    /// Replays both halves and counts anew before each; `None` if stopped.
    fn pass(&mut self, load: &Load, number: u32) -> Result<Option<Pass>, PlacementError> {
        let (first, second) = load.writes.split_at(load.half());
        let Some(first) = self.amplification(first)? else { return Ok(None) };
        let erases_before = erases(self.ftl);
        let second = self.amplification(second)?;
        Ok(second.map(|second| Pass { number, first, second, erases_before }))
    }

    /// The write amplification of some writes, 1 if there are none; `None` if stopped.
    fn amplification(&mut self, requests: &[WriteRequest]) -> Result<Option<f64>, PlacementError> {
        self.ftl.reset_counters();
        if !self.serve(requests)? {
            return Ok(None);
        }
        let pages: u64 = requests.iter().map(|request| u64::from(request.count)).sum();
        Ok(Some(1.0 + self.ftl.counters().moved_pages as f64 / pages.max(1) as f64))
    }

    /// Writes all pages in order, of which the policy learns nothing; `false` if stopped.
    fn fill(&mut self, pages: u32) -> Result<bool, PlacementError> {
        self.ftl.set_learning(false);
        for page in 0..pages {
            self.push(Ahead { at_ns: 0, page, application: 0, shape: Shape::default() });
            if self.ahead.len() > AHEAD && !self.write_next()? {
                return Ok(false);
            }
        }
        let filled = self.write_rest()?;
        self.ftl.set_learning(true);
        Ok(filled)
    }

    /// Writes all pages of the requests; `false` if stopped.
    fn serve(&mut self, requests: &[WriteRequest]) -> Result<bool, PlacementError> {
        for request in requests {
            let WriteRequest { at_ns, application, host, .. } = *request;
            for page in request.page..request.page + request.count {
                self.push(Ahead { at_ns, page, application, shape: host.seen_from(page) });
                if self.ahead.len() > AHEAD && !self.write_next()? {
                    return Ok(false);
                }
            }
        }
        self.write_rest()
    }

    /// Adds a page to those that come next.
    fn push(&mut self, page: Ahead) {
        self.ftl.prefetch_directory(TENANT, Lpn(page.page.into()));
        self.ahead.push_back(page);
        self.prefetch();
    }

    /// Writes all pages that come next; `false` if stopped.
    fn write_rest(&mut self) -> Result<bool, PlacementError> {
        while !self.ahead.is_empty() {
            if !self.write_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks for the memory of pages in the middle of those ahead.
    fn prefetch(&self) {
        if let Some(at) = self.ahead.len().checked_sub(AHEAD / 3 + 1) {
            self.ftl.prefetch_entry(TENANT, Lpn(self.ahead[at].page.into()));
        }
        if let Some(at) = self.ahead.len().checked_sub(2 * AHEAD / 3 + 1)
            && let Some(entry) = self.ftl.existing_entry(TENANT, Lpn(self.ahead[at].page.into()))
        {
            self.ftl.prefetch_old_page(entry);
        }
    }

    /// Writes the next page; `false` if stopped.
    fn write_next(&mut self) -> Result<bool, PlacementError> {
        let Some(ahead) = self.ahead.pop_front() else { return Ok(true) };
        let Ahead { at_ns, page, application, shape } = ahead;
        self.ftl.set_write_context(Nanos(at_ns), application);
        self.ftl.expect_write(TENANT, Lpn(page.into()), shape);
        let written = self.ftl.warm_up().write_whole(TENANT, Lpn(page.into()));
        written.map_err(PlacementError::OutOfSpace)?;
        self.done += 1;
        if self.done.is_multiple_of(STRIDE) {
            let share = self.done as f64 / self.total as f64;
            (self.watch.progress)(share.min(1.0), STRIDE);
            return Ok(!self.watch.stop.load(Ordering::Relaxed));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidates;
    use crate::drive::{DriveRule, Sizing};
    use crate::load::HostRequest;

    /// A request of one page.
    fn alone(page: u32) -> HostRequest {
        HostRequest { page, count: 1, ..HostRequest::default() }
    }

    /// Every page once, then hot pages (one in sixteen) half of the time.
    fn load() -> Load {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % below) as u32
        };
        let write = |n: u64| {
            let page = match n {
                0..4_800 => n as u32,
                _ if n.is_multiple_of(2) => 16 * draw(300),
                _ => draw(4_800),
            };
            let application = (page % 16 == 0).into();
            WriteRequest { at_ns: n * 1_000, page, count: 1, application, host: alone(page) }
        };
        Load {
            name: "hot and cold".to_owned(),
            synthetic: true,
            writes: (0..24_000).map(write).collect(),
            buffered: None,
            footprint_pages: 4_800,
            duration_ns: 24_000_000,
            applications: 2,
            timed: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn measured(load: &Load, policy: &str) -> Option<ReplayFigures> {
        let drive = DriveRule::Sized(Sizing::default()).drive(load).unwrap();
        let candidates = Candidates { policies: vec![policy.to_owned()], ..Candidates::default() };
        let candidate = candidates.list().unwrap().remove(0);
        let watch = Watch { stop: &AtomicBool::new(false), progress: &|_, _| {} };
        replay(load, &drive, &candidate, None, &watch).unwrap()
    }

    fn measure(policy: &str, stop: bool) -> Option<ReplayFigures> {
        let load = load();
        let drive = DriveRule::Sized(Sizing::default()).drive(&load).unwrap();
        let candidates = Candidates { policies: vec![policy.to_owned()], ..Candidates::default() };
        let candidate = candidates.list().unwrap().remove(0).trials(&drive).remove(0);
        let stop = AtomicBool::new(stop);
        let watch = Watch { stop: &stop, progress: &|_, _| {} };
        replay(&load, &drive, &candidate, None, &watch).unwrap()
    }

    #[test]
    fn pages_add_up_and_knowledge_helps() {
        let names = ["none", "auto-stream", "oracle", "oracle-order"];
        let [none, streams, oracle, order] = names.map(|policy| measure(policy, false).unwrap());
        for figures in [&none, &streams, &oracle, &order] {
            assert_eq!(figures.host_pages, 12_000);
            let moved = figures.moved_pages as f64 / 12_000.0;
            assert!((figures.write_amplification - 1.0 - moved).abs() < 1e-12);
            // Each erased block makes room for 16 pages, but for those in open blocks.
            let programmed = 12_000 + figures.moved_pages;
            assert!(figures.erases.abs_diff(programmed / 16) <= 16, "{figures:?}");
            assert!(figures.wear.least as f64 <= figures.wear.mean);
            assert!(figures.wear.mean <= figures.wear.most.into());
        }
        assert!(order.write_amplification < oracle.write_amplification);
        assert!(oracle.write_amplification < streams.write_amplification);
        assert!(streams.write_amplification < none.write_amplification);
    }

    #[test]
    fn what_nobody_can_learn_costs_little() {
        // Uniform random writes: only the open blocks of 18 frontiers can make a difference, and a
        // drive of this size has 300 spare blocks.
        let mut state = 5u64;
        let mut write = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let page = ((state >> 33) % 65_536) as u32;
            let (count, application) = (1, 0);
            WriteRequest { at_ns: n * 1_000, page, count, application, host: alone(page) }
        };
        let load = Load {
            name: "uniform".to_owned(),
            writes: (0..500_000).map(&mut write).collect(),
            footprint_pages: 65_536,
            duration_ns: 500_000_000,
            ..load()
        };
        let [none, lifespan] =
            ["none", "lifespan"].map(|policy| measured(&load, policy).unwrap().write_amplification);
        assert!(lifespan < 1.02 * none, "{lifespan} for {none}");
    }

    #[test]
    fn a_small_drive_is_not_filled_with_open_blocks() {
        // 50 spare blocks, and as many pages written as the drive has: hardly anything is learned.
        let [none, lifespan] =
            ["none", "lifespan"].map(|policy| measure(policy, false).unwrap().write_amplification);
        assert!(lifespan < 1.01 * none, "{lifespan} for {none}");
    }

    #[test]
    fn a_load_is_replayed_until_it_settles() {
        let load = load();
        let drive = DriveRule::Sized(Sizing::default()).drive(&load).unwrap();
        let watch = Watch { stop: &AtomicBool::new(false), progress: &|_, _| {} };
        let candidate = Candidates::default().list().unwrap().remove(0);
        let run = |settle| replay(&load, &drive, &candidate, settle, &watch).unwrap().unwrap();
        let once = run(None);
        assert_eq!(once.passes, 1);
        // The first half of the first pass writes into the spare blocks of a fresh drive.
        assert!(once.write_amplification_before < once.write_amplification);
        let settled = run(Some(0.01));
        assert!(settled.passes > 1 && settled.passes <= PASSES_MAX, "{}", settled.passes);
        assert!(settled.write_amplification_before > once.write_amplification_before);
        assert_eq!(settled.host_pages, once.host_pages, "the last pass counts");
        assert_eq!(run(Some(1e-12)).passes, PASSES_MAX);
        // One frontier for host data, one for moved pages, one for translation pages.
        let spare = f64::from(drive.flash.blocks_per_plane) * drive.mapping.overprovisioning;
        assert!((once.spare_taken - once.frontiers as f64 / spare).abs() < 1e-12);
    }

    #[test]
    fn a_stopped_replay_has_no_figures() {
        // The flag is looked at every 65,536 pages, and here are fewer.
        assert!(measure("none", true).is_some());
        let mut load = load();
        load.writes = load.writes.iter().copied().cycle().take(100_000).collect();
        let drive = DriveRule::Sized(Sizing::default()).drive(&load).unwrap();
        let candidate = Candidates::default().list().unwrap().remove(0);
        let stop = AtomicBool::new(true);
        let told = std::cell::Cell::new(0);
        let watch = Watch { stop: &stop, progress: &|_, pages| told.set(told.get() + pages) };
        assert!(replay(&load, &drive, &candidate, None, &watch).unwrap().is_none());
        assert_eq!(told.get(), STRIDE);
    }

    #[test]
    fn wear_is_summed_up_over_blocks() {
        let wear = WearSpread::of(&[(1, 2), (2, 4), (5, 2)]);
        assert_eq!((wear.least, wear.most, wear.mean), (1, 5, 2.5));
        assert_eq!(wear.deviation, (18.0_f64 / 8.0).sqrt());
    }
}
