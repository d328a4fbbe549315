//! How far predictions are from the target, in the terms of the paper's Fig. 2; and the share of
//! firmware in the time of a drive, as in Fig. 1.

use super::gain::{Gain, Gains};
use crate::firmware::drive::WorkCounts;
use crate::firmware::records::{Record, Records};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The times to read and to program a flash page in Fig. 1, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlashTimes {
    read_ns: f64,
    program_ns: f64,
}

/// How many dies work in parallel.
const DIES: f64 = 32.0;

impl FlashTimes {
    /// Conventional flash.
    pub const NAND: Self = Self { read_ns: 150_000.0, program_ns: 2_600_000.0 };
    /// Flash of ultra-low latency.
    pub const Z_NAND: Self = Self { read_ns: 12_000.0, program_ns: 400_000.0 };

    /// The constant of §4.2: the time of the host's pages of a group in nanoseconds, with all dies
    /// in parallel.
    fn ns(self, counts: &WorkCounts) -> f64 {
        let (read, written) = (counts.pages_read as f64, counts.pages_written as f64);
        (read * self.read_ns + written * self.program_ns) / DIES
    }
}

/// The share of the target's firmware in the time of firmware and flash, for a workload of Fig. 1.
/// Flash time is that of the host's pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirmwareShare {
    /// Label of the workload.
    pub workload: String,
    /// The share on conventional flash, 0 to 1.
    pub nand: f64,
    /// The share on Z-NAND, 0 to 1.
    pub z_nand: f64,
}

/// The shares of firmware, for each workload in the order of the records.
pub(super) fn shares(records: &Records) -> Vec<FirmwareShare> {
    let of = |rows: &[Record]| {
        let sum = |each: &dyn Fn(&Record) -> f64| rows.iter().map(each).sum::<f64>();
        let firmware = sum(&|row| row.target_ns);
        let share = |flash: FlashTimes| firmware / (firmware + sum(&|row| flash.ns(&row.counts)));
        let workload = rows[0].workload.clone();
        FirmwareShare { workload, nand: share(FlashTimes::NAND), z_nand: share(FlashTimes::Z_NAND) }
    };
    records.rows.chunk_by(|a, b| a.workload == b.workload).map(of).collect()
}

/// How far predictions are off on one workload of Fig. 2. Times are those of a group of 1,000
/// requests, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadError {
    /// Label of the workload.
    pub workload: String,
    /// How many groups it has.
    pub groups: usize,
    /// Mean time measured.
    pub mean_ns: f64,
    /// Mean time predicted.
    pub mean_predicted_ns: f64,
    /// 99th percentile of the times measured.
    pub p99_ns: f64,
    /// 99th percentile of the times predicted.
    pub p99_predicted_ns: f64,
    /// Relative error of the mean, in percent.
    pub average_percent: f64,
    /// Relative error of the 99th percentile, in percent.
    pub p99_percent: f64,
    /// Mean relative error of a group, in percent.
    pub group_percent: f64,
}

/// How far predictions are off on all workloads together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionErrors {
    /// Fig. 2a: relative error of a workload's mean, averaged over workloads, in percent.
    pub average_percent: f64,
    /// The largest relative error of a workload's mean, in percent.
    pub average_percent_max: f64,
    /// Fig. 2b: relative error of a workload's 99th percentile, averaged over workloads, in
    /// percent.
    pub p99_percent: f64,
    /// The largest relative error of a workload's 99th percentile, in percent.
    pub p99_percent_max: f64,
    /// Relative error of a group, averaged over all groups, in percent.
    pub group_percent: f64,
    /// How far the total times of workloads are off, added up, in seconds.
    pub off_seconds: f64,
    /// How far the times of groups are off, added up, in seconds.
    pub off_group_seconds: f64,
    /// The time measured of all groups, in seconds.
    pub seconds: f64,
    /// The workloads, in the order of the records.
    pub workloads: Vec<WorkloadError>,
}

/// How good a learner is on workloads it has not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Name of the learner.
    pub learner: String,
    /// Errors of the firmware's time alone. A network that was trained with several seeds has the
    /// means of their errors.
    pub plain: PredictionErrors,
    /// Errors with the flash constant of §4.2 added to truths and predictions.
    pub with_nand: PredictionErrors,
    /// The figures of a network with each seed that it was trained with; empty for learners that
    /// draw nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<Figures>,
    /// What the learner gains over one factor; `None` for the factor itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<Gains>,
}

/// The four figures that the paper compares learners by, averaged over workloads, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Relative error of a workload's mean.
    pub average_percent: f64,
    /// Relative error of a workload's 99th percentile.
    pub p99_percent: f64,
    /// Relative error of a workload's mean with the flash constant of §4.2.
    pub average_with_nand_percent: f64,
    /// Relative error of a workload's 99th percentile with the flash constant of §4.2.
    pub p99_with_nand_percent: f64,
}

