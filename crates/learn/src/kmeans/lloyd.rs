//! Lloyd's steps: label every point with its nearest centroid, move every centroid to its points.

use super::EmptyCluster;
use crate::vmath::vectorised;
use ndarray::{Array2, ArrayView2};

/// Number of points whose distances are computed together, so that both stay in the first-level
/// cache.
const LANES: usize = 128;

/// Where the steps ended.
pub(super) struct Settled {
    pub(super) centroids: Array2<f64>,
    /// The cluster of each point.
    pub(super) labels: Vec<u32>,
    /// Number of points of each cluster.
    pub(super) counts: Vec<u64>,
    /// Sum of squared distances of the points to the centroids they are labelled with.
    pub(super) inertia: f64,
    pub(super) iterations: usize,
    /// Whether the last step changed no label.
    pub(super) converged: bool,
}

/// The points column by column, and the nearest centroid of each.
struct Points {
    columns: Vec<Vec<f64>>,
    labels: Vec<u32>,
    /// Squared distance of each point to its nearest centroid.
    squared: Vec<f64>,
}

/// Repeats steps from `centroids` until no label changes, at most `max_iterations` times.
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
    let (mut iterations, mut converged) = (0, false);
    let mut before = Vec::new();
    points.assign(&centroids);
    while iterations < max_iterations && !converged {
        iterations += 1;
        points.move_centroids(&mut centroids, &mut counts, empty);
        before.clone_from(&points.labels);
        points.assign(&centroids);
        converged = before == points.labels;
    }
    counts.fill(0);
    for &label in &points.labels {
        counts[label as usize] += 1;
    }
    let inertia = points.squared.iter().sum();
    Settled { centroids, labels: points.labels, counts, inertia, iterations, converged }
}

vectorised! {
    /// Finds each point's nearest centroid, the first of equally near ones, and the squared
    /// distance.
    fn assign<'a>(
        columns: &'a [Vec<f64>],
        centroids: &'a [f64],
        labels: &'a mut [u32],
        squared: &'a mut [f64],
    ) {
        let mut points = vec![[0.0f64; LANES]; columns.len()];
        let outs = labels.chunks_mut(LANES).zip(squared.chunks_mut(LANES));
        for (block, (labels, squared)) in outs.enumerate() {
            let (start, length) = (block * LANES, labels.len());
            for (point, column) in points.iter_mut().zip(columns) {
                point[..length].copy_from_slice(&column[start..start + length]);
            }
            // Labels are floats as distances are, so that one mask selects both.
            let mut best = [f64::INFINITY; LANES];
            let mut label = [0.0f64; LANES];
            let mut cluster = 0.0;
            for centroid in centroids.chunks_exact(columns.len()) {
                let mut sums = [0.0f64; LANES];
                for (values, &centre) in points.iter().zip(centroid) {
                    for lane in 0..LANES {
                        let gap = values[lane] - centre;
                        sums[lane] += gap * gap;
                    }
                }
                for lane in 0..LANES {
                    let nearer = sums[lane] < best[lane];
                    best[lane] = if nearer { sums[lane] } else { best[lane] };
                    label[lane] = if nearer { cluster } else { label[lane] };
                }
                cluster += 1.0;
            }
            squared.copy_from_slice(&best[..squared.len()]);
            for (kept, &found) in labels.iter_mut().zip(&label) {
                *kept = found as u32;
            }
        }
    }
}

impl Points {
    /// Labels every point with its nearest centroid, the first of equally near ones.
    fn assign(&mut self, centroids: &Array2<f64>) {
        let centroids: Vec<f64> = centroids.iter().copied().collect();
        assign(&self.columns, &centroids, &mut self.labels, &mut self.squared);
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

    /// Gives each cluster without points one point: of all points that do not stand alone in their
    /// cluster, the one farthest from its centroid.
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
