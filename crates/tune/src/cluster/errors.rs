//! What can go wrong when workloads are put into categories.

use super::paper::WINDOW_REQUESTS;
use crate::memory::DbError;
use ssdtune_learn::kmeans::KMeansError;
use ssdtune_learn::pca::PcaError;
use ssdtune_learn::scale::ScaleError;
use ssdtune_learn::{DataError, ModelError};

/// Why workloads cannot be learned or classified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A trace is shorter than a window.
    #[error(
        "{name}: {requests} requests are no whole window; give at least {WINDOW_REQUESTS} requests"
    )]
    TooShort {
        /// The name of the trace.
        name: String,
        /// The number of its requests.
        requests: usize,
    },
    /// There are too few windows for the principal components.
    #[error("{windows} windows in all are too few to learn from: give at least {needed}")]
    TooFewWindows {
        /// The number of windows given.
        windows: usize,
        /// The number of windows needed.
        needed: usize,
    },
    /// No workload was given.
    #[error("no workload to learn from: give at least one")]
    Nothing,
    /// A name of a workload or category is not legal.
    #[error("the name {name:?}: write 1 to 64 letters, digits, and any of - _ . @")]
    Name {
        /// The name, its first 80 characters.
        name: String,
    },
    /// Two workloads have one name.
    #[error("two workloads are called {name}: give one of them another name")]
    SameName {
        /// The name.
        name: String,
    },
    /// Another workload of that name was learned before.
    #[error("a workload {name} is learned already, and this is another one: give it another name")]
    Known {
        /// The name.
        name: String,
    },
    /// There is no category of that name.
    #[error("no category {name}; there are {known}")]
    NoCategory {
        /// The name.
        name: String,
        /// The names of all categories, separated by commas.
        known: String,
    },
    /// AutoDB holds no categories.
    #[error("the AutoDB knows no workload categories: `ssdtune workload learn` makes them")]
    NotLearned,
    /// Records in AutoDB contradict each other.
    #[error("the stored categories do not fit together ({reason}): learn them anew")]
    Inconsistent {
        /// What does not fit.
        reason: String,
    },
    /// Scaling fails.
    #[error("scaling the features fails")]
    Scale(#[from] ScaleError),
    /// The principal components fail.
    #[error("the principal components cannot be found")]
    Pca(#[from] PcaError),
    /// k-means fails.
    #[error("k-means fails")]
    KMeans(#[from] KMeansError),
    /// A matrix does not fit a model.
    #[error("the features do not fit the model")]
    Data(#[from] DataError),
    /// A stored model is damaged.
    #[error("the stored model cannot be used")]
    Model(#[from] ModelError),
    /// AutoDB cannot be read or written.
    #[error(transparent)]
    Db(#[from] DbError),
}
