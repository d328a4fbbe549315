//! The drive that serves a load: the one of HAML-SSD's Table III, or one sized by the load.

use crate::error::PlacementError;
use crate::load::Load;
use ssdtune_model::{DeviceConfig, presets};

/// Spare share of the raw capacity in Table III: 44 GB of 300 GB.
pub const TABLE_III_SPARE: f64 = 44.0 / 300.0;
/// Bytes of a flash page in Table III.
pub const TABLE_III_PAGE_BYTES: u32 = 8_192;

/// Most blocks of a plane: planes of real flash are not larger either.
const PLANE_BLOCKS: u64 = 4_096;
/// Fewest blocks of a drive, as long as blocks have the smallest number of pages or more.
const DRIVE_BLOCKS: u64 = 2_048;
/// Pages of a block: as in Table III where the drive is large enough, and the fewest.
const BLOCK_PAGES: [u64; 2] = [256, 16];
/// Fewest blocks at all. With fewer, the write frontiers of a policy would take most of the spare
/// blocks.
const LEAST_BLOCKS: u64 = 256;

/// Which drive a load is served by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DriveRule {
    /// The drive of Table III, 300 GB raw, whatever the load needs.
    TableIii,
    /// A drive that the load fills.
    Sized(Sizing),
}

/// How a drive is sized by its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    /// Share of the raw capacity that the written pages leave free, 0.01 to 0.9.
    pub spare: f64,
    /// Bytes of a flash page.
    pub page_bytes: u32,
    /// Fewest planes.
    pub planes_min: u32,
}

impl Default for Sizing {
    /// As Table III, with one plane or more.
    fn default() -> Self {
        Self { spare: TABLE_III_SPARE, page_bytes: TABLE_III_PAGE_BYTES, planes_min: 1 }
    }
}

impl DriveRule {
    /// Bytes of a flash page of every drive.
    pub fn page_bytes(&self) -> u32 {
        match self {
            Self::TableIii => TABLE_III_PAGE_BYTES,
            Self::Sized(sizing) => sizing.page_bytes,
        }
    }

    /// The rule in words, for reports.
    pub fn describe(&self) -> String {
        match self {
            Self::TableIii => "the drive of Table III".to_owned(),
            Self::Sized(sizing) => sizing.describe(),
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
        }
    }
}

/// Fewest planes of a drive whose requests are timed: a single plane would serve one write at a
/// time.
const TIMED_PLANES: u32 = 4;

impl Sizing {
    /// A sizing by its share of spare capacity and its pages, for a drive whose requests are timed
    /// or not.
    pub fn asked(spare: f64, page_bytes: u32, is_timed: bool) -> Self {
        Self { spare, page_bytes, planes_min: if is_timed { TIMED_PLANES } else { 1 } }
    }

    fn describe(&self) -> String {
        format!(
            "visible capacity = pages the load writes, {:.2} % of the raw capacity spare; {} B \
             pages; {} pages a block, halved to {} at least while the drive has fewer than \
             {DRIVE_BLOCKS} blocks; planes of {PLANE_BLOCKS} blocks at most; greedy collection as \
             late as the frontiers allow",
            100.0 * self.spare,
            self.page_bytes,
            BLOCK_PAGES[0],
            BLOCK_PAGES[1],
        )
    }

    fn drive(&self, load: &Load) -> Result<DeviceConfig, PlacementError> {
        let visible = u64::from(load.footprint_pages);
        let raw = (visible as f64 / (1.0 - self.spare)).ceil() as u64;
        let mut pages = BLOCK_PAGES[0];
        while raw / pages < DRIVE_BLOCKS && pages > BLOCK_PAGES[1] {
            pages /= 2;
        }
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
        let planes = blocks.div_ceil(PLANE_BLOCKS).next_power_of_two().max(self.planes_min.into());
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
