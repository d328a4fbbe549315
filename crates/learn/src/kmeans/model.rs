//! The fitted clusters: distances, membership, and adding a cluster.

use super::KMeansError;
use crate::errors::{check_columns, check_finite, check_matrix, check_row};
use crate::guard::checked_model;
use crate::{DataError, ModelError, Version};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Fitted clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct KMeansModel {
    version: Version<1>,
    columns: usize,
    /// One centroid after the other, each with a number for every column.
    centroids: Vec<f64>,
    counts: Vec<u64>,
    inertia: f64,
    iterations: usize,
    converged: bool,
    #[serde(skip)]
    training_labels: Vec<usize>,
}

checked_model!(KMeansModel);

/// The cluster whose centroid is nearest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Number of the cluster, from 0.
    pub cluster: usize,
    /// Distance from the point to the cluster's centroid.
    pub distance: f64,
}

/// Whether a point belongs to a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Membership {
    /// The nearest centroid is within the threshold.
    Inside(Nearest),
    /// Every centroid is farther than the threshold. The nearest one is named.
    Outside(Nearest),
}

impl KMeansModel {
    pub(super) fn new(centroids: Array2<f64>, counts: Vec<u64>, inertia: f64) -> Self {
        Self {
            version: Version,
            columns: centroids.ncols(),
            centroids: centroids.into_iter().collect(),
            counts,
            inertia,
            iterations: 0,
            converged: true,
            training_labels: Vec::new(),
        }
    }

    pub(super) fn with_training(mut self, labels: Vec<usize>) -> Self {
        self.training_labels = labels;
        self
    }

    pub(super) fn with_progress(mut self, iterations: usize, converged: bool) -> Self {
        (self.iterations, self.converged) = (iterations, converged);
        self
    }

    /// The centroids as rows, in the order of the clusters' numbers.
    pub fn centroids(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((self.counts.len(), self.columns), &self.centroids)
            .expect("verified: one entry for each cluster and column")
    }

    /// Number of training points of each cluster.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Sum of the squared distances of the training points to their centroids.
    pub fn inertia(&self) -> f64 {
        self.inertia
    }

    /// Number of Lloyd's steps in the second phase of the training.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Whether the last of Lloyd's steps changed no point's cluster.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The cluster of each training point. Empty for a model read from a file.
    pub fn training_labels(&self) -> &[usize] {
        &self.training_labels
    }

    /// The nearest cluster of each row.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<usize>, DataError> {
        check_columns(x, self.columns)?;
        Ok(x.rows().into_iter().map(|row| self.find(row.iter()).cluster).collect())
    }

    /// The distance of each row (in a row) to every centroid (in a column).
    pub fn distances(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(x, self.columns)?;
        let centroids = self.centroids();
        Ok(Array2::from_shape_fn((x.nrows(), self.counts.len()), |(row, cluster)| {
            squared(x.row(row).iter(), centroids.row(cluster).iter()).sqrt()
        }))
    }

    /// The cluster nearest to `point`.
    pub fn nearest(&self, point: &[f64]) -> Result<Nearest, DataError> {
        check_row(point, self.columns)?;
        Ok(self.find(point.iter()))
    }

    /// Whether `point` is within the distance `threshold` of a centroid.
    pub fn membership(&self, point: &[f64], threshold: f64) -> Result<Membership, DataError> {
        let nearest = self.nearest(point)?;
        let inside = nearest.distance <= threshold;
        Ok(if inside { Membership::Inside(nearest) } else { Membership::Outside(nearest) })
    }

    /// Whether the mean of `points` is within the distance `threshold` of a centroid. This decides
    /// about a group of points that belong together.
    pub fn group_membership(
        &self,
        points: ArrayView2<'_, f64>,
        threshold: f64,
    ) -> Result<Membership, DataError> {
        check_columns(points, self.columns)?;
        let centre = points.mean_axis(Axis(0)).expect("checked: there are rows");
        self.membership(&centre.to_vec(), threshold)
    }

    /// Adds a cluster around the mean of `points` and returns its number. The other centroids do
    /// not move, so a known point keeps its cluster unless the new centroid is nearer.
    pub fn add_cluster(&mut self, points: ArrayView2<'_, f64>) -> Result<usize, KMeansError> {
        check_matrix(points)?;
        check_columns(points, self.columns)?;
        let centre = points.mean_axis(Axis(0)).expect("checked: there are rows");
        let spread: f64 =
            points.rows().into_iter().map(|row| squared(row.iter(), centre.iter())).sum();
        self.centroids.extend(centre.iter());
        self.counts.push(points.nrows() as u64);
        self.inertia += spread;
        Ok(self.counts.len() - 1)
    }

    /// The centroid nearest to a point, the first of equally near ones.
    fn find<'a>(&self, point: impl Iterator<Item = &'a f64> + Clone) -> Nearest {
        let mut best = Nearest { cluster: 0, distance: f64::INFINITY };
        for (cluster, centroid) in self.centroids.chunks(self.columns).enumerate() {
            let distance = squared(point.clone(), centroid.iter());
            if distance < best.distance {
                best = Nearest { cluster, distance };
            }
        }
        Nearest { distance: best.distance.sqrt(), ..best }
    }

    fn verify(&self) -> Result<(), ModelError> {
        let (clusters, columns) = (self.counts.len(), self.columns);
        let wanted = clusters.checked_mul(columns);
        if clusters == 0 || columns == 0 || wanted != Some(self.centroids.len()) {
            let reason =
                format!("{clusters} counts, {columns} columns, {} entries", self.centroids.len());
            return Err(ModelError::new("k-means", reason));
        }
        check_finite("k-means", "centroid entry", &self.centroids)?;
        check_finite("k-means", "inertia", [&self.inertia])
    }
}

fn squared<'a, 'b>(a: impl Iterator<Item = &'a f64>, b: impl Iterator<Item = &'b f64>) -> f64 {
    a.zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
