//! A slow regressor taught to a quick one: a tree with linear leaves that learns from what another
//! regressor predicts, at more workloads than anybody would measure.
//!
//! A Gaussian process asks all points that it has learned from, which costs 30 us a prediction. A
//! tree of a thousand linear leaves costs 0.3 us, most of it for the columns. Measured points are
//! too few to grow such a tree; those that the process predicts are free of noise and cost next to
//! nothing.
//!
//! Lessons are put together from the parts of workloads that the teacher has seen: the load of one,
//! the writes of another, the reads of a third, the share of writes of a fourth. So they lie where
//! the teacher knows something, and have no kind of request that was not measured. A part of them
//! has loads, sizes and shares between those of two workloads, so that the tree is taught between
//! the points, too.

use super::equations::Extended;
use super::features::{Characteristics, Features};
use super::regressor::{FitError, Learner, Recipe, Regressor, Scale};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// How many workloads a tree is taught with for each one that the teacher has learned from.
const LESSONS: usize = 20;
/// How many of a hundred parts lie between those of two workloads.
const BETWEEN_PERCENT: u32 = 30;

/// The recipe of a taught tree.
const TAUGHT: Recipe = Recipe {
    features: Features::Derived,
    scale: Scale::Log,
    learner: Learner::Taught { min_leaf: 30 },
};

/// Workloads of a closed loop to teach with, put together from those given.
pub(super) fn lessons(seen: &[Characteristics], seed: u64) -> Vec<Characteristics> {
    let of = |share: fn(&Extended) -> bool| -> Vec<Extended> {
        seen.iter().map(|one| one.extended).filter(share).collect()
    };
    let is_strided = |one: &Extended| one.wr_stride > 0.0 && one.rd_stride > 0.0;
    let mut draw = Draw {
        all: of(|_| true),
        sides: [of(|one| one.rw_ratio < 1.0), of(|one| one.rw_ratio > 0.0)],
        both_strided: seen.iter().any(|one| is_strided(&one.extended)),
        rng: Pcg64::seed_from_u64(seed),
    };
    let count = LESSONS * seen.len();
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        all.extend(draw.one());
    }
    all
}

/// Draws workloads from the parts of others.
struct Draw {
    all: Vec<Extended>,
    /// Those with reads, and those with writes.
    sides: [Vec<Extended>; 2],
    /// Whether reads and writes have strides in one of them.
    both_strided: bool,
    rng: Pcg64,
}

/// The reads or the writes of a workload: mean size, share of random ones, stride.
type Side = [f64; 3];

impl Draw {
    /// A workload; `None` if its parts do not go together.
    fn one(&mut self) -> Option<Characteristics> {
        let [share, depth] = [self.pair(None), self.pair(None)];
        let rw_ratio = self.between(share.map(|one| one.rw_ratio));
        let q_dep = self.between(depth.map(|one| one.q_dep.log2())).exp2().round();
        let [rd_size, rd_rand, rd_stride] = self.side(0, rw_ratio < 1.0);
        let [wr_size, wr_rand, wr_stride] = self.side(1, rw_ratio > 0.0);
        if wr_stride > 0.0 && rd_stride > 0.0 && !self.both_strided {
            return None;
        }
        let extended =
            Extended { rw_ratio, q_dep, wr_size, rd_size, wr_rand, rd_rand, wr_stride, rd_stride };
        let rand = rw_ratio * wr_rand + (1.0 - rw_ratio) * rd_rand;
        Some(Characteristics { extended, rand, offered_iops: None })
    }

    /// The reads (0) or the writes (1) of a workload that has some.
    fn side(&mut self, side: usize, is_there: bool) -> Side {
        if !is_there {
            return [0.0; 3];
        }
        let of = |one: Extended| -> Side {
            match side {
                0 => [one.rd_size, one.rd_rand, one.rd_stride],
                _ => [one.wr_size, one.wr_rand, one.wr_stride],
            }
        };
        let [first, second] = self.pair(Some(side)).map(of);
        // Sizes stay powers of two, as those measured are: others begin at other places in pages.
        let size = self.between([first[0].log2(), second[0].log2()]).round().exp2();
        let random = match first[2] > 0.0 || second[2] > 0.0 {
            true => first[1],
            false => self.between([first[1], second[1]]),
        };
        [size, random, first[2]]
    }

