//! The default algorithm: sensitivity runs, combination, then batches by expected improvement.
//!
//! **Sensitivity runs.** The simulator has no noise, so one run with one parameter changed shows
//! the effect of that parameter exactly. On a tenth of the trace it costs a tenth of an evaluation.
//! Every ordered axis is tried at its ends, and every other axis at several values: about a hundred
//! short runs, which cost ten evaluations. An end that cannot serve the trace is followed by values
//! nearer to the baseline's. The effects weigh the columns of the surrogate.
//!
//! **Combination.** Most effects are nearly independent, because they belong to different hardware.
//! So the changes that helped are combined: the best one, the best two, four, and so on up to all.
//!
//! **What the prefix does not show.** Where the baseline collects less on the prefix than on the
//! whole target, axes with little effect there are tried in full, all at once (`unseen`).
//!
//! **Batches.** Candidates are changes of the best trial on one axis to any value, and jumps on up
//! to four axes inside a trust region around the top set. Candidates with the greatest expected
//! improvement and with the greatest expected grade race on the prefix. The fastest run in full if
//! they are faster on the prefix than the best trial. Within a batch each chosen point is assumed
//! to perform as predicted ("constant liar"), so that the next one lies elsewhere. The region
//! widens after a success and narrows after a failure.
//!
//! **Budget.** Sensitivity runs take half of the budget at most. Where that is too little for all
//! of them, every axis gets its first value before any gets its second. Races that the budget
//! cannot pay for have fewer candidates, so that one run in full always remains. So the way that a
//! search takes depends on its budget, if that is below twice what all sensitivity runs cost, and
//! in its last race.
//!
//! Cost: one fit and some thousand predictions for a batch, a few tens of milliseconds at 100
//! trials.

use super::Ended;
use super::front;
use super::judge::OnPrefix;
use super::state::SearchState;
use super::surrogate::{FitHistory, Predicted, Surrogate};
use super::trial::Proposal;
use super::unseen::{self, ALIKE};
use crate::error::TuneError;
use crate::limits::Feasible;
use crate::moves::Moves;
use crate::random::stream;
use crate::space::Point;
use std::collections::BTreeMap;

/// The number of values that sensitivity runs try on an axis of names.
const NAMES_TRIED: usize = 6;
/// A smaller effect on the performance (formula 1) counts as none.
const QUIET: f64 = 1e-4;
/// The least weight of an axis. A parameter without effect on the prefix may have one in full.
const WEIGHT_MIN: f64 = 0.15;
/// The number of jumps drawn for one batch.
const JUMPS: usize = 600;
/// The greatest number of candidates predicted for one batch.
const CANDIDATES_MAX: usize = 1_000;
/// The greatest number of candidates in a race for each one that runs in full.
const RACED_EACH: usize = 12;
/// After this many iterations the fastest of a race runs in full even if the best trial is faster
/// on the prefix, because a prefix does not show everything.
const ANYWAY_EACH: u64 = 4;

pub(super) fn search(state: &mut SearchState) -> Result<Ended, TuneError> {
    let moves = Moves::of_task(state.task, &state.base_point);
    let effects = sensitivity_runs(state, &moves)?;
    let of_grade = effects.weights(Figure::Performance);
    let gains: Vec<Figure> = (0..state.settings.aims.len()).map(Figure::Gain).collect();
    if !gains.is_empty() {
        let figures: Vec<Figure> = gains.iter().copied().chain([Figure::Sum]).collect();
        let chains = figures.iter().flat_map(|figure| chain(state, &moves, &effects, *figure));
        front::race(state, chains.collect(), figures.len())?;
        unseen::explore(state, &moves, &effects.weak())?;
        let aims = gains.iter().map(|figure| effects.weights(*figure)).collect();
        let axes = effects.axes_to_jump(&gains);
        return front::search(state, &moves, &front::Weights { aims, limits: of_grade }, &axes);
    }
    let mut longest = chain(state, &moves, &effects, Figure::Performance);
    // The longest promise most.
    longest.drain(..longest.len().saturating_sub(state.racers_max()));
    race_to(state, longest, |rank, _| rank < 2)?;
    unseen::explore(state, &moves, &effects.weak())?;
    by_improvement(state, &moves, &of_grade, &effects.axes_to_jump(&[Figure::Performance]))
}

