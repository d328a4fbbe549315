//! Automated tuning (AutoBlox, section 3.4): from a baseline and workloads to a better drive.
//!
//! A [`Task`] says what is wanted, [`Settings`] how to look for it; [`run`] measures the baseline, lets an
//! [`Algorithm`] propose, judges proposals by simulation and gives back every [`Trial`]. Three algorithms:
//!
//! - [`Algorithm::Autoblox`] is the paper: from a root among the top three, descend over neighbours to the
//!   best predicted grade, validate, repeat.
//! - [`Algorithm::Bayes`], the default: a sensitivity screening on a prefix of the trace, then batches of
//!   proposals by expected improvement in a trust region, raced on the prefix before they run in full.
//! - [`Algorithm::Random`]: feasible points, uniformly.
//!
//! The non-target workloads are run only where the target's part of the grade can still win; a trial
//! without them is *censored* and no number stands in for what was not measured. The surrogate therefore
//! models the target's performance and the others' separately (`search/surrogate.rs`).
//!
//! With [`Settings::screen`] proposals that are predicted to be hopeless are discarded before they are simulated
//! (`search/screen.rs`).
//!
//! Decisions are taken when a whole batch is known, in the order of its proposals, and every random draw is
//! keyed by (seed, iteration, slot): the answer is the same for any number of threads, and the same again
//! when a killed search is repeated over the AutoDB it left, where its evaluations are then found.

mod autoblox;
mod bayes;
mod judge;
mod moves;
mod objective;
mod random;
mod screen;
mod surrogate;

pub use judge::{Baseline, CurvePoint, Trial, Verdict};
pub(crate) use moves::Moves;
pub use objective::{Graded, Objective};
pub use screen::{EXAMPLES_MAX, EXAMPLES_MIN, Screened};

use crate::evaluate::{CachedEvaluator, MeasureError};
use crate::grade::{Speedup, Weights};
use crate::limits::Limits;
use crate::memory::TrainingExample;
use crate::space::{Point, Space};
use crate::workload::Workload;
use judge::Judge;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use ssdtune_model::{CheckedConfig, DeviceConfig, GOLDEN_STEP, scramble};
use std::fmt;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Task {
    /// The drive to beat; grades are relative to it.
    pub base: CheckedConfig,
    /// What may change; it holds the baseline's own values ([`Space::around`]).
    pub space: Space,
    /// What the result must keep to.
    pub limits: Limits,
    /// The workload to serve better.
    pub target: Workload,
    /// The workloads not to hurt.
    pub others: Vec<Workload>,
    /// The weights of formulas 1 and 2.
    pub weights: Weights,
    /// Keys of parameters in the order they should be tuned, from pruning; empty where nothing is known.
    pub order: Vec<Ordered>,
    /// Configurations to begin from beside the baseline, best first.
    pub seeds: Vec<DeviceConfig>,
    /// What earlier evaluations teach, for screening; empty where nothing is known.
    pub examples: Vec<TrainingExample>,
}

/// A parameter's place in the tuning order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ordered {
    /// Its key.
    pub key: String,
    /// Its Ridge coefficient.
    pub coefficient: f64,
}

/// How proposals are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Screening, then batches by expected improvement.
    Bayes,
    /// The paper's.
    Autoblox,
    /// Uniformly drawn.
    Random,
}

impl Algorithm {
    /// All of them.
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

/// How to look for it. The defaults of the limits are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who proposes.
    pub algorithm: Algorithm,
    /// Seed of every random choice of the search.
    pub seed: u64,
    /// Evaluations of the target at full length; a run on a prefix counts as its part of one.
    pub budget: f64,
    /// Proposals judged together. More do not need more threads.
    pub batch: usize,
    /// Top configurations a root is drawn from, and whose worst decides about non-targets.
    pub top: usize,
    /// Parameters that differ between a proposal and the nearest learned configuration at most (AutoBlox).
    pub manhattan_max: u32,
    /// Steps of one descent at most (AutoBlox).
    pub descent_max: usize,
    /// Search iterations for one new configuration at most (AutoBlox).
    pub step_max: usize,
    /// Standard deviations added to a predicted grade before the best is taken (AutoBlox; 8 in its artifact).
    pub exploration: f64,
    /// Relative change of the top set that counts as none.
    pub convergence: f64,
    /// Evaluations without such a change after which a search has converged.
    pub patience: usize,
    /// The first rung of the race: this part of the target's requests (bayes). 1 races nothing.
    pub prefix: f64,
    /// Whether hopeless proposals are discarded before they are simulated (`search/screen.rs`).
    pub screen: bool,
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
            screen: false,
        }
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The top set no longer changed.
    Converged,
    /// The budget was spent.
    Budget,
    /// There was nothing left to propose.
    Exhausted,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::Budget => "the budget is spent",
            Self::Exhausted => "nothing is left to propose",
        })
    }
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The baseline's own figures.
    pub baseline: Baseline,
    /// Every trial, in order; the first is the baseline.
    pub trials: Vec<Trial>,
    /// Numbers of the graded trials, best first.
    pub ranking: Vec<usize>,
    /// The best grade as it grew.
    pub curve: Vec<CurvePoint>,
    /// Why it ended.
    pub ended: Ended,
    /// Evaluations of the target spent, prefixes counted by their part.
    pub spent: f64,
    /// What screening did, if it was asked for.
    pub screened: Option<Screened>,
}