impl Judgement {
    /// What the learner gains over `factor`, both judged on the same workloads.
    pub(super) fn gains_over(&self, factor: &Self) -> Gains {
        let gain = |errors: fn(&Self) -> &PredictionErrors, of: fn(&WorkloadError) -> f64| {
            let pairs = errors(factor).workloads.iter().zip(&errors(self).workloads);
            Gain::of(&pairs.map(|(factor, own)| of(factor) - of(own)).collect::<Vec<f64>>())
        };
        Gains {
            average: gain(|one| &one.plain, |one| one.average_percent),
            p99: gain(|one| &one.plain, |one| one.p99_percent),
            average_with_nand: gain(|one| &one.with_nand, |one| one.average_percent),
            p99_with_nand: gain(|one| &one.with_nand, |one| one.p99_percent),
        }
    }

    /// The figures that the paper compares learners by.
    pub fn figures(&self) -> Figures {
        Figures {
            average_percent: self.plain.average_percent,
            p99_percent: self.plain.p99_percent,
            average_with_nand_percent: self.with_nand.average_percent,
            p99_with_nand_percent: self.with_nand.p99_percent,
        }
    }

    /// The judgement of a network that was trained with several seeds, from one for each seed.
    pub(super) fn of_seeds(each: &[Self]) -> Self {
        let errors = |of: fn(&Self) -> &PredictionErrors| {
            PredictionErrors::mean(&each.iter().map(of).collect::<Vec<_>>())
        };
        Self {
            plain: errors(|one| &one.plain),
            with_nand: errors(|one| &one.with_nand),
            seeds: each.iter().map(Self::figures).collect(),
            ..each[0].clone()
        }
    }
}

/// Judges a learner by its predictions, one for each record.
pub(super) fn judge(learner: &str, records: &Records, predictions: &[f64]) -> Judgement {
    let errors = |nand: &dyn Fn(&WorkCounts) -> f64| {
        let pairs = records.rows.iter().zip(predictions).map(|(row, prediction)| {
            let flash = nand(&row.counts);
            (row.workload.as_str(), row.target_ns + flash, prediction + flash)
        });
        PredictionErrors::of(pairs)
    };
    let with_nand = errors(&|counts| FlashTimes::Z_NAND.ns(counts));
    let (learner, plain) = (learner.to_owned(), errors(&|_| 0.0));
    Judgement { learner, plain, with_nand, seeds: Vec::new(), gains: None }
}

