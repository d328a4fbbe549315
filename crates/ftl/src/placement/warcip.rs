//! WARCIP (Yang, Pei and Yang, "WARCIP: write amplification reduction by clustering I/O pages",
//! SYSTOR 2019): clusters of rewrite intervals that follow the workload.
//!
//! As its abstract and later studies describe it (the paper was not at hand): a host write goes to
//! the cluster whose centre is nearest to the page's rewrite interval, the writes since it was last
//! written, and each cluster has a write frontier; the centre follows the intervals of its pages; a
//! cluster that takes too many writes is split, and one that takes hardly any is merged with its
//! neighbour, so that open blocks are spent where intervals are. A page that had to be moved counts
//! as one of a longer interval.
//!
//! Ours: distances are those of logarithms (in octaves; straight lines between powers of two, which
//! every machine computes alike), since intervals span six decades. A centre
//! moves by 1/256 of the distance to each new interval. Every 4,096 writes the fullest cluster is
//! split if it took more than twice its share, and the two nearest clusters, of which one is the
//! emptiest, are merged for it. A page that was never written before goes to the cluster with the
//! longest interval and does not move its centre. A moved page goes by its age, the interval so
//! far, to one frontier for each cluster apart from host data. In the paper the next interval of a
//! moved page is lengthened by a penalty; others gave moved pages one frontier (`placement.moved =
//! "together"`), which moves more.
//!
//! Cost: 4 B a logical page; six comparisons a write.

use super::per_page::PerPage;
use super::{Policy, Queue, Write};
use crate::number::LogicalPage;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::WARCIP_CLUSTERS;

const CLUSTERS: usize = WARCIP_CLUSTERS as usize;
/// Writes between two looks at the sizes of the clusters.
const PERIOD: u32 = 4_096;
/// How fast a centre follows its intervals.
const RATE: f32 = 1.0 / 256.0;
/// How far the halves of a split cluster lie from its centre, in octaves.
const APART: f32 = 0.5;

/// The binary logarithm of a number above 0, on a straight line between powers of two: exponent and
/// fraction of a floating-point number, as they lie in it.
fn octaves(number: u32) -> f32 {
    (number as f32).to_bits() as f32 / (1 << 23) as f32 - 127.0
}

/// The policy and its clusters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Warcip {
    /// When each page was last written; 0 for never.
    written: PerPage<u32>,
    /// Host writes so far, from 1. Wraps after 4 G, which makes one page in a long life look young.
    now: u32,
    /// The centre of each cluster, as the binary logarithm of an interval.
    centres: [f32; CLUSTERS],
    /// Writes that each cluster took since the sizes were last looked at.
    taken: [u32; CLUSTERS],
}

impl Warcip {
    pub fn new(pages: u64) -> Self {
        // Evenly spread over all octaves of the drive.
        let octaves = octaves(pages.clamp(2, u32::MAX.into()) as u32);
        let centre = |nth| octaves * (nth as f32 + 0.5) / CLUSTERS as f32;
        Self {
            written: PerPage::new(pages as usize),
            now: 1,
            centres: std::array::from_fn(centre),
            taken: [0; CLUSTERS],
        }
    }

    #[cfg(test)]
    pub fn centres(&self) -> [f32; CLUSTERS] {
        self.centres
    }

    /// The rewrite interval of a page that is written now, as a binary logarithm; `None` if it was
    /// never written.
    fn interval(&self, page: LogicalPage) -> Option<f32> {
        let at = self.written[page];
        (at > 0).then(|| octaves(self.now.wrapping_sub(at).max(1)))
    }

    /// The cluster of an interval.
    fn cluster(&self, interval: Option<f32>) -> usize {
        let interval = interval.unwrap_or(f32::MAX);
        let far = |&nth: &usize| (self.centres[nth] - interval).abs();
        let longest = |&nth: &usize| -self.centres[nth];
        let key = |nth: &usize| if interval == f32::MAX { longest(nth) } else { far(nth) };
        (0..CLUSTERS).min_by(|one, other| key(one).total_cmp(&key(other))).unwrap_or(0)
    }

    /// Splits the fullest cluster, if it is far too full; the emptiest is merged with the cluster
    /// nearest to it to make room.
    fn rebalance(&mut self) {
        let all = 0..CLUSTERS;
        let full = all.clone().max_by_key(|&nth| self.taken[nth]).unwrap_or(0);
        let others = || all.clone().filter(move |&nth| nth != full);
        let empty = others().min_by_key(|&nth| self.taken[nth]).unwrap_or(0);
        if self.taken[full] > 2 * PERIOD / CLUSTERS as u32 {
            let gap = |nth: &usize| (self.centres[*nth] - self.centres[empty]).abs();
            let mates = others().filter(|&nth| nth != empty);
            if let Some(mate) = mates.min_by(|one, other| gap(one).total_cmp(&gap(other))) {
                let [one, other] = [empty, mate].map(|nth| self.taken[nth] as f32);
                let share = if one + other > 0.0 { one / (one + other) } else { 0.5 };
                self.centres[mate] += share * (self.centres[empty] - self.centres[mate]);
            }
            self.centres[empty] = self.centres[full] + APART;
            self.centres[full] -= APART;
        }
        self.taken = [0; CLUSTERS];
    }
}

impl Policy for Warcip {
    #[inline]
    fn queue(&self, write: &Write) -> Queue {
        Queue(self.cluster(self.interval(write.page)) as u8)
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
        prefetch(&self.written[page]);
    }

    fn observe(&mut self, write: &Write) {
        let interval = self.interval(write.page);
        let cluster = self.cluster(interval);
        if let Some(interval) = interval {
            self.centres[cluster] += RATE * (interval - self.centres[cluster]);
        }
        self.taken[cluster] += 1;
        self.written.set(write.page, self.now);
        self.now = self.now.wrapping_add(1).max(1);
        if self.now.is_multiple_of(PERIOD) {
            self.rebalance();
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * self.written.len() as u64
    }
}
