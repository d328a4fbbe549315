//! Whether random drives come out in the same order: Spearman's rank correlation.
//!
//! A search only needs the order of drives to be right. Costs the square of the number of cases.

use super::battery::{Case, Tier};
use super::metrics::Metrics;
use serde::Serialize;
use std::collections::BTreeMap;

/// The least correlation over the tight drives of one workload that is enough.
const LIMIT: f64 = 0.95;
/// The least correlation over the tight drives of all workloads that is enough.
const LIMIT_POOLED: f64 = 0.98;
/// Fewer drives than this have no correlation.
const CASES_MIN: usize = 4;

/// One random drive under one workload: what it is ranked by.
#[derive(Clone, Debug)]
pub struct RankedCase {
    workload: String,
    figure: &'static str,
    tight: bool,
    recorded: f64,
    ours: f64,
    recorded_mean_ns: f64,
    our_mean_ns: f64,
}

impl RankedCase {
    /// What a case is ranked by: IOPS where the load is the limit, the mean end-to-end time where
    /// arrivals are given. `None` if its drive is not a random one or a figure is missing.
    pub fn of(case: &Case, ours: &Metrics) -> Option<Self> {
        if !case.is_random {
            return None;
        }
        let workload = case.id.rsplit_once('_')?.1.to_owned();
        let mean = |metrics: &Metrics| metrics.end_to_end_ns.all.map(|latency| latency.mean);
        let by_time = workload == "real";
        let figure = |metrics: &Metrics| if by_time { mean(metrics) } else { metrics.iops.all };
        Some(Self {
            workload,
            figure: if by_time { "end_to_end_ns.all.mean" } else { "iops.all" },
            tight: case.tier <= Tier::Tight,
            recorded: figure(&case.metrics)?,
            ours: figure(ours)?,
            recorded_mean_ns: mean(&case.metrics)?,
            our_mean_ns: mean(ours)?,
        })
    }
}

/// A rank correlation between MQSim and ssdtune.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankCorrelation {
    /// The workload, or `pooled` for all of them.
    pub workload: String,
    /// The figure by which drives are ranked.
    pub figure: &'static str,
    /// Number of drives whose figures must agree tightly.
    pub cases: usize,
    /// Spearman's rho over these, -1 to 1; `null` if they are too few or all equal.
    pub spearman: Option<f64>,
    /// Number of all drives.
    pub all_cases: usize,
    /// Spearman's rho over all drives, -1 to 1.
    pub all_spearman: Option<f64>,
    /// The least rho that is enough.
    pub required: f64,
    /// The rho is enough, or there is none.
    pub pass: bool,
}

/// The rank correlation of each workload, and one over all of them.
pub fn ranks(points: &[&RankedCase]) -> Vec<RankCorrelation> {
    let mut by_workload: BTreeMap<&str, Vec<&RankedCase>> = BTreeMap::new();
    for point in points {
        by_workload.entry(&point.workload).or_default().push(point);
    }
    let mut ranks: Vec<RankCorrelation> = by_workload
        .into_iter()
        .map(|(workload, points)| {
            rank(workload, points[0].figure, LIMIT, &points, |point| (point.recorded, point.ours))
        })
        .collect();
    if !points.is_empty() {
        // Rates of one workload and times of another have no common order; the mean time has.
        let means = |point: &RankedCase| (point.recorded_mean_ns, point.our_mean_ns);
        ranks.push(rank("pooled", "end_to_end_ns.all.mean", LIMIT_POOLED, points, means));
    }
    ranks
}

fn rank(
    workload: &str,
    figure: &'static str,
    required: f64,
    points: &[&RankedCase],
    pair: impl Fn(&RankedCase) -> (f64, f64),
) -> RankCorrelation {
    let of = |points: &[&RankedCase]| {
        let pairs: Vec<(f64, f64)> = points.iter().map(|point| pair(point)).collect();
        if pairs.len() < CASES_MIN { None } else { spearman(&pairs) }
    };
    let tight: Vec<&RankedCase> = points.iter().copied().filter(|point| point.tight).collect();
    let spearman = of(&tight);
    RankCorrelation {
        workload: workload.to_owned(),
        figure,
        cases: tight.len(),
        spearman,
        all_cases: points.len(),
        all_spearman: of(points),
        required,
        pass: spearman.is_none_or(|rho| rho >= required),
    }
}

/// Spearman's rho: Pearson's correlation of the ranks. `None` if one side is constant.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let x = mean_ranks(pairs.iter().map(|pair| pair.0).collect());
    let y = mean_ranks(pairs.iter().map(|pair| pair.1).collect());
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    (scale > 0.0).then(|| product(&x, &y) / scale)
}

/// The rank of each value, from 1; equal values have the mean of their ranks.
fn mean_ranks(values: Vec<f64>) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rho_is_what_tables_say() {
        let same: Vec<(f64, f64)> = (0..9).map(|i| (f64::from(i), f64::from(i * i))).collect();
        assert!((spearman(&same).unwrap() - 1.0).abs() < 1e-12);
        let reverse: Vec<(f64, f64)> = (0..9).map(|i| (f64::from(i), -f64::from(i))).collect();
        assert!((spearman(&reverse).unwrap() + 1.0).abs() < 1e-12);
        // Without ties rho is 1 - 6 sum d^2 / (n (n^2 - 1)): d = 1, 1, 0, 0 of 4 gives 0.8.
        let swapped = [(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (4.0, 4.0)];
        assert!((spearman(&swapped).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(spearman(&[(1.0, 5.0), (2.0, 5.0)]), None);
    }

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(mean_ranks(vec![7.0, 3.0, 7.0, 1.0]), [3.5, 2.0, 3.5, 1.0]);
    }
}
