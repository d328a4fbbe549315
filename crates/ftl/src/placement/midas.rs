//! The chain of groups of MiDAS (Oh and others, "MiDAS: minimizing write amplification in
//! log-structured systems through adaptive group number and size configuration", FAST 2024).
//!
//! As its abstract and later studies describe it (the paper was not at hand): host writes go to the
//! first group, those of hot pages to a hot group before it. A page that has to be moved goes from
//! its group to the next one, so a page's group tells how often it outlived its block; pages of the
//! last group stay there. What is hot is decided by the distribution of update intervals, which is
//! measured on a sample of the pages.
//!
//! Ours: six groups behind the first. A page is hot if the version that it overwrites lived for at
//! most h writes. h is set every half a drive of writes, from the update intervals of one page in
//! 16: of all powers of two the one that makes (share of writes with shorter intervals) x (1 - h /
//! logical pages) largest, the most writes for the least room.
//!
//! Left out: the paper also sets the sizes of its groups by a model of the chain, and collects the
//! group that exceeds its size, oldest block first. Here victims are chosen by `gc.policy`, so
//! sizes are what comes of it, and the number of groups is fixed.
//!
//! Cost: 4 B a logical page.

use super::per_page::PerPage;
use super::{Cause, Policy, Queue, Write};
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::MIDAS_GROUPS;

/// Queues of host data: the hot group and the first group.
const HOT: Queue = Queue(0);
const FIRST: Queue = Queue(1);
/// The last group.
const LAST: u8 = FIRST.0 + MIDAS_GROUPS as u8;
/// Logical pages for each one whose update intervals are sampled.
const SAMPLED: u64 = 16;
/// Windows in the time of as many writes as there are logical pages.
const WINDOWS: u64 = 2;

/// The policy, its sample and its threshold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Midas {
    /// When each page was last written; 0 for never.
    written: PerPage<u32>,
    /// Host writes so far, from 1. Wraps after 4 G, which makes one page in a long life look young.
    now: u32,
    /// The longest life that makes a page hot, in writes.
    hot: u32,
    /// Writes of sampled pages in this window by the bits of their intervals: n of them are below
    /// 2^n.
    intervals: [u32; 32],
    /// Writes that are left in this window.
    left: u64,
}

impl Midas {
    pub fn new(pages: u64) -> Self {
        let left = (pages / WINDOWS).max(1);
        let written = PerPage::new(pages as usize);
        Self { written, now: 1, hot: 0, intervals: [0; 32], left }
    }

    /// Host writes since a page was last written; the largest number if it never was.
    fn age(&self, page: LogicalPage) -> u32 {
        match self.written[page] {
            0 => u32::MAX,
            at => self.now.wrapping_sub(at),
        }
    }

    /// Sets the threshold by the intervals of the window, and begins the next.
    fn adapt(&mut self) {
        let pages = self.written.len() as f64;
        let (mut shorter, mut best) = (0, (0.0, 0));
        for (bits, &count) in (0u32..).zip(&self.intervals) {
            shorter += count;
            let below = 1u64 << bits;
            let worth = f64::from(shorter) * (1.0 - below as f64 / pages);
            if worth > best.0 {
                best = (worth, (below - 1).min(u32::MAX.into()) as u32);
            }
        }
        self.hot = best.1;
        self.intervals = [0; 32];
        self.left = (self.written.len() as u64 / WINDOWS).max(1);
    }
}

impl Policy for Midas {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        match write.cause {
            Cause::Host if self.age(write.page) <= self.hot => HOT,
            Cause::Host => FIRST,
            // What leaves the hot group goes where what leaves the first group goes.
            Cause::Move(Queue(group)) => Queue((group.max(FIRST.0) + 1).min(LAST)),
        }
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        prefetch(&self.written[page]);
    }

    fn observe(&mut self, write: &Write) {
        if write.page.0.is_multiple_of(SAMPLED) {
            let age = self.age(write.page);
            let bits = (u32::BITS - age.leading_zeros()).min(31);
            self.intervals[bits as usize] += u32::from(age < u32::MAX);
        }
        self.written.set(write.page, self.now);
        self.now = self.now.wrapping_add(1).max(1);
        self.left -= 1;
        if self.left == 0 {
            self.adapt();
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * self.written.len() as u64
    }
}
