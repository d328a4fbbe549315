//! k-means: linfa-clustering seeds (k-means++) and explores from several starts, Lloyd steps here
//! finish.
//!
//! linfa stops once its centroids move less than a tolerance and reports inertia of the centroids
//! before its last step. The finish continues until no point changes its cluster, so that labels,
//! centroids and inertia belong together. From given centroids, as a drive's firmware would, only
//! the Lloyd steps run: a step costs O(points·clusters·columns) over column-wise copies that the
//! compiler turns into vector code.
//!
//! Distances are Euclidean, in the unit of the columns (linfa's own are squared).

mod errors;
mod fit;
mod lloyd;
mod model;
mod params;

pub use errors::KMeansError;
pub use model::{KMeansModel, Membership, Nearest};
pub use params::{EmptyCluster, Init, KMeansParams, KMeansValidParams};

#[cfg(test)]
mod tests;
