//! The latency of a drive in a closed loop by what holds requests up: eleven numbers, which a few
//! points tell.
//!
//! A request takes as long as it does alone, or as long as all that are outstanding take where they
//! queue, whichever is longer. There are three such places: the drive, which spends a time on each
//! request; its link and flash, which spend a time on each sector; and the core of the host that
//! each job has for itself. With `N` requests outstanding, `J` jobs and `S` sectors a request
//!
//! ```text
//! latency^p = alone^p + (N request)^p + (N S sector)^p + (N / J core)^p
//! alone     = start + S wait
//! ```
//!
//! The sharpness `p` says how suddenly one gives way to the other: at random arrivals at many dies
//! softly, at a link hard. Times of mixed loads are the means of those of reads and writes by
//! their shares. Sequential requests may start faster or cost the drive less than random ones.
//!
//! **Fit.** Errors are of the logarithm of latency. Points are few, so each number is also drawn
//! towards what is usual for drives, or towards those of another drive: a number of which no point
//! tells stays there. Great errors count less than their squares, since real measurements have
//! points that a drive's caches or its host have spoilt. Damped least squares (Levenberg and
//! Marquardt) from four starts: some 10 ms for 100 points.

use super::features::Characteristics;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_model::SECTOR_BYTES;

/// How many numbers there are.
const COUNT: usize = 11;
/// The error of a point, in units of the logarithm of latency, that weighs as much as one deviation
/// of a number from what is expected of it.
const NOISE: f64 = 0.05;
/// Errors above this many times [`NOISE`] count by their logarithm.
const ROBUST: f64 = 3.0;
/// Starts of the fit.
const STARTS: usize = 4;
/// Steps of the fit from each start, at most.
const STEPS: usize = 100;

/// Places of the numbers.
const START: [usize; 2] = [0, 1];
const REQUEST: [usize; 2] = [2, 3];
const CORE: usize = 4;
const SECTOR: [usize; 2] = [5, 6];
const WAIT: usize = 7;
const SEQUENTIAL_START: usize = 8;
const SEQUENTIAL_REQUEST: usize = 9;
const SHARPNESS: usize = 10;

/// What is usual, as logarithms: times in nanoseconds, of reads and then of writes. A request alone
/// takes 75 us, and the drive 4 us for a read and 6 us for a write.
const USUAL: [f64; COUNT] = [11.22, 11.22, 8.22, 8.72, 7.72, 5.22, 5.22, 4.22, 0.0, 0.0, 1.386];
/// How far drives are from it, as standard deviations.
const SPREAD: [f64; COUNT] = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.5];
/// How much closer a drive is to another one whose numbers are known.
const ALIKE: f64 = 0.5;

/// What a workload of a closed loop asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// Requests outstanding, of all jobs.
    outstanding: f64,
    /// Jobs at a time.
    jobs: f64,
    /// Sectors of 512 bytes of a read and of a write; 0 without them.
    sectors: [f64; 2],
    /// Share of writes, 0 to 1.
    writes: f64,
    /// Share of requests that begin where the one before ends, 0 to 1.
    sequential: f64,
}

impl Load {
    /// The load of a workload by so many jobs. Strides count as sequential.
    pub(super) fn of(workload: &Characteristics, jobs: f64) -> Self {
        let all = &workload.extended;
        Self {
            outstanding: all.q_dep,
            jobs,
            sectors: [all.rd_size, all.wr_size].map(|bytes| bytes / SECTOR_BYTES as f64),
            writes: all.rw_ratio,
            sequential: 1.0 - workload.rand,
        }
    }

    /// The load in columns for a learner: outstanding requests, jobs and sectors of a request in
    /// octaves, and the shares of writes and of sequential requests.
    pub(super) fn columns(&self) -> [f64; 5] {
        let sectors = self.mix(self.sectors);
        let [outstanding, jobs, sectors] =
            [self.outstanding, self.jobs, sectors.max(1.0)].map(f64::log2);
        [outstanding, jobs, sectors, self.writes, self.sequential]
    }

    /// The mean of a figure of reads and one of writes.
    fn mix(&self, [read, write]: [f64; 2]) -> f64 {
        (1.0 - self.writes) * read + self.writes * write
    }
}

/// The numbers of a drive, as natural logarithms; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Bottleneck([f64; COUNT]);

impl Bottleneck {
    /// Whether all numbers are finite and of a size that time has.
    pub(super) fn is_sound(&self) -> bool {
        self.0.iter().all(|number| number.abs() < 100.0)
    }

