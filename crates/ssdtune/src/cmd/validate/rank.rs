//! Whether random configurations come out in the same order: Spearman's rank correlation.

use serde::Serialize;
use std::collections::BTreeMap;

/// What each workload must reach over its tight configurations.
const LIMIT: f64 = 0.95;
/// What they must reach together.
const LIMIT_POOLED: f64 = 0.98;
/// Fewer points than this rank nothing.
const POINTS_MIN: usize = 4;

/// One configuration under one workload.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) workload: String,
    pub(super) figure: &'static str,
    pub(super) tight: bool,
    pub(super) recorded: f64,
    pub(super) ours: f64,
    pub(super) recorded_mean_ns: f64,
    pub(super) our_mean_ns: f64,
}

/// A rank correlation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Rank {
    /// The workload, or `pooled`.
    pub(super) workload: String,
    /// What was ranked.
    pub(super) figure: &'static str,
    /// Tight configurations.
    pub(super) cases: usize,
    /// Over these; `null` if they are too few.
    pub(super) spearman: Option<f64>,
    /// All configurations.
    pub(super) all_cases: usize,
    /// Over all.
    pub(super) all_spearman: Option<f64>,
    /// The least that is enough.
    pub(super) required: f64,
    /// It is enough, or there is nothing to rank.
    pub(super) pass: bool,
}

/// A rank correlation for each workload, and one over all.
pub(super) fn ranks(points: &[&Point]) -> Vec<Rank> {
    let mut by_workload: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in points {
        by_workload.entry(&point.workload).or_default().push(point);
    }
    let mut ranks: Vec<Rank> = by_workload
        .into_iter()
        .map(|(workload, points)| {
            rank(workload, points[0].figure, LIMIT, &points, |point| (point.recorded, point.ours))
        })
        .collect();
    if !points.is_empty() {
        // Rates of one workload and times of another have no common order; the mean time has.
        let means = |point: &Point| (point.recorded_mean_ns, point.our_mean_ns);
        ranks.push(rank("pooled", "end_to_end_ns.all.mean", LIMIT_POOLED, points, means));
    }
    ranks
}

fn rank(
    workload: &str,
    figure: &'static str,
    required: f64,
    points: &[&Point],
    pair: impl Fn(&Point) -> (f64, f64),
) -> Rank {
    let of = |points: &[&Point]| {
        let pairs: Vec<(f64, f64)> = points.iter().map(|point| pair(point)).collect();
        if pairs.len() < POINTS_MIN { None } else { spearman(&pairs) }
    };
    let tight: Vec<&Point> = points.iter().copied().filter(|point| point.tight).collect();
    let spearman = of(&tight);
    Rank {
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

/// Spearman's rho: Pearson's correlation of the ranks, ties having their mean rank. `None` if one side is
/// constant.
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
