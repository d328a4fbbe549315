//! What a fitted model is worth on points that it has not learned from.

use super::super::estimate::Estimate;
use super::super::features::Characteristics;
use super::super::model::{BlackBoxModel, Prediction};
use super::super::regressor::FitError;
use super::Measured;
use serde::Serialize;
use ssdtune_learn::metrics::ErrorReport;

/// How often the interval of a latency holds the truth, on the points that were not learned from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// The kind of model.
    pub model: &'static str,
    /// The share of truths inside their intervals, 0 to 1; 0.9 is aimed at.
    pub inside: f64,
    /// The mean ratio of the upper end of an interval to its lower end.
    pub width: f64,
}

/// How good the latencies of one regressor are on points of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindError {
    /// The kind of model.
    pub model: &'static str,
    /// `mixed`, `reads` or `writes`.
    pub kind: &'static str,
    /// Errors on the points that were not learned from.
    pub error: ErrorReport,
}

/// How good the latencies of the model are on mixed points, on pure reads and on pure writes.
pub(super) fn kinds(model: &BlackBoxModel, test: &Measured) -> Result<Vec<KindError>, FitError> {
    let mut all = Vec::new();
    let is = |kind: &str, share: f64| match kind {
        "reads" => share == 0.0,
        "writes" => share == 1.0,
        _ => share > 0.0 && share < 1.0,
    };
    for kind in ["mixed", "reads", "writes"] {
        let of = |(workload, _): &(&Characteristics, &f64)| is(kind, workload.extended.rw_ratio);
        let rows = || test.workloads.iter().zip(&test.truths[0]).filter(of);
        let truths: Vec<f64> = rows().map(|(_, truth)| *truth).collect();
        if truths.is_empty() {
            continue;
        }
        let latency = &model.targets[0];
        for (name, one) in [("extended tree", &latency.tree), ("stronger", &latency.strong)] {
            let found: Vec<f64> = rows().map(|(own, _)| one.regressor.predict(own)).collect();
            all.push(KindError { model: name, kind, error: ErrorReport::new(&truths, &found)? });
        }
    }
    Ok(all)
}

/// How good the intervals of the latency are.
pub(super) fn coverage(model: &BlackBoxModel, test: &Measured) -> Vec<Coverage> {
    let predictions: Vec<_> = test.workloads.iter().map(|one| model.predict(one)).collect();
    let count = predictions.len().max(1) as f64;
    let of = |name: &'static str, pick: &dyn Fn(&Prediction) -> Estimate| {
        let estimates = predictions.iter().map(pick);
        let (mut inside, mut width) = (0u32, 0.0);
        for (estimate, truth) in estimates.zip(&test.truths[0]) {
            let Some(interval) = estimate.interval else { continue };
            inside += u32::from(interval.holds(*truth));
            width += interval.high / interval.low;
        }
        Coverage { model: name, inside: f64::from(inside) / count, width: width / count }
    };
    vec![of("extended tree", &|p| p.tree[0]), of("stronger", &|p| p.strong[0])]
}
