//! The algorithm of the AutoBlox paper (section 3.4).
//!
//! One *learning step* looks for one better configuration. Each of its iterations begins at a root
//! drawn from the top set and descends. Neighbours of the root are completed so that they keep the
//! limits, and the one with the best predicted grade becomes the next root. A descent ends when all
//! neighbours are predicted to be worse, when the distance to the nearest measured configuration
//! reaches its limit, or when its steps are used up. The configuration where it ends is measured. A
//! learning step ends when that one is better than the root, or when its iterations are used up.
//!
//! A neighbour differs in one parameter, by any number of values, and in what completing it takes.
//! The distance counts parameters that differ. Both are as in the paper's artifact. If the distance
//! counted values, a single move on a long axis would reach the limit, and a search would learn one
//! parameter at a time. As in the artifact, the best prediction is the one with the greatest mean
//! plus eight standard deviations. A model of few points is uncertain, and with the mean alone the
//! search is worse than a random one (docs/results/search.md).
//!
//! Parameters join the search in sets, in tuning order: the next set joins when the search has
//! converged on those before it. A set ends where a coefficient falls below half the set's
//! smallest. Layout parameters stay together, and so do the two DRAM sizes. The grouping is the
//! artifact's; the paper says only "following the ranking".
//!
//! Cost: each step of a descent predicts all neighbours, some hundred microseconds for each.

use super::Ended;
use super::state::SearchState;
use super::surrogate::{FitHistory, Surrogate};
use super::trial::{Proposal, Trial};
use crate::error::TuneError;
use crate::limits::Feasible;
use crate::moves::Moves;
use crate::random::stream;
use crate::space::{Point, Space, TuningOrder};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// The number of random starts of a fit to few observations. A further start are the parameters of
/// the fit before.
const RANDOM_STARTS: usize = 2;
/// Predicted grades that differ by less than this count as equal.
const TIE: f64 = 1e-6;

pub(super) fn search(state: &mut SearchState, order: &TuningOrder) -> Result<Ended, TuneError> {
    let moves = Moves::of_task(state.task, &state.base_point);
    let sets = tuning_sets(&state.task.space, order);
    let weights = vec![1.0; state.task.space.axes().len()];
    let mut fits = FitHistory::with_random_starts(RANDOM_STARTS);
    let mut convergence = state.convergence();
    let mut axes = sets[0].clone();
    let mut later = sets[1..].iter();
    for step in 0_u64.. {
        for iteration in 0..state.settings.step_max as u64 {
            if state.budget.is_spent() {
                return Ok(Ended::Budget);
            }
            let mut rng = stream(state.settings.seed, step, iteration);
            let model = Surrogate::of_grades(state.task, state.log.trials(), &weights, &mut fits)?;
            let roots = state.log.roots();
            let root = roots[rng.random_range(0..roots.len())];
            let Some(found) = descend(state, &moves, &model, &axes, root, &mut rng)? else { break };
            let proposal = Proposal::new(found.point, found.config, "autoblox");
            state.run_in_full(vec![proposal])?;
            let grade = |trial: &Trial| trial.kept_grade().unwrap_or(f64::NEG_INFINITY);
            let learned = state.log.trials().last().map_or(f64::NEG_INFINITY, grade);
            if learned > grade(&state.log.trials()[root]) {
                break;
            }
        }
        let is_stuck = !can_move(state, &moves, &axes);
        if is_stuck || convergence.is_reached(&state.log, state.budget) {
            let Some(next) = later.next() else {
                return Ok(if is_stuck { Ended::Exhausted } else { Ended::Converged });
            };
            axes.extend(next);
            convergence = state.convergence();
        }
    }
    Ok(Ended::Budget)
}

/// Neighbours of a point that are not among the trials yet.
fn open_neighbours(
    state: &SearchState,
    moves: &Moves,
    axes: &[usize],
    from: &Point,
) -> Vec<Feasible> {
    let mut all = BTreeMap::new();
    moves.neighbours(from, axes, &mut all);
    all.into_values().filter(|found| state.log.is_new(&found.point)).collect()
}

/// Whether a trial of the top set has a neighbour that is not among the trials yet.
fn can_move(state: &SearchState, moves: &Moves, axes: &[usize]) -> bool {
    let point = |root: &usize| &state.log.trials()[*root].point;
    let roots = state.log.roots();
    roots.iter().any(|root| !open_neighbours(state, moves, axes, point(root)).is_empty())
}

/// The configuration at which a descent from a trial ends; `None` where it cannot take a step.
fn descend(
    state: &SearchState,
    moves: &Moves,
    model: &Surrogate,
    axes: &[usize],
    root: usize,
    rng: &mut Pcg64Mcg,
) -> Result<Option<Feasible>, TuneError> {
    let (task, settings, trials) = (state.task, state.settings, state.log.trials());
    let mut here: Option<(Feasible, f64)> = None;
    for _ in 0..settings.descent_max {
        let from = here.as_ref().map_or(&trials[root].point, |(found, _)| &found.point);
        let neighbours = open_neighbours(state, moves, axes, from);
        let points: Vec<&Point> = neighbours.iter().map(|found| &found.point).collect();
        if points.is_empty() {
            break;
        }
        let predicted: Vec<f64> = (model.predict(task, &points)?.iter())
            .map(|one| one.mean + settings.exploration * one.deviation)
            .collect();
        let best = predicted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // A model without observations predicts equal grades: choose one of these at random.
        let ties: Vec<usize> =
            (0..points.len()).filter(|index| predicted[*index] >= best - TIE).collect();
        let chosen = ties[rng.random_range(0..ties.len())];
        if here.as_ref().is_some_and(|(_, before)| best < *before - TIE) {
            break;
        }
        let found = neighbours[chosen].clone();
        let learned = trials.iter().filter(|trial| trial.target.is_some());
        let apart = learned
            .map(|trial| task.space.differing(&trial.point, &found.point))
            .min()
            .unwrap_or(0);
        here = Some((found, best));
        if apart >= settings.manhattan_max {
            break;
        }
    }
    Ok(here.map(|(found, _)| found))
}

/// The axes in sets, in the order in which the sets join the search. Where no order is known, one
/// set holds all axes.
pub(super) fn tuning_sets(space: &Space, order: &TuningOrder) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut smallest = f64::INFINITY;
    for ordered in &order.0 {
        let Some(axis) = space.axis(&ordered.key) else { continue };
        if sets.iter().flatten().any(|known| *known == axis) {
            continue;
        }
        let size = ordered.coefficient.abs();
        if sets.is_empty() || size < 0.5 * smallest {
            sets.push(Vec::new());
            smallest = f64::INFINITY;
        }
        smallest = smallest.min(size);
        let bound = [space.layout_axes(), space.dram_axes()];
        let together = bound.into_iter().find(|all| all.contains(&axis)).unwrap_or_default();
        let mut members: Vec<usize> = std::iter::once(axis).chain(together).collect();
        members.sort_unstable();
        members.dedup();
        if let Some(last) = sets.last_mut() {
            last.extend(members);
        }
    }
    if sets.is_empty() {
        sets.push((0..space.axes().len()).collect());
    }
    sets
}
