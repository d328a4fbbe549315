//! A search with several aims: it looks for drives of which none is better in everything.
//!
//! It begins as the default algorithm does, with sensitivity runs and with combinations of what
//! helped each aim. Then each aim gets a Gaussian process of its own over all trials; the price of
//! a drive is known without one. Candidates near the drives of the front and between them are
//! predicted, and those race that would add most to the hypervolume if each aim turned out a
//! standard deviation better than expected (SMS-EGO: Ponweiser, Wagner, Biermann, Vincze, PPSN
//! 2008). Those run in full that add most on the prefix. Within a batch, a chosen drive counts as
//! if it performed as predicted, so that the next one lies elsewhere.
//!
//! Cost: a fit for each aim and some hundred predictions for a batch, a tenth of a second at 100
//! trials.

use super::Ended;
use super::beaten::{REFERENCE, front_of, gains_of, volume_of};
use super::state::SearchState;
use super::surrogate::{FitHistory, Surrogate, columns, fit, row};
use super::trial::Proposal;
use crate::aim::Aim;
use crate::error::TuneError;
use crate::limits::Feasible;
use crate::moves::Moves;
use crate::pareto;
use crate::random::stream;
use crate::space::Point;
use ndarray::Array2;
use rand::RngExt;
use ssdtune_learn::gp::{Hyperparameters, LengthScales};
use std::collections::BTreeMap;

/// The number of candidates predicted for one batch.
const CANDIDATES: u64 = 300;
/// Standard deviations by which a prediction is taken to be better than expected.
const OPTIMISM: f64 = 1.0;
/// The number of candidates in a race for each one that runs in full.
const RACED_EACH: usize = 4;
/// A growth of the hypervolume by less than this share counts as none.
const GROWTH_MIN: f64 = 0.01;

/// How much each axis weighs in the models.
pub(super) struct Weights {
    /// For each aim, one number for each axis.
    pub aims: Vec<Vec<f64>>,
    /// One number for each axis in the models of limits.
    pub limits: Vec<f64>,
}

/// Goes on with a search whose trials so far are in `state`. Jumps are drawn from `axes`.
pub(super) fn search(
    state: &mut SearchState,
    moves: &Moves,
    weights: &Weights,
    axes: &[usize],
) -> Result<Ended, TuneError> {
    let mut models = Models::default();
    let (mut volume, mut since) = (volume_of(state.log.trials()), state.budget.spent());
    let mut reach: f64 = 0.4;
    for iteration in 1_u64.. {
        if state.budget.is_spent() {
            return Ok(Ended::Budget);
        }
        if state.budget.spent() - since >= state.settings.patience as f64 {
            return Ok(Ended::Converged);
        }
        let candidates = candidates(state, moves, axes, reach, iteration);
        if candidates.is_empty() {
            return Ok(Ended::Exhausted);
        }
        let chosen = models.choose(state, weights, candidates)?;
        race(state, chosen, state.settings.batch.max(1))?;
        let now = volume_of(state.log.trials());
        let grew = now > volume * (1.0 + GROWTH_MIN);
        reach = if grew { (reach * 1.5).min(1.0) } else { (reach * 0.75).max(0.08) };
        if grew {
            (volume, since) = (now, state.budget.spent());
        }
    }
    Ok(Ended::Budget)
}

