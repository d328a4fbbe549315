//! How a search looks for a better drive.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who proposes drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Sensitivity runs, then batches by expected improvement.
    Bayes,
    /// The algorithm of the AutoBlox paper.
    Autoblox,
    /// Uniform draws from the drives within the limits.
    Random,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 3] = [Self::Bayes, Self::Autoblox, Self::Random];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bayes => "bayes",
            Self::Autoblox => "autoblox",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How to search. The defaults are the paper's where it states them. Serialised names are part of
/// the result document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who proposes.
    pub algorithm: Algorithm,
    /// Seed of every random choice of the search.
    pub seed: u64,
    /// Evaluations of the target at full length that may be spent. A run on a prefix counts as its
    /// share of one.
    pub budget: f64,
    /// Proposals judged together. It decides the result; the number of threads does not.
    pub batch: usize,
    /// The size of the top set: the best trials, from which roots are drawn, and whose worst grade
    /// a proposal must be able to reach.
    pub top: usize,
    /// The number of parameters in which a proposal may differ from the nearest learned
    /// configuration (AutoBlox).
    pub manhattan_max: u32,
    /// The number of steps of one descent at most (AutoBlox).
    pub descent_max: usize,
    /// The number of iterations for one new configuration at most (AutoBlox).
    pub step_max: usize,
    /// Standard deviations added to a predicted grade before the best one is taken (AutoBlox; the
    /// paper's artifact has 8).
    pub exploration: f64,
    /// A relative change of the top set's mean grade up to this counts as none.
    pub convergence: f64,
    /// Evaluations without a change of the top set after which a search has converged.
    pub patience: usize,
    /// The share of the target's requests that candidates are raced on before they run in full
    /// (Bayes). With 1 nothing is raced.
    pub prefix: f64,
    /// Whether proposals that are predicted to be hopeless are discarded before they are simulated.
    #[serde(rename = "screen")]
    pub discard_hopeless: bool,
}

/// What a search makes of the tuning order that pruning has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderUse {
    /// Parameters come into play in that order.
    #[default]
    Follow,
    /// The parameters that pruning has kept play from the start, all together.
    KeptTogether,
    /// Every parameter plays from the start.
    Ignore,
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
            discard_hopeless: false,
        }
    }
}
