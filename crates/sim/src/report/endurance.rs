//! Endurance: how far a run wears the flash out, compared with the cycles that its blocks are rated
//! for (`flash.pe_cycles_limit`).
//!
//! Wear is counted in programmed pages, as many as a block holds for one cycle: every programmed
//! page will be erased once. So the rate of wear shows even in runs that are too short to erase
//! anything. It is assumed that wear is spread evenly over all blocks, which is what wear levelling
//! is for.

use super::{EraseBin, Report};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::DeviceConfig;

/// Years of a usual warranty, for which drive writes per day are stated.
const WARRANTY_YEARS: f64 = 5.0;
const DAYS_PER_YEAR: f64 = 365.0;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// How far the flash is worn, and how long it lasts under this workload. What a run without writes
/// cannot tell is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Endurance {
    /// Erases that each block is rated for.
    pub rated_cycles: u32,
    /// Erases so far divided by the rated ones, as the mean of all blocks. Above 1 the drive is
    /// worn out.
    pub used_share_mean: f64,
    /// Erases so far divided by the rated ones, for the block that was erased most.
    pub used_share_worst: f64,
    /// Days until a new drive reaches its rated cycles at the rate of this run.
    pub days: Option<f64>,
    /// Bytes that the host can write to a new drive until then, in units of 10^12 (TBW).
    pub terabytes_written: Option<f64>,
    /// How often a day the host writes the visible capacity, at the rate of this run.
    pub drive_writes_per_day: Option<f64>,
    /// How often a day the host may write the visible capacity for five years, which adds up to
    /// `terabytes_written` (DWPD).
    pub drive_writes_per_day_rated: Option<f64>,
}

impl Endurance {
    /// Computes the endurance from the rest of a report and the configuration.
    pub(crate) fn of(report: &Report, config: &DeviceConfig) -> Self {
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
        // How many runs like this one the rated cycles of all blocks allow.
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
