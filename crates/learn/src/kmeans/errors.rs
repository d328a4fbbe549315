//! What can go wrong with k-means.

use crate::DataError;

/// Why points cannot be clustered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KMeansError {
    /// No clusters were asked for.
    #[error("0 clusters: ask for at least one")]
    NoClusters,
    /// A count that must be at least one is zero.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// The tolerance is not a positive number.
    #[error("tolerance {0}: give a finite number above 0")]
    Tolerance(f64),
    /// There are more clusters than points.
    #[error("{clusters} clusters of {points} points: ask for {points} or fewer")]
    TooFewPoints {
        /// Clusters asked for.
        clusters: usize,
        /// Points there are.
        points: usize,
    },
    /// There are more clusters than different points.
    #[error(
        "{clusters} clusters, but only {distinct} of the points differ: ask for {distinct} or fewer"
    )]
    TooFewDistinct {
        /// Clusters asked for.
        clusters: usize,
        /// Points that differ from each other.
        distinct: usize,
    },
    /// Given centroids have the wrong shape.
    #[error(
        "{rows} x {columns} centroids given for {clusters} clusters of points with {expected} \
         columns"
    )]
    Centroids {
        /// Rows of the centroids.
        rows: usize,
        /// Columns of the centroids.
        columns: usize,
        /// Clusters asked for.
        clusters: usize,
        /// Columns of the points.
        expected: usize,
    },
    /// linfa found no clusters.
    #[error("linfa: {0}; scale the columns to comparable sizes first")]
    Linfa(String),
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
