//! A proposal, and the trial that it becomes.

use crate::grade::Speedup;
use crate::space::Point;
use serde::Serialize;
use ssdtune_model::CheckedConfig;

/// A point to be judged, and why it was proposed.
pub(super) struct Proposal {
    /// Where it lies in the space.
    pub point: Point,
    /// The drive.
    pub config: CheckedConfig,
    /// Why it was proposed, in a word.
    pub origin: &'static str,
    /// Formula 1 on the prefix of the target, once that was run.
    pub prefix_performance: Option<f64>,
    /// The grade that it is predicted not to reach, where it runs only to check that prediction.
    pub predicted_below: Option<f64>,
}

impl Proposal {
    /// A proposal of which nothing is known yet.
    pub fn new(point: Point, config: CheckedConfig, origin: &'static str) -> Self {
        Self { point, config, origin, prefix_performance: None, predicted_below: None }
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
            target: None,
            performance: None,
            others: None,
            grade: None,
            average_watts: None,
            bound: None,
        }
    }
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every workload was measured.
    Graded,
    /// The target's part of the grade could not win any more. The others were not run, and there is
    /// no grade.
    Censored,
    /// It lost the race on the prefix and was not run in full.
    Raced,
    /// The drive cannot serve the target, or one of the others, for this reason.
    Unfit(String),
    /// The drive needs more power than allowed, as explained.
    OverPower(String),
    /// It was predicted to be hopeless and not run at all.
    #[serde(rename = "screened")]
    Hopeless,
}

/// One proposal and what was measured of it.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Its number, in the order of proposals; the baseline is 0.
    pub number: usize,
    /// Why it was proposed, in a word.
    pub origin: &'static str,
    /// Where it lies in the space.
    pub point: Point,
    /// The drive.
    #[serde(skip)]
    pub config: CheckedConfig,
    /// What became of it.
    pub verdict: Verdict,
    /// Formula 1 on the prefix of the target; `None` where that was not run.
    pub prefix_performance: Option<f64>,
    /// Speedup of the target over the baseline; `None` where it was not run in full.
    pub target: Option<Speedup>,
    /// Formula 1 of the target; `None` where it was not run in full.
    pub performance: Option<f64>,
    /// Speedups of the other workloads, in their order; `None` where they were not run.
    pub others: Option<Vec<Speedup>>,
    /// Formula 2; `None` unless every workload was measured.
    pub grade: Option<f64>,
    /// Average power on the target in watt; `None` where the evaluator counts no energy.
    pub average_watts: Option<f64>,
    /// The highest grade that was likely, where the proposal was discarded as hopeless.
    pub bound: Option<f64>,
}