    /// Two workloads, of all or of those with reads (0) or writes (1).
    fn pair(&mut self, side: Option<usize>) -> [Extended; 2] {
        let rows = side.map_or(&self.all, |side| &self.sides[side]);
        [0; 2].map(|_| rows[self.rng.random_range(0..rows.len())])
    }

    /// The first value, or one between both.
    fn between(&mut self, [first, second]: [f64; 2]) -> f64 {
        let way: f64 = self.rng.random();
        if self.rng.random_range(0..100) < BETWEEN_PERCENT {
            first + way * (second - first)
        } else {
            first
        }
    }
}

/// A quick regressor that predicts what `teacher` does.
///
/// # Errors
/// A prediction is not finite.
pub(super) fn taught(
    teacher: &Regressor,
    lessons: &[Characteristics],
    seed: u64,
) -> Result<Regressor, FitError> {
    let answers: Vec<f64> = lessons.par_iter().map(|one| teacher.predict(one)).collect();
    TAUGHT.fit(lessons, &answers, seed)
}

#[cfg(test)]
mod tests {
    use super::super::grid;
    use super::*;

    /// The latency of a made-up drive.
    fn latency(one: &Characteristics) -> f64 {
        let all = &one.extended;
        let size = one.mean_bytes() / 4096.0;
        5e4 * (1.0 + all.rw_ratio) + 2e3 * all.q_dep * (size + 3.0 * one.rand)
    }

    #[test]
    fn lessons_are_made_of_what_was_seen() {
        let points = grid::sample(&grid::closed(), 200, 1);
        let seen: Vec<Characteristics> =
            points.iter().map(|point| Characteristics::of_point(point, None)).collect();
        let all = lessons(&seen, 3);
        assert_eq!((all.len(), &all), (200 * LESSONS, &lessons(&seen, 3)));
        for one in &all {
            let Extended { rw_ratio, q_dep, wr_size, rd_size, wr_stride, rd_stride, .. } =
                one.extended;
            assert_eq!((wr_size > 0.0, rd_size > 0.0), (rw_ratio > 0.0, rw_ratio < 1.0), "{one:?}");
            assert!((1.0..=64.0).contains(&q_dep) && q_dep.fract() == 0.0, "{one:?}");
            assert!(wr_stride == 0.0 || rd_stride == 0.0, "no point has both: {one:?}");
        }
        let between =
            all.iter().filter(|one| ![1.0, 4.0, 16.0, 64.0].contains(&one.extended.q_dep));
        assert!(between.count() > 100, "some depths lie between those seen");
    }

    #[test]
    fn the_pupil_predicts_what_the_teacher_does() {
        let points = grid::sample(&grid::closed(), 300, 1);
        let of = |point| Characteristics::of_point(point, None);
        let seen: Vec<Characteristics> = points.iter().map(of).collect();
        let truths: Vec<f64> = seen.iter().map(latency).collect();
        let learner = Learner::Process { tuned_on: 100 };
        let recipe = Recipe { features: Features::Shares, scale: Scale::Log, learner };
        let teacher = recipe.fit(&seen, &truths, 1).unwrap();
        let pupil = taught(&teacher, &lessons(&seen, 2), 1).unwrap();
        let new: Vec<Characteristics> = grid::closed().iter().step_by(50).map(of).collect();
        let error = |one| (pupil.predict(one) / teacher.predict(one) - 1.0).abs();
        let mean = new.iter().map(error).sum::<f64>() / new.len() as f64;
        assert!(mean < 0.05, "{mean}");
    }
}