/// Runs batches of candidates with the greatest expected improvement of the grade.
fn by_improvement(
    state: &mut SearchState,
    moves: &Moves,
    weights: &[f64],
    axes: &[usize],
) -> Result<Ended, TuneError> {
    let (mut fits, mut convergence) = (FitHistory::default(), state.convergence());
    let mut reach: f64 = 0.4;
    for iteration in 1_u64.. {
        if state.budget.is_spent() {
            return Ok(Ended::Budget);
        }
        if convergence.is_reached(&state.log, state.budget) {
            return Ok(Ended::Converged);
        }
        let before = state.log.best_grade();
        let candidates = candidates(state, moves, axes, reach, iteration);
        if candidates.is_empty() {
            return Ok(Ended::Exhausted);
        }
        let chosen = choose(state, weights, &mut fits, candidates)?;
        race(state, chosen, iteration.is_multiple_of(ANYWAY_EACH))?;
        let better = state.log.best_grade() > before;
        reach = if better { (reach * 1.5).min(1.0) } else { (reach * 0.75).max(0.08) };
    }
    Ok(Ended::Budget)
}

/// The effect of a change on one axis, on the prefix.
struct Effect {
    axis: usize,
    /// What the changed drive does there; the baseline's performance and gains are 0.
    on_prefix: OnPrefix,
    /// The changed drive.
    drive: Feasible,
}

/// The effects of all changes on one axis that were tried, on the prefix.
struct Effects {
    all: Vec<Effect>,
    /// The number of axes of the space.
    axes: usize,
}

impl Effects {
    /// The greatest effect of each axis on a figure, whether it helps or hurts.
    fn strength(&self, figure: Figure) -> Vec<f64> {
        let mut strength = vec![0.0_f64; self.axes];
        for effect in &self.all {
            strength[effect.axis] = strength[effect.axis].max(figure.of(&effect.on_prefix).abs());
        }
        strength
    }

    /// Weights of the axes for a model of a figure: an effect four times as strong weighs twice as
    /// much.
    fn weights(&self, figure: Figure) -> Vec<f64> {
        let strength = self.strength(figure);
        let greatest = strength.iter().copied().fold(QUIET, f64::max);
        strength.iter().map(|effect| (effect / greatest).sqrt().clamp(WEIGHT_MIN, 1.0)).collect()
    }

    /// The axes with little effect on how requests of the prefix are served.
    fn weak(&self) -> Vec<usize> {
        let is_strong = |axis: &usize| {
            let served = |effect: &Effect| effect.on_prefix.served.abs();
            self.all.iter().any(|effect| effect.axis == *axis && served(effect) > ALIKE)
        };
        (0..self.axes).filter(|axis| !is_strong(axis)).collect()
    }

    /// The axes to draw jumps from. Axes with an effect on one of the figures are listed four
    /// times, so that they are drawn more often.
    fn axes_to_jump(&self, figures: &[Figure]) -> Vec<usize> {
        let all: Vec<Vec<f64>> = figures.iter().map(|figure| self.strength(*figure)).collect();
        let has_effect = |axis: usize| all.iter().any(|strength| strength[axis] > QUIET);
        let often = |axis: usize| if has_effect(axis) { 4 } else { 1 };
        (0..self.axes).flat_map(|axis| std::iter::repeat_n(axis, often(axis))).collect()
    }
}

/// A figure that a change may help.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// The performance (formula 1).
    Performance,
    /// The gain in the aim with this number.
    Gain(usize),
    /// The sum of the gains in all aims.
    Sum,
}

impl Figure {
    /// The figure of a drive; 0 where it is not known.
    fn of(self, own: &OnPrefix) -> f64 {
        let gains = own.gains.as_deref().unwrap_or_default();
        match self {
            Self::Performance => own.performance,
            Self::Gain(aim) => gains.get(aim).copied().unwrap_or(0.0),
            Self::Sum => gains.iter().sum(),
        }
    }
}