/// Races proposals on the prefix, the first ones that the budget pays for, and runs those in full
/// that add most to the hypervolume there, `full` at most.
pub(super) fn race(
    state: &mut SearchState,
    proposals: Vec<Proposal>,
    full: usize,
) -> Result<(), TuneError> {
    let mut open: Vec<Proposal> = Vec::new();
    for proposal in proposals {
        let is_new = open.iter().all(|other| other.point != proposal.point);
        if is_new && state.log.is_new(&proposal.point) {
            open.push(proposal);
        }
    }
    open.truncate(state.racers_max());
    if open.len() <= full.min(1) || state.settings.prefix >= 1.0 {
        open.truncate(full);
        return state.run_in_full(open);
    }
    let answers = state.run_prefix(&open)?;
    for (proposal, answer) in open.iter_mut().zip(&answers) {
        proposal.note_prefix(answer.as_ref());
    }
    let trials = state.log.trials();
    let on_prefix = |number: usize| {
        let trial = &trials[number];
        trial.prefix_gains.clone().or_else(|| trial.gains.clone())
    };
    let mut front: Vec<Vec<f64>> = front_of(trials).into_iter().filter_map(on_prefix).collect();
    let reference = vec![REFERENCE; state.settings.aims.len()];
    let mut winners = Vec::new();
    while winners.len() < full.min(state.budget.affords(1.0)) {
        let value = |index: usize| {
            let gains = open[index].prefix_gains.as_ref()?;
            Some((index, worth(gains, &front, &reference)))
        };
        // Reversed, because `max_by` returns the last of equals, and the first is wanted.
        let values = (0..open.len()).rev().filter_map(value);
        let Some((index, _)) = values.max_by(|(_, a), (_, b)| compare(*a, *b)) else { break };
        let winner = open.remove(index);
        front.extend(winner.prefix_gains.clone());
        winners.push(winner);
    }
    state.note_raced(open);
    state.run_in_full(winners)
}

/// What a point adds to a front. Of points that add nothing, those nearest to it are worth most.
fn worth(gains: &[f64], front: &[Vec<f64>], reference: &[f64]) -> (f64, f64) {
    let short = front.iter().map(|point| shortfall(gains, point));
    (pareto::added(gains, front, reference), -short.fold(0.0, f64::max))
}

