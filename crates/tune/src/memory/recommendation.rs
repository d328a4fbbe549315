//! What a search leaves for later: the configurations it found best.

use super::db::{AutoDb, RecordKind, Scan};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// The category number of workloads that belong to no category.
pub const UNCLUSTERED: u32 = u32::MAX;

/// Speedups of a configuration over the baseline on one workload. Field names are part of the
/// format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpeedup {
    /// The name of the workload.
    pub workload: String,
    /// Whether it was the target of the search.
    pub target: bool,
    /// The baseline's mean latency over the configuration's.
    pub latency_speedup: f64,
    /// The configuration's throughput over the baseline's.
    pub throughput_speedup: f64,
}

/// A configuration that a search found for a category of workloads: the value of a record of
/// [`RecordKind::Search`], under [`StoredRecommendation::key`]. Field names are part of the format
/// of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRecommendation {
    /// The number of the category; [`UNCLUSTERED`] where there is none.
    pub cluster: u32,
    /// The name of the target workload, as the search was given it.
    pub target: String,
    /// The configuration: a whole TOML document with the drive's name.
    pub configuration: String,
    /// Grade against the baseline (formula 2 of the paper); 0 is the baseline.
    pub grade: f64,
    /// The name of the baseline that the grade is relative to.
    pub baseline: String,
    /// The limits it was found under, as comments of a TOML document.
    pub constraints: String,
    /// The digest of everything that decides the search, so that each search has records of its
    /// own.
    pub search: Digest,
    /// Its place among the top configurations of the search; 0 is the recommended one.
    pub rank: u32,
    /// Its speedup on each workload that was measured.
    pub measures: Vec<WorkloadSpeedup>,
    /// Mean power on the target in watt; `None` where the evaluator counted no energy.
    pub watts: Option<f64>,
}

impl StoredRecommendation {
    /// The key: category, search and rank, so that configurations of a category stand together.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Self::key_prefix(self.cluster);
        key.extend_from_slice(format!("{}/{:04}", self.search, self.rank).as_bytes());
        key
    }

    /// Every configuration stored for a category, in the order of keys.
    pub fn of_category(db: &AutoDb, cluster: u32) -> Scan<'_, Self> {
        db.scan_prefix(RecordKind::Search, &Self::key_prefix(cluster))
    }

    fn key_prefix(cluster: u32) -> Vec<u8> {
        format!("cluster {cluster:05}/").into_bytes()
    }
}
