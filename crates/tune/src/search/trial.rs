//! Proposals of drives, and the trials that they become.

use super::judge::OnPrefix;
use crate::breach::Breach;
use crate::grade::Speedup;
use crate::space::Point;
use serde::Serialize;
use ssdtune_model::CheckedConfig;

/// A drive to be measured, and why it was proposed.
pub(super) struct Proposal {
    /// The drive's point in the space.
    pub point: Point,
    /// The drive.
    pub config: CheckedConfig,
    /// Why the drive was proposed, in a word.
    pub origin: &'static str,
    /// The performance (formula 1) on the prefix of the target; `None` until that was run.
    pub prefix_performance: Option<f64>,
    /// The gains in the aims of the search on the prefix; `None` until that was run.
    pub prefix_gains: Option<Vec<f64>>,
}

impl Proposal {
    /// A proposal that was not run yet.
    pub fn new(point: Point, config: CheckedConfig, origin: &'static str) -> Self {
        Self { point, config, origin, prefix_performance: None, prefix_gains: None }
    }

    /// Writes down what the prefix has told; `None` where the drive cannot serve it.
    pub fn note_prefix(&mut self, answer: Option<&OnPrefix>) {
        self.prefix_performance = answer.map(|own| own.performance);
        self.prefix_gains = answer.and_then(|own| own.gains.clone());
    }

    /// The trial of a proposal that was not measured in full.
    pub fn into_trial(self, verdict: Verdict) -> Trial {
        Trial {
            number: 0,
            origin: self.origin,
            point: self.point,
            config: self.config,
            verdict,
            prefix_performance: self.prefix_performance,
            prefix_gains: self.prefix_gains,
            target: None,
            performance: None,
            others: None,
            grade: None,
            average_watts: None,
            gains: None,
            breaches: Vec::new(),
        }
    }
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every workload was measured.
    Graded,
    /// The performance on the target was too low to win. The drive was not run on the other
    /// workloads and has no grade.
    Censored,
    /// The drive lost the race on the prefix and was not run in full.
    Raced,
    /// The drive cannot serve the target or another workload. The text says why.
    Unfit(String),
    /// The drive needs more power on the target than allowed. It was not run on the other
    /// workloads.
    OverPower,
    /// Every workload was measured, and one that is not the target loses more than it may.
    Harmful,
}

/// A proposed drive and what was measured of it.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The number of the trial, in the order of proposals; the baseline is 0.
    pub number: usize,
    /// Why the drive was proposed, in a word.
    pub origin: &'static str,
    /// The drive's point in the space.
    pub point: Point,
    /// The drive.
    #[serde(skip)]
    pub config: CheckedConfig,
    /// What became of the proposal.
    pub verdict: Verdict,
    /// The performance (formula 1) on the prefix of the target; `None` where that was not run.
    pub prefix_performance: Option<f64>,
    /// The speedup over the baseline on the target; `None` where that was not run in full.
    pub target: Option<Speedup>,
    /// The performance (formula 1) on the target; `None` where that was not run in full.
    pub performance: Option<f64>,
    /// The speedups on the other workloads, in the order of the task; `None` where they were not
    /// run.
    pub others: Option<Vec<Speedup>>,
    /// The grade (formula 2); `None` unless every workload was measured. [`Trial::kept_grade`] is
    /// that of a drive that keeps every limit.
    pub grade: Option<f64>,
    /// Average power on the target in watt; `None` where the evaluator counts no energy.
    pub average_watts: Option<f64>,
    /// The gain in each aim of the search, on the target: the logarithm of how many times better
    /// than the baseline. `None` without aims, and where one is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<Vec<f64>>,
    /// The gain in each aim on the prefix of the target; `None` where that was not run.
    #[serde(skip)]
    pub prefix_gains: Option<Vec<f64>>,
    /// The limits that the drive breaks, as far as it was measured.
    pub breaches: Vec<Breach>,
}
