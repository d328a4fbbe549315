//! The default: screening, combination, then batches by expected improvement.
//!
//! **Screening.** The simulator has no noise, so one run with one parameter moved shows that parameter's
//! effect exactly, and on a tenth of the trace it costs a tenth. Every axis is tried at its ends (names at
//! several), a hundred short runs, some ten evaluations. Effects weigh the surrogate's columns.
//!
//! **Combination.** Most effects are nearly independent (they sit in different hardware), so the moves that
//! helped are combined: the best one, the best two, four, and so on up to all.
//!
//! **Batches.** Around the best trials, candidates are single moves to any value and jumps of up to four
//! axes inside a trust region. Those of greatest expected improvement and those of greatest expectation are
//! raced on the prefix; the fastest run in full if they are faster there than the best trial is. Within a batch a chosen point is believed to perform as predicted ("constant liar"),
//! so that the next lies elsewhere. The region widens after a success and narrows after a failure.
//!
//! A suggestion costs one fit and some thousand predictions, a few tens of milliseconds at 100 trials.

use super::judge::{Convergence, Judge};
use super::moves::Moves;
use super::surrogate::{Predicted, Surrogate, Warm};
use super::{Ended, Proposal, SearchError, stream};
use crate::limits::Feasible;
use crate::space::{LAYOUT, Point, number};
use std::collections::BTreeMap;

/// Names of one category tried by the screening.
const NAMES_TRIED: usize = 6;
/// An effect below this is none.
const QUIET: f64 = 1e-4;
/// The least weight of an axis: what a prefix does not show may still matter in full.
const WEIGHT_MIN: f64 = 0.15;
/// Jumps drawn for one batch.
const JUMPS: usize = 600;
/// Candidates predicted for one batch at most.
const CANDIDATES_MAX: usize = 1_000;
/// Candidates raced for each one that runs in full at most.
const RACED_EACH: usize = 12;
/// Iterations after which the fastest of a race runs in full even if the best trial is faster on the prefix: a
/// prefix does not show everything.
const TRUST: u64 = 4;

pub(super) fn search(judge: &mut Judge) -> Result<Ended, SearchError> {
    let moves = Moves::new(judge.task, &judge.base_point);
    let effects = screen(judge, &moves)?;
    combine(judge, &moves, &effects)?;
    let weights = effects.weights();
    let axes = effects.axes_to_jump();
    let (mut warm, mut convergence) = (Warm::default(), Convergence::new(judge));
    let mut reach: f64 = 0.4;
    for iteration in 1_u64.. {
        if !judge.may_go_on() {
            return Ok(Ended::Budget);
        }
        if convergence.reached(judge) {
            return Ok(Ended::Converged);
        }
        let before = judge.best().grade;
        let candidates = candidates(judge, &moves, &axes, reach, iteration);
        if candidates.is_empty() {
            return Ok(Ended::Exhausted);
        }
        let chosen = choose(judge, &weights, &mut warm, candidates)?;
        race(judge, chosen, iteration.is_multiple_of(TRUST))?;
        let better = judge.best().grade > before;
        reach = if better { (reach * 1.5).min(1.0) } else { (reach * 0.75).max(0.08) };
    }
    Ok(Ended::Budget)
}

/// What one move of one axis does on the prefix.
struct Effect {
    axis: usize,
    performance: f64,
    proposal: Feasible,
}

struct Effects {
    all: Vec<Effect>,
    axes: usize,
}

impl Effects {
    fn strength(&self) -> Vec<f64> {
        let mut strength = vec![0.0_f64; self.axes];
        for effect in &self.all {
            strength[effect.axis] = strength[effect.axis].max(effect.performance.abs());
        }
        strength
    }

    /// Weights of the axes for the surrogate: an effect four times as strong weighs twice as much.
    fn weights(&self) -> Vec<f64> {
        let strength = self.strength();
        let greatest = strength.iter().copied().fold(QUIET, f64::max);
        strength.iter().map(|own| (own / greatest).sqrt().clamp(WEIGHT_MIN, 1.0)).collect()
    }

    /// Axes to draw jumps from; the ones that matter several times, so that they are drawn more often.
    fn axes_to_jump(&self) -> Vec<usize> {
        let strength = self.strength();
        let often = |axis: &usize| if strength[*axis] > QUIET { 4 } else { 1 };
        (0..self.axes).flat_map(|axis| std::iter::repeat_n(axis, often(&axis))).collect()
    }
}

