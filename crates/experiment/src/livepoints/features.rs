//! What a window is like, in a few numbers: for those who sort windows into kinds.

use super::recency::{Lane, depth};
use super::record::NEVER;
use super::{Run, TAIL, Window};
use serde::Serialize;
use ssdtune_trace::describe::AccessPattern;
use ssdtune_trace::{Op, Request};

/// What the measured requests of a window are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Features {
    /// Reads among reads and writes, 0 to 1.
    pub read_share: f64,
    /// The mean size of reads and writes in bytes.
    pub mean_bytes: f64,
    /// Requests that begin where the one before ended, 0 to 1.
    pub sequential_share: f64,
    /// Requests that neither do so nor keep a stride, 0 to 1.
    pub random_share: f64,
    /// Nanoseconds between two requests, in the mean.
    pub mean_gap_ns: f64,
    /// Requests that come less than 50 us after the one before, 0 to 1: how much comes in bursts.
    pub burst_share: f64,
    /// Pages of the drive that the whole window touches.
    pub footprint_pages: f64,
    /// Those of them that the trace had not used before, 0 to 1.
    pub new_share: f64,
    /// The mean binary logarithm of how many pages were used since the others' last use.
    pub depth_log2: f64,
}

/// A request that comes so soon after the one before belongs to a burst.
const BURST_NS: u64 = 50_000;

impl Window {
    /// What the window is like. Cost: some 50 us for 1,000 requests.
    pub fn features(&self) -> Features {
        let end = self.requests.len().saturating_sub(TAIL as usize);
        let measured = &self.requests[(self.warm_up as usize).min(end)..end];
        let moves = |request: &&Request| matches!(request.op, Op::Read | Op::Write);
        let count = measured.iter().filter(moves).count().max(1) as f64;
        let reads = measured.iter().filter(|request| request.op == Op::Read).count() as f64;
        let pairs = (measured.len().max(2) - 1) as f64;
        let follows = |pair: &&[Request]| pair[1].lba == pair[0].end();
        let gap = |pair: &[Request]| pair[1].at.0.saturating_sub(pair[0].at.0);
        let gaps = || measured.windows(2).map(gap);
        let AccessPattern { mean_bytes, random_share, .. } =
            AccessPattern::of(measured.iter().filter(moves));
        let pages: u64 = self.before.iter().map(|run| u64::from(run.pages)).sum();
        let known = |run: &&Run| run.record.touch != NEVER;
        let old: u64 = self.before.iter().filter(known).map(|run| u64::from(run.pages)).sum();
        let log = |run: &Run| {
            let since = depth(&self.depths, run.record.touch, Lane::Touched as usize);
            f64::from(run.pages) * (1.0 + since).log2()
        };
        let logs: f64 = self.before.iter().filter(known).map(log).sum();
        Features {
            read_share: reads / count,
            mean_bytes,
            sequential_share: measured.windows(2).filter(follows).count() as f64 / pairs,
            random_share,
            mean_gap_ns: gaps().sum::<u64>() as f64 / pairs,
            burst_share: gaps().filter(|&gap| gap < BURST_NS).count() as f64 / pairs,
            footprint_pages: pages as f64,
            new_share: (pages - old) as f64 / pages.max(1) as f64,
            depth_log2: logs / old.max(1) as f64,
        }
    }
}

impl Features {
    /// How many numbers [`Features::vector`] has.
    pub const COUNT: usize = 9;

    /// The features on scales on which distances mean something: shares as they are, sizes and
    /// times as logarithms.
    pub fn vector(&self) -> [f64; Self::COUNT] {
        [
            self.read_share,
            (1.0 + self.mean_bytes).log2(),
            self.sequential_share,
            self.random_share,
            (1.0 + self.mean_gap_ns).log2(),
            self.burst_share,
            (1.0 + self.footprint_pages).log2(),
            self.new_share,
            self.depth_log2,
        ]
    }
}
