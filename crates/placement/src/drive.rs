//! The drive that serves a load: the one of HAML-SSD's Table III, or one sized by the load.

use crate::error::PlacementError;
use crate::load::Load;
use crate::scaled::scaled;
use ssdtune_model::{DeviceConfig, presets};

/// Spare share of the raw capacity in Table III: 44 GB of 300 GB.
pub const TABLE_III_SPARE: f64 = 44.0 / 300.0;
/// Bytes of a flash page in Table III.
pub const TABLE_III_PAGE_BYTES: u32 = 8_192;

/// Most blocks of a plane: planes of real flash are not larger either.
const PLANE_BLOCKS: u64 = 4_096;
/// Most blocks of a plane where the pages of a block are given.
const PLANE_BLOCKS_GIVEN: u64 = 1 << 16;
/// Fewest blocks of a drive, as long as blocks have the smallest number of pages or more.
const DRIVE_BLOCKS: u64 = 2_048;
/// Pages of a block: as in Table III where the drive is large enough, and the fewest.
const BLOCK_PAGES: [u64; 2] = [256, 16];
/// Fewest blocks at all. With fewer, the write frontiers of a policy would take most of the spare
/// blocks.
const LEAST_BLOCKS: u64 = 256;

/// Which drive a load is served by.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveRule {
    /// The drive of Table III, 300 GB raw, whatever the load needs.
    TableIii,
    /// A drive that the load fills.
    Sized(Sizing),
    /// A drive that the load fills and that works as this one: a part of its planes, cache and
    /// bandwidths, with its times and its way of collecting.
    Scaled(Box<DeviceConfig>),
}

/// How a drive is sized by its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    /// Share of the raw capacity that the written pages leave free, 0.01 to 0.9.
    pub spare: f64,
    /// Bytes of a flash page.
    pub page_bytes: u32,
    /// Pages of a block; if `None`, as many as leave a drive with blocks enough.
    pub block_pages: Option<u32>,
    /// Fewest planes.
    pub planes_min: u32,
}

impl Default for Sizing {
    /// As Table III, with one plane or more.
    fn default() -> Self {
        Self::asked(TABLE_III_SPARE, TABLE_III_PAGE_BYTES, None, false)
    }
}

impl DriveRule {
    /// The rule that was asked for: a drive like this one, that of Table III, or one of a size.
    pub fn asked(like: Option<DeviceConfig>, table_iii: bool, sizing: Sizing) -> Self {
        match like {
            Some(device) => Self::Scaled(Box::new(device)),
            None if table_iii => Self::TableIii,
            None => Self::Sized(sizing),
        }
    }

    /// Bytes of a flash page of every drive.
    pub fn page_bytes(&self) -> u32 {
        match self {
            Self::TableIii => TABLE_III_PAGE_BYTES,
            Self::Sized(sizing) => sizing.page_bytes,
            Self::Scaled(device) => device.geometry().page_bytes,
        }
    }

    /// The rule in words, for reports.
    pub fn describe(&self) -> String {
        match self {
            Self::TableIii => "the drive of Table III".to_owned(),
            Self::Sized(sizing) => sizing.describe(),
            Self::Scaled(device) => format!(
                "{} cut to the pages that the load writes: the same share of spare capacity, times \
                 and way of collecting, a part of its planes, cache and bandwidths",
                device.name
            ),
        }
    }

    /// The drive for a load, without a placement policy.
    ///
    /// # Errors
    /// The load writes too few pages for a drive with blocks enough.
    pub fn drive(&self, load: &Load) -> Result<DeviceConfig, PlacementError> {
        match self {
            Self::TableIii => table_iii(),
            Self::Sized(sizing) => sizing.drive(load),
            Self::Scaled(device) => scaled(device, load),
        }
    }
}

/// Fewest planes of a drive whose requests are timed: a single plane would serve one write at a
/// time.
const TIMED_PLANES: u32 = 4;

impl Sizing {
    /// A sizing by its share of spare capacity, its pages and its blocks, for a drive whose
    /// requests are timed or not.
    pub fn asked(spare: f64, page_bytes: u32, block_pages: Option<u32>, is_timed: bool) -> Self {
        let planes_min = if is_timed { TIMED_PLANES } else { 1 };
        Self { spare, page_bytes, block_pages, planes_min }
    }

    /// Most blocks of a plane. Every plane has frontiers of its own, so few large planes leave most
    /// of the spare blocks to them.
    fn plane_blocks(&self) -> u64 {
        if self.block_pages.is_some() { PLANE_BLOCKS_GIVEN } else { PLANE_BLOCKS }
    }

