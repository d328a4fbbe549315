//! Stores a recommendation in AutoDB.

use super::sentence::first_sentence;
use super::{Recommendation, WorkloadResult};
use crate::memory::{
    AutoDb, Beginning, DbError, RecordKind, StoredRecommendation, WorkloadSpeedup,
};

impl Recommendation {
    /// Stores the recommended configuration and the next best trials under the search with this
    /// beginning. The recommended one has rank 0. It alone was judged on validation traces, and the
    /// records say so.
    ///
    /// # Errors
    /// Writing AutoDB fails.
    pub fn store(&self, db: &AutoDb, beginning: &Beginning) -> Result<(), DbError> {
        let table = &self.training;
        let mut measures = vec![speedup(&table.target, true)];
        measures.extend(table.others.iter().map(|row| speedup(row, false)));
        let recommended = StoredRecommendation {
            cluster: beginning.cluster,
            target: self.question.target.clone(),
            configuration: self.toml.clone(),
            grade: self.grade,
            baseline: self.question.baseline.clone(),
            constraints: self.question.limits.iter().map(|line| format!("# {line}\n")).collect(),
            search: beginning.search,
            rank: 0,
            measures,
            watts: table.target.own.average_watts,
            // Without others nothing was judged on validation traces.
            max_harm: self.question.max_harm.filter(|_| !self.question.others.is_empty()),
            sentence: Some(first_sentence(self)),
        };
        let mut all = vec![recommended.clone()];
        for (rank, top) in self.top.iter().enumerate().skip(1) {
            all.push(StoredRecommendation {
                configuration: top.toml.clone(),
                grade: top.grade,
                rank: rank as u32,
                measures: vec![WorkloadSpeedup {
                    workload: self.question.target.clone(),
                    target: true,
                    latency_speedup: top.target.latency,
                    throughput_speedup: top.target.throughput,
                }],
                watts: None,
                max_harm: None,
                sentence: None,
                ..recommended.clone()
            });
        }
        let records: Vec<(Vec<u8>, &StoredRecommendation)> =
            all.iter().map(|stored| (stored.key(), stored)).collect();
        db.put_all(RecordKind::Search, records).map(|_| ())
    }
}

fn speedup(row: &WorkloadResult, target: bool) -> WorkloadSpeedup {
    WorkloadSpeedup {
        workload: row.workload.clone(),
        target,
        latency_speedup: row.speedup.latency,
        throughput_speedup: row.speedup.throughput,
    }
}
