//! ASA-FTL (Xie et al., 2017): hot, warm and cold by k-means over update frequency, learned from a sample.
//!
//! As HAML-SSD describes it: one dimension, K = 3, sampling instead of slices. Ours: each region has a counter
//! that is halved in every window (as many writes as a quarter of the logical pages), every window clusters the
//! counters of a sample of at most 4,096 regions that are evenly spread, and the middles between the three
//! centroids are the thresholds of the next window. About 0.1 ms for a training.

use super::heat::{Heat, Warmth};
use super::{Policy, Write};
use serde::{Deserialize, Serialize};

const WINDOWS: u64 = 4;
const SAMPLE: usize = 4096;
const ITERATIONS: u32 = 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AsaFtl {
    heat: Heat,
    window_writes: u64,
    left: u64,
    /// Updates from which on a region is hot, and warm.
    thresholds: [f32; 2],
}

/// What is left of the updates of earlier windows: half after each.
#[inline]
fn faded(warmth: Warmth) -> u32 {
    (u64::from(warmth.updates_then) >> warmth.age.min(63)) as u32
}

impl AsaFtl {
    pub fn new(pages: u64) -> Self {
        let window_writes = (pages / WINDOWS).max(64);
        // Until the first training everything is cold.
        let thresholds = [f32::INFINITY; 2];
        Self { heat: Heat::new(pages), window_writes, left: window_writes, thresholds }
    }

    pub fn memory_bytes(&self) -> u64 {
        self.heat.memory_bytes()
    }

    #[cold]
    fn train(&mut self) {
        // The sample is on the scale that the next window begins with.
        self.heat.next_window();
        let step = self.heat.regions().div_ceil(SAMPLE);
        let mut sample: Vec<f32> = (0..self.heat.regions())
            .step_by(step)
            .map(|region| faded(self.heat.warmth_of(region)) as f32)
            .collect();
        sample.sort_unstable_by(f32::total_cmp);
        self.thresholds = thresholds(&sample);
        self.left = self.window_writes;
    }
}

/// The middles between the centroids of hot and warm, warm and cold, of a sorted sample: one-dimensional k-means
/// from the smallest value, the largest and the one between by ratio, since few regions have most of the updates.
pub(super) fn thresholds(sorted: &[f32]) -> [f32; 2] {
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
        return [f32::INFINITY; 2];
    };
    if least == most {
        return [f32::INFINITY; 2];
    }
    let mut centroids = [least, ((least + 1.0) * (most + 1.0)).sqrt() - 1.0, most];
    let bound = |centroids: &[f32; 3], index: usize| {
        let middle = f32::midpoint(centroids[index], centroids[index + 1]);
        (middle, sorted.partition_point(|&value| value < middle))
    };
    for _ in 0..ITERATIONS {
        let ends = [0, bound(&centroids, 0).1, bound(&centroids, 1).1, sorted.len()];
        let before = centroids;
        for (index, centroid) in centroids.iter_mut().enumerate() {
            let own = &sorted[ends[index]..ends[index + 1].max(ends[index])];
            if !own.is_empty() {
                *centroid = own.iter().sum::<f32>() / own.len() as f32;
            }
        }
        if centroids == before {
            break;
        }
    }
    [bound(&centroids, 1).0, bound(&centroids, 0).0]
}

impl Policy for AsaFtl {
    #[inline]
    fn queue(&self, write: &Write) -> u8 {
        let updates = faded(self.heat.warmth(write.page)) as f32;
        let [hot, warm] = self.thresholds;
        u8::from(updates < hot) + u8::from(updates < warm)
    }

    #[inline]
    fn prefetch_page(&self, page: u64) {
        self.heat.prefetch_page(page);
    }

    #[inline]
    fn observe(&mut self, write: &Write) {
        self.heat.touch(write.page, faded);
        self.left -= 1;
        if self.left == 0 {
            self.train();
        }
    }
}
