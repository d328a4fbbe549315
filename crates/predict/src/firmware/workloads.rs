//! The workloads of the paper's Table 4, as the bundled models that are fitted to its figures.

use ssdtune_trace::workload::{self, Generator, Model, ModelError, Seed, SeedSet};
use ssdtune_trace::{Op, Request};

/// Requests of a group.
pub const GROUP_REQUESTS: usize = 1_000;

/// One row of Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The paper's label.
    pub label: &'static str,
    /// The bundled model.
    pub model: &'static str,
    /// Groups in the paper's data set.
    pub records: u32,
}

const fn row(label: &'static str, model: &'static str, records: u32) -> Workload {
    Workload { label, model, records }
}

/// All of them, in the paper's order.
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

/// Fewest groups of a workload, however small the scale.
const GROUPS_MIN: u32 = 4;

impl Workload {
    /// The workload of a label, in any case.
    pub fn of(label: &str) -> Option<Self> {
        TABLE_4.into_iter().find(|row| row.label.eq_ignore_ascii_case(label))
    }

    /// Groups at a scale of one to `scale`, `most` at most.
    pub fn groups(&self, scale: u32, most: u32) -> u32 {
        (self.records / scale.max(1)).min(most).max(GROUPS_MIN)
    }

    /// Its requests in groups: all are made before the first is served.
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
        assert_eq!(Workload::of("XX"), None);
    }
}