/// The smallest value that at least 99 % of the values do not exceed; 0 if there are none.
pub fn percentile_99(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (0.99 * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Relative error in percent.
fn percent(truth: f64, prediction: f64) -> f64 {
    100.0 * (prediction / truth - 1.0).abs()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl PredictionErrors {
    /// Errors over some groups, each with its workload, its time and its predicted time.
    pub(super) fn of<'a>(groups: impl Iterator<Item = (&'a str, f64, f64)>) -> Self {
        let mut order: Vec<&str> = Vec::new();
        let mut by_label: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for (label, truth, prediction) in groups {
            let entry = by_label.entry(label).or_insert_with(|| {
                order.push(label);
                Default::default()
            });
            entry.0.push(truth);
            entry.1.push(prediction);
        }
        let workloads: Vec<WorkloadError> = (order.iter())
            .map(|&label| WorkloadError::of(label, &by_label[label].0, &by_label[label].1))
            .collect();
        let off: f64 = (by_label.values())
            .flat_map(|(truths, predictions)| truths.iter().zip(predictions))
            .map(|(truth, prediction)| (truth - prediction).abs())
            .sum();
        let off_seconds = |one: &WorkloadError| {
            one.groups as f64 * (one.mean_ns - one.mean_predicted_ns).abs() / 1e9
        };
        Self {
            off_seconds: workloads.iter().map(off_seconds).sum(),
            off_group_seconds: off / 1e9,
            ..Self::of_workloads(workloads)
        }
    }

    /// The means of the errors of several models of the same groups.
    fn mean(each: &[&Self]) -> Self {
        let all =
            |of: &dyn Fn(&Self) -> f64| mean(&each.iter().map(|one| of(one)).collect::<Vec<_>>());
        let workload = |(place, known): (usize, &WorkloadError)| {
            let all = |of: fn(&WorkloadError) -> f64| all(&|one| of(&one.workloads[place]));
            WorkloadError {
                mean_predicted_ns: all(|one| one.mean_predicted_ns),
                p99_predicted_ns: all(|one| one.p99_predicted_ns),
                average_percent: all(|one| one.average_percent),
                p99_percent: all(|one| one.p99_percent),
                group_percent: all(|one| one.group_percent),
                ..known.clone()
            }
        };
        Self {
            off_seconds: all(&|one| one.off_seconds),
            off_group_seconds: all(&|one| one.off_group_seconds),
            ..Self::of_workloads(each[0].workloads.iter().enumerate().map(workload).collect())
        }
    }

    /// The errors of workloads, averaged. How far totals are off is left 0.
    fn of_workloads(workloads: Vec<WorkloadError>) -> Self {
        let column =
            |of: fn(&WorkloadError) -> f64| -> Vec<f64> { workloads.iter().map(of).collect() };
        let (averages, tails) = (column(|one| one.average_percent), column(|one| one.p99_percent));
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let count: usize = workloads.iter().map(|one| one.groups).sum();
        let total = |of: &dyn Fn(&WorkloadError) -> f64| -> f64 {
            workloads.iter().map(|one| of(one) * one.groups as f64).sum()
        };
        Self {
            average_percent: mean(&averages),
            average_percent_max: most(&averages),
            p99_percent: mean(&tails),
            p99_percent_max: most(&tails),
            group_percent: total(&|one| one.group_percent) / count.max(1) as f64,
            off_seconds: 0.0,
            off_group_seconds: 0.0,
            seconds: total(&|one| one.mean_ns) / 1e9,
            workloads,
        }
    }
}

impl WorkloadError {
    fn of(label: &str, truths: &[f64], predictions: &[f64]) -> Self {
        let (mean_ns, mean_predicted_ns) = (mean(truths), mean(predictions));
        let (p99_ns, p99_predicted_ns) = (percentile_99(truths), percentile_99(predictions));
        let each: Vec<f64> = truths.iter().zip(predictions).map(|(t, p)| percent(*t, *p)).collect();
        Self {
            workload: label.to_owned(),
            groups: truths.len(),
            mean_ns,
            mean_predicted_ns,
            p99_ns,
            p99_predicted_ns,
            average_percent: percent(mean_ns, mean_predicted_ns),
            p99_percent: percent(p99_ns, p99_predicted_ns),
            group_percent: mean(&each),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workloads_by_hand() {
        let groups =
            [("B", 100.0, 110.0), ("B", 300.0, 270.0), ("A", 50.0, 60.0), ("A", 50.0, 60.0)];
        let errors = PredictionErrors::of(groups.into_iter());
        let labels: Vec<&str> = errors.workloads.iter().map(|one| one.workload.as_str()).collect();
        assert_eq!(labels, ["B", "A"]);
        // Means 200 and 190 (5 %), 50 and 60 (20 %); maxima 300 and 270 (10 %), 50 and 60.
        assert!((errors.average_percent - 12.5).abs() < 1e-9);
        assert!((errors.average_percent_max - 20.0).abs() < 1e-9);
        assert!((errors.p99_percent - 15.0).abs() < 1e-9);
        // 10 %, 10 %, 20 %, 20 %.
        assert!((errors.group_percent - 15.0).abs() < 1e-9);
        assert!((errors.off_seconds - 40e-9).abs() < 1e-15);
        assert!((errors.off_group_seconds - 60e-9).abs() < 1e-15);
        assert!((errors.seconds - 500e-9).abs() < 1e-15);
    }

    #[test]
    fn seeds_are_averaged_error_by_error() {
        let of = |predicted: [f64; 2]| {
            PredictionErrors::of(
                [("A", 100.0, predicted[0]), ("B", 50.0, predicted[1])].into_iter(),
            )
        };
        // 10 % too much and 10 % too little do not make a network without error.
        let mean = PredictionErrors::mean(&[&of([110.0, 50.0]), &of([90.0, 60.0])]);
        assert!((mean.average_percent - 10.0).abs() < 1e-9, "{mean:?}");
        assert!((mean.workloads[0].average_percent - 10.0).abs() < 1e-9);
        assert!((mean.workloads[0].mean_predicted_ns - 100.0).abs() < 1e-9);
        assert!((mean.off_seconds - 15e-9).abs() < 1e-15);
        assert!((mean.seconds - 150e-9).abs() < 1e-15);
    }

    #[test]
    fn percentiles_by_hand() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile_99(&values), 198.0);
        assert_eq!(percentile_99(&[4.0]), 4.0);
        assert_eq!(percentile_99(&[]), 0.0);
    }

    #[test]
    fn the_flash_constant_by_hand() {
        let counts = WorkCounts { pages_read: 32, pages_written: 64, ..WorkCounts::default() };
        assert!((FlashTimes::Z_NAND.ns(&counts) - (12_000.0 + 800_000.0)).abs() < 1e-9);
    }

    #[test]
    fn shares_by_hand() {
        let record = |workload: &str, pages_read, target_ns| Record {
            id: format!("{workload}/0"),
            workload: workload.to_owned(),
            counts: WorkCounts { pages_read, ..WorkCounts::default() },
            inputs: BTreeMap::new(),
            target_ns,
        };
        let records = Records {
            rows: vec![record("A", 32, 3_000.0), record("A", 32, 5_000.0), record("B", 0, 1.0)],
            events: Vec::new(),
            target_noise: 0.0,
            host_noise: 0.0,
            target_floor: 0.0,
        };
        let found = shares(&records);
        // 8 us of firmware beside 24 us and 300 us of flash.
        assert!((found[0].z_nand - 0.25).abs() < 1e-12);
        assert!((found[0].nand - 8.0 / 308.0).abs() < 1e-12);
        assert_eq!((found[1].workload.as_str(), found[1].nand), ("B", 1.0));
    }
}