fn compare(a: (f64, f64), b: (f64, f64)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// Drives near those of the front that are not among the trials yet. Of eight, two lie between two
/// drives of the front, and one is drawn from the whole space.
fn candidates(
    state: &SearchState,
    moves: &Moves,
    axes: &[usize],
    reach: f64,
    iteration: u64,
) -> Vec<Feasible> {
    let trials = state.log.trials();
    let mut roots = front_of(trials);
    if roots.is_empty() {
        roots = state.log.roots();
    }
    let mut all: BTreeMap<Point, Feasible> = BTreeMap::new();
    for slot in 0..CANDIDATES {
        let mut rng = stream(state.settings.seed, iteration, slot);
        let root = &trials[roots[slot as usize % roots.len()]].point;
        let found = match slot % 8 {
            7 => moves.anywhere(&mut rng),
            5 | 6 if roots.len() > 1 => {
                let other = (slot as usize + rng.random_range(1..roots.len())) % roots.len();
                moves.cross(root, &trials[roots[other]].point, &mut rng)
            }
            _ => moves.jump(root, axes, reach, &mut rng),
        };
        if let Some(found) = found.filter(|found| state.log.is_new(&found.point)) {
            all.entry(found.point.clone()).or_insert(found);
        }
    }
    all.into_values().collect()
}

/// Models of the aims and of the limits, and the parameters from which the next fits start.
#[derive(Default)]
struct Models {
    aims: Vec<Option<Hyperparameters>>,
    limits: FitHistory,
}

/// A predicted gain: its mean and its standard deviation.
type Gain = (f64, f64);

impl Models {
    /// Chooses the drives that race.
    fn choose(
        &mut self,
        state: &SearchState,
        weights: &Weights,
        mut candidates: Vec<Feasible>,
    ) -> Result<Vec<Proposal>, TuneError> {
        let aims = &state.settings.aims;
        let points: Vec<&Point> = candidates.iter().map(|found| &found.point).collect();
        let mut predicted = self.gains(state, weights, &candidates)?;
        let model = Surrogate::of_limits(
            state.task,
            state.log.trials(),
            &weights.limits,
            &mut self.limits,
        )?;
        let limits = model.predict(state.task, &points)?;
        let mut excess: Vec<f64> = limits.iter().map(|own| own.excess.max(0.0)).collect();
        let trials = state.log.trials();
        let mut front = gains_of(trials, &front_of(trials));
        let reference = vec![REFERENCE; aims.len()];
        let mut chosen = Vec::new();
        let raced = if state.settings.prefix < 1.0 { RACED_EACH } else { 1 };
        let most = state.settings.batch.max(1) * raced;
        while chosen.len() < most && !candidates.is_empty() {
            let value = |index: usize| {
                let hoped: Vec<f64> =
                    predicted[index].iter().map(|(mean, sd)| mean + OPTIMISM * sd).collect();
                (-excess[index], worth(&hoped, &front, &reference))
            };
            let values: Vec<_> = (0..candidates.len()).map(value).collect();
            // Reversed, because `max_by` returns the last of equals, and the first is wanted.
            let best = (0..values.len()).rev().max_by(|a, b| {
                let (a, b) = (values[*a], values[*b]);
                a.0.total_cmp(&b.0).then(compare(a.1, b.1))
            });
            let Some(index) = best else { break };
            let gains = predicted.remove(index);
            excess.remove(index);
            front.push(gains.iter().map(|(mean, _)| *mean).collect());
            let found = candidates.remove(index);
            chosen.push(Proposal::new(found.point, found.config, "front"));
        }
        Ok(chosen)
    }

    /// The predicted gains of candidates, one for each aim.
    fn gains(
        &mut self,
        state: &SearchState,
        weights: &Weights,
        candidates: &[Feasible],
    ) -> Result<Vec<Vec<Gain>>, TuneError> {
        let (task, aims) = (state.task, &state.settings.aims);
        self.aims.resize(aims.len(), None);
        let failed = |error: &dyn std::fmt::Display| TuneError::Surrogate(error.to_string());
        let mut all = vec![Vec::with_capacity(aims.len()); candidates.len()];
        for (nth, (aim, last)) in aims.iter().zip(&mut self.aims).enumerate() {
            if let (Aim::Price, Some(prices)) = (aim, &task.limits.prices) {
                let base = prices.of(&task.base);
                for (found, gains) in candidates.iter().zip(&mut all) {
                    gains.push((aim.gain(prices.of(&found.config), base), 0.0));
                }
                continue;
            }
            let columns = columns(task, &weights.aims[nth]);
            let known = state.log.trials().iter().filter_map(|trial| {
                let (gains, is_full) = match (&trial.gains, &trial.prefix_gains) {
                    (Some(gains), _) => (gains, true),
                    (None, Some(gains)) => (gains, false),
                    (None, None) => return None,
                };
                Some((row(task, &columns, &trial.point, is_full), gains[nth]))
            });
            let model = fit(&known.collect::<Vec<_>>(), LengthScales::Isotropic, 0, last)?;
            match model {
                Some(model) => {
                    let rows =
                        candidates.iter().map(|found| row(task, &columns, &found.point, true));
                    let cells: Vec<f64> = rows.flatten().collect();
                    let x = Array2::from_shape_vec((candidates.len(), columns.len() + 1), cells)
                        .map_err(|error| failed(&error))?;
                    let told = model.predict(x.view()).map_err(|error| failed(&error))?;
                    let pairs = told.means.iter().zip(&told.variances);
                    for (gains, (mean, variance)) in all.iter_mut().zip(pairs) {
                        gains.push((*mean, variance.max(0.0).sqrt()));
                    }
                }
                None => all.iter_mut().for_each(|gains| gains.push((0.0, 0.1))),
            }
        }
        Ok(all)
    }
}

/// By how much a point would have to be better in everything to be level with another.
fn shortfall(point: &[f64], other: &[f64]) -> f64 {
    other.iter().zip(point).map(|(other, own)| other - own).fold(f64::INFINITY, f64::min)
}
