//! Update counters of regions of logical pages that age without being visited.
//!
//! A region is one page, or as many as keep the table within `CELLS_MAX` cells (1 MiB, the second-level cache of
//! a core). A cell is 4 B: the window in which it was last touched (8 bits), a bit for each of the eight windows
//! before that in which it was updated, and its updates in that window (16 bits).

use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

const CELLS_MAX: u64 = 1 << 18;

/// What is known of a region now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Warmth {
    /// Updates in this window.
    pub updates: u32,
    /// Updates in the window of the last touch.
    pub updates_then: u32,
    /// Windows since the last touch, 255 at most.
    pub age: u32,
    /// The eight windows before this one, the latest in the lowest bit: was it updated?
    pub history: u8,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Heat {
    cells: Vec<u32>,
    shift: u32,
    window: u64,
}

impl Heat {
    pub fn new(pages: u64) -> Self {
        let mut shift = 0;
        while (pages >> shift) >= CELLS_MAX {
            shift += 1;
        }
        Self { cells: vec![0; (pages >> shift) as usize + 1], shift, window: 0 }
    }

    /// Pages of a region.
    pub fn region_pages(&self) -> u32 {
        1 << self.shift
    }

    pub fn regions(&self) -> usize {
        self.cells.len()
    }

    /// Asks for the cache line of a page's cell.
    #[inline]
    pub fn prefetch_page(&self, page: u64) {
        prefetch(&self.cells[(page >> self.shift) as usize]);
    }

    #[inline]
    pub fn warmth(&self, page: u64) -> Warmth {
        self.warmth_of((page >> self.shift) as usize)
    }

    #[inline]
    pub fn warmth_of(&self, region: usize) -> Warmth {
        let cell = self.cells[region];
        let (then, history, updates) = (cell >> 24, (cell >> 16) as u8, cell & 0xffff);
        let age = (self.window as u32).wrapping_sub(then) & 0xff;
        // Ages follow each other in no order that a branch could be foreseen by. What leaves the eight windows is
        // shifted out of the byte.
        let shifted = u64::from(history) << 1 | u64::from(updates > 0);
        let history = ((shifted << age.min(16)) >> 1) as u8;
        let current = if age == 0 { updates } else { 0 };
        Warmth { updates: current, updates_then: updates, age, history }
    }

    /// An update; `kept` says how many updates a cell of another window begins with.
    #[inline]
    pub fn touch(&mut self, page: u64, kept: impl Fn(Warmth) -> u32) {
        let region = (page >> self.shift) as usize;
        let warmth = self.warmth_of(region);
        let kept = kept(warmth);
        let before = if warmth.age == 0 { warmth.updates } else { kept };
        let updates = (before + 1).min(0xffff);
        let window = self.window as u32 & 0xff;
        self.cells[region] = window << 24 | u32::from(warmth.history) << 16 | updates;
    }

    /// The next window begins. Cells that nobody has touched for half of the 256 numbers are reset.
    pub fn next_window(&mut self) {
        self.window += 1;
        if self.window.is_multiple_of(128) {
            let now = self.window as u32;
            for cell in &mut self.cells {
                if now.wrapping_sub(*cell >> 24) & 0xff >= 64 {
                    // As old as it can be told to be, and empty.
                    *cell = (now.wrapping_sub(64) & 0xff) << 24;
                }
            }
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        4 * self.cells.len() as u64
    }
}
