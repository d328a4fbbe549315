//! k-means clustering, and to which cluster a new point or group of points belongs.
//!
//! ```
//! use ndarray::array;
//! use ssdtune_learn::kmeans::{KMeansParams, Membership};
//!
//! let x = array![[0.0, 0.0], [0.0, 2.0], [10.0, 0.0], [10.0, 2.0]];
//! let model = KMeansParams::new(2).fit(x.view())?;
//! assert_eq!(model.inertia(), 4.0);
//! assert_eq!(model.nearest(&[0.5, 1.0])?.distance, 0.5);
//! assert!(matches!(model.membership(&[0.5, 1.0], 3.0)?, Membership::Inside(_)));
//! assert!(matches!(model.membership(&[5.0, 9.0], 3.0)?, Membership::Outside(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Training has two phases. First linfa-clustering explores from several starts that k-means++
//! draws. Then Lloyd's steps from its best centroids run until no point changes its cluster. linfa
//! stops as soon as its centroids move less than a tolerance, and reports the inertia of the
//! centroids before its last step; after the second phase labels, centroids and inertia belong
//! together. From given centroids, only the second phase runs.
//!
//! A step of Lloyd's costs O(points·clusters·columns) and runs as vector code over copies of the
//! columns. Distances are Euclidean, in the unit of the columns.

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
