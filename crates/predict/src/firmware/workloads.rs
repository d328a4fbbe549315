//! The workloads of the paper's Table 4, as bundled workload models that are fitted to its figures.

use ssdtune_trace::workload::{self, Generator, Model, ModelError, Seed, SeedSet};
use ssdtune_trace::{Op, Request};

/// How many requests a group has.
pub const GROUP_REQUESTS: usize = 1_000;

/// A workload of Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Label of the workload in the paper, two letters.
    pub label: &'static str,
    /// Name of the bundled workload model.
    pub model: &'static str,
    /// How many groups the data set of the paper has.
    pub records: u32,
}

/// No workload has the label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no workload {label}: Table 4 has {known}")]
pub struct UnknownWorkload {
    /// The label.
    pub label: String,
    /// The labels of Table 4, with commas between.
    pub known: String,
}

const fn row(label: &'static str, model: &'static str, records: u32) -> Workload {
    Workload { label, model, records }
}

/// All workloads of Table 4, in the order of the paper.
pub const TABLE_4: [Workload; 15] = [
    row("SR", "lpm-sequential-read", 10_000),
    row("SW", "lpm-sequential-write", 10_000),
    row("RR", "lpm-random-read", 10_000),
    row("RW", "lpm-random-write", 10_000),
    row("YA", "lpm-ycsb-a", 1_240),
    row("YB", "lpm-ycsb-b", 951),
    row("YC", "lpm-ycsb-c", 912),
    row("YD", "lpm-ycsb-d", 849),
    row("YE", "lpm-ycsb-e", 834),
    row("YF", "lpm-ycsb-f", 1_245),
    row("FS", "lpm-fileserver", 3_258),
    row("TC", "lpm-tpcc", 637),
    row("VM", "lpm-varmail", 1_305),
    row("WS", "lpm-webserver", 1_877),
    row("LB", "lpm-linkbench", 2_225),
];

/// The fewest groups of a workload, whatever the scale.
const GROUPS_MIN: u32 = 4;

impl Workload {
    /// The workload with this label, in upper or lower case.
    ///
    /// # Errors
    /// Table 4 has no such label.
    pub fn of(label: &str) -> Result<Self, UnknownWorkload> {
        let found = TABLE_4.into_iter().find(|row| row.label.eq_ignore_ascii_case(label));
        found.ok_or_else(|| {
            let known: Vec<&str> = TABLE_4.iter().map(|row| row.label).collect();
            UnknownWorkload { label: label.to_owned(), known: known.join(", ") }
        })
    }

    /// The workloads with these labels; all of Table 4 if there are none.
    ///
    /// # Errors
    /// Table 4 has no such label.
    pub fn all_of(labels: &[String]) -> Result<Vec<Self>, UnknownWorkload> {
        match labels.is_empty() {
            true => Ok(TABLE_4.to_vec()),
            false => labels.iter().map(|label| Self::of(label)).collect(),
        }
    }

    /// How many groups are run: one of `scale` groups of the paper, at most `most`.
    pub fn groups(&self, scale: u32, most: u32) -> u32 {
        (self.records / scale.max(1)).min(most).max(GROUPS_MIN)
    }

    /// The requests of `groups` groups; flushes are left out.
    ///
    /// # Errors
    /// The bundled model is faulty.
    pub fn requests(&self, groups: u32, seed: u64) -> Result<Vec<Request>, ModelError> {
        let model: Model = workload::bundled(self.model)?;
        let seed = Seed { set: SeedSet::Training, index: seed };
        let count = groups as usize * GROUP_REQUESTS;
        let served = |request: &Request| request.op != Op::Flush;
        Ok(Generator::new(&model, seed)?.filter(served).take(count).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_model_with_the_papers_number_of_requests() {
        for row in TABLE_4 {
            let model = workload::bundled(row.model).unwrap();
            assert_eq!(model.requests, u64::from(row.records) * 1_000, "{}", row.label);
            assert!(model.description.contains(&format!("workload {} of", row.label)));
        }
        let total: u32 = TABLE_4.iter().map(|row| row.records).sum();
        assert_eq!(total, 55_333, "55 million requests");
    }

    #[test]
    fn a_scale_divides_and_a_cap_caps() {
        let rw = Workload::of("rw").unwrap();
        assert_eq!(rw.groups(10, 500), 500);
        assert_eq!(rw.groups(40, 500), 250);
        assert_eq!(Workload::of("TC").unwrap().groups(1_000, 500), GROUPS_MIN);
        assert_eq!(Workload::all_of(&[]).unwrap(), TABLE_4);
        assert_eq!(Workload::all_of(&["rw".to_owned()]).unwrap(), [rw]);
        let unknown = Workload::of("XX").unwrap_err().to_string();
        assert!(unknown.starts_with("no workload XX: Table 4 has SR, SW, "), "{unknown}");
    }
}
