//! Formulas 1 and 2 of the paper: one number for latency and throughput, one for a target and all
//! others.
//!
//! Both are logarithms of ratios to a reference drive, so that 0 is the reference itself, twice as
//! fast and half as fast are equally far from it, and the geometric mean over the traces of a
//! category is the mean of their logarithms. With α = β = 0.5, 1.1x is 0.095.

use serde::{Deserialize, Serialize};

/// What one workload gets out of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Mean response time of the drive at the workload's own arrival times, in nanoseconds.
    pub latency_ns: f64,
    /// Bytes a second in a closed loop.
    pub throughput_bps: f64,
}

/// How often better than the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// Reference latency over this one.
    pub latency: f64,
    /// This throughput over the reference.
    pub throughput: f64,
}

/// The two weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Weight of throughput against latency (formula 1).
    pub alpha: f64,
    /// Weight of the other workloads against the target (formula 2), the "penalty balance".
    pub beta: f64,
}

impl Default for Weights {
    /// The paper's: latency and throughput alike, a tenth for the others.
    fn default() -> Self {
        Self { alpha: 0.5, beta: 0.1 }
    }
}

impl Figures {
    /// Against a reference.
    pub fn over(&self, reference: &Self) -> Speedup {
        Speedup {
            latency: reference.latency_ns / self.latency_ns,
            throughput: self.throughput_bps / reference.throughput_bps,
        }
    }
}

impl Speedup {
    /// The geometric mean of several; 1 of none.
    pub fn mean<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut latency, mut throughput, mut count) = (0.0, 0.0, 0.0_f64);
        for one in all {
            latency += one.latency.ln();
            throughput += one.throughput.ln();
            count += 1.0;
        }
        let count = count.max(1.0);
        Self { latency: (latency / count).exp(), throughput: (throughput / count).exp() }
    }
}

impl Weights {
    /// Formula 1.
    pub fn performance(&self, speedup: &Speedup) -> f64 {
        (1.0 - self.alpha) * speedup.latency.ln() + self.alpha * speedup.throughput.ln()
    }

    /// Formula 2, from the performances of the target and of each other category. Without others
    /// the target is all there is.
    pub fn grade(&self, target: f64, others: &[f64]) -> f64 {
        if others.is_empty() {
            return target;
        }
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        (1.0 - self.beta) * target + self.beta * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_by_hand() {
        let reference = Figures { latency_ns: 200.0, throughput_bps: 10.0 };
        let twice = Figures { latency_ns: 100.0, throughput_bps: 20.0 }.over(&reference);
        assert_eq!(twice, Speedup { latency: 2.0, throughput: 2.0 });
        let weights = Weights { alpha: 0.25, beta: 0.1 };
        let mixed = Speedup { latency: 2.0, throughput: 0.5 };
        assert!((weights.performance(&mixed) - 0.5 * 2.0_f64.ln()).abs() < 1e-12);
        assert!((weights.grade(1.0, &[-1.0, 0.5]) - (0.9 - 0.025)).abs() < 1e-12);
        assert_eq!(weights.grade(0.3, &[]), 0.3);
        assert_eq!(weights.performance(&reference.over(&reference)), 0.0);
    }

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        let one = |latency| Speedup { latency, throughput: 1.0 };
        assert!((Speedup::mean(&[one(4.0), one(0.25)]).latency - 1.0).abs() < 1e-12);
        assert_eq!(Speedup::mean(&[]).latency, 1.0);
    }
}
