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
    /// A trace shorter than a window.
    #[error(
        "{name}: {requests} requests are no whole window; give at least {WINDOW_REQUESTS} requests"
    )]
    TooShort {
        /// The trace.
        name: String,
        /// Its requests.
        requests: usize,
    },
    /// Too few windows for the principal components.
    #[error("{windows} windows in all are too few to learn from: give at least {needed}")]
    TooFewWindows {
        /// Windows given.
        windows: usize,
        /// Windows needed.
        needed: usize,
    },
    /// Nothing was given.
    #[error("no workload to learn from: give at least one")]
    Nothing,
    /// A name that cannot be one.
    #[error("the name {name:?}: write 1 to 64 letters, digits, and any of - _ . @")]
    Name {
        /// What was given.
        name: String,
    },
    /// Two workloads of one name.
    #[error("two workloads are called {name}: give one of them another name")]
    SameName {
        /// The name.
        name: String,
    },
    /// A workload of that name is learned already, and is another one.
    #[error("a workload {name} is learned already, and this is another one: give it another name")]
    Known {
        /// The name.
        name: String,
    },
    /// A category that does not exist.
    #[error("no category {name}; there are {known}")]
    NoCategory {
        /// What was asked for.
        name: String,
        /// The categories there are.
        known: String,
    },
    /// Nothing was learned yet.
    #[error("the AutoDB knows no workload categories: `ssdtune workload learn` makes them")]
    NotLearned,
    /// What is stored does not fit together.
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
    /// The AutoDB fails.
    #[error(transparent)]
    Db(#[from] DbError),
}
