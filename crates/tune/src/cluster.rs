//! Categories of workloads (section 3.1 of the paper): what a search learns for one workload serves
//! its whole category.
//!
//! A trace is cut into windows of 3,000 requests. Each becomes a vector ([`FeatureSet`]), which is
//! scaled and projected on five principal components. k-means finds clusters of these points, and a
//! cluster is a category. As many clusters are made as categories are named, and they begin at the
//! means of those, so that cluster and category keep one number. Scaling and components (the basis)
//! are fitted once, when the first workloads are learned.
//!
//! In the [`FeatureSet::Profile`] space windows are measured in units of the variation within
//! categories before the components are found, so that these are the directions in which categories
//! differ, not those in which workloads have phases.
//!
//! A trace belongs to the nearest cluster if its centre, the mean of its windows, lies within a
//! [`Threshold`]: 20, or the least distance between two clusters. The paper says that its 20
//! corresponds to that distance. In the profile space the unit is such that 20 is how far a
//! category reaches when the categories are first learned (`cluster/unit.rs`): beyond the spread of
//! its windows, and not as far as the next category. [`FeatureSet::Paper`] keeps the unit of the
//! published features.
//!
//! - A trace that belongs nowhere makes k-means train again with one more cluster.
//! - A trace that is *known* to be of a category, and lies outside of its cluster, is an outlier.
//!   It is kept, and 20 outliers of one category become a category of their own.
//! - A window that lies within the threshold of no cluster is counted as an outlier of its trace.
//!
//! The points of learned windows are kept in AutoDB, so that training again needs no trace.
//!
//! Cost: classifying takes some microseconds beyond the features.

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
mod unit;
mod whitening;

pub use basis::{Basis, DIMENSIONS, FeatureSet, WindowPoint};
pub use errors::ClusterError;
pub use model::{
    Categories, Category, Classification, LearnOutcome, LearnedTrace, OUTLIERS_FOR_A_CATEGORY,
    PAPER_THRESHOLD, Threshold, TraceToLearn,
};
pub use paper::WINDOW_REQUESTS;
pub use text::{CategoryOverview, LearnReport, LearnedWorkload, Overview, chart, classified_text};
