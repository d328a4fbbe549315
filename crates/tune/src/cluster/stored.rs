//! Categories in AutoDB: one record for the model, one for each category, and one for each learned
//! workload.

use super::ClusterError;
use super::basis::Basis;
use super::model::{Categories, Category, LearnedTrace};
use crate::memory::{AutoDb, Batch, RecordKind};
use serde::{Deserialize, Serialize};
use ssdtune_learn::kmeans::KMeansModel;
use std::collections::BTreeMap;

/// The key of the model's record.
const MODEL: &[u8] = b"categories";

/// The value of the model's record. Field names are part of the format of AutoDB.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredModel {
    basis: Basis,
    kmeans: KMeansModel,
    names: Vec<String>,
}

impl Categories {
    /// Reads the categories from AutoDB.
    ///
    /// # Errors
    /// There are none, or records are damaged or contradict each other.
    pub fn load(db: &AutoDb) -> Result<Self, ClusterError> {
        let stored =
            db.get::<StoredModel>(RecordKind::Model, MODEL)?.ok_or(ClusterError::NotLearned)?;
        let StoredModel { basis, kmeans, names } = stored.value;
        let mut members = BTreeMap::new();
        for found in db.scan::<LearnedTrace>(RecordKind::Workload) {
            let (_, stored) = found?;
            members.insert(stored.value.name.clone(), stored.value);
        }
        basis.verify()?;
        let wrong = |reason: String| Err(ClusterError::Inconsistent { reason });
        let clusters = kmeans.centroids().dim();
        if clusters != (names.len(), super::DIMENSIONS) {
            return wrong(format!("{} names and clusters of {clusters:?}", names.len()));
        }
        for member in members.values() {
            let finite = member.points.iter().flatten().all(|value| value.is_finite());
            if member.category as usize >= names.len() || member.points.is_empty() || !finite {
                return wrong(format!("workload {}", member.name));
            }
        }
        Ok(Self { basis, kmeans, names, members })
    }

    /// Stores the categories in the place of earlier ones: all records or none. Records that have
    /// not changed keep their generation.
    ///
    /// # Errors
    /// Reading or writing AutoDB fails.
    pub fn store(&self, db: &AutoDb) -> Result<(), ClusterError> {
        let mut batch = Batch::default();
        let Self { basis, kmeans, names, members } = self.clone();
        batch.put(RecordKind::Model, MODEL, &StoredModel { basis, kmeans, names })?;
        for category in self.list() {
            batch.put(RecordKind::Cluster, &Category::key(category.number), &category)?;
        }
        for member in members.values() {
            batch.put(RecordKind::Workload, member.name.as_bytes(), member)?;
        }
        // Remove records of earlier categories that are not among these.
        for found in db.entries(RecordKind::Workload) {
            let key = found?.key;
            if !members.keys().any(|name| name.as_bytes() == key) {
                batch.remove(RecordKind::Workload, &key);
            }
        }
        let kept: Vec<Vec<u8>> = self.list().iter().map(|one| Category::key(one.number)).collect();
        for found in db.entries(RecordKind::Cluster) {
            let key = found?.key;
            if !kept.contains(&key) {
                batch.remove(RecordKind::Cluster, &key);
            }
        }
        db.commit(&batch)?;
        Ok(())
    }
}

impl Category {
    /// The key in AutoDB of the category with a number.
    pub fn key(number: u32) -> Vec<u8> {
        format!("cluster {number:05}").into_bytes()
    }
}
