//! What a search leaves for later: the record types that more than one command reads.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// What a configuration gave on one workload, beside the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpeedup {
    /// Name of the workload.
    pub workload: String,
    /// Whether it was the target of the search.
    pub target: bool,
    /// Baseline's mean latency over this one's.
    pub latency_speedup: f64,
    /// This one's throughput over the baseline's.
    pub throughput_speedup: f64,
}

/// A configuration that a search recommends for a category of workloads. Kind::Search, under
/// [`StoredRecommendation::key`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRecommendation {
    /// The category.
    pub cluster: u32,
    /// Name of the target workload as the search was given it.
    pub target: String,
    /// The configuration: a whole TOML document, its name included.
    pub configuration: String,
    /// Grade against the baseline (formula 2 of the paper); 0 is the baseline.
    pub grade: f64,
    /// The baseline the grade is relative to, by name.
    pub baseline: String,
    /// The constraints it was found under: a whole TOML document.
    pub constraints: String,
    /// Everything that decided the search (settings, constraints, workloads), so that each search has its own
    /// record.
    pub search: Digest,
    /// Place among the top configurations of its search, from 0.
    pub rank: u32,
    /// Speedups of each workload measured.
    pub measures: Vec<WorkloadSpeedup>,
    /// Mean power on the target in watts, where the energy model gave one.
    pub watts: Option<f64>,
}

impl StoredRecommendation {
    /// The key: category, search and rank, so that all configurations of a category stand together.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Self::prefix(self.cluster);
        key.extend_from_slice(format!("{}/{:04}", self.search, self.rank).as_bytes());
        key
    }

    /// How the keys of a category begin.
    pub fn prefix(cluster: u32) -> Vec<u8> {
        format!("cluster {cluster:05}/").into_bytes()
    }
}
