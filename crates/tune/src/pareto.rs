//! Points of which none is better in everything, and how much room they take.
//!
//! Points are lists of gains: more is better in each. The hypervolume of some is the volume of all
//! that is better than a reference and no better than one of them. It grows whenever a point comes
//! in that none of the others beats, so it tells the progress of a search with several aims.
//!
//! Cost: exponential in the number of aims at worst; microseconds for 30 points of three, some
//! milliseconds for six.

/// Whether a point is at least as good as another in everything, and better in something.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    let pairs = || a.iter().zip(b);
    pairs().all(|(a, b)| a >= b) && pairs().any(|(a, b)| a > b)
}

/// The indices of the points that no other dominates, in their order. Of equal points the first
/// counts.
pub fn front(points: &[Vec<f64>]) -> Vec<usize> {
    let is_beaten = |index: usize| {
        points.iter().enumerate().any(|(other, point)| {
            dominates(point, &points[index]) || (other < index && *point == points[index])
        })
    };
    (0..points.len()).filter(|index| !is_beaten(*index)).collect()
}

/// The hypervolume of points over a reference (While, Bradstreet, Barone: "A Fast Way of
/// Calculating Exact Hypervolumes", 2012).
pub fn hypervolume(points: &[Vec<f64>], reference: &[f64]) -> f64 {
    let above = |point: &&Vec<f64>| point.iter().zip(reference).all(|(own, least)| own > least);
    let mut kept: Vec<Vec<f64>> = points.iter().filter(above).cloned().collect();
    kept.sort_by(|a, b| b[0].total_cmp(&a[0]));
    volume(&kept, reference)
}

/// What a point adds to the hypervolume of others.
pub fn added(point: &[f64], others: &[Vec<f64>], reference: &[f64]) -> f64 {
    let whole: f64 =
        point.iter().zip(reference).map(|(own, least)| (own - least).max(0.0)).product();
    if whole == 0.0 {
        return 0.0;
    }
    // What the others cover of the point's box.
    let lower = |other: &Vec<f64>| -> Vec<f64> {
        other.iter().zip(point).map(|(other, own)| other.min(*own)).collect()
    };
    let shared: Vec<Vec<f64>> = others.iter().map(lower).collect();
    let best: Vec<Vec<f64>> =
        front(&shared).into_iter().map(|index| shared[index].clone()).collect();
    whole - hypervolume(&best, reference)
}

fn volume(points: &[Vec<f64>], reference: &[f64]) -> f64 {
    let each = points.iter().enumerate();
    each.map(|(index, point)| added(point, &points[index + 1..], reference)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_front_by_hand() {
        let points = [[2.0, 1.0], [1.0, 2.0], [1.0, 1.0], [2.0, 1.0], [0.5, 3.0]];
        let points = points.map(|point| point.to_vec());
        assert_eq!(front(&points), [0, 1, 4]);
        // Three steps of a staircase.
        let volume = hypervolume(&points, &[0.0, 0.0]);
        assert!((volume - (2.0 + 1.0 + 0.5)).abs() < 1e-12, "{volume}");
        assert_eq!(hypervolume(&points, &[3.0, 0.0]), 0.0);
        assert_eq!(hypervolume(&[], &[0.0]), 0.0);
    }

    proptest! {
        /// Points on a grid of whole numbers: the volume is the number of unit cubes below one.
        #[test]
        fn the_volume_is_the_number_of_cubes(
            points in prop::collection::vec(prop::collection::vec(0..5_u8, 3), 0..8)
        ) {
            let covered = |x: u8, y: u8, z: u8| {
                points.iter().any(|point| point[0] > x && point[1] > y && point[2] > z)
            };
            let mut cubes = 0_u32;
            for x in 0..5 {
                for y in 0..5 {
                    cubes += (0..5).filter(|z| covered(x, y, *z)).count() as u32;
                }
            }
            let real: Vec<Vec<f64>> = (points.iter())
                .map(|point| point.iter().map(|own| f64::from(*own)).collect())
                .collect();
            let found = hypervolume(&real, &[0.0; 3]);
            prop_assert!((found - f64::from(cubes)).abs() < 1e-9, "{} {}", found, cubes);
        }
    }
}
