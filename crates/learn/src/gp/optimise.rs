//! Minimisation inside bounds: L-BFGS directions for the free variables, and a backtracking search
//! along the direction, clamped to the bounds.
//!
//! A variable that is at a bound and would leave it is held for the step. A step changes no
//! variable by more than two: the variables are logarithms, and a factor of e² is bold enough.

use std::collections::VecDeque;

/// A function to be minimised. `gradient` is always called for the point of the last `value`.
pub(super) trait Objective {
    /// The value at a point; infinite where the function is not defined.
    fn value(&mut self, at: &[f64]) -> f64;
    /// Writes the gradient at the point of the last call of `value`.
    fn gradient(&mut self, into: &mut [f64]);
}

/// The least and the greatest value of each variable.
pub(super) struct Bounds {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

/// When a search ends.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The search ends after this many evaluations of the function.
    pub(super) max_evaluations: usize,
    /// The search ends after two steps in a row that lower the value by no more than this.
    pub(super) least_gain: f64,
}

/// Where a search ended.
#[derive(Clone, Debug)]
pub(super) struct Minimum {
    pub(super) at: Vec<f64>,
    pub(super) value: f64,
    /// Number of evaluations of the function.
    pub(super) evaluations: usize,
}

/// Number of past steps that L-BFGS remembers.
const MEMORY: usize = 12;
/// A step changes no variable by more than this.
const STEP_MAX: f64 = 2.0;
/// The search ends where no free variable's derivative is greater.
const GRADIENT_TOLERANCE: f64 = 1e-4;

/// A past step, and how the gradient changed along it.
struct PastStep {
    step: Vec<f64>,
    change: Vec<f64>,
}

impl Bounds {
    /// Moves every variable between its bounds.
    pub(super) fn clamp(&self, at: &mut [f64]) {
        for ((value, low), high) in at.iter_mut().zip(&self.low).zip(&self.high) {
            *value = value.clamp(*low, *high);
        }
    }

    /// Whether each variable can move against its derivative without leaving its bounds.
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

/// Searches for a local minimum from `start`.
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
    let mut memory: VecDeque<PastStep> = VecDeque::with_capacity(MEMORY);
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

/// The step that L-BFGS' two-loop recursion proposes for the free variables. Steepest descent takes
/// its place where that step would not descend.
fn direction(gradient: &[f64], free: &[bool], memory: &VecDeque<PastStep>) -> Vec<f64> {
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
    let shrink = -(STEP_MAX / longest).min(1.0);
    d.iter().map(|value| value * shrink).collect()
}

/// How a search along a direction ended: the point and its value, if one was good enough.
struct LineSearch {
    accepted: Option<(Vec<f64>, f64)>,
    evaluations: usize,
}

/// Shortens the step until the value falls by a fraction of what the gradient promises. `room` is
/// the number of evaluations that are left.
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
        // Shorten to the minimum of the parabola through both values with the slope at the first,
        // but to no less than a tenth and no more than a half.
        let curve = next_value - value - promised;
        let shrink = if curve.is_finite() && curve > 0.0 { -promised / (2.0 * curve) } else { 0.1 };
        length *= shrink.clamp(0.1, 0.5);
    }
    LineSearch { accepted: None, evaluations: room.min(25) }
}

/// Adds the step from `at` to `next` to the memory, with the gradients before and after it, if the
/// function curves upwards along it.
fn remember(
    memory: &mut VecDeque<PastStep>,
    at: &[f64],
    next: &[f64],
    before: &[f64],
    after: &[f64],
) {
    let step: Vec<f64> = next.iter().zip(at).map(|(n, a)| n - a).collect();
    let change: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
    if dot(&step, &change) > 1e-10 * norm(&step) * norm(&change) {
        if memory.len() == MEMORY {
            memory.pop_front();
        }
        memory.push_back(PastStep { step, change });
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Adds a multiple of one vector to another.
fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's function, a curved valley with its minimum at (1, 1). Keeps the last point.
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

    /// With x at most 0.5, the least value is on that bound, at y = 0.25.
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
