//! How a search looks for a better drive.

use crate::aim::Aim;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The algorithm that proposes drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Sensitivity runs, then batches by expected improvement.
    Bayes,
    /// The algorithm of the AutoBlox paper.
    Autoblox,
    /// Uniform draws from the drives within the limits.
    Random,
    /// One from elsewhere ([`run_proposed`](super::run_proposed)).
    Own,
}

impl Algorithm {
    /// Every algorithm that is here.
    pub const ALL: [Self; 3] = [Self::Bayes, Self::Autoblox, Self::Random];

    /// The name of the algorithm on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bayes => "bayes",
            Self::Autoblox => "autoblox",
            Self::Random => "random",
            Self::Own => "own",
        }
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|own| own.name() == text);
        found.ok_or_else(|| "write bayes, autoblox or random".to_owned())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Settings of a search. The defaults are the paper's where it states them. Serialised names are
/// part of the result document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The algorithm that proposes drives.
    pub algorithm: Algorithm,
    /// The seed of every random choice of the search.
    pub seed: u64,
    /// The most evaluations of the target that proposals may cost. A run on a prefix counts as its
    /// share of one. The baseline, the other workloads, and what is measured after the search do
    /// not count.
    pub budget: f64,
    /// The number of proposals that are measured together. The result depends on it; it does not
    /// depend on the number of threads.
    pub batch: usize,
    /// The number of best trials that make up the top set. New proposals start from these, and must
    /// be able to reach the worst grade among them.
    pub top: usize,
    /// The number of parameters by which a descent may move away from the nearest measured
    /// configuration ([`Algorithm::Autoblox`] only).
    pub manhattan_max: u32,
    /// The greatest number of steps of one descent ([`Algorithm::Autoblox`] only).
    pub descent_max: usize,
    /// The greatest number of descents in one learning step ([`Algorithm::Autoblox`] only).
    pub step_max: usize,
    /// The number of standard deviations added to predicted grades before the best is taken
    /// ([`Algorithm::Autoblox`] only). The paper's artifact has 8.
    pub exploration: f64,
    /// A change of the top set's mean grade up to this counts as none. Grades are logarithms, so
    /// 0.01 is about one percent.
    pub convergence: f64,
    /// The number of evaluations without a change of the top set's mean grade after which a search
    /// has converged.
    pub patience: usize,
    /// The share of the target's requests on which candidates race before they run in full, above 0
    /// and up to 1 ([`Algorithm::Bayes`] only). With 1 there are no races.
    pub prefix: f64,
    /// What drives are to be good at, where that is more than one thing: the search then looks for
    /// drives of which none is better in everything ([`Algorithm::Bayes`] only). Empty: it looks
    /// for the best grade.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aims: Vec<Aim>,
}

/// How a search uses the tuning order that pruning has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderUse {
    /// Parameters join the search in that order.
    #[default]
    Follow,
    /// Only parameters that pruning has kept are tuned, all of them from the start.
    KeptTogether,
    /// Every parameter is tuned from the start.
    Ignore,
}

impl OrderUse {
    /// As two flags say it: the first ignores all that pruning has found, the second its order.
    pub fn stated(ignore_pruning: bool, ignore_order: bool) -> Self {
        match (ignore_pruning, ignore_order) {
            (true, _) => Self::Ignore,
            (false, true) => Self::KeptTogether,
            (false, false) => Self::Follow,
        }
    }
}

impl Settings {
    /// Whether the settings go together.
    ///
    /// # Errors
    /// A text that says which do not.
    pub fn check(&self) -> Result<(), String> {
        let twice = (1..).zip(&self.aims).find(|(next, aim)| self.aims[*next..].contains(aim));
        match (self.aims.len(), twice) {
            (0, _) => Ok(()),
            (1, _) => Err("--aim: write two or more; for one of them see whatif".to_owned()),
            (_, Some((_, aim))) => Err(format!("--aim: {aim} is there twice")),
            _ if self.algorithm == Algorithm::Bayes => Ok(()),
            _ => Err(format!("--aim: {} knows the grade alone; use bayes", self.algorithm)),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Bayes,
            seed: 0,
            budget: 60.0,
            batch: 4,
            top: 3,
            manhattan_max: 5,
            descent_max: 10,
            step_max: 5,
            exploration: 8.0,
            convergence: 0.01,
            patience: 15,
            prefix: 0.1,
            aims: Vec::new(),
        }
    }
}
