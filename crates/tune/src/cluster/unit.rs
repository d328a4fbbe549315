//! The unit of distances: how far a category reaches.
//!
//! The paper's threshold of 20 corresponds to the least distance between two of its clusters. That
//! is a good reach where categories are many and stationary. Where they are few they lie far from
//! each other, and most of what was never seen would belong to one of them; so a category reaches
//! as far as its windows spread, and a little farther. Streams of models hardly spread at all, and
//! recordings of the same application would be turned away, so a part of the deviation of all
//! windows is the least reach. No category reaches all the way to another one.
//!
//! The three constants were chosen on half of the traces and on training and validation seeds of
//! the models (docs/results/clustering.md).

use super::basis::{WindowPoint, centre, distance};

/// The reach in deviations of windows from the centre of their category.
const SPREADS: f64 = 2.5;
/// The least reach as a share of the deviation of windows from the centre of all.
const SHARE_OF_ALL: f64 = 1.0 / 3.0;
/// The greatest reach as a share of the least distance between two categories.
const SHARE_OF_DISTANCE: f64 = 0.75;

/// How far from its centre a category reaches. `points` are the windows of each workload, `numbers`
/// the categories of the workloads. `None` if no distance is above 0.
pub(super) fn reach(
    centres: &[WindowPoint],
    points: &[Vec<WindowPoint>],
    numbers: &[u32],
) -> Option<f64> {
    let all = points.concat();
    let middle = centre(&all);
    let deviation = |squares: f64| (squares / all.len() as f64).sqrt();
    let own = points.iter().zip(numbers).flat_map(|(points, &number)| {
        points.iter().map(move |point| distance(point, &centres[number as usize]).powi(2))
    });
    let spread = deviation(own.sum());
    let whole = deviation(all.iter().map(|point| distance(point, &middle).powi(2)).sum());
    let wide = (SPREADS * spread).max(SHARE_OF_ALL * whole);
    let far = least_distance(centres).map(|least| SHARE_OF_DISTANCE * least);
    // Categories whose centres fall together cannot limit each other.
    let reach = far.filter(|far| *far > 0.0).map_or(wide, |far| far.min(wide));
    (reach > 0.0).then_some(reach)
}

/// The least distance between two centres; `None` of fewer than two.
pub(super) fn least_distance(centres: &[WindowPoint]) -> Option<f64> {
    let pairs = centres.iter().enumerate();
    let each = pairs.flat_map(|(i, a)| centres[..i].iter().map(move |b| distance(a, b)));
    each.min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64) -> WindowPoint {
        [x, 0.0, 0.0, 0.0, 0.0]
    }

    /// Two windows to each side of a place.
    fn around(x: f64, spread: f64) -> Vec<WindowPoint> {
        vec![at(x - spread), at(x + spread)]
    }

    #[test]
    fn one_category_reaches_beyond_its_spread() {
        let reach = reach(&[at(5.0)], &[around(5.0, 2.0)], &[0]).expect("a reach");
        assert!((reach - 5.0).abs() < 1e-12, "{reach}");
    }

    #[test]
    fn each_of_the_three_lengths_decides() {
        let of = |distance: f64, spread: f64| {
            let points = [around(0.0, spread), around(distance, spread)];
            reach(&[at(0.0), at(distance)], &points, &[0, 1]).expect("a reach")
        };
        // Far from each other for their spread, but not so far that their distance decides.
        assert!((of(10.0, 1.0) - 2.5).abs() < 1e-12);
        // Near to each other: three quarters of their distance.
        assert!((of(2.0, 1.0) - 1.5).abs() < 1e-12);
        // Hardly any spread: a third of the deviation of all, which is half of the distance.
        assert!((of(10.0, 0.001) - 5.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn windows_in_one_place_have_no_reach() {
        assert_eq!(reach(&[at(1.0)], &[around(1.0, 0.0)], &[0]), None);
        // Centres in one place do not keep windows from having a spread.
        let together = reach(&[at(0.0), at(0.0)], &[around(0.0, 1.0)], &[0]);
        assert_eq!(together, Some(2.5));
    }
}
