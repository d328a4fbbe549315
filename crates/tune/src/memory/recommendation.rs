//! Recommendations as AutoDB stores them: the best configurations that a search found.

use super::db::{AutoDb, DbError, RecordKind, Scan};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use ssdtune_model::document::Document;
use ssdtune_model::{Constraints, Faults};

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

/// Why no stored configuration can be recommended.
#[derive(Debug, thiserror::Error)]
pub enum BestError {
    /// AutoDB cannot be read.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A stored configuration cannot be read.
    #[error("the configuration stored for {target} is wrong: {faults}")]
    Faulty {
        /// The target of the search that stored it.
        target: String,
        /// What is wrong with the configuration.
        faults: Faults,
    },
    /// Nothing is stored for the category.
    #[error("no configuration is stored")]
    Nothing,
    /// Every stored configuration breaks a constraint.
    #[error("none of the {refused} stored configurations keeps to the constraints")]
    NoneKeeps {
        /// The number of stored configurations.
        refused: usize,
    },
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
    /// The limits of the search, as comments of a TOML document.
    pub constraints: String,
    /// The digest of everything that decides the search, so that each search has records of its
    /// own.
    pub search: Digest,
    /// The place among the top configurations of the search; 0 is the recommended one.
    pub rank: u32,
    /// The speedup on each workload that was measured.
    pub measures: Vec<WorkloadSpeedup>,
    /// Mean power on the target in watt; `None` where the evaluator counted no energy.
    pub watts: Option<f64>,
    /// The share that each other workload loses at most, as judged on validation traces; `None` if
    /// it was not judged there: the next best configurations of a search, those of a search without
    /// such a limit, and those that earlier versions have stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_harm: Option<f64>,
    /// What the search said of it first: how much faster it is, on what, how far that is known, at
    /// what price and power, and what changes. `None` of the next best configurations, and of those
    /// that earlier versions have stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
}

impl StoredRecommendation {
    /// The key of the record: category, search and rank. Keys of one category lie side by side.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Self::key_prefix(self.cluster);
        key.extend_from_slice(format!("{}/{:04}", self.search, self.rank).as_bytes());
        key
    }

    /// Every recommendation stored for a category, in the order of the keys.
    pub fn of_category(db: &AutoDb, cluster: u32) -> Scan<'_, Self> {
        db.scan_prefix(RecordKind::Search, &Self::key_prefix(cluster))
    }

    /// What it says of itself, in words: what it is for, and how it was judged.
    pub fn in_words(&self) -> String {
        let Self { target, baseline, grade, .. } = self;
        let judged = match self.max_harm {
            Some(share) => format!(
                "other workloads lose at most {} % on validation traces",
                (1e6 * share).round() / 1e4
            ),
            None => "not judged on validation traces".to_owned(),
        };
        format!("for {target}: grade {grade:.4} against {baseline}; {judged}")
    }

    /// What the search said of it first, if it is known, and what it says of itself.
    pub fn told(&self) -> String {
        let sentence = self.sentence.as_ref().map_or(String::new(), |told| format!("{told}\n"));
        format!("{sentence}found {}", self.in_words())
    }

    /// The recommendation with the highest grade among those of a category that keep the
    /// constraints: of those that were judged on validation traces, or if there are none, of all.
    /// Of equal grades, the first in the order of keys is taken.
    ///
    /// # Errors
    /// There is no such recommendation, a stored configuration cannot be read, or reading AutoDB
    /// fails.
    pub fn best_of_category(
        db: &AutoDb,
        cluster: u32,
        constraints: Option<&Constraints>,
    ) -> Result<Self, BestError> {
        let mut best: Option<Self> = None;
        let mut refused = 0;
        for found in Self::of_category(db, cluster) {
            let one = found?.1.value;
            if let Some(constraints) = constraints
                && !one.keeps(constraints)?
            {
                refused += 1;
                continue;
            }
            let is_better = |best: &Self| match (one.max_harm, best.max_harm) {
                (Some(_), None) => true,
                (None, Some(_)) => false,
                _ => one.grade > best.grade,
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(one);
            }
        }
        best.ok_or(if refused > 0 { BestError::NoneKeeps { refused } } else { BestError::Nothing })
    }

    /// Whether the configuration keeps constraints. A drive of unknown power breaks any power
    /// budget.
    fn keeps(&self, constraints: &Constraints) -> Result<bool, BestError> {
        let document = Document::parse(&self.configuration)
            .map_err(|faults| BestError::Faulty { target: self.target.clone(), faults })?;
        let within = constraints.power_budget_watts.is_none()
            || self.watts.is_some_and(|watts| constraints.power_violation(watts).is_none());
        Ok(within && constraints.violations(document.config()).is_empty())
    }

    fn key_prefix(cluster: u32) -> Vec<u8> {
        format!("cluster {cluster:05}/").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(cluster: u32, rank: u32, grade: f64) -> StoredRecommendation {
        StoredRecommendation {
            cluster,
            target: "database".to_owned(),
            configuration: String::new(),
            grade,
            baseline: "intel-750".to_owned(),
            constraints: String::new(),
            search: Digest::from_bytes([7; 32]),
            rank,
            measures: Vec::new(),
            watts: None,
            max_harm: None,
            sentence: None,
        }
    }

    #[test]
    fn what_the_search_said_comes_first() {
        let sentence = Some("It is faster.".to_owned());
        let told = StoredRecommendation { sentence, ..stored(1, 0, 0.1) }.told();
        assert!(told.starts_with("It is faster.\nfound for database: "), "{told}");
        // Those that earlier versions have stored begin with what they are.
        assert!(stored(1, 0, 0.1).told().starts_with("found for database: "));
    }

    /// Also next to a category whose number begins with the same digits.
    #[test]
    fn a_category_has_its_own_recommendations_and_the_best_is_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let db = AutoDb::open(directory.path().join("db")).expect("a new AutoDB");
        for one in [stored(1, 0, 0.1), stored(1, 1, 0.3), stored(10, 0, 0.9)] {
            db.put(RecordKind::Search, &one.key(), &one).expect("room");
        }
        let of = |cluster| StoredRecommendation::of_category(&db, cluster).count();
        assert_eq!([1, 10, 2].map(of), [2, 1, 0]);
        let best = StoredRecommendation::best_of_category(&db, 1, None).expect("one is stored");
        assert_eq!((best.cluster, best.rank), (1, 1));
        // One that was judged comes before one that was not, whatever its grade.
        let judged = StoredRecommendation { max_harm: Some(0.02), ..stored(1, 2, 0.05) };
        db.put(RecordKind::Search, &judged.key(), &judged).expect("room");
        let best = StoredRecommendation::best_of_category(&db, 1, None).expect("one is stored");
        assert_eq!((best.rank, best.max_harm), (2, Some(0.02)));
        let none = StoredRecommendation::best_of_category(&db, 2, None);
        assert!(matches!(none, Err(BestError::Nothing)));
    }
}
