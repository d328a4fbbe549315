//! Nelder and Mead's simplex in the unit cube: a search for a minimum without derivatives.
//!
//! Deterministic. Points outside of the cube are moved onto its faces. Values that are not finite
//! are worse than all others.

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Values that are asked for, at most (a step that has begun is finished).
    pub(super) evaluations: usize,
    /// The search ends when all corners of a small simplex are this near in value.
    pub(super) tolerance: f64,
}

/// The search goes on as long as the simplex is larger than this.
const EXTENT: f64 = 5e-4;

/// A place and its value.
pub(super) type Corner = (Vec<f64>, f64);

/// Looks for the place with the smallest value, beginning at `start` with a simplex of this size.
///
/// # Errors
/// The first one of `value`.
pub(super) fn minimise<E>(
    start: &[f64],
    size: f64,
    budget: Budget,
    mut value: impl FnMut(&[f64]) -> Result<f64, E>,
) -> Result<Corner, E> {
    let mut count = 0;
    let mut ask = |at: Vec<f64>| -> Result<Corner, E> {
        count += 1;
        let found = value(&at)?;
        Ok((at, if found.is_finite() { found } else { f64::INFINITY }))
    };
    let start: Vec<f64> = start.iter().map(|x| x.clamp(0.0, 1.0)).collect();
    let mut corners = vec![ask(start.clone())?];
    for axis in 0..start.len() {
        let mut corner = start.clone();
        // Into the cube, whichever side that is.
        corner[axis] += if corner[axis] + size <= 1.0 { size } else { -size };
        corner[axis] = corner[axis].clamp(0.0, 1.0);
        corners.push(ask(corner)?);
    }
    let asked_for_start = corners.len();
    let mut left = budget.evaluations.saturating_sub(asked_for_start);
    loop {
        // Equal values keep their order, so that nothing depends on the sort.
        corners.sort_by(|one, other| one.1.total_cmp(&other.1));
        let last = corners.len() - 1;
        let is_flat = corners[last].1 - corners[0].1 <= budget.tolerance;
        // Corners on both sides of a valley may be equal.
        if left == 0 || last == 0 || (is_flat && extent(&corners) <= EXTENT) {
            return Ok(corners.swap_remove(0));
        }
        let before = corners.len();
        let used = step(&mut corners, &mut ask)?;
        debug_assert_eq!(before, corners.len());
        left = left.saturating_sub(used);
    }
}

/// The largest distance of a corner from the best one, along any axis.
fn extent(corners: &[Corner]) -> f64 {
    let best = &corners[0].0;
    let distances = corners
        .iter()
        .flat_map(|corner| corner.0.iter().zip(best).map(|(own, best)| (own - best).abs()));
    distances.fold(0.0, f64::max)
}

/// One step: the worst corner is replaced, or all others move towards the best. Returns how many
/// values were asked for.
fn step<E>(
    corners: &mut [Corner],
    ask: &mut impl FnMut(Vec<f64>) -> Result<Corner, E>,
) -> Result<usize, E> {
    let last = corners.len() - 1;
    let middle: Vec<f64> = (0..last)
        .map(|axis| corners[..last].iter().map(|corner| corner.0[axis]).sum::<f64>() / last as f64)
        .collect();
    let worst = corners[last].clone();
    let beyond = |factor: f64| -> Vec<f64> {
        let move_axis = |(middle, worst): (&f64, &f64)| middle + factor * (middle - worst);
        middle.iter().zip(&worst.0).map(move_axis).map(|x| x.clamp(0.0, 1.0)).collect()
    };
    let reflected = ask(beyond(1.0))?;
    if reflected.1 < corners[0].1 {
        let expanded = ask(beyond(2.0))?;
        corners[last] = if expanded.1 < reflected.1 { expanded } else { reflected };
        return Ok(2);
    }
    if reflected.1 < corners[last - 1].1 {
        corners[last] = reflected;
        return Ok(1);
    }
    let is_better = reflected.1 < worst.1;
    let contracted = ask(beyond(if is_better { 0.5 } else { -0.5 }))?;
    if contracted.1 < worst.1.min(reflected.1) {
        corners[last] = contracted;
        return Ok(2);
    }
    let best = corners[0].0.clone();
    for corner in &mut corners[1..] {
        let halfway = best.iter().zip(&corner.0).map(|(best, own)| (best + own) / 2.0).collect();
        *corner = ask(halfway)?;
    }
    Ok(2 + last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(start: &[f64], value: impl Fn(&[f64]) -> f64) -> (Corner, usize) {
        let mut asked = 0;
        let budget = Budget { evaluations: 400, tolerance: 1e-12 };
        let found = minimise(start, 0.1, budget, |at| {
            asked += 1;
            assert!(at.iter().all(|x| (0.0..=1.0).contains(x)), "{at:?}");
            Ok::<f64, ()>(value(at))
        });
        (found.unwrap(), asked)
    }

    #[test]
    fn the_bottom_of_a_curved_valley_is_found() {
        let valley = |at: &[f64]| {
            let (x, y) = (4.0 * at[0] - 2.0, 4.0 * at[1] - 2.0);
            (1.0 - x).powi(2) + 10.0 * (y - x * x).powi(2)
        };
        let ((at, value), asked) = find(&[0.2, 0.6], valley);
        assert!((at[0] - 0.75).abs() < 1e-3 && (at[1] - 0.75).abs() < 1e-3, "{at:?} {value}");
        assert!(asked <= 410, "{asked}");
    }

    #[test]
    fn corners_of_the_cube_and_absolute_errors_are_found() {
        let ((at, _), _) = find(&[0.5, 0.5, 0.5], |at| at.iter().sum());
        assert!(at.iter().all(|x| *x < 1e-3), "{at:?}");
        let ((at, _), _) = find(&[1.0, 0.0], |at| (at[0] - 0.3).abs() + (at[1] - 0.9).abs());
        assert!((at[0] - 0.3).abs() < 1e-3 && (at[1] - 0.9).abs() < 1e-3, "{at:?}");
    }

    #[test]
    fn what_has_no_value_is_avoided_and_no_axis_is_no_search() {
        let holed = |at: &[f64]| if at[0] > 0.6 { f64::NAN } else { (at[0] - 0.55).abs() };
        let ((at, _), _) = find(&[0.1], holed);
        assert!((at[0] - 0.55).abs() < 1e-3, "{at:?}");
        assert_eq!(find(&[], |_| 7.0), ((vec![], 7.0), 1));
        let budget = Budget { evaluations: 9, tolerance: 0.0 };
        assert_eq!(minimise(&[0.5], 0.1, budget, |_| Err::<f64, u8>(3)), Err(3));
    }
}
