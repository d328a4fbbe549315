//! DAC, dynamic data clustering (Chiang, Lee and Chang, "Using data clustering to improve cleaning
//! performance for flash memory", 1999): regions from cold to hot that pages climb and fall.
//!
//! As the paper is described by later studies (it was not at hand): each region has write frontiers
//! of its own. A page that is updated while it is young in its region is promoted to the next
//! hotter one, otherwise it stays. A page that is moved by cleaning after it has grown old in its
//! region is demoted to the next colder one, otherwise it stays. A page begins in the coldest
//! region.
//!
//! Ours: six regions, as in later studies. Time counts host writes; a page is young in a region
//! until as many writes have passed since it was written as the drive has logical pages, and half
//! as many for each hotter region. The paper writes and moves pages of a region to one block
//! (`placement.moved = "with-host"`); by default they are kept apart here, which moves less.
//!
//! Cost: 5 B a logical page; one look-up for a write and for a move.

use super::per_page::PerPage;
use super::{Cause, Policy, Queue, Write};
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::DAC_REGIONS;

/// The coldest region. The hottest is 0.
const COLDEST: u8 = DAC_REGIONS as u8 - 1;

/// The policy: where each page is, and since when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dac {
    /// When each page was last written; 0 for never.
    written: PerPage<u32>,
    /// How many regions each page is from the coldest.
    heat: PerPage<u8>,
    /// Host writes so far, from 1. Wraps after 4 G, which makes one page in a long life look young.
    now: u32,
}

impl Dac {
    pub fn new(pages: u64) -> Self {
        Self { written: PerPage::new(pages as usize), heat: PerPage::new(pages as usize), now: 1 }
    }

    /// The region of a page.
    #[inline]
    fn region(&self, page: LogicalPage) -> u8 {
        COLDEST - self.heat[page]
    }

    /// Puts a page into a region.
    #[inline]
    fn set_region(&mut self, page: LogicalPage, region: Queue) {
        self.heat.set(page, COLDEST - region.0);
    }

    /// Whether a page is young in its region.
    fn is_young(&self, page: LogicalPage) -> bool {
        let at = self.written[page];
        let limit = self.written.len() as u64 >> self.heat[page];
        at > 0 && u64::from(self.now.wrapping_sub(at)) < limit
    }
}

impl Policy for Dac {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        let (region, is_young) = (self.region(write.page), self.is_young(write.page));
        Queue(match write.cause {
            Cause::Host if is_young => region.saturating_sub(1),
            Cause::Move(_) if !is_young => (region + 1).min(COLDEST),
            _ => region,
        })
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        prefetch(&self.written[page]);
        prefetch(&self.heat[page]);
    }

    fn observe(&mut self, write: &Write) {
        self.set_region(write.page, self.queue(write));
        self.written.set(write.page, self.now);
        self.now = self.now.wrapping_add(1).max(1);
    }

    fn moved(&mut self, write: &Write) {
        self.set_region(write.page, self.queue(write));
    }

    fn memory_bytes(&self) -> u64 {
        5 * self.written.len() as u64
    }
}