/// Runs changes of every axis, one at a time, on the prefix. Where a drive cannot serve that, the
/// value half-way to the baseline's follows: the end of an axis may be too far.
fn sensitivity_runs(state: &mut SearchState, moves: &Moves) -> Result<Effects, TuneError> {
    let axes = state.task.space.axes().len();
    // A front has many drives to find, so less is spent on what each parameter does.
    let kept = if state.settings.aims.is_empty() { 1.0 / 2.0 } else { 2.0 / 3.0 };
    let reserve = ((state.budget.limit() - state.budget.spent()) * kept).max(1.0);
    let of_axis = |axis| ranks_to_try(state, axis).into_iter().map(move |rank| (axis, rank));
    let mut open: Vec<(usize, u16)> = (0..axes).flat_map(of_axis).collect();
    let mut effects = Effects { all: Vec::new(), axes };
    let mut seen: Vec<Point> = Vec::new();
    while !open.is_empty() {
        let mut tried: Vec<Change> = Vec::new();
        for (axis, rank) in open.drain(..) {
            let completed = moves.single(&state.base_point, axis, rank);
            let new =
                |found: &Feasible| state.log.is_new(&found.point) && !seen.contains(&found.point);
            if let Some(drive) = completed.into_iter().find(new) {
                seen.push(drive.point.clone());
                tried.push(Change { axis, rank, drive });
            }
        }
        let tried = within_the_budget(state, reserve, tried);
        let propose = |Change { drive, .. }: &Change| {
            Proposal::new(drive.point.clone(), drive.config.clone(), "sensitivity")
        };
        let mut proposals: Vec<Proposal> = tried.iter().map(propose).collect();
        let answers = state.run_prefix(&proposals)?;
        for (proposal, answer) in proposals.iter_mut().zip(&answers) {
            proposal.note_prefix(answer.as_ref());
        }
        for (Change { axis, rank, drive }, answer) in tried.into_iter().zip(&answers) {
            match answer.clone() {
                Some(on_prefix) => effects.all.push(Effect { axis, on_prefix, drive }),
                None => open.extend(half_way(state, axis, rank).map(|rank| (axis, rank))),
            }
        }
        if state.settings.prefix < 1.0 {
            state.note_raced(proposals);
        }
    }
    Ok(effects)
}

/// A change on one axis, with those that the limits ask for besides.
#[derive(Clone)]
struct Change {
    axis: usize,
    rank: u16,
    drive: Feasible,
}

/// The rank half-way between one on an axis and the baseline's; `None` where there is none or names
/// have no order.
fn half_way(state: &SearchState, axis: usize, rank: u16) -> Option<u16> {
    let here = state.base_point.0[axis];
    let half = if rank > here { here + (rank - here) / 2 } else { here - (here - rank) / 2 };
    (state.task.space.axes()[axis].is_numeric() && half != here).then_some(half)
}

/// The sensitivity runs that the budget pays for beside a reserve: the first of each axis, then the
/// second of each, and so on. Their order stays.
fn within_the_budget(state: &SearchState, reserve: f64, tried: Vec<Change>) -> Vec<Change> {
    let share = state.settings.prefix;
    let most = state.budget.affords_beside(reserve, share);
    if share >= 1.0 || tried.len() <= most {
        return tried;
    }
    let place =
        |index: usize| tried[..index].iter().filter(|one| one.axis == tried[index].axis).count();
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by_key(|index| (place(*index), *index));
    order.truncate(most);
    let kept = tried.iter().enumerate().filter(|(index, _)| order.contains(index));
    kept.map(|(_, one)| one.clone()).collect()
}

/// The ranks that the sensitivity runs try on an axis: all of a choice of settings that go
/// together, half and double on a layout axis, the ends of any other ordered axis, and a few values
/// of an axis of names.
fn ranks_to_try(state: &SearchState, axis: usize) -> Vec<u16> {
    let searched = &state.task.space.axes()[axis];
    let (here, last) = (state.base_point.0[axis], searched.count() as u16 - 1);
    let is_layout = state.task.space.layout_axes().contains(&axis);
    let mut ranks: Vec<u16> = if searched.choice().is_some() {
        (0..=last).collect()
    } else if is_layout {
        let value = |rank: u16| searched.number(rank);
        let nearest = |wanted: f64| {
            (0..=last).min_by(|a, b| {
                let off = |rank: u16| (value(rank) / wanted).ln().abs();
                off(*a).total_cmp(&off(*b))
            })
        };
        [0.5, 2.0].into_iter().filter_map(|factor| nearest(value(here) * factor)).collect()
    } else if searched.is_numeric() {
        vec![0, last]
    } else {
        let step = searched.count().div_ceil(NAMES_TRIED).max(1);
        (0..=last).step_by(step).collect()
    };
    ranks.retain(|rank| *rank != here);
    ranks.dedup();
    ranks
}

