//! The drive that a load is served by: Table III literally, or one sized by the load's footprint.

use super::load::Load;
use anyhow::anyhow;
use ssdtune_model::config::{MovedPages, PlacementPolicy, TableScale};
use ssdtune_model::{DeviceConfig, Nanos, presets};

/// Blocks of a plane at most, so that a plane stays as large as those of real flash.
const PLANE_BLOCKS: u64 = 4_096;
/// Blocks of a drive at least, as long as they hold `BLOCK_PAGES` pages or more.
const DRIVE_BLOCKS: u64 = 2_048;
/// Pages of a block: as in Table III where the drive is large enough, and at least.
const BLOCK_PAGES: [u64; 2] = [256, 16];
/// Blocks without which further frontiers would be most of the spare ones.
const LEAST_BLOCKS: u64 = 256;

/// How a drive is sized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Share of the raw capacity that the load's footprint leaves.
    pub(crate) spare: f64,
    pub(crate) page_bytes: u32,
    /// Planes at least.
    pub(crate) planes_min: u32,
}

impl Rule {
    /// In words, for reports.
    pub(crate) fn describe(&self) -> String {
        format!(
            "visible capacity = pages the load writes, {:.2} % of the raw capacity spare; {} B pages; {} pages a \
             block, halved to {} at least while the drive has fewer than {DRIVE_BLOCKS} blocks; planes of \
             {PLANE_BLOCKS} blocks at most; greedy collection as late as the frontiers allow",
            100.0 * self.spare,
            self.page_bytes,
            BLOCK_PAGES[0],
            BLOCK_PAGES[1],
        )
    }

    /// The drive of a load.
    pub(crate) fn drive(&self, load: &Load) -> anyhow::Result<DeviceConfig> {
        let visible = u64::from(load.footprint_pages);
        let raw = (visible as f64 / (1.0 - self.spare)).ceil() as u64;
        let mut pages = BLOCK_PAGES[0];
        while raw / pages < DRIVE_BLOCKS && pages > BLOCK_PAGES[1] {
            pages /= 2;
        }
        let blocks = raw.div_ceil(pages);
        if blocks < LEAST_BLOCKS {
            return Err(anyhow!(
                "{} writes {visible} pages of {} B: a drive of that size has {blocks} blocks of {pages} pages, too \
                 few to tell placement policies apart ({LEAST_BLOCKS} are asked for)",
                load.name,
                self.page_bytes
            ));
        }
        let planes = blocks.div_ceil(PLANE_BLOCKS).next_power_of_two().max(self.planes_min.into());
        let channels = planes.min(8);
        let mut config = timing()?;
        config.name = format!("sized for {}", load.name);
        config.bus.channels = channels as u32;
        config.bus.chips_per_channel = (planes / channels) as u32;
        config.flash.dies_per_chip = 1;
        config.flash.planes_per_die = 1;
        config.flash.pages_per_block = pages as u32;
        config.flash.page_bytes = self.page_bytes;
        let per_plane = visible.div_ceil(planes);
        let raw_per_plane = (per_plane as f64 / (1.0 - self.spare)).ceil() as u64;
        config.flash.blocks_per_plane = raw_per_plane.div_ceil(pages) as u32;
        // Half a page more, so that rounding down leaves the pages that are needed.
        let plane_pages = f64::from(config.flash.blocks_per_plane) * pages as f64;
        config.mapping.overprovisioning = 1.0 - (per_plane as f64 + 0.5) / plane_pages;
        // The FTL raises it to what the frontiers need.
        config.gc.threshold = 1e-6;
        config.gc.hard_threshold = 1e-6;
        Ok(config)
    }
}

/// Table III, which is a preset.
pub(crate) fn table_iii() -> anyhow::Result<DeviceConfig> {
    timing()
}

fn timing() -> anyhow::Result<DeviceConfig> {
    let mut config = presets::load("haml")?;
    // Its own mechanism is under test.
    config.wear.static_leveling = false;
    config.wear.dynamic_leveling = false;
    Ok(config)
}

/// One policy with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variation {
    pub(crate) label: String,
    pub(crate) policy: PlacementPolicy,
    /// The reference that knows the future takes the place of the policy.
    pub(crate) oracle: bool,
    pub(crate) moved: MovedPages,
    pub(crate) clusters: u32,
    pub(crate) slices: u32,
    /// Trainings in the time of the load.
    pub(crate) periods: f64,
    pub(crate) scale: TableScale,
    pub(crate) interval: bool,
    pub(crate) wear_rules: bool,
}

impl Variation {
    /// The same drive with this policy.
    pub(crate) fn apply(&self, drive: &DeviceConfig, load: &Load) -> DeviceConfig {
        let mut config = drive.clone();
        let period = (load.duration_ns as f64 / self.periods) as u64;
        config.placement.policy = self.policy;
        config.placement.moved = self.moved;
        config.placement.clusters = self.clusters;
        config.placement.slices = self.slices;
        config.placement.period = Nanos(period.clamp(1_000, 10_000_000_000_000_000));
        config.placement.scale = self.scale;
        config.placement.interval = self.interval;
        config.placement.wear_rules = self.wear_rules;
        config
    }
}