fn screen(judge: &mut Judge, moves: &Moves) -> Result<Effects, SearchError> {
    let mut tried: Vec<(usize, Feasible)> = Vec::new();
    let mut seen: Vec<Point> = Vec::new();
    for axis in 0..judge.task.space.axes().len() {
        for rank in ranks_to_try(judge, axis) {
            let completed = moves.single(&judge.base_point, axis, rank);
            let new = |found: &Feasible| judge.is_new(&found.point) && !seen.contains(&found.point);
            if let Some(found) = completed.into_iter().find(new) {
                seen.push(found.point.clone());
                tried.push((axis, found));
            }
        }
    }
    let proposals = (tried.iter())
        .map(|(_, found)| Proposal::new(found.point.clone(), found.config.clone(), "screening"));
    let proposals: Vec<Proposal> = proposals.collect();
    let performances = judge.on_prefix(&proposals)?;
    let effects = tried.into_iter().zip(&performances).filter_map(|((axis, proposal), own)| {
        own.map(|performance| Effect { axis, performance, proposal })
    });
    let effects = Effects { all: effects.collect(), axes: judge.task.space.axes().len() };
    if judge.settings.prefix < 1.0 {
        judge.raced(proposals.into_iter().zip(performances).collect());
    }
    Ok(effects)
}

/// The ends of an ordered axis (layouts: half and double), a few of the names.
fn ranks_to_try(judge: &Judge, axis: usize) -> Vec<u16> {
    let own = &judge.task.space.axes()[axis];
    let (here, last) = (judge.base_point.0[axis], own.values().len() as u16 - 1);
    let mut ranks: Vec<u16> = if LAYOUT.contains(&own.key()) {
        let value = |rank: u16| number(own.values()[usize::from(rank)]);
        let nearest = |wanted: f64| {
            (0..=last).min_by(|a, b| {
                let off = |rank: u16| (value(rank) / wanted).ln().abs();
                off(*a).total_cmp(&off(*b))
            })
        };
        [0.5, 2.0].into_iter().filter_map(|factor| nearest(value(here) * factor)).collect()
    } else if own.is_numeric() {
        vec![0, last]
    } else {
        let step = own.values().len().div_ceil(NAMES_TRIED).max(1);
        (0..=last).step_by(step).collect()
    };
    ranks.retain(|rank| *rank != here);
    ranks.dedup();
    ranks
}

/// Runs combinations of the moves that helped, and the best single ones.
fn combine(judge: &mut Judge, moves: &Moves, effects: &Effects) -> Result<(), SearchError> {
    let mut helpful: Vec<&Effect> =
        effects.all.iter().filter(|effect| effect.performance > QUIET).collect();
    helpful.sort_by(|a, b| b.performance.total_cmp(&a.performance).then(a.axis.cmp(&b.axis)));
    let mut done: Vec<usize> = Vec::new();
    let mut here = judge.base_point.clone();
    let mut chain: Vec<Feasible> = Vec::new();
    for effect in helpful {
        let space = &judge.task.space;
        if done.contains(&effect.axis) {
            continue;
        }
        // A layout move has taken other layout axes with it; a second one would undo it.
        let moved = |axis: &usize| effect.proposal.point.0[*axis] != judge.base_point.0[*axis];
        let all: Vec<usize> = (0..space.axes().len()).filter(moved).collect();
        if all.iter().any(|axis| done.contains(axis)) {
            continue;
        }
        let mut next = here.clone();
        all.iter().for_each(|axis| next.0[*axis] = effect.proposal.point.0[*axis]);
        if let Some(found) =
            moves.single(&next, effect.axis, next.0[effect.axis]).into_iter().next()
        {
            here = found.point.clone();
            done.extend(all);
            chain.push(found);
        }
    }
    // The first, the second, the fourth, … and the whole chain.
    let count = chain.len();
    let wanted = |length: usize| length == count || length.is_power_of_two();
    let proposals = chain.into_iter().enumerate().filter(|(index, _)| wanted(index + 1));
    let proposals =
        proposals.map(|(_, found)| Proposal::new(found.point, found.config, "combination"));
    race_to(judge, proposals.collect(), |rank, _| rank < 2)
}

fn candidates(
    judge: &Judge,
    moves: &Moves,
    axes: &[usize],
    reach: f64,
    iteration: u64,
) -> Vec<Feasible> {
    let mut all: BTreeMap<Point, Feasible> = BTreeMap::new();
    let roots: Vec<Point> = (judge.ranking().iter().take(judge.settings.top))
        .map(|number| judge.trials[*number].point.clone())
        .collect();
    let every: Vec<usize> = (0..judge.task.space.axes().len()).collect();
    moves.neighbours(&roots[0], &every, true, &mut all);
    for jump in 0..JUMPS {
        let mut rng = stream(judge.settings.seed, iteration, jump as u64);
        // The best root gets half of the jumps.
        let root = &roots[if jump % 2 == 0 { 0 } else { jump % roots.len() }];
        if let Some(found) = moves.jump(root, axes, reach, &mut rng) {
            all.entry(found.point.clone()).or_insert(found);
        }
        if all.len() >= CANDIDATES_MAX {
            break;
        }
    }
    all.into_values().filter(|found| judge.is_new(&found.point)).collect()
}