/// Combinations of the changes that helped a figure: the best one, the best two, four, and so on up
/// to all.
fn chain(state: &SearchState, moves: &Moves, effects: &Effects, figure: Figure) -> Vec<Proposal> {
    let help = |effect: &Effect| figure.of(&effect.on_prefix);
    let mut helpful: Vec<&Effect> =
        effects.all.iter().filter(|effect| help(effect) > QUIET).collect();
    helpful.sort_by(|a, b| help(b).total_cmp(&help(a)).then(a.axis.cmp(&b.axis)));
    let mut done: Vec<usize> = Vec::new();
    let mut here = state.base_point.clone();
    let mut chain: Vec<Feasible> = Vec::new();
    for effect in helpful {
        let space = &state.task.space;
        if done.contains(&effect.axis) {
            continue;
        }
        // A change of one layout axis has changed others with it. A second change would undo it.
        let moved = |axis: &usize| effect.drive.point.0[*axis] != state.base_point.0[*axis];
        let all: Vec<usize> = (0..space.axes().len()).filter(moved).collect();
        if all.iter().any(|axis| done.contains(axis)) {
            continue;
        }
        let mut next = here.clone();
        all.iter().for_each(|axis| next.0[*axis] = effect.drive.point.0[*axis]);
        if let Some(found) =
            moves.single(&next, effect.axis, next.0[effect.axis]).into_iter().next()
        {
            here = found.point.clone();
            done.extend(all);
            chain.push(found);
        }
    }
    let count = chain.len();
    let wanted = |length: usize| length == count || length.is_power_of_two();
    let chosen = chain.into_iter().enumerate().filter(|(index, _)| wanted(index + 1));
    chosen.map(|(_, found)| Proposal::new(found.point, found.config, "combination")).collect()
}

/// Drives near the top set that are not among the trials yet.
fn candidates(
    state: &SearchState,
    moves: &Moves,
    axes: &[usize],
    reach: f64,
    iteration: u64,
) -> Vec<Feasible> {
    let mut all: BTreeMap<Point, Feasible> = BTreeMap::new();
    let roots = state.log.roots();
    let roots: Vec<Point> =
        roots.iter().map(|number| state.log.trials()[*number].point.clone()).collect();
    let every: Vec<usize> = (0..state.task.space.axes().len()).collect();
    moves.neighbours(&roots[0], &every, &mut all);
    for jump in 0..JUMPS {
        let mut rng = stream(state.settings.seed, iteration, jump as u64);
        // Every other jump begins at the best root.
        let root = &roots[if jump % 2 == 0 { 0 } else { jump % roots.len() }];
        if let Some(found) = moves.jump(root, axes, reach, &mut rng) {
            all.entry(found.point.clone()).or_insert(found);
        }
        if all.len() >= CANDIDATES_MAX {
            break;
        }
    }
    all.into_values().filter(|found| state.log.is_new(&found.point)).collect()
}

