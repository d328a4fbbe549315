//! How far each parameter can move while the others make up for it.
//!
//! A parameter is moved away from its fitted place in growing steps, and at each the others are
//! refitted. Where the objective has risen by more than the noise, the range ends: between this
//! step and the one before, in proportion.

use super::simplex::{Budget, minimise};
use super::{Candidate, FitError, Work};
use rayon::prelude::*;

/// Requests of each point.
const REQUESTS: u32 = 5_000;
/// Steps away from the fitted place, as shares of the parameter's whole range.
const STEPS: [f64; 6] = [0.015, 0.04, 0.1, 0.22, 0.45, 1.0];
/// Evaluations for refitting the others at a step.
const REFIT: usize = 20;
/// Evaluations for a parameter, at most.
pub(super) const EVALUATIONS_MAX: usize = 2 * STEPS.len() * REFIT;
/// A range wider than this share of the value does not tell it.
const WIDTH_MAX: f64 = 0.5;

/// The range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) is_identified: bool,
}

/// The range of each parameter of a fitted drive, in their order.
pub(super) fn ranges(work: &Work<'_>, best: &Candidate) -> Result<Vec<Range>, FitError> {
    let axes = best.places.len();
    let all: Vec<usize> = (0..work.points.len()).collect();
    let requests = work.options.looks.last().map_or(REQUESTS, |look| look.requests.min(REQUESTS));
    // The best place with many requests is not quite the best one with few.
    let budget = Budget { evaluations: REFIT, tolerance: 1e-4 };
    let (centre, least) =
        minimise(&best.places, 0.01, budget, |at| work.evaluate(best, at, &all, requests))?;
    let ways: Vec<(usize, f64)> = (0..axes).flat_map(|axis| [(axis, -1.0), (axis, 1.0)]).collect();
    let end = |&(axis, sign): &(usize, f64)| -> Result<(f64, bool), FitError> {
        let (mut before, mut risen) = (centre[axis], 0.0);
        let mut others = centre.clone();
        for step in STEPS {
            let place = (centre[axis] + sign * step).clamp(0.0, 1.0);
            if place == before {
                break;
            }
            let start: Vec<f64> =
                (0..axes).filter(|&other| other != axis).map(|other| others[other]).collect();
            let whole = |at: &[f64]| {
                let mut places = at.to_vec();
                places.insert(axis, place);
                places
            };
            let (found, objective) = minimise(&start, 0.02, budget, |at| {
                work.evaluate(best, &whole(at), &all, requests)
            })?;
            let rise = objective - least;
            if rise > work.options.noise {
                let left = (work.options.noise - risen).max(0.0);
                let share = if rise.is_finite() { left / (rise - risen) } else { 0.0 };
                return Ok((before + share * (place - before), true));
            }
            (before, risen, others) = (place, rise.max(0.0), whole(&found));
        }
        Ok((before, false))
    };
    let ends: Result<Vec<(f64, bool)>, FitError> =
        ways.par_iter().with_max_len(1).map(end).collect();
    let range = |(axis, ends): (usize, &[(f64, bool)])| {
        let [low, high] = [0, 1].map(|side| best.space.value(axis, ends[side].0));
        let value = best.space.value(axis, centre[axis]);
        let is_closed = ends.iter().all(|(_, is_closed)| *is_closed);
        Range { low, high, is_identified: is_closed && high - low <= WIDTH_MAX * value }
    };
    Ok(ends?.chunks(2).enumerate().map(range).collect())
}