/// The candidates of greatest expected improvement, each chosen in the belief that those before it perform
/// as predicted.
fn choose(
    judge: &Judge,
    weights: &[f64],
    warm: &mut Warm,
    mut candidates: Vec<Feasible>,
) -> Result<Vec<Proposal>, SearchError> {
    let mut model = Surrogate::fit(judge.task, &judge.trials, weights, warm)?;
    let mut best = judge.best().grade.unwrap_or(0.0);
    let racing = if judge.settings.prefix < 1.0 { RACED_EACH / 2 } else { 1 };
    let wanted = judge.settings.batch.max(1) * racing;
    let mut chosen = Vec::new();
    while chosen.len() < wanted && !candidates.is_empty() {
        let points: Vec<&Point> = candidates.iter().map(|found| &found.point).collect();
        let predicted = model.predict(judge.task, &points)?;
        // In turn: what may be much better, and what is expected to be.
        let local = racing > 1 && chosen.len() % 2 == 1;
        let value = |index: &usize| match local {
            true => predicted[*index].mean,
            false => improvement(&predicted[*index], best),
        };
        // The first of equals, in the order of points.
        let order = (0..points.len()).rev();
        let Some(index) = order.max_by(|a, b| value(a).total_cmp(&value(b))) else { break };
        best = best.max(predicted[index].mean);
        let found = candidates.swap_remove(index);
        candidates.sort_by(|a, b| a.point.cmp(&b.point));
        model.believe(judge.task, &found.point)?;
        chosen.push(Proposal::new(found.point, found.config, "improvement"));
    }
    Ok(chosen)
}

/// Races proposals on the prefix and runs the fastest in full: those that beat the best trial there, or the
/// first of them `anyway`.
fn race(judge: &mut Judge, proposals: Vec<Proposal>, anyway: bool) -> Result<(), SearchError> {
    let full = proposals.len().div_ceil(RACED_EACH);
    let bar = judge.best().prefix_performance.unwrap_or(f64::NEG_INFINITY);
    race_to(judge, proposals, |rank, performance| {
        rank < full && (performance > bar || (anyway && rank == 0))
    })
}

/// Races proposals; `alive` says by rank and performance which run in full.
fn race_to(
    judge: &mut Judge,
    mut proposals: Vec<Proposal>,
    alive: impl Fn(usize, f64) -> bool,
) -> Result<(), SearchError> {
    proposals = judge.sift(proposals, judge.settings.prefix.min(1.0))?;
    if judge.settings.prefix >= 1.0 {
        return judge.full(proposals);
    }
    let performances = judge.on_prefix(&proposals)?;
    for (proposal, performance) in proposals.iter_mut().zip(&performances) {
        proposal.prefix = *performance;
    }
    let mut order: Vec<usize> = (0..proposals.len()).collect();
    let value = |index: usize| performances[index].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| value(*b).total_cmp(&value(*a)).then(a.cmp(b)));
    let winners: Vec<usize> = (order.iter().enumerate())
        .filter(|(rank, index)| performances[**index].is_some_and(|own| alive(*rank, own)))
        .map(|(_, index)| *index)
        .collect();
    let (mut on, mut out) = (Vec::new(), Vec::new());
    for (index, proposal) in proposals.into_iter().enumerate() {
        match winners.contains(&index) {
            true => on.push(proposal),
            false => out.push((proposal, performances[index])),
        }
    }
    judge.raced(out);
    judge.full(on)
}

/// Expected improvement over `best`.
fn improvement(predicted: &Predicted, best: f64) -> f64 {
    let (gain, spread) = (predicted.mean - best, predicted.deviation.max(1e-9));
    let z = gain / spread;
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    gain * normal(z) + spread * density
}

/// The normal distribution function, to 7e-8 (Abramowitz and Stegun 26.2.17).
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let upper = density * series;
    if z >= 0.0 { 1.0 - upper } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_by_table() {
        for (z, expected) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895)] {
            assert!((normal(z) - expected).abs() < 1e-7, "{z}");
        }
    }

    /// Against the integral of max(0, x - best) over the density.
    #[test]
    fn expected_improvement_by_integration() {
        for (mean, deviation, best) in [(0.1, 0.2, 0.15), (-0.3, 0.1, 0.0), (0.5, 0.05, 0.1)] {
            let steps = 200_000;
            let sum: f64 = (0..steps)
                .map(|step| {
                    let z = -8.0 + 16.0 * (f64::from(step) + 0.5) / f64::from(steps);
                    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
                    (mean + deviation * z - best).max(0.0) * density
                })
                .sum();
            let integral = sum * 16.0 / f64::from(steps);
            let own = improvement(&Predicted { mean, deviation }, best);
            assert!((own - integral).abs() < 1e-6, "{own} {integral}");
        }
    }
}
