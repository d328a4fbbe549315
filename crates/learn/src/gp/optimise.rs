//! Minimisation inside a box: L-BFGS directions among the free variables, backtracking along the
//! projected path.
//!
//! A variable at a bound whose gradient pushes outward is held for the step. Steps are capped at
//! two units of any variable: the variables are logarithms, and a step of e² is bold already.

use std::collections::VecDeque;

/// What is minimised. `gradient` is asked for the point `value` was last asked for.
pub(super) trait Objective {
    /// The value at `at`; infinite where there is none.
    fn value(&mut self, at: &[f64]) -> f64;
    /// The gradient at the point last valued.
    fn gradient(&mut self, into: &mut [f64]);
}

/// Lower and upper ends of each variable.
pub(super) struct Bounds {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

/// When a search ends.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_evaluations: usize,
    /// Two steps running that gain no more than this end it.
    pub(super) least_gain: f64,
}

/// Where a search ended.
#[derive(Clone, Debug)]
pub(super) struct Minimum {
    pub(super) at: Vec<f64>,
    pub(super) value: f64,
    pub(super) evaluations: usize,
}

const MEMORY: usize = 12;
const LONGEST_STEP: f64 = 2.0;
const GRADIENT_TOLERANCE: f64 = 1e-4;

struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

impl Bounds {
    pub(super) fn clamp(&self, at: &mut [f64]) {
        for ((value, low), high) in at.iter_mut().zip(&self.low).zip(&self.high) {
            *value = value.clamp(*low, *high);
        }
    }

    /// Whether each variable may move against its gradient.
    fn free(&self, at: &[f64], gradient: &[f64]) -> Vec<bool> {
        (0..at.len())
            .map(|i| {
                let outward = (at[i] <= self.low[i] && gradient[i] > 0.0)
                    || (at[i] >= self.high[i] && gradient[i] < 0.0);
                !outward && self.low[i] < self.high[i]
            })
            .collect()
    }
}

/// Searches from `start`.
pub(super) fn minimise(
    objective: &mut impl Objective,
    start: &[f64],
    bounds: &Bounds,
    limits: Limits,
) -> Minimum {
    let mut at = start.to_vec();
    bounds.clamp(&mut at);
    let mut value = objective.value(&at);
    let mut evaluations = 1;
    let mut gradient = vec![0.0; at.len()];
    if !value.is_finite() {
        return Minimum { at, value, evaluations };
    }
    objective.gradient(&mut gradient);
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    let mut stalled = 0;
    while evaluations < limits.max_evaluations && stalled < 2 {
        let free = bounds.free(&at, &gradient);
        let steepest =
            (0..at.len()).filter(|&i| free[i]).map(|i| gradient[i].abs()).fold(0.0, f64::max);
        if steepest < GRADIENT_TOLERANCE {
            break;
        }
        let direction = direction(&gradient, &free, &memory);
        let room = limits.max_evaluations - evaluations;
        let found = line_search(objective, &at, value, &gradient, &direction, bounds, room);
        evaluations += found.evaluations;
        let Some((next, next_value)) = found.accepted else {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        };
        let before = gradient.clone();
        objective.gradient(&mut gradient);
        remember(&mut memory, &at, &next, &before, &gradient);
        let gain = value - next_value;
        stalled = if gain <= limits.least_gain { stalled + 1 } else { 0 };
        (at, value) = (next, next_value);
    }
    Minimum { at, value, evaluations }
}

/// The two-loop recursion over the free variables, with steepest descent where it does not descend.
fn direction(gradient: &[f64], free: &[bool], memory: &VecDeque<Pair>) -> Vec<f64> {
    let masked = |values: &[f64]| -> Vec<f64> {
        values.iter().zip(free).map(|(&v, &free)| if free { v } else { 0.0 }).collect()
    };
    let steepest = masked(gradient);
    let pairs: Vec<(Vec<f64>, Vec<f64>, f64)> = memory
        .iter()
        .map(|pair| (masked(&pair.step), masked(&pair.change)))
        .filter_map(|(s, y)| {
            let curvature = dot(&s, &y);
            (curvature > 1e-10 * norm(&s) * norm(&y)).then_some((s, y, curvature))
        })
        .collect();
    let mut d = steepest.clone();
    let mut weights = vec![0.0; pairs.len()];
    for (weight, (s, y, curvature)) in weights.iter_mut().zip(&pairs).rev() {
        *weight = dot(s, &d) / curvature;
        add(&mut d, y, -*weight);
    }
    let scale = match pairs.last() {
        Some((_, y, curvature)) => curvature / dot(y, y),
        None => 1.0 / norm(&steepest).max(1.0),
    };
    d.iter_mut().for_each(|value| *value *= scale);
    for (weight, (s, y, curvature)) in weights.iter().zip(&pairs) {
        let correction = weight - dot(y, &d) / curvature;
        add(&mut d, s, correction);
    }
    if dot(&d, &steepest) <= 1e-12 * norm(&d) * norm(&steepest) {
        let scale = 1.0 / norm(&steepest).max(1.0);
        d = steepest.iter().map(|value| value * scale).collect();
    }
    let longest = d.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let shrink = -(LONGEST_STEP / longest).min(1.0);
    d.iter().map(|value| value * shrink).collect()
}

