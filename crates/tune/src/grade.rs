//! Formulas 1 and 2 of the paper: one number for latency and throughput, one for a target and all
//! other workloads.
//!
//! Both are logarithms of ratios to a reference drive. So 0 is the reference itself, twice as fast
//! and half as fast are equally far from it, and the geometric mean over the traces of a category
//! is the mean of their logarithms. With α = β = 0.5 a speedup of 1.1 is 0.095.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which response time of a run counts as its latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyFigure {
    /// The mean of all requests.
    #[default]
    Mean,
    /// What 99 % of the requests do not exceed.
    P99,
    /// What 99.9 % of the requests do not exceed.
    #[serde(rename = "p99.9")]
    P999,
}

impl LatencyFigure {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// The share of the requests that take longer; `None` of a mean.
    pub const fn beyond(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P99 => Some(0.01),
            Self::P999 => Some(0.001),
        }
    }

    /// Whether it is the mean, which is what is said without a word of it.
    pub fn is_mean(&self) -> bool {
        *self == Self::Mean
    }
}

impl fmt::Display for LatencyFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for LatencyFigure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Mean, Self::P99, Self::P999].into_iter().find(|own| own.name() == text);
        found.ok_or_else(|| "write mean, p99 or p99.9".to_owned())
    }
}

/// What a drive achieves on one workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Response time of the drive at the workload's own arrival times, in nanoseconds: the mean,
    /// unless a percentile was asked for ([`LatencyFigure`]).
    pub latency_ns: f64,
    /// Throughput in a closed loop, in bytes a second.
    pub throughput_bps: f64,
}

/// How many times better a drive is than a reference; 1 means equally good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// The reference's latency over the drive's.
    pub latency: f64,
    /// The drive's throughput over the reference's.
    pub throughput: f64,
}

/// The weights of the two formulas, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Weight of throughput against latency (formula 1).
    pub alpha: f64,
    /// Weight of the other workloads against the target (formula 2), the "penalty balance".
    pub beta: f64,
}

impl Default for Weights {
    /// The paper's weights: latency and throughput count alike, the others a tenth.
    fn default() -> Self {
        Self { alpha: 0.5, beta: 0.1 }
    }
}

impl Figures {
    /// The speedup over a reference drive on the same workload.
    pub fn over(&self, reference: &Self) -> Speedup {
        Speedup {
            latency: reference.latency_ns / self.latency_ns,
            throughput: self.throughput_bps / reference.throughput_bps,
        }
    }
}

impl Speedup {
    /// Of each part the lesser of two.
    pub fn least(&self, other: &Self) -> Self {
        Self {
            latency: self.latency.min(other.latency),
            throughput: self.throughput.min(other.throughput),
        }
    }

    /// The geometric mean of several speedups; 1 of none.
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
    /// Formula 1: the weighted sum of the logarithms of both speedups.
    pub fn performance(&self, speedup: &Speedup) -> f64 {
        (1.0 - self.alpha) * speedup.latency.ln() + self.alpha * speedup.throughput.ln()
    }

    /// Formula 2, from the performances of the target and of each other workload. Without other
    /// workloads it is the performance of the target.
    pub fn grade(&self, target: f64, others: &[f64]) -> f64 {
        if others.is_empty() {
            return target;
        }
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        (1.0 - self.beta) * target + self.beta * mean
    }

    /// What a grade is, in a sentence.
    pub(crate) fn in_words(&self, has_others: bool) -> String {
        let Self { alpha, beta } = *self;
        let target =
            format!("{} ln(latency speedup) + {alpha} ln(throughput speedup)", rest(alpha));
        let formula = match has_others {
            true => format!("{} ({target}, of the target) + {beta} (the others' mean)", rest(beta)),
            false => target,
        };
        format!("grade = {formula}; 0 is the baseline, 0.69 is twice as fast")
    }
}

/// What a weight leaves of 1. Weights are decimal fractions that people typed.
pub(crate) fn rest(weight: f64) -> f64 {
    ((1.0 - weight) * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grade_is_told_in_words() {
        let told = Weights { alpha: 0.3, beta: 0.1 }.in_words(true);
        assert_eq!(
            told,
            "grade = 0.9 (0.7 ln(latency speedup) + 0.3 ln(throughput speedup), of the target) + \
             0.1 (the others' mean); 0 is the baseline, 0.69 is twice as fast"
        );
        assert!(!Weights::default().in_words(false).contains("others"));
    }

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