    /// The logarithm of the latency in nanoseconds.
    pub(super) fn log_latency(&self, load: &Load) -> f64 {
        let times = self.0.map(f64::exp);
        let of = |places: [usize; 2]| places.map(|place| times[place]);
        let mean_sectors = load.mix(load.sectors);
        let faster = |place: usize| (self.0[place] * load.sequential).exp();
        let start = load.mix(of(START)) * faster(SEQUENTIAL_START) + mean_sectors * times[WAIT];
        let request = load.outstanding * load.mix(of(REQUEST)) * faster(SEQUENTIAL_REQUEST);
        let [read, write] = of(SECTOR);
        let bytes = load.outstanding * load.mix([read * load.sectors[0], write * load.sectors[1]]);
        let core = load.outstanding / load.jobs * times[CORE];
        let logs = [start, request, bytes, core].map(|time| time.max(1e-3).ln());
        let (sharp, top) = (times[SHARPNESS], logs.iter().copied().fold(f64::MIN, f64::max));
        let sum: f64 = logs.iter().map(|log| (sharp * (log - top)).exp()).sum();
        top + sum.ln() / sharp
    }

    /// The numbers that explain the logarithms of latencies at these loads and are near what is
    /// usual, or near those of another drive.
    pub(super) fn fit(loads: &[Load], logs: &[f64], other: Option<&Self>, seed: u64) -> Self {
        let problem = Problem { loads, logs, expected: other.copied() };
        let mut rng = Pcg64::seed_from_u64(seed);
        let begin = problem.centre();
        let starts = (0..STARTS).map(|number| {
            let away = if number == 0 { 0.0 } else { 1.0 };
            let mut start = begin;
            for (value, spread) in start.iter_mut().zip(SPREAD) {
                *value += away * spread * (2.0 * rng.random::<f64>() - 1.0);
            }
            start
        });
        let ends = starts.map(|start| problem.descend(start));
        let best = ends.min_by(|a, b| a.1.total_cmp(&b.1));
        Self(best.map_or(begin, |(numbers, _)| numbers))
    }
}

/// A fit: what is to be explained, and what is expected of the numbers.
struct Problem<'a> {
    loads: &'a [Load],
    logs: &'a [f64],
    expected: Option<Bottleneck>,
}

impl Problem<'_> {
    /// Where the numbers are expected.
    fn centre(&self) -> [f64; COUNT] {
        self.expected.map_or(USUAL, |other| other.0)
    }

    /// All errors whose squares are to be small: those of the points, those of the numbers, and
    /// those of the differences between reads and writes.
    fn errors(&self, numbers: &[f64; COUNT], into: &mut Vec<f64>) {
        into.clear();
        let drive = Bottleneck(*numbers);
        into.extend(self.loads.iter().zip(self.logs).map(|(load, log)| {
            let error = (drive.log_latency(load) - log) / NOISE;
            ROBUST * (error / ROBUST).asinh()
        }));
        let (centre, alike) = (self.centre(), if self.expected.is_some() { ALIKE } else { 1.0 });
        let far = |place: usize| numbers[place] - centre[place];
        into.extend((0..COUNT).map(|place| far(place) / (alike * SPREAD[place])));
        let pairs = [START, REQUEST, SECTOR];
        into.extend(pairs.map(|[read, write]| (far(read) - far(write)) / alike));
    }

    /// The numbers at the end of a descent, and the sum of their squared errors.
    fn descend(&self, mut at: [f64; COUNT]) -> ([f64; COUNT], f64) {
        let square = |errors: &[f64]| errors.iter().map(|error| error * error).sum::<f64>();
        let (mut here, mut there) = (Vec::new(), Vec::new());
        self.errors(&at, &mut here);
        let (mut cost, mut damping) = (square(&here), 1e-2);
        for _ in 0..STEPS {
            let (normal, gradient) = self.normal(&at, &here);
            let mut next = at;
            let step = solve(normal, gradient, damping);
            next.iter_mut().zip(step).for_each(|(value, step)| *value -= step);
            self.errors(&next, &mut there);
            let found = square(&there);
            if found < cost {
                let gain = cost - found;
                (at, cost) = (next, found);
                std::mem::swap(&mut here, &mut there);
                damping = (damping * 0.3).max(1e-9);
                if gain < 1e-9 * cost {
                    break;
                }
            } else if damping > 1e9 {
                break;
            } else {
                damping *= 4.0;
            }
        }
        (at, cost)
    }

    /// The normal equations at some numbers with these errors.
    fn normal(&self, at: &[f64; COUNT], errors: &[f64]) -> ([[f64; COUNT]; COUNT], [f64; COUNT]) {
        const STEP: f64 = 1e-5;
        let mut moved = Vec::new();
        let slopes: [Vec<f64>; COUNT] = std::array::from_fn(|place| {
            let mut near = *at;
            near[place] += STEP;
            self.errors(&near, &mut moved);
            moved.iter().zip(errors).map(|(moved, here)| (moved - here) / STEP).collect()
        });
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let row = |i: usize| std::array::from_fn(|j| dot(&slopes[i], &slopes[j]));
        (std::array::from_fn(row), std::array::from_fn(|i| dot(&slopes[i], errors)))
    }
}

