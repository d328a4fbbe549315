//! Categories of workloads (section 3.1 of the paper): what a search learns for one serves all of
//! it.
//!
//! A trace is cut into windows of 3,000 requests; each becomes a vector ([`FeatureSet`]), is
//! scaled, and projected on five principal components; k-means finds the clusters, and a cluster is
//! a category. As many clusters are made as categories are named, beginning at their means, so that
//! cluster and category keep one number; the basis (scaling and components) is fitted once, when
//! the first workloads are learned.
//!
//! A trace belongs to the nearest cluster if its centre, the mean of its windows, lies within a
//! [`Threshold`]: 20, or the least distance between two clusters. The paper says that its 20
//! corresponds to that distance; so that the number keeps this meaning, the unit of the
//! [`FeatureSet::Profile`] space is chosen such that the least distance is 20 when the categories
//! are first learned ([`FeatureSet::Paper`] keeps the unit of the published features).
//! - A trace that belongs nowhere makes k-means be trained again with one more cluster.
//! - A trace that is *known* to be of a category and does not fall into its cluster is an outlier:
//!   it is kept, and when 20 such applications have come, they become a category of their own.
//!
//! Points of learned windows are kept in AutoDB, so that training again needs no trace. Classifying
//! costs some microseconds beyond the features.

mod basis;
mod errors;
mod model;
mod paper;
mod profile;
mod refile;
mod stored;
#[cfg(test)]
mod tests;
mod text;

pub use basis::{Basis, DIMENSIONS, FeatureSet, WindowPoint};
pub use errors::ClusterError;
pub use model::{
    Categories, Category, Classification, LearnOutcome, LearnedTrace, OUTLIERS_FOR_A_CATEGORY,
    PAPER_THRESHOLD, Threshold, TraceToLearn,
};
pub use paper::WINDOW_REQUESTS;
pub use text::{CategoryOverview, Overview, chart, classified_text, learned_text};
