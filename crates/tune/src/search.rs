//! Automated tuning (AutoBlox, section 3.4): from a baseline and workloads to a better drive.
//!
//! A [`Task`] says what is wanted, [`Settings`] how to look for it, and [`PriorKnowledge`] what is
//! known from earlier work. [`run`] measures the baseline, lets an [`Algorithm`] propose drives,
//! measures these, and returns every [`Trial`]. There are three algorithms:
//!
//! - [`Algorithm::Autoblox`] is the paper's: from a root among the best trials, descend over
//!   neighbours to the best predicted grade, measure that, repeat.
//! - [`Algorithm::Bayes`], the default: sensitivity runs on a prefix of the trace, then batches of
//!   proposals with the greatest expected improvement in a trust region. Proposals race on the
//!   prefix, and the winners run in full.
//! - [`Algorithm::Random`]: uniform draws from the drives within the limits.
//!
//! A [`Proposer`] is one from elsewhere: [`run_proposed`].
//!
//! A drive is run on the other workloads only if its performance on the target can still win. A
//! trial that was not run on them is *censored*: it has no grade. The surrogate therefore models
//! the performance on the target and on the other workloads separately (`search/surrogate.rs`).
//!
//! Decisions are taken when a whole batch is measured, in the order of its proposals, and every
//! random draw depends on seed, iteration and slot only. So the answer does not depend on the
//! number of threads. A killed search that is started again with its AutoDB finds the evaluations
//! it made there, and ends at the same answer. In the same way a search can be given more budget
//! later, and ends at the answer that it would have had with it from the start.
//!
//! Cost: [`Settings::budget`] evaluations of the target and never more, fewer of the other
//! workloads, and some ten milliseconds for each decision. The baseline's own measurements are not
//! part of the budget.

mod answer;
mod autoblox;
mod bayes;
mod beaten;
mod censor;
mod front;
mod identity;
mod judge;
mod keep;
mod log;
mod objective;
mod prior;
mod progress;
mod proposed;
mod settings;
mod state;
mod stop;
mod surrogate;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod trial;
mod uniform;
mod unseen;

pub use crate::aim::Aim;
pub use crate::breach::{Breach, MAX_HARM, Nearest, NothingKept, POWER_BUDGET, TraceSet};
pub use answer::{GradeAnswer, first_and_more};
pub use beaten::REFERENCE;
pub use identity::identity;
pub use judge::Baseline;
pub use log::CurvePoint;
pub use objective::{AxisDescription, Graded, Objective, Proposed};
pub use prior::{BeginError, BeginOptions, Begun, PriorKnowledge, begin};
pub use progress::{Pace, Progress};
pub use proposed::{KnownTrial, Proposer, run_proposed};
pub use settings::{Algorithm, OrderUse, Settings};
pub use trial::{Trial, Verdict};

use crate::error::TuneError;
use crate::evaluate::CachedEvaluator;
use crate::task::Task;
use serde::{Deserialize, Serialize};
use state::SearchState;
use std::fmt;

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The best trials did not change any more.
    Converged,
    /// The budget was spent: what is left does not pay for another evaluation in full.
    Budget,
    /// No drive within the limits was left to propose.
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

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The measurements of the baseline.
    pub baseline: Baseline,
    /// Every trial, in order. The first one is the baseline.
    pub trials: Vec<Trial>,
    /// Numbers of the graded trials that keep every limit, best first.
    pub ranking: Vec<usize>,
    /// The best grade after each trial.
    pub curve: Vec<CurvePoint>,
    /// Why the search ended.
    pub ended: Ended,
    /// Evaluations of the target spent on proposals, at most the budget. A run on a prefix counts
    /// as its share of one.
    pub spent: f64,
}

impl Found {
    /// The trial with the best grade among those that keep every limit. It is the baseline if no
    /// trial beats that, and `None` if none keeps every limit.
    pub fn best(&self) -> Option<&Trial> {
        self.ranking.first().map(|number| &self.trials[*number])
    }

    /// Numbers of the trials that keep every limit and of which none is better in every aim, in the
    /// order of the trials. Empty without aims.
    pub fn front(&self) -> Vec<usize> {
        beaten::front_of(&self.trials)
    }

    /// The hypervolume of the front after each trial: what is better than half as good as the
    /// baseline in every aim, and no better than a trial.
    pub fn hypervolumes(&self) -> Vec<f64> {
        (1..=self.trials.len()).map(|count| beaten::volume_of(&self.trials[..count])).collect()
    }

    /// The trial with the best performance on the target among those within the power budget. Other
    /// workloads do not count.
    pub fn best_alone(&self) -> &Trial {
        let measured = self
            .trials
            .iter()
            .filter(|trial| trial.target.is_some() && trial.verdict != Verdict::OverPower);
        let performance = |trial: &Trial| trial.performance.unwrap_or(f64::NEG_INFINITY);
        // Reversed, because `max_by` returns the last of equals, and the first is wanted.
        measured
            .rev()
            .max_by(|a, b| performance(a).total_cmp(&performance(b)))
            .unwrap_or(&self.trials[0])
    }
}

/// Looks for a better drive. Calls `tell` with each trial when its verdict is known.
///
/// # Errors
/// The evaluator or AutoDB fails, the caller asked to stop, or the baseline cannot be measured, is
/// not in the space, or breaks the limits.
pub fn run(
    task: &Task,
    prior: &PriorKnowledge,
    settings: &Settings,
    evaluator: &CachedEvaluator,
    tell: &mut dyn FnMut(&Trial, &Progress),
) -> Result<Found, TuneError> {
    let mut state = SearchState::new(task, settings, evaluator, tell)?;
    state.run_seeds(&prior.seeds)?;
    let ended = match settings.algorithm {
        Algorithm::Bayes => bayes::search(&mut state)?,
        Algorithm::Autoblox => autoblox::search(&mut state, &prior.order)?,
        Algorithm::Random => uniform::search(&mut state)?,
        Algorithm::Own => return Err(TuneError::NoProposer),
    };
    Ok(state.into_found(ended))
}
