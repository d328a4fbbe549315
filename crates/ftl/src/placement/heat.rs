//! Counters of updates, one for each region of logical pages. They age without being visited.
//!
//! A region is one page, or as many pages as keep the table within `CELLS_MAX` cells (1 MiB, the
//! size of a core's second-level cache). A cell has 4 B: the window of time in which it was last
//! updated (8 bits), one bit for each of the eight windows before that (was it updated then?), and
//! the number of updates in its last window (16 bits).

use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// Regions at most.
const CELLS_MAX: u64 = 1 << 18;

/// What is known of a region at present. A window is a span of time that the policy sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Warmth {
    /// Updates in the present window.
    pub updates: u32,
    /// Updates in the window of the last update.
    pub updates_then: u32,
    /// Windows since the last update, at most 255.
    pub age: u32,
    /// Whether the region was updated in each of the eight windows before the present one. The
    /// lowest bit is the latest.
    pub history: u8,
}

/// The counters of all regions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Heat {
    cells: Vec<u32>,
    shift: u32,
    window: u64,
}

impl Heat {
    /// Counters for a number of logical pages.
    pub fn new(pages: u64) -> Self {
        let (cells, shift) = Self::cells_for(pages);
        Self { cells: vec![0; cells], shift, window: 0 }
    }

    /// Memory of the counters for a number of logical pages, in bytes.
    pub fn bytes_for(pages: u64) -> u64 {
        4 * Self::cells_for(pages).0 as u64
    }

    /// How many cells a number of logical pages has, and the logarithm of the pages of each.
    fn cells_for(pages: u64) -> (usize, u32) {
        let mut shift = 0;
        while (pages >> shift) >= CELLS_MAX {
            shift += 1;
        }
        ((pages >> shift) as usize + 1, shift)
    }

    /// Pages of a region.
    pub fn region_pages(&self) -> u32 {
        1 << self.shift
    }

    /// Number of regions.
    pub fn regions(&self) -> usize {
        self.cells.len()
    }

    /// Prefetches the cache line of a page's counter.
    #[inline]
    pub fn prefetch_page(&self, page: LogicalPage) {
        prefetch(&self.cells[(page.0 >> self.shift) as usize]);
    }

    /// What is known of a page's region.
    #[inline]
    pub fn warmth(&self, page: LogicalPage) -> Warmth {
        self.warmth_of((page.0 >> self.shift) as usize)
    }

    /// What is known of a region.
    #[inline]
    pub fn warmth_of(&self, region: usize) -> Warmth {
        let cell = self.cells[region];
        let (then, history, updates) = (cell >> 24, (cell >> 16) as u8, cell & 0xffff);
        let age = (self.window as u32).wrapping_sub(then) & 0xff;
        // Without branches, since ages come in no order that the CPU could predict. What leaves the
        // eight windows is shifted out of the byte.
        let shifted = u64::from(history) << 1 | u64::from(updates > 0);
        let history = ((shifted << age.min(16)) >> 1) as u8;
        let current = if age == 0 { updates } else { 0 };
        Warmth { updates: current, updates_then: updates, age, history }
    }

    /// Counts an update. `kept` says how many updates of earlier windows a cell starts its new
    /// window with.
    #[inline]
    pub fn touch(&mut self, page: LogicalPage, kept: impl Fn(Warmth) -> u32) {
        let region = (page.0 >> self.shift) as usize;
        let warmth = self.warmth_of(region);
        let kept = kept(warmth);
        let before = if warmth.age == 0 { warmth.updates } else { kept };
        let updates = (before + 1).min(0xffff);
        let window = self.window as u32 & 0xff;
        self.cells[region] = window << 24 | u32::from(warmth.history) << 16 | updates;
    }

    /// Begins the next window. Cells that nobody has updated for half of the 256 window numbers are
    /// reset, so that they do not look young when the numbers start again.
    pub fn next_window(&mut self) {
        self.window += 1;
        if self.window.is_multiple_of(128) {
            let now = self.window as u32;
            for cell in &mut self.cells {
                if now.wrapping_sub(*cell >> 24) & 0xff >= 64 {
                    // As old as a cell can look, and empty.
                    *cell = (now.wrapping_sub(64) & 0xff) << 24;
                }
            }
        }
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        4 * self.cells.len() as u64
    }
}
