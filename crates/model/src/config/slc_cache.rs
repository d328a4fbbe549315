//! Blocks that are written with one bit in each cell, as a cache in front of denser cells.

use super::{DeviceConfig, GcUnit};
use crate::units::Nanos;

/// The cache of blocks in SLC mode. Host writes go there while there is room; later their data are
/// moved to blocks with all bits (folded).
#[derive(Clone, Debug, PartialEq)]
pub struct SlcCache {
    /// Blocks of each plane that are kept for SLC mode; 0 if none are.
    pub static_blocks: u32,
    /// Host writes fill further free blocks in SLC mode while more than this share of a plane's
    /// blocks is free; 1 if none are filled so.
    pub dynamic_above: f64,
    /// When the drive has had nothing to do for the host for this long, blocks in SLC mode are
    /// folded; 0 if never.
    pub fold_after: Nanos,
    /// Time to read a page of a block in SLC mode.
    pub read_latency: Nanos,
    /// Time to program a page of a block in SLC mode.
    pub program_latency: Nanos,
    /// Time to erase a block in SLC mode.
    pub erase_latency: Nanos,
}

impl SlcCache {
    /// Whether blocks are written in SLC mode at all.
    pub fn is_on(&self) -> bool {
        self.static_blocks > 0 || self.dynamic_above < 1.0
    }
}

impl Default for SlcCache {
    fn default() -> Self {
        Self {
            static_blocks: 0,
            dynamic_above: 1.0,
            fold_after: Nanos::from_ms(100),
            read_latency: Nanos::from_us(25),
            program_latency: Nanos::from_us(200),
            erase_latency: Nanos::from_ms(3),
        }
    }
}

impl DeviceConfig {
    /// Pages that a block (or superblock) holds in SLC mode, as it is allocated: one for each
    /// cell's first bit. `None` without an SLC cache.
    pub fn slc_pages_per_block(&self) -> Option<u32> {
        if !self.slc_cache.is_on() {
            return None;
        }
        let bits = self.flash.technology.page_types().len() as u32;
        let rows = self.flash.pages_per_block / bits;
        let wide = self.allocation_geometry().pages_per_block / self.flash.pages_per_block;
        Some(rows * wide)
    }

    /// Pages of the stripes that are filled together, of blocks in SLC mode: what one program
    /// command for each of their dies carries at most.
    pub fn slc_stripe(&self) -> u32 {
        match self.gc.unit {
            GcUnit::Block => 1,
            _ => self.geometry().planes_per_die * self.stripes_together(),
        }
    }
}
