//! Searches by an algorithm from elsewhere: a [`Proposer`] says what is measured next, and learns
//! what became of it. Everything else is as for the algorithms here: limits, budget, batches, the
//! judge, and the evidence for what is recommended. No trial is censored or raced, so each one that
//! can be measured has a grade.

use super::settings::Settings;
use super::state::SearchState;
use super::trial::{Proposal, Trial};
use super::{Ended, Found, Progress};
use crate::error::TuneError;
use crate::evaluate::CachedEvaluator;
use crate::moves::Moves;
use crate::space::{Label, Space};
use crate::task::Task;
use serde::Serialize;
use std::collections::BTreeMap;

/// Batches in a row that hold nothing new, after which nothing more is expected.
const IDLE_MAX: u32 = 20;

/// An algorithm that proposes drives.
pub trait Proposer {
    /// The points to be measured next, up to `count`: values by the keys of axes, as texts; what is
    /// left out is as in the baseline. A point that breaks the limits is moved to the nearest one
    /// that keeps them, and one that was measured before is left out. Without points the search
    /// ends. `known` are all trials so far, the baseline first.
    ///
    /// # Errors
    /// Whatever keeps it from proposing; the search ends with it.
    fn propose(
        &mut self,
        known: &[KnownTrial<'_>],
        count: usize,
    ) -> Result<Vec<BTreeMap<String, String>>, TuneError>;
}

/// A trial as a proposer sees it.
#[derive(Clone, Debug, Serialize)]
pub struct KnownTrial<'a> {
    /// The values of its point by the keys of the axes.
    pub values: BTreeMap<&'a str, Label>,
    /// All else that is known of it.
    #[serde(flatten)]
    pub trial: &'a Trial,
}

impl<'a> KnownTrial<'a> {
    fn new(space: &'a Space, trial: &'a Trial) -> Self {
        let axes = space.axes().iter().zip(&trial.point.0);
        Self { values: axes.map(|(axis, rank)| (axis.key(), axis.label(*rank))).collect(), trial }
    }
}

/// Looks for a better drive by what a proposer says. [`Settings::batch`] and [`Settings::budget`]
/// hold; the algorithm in the settings is [`super::Algorithm::Own`].
///
/// # Errors
/// Those of [`super::run`], those of the proposer, and points that are none.
pub fn run_proposed(
    task: &Task,
    proposer: &mut dyn Proposer,
    settings: &Settings,
    evaluator: &CachedEvaluator,
    tell: &mut dyn FnMut(&Trial, &Progress),
) -> Result<Found, TuneError> {
    let mut state = SearchState::new(task, settings, evaluator, tell)?;
    let ended = search(&mut state, proposer)?;
    Ok(state.into_found(ended))
}

fn search(state: &mut SearchState, proposer: &mut dyn Proposer) -> Result<Ended, TuneError> {
    let (task, batch) = (state.task, state.settings.batch);
    let moves = Moves::of_task(task, &state.base_point);
    let mut idle = 0;
    while idle < IDLE_MAX {
        if state.budget.is_spent() {
            return Ok(Ended::Budget);
        }
        let trials = state.log.trials().iter();
        let known: Vec<_> = trials.map(|trial| KnownTrial::new(&task.space, trial)).collect();
        let points = proposer.propose(&known, batch)?;
        if points.is_empty() {
            return Ok(Ended::Exhausted);
        }
        let mut proposals: Vec<Proposal> = Vec::new();
        for values in points.iter().take(batch) {
            let point = task.space.stated(&state.base_point, values);
            let point = point.map_err(TuneError::Proposal)?;
            let own = task.limits.feasible(&task.space, &task.base, &point);
            let Some(found) = own.or_else(|| moves.nearest(&point)) else { continue };
            let is_taken = proposals.iter().any(|proposal| proposal.point == found.point);
            if !is_taken && state.log.is_new(&found.point) {
                proposals.push(Proposal::new(found.point, found.config, "own"));
            }
        }
        idle = if proposals.is_empty() { idle + 1 } else { 0 };
        state.run_in_full(proposals)?;
    }
    Ok(Ended::Exhausted)
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::super::testing::{Formula, GO_ON, TASK, settings};
    use super::*;

    /// Proposes one value of an axis after the other, and remembers the grades that it was told.
    struct OneByOne {
        key: &'static str,
        values: Vec<String>,
        told: Vec<f64>,
    }

    impl Proposer for OneByOne {
        fn propose(
            &mut self,
            known: &[KnownTrial<'_>],
            count: usize,
        ) -> Result<Vec<BTreeMap<String, String>>, TuneError> {
            self.told = known.iter().filter_map(|own| own.trial.grade).collect();
            let next = self.values.drain(..count.min(self.values.len()));
            Ok(next.map(|value| BTreeMap::from([(self.key.to_owned(), value)])).collect())
        }
    }

    fn searched(proposer: &mut OneByOne, budget: f64) -> Result<Found, TuneError> {
        let settings = Settings { budget, batch: 2, ..settings(Algorithm::Own, 0) };
        let (formula, silent) = (Formula::default(), |_| {});
        let evaluator = CachedEvaluator::new(&formula, None, &GO_ON, &silent);
        run_proposed(&TASK, proposer, &settings, &evaluator, &mut |_, _| {})
    }

    fn of(key: &'static str, values: Vec<String>) -> OneByOne {
        OneByOne { key, values, told: Vec::new() }
    }

    /// The values of an axis.
    fn values(key: &str) -> Vec<String> {
        let axis = &TASK.space.axes()[TASK.space.axis(key).unwrap()];
        axis.labels().map(|label| label.to_string()).collect()
    }

    #[test]
    fn what_is_proposed_is_measured_and_told() {
        let key = "bus.rate_mts";
        let rates = values(key);
        let twice = rates.iter().chain(&rates).cloned().collect();
        let mut proposer = of(key, twice);
        let found = searched(&mut proposer, 50.0).unwrap();
        assert_eq!(found.ended, Ended::Exhausted);
        // Twice the same is one trial, and the baseline's own value is trial 0.
        let all = found.trials.len();
        assert_eq!(all, rates.len());
        assert!(found.trials[1..].iter().all(|trial| trial.origin == "own"));
        assert_eq!(proposer.told.len(), all, "every trial has a grade");
        assert_eq!(found.best().unwrap().grade, proposer.told.iter().copied().reduce(f64::max));
    }

    #[test]
    fn the_budget_holds_and_wrong_points_are_named() {
        let key = "bus.rate_mts";
        let found = searched(&mut of(key, values(key)), 3.0).unwrap();
        assert!(found.ended == Ended::Budget && found.spent <= 3.0, "{} spent", found.spent);
        for (key, value) in [("bus.rat", "200"), ("bus.rate_mts", "fast")] {
            let error = searched(&mut of(key, vec![value.to_owned()]), 9.0).unwrap_err();
            assert!(matches!(&error, TuneError::Proposal(text) if text.contains(key)), "{error}");
        }
    }
}
