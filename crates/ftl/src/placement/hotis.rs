//! HOTIS (Gu et al., 2017): hot and cold data by constant thresholds. Data that are updated again
//! and again at long intervals count as hot, too.
//!
//! As the HAML-SSD paper describes it: two clusters, constant thresholds, and long-interval hot
//! data. The details are ours. Time is cut into windows; a window has as many writes as a sixteenth
//! of the logical pages. A page is hot if it was updated before in this window, or in at least two
//! of the eight windows before. The original counts in Bloom filters; a table that fits into a CPU
//! cache is at least as exact.

use super::heat::Heat;
use super::{Policy, Queue, Write};
use crate::number::LogicalPage;
use serde::{Deserialize, Serialize};

/// Windows in the time of as many writes as there are logical pages.
const WINDOWS: u64 = 16;
/// Updates in the present window that make a page hot.
const RECENT: u32 = 1;
/// Windows with an update, of the last eight, that make a page hot.
const LONG_INTERVAL: u32 = 2;

const HOT: Queue = Queue(0);
const COLD: Queue = Queue(1);

/// The policy and its counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hotis {
    heat: Heat,
    /// Writes of a window.
    window_writes: u64,
    /// Writes that are left in the present window.
    left: u64,
}

impl Hotis {
    pub fn new(pages: u64) -> Self {
        let window_writes = (pages / WINDOWS).max(64);
        Self { heat: Heat::new(pages), window_writes, left: window_writes }
    }
}

impl Policy for Hotis {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        let warmth = self.heat.warmth(write.page);
        let recent = warmth.updates >= RECENT * self.heat.region_pages();
        let is_hot = recent || warmth.history.count_ones() >= LONG_INTERVAL;
        if is_hot { HOT } else { COLD }
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        self.heat.prefetch_page(page);
    }

    #[inline]
    fn observe(&mut self, write: &Write) {
        self.heat.touch(write.page, |_| 0);
        self.left -= 1;
        if self.left == 0 {
            self.left = self.window_writes;
            self.heat.next_window();
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.heat.memory_bytes()
    }
}
