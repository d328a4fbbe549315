//! Runs of writes on a small drive, without time.
//!
//! The small drive has the same number of blocks in each plane as the whole one, and the same
//! over-provisioning, but shorter blocks: write amplification knows shares only. A run writes the
//! same share of the small drive as of the whole one.

use crate::replay::ReplayError;
use crate::run::{Places, Run, Shape};
use crate::split::Expression;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use ssdtune_experiment::{Blank, Nothing, Preparation, PrepareError, Start};
use ssdtune_model::config::GcUnit;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, SECTOR_BYTES, Sectors, TenantId};
use ssdtune_sim::{Observe, Tenant};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Pages that a block has at least, unless it is a part of a superblock.
const BLOCK_PAGES_MIN: u64 = 32;
/// Parts of a run, the last of which counts: what collection costs settles by then.
const PARTS: u64 = 3;

/// A drive of about this many mapping units, with this share of its raw capacity hidden.
pub(super) fn small(drive: &DeviceConfig, spare: f64, units: u64) -> DeviceConfig {
    let (at, mut small) = (drive.geometry(), drive.clone());
    let whole_line = u64::from(drive.pages_per_program());
    let is_block = drive.gc.unit == GcUnit::Block;
    let least = if is_block { BLOCK_PAGES_MIN } else { 2 }.max(whole_line);
    let pages = (units / (at.planes() * u64::from(at.blocks_per_plane)).max(1)).max(least);
    let pages = pages.next_multiple_of(whole_line).min(u64::from(drive.flash.pages_per_block));
    small.flash.pages_per_block = pages as u32;
    small.mapping.overprovisioning = spare;
    small
}

/// Serves runs one after the other on a drive that held nothing before the first and before those
/// that a rule names, and says what the flash wrote for
/// each byte of the host in the last third of each; `None` for a pattern that is not known.
/// `visible` is what the host sees of the whole drive.
pub(super) fn age(
    drive: &CheckedConfig,
    visible: u64,
    runs: &[Run],
    sanitised: Option<&Expression>,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Vec<Option<f64>>, ReplayError> {
    let tenants = [Tenant::sole(drive)];
    let failed = |error| ReplayError::Drive(PrepareError::from(error));
    let nothing = Preparation::of(Start::Empty, seed);
    let blank = Blank::new(drive, &tenants, Observe::default());
    let empty = || blank.prepare(&nothing, &Nothing, stop);
    let mut aged = empty()?;
    let unit = u64::from(drive.geometry().page_bytes);
    let pages = aged.address_space(TenantId(0)).0 / unit;
    let mut amplifications = Vec::new();
    for (nth, run) in (0..).zip(runs) {
        if sanitised.is_some_and(|rule| rule.holds_for(run)) {
            aged = empty()?;
        }
        let share = run.span_bytes.min(visible) as f64 / visible as f64;
        let span = ((share * pages as f64) as u64).clamp(1, pages);
        // One order of shuffled places for all runs of a source: measurers begin at one seed.
        let own = if matches!(run.pattern.shape, Shape::Sequential) { seed } else { seed ^ nth };
        let rng = Pcg64::seed_from_u64(own);
        let slots = run.span_bytes / u64::from(run.block_bytes.max(1));
        let Some(mut places) = Places::new(&run.pattern, span, slots, rng) else {
            amplifications.push(None);
            continue;
        };
        let writes = (run.host_bytes() / visible as f64 * pages as f64) as u64;
        let last = (writes / PARTS).max(1);
        let mut counted = None;
        for part in [writes.saturating_sub(last), last] {
            let requests = (0..part)
                .take_while(|_| !stop.load(Ordering::Relaxed))
                .map(|_| write(places.next_page(), unit));
            counted = Some(aged.warm_up(requests).map_err(failed)?);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(ReplayError::Interrupted);
        }
        let moved = counted.map_or(0, |counters| counters.moved_pages);
        amplifications.push(Some(1.0 + moved as f64 / last as f64));
    }
    Ok(amplifications)
}

/// A write of one mapping unit.
fn write(page: u64, unit: u64) -> Request {
    let sectors = unit / SECTOR_BYTES;
    let (at, lba, tenant) = (Nanos::ZERO, Sectors(page * sectors), TenantId(0));
    Request { at, lba, sectors: sectors as u32, tenant, op: Op::Write }
}
