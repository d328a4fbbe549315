//! ASA-FTL (Xie et al., 2017): hot, warm and cold data by k-means over update frequency, learned
//! from a sample.
//!
//! As the HAML-SSD paper describes it: one dimension, K = 3, sampling instead of slices. The
//! details are ours. Each region of pages has a counter that is halved in every window; a window
//! has as many writes as a quarter of the logical pages. At the end of each window, k-means
//! clusters the counters of at most 4,096 regions that are evenly spread. The middles between the
//! three centroids are the thresholds of the next window. A training takes about 0.1 ms.

use super::heat::{Heat, Warmth};
use super::{Policy, Queue, Write};
use crate::number::LogicalPage;
use serde::{Deserialize, Serialize};

/// Windows in the time of as many writes as there are logical pages.
const WINDOWS: u64 = 4;
/// Regions in a sample, at most.
const SAMPLE: usize = 4096;
/// Iterations of k-means, at most.
const ITERATIONS: u32 = 10;

/// The policy, its counters and its thresholds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AsaFtl {
    heat: Heat,
    /// Writes of a window.
    window_writes: u64,
    /// Writes that are left in the present window.
    left: u64,
    /// Updates from which a region is hot, and from which it is warm.
    thresholds: [f32; 2],
}

/// What is left of the updates of earlier windows: they are halved in each window.
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

    /// Ends a window: clusters a sample of the counters and sets the thresholds.
    #[cold]
    fn train(&mut self) {
        // The sample must have the scale that the next window begins with.
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

/// The middles between the centroids of hot and warm, and of warm and cold, of a sorted sample:
/// k-means in one dimension. It starts from the largest value, the smallest, and the geometric
/// middle of both, since few regions have most of the updates.
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
    fn queue(&self, write: &Write) -> Queue {
        let updates = faded(self.heat.warmth(write.page)) as f32;
        let [hot, warm] = self.thresholds;
        Queue(u8::from(updates < hot) + u8::from(updates < warm))
    }

    #[inline]
    fn prefetch_page(&self, page: LogicalPage) {
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

    fn memory_bytes(&self) -> u64 {
        self.heat.memory_bytes()
    }
}