/// Solves the normal equations, with their diagonal enlarged by a share of itself. They are
/// positive definite, since every number is drawn towards what is expected of it.
fn solve(mut matrix: [[f64; COUNT]; COUNT], mut right: [f64; COUNT], damping: f64) -> [f64; COUNT] {
    for (place, row) in matrix.iter_mut().enumerate() {
        row[place] *= 1.0 + damping;
    }
    for pivot in 0..COUNT {
        for row in pivot + 1..COUNT {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            matrix[row].iter_mut().zip(above).for_each(|(cell, other)| *cell -= factor * other);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..COUNT).rev() {
        let known: f64 = (row + 1..COUNT).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(outstanding: f64, jobs: f64, sectors: f64, writes: f64) -> Load {
        Load { outstanding, jobs, sectors: [sectors; 2], writes, sequential: 0.0 }
    }

    fn some_loads() -> Vec<Load> {
        let mut all = Vec::new();
        for outstanding in [1.0, 4.0, 16.0, 64.0, 256.0] {
            for sectors in [8.0, 64.0, 512.0] {
                for writes in [0.0, 0.5, 1.0] {
                    all.push(load(outstanding, 1.0, sectors, writes));
                }
            }
        }
        all
    }

    /// Far from each other's reach every bottleneck is met alone.
    #[test]
    fn what_is_slowest_decides() {
        let mut drive = Bottleneck(USUAL);
        drive.0[SHARPNESS] = 20f64.ln();
        let of = |one: Load| drive.log_latency(&one).exp();
        let times = drive.0.map(f64::exp);
        let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.05);
        near(of(load(1.0, 1.0, 1.0, 0.0)), times[START[0]] + times[WAIT]);
        near(of(load(1e4, 1e4, 1.0, 1.0)), 1e4 * times[REQUEST[1]]);
        near(of(load(1e4, 1e4, 1e4, 0.0)), 1e8 * times[SECTOR[0]]);
        drive.0[CORE] += 5.0;
        let slow = drive.log_latency(&load(1e4, 10.0, 1.0, 0.0)).exp();
        near(slow, 1e3 * drive.0[CORE].exp());
    }

    /// A drive of the kind is found again, but for numbers that no load tells.
    #[test]
    fn a_drive_is_found_again_by_its_latencies() {
        let mut drive = Bottleneck(USUAL);
        for (number, step) in drive.0.iter_mut().zip([0.7, -0.9, 0.6, 0.8, -1.0, 0.4]) {
            *number += step;
        }
        let loads = some_loads();
        let logs: Vec<f64> = loads.iter().map(|one| drive.log_latency(one)).collect();
        let found = Bottleneck::fit(&loads, &logs, None, 1);
        for (one, log) in loads.iter().zip(&logs) {
            let error = (found.log_latency(one) - log).abs();
            assert!(error < 0.02, "{one:?}: {error}");
        }
        assert_eq!(found, Bottleneck::fit(&loads, &logs, None, 1));
    }

    /// Three points of a drive like another are worth more beside that one's numbers.
    #[test]
    fn another_drive_says_what_points_do_not() {
        let mut other = Bottleneck(USUAL);
        other.0[SECTOR[0]] += 1.5;
        other.0[REQUEST[1]] -= 1.2;
        let mut drive = other;
        drive.0[START[0]] += 0.2;
        let loads = some_loads();
        let logs: Vec<f64> = loads.iter().map(|one| drive.log_latency(one)).collect();
        let error = |found: Bottleneck| -> f64 {
            loads.iter().zip(&logs).map(|(one, log)| (found.log_latency(one) - log).abs()).sum()
        };
        let alone = error(Bottleneck::fit(&loads[..3], &logs[..3], None, 1));
        let beside = error(Bottleneck::fit(&loads[..3], &logs[..3], Some(&other), 1));
        assert!(beside < 0.5 * alone, "{beside} beside, {alone} alone");
    }

    /// One point in nine that is ten times too slow moves the others by little.
    #[test]
    fn a_spoilt_point_does_not_spoil_the_others() {
        let drive = Bottleneck(USUAL);
        let loads = some_loads();
        let mut logs: Vec<f64> = loads.iter().map(|one| drive.log_latency(one)).collect();
        for spoilt in logs.iter_mut().skip(4).step_by(9) {
            *spoilt += 10f64.ln();
        }
        let found = Bottleneck::fit(&loads, &logs, None, 1);
        let errors =
            loads.iter().map(|one| (found.log_latency(one) - drive.log_latency(one)).abs());
        let mean = errors.sum::<f64>() / loads.len() as f64;
        assert!(mean < 0.1, "{mean}");
    }
}
