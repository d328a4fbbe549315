//! What can go wrong with k-means.

use crate::DataError;

/// Why points cannot be clustered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KMeansError {
    /// The number of clusters is 0.
    #[error("0 clusters: ask for at least one")]
    NoClusters,
    /// The named parameter is 0, but must be at least 1.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// The tolerance is not above 0, or not finite.
    #[error("tolerance {0}: give a finite number above 0")]
    Tolerance(f64),
    /// There are more clusters than points.
    #[error("{clusters} clusters of {points} points: ask for {points} or fewer")]
    TooFewPoints {
        /// Number of clusters asked for.
        clusters: usize,
        /// Number of points.
        points: usize,
    },
    /// There are more clusters than different points.
    #[error(
        "{clusters} clusters, but only {distinct} of the points differ: ask for {distinct} or fewer"
    )]
    TooFewDistinct {
        /// Number of clusters asked for.
        clusters: usize,
        /// Number of points that differ from each other.
        distinct: usize,
    },
    /// The given centroids have another shape than clusters and columns.
    #[error(
        "{rows} x {columns} centroids given for {clusters} clusters of points with {expected} \
         columns"
    )]
    Centroids {
        /// Number of centroids given.
        rows: usize,
        /// Number of columns of the centroids.
        columns: usize,
        /// Number of clusters asked for.
        clusters: usize,
        /// Number of columns of the points.
        expected: usize,
    },
    /// linfa found no clusters; its message.
    #[error("linfa: {0}; scale the columns to comparable sizes first")]
    Linfa(String),
    /// The points cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
