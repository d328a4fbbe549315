//! What sharing a drive costs its tenants: slowdown against running alone, and fairness.
//!
//! A tenant's slowdown is its mean latency on the shared drive divided by its mean latency when it
//! has the same drive, with the same address space and places, to itself. Latency counts from the
//! arrival at the host, so it includes waiting for a queue entry. Fairness is given in two ways: as
//! the smallest slowdown divided by the largest (as in FLIN, ISCA 2018), and as Jain's index of the
//! speeds. With x = 1 / slowdown of n tenants, that index is (sum x)^2 / (n sum x^2). It runs from
//! 1/n (one tenant has everything) to 1.

use crate::report::{OpMetrics, Report};
use serde::{Deserialize, Serialize};

/// The slowdown of every tenant, and how evenly they bear it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slowdown {
    /// Each tenant, in order.
    pub tenants: Vec<TenantSlowdown>,
    /// The smallest slowdown divided by the largest; 1 is fair. `null` if fewer than two tenants
    /// have a slowdown.
    pub min_over_max: Option<f64>,
    /// Jain's index of the tenants' speeds; 1 is fair. `null` if fewer than two tenants have a
    /// slowdown.
    pub jain_index: Option<f64>,
}

/// One tenant, on the shared drive and alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantSlowdown {
    /// Mean latency on the shared drive, in nanoseconds.
    pub mean_latency_ns: Option<f64>,
    /// Mean latency alone, in nanoseconds.
    pub alone_mean_latency_ns: Option<f64>,
    /// Mean latency on the shared drive divided by that alone; `null` if one of them is missing.
    pub slowdown: Option<f64>,
    /// The slowdown of its reads.
    pub read_slowdown: Option<f64>,
    /// The slowdown of its writes.
    pub write_slowdown: Option<f64>,
    /// The slowdown of the 99th percentile of all its latencies.
    pub p99_slowdown: Option<f64>,
}

impl Slowdown {
    /// Compares a shared run with one run for each tenant in which only that tenant is served. All
    /// runs must be of the same drive with the same tenants.
    ///
    /// # Panics
    /// The number of runs alone is not the number of tenants.
    pub fn of(shared: &Report, alone: &[Report]) -> Self {
        assert_eq!(shared.tenants.len(), alone.len(), "one run alone for each tenant");
        let tenants: Vec<TenantSlowdown> = (shared.tenants.iter().zip(alone).enumerate())
            .map(|(index, (shared, alone))| {
                let (shared, alone) = (&shared.metrics, &alone.tenants[index].metrics);
                TenantSlowdown {
                    mean_latency_ns: mean(&shared.all),
                    alone_mean_latency_ns: mean(&alone.all),
                    slowdown: ratio(mean(&shared.all), mean(&alone.all)),
                    read_slowdown: ratio(mean(&shared.read), mean(&alone.read)),
                    write_slowdown: ratio(mean(&shared.write), mean(&alone.write)),
                    p99_slowdown: ratio(p99(&shared.all), p99(&alone.all)),
                }
            })
            .collect();
        let slowdowns: Vec<f64> = tenants.iter().filter_map(|tenant| tenant.slowdown).collect();
        Self { min_over_max: min_over_max(&slowdowns), jain_index: jain(&slowdowns), tenants }
    }
}

fn mean(op: &OpMetrics) -> Option<f64> {
    op.total_latency_ns.as_ref().map(|latency| latency.mean)
}

fn p99(op: &OpMetrics) -> Option<f64> {
    op.total_latency_ns.as_ref().map(|latency| latency.p99 as f64)
}

fn ratio(shared: Option<f64>, alone: Option<f64>) -> Option<f64> {
    let (shared, alone) = (shared?, alone?);
    (alone > 0.0).then(|| shared / alone)
}

fn min_over_max(slowdowns: &[f64]) -> Option<f64> {
    let max = slowdowns.iter().copied().fold(0.0, f64::max);
    let min = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
    (slowdowns.len() > 1 && max > 0.0).then(|| min / max)
}

fn jain(slowdowns: &[f64]) -> Option<f64> {
    if slowdowns.len() < 2 || slowdowns.iter().any(|&slowdown| slowdown <= 0.0) {
        return None;
    }
    let sum: f64 = slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum();
    let squares: f64 = slowdowns.iter().map(|slowdown| 1.0 / (slowdown * slowdown)).sum();
    Some(sum * sum / (slowdowns.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_slowdowns_are_fair_and_one_victim_is_not() {
        assert_eq!(min_over_max(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[4.0, 4.0, 4.0, 4.0]), Some(1.0));
        assert_eq!(min_over_max(&[1.0, 4.0]), Some(0.25));
        // Speeds of 1 and 1/4: (5/4)^2 / (2 * 17/16).
        assert_eq!(jain(&[1.0, 4.0]), Some(25.0 / 34.0));
        // One of four tenants has nearly everything.
        assert!((jain(&[1.0, 1e9, 1e9, 1e9]).unwrap() - 0.25).abs() < 1e-6);
        assert_eq!((min_over_max(&[2.0]), jain(&[2.0])), (None, None));
    }
}