/// Chooses the candidates to race. Each is chosen as if those before it performed as predicted.
fn choose(
    state: &SearchState,
    weights: &[f64],
    fits: &mut FitHistory,
    mut candidates: Vec<Feasible>,
) -> Result<Vec<Proposal>, TuneError> {
    let mut model = Surrogate::of_grades(state.task, state.log.trials(), weights, fits)?;
    let mut best = state.log.best_grade();
    let racing = if state.settings.prefix < 1.0 { RACED_EACH / 2 } else { 1 };
    let wanted = state.settings.batch.max(1) * racing;
    let mut chosen = Vec::new();
    while chosen.len() < wanted && !candidates.is_empty() {
        let points: Vec<&Point> = candidates.iter().map(|found| &found.point).collect();
        let predicted = model.predict(state.task, &points)?;
        // Take turns: the greatest expected improvement, then the greatest expected grade. While
        // nothing keeps every limit, there is nothing to improve on.
        let by_mean = (racing > 1 && chosen.len() % 2 == 1) || !best.is_finite();
        // What is predicted to break a limit comes last, the least excess first.
        let value = |index: &usize| match &predicted[*index] {
            Predicted { excess, .. } if *excess > 0.0 => (false, -excess),
            predicted if by_mean => (true, predicted.mean),
            predicted => (true, improvement(predicted, best)),
        };
        // Reversed, because `max_by` returns the last of equals, and the first is wanted.
        let order = (0..points.len()).rev();
        let by_value = |a: &usize, b: &usize| {
            let (a, b) = (value(a), value(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        let Some(index) = order.max_by(by_value) else { break };
        if best.is_finite() && predicted[index].excess <= 0.0 {
            best = best.max(predicted[index].mean);
        }
        let found = candidates.swap_remove(index);
        candidates.sort_by(|a, b| a.point.cmp(&b.point));
        model.believe(state.task, &found.point)?;
        chosen.push(Proposal::new(found.point, found.config, "improvement"));
    }
    Ok(chosen)
}

/// Races proposals on the prefix, and runs the fastest in full if they beat the best trial there.
/// With `anyway` the fastest one always runs in full. While no trial keeps every limit there is no
/// race, since speed says nothing about limits.
fn race(
    state: &mut SearchState,
    mut proposals: Vec<Proposal>,
    anyway: bool,
) -> Result<(), TuneError> {
    let full = proposals.len().div_ceil(RACED_EACH);
    let Some(best) = state.log.best() else {
        proposals.truncate(full);
        return state.run_in_full(proposals);
    };
    let bar = best.prefix_performance;
    let bar = bar.unwrap_or(f64::NEG_INFINITY);
    // On windows it is known how far a prefix tells: the fastest go on until they are known to be
    // worse.
    let is_sampled = state.is_sampled();
    race_to(state, proposals, |rank, performance| {
        rank < full && (is_sampled || performance > bar || (anyway && rank == 0))
    })
}

/// Races proposals on the prefix, the first ones that the budget pays for. `is_alive` says by rank
/// (0 is the fastest) and performance which of them run in full.
fn race_to(
    state: &mut SearchState,
    mut proposals: Vec<Proposal>,
    is_alive: impl Fn(usize, f64) -> bool,
) -> Result<(), TuneError> {
    let most = state.racers_max();
    proposals.truncate(most);
    let share = if most == 1 { 1.0 } else { state.settings.prefix.min(1.0) };
    proposals.truncate(state.budget.affords(share));
    if share >= 1.0 {
        return state.run_in_full(proposals);
    }
    let answers = state.run_prefix(&proposals)?;
    for (proposal, answer) in proposals.iter_mut().zip(&answers) {
        proposal.note_prefix(answer.as_ref());
    }
    let performances: Vec<Option<f64>> =
        proposals.iter().map(|proposal| proposal.prefix_performance).collect();
    let mut order: Vec<usize> = (0..proposals.len()).collect();
    let value = |index: usize| performances[index].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| value(*b).total_cmp(&value(*a)).then(a.cmp(b)));
    let winners: Vec<usize> = (order.iter().enumerate())
        .filter(|(rank, index)| {
            performances[**index].is_some_and(|performance| is_alive(*rank, performance))
        })
        .take(state.budget.affords(1.0))
        .map(|(_, index)| *index)
        .collect();
    let (mut on, mut out) = (Vec::new(), Vec::new());
    for (index, proposal) in proposals.into_iter().enumerate() {
        match winners.contains(&index) {
            true => on.push(proposal),
            false => out.push(proposal),
        }
    }
    state.note_raced(out);
    if state.is_sampled() {
        on = state.race_on_windows(on)?;
    }
    state.run_in_full(on)
}

/// The expected improvement of a predicted grade over `best`.
fn improvement(predicted: &Predicted, best: f64) -> f64 {
    let (gain, spread) = (predicted.mean - best, predicted.deviation.max(1e-9));
    let z = gain / spread;
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    gain * normal(z) + spread * density
}

/// The distribution function of the standard normal distribution. The error is below 7.5e-8
/// (Abramowitz and Stegun, 26.2.17).
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

    /// Compares the closed form with the integral of max(0, x - best) over the density.
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
            let computed = improvement(&Predicted { mean, deviation, excess: 0.0 }, best);
            assert!((computed - integral).abs() < 1e-6, "{computed} {integral}");
        }
    }
}
