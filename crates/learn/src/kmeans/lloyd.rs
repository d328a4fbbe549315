//! Lloyd's steps over column-wise copies of the points.

use super::EmptyCluster;
use ndarray::{Array2, ArrayView2};
use pulp::Arch;

/// Points of a block share the caches' nearest level with their best distances and labels.
const BLOCK: usize = 512;

/// What the steps ended with.
pub(super) struct Settled {
    pub(super) centroids: Array2<f64>,
    pub(super) labels: Vec<u32>,
    pub(super) counts: Vec<u64>,
    /// Sum of squared distances of the points to the centroids they are labelled with.
    pub(super) inertia: f64,
    pub(super) iterations: usize,
    pub(super) converged: bool,
}

/// Points as columns, with room for each point's nearest centroid.
struct Points {
    columns: Vec<Vec<f64>>,
    labels: Vec<u32>,
    squared: Vec<f64>,
}

/// Steps from `centroids` until no label changes, `max_iterations` at most.
pub(super) fn settle(
    x: ArrayView2<'_, f64>,
    centroids: Array2<f64>,
    max_iterations: usize,
    empty: EmptyCluster,
) -> Settled {
    let rows = x.nrows();
    let columns = x.columns().into_iter().map(|column| column.to_vec()).collect();
    let mut points = Points { columns, labels: vec![0; rows], squared: vec![0.0; rows] };
    let mut centroids = centroids;
    let mut counts = vec![0u64; centroids.nrows()];
    let (arch, mut iterations, mut converged) = (Arch::new(), 0, false);
    let mut before = Vec::new();
    arch.dispatch(
        #[inline(always)]
        || points.assign(&centroids),
    );
    while iterations < max_iterations && !converged {
        iterations += 1;
        points.move_centroids(&mut centroids, &mut counts, empty);
        before.clone_from(&points.labels);
        arch.dispatch(
            #[inline(always)]
            || points.assign(&centroids),
        );
        converged = before == points.labels;
    }
    counts.fill(0);
    for &label in &points.labels {
        counts[label as usize] += 1;
    }
    let inertia = points.squared.iter().sum();
    Settled { centroids, labels: points.labels, counts, inertia, iterations, converged }
}

impl Points {
    /// Labels every point with its nearest centroid, the first of equals.
    #[inline(always)]
    fn assign(&mut self, centroids: &Array2<f64>) {
        let mut distance = [0.0f64; BLOCK];
        let mut best = [0.0f64; BLOCK];
        let mut label = [0u64; BLOCK];
        for start in (0..self.labels.len()).step_by(BLOCK) {
            let end = (start + BLOCK).min(self.labels.len());
            let length = end - start;
            for (cluster, centroid) in centroids.rows().into_iter().enumerate() {
                distance[..length].fill(0.0);
                for (column, &centre) in self.columns.iter().zip(centroid) {
                    for (sum, &value) in distance[..length].iter_mut().zip(&column[start..end]) {
                        *sum += (value - centre) * (value - centre);
                    }
                }
                let first = cluster == 0;
                for i in 0..length {
                    let nearer = first || distance[i] < best[i];
                    best[i] = if nearer { distance[i] } else { best[i] };
                    label[i] = if nearer { cluster as u64 } else { label[i] };
                }
            }
            self.squared[start..end].copy_from_slice(&best[..length]);
            for (kept, &found) in self.labels[start..end].iter_mut().zip(&label[..length]) {
                *kept = found as u32;
            }
        }
    }

    /// Moves each centroid to the mean of its points.
    fn move_centroids(
        &mut self,
        centroids: &mut Array2<f64>,
        counts: &mut [u64],
        empty: EmptyCluster,
    ) {
        counts.fill(0);
        for &label in &self.labels {
            counts[label as usize] += 1;
        }
        if empty == EmptyCluster::Farthest {
            self.fill_empty(counts);
        }
        let mut sums = vec![0.0; counts.len()];
        for (column, cells) in self.columns.iter().enumerate() {
            sums.fill(0.0);
            for (&label, &value) in self.labels.iter().zip(cells) {
                sums[label as usize] += value;
            }
            for (cluster, &sum) in sums.iter().enumerate() {
                if counts[cluster] > 0 {
                    centroids[[cluster, column]] = sum / counts[cluster] as f64;
                }
            }
        }
    }

    /// Gives each cluster without points the farthest point of a cluster that can spare one.
    fn fill_empty(&mut self, counts: &mut [u64]) {
        for cluster in 0..counts.len() {
            if counts[cluster] > 0 {
                continue;
            }
            let mut farthest = None;
            for (point, &squared) in self.squared.iter().enumerate() {
                let can_spare = counts[self.labels[point] as usize] > 1;
                if can_spare && farthest.is_none_or(|f: usize| squared > self.squared[f]) {
                    farthest = Some(point);
                }
            }
            let Some(point) = farthest else { return };
            counts[self.labels[point] as usize] -= 1;
            counts[cluster] = 1;
            self.labels[point] = cluster as u32;
            self.squared[point] = 0.0;
        }
    }
}
