//! What a learner gains over one factor.
//!
//! A target whose times are the host's times a factor is no test of a learner: `scaled host` is as
//! good. So every learner is set beside it, workload by workload, and the mean of the differences
//! has an interval: workloads are drawn anew with repetition, as if Table 4 had come out otherwise.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// By how much the error of a workload is less than that of one factor, in points of percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The mean over workloads. Below 0 the learner is worse than one factor.
    pub mean: f64,
    /// The lower end of the interval that holds 95 % of the means of workloads drawn anew.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// What a learner gains over one factor by each of the four figures that it is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gains {
    /// By the average of a workload, of the firmware alone.
    pub average: Gain,
    /// By the 99th percentile of a workload, of the firmware alone.
    pub p99: Gain,
    /// By the average, with the flash constant of §4.2 on both sides.
    pub average_with_nand: Gain,
    /// By the 99th percentile, with the flash constant of §4.2 on both sides.
    pub p99_with_nand: Gain,
}

/// How many times workloads are drawn anew.
const DRAWS: usize = 4_000;

impl Gain {
    /// The mean of some differences, and its interval.
    pub(super) fn of(differences: &[f64]) -> Self {
        let count = differences.len().max(1);
        let mean = differences.iter().sum::<f64>() / count as f64;
        // The same draws for every learner, so that equal differences have equal intervals.
        let rng = &mut Pcg64Mcg::seed_from_u64(0);
        let mut means: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let drawn = differences.iter().map(|_| rng.random_range(0..differences.len()));
                drawn.map(|place| differences[place]).sum::<f64>() / count as f64
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let quantile = |share: f64| means[(share * (DRAWS - 1) as f64).round() as usize];
        Self { mean, low: quantile(0.025), high: quantile(0.975) }
    }

    /// The gain in the words of reports. A gain whose interval holds 0 is called undecided.
    pub fn text(&self) -> String {
        let undecided = if self.low <= 0.0 && self.high >= 0.0 { " undecided" } else { "" };
        format!("{:+.1} ({:+.1} to {:+.1}){undecided}", self.mean, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_decided_if_few_workloads_do_not_turn_it() {
        let steady = Gain::of(&[1.0, 2.0, 3.0, 2.0, 1.5, 2.5]);
        assert!((steady.mean - 2.0).abs() < 1e-12);
        // By hand: the deviation of a mean of six is 0.65 / sqrt(6) = 0.264, twice that each way.
        assert!((steady.low - 1.48).abs() < 0.1 && (steady.high - 2.52).abs() < 0.1, "{steady:?}");
        assert!(!steady.text().contains("undecided"), "{}", steady.text());
        // One workload brings all of it.
        let lone = Gain::of(&[12.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(lone.low <= 0.0 && lone.mean == 2.0);
        assert!(lone.text().contains("undecided"), "{}", lone.text());
        assert_eq!(Gain::of(&[3.0; 4]), Gain { mean: 3.0, low: 3.0, high: 3.0 });
    }
}