struct LineSearch {
    accepted: Option<(Vec<f64>, f64)>,
    evaluations: usize,
}

/// Backtracks until the value falls by a fraction of what the gradient promises.
fn line_search(
    objective: &mut impl Objective,
    at: &[f64],
    value: f64,
    gradient: &[f64],
    direction: &[f64],
    bounds: &Bounds,
    room: usize,
) -> LineSearch {
    let mut length = 1.0;
    for evaluations in 1..=room.min(25) {
        let mut next: Vec<f64> = at.iter().zip(direction).map(|(a, d)| a + length * d).collect();
        bounds.clamp(&mut next);
        let promised: f64 = (0..at.len()).map(|i| gradient[i] * (next[i] - at[i])).sum();
        let next_value = objective.value(&next);
        if next_value.is_finite() && next_value <= value + 1e-4 * promised {
            return LineSearch { accepted: Some((next, next_value)), evaluations };
        }
        // The minimum of the parabola through both values and the slope, kept within sensible
        // shrinkage.
        let curve = next_value - value - promised;
        let shrink = if curve.is_finite() && curve > 0.0 { -promised / (2.0 * curve) } else { 0.1 };
        length *= shrink.clamp(0.1, 0.5);
    }
    LineSearch { accepted: None, evaluations: room.min(25) }
}

fn remember(memory: &mut VecDeque<Pair>, at: &[f64], next: &[f64], before: &[f64], after: &[f64]) {
    let step: Vec<f64> = next.iter().zip(at).map(|(n, a)| n - a).collect();
    let change: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    if dot(&step, &change) > 1e-10 * norm(&step) * norm(&change) {
        if memory.len() == MEMORY {
            memory.pop_front();
        }
        memory.push_back(Pair { step, change });
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley.
    struct Valley(Vec<f64>);

    impl Objective for Valley {
        fn value(&mut self, at: &[f64]) -> f64 {
            self.0 = at.to_vec();
            (1.0 - at[0]).powi(2) + 100.0 * (at[1] - at[0] * at[0]).powi(2)
        }

        fn gradient(&mut self, into: &mut [f64]) {
            let (x, y) = (self.0[0], self.0[1]);
            into[0] = -2.0 * (1.0 - x) - 400.0 * x * (y - x * x);
            into[1] = 200.0 * (y - x * x);
        }
    }

    fn search(low: f64, high: f64) -> Minimum {
        let bounds = Bounds { low: vec![low; 2], high: vec![high; 2] };
        let limits = Limits { max_evaluations: 300, least_gain: 1e-9 };
        minimise(&mut Valley(Vec::new()), &[-1.2, 1.0], &bounds, limits)
    }

    #[test]
    fn a_free_minimum_is_found() {
        let found = search(-5.0, 5.0);
        assert!(found.at.iter().all(|x| (x - 1.0).abs() < 1e-3), "{found:?}");
    }

    /// With x at most 0.5 the least value lies on that bound, at y = 0.25.
    #[test]
    fn a_minimum_on_the_bound_is_found() {
        let found = search(-2.0, 0.5);
        assert!((found.at[0] - 0.5).abs() < 1e-9 && (found.at[1] - 0.25).abs() < 1e-4, "{found:?}");
        assert!((found.value - 0.25).abs() < 1e-6);
    }

    #[test]
    fn the_count_of_evaluations_is_kept() {
        let bounds = Bounds { low: vec![-5.0; 2], high: vec![5.0; 2] };
        let limits = Limits { max_evaluations: 7, least_gain: 0.0 };
        assert!(minimise(&mut Valley(Vec::new()), &[-1.2, 1.0], &bounds, limits).evaluations <= 7);
    }
}