    fn describe(&self) -> String {
        let [most, fewest] = BLOCK_PAGES;
        let blocks = match self.block_pages {
            Some(pages) => format!("{pages} pages a block"),
            None => format!(
                "{most} pages a block, halved to {fewest} at least while the drive has fewer than \
                 {DRIVE_BLOCKS} blocks"
            ),
        };
        format!(
            "visible capacity = pages the load writes, {:.2} % of the raw capacity spare; {} B \
             pages; {blocks}; planes of {} blocks at most; greedy collection as late as the \
             frontiers allow",
            100.0 * self.spare,
            self.page_bytes,
            self.plane_blocks(),
        )
    }

    fn drive(&self, load: &Load) -> Result<DeviceConfig, PlacementError> {
        let visible = u64::from(load.footprint_pages);
        let raw = (visible as f64 / (1.0 - self.spare)).ceil() as u64;
        let mut pages = BLOCK_PAGES[0];
        while raw / pages < DRIVE_BLOCKS && pages > BLOCK_PAGES[1] {
            pages /= 2;
        }
        pages = self.block_pages.map_or(pages, u64::from);
        let blocks = raw.div_ceil(pages);
        if blocks < LEAST_BLOCKS {
            return Err(PlacementError::TooFewBlocks {
                name: load.name.clone(),
                pages: load.footprint_pages,
                page_bytes: self.page_bytes,
                blocks,
                block_pages: pages,
                least: LEAST_BLOCKS,
            });
        }
        let planes =
            blocks.div_ceil(self.plane_blocks()).next_power_of_two().max(self.planes_min.into());
        let channels = planes.min(8);
        let mut config = table_iii()?;
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
        // The FTL raises both to what the frontiers need.
        config.gc.threshold = 1e-6;
        config.gc.hard_threshold = 1e-6;
        Ok(config)
    }
}

/// Table III, which is a preset, without wear levelling: policies bring their own.
fn table_iii() -> Result<DeviceConfig, PlacementError> {
    let mut config = presets::load("haml")?;
    config.wear.static_leveling = false;
    config.wear.dynamic_leveling = false;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(footprint_pages: u32) -> Load {
        Load {
            name: "some".to_owned(),
            synthetic: false,
            writes: Vec::new(),
            buffered: None,
            footprint_pages,
            duration_ns: 1,
            applications: 1,
            timed: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_sized_drive_shows_the_pages_that_are_written_and_little_more() {
        for planes_min in [1, 4] {
            let sizing = Sizing { planes_min, ..Sizing::default() };
            for pages in [4_000, 100_000, 3_000_000, 40_000_000] {
                let drive = sizing.drive(&load(pages)).unwrap();
                let geometry = drive.geometry();
                let planes = geometry.planes();
                let raw = planes
                    * u64::from(drive.flash.blocks_per_plane)
                    * u64::from(drive.flash.pages_per_block);
                let visible = raw as f64 * (1.0 - drive.mapping.overprovisioning);
                // Rounding up goes by planes, then by blocks.
                assert!(visible >= f64::from(pages) && visible < f64::from(pages) + planes as f64);
                let spare = 1.0 - f64::from(pages) / raw as f64;
                assert!((spare - TABLE_III_SPARE).abs() < 0.01, "{pages}: {spare}");
                assert!(planes >= planes_min.into());
                assert!(u64::from(drive.flash.blocks_per_plane) <= PLANE_BLOCKS);
                drive.check().unwrap();
            }
        }
    }

    #[test]
    fn blocks_shrink_with_the_drive_until_there_are_too_few() {
        let block_pages = |pages| {
            let drive = Sizing::default().drive(&load(pages)).unwrap();
            drive.flash.pages_per_block
        };
        assert_eq!([10_000_000, 200_000, 4_000].map(block_pages), [256, 64, 16]);
        let error = Sizing::default().drive(&load(3_000)).unwrap_err();
        assert!(matches!(error, PlacementError::TooFewBlocks { blocks: 220, .. }), "{error}");
    }

    #[test]
    fn table_iii_is_the_preset_without_wear_levelling() {
        let drive = DriveRule::TableIii.drive(&load(1)).unwrap();
        assert_eq!(drive.flash.page_bytes, TABLE_III_PAGE_BYTES);
        assert!(!drive.wear.static_leveling && !drive.wear.dynamic_leveling);
    }
}
