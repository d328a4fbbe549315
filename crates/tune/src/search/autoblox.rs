//! The paper's algorithm (section 3.4).
//!
//! One *learning step* learns one new configuration. It begins at a root drawn from the top three and
//! descends: among the root's neighbours, completed so that they keep the limits, the one with the best
//! predicted grade becomes the next root, until all are predicted to be worse, the Manhattan distance to the
//! nearest learned configuration reaches its limit, or the descent has had its steps. What it ends at is
//! validated. A step that has not improved on its root after its iterations ends all the same.
//!
//! A neighbour differs in one parameter, whatever its value (and in what completing it takes), as in the
//! artifact, and the Manhattan distance counts the same steps: parameters that differ. (Counted in values it
//! would be reached by a single move on a long axis, and a search would learn one parameter at a time.) As in
//! the artifact a prediction is the mean plus eight standard deviations: a model of few points is sure of
//! nothing, and with the bare mean the search is worse than chance (docs/results/search.md).
//!
//! Parameters come into play in tuning order: in sets, the next one when the ones before have converged. A
//! set ends where a coefficient falls below half the set's smallest; layout parameters stay together, and so
//! do the two DRAM sizes (the artifact's grouping; the paper says only "following the ranking").

use super::judge::{Convergence, Judge, Trial};
use super::moves::Moves;
use super::surrogate::{Surrogate, Warm};
use super::{Ended, Proposal, SearchError, Task, stream};
use crate::limits::Feasible;
use crate::space::{DRAM, LAYOUT, Point};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Further starts of a fit of few observations.
const FRESH_STARTS: usize = 2;
/// Predicted grades that differ by less are equal.
const TIE: f64 = 1e-6;

pub(super) fn search(judge: &mut Judge) -> Result<Ended, SearchError> {
    let moves = Moves::new(judge.task, &judge.base_point);
    let sets = tuning_sets(judge.task);
    let weights = vec![1.0; judge.task.space.axes().len()];
    let mut warm = Warm::with_fresh_starts(FRESH_STARTS);
    let mut convergence = Convergence::new(judge);
    let mut axes = sets[0].clone();
    let mut later = sets[1..].iter();
    for step in 0_u64.. {
        for iteration in 0..judge.settings.step_max as u64 {
            if !judge.may_go_on() {
                return Ok(Ended::Budget);
            }
            let mut rng = stream(judge.settings.seed, step, iteration);
            let model = Surrogate::fit(judge.task, &judge.trials, &weights, &mut warm)?;
            let ranking = judge.ranking();
            let root = ranking[rng.random_range(0..ranking.len().min(judge.settings.top))];
            let Some(found) = descend(judge, &moves, &model, &axes, root, &mut rng)? else { break };
            let proposal = Proposal::new(found.point, found.config, "autoblox");
            let proposals = judge.sift(vec![proposal], 1.0)?;
            judge.full(proposals)?;
            let grade = |trial: &Trial| trial.grade.unwrap_or(f64::NEG_INFINITY);
            let learned = judge.trials.last().map_or(f64::NEG_INFINITY, grade);
            if learned > grade(&judge.trials[root]) {
                break;
            }
        }
        let stuck = !can_move(judge, &moves, &axes);
        if stuck || convergence.reached(judge) {
            let Some(next) = later.next() else {
                return Ok(if stuck { Ended::Exhausted } else { Ended::Converged });
            };
            axes.extend(next);
            convergence = Convergence::new(judge);
        }
    }
    Ok(Ended::Budget)
}

/// Neighbours of a point that have not been judged.
fn open_neighbours(judge: &Judge, moves: &Moves, axes: &[usize], from: &Point) -> Vec<Feasible> {
    let mut all = BTreeMap::new();
    moves.neighbours(from, axes, true, &mut all);
    all.into_values().filter(|found| judge.is_new(&found.point)).collect()
}

fn can_move(judge: &Judge, moves: &Moves, axes: &[usize]) -> bool {
    let ranking = judge.ranking();
    let mut roots = ranking.iter().take(judge.settings.top);
    roots.any(|root| !open_neighbours(judge, moves, axes, &judge.trials[*root].point).is_empty())
}

fn descend(
    judge: &Judge,
    moves: &Moves,
    model: &Surrogate,
    axes: &[usize],
    root: usize,
    rng: &mut Pcg64Mcg,
) -> Result<Option<Feasible>, SearchError> {
    let (task, settings) = (judge.task, judge.settings);
    let mut here: Option<(Feasible, f64)> = None;
    for _ in 0..settings.descent_max {
        let from = here.as_ref().map_or(&judge.trials[root].point, |(found, _)| &found.point);
        let neighbours = open_neighbours(judge, moves, axes, from);
        let points: Vec<&Point> = neighbours.iter().map(|found| &found.point).collect();
        if points.is_empty() {
            break;
        }
        let predicted: Vec<f64> = (model.predict(task, &points)?.iter())
            .map(|one| one.mean + settings.exploration * one.deviation)
            .collect();
        let best = predicted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Equal predictions (a model that knows nothing yet) leave the choice to chance.
        let ties: Vec<usize> =
            (0..points.len()).filter(|index| predicted[*index] >= best - TIE).collect();
        let chosen = ties[rng.random_range(0..ties.len())];
        if here.as_ref().is_some_and(|(_, before)| best < *before - TIE) {
            break;
        }
        let found = neighbours[chosen].clone();
        let learned = judge.trials.iter().filter(|trial| trial.target.is_some());
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

/// The axes in the order they come into play; one set of all where nothing is known.
pub(super) fn tuning_sets(task: &Task) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut smallest = f64::INFINITY;
    for ordered in &task.order {
        let Some(axis) = task.space.axis(&ordered.key) else { continue };
        if sets.iter().flatten().any(|own| *own == axis) {
            continue;
        }
        let size = ordered.coefficient.abs();
        if sets.is_empty() || size < 0.5 * smallest {
            sets.push(Vec::new());
            smallest = f64::INFINITY;
        }
        smallest = smallest.min(size);
        let group: &[&str] = [&LAYOUT[..], &DRAM[..]]
            .into_iter()
            .find(|group| group.contains(&ordered.key.as_str()))
            .unwrap_or(&[]);
        let together = group.iter().filter_map(|key| task.space.axis(key));
        let mut members: Vec<usize> = std::iter::once(axis).chain(together).collect();
        members.sort_unstable();
        members.dedup();
        if let Some(last) = sets.last_mut() {
            last.extend(members);
        }
    }
    if sets.is_empty() {
        sets.push((0..task.space.axes().len()).collect());
    }
    sets
}