impl Found {
    /// The best trial; the baseline itself where nothing beats it.
    pub fn best(&self) -> &Trial {
        &self.trials[self.ranking.first().copied().unwrap_or(0)]
    }

    /// The greatest speedup of the target over all trials in full, whatever the others say, by formula 1.
    pub fn best_alone(&self) -> &Trial {
        let measured = self.trials.iter().filter(|trial| trial.target.is_some());
        let performance = |trial: &Trial| trial.performance.unwrap_or(f64::NEG_INFINITY);
        // The first of equals.
        measured
            .rev()
            .max_by(|a, b| performance(a).total_cmp(&performance(b)))
            .unwrap_or(&self.trials[0])
    }
}

/// Looks for a better drive.
///
/// # Errors
/// The evaluator or the memory fails, the caller asked to stop, or the baseline itself cannot be measured.
pub fn run(
    task: &Task,
    settings: &Settings,
    cached: &CachedEvaluator,
    tell: &mut dyn FnMut(&Trial, &Progress),
) -> Result<Found, SearchError> {
    let mut judge = Judge::new(task, settings, cached, tell)?;
    judge.seeds()?;
    let ended = match settings.algorithm {
        Algorithm::Bayes => bayes::search(&mut judge)?,
        Algorithm::Autoblox => autoblox::search(&mut judge)?,
        Algorithm::Random => random::search(&mut judge)?,
    };
    Ok(judge.found(ended))
}

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Evaluations of the target spent.
    pub spent: f64,
    /// Evaluations of the target that may be spent.
    pub budget: f64,
    /// The best grade so far.
    pub best_grade: f64,
    /// Speedup of the target there.
    pub best_target: Speedup,
}

/// A search cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Measuring fails.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The baseline cannot be measured.
    #[error("the baseline cannot serve {workload}: {reason}")]
    Baseline {
        /// The workload.
        workload: String,
        /// Why.
        reason: String,
    },
    /// The baseline breaks the limits, so no search can start from it.
    #[error("the baseline breaks the limits: {0}; loosen them, or choose another baseline")]
    Limits(String),
    /// The space does not hold the baseline.
    #[error("the space does not hold the baseline's own values; build it with Space::around")]
    Space,
    /// A surrogate cannot be fitted.
    #[error("the surrogate cannot be fitted: {0}")]
    Surrogate(String),
    /// The screen cannot be fitted.
    #[error("the screen cannot be fitted: {0}")]
    Screen(String),
}

/// The generator of one decision.
pub(crate) fn stream(seed: u64, iteration: u64, slot: u64) -> Pcg64Mcg {
    let step = |hash: u64, word| scramble(hash.wrapping_add(GOLDEN_STEP) ^ scramble(word));
    Pcg64Mcg::seed_from_u64(step(step(step(0, seed), iteration), slot))
}

/// A point to be judged, and why it was proposed.
pub(crate) struct Proposal {
    pub point: Point,
    pub config: CheckedConfig,
    pub origin: &'static str,
    /// Formula 1 on the prefix, once that was run.
    pub prefix: Option<f64>,
    /// The grade that it is thought not to reach, where it is run to check that.
    pub checked: Option<f64>,
}

impl Proposal {
    pub fn new(point: Point, config: CheckedConfig, origin: &'static str) -> Self {
        Self { point, config, origin, prefix: None, checked: None }
    }
}

#[cfg(test)]
mod tests;
