//! How far a run wears the flash out, against the cycles that its blocks are rated for (`flash.pe_cycles_limit`).
//!
//! A block cycle is as many programmed pages as a block holds: every programmed page is erased once, sooner or later,
//! so the rate of wear shows in runs that are too short to erase anything. It assumes that the wear goes on evenly over
//! all blocks, as wear levelling sees to.

use super::{EraseBin, Report};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::DeviceConfig;

/// Years of a usual warranty, over which drive writes per day are stated.
const WARRANTY_YEARS: f64 = 5.0;
const DAYS_PER_YEAR: f64 = 365.0;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// How far the flash is worn, and how long it lasts under this workload. What a run without writes cannot know is
/// `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Endurance {
    /// Erases that each block is rated for.
    pub rated_cycles: u32,
    /// Erases of a block until now, over all blocks, as a share of the rated ones. Above 1 the drive is worn out.
    pub used_share_mean: f64,
    /// The same share of the block that was erased most.
    pub used_share_worst: f64,
    /// Days in which a new drive reaches its rated cycles at the rate of this run.
    pub days: Option<f64>,
    /// Bytes of the host that a new drive takes until then, in units of 10^12 (TBW).
    pub terabytes_written: Option<f64>,
    /// How often a day the host writes the visible capacity at the rate of this run.
    pub drive_writes_per_day: Option<f64>,
    /// How often a day it may do so for five years, by the terabytes written (DWPD).
    pub drive_writes_per_day_rated: Option<f64>,
}

impl Endurance {
    /// The endurance that the rest of a report and the configuration say.
    pub(super) fn of(report: &Report, config: &DeviceConfig) -> Self {
        let rated_cycles = config.flash.pe_cycles_limit;
        let histogram = &report.collection.erase_histogram;
        let blocks: u64 = histogram.iter().map(|bin| bin.blocks).sum();
        let erases: u64 = histogram.iter().map(|bin| u64::from(bin.erases) * bin.blocks).sum();
        let worst = histogram.iter().map(|bin: &EraseBin| bin.erases).max().unwrap_or(0);
        let rated = f64::from(rated_cycles);
        let flash = &report.flash;
        let programmed = flash.pages_programmed_host
            + flash.pages_programmed_moved
            + flash.pages_programmed_mapping;
        let cycles = programmed as f64 / f64::from(config.flash.pages_per_block);
        let host_bytes = report.total.write.bytes as f64;
        let visible = report.capacity.visible_bytes as f64;
        let days_run = report.time.seconds / SECONDS_PER_DAY;
        // How many runs like this one the rated cycles of all blocks last for.
        let runs = (cycles > 0.0 && days_run > 0.0).then(|| blocks as f64 * rated / cycles);
        let known = |value: f64| runs.map(|_| value);
        let terabytes_written = runs.map(|runs| runs * host_bytes / 1e12);
        Self {
            rated_cycles,
            used_share_mean: erases as f64 / blocks.max(1) as f64 / rated,
            used_share_worst: f64::from(worst) / rated,
            days: runs.map(|runs| runs * days_run),
            terabytes_written,
            drive_writes_per_day: known(host_bytes / visible / days_run),
            drive_writes_per_day_rated: terabytes_written
                .map(|tbw| tbw * 1e12 / visible / (WARRANTY_YEARS * DAYS_PER_YEAR)),
        }
    }
}
