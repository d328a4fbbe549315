//! Which points are fitted and which are held out to test the fit.
//!
//! Without a rule of the user, every second load of a sweep is held out: the second, the fourth and
//! so on, never the last one, so that the ends of each sweep are fitted. A sweep is what differs
//! only in how many requests are outstanding or arrive; points of one load are swept along the size
//! of their requests. Repeats of a point stay together.

mod expression;

pub(crate) use expression::Fields;
pub use expression::{Expression, ExpressionError};

use crate::point::Point;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the points of a sweep have in common.
type Key = fn(&Point) -> String;
/// Where a point is in its sweep.
type Step = fn(&Point) -> u64;

/// Points in two parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Split {
    /// Those that the drive is fitted to.
    pub fitted: Vec<Point>,
    /// Those that it is tested on.
    pub held_out: Vec<Point>,
}

impl Split {
    /// Holds out the points that an expression chooses.
    pub fn by(points: Vec<Point>, expression: &Expression) -> Self {
        let (held_out, fitted) = points.into_iter().partition(|point| expression.chooses(point));
        Self { fitted, held_out }
    }

    /// Holds out every second load of each sweep, and keeps the ends.
    pub fn automatic(points: Vec<Point>) -> Self {
        let mut is_held = vec![false; points.len()];
        // Points of sweeps along the load, then those that have but one load along the size.
        let mut rest: Vec<usize> = (0..points.len()).collect();
        let ways: [(Key, Step); 2] =
            [(along_load, load), (along_size, |point| u64::from(point.block_bytes))];
        for (key, step) in ways {
            let mut sweeps: BTreeMap<String, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
            for at in std::mem::take(&mut rest) {
                let point = &points[at];
                let sweep = sweeps.entry(key(point)).or_default();
                sweep.entry(step(point)).or_default().push(at);
            }
            for sweep in sweeps.into_values() {
                if sweep.len() == 1 {
                    rest.extend(sweep.into_values().flatten());
                    continue;
                }
                let last = sweep.len() - 1;
                for (_, held) in
                    sweep.into_values().enumerate().filter(|(n, _)| n % 2 == 1 && *n < last)
                {
                    held.into_iter().for_each(|at| is_held[at] = true);
                }
            }
            rest.sort_unstable();
        }
        let mut split = Self::default();
        for (point, is_held) in points.into_iter().zip(is_held) {
            if is_held { split.held_out.push(point) } else { split.fitted.push(point) }
        }
        split
    }
}

/// What the points of a sweep along the load have in common.
fn along_load(point: &Point) -> String {
    let Point { drive, numjobs, .. } = point;
    format!("{}|{drive:?}|{numjobs}|{}", point.family(), share(point))
}

/// What the points of a sweep along the size have in common.
fn along_size(point: &Point) -> String {
    let Point { source, drive, operation, numjobs, .. } = point;
    format!("{source}|{drive:?}|{operation}|{numjobs}|{}|{}", share(point), load(point))
}

/// The share of reads, which is measured and not set where the load is paced.
fn share(point: &Point) -> f64 {
    if point.offered.is_some() { 0.0 } else { point.read_percent }
}

/// The load as a number to sort by: a depth, or a rate.
fn load(point: &Point) -> u64 {
    match (point.offered, point.iodepth) {
        (Some(rate), _) => rate.0 as u64,
        (None, depth) => u64::from(depth.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse;
    use proptest::prelude::*;
    use std::path::Path;

    fn points(rows: &[String]) -> Vec<Point> {
        let text = format!("op,rwmix_read,bs,iodepth,numjobs,iops,notes\n{}", rows.join("\n"));
        parse(Path::new("p"), "rig", &text).unwrap()
    }

    fn depths(points: &[Point]) -> Vec<u32> {
        points.iter().filter_map(|point| point.iodepth).collect()
    }

    #[test]
    fn every_second_load_is_held_out_and_repeats_stay_together() {
        let row = |depth: u32| format!("randread,100,4k,{depth},1,1000,");
        let rows: Vec<String> = [1, 2, 2, 4, 8, 16, 32, 64, 128, 256].map(row).into();
        let split = Split::automatic(points(&rows));
        assert_eq!(depths(&split.held_out), [2, 2, 8, 32, 128]);
        assert_eq!(depths(&split.fitted), [1, 4, 16, 64, 256]);
        let even = Split::automatic(points(&rows[..9]));
        assert_eq!(depths(&even.held_out), [2, 2, 8, 32]);
        assert_eq!(depths(&even.fitted), [1, 4, 16, 64, 128]);
    }

    #[test]
    fn points_of_one_load_are_swept_along_their_size() {
        let row = |size: u32| format!("randread,100,{size}k,32,1,1000,");
        let split = Split::automatic(points(&[4, 16, 32, 64, 128].map(row)));
        let sizes: Vec<u32> = split.held_out.iter().map(|point| point.block_bytes >> 10).collect();
        assert_eq!(sizes, [16, 64]);
    }

    proptest! {
        /// The ends of every sweep are fitted, nothing is lost, and the order does not matter.
        #[test]
        fn ends_are_fitted(depths in prop::collection::vec((1u32..300, 1u32..3), 1..40)) {
            let row = |&(depth, jobs): &(u32, u32)| format!("randread,100,4k,{depth},{jobs},1000,");
            let rows: Vec<String> = depths.iter().map(row).collect();
            let split = Split::automatic(points(&rows));
            prop_assert_eq!(split.fitted.len() + split.held_out.len(), rows.len());
            for jobs in 1..3 {
                let of = |points: &[Point]| -> Vec<u32> {
                    let own = points.iter().filter(|point| point.numjobs == jobs);
                    own.filter_map(|point| point.iodepth).collect()
                };
                let (fitted, held) = (of(&split.fitted), of(&split.held_out));
                let inside = |depth: &u32| {
                    fitted.iter().any(|other| other < depth) && fitted.iter().any(|o| o > depth)
                };
                prop_assert!(held.iter().all(inside), "{held:?} beside {fitted:?}");
            }
            let turned: Vec<String> = rows.iter().rev().cloned().collect();
            let held = |points: &[Point]| {
                let mut held: Vec<(Option<u32>, u32)> =
                    points.iter().map(|point| (point.iodepth, point.numjobs)).collect();
                held.sort_unstable();
                held
            };
            let again = Split::automatic(points(&turned));
            prop_assert_eq!(held(&split.held_out), held(&again.held_out));
        }
    }
}
