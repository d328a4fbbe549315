//! Percentiles of all requests, told from those of some windows.
//!
//! A request counts with one over the chance of its window. How far the percentile is known, a
//! bootstrap says: the weight of each window is multiplied by random numbers whose mean is 1 and
//! whose variance is what drawing the window leaves open, so that windows which were certain do not
//! move (the generalised bootstrap for Poisson sampling). Two drives get the same numbers: what
//! they have in common drops out of their ratio.
//!
//! A sample cannot know of a window that was not drawn and has nothing but long latencies. The
//! interval allows for one of those that a drive has left out: then the percentile lies as much
//! further up as one window is of the trace. Where latencies are few values, of which the bootstrap
//! meets one alone, this is what gives an interval its width.
//!
//! Cost: sorting all latencies once, and for each of [`RESAMPLES`] a walk over those in the tail.

use crate::interval::{Interval, WINDOWS_MIN};
use crate::population::Reach;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;
use serde::Serialize;

/// How often weights are drawn anew.
const RESAMPLES: usize = 400;
/// The ends of the interval, as shares of the resampled values, and by how much it is widened:
/// latencies have long tails, of which a sample sees too little more often than too much.
const ENDS: (f64, f64) = (0.025, 0.975);
const WIDENED: f64 = 1.1;

/// The latencies of a window, in any one unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies(Vec<u64>);

impl Latencies {
    /// Of a window's requests, in any order.
    pub fn new(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.0.iter().map(|value| *value as f64).sum()
    }
}

/// A window, and what two drives did in it.
#[derive(Clone, Copy, Debug)]
pub struct TailWindow<'a> {
    /// With what chance the window was drawn.
    pub chance: f64,
    /// The drive that the other is compared with.
    pub below: &'a Latencies,
    /// The drive.
    pub above: &'a Latencies,
}

/// The ratio of a percentile of two drives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// The ratio.
    pub value: f64,
    /// The percentile of the drive that is compared with.
    pub below: f64,
    /// That of the drive.
    pub above: f64,
    /// Where the ratio lies with 95 %; `None` with too few windows.
    pub interval: Option<Interval>,
}

/// The latencies of all windows, the longest first, each with its window.
struct Pool {
    values: Vec<(u64, u32)>,
    /// Requests of each window.
    counts: Vec<f64>,
}

impl Pool {
    fn of<'a>(windows: impl Iterator<Item = &'a Latencies>) -> Self {
        let (mut values, mut counts) = (Vec::new(), Vec::new());
        for (window, latencies) in windows.enumerate() {
            values.extend(latencies.0.iter().map(|value| (*value, window as u32)));
            counts.push(latencies.len() as f64);
        }
        values.sort_unstable_by(|one, other| other.cmp(one));
        Self { values, counts }
    }

    /// The smallest latency that requests with a `share` of all weight do not exceed.
    fn percentile(&self, weights: &[f64], share: f64) -> Option<f64> {
        let total: f64 = self.counts.iter().zip(weights).map(|(count, own)| count * own).sum();
        let (beyond, mut seen) = ((1.0 - share) * total, 0.0);
        let passed = self.values.iter().find(|(_, window)| {
            seen += weights[*window as usize];
            // Sums of weights that are not binary fractions miss their end by a little.
            seen > beyond * (1.0 + 1e-12)
        });
        passed.or(self.values.last()).map(|(value, _)| *value as f64)
    }
}

/// A percentile of one drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// The percentile, in the unit of the latencies.
    pub value: f64,
    /// Where it lies with 95 %; `None` with too few windows.
    pub interval: Option<Interval>,
}

/// The percentile `share` (0.99 for p99) of windows, each with its chance. `None` without a
/// request.
pub fn weighted_percentile(windows: &[(f64, &Latencies)], share: f64) -> Option<f64> {
    let weights: Vec<f64> = windows.iter().map(|window| 1.0 / window.0).collect();
    Pool::of(windows.iter().map(|window| window.1)).percentile(&weights, share)
}

impl Percentile {
    /// The percentile `share` (0.99 for p99) of what was measured in the windows of a sample with
    /// this reach: the chance of each window, and its latencies. `None` without a latency above 0.
    pub fn of(windows: &[(f64, &Latencies)], share: f64, reach: Reach, seed: u64) -> Option<Self> {
        let drawn = Draws::of(windows.iter().map(|window| window.0), reach);
        let pool = Pool::of(windows.iter().map(|window| window.1));
        let found = |weights: &[f64], share: f64| {
            pool.percentile(weights, share).filter(|value| *value > 0.0)
        };
        let value = found(&drawn.weights, share)?;
        let further = found(&drawn.weights, drawn.further(share))?;
        let resampled =
            drawn.resampled(seed, |weights| Some((found(weights, share)? / value).ln()));
        let interval = drawn.interval(value, resampled, (0.0, (further / value).ln()));
        Some(Self { value, interval })
    }
}

impl Tail {
    /// The ratio of the percentile `share` (0.99 for p99) of what was measured in the windows of a
    /// sample with this reach. `None` without a latency above 0.
    pub fn of(windows: &[TailWindow<'_>], share: f64, reach: Reach, seed: u64) -> Option<Self> {
        let drawn = Draws::of(windows.iter().map(|window| window.chance), reach);
        let below = Pool::of(windows.iter().map(|window| window.below));
        let above = Pool::of(windows.iter().map(|window| window.above));
        let both = |weights: &[f64], share: f64| {
            let pair = (below.percentile(weights, share)?, above.percentile(weights, share)?);
            (pair.0 > 0.0 && pair.1 > 0.0).then_some(pair)
        };
        let own = both(&drawn.weights, share)?;
        let further = both(&drawn.weights, drawn.further(share))?;
        let value = own.1 / own.0;
        let resampled = drawn.resampled(seed, |weights| {
            let (below, above) = both(weights, share)?;
            Some((above / below / value).ln())
        });
        let room = ((own.0 / further.0).ln(), (further.1 / own.1).ln());
        let interval = drawn.interval(value, resampled, room);
        Some(Self { value, below: own.0, above: own.1, interval })
    }
}

/// How the windows were drawn.
struct Draws {
    /// What a request of each window counts.
    weights: Vec<f64>,
    /// The standard deviation of what the weight of each window is multiplied by.
    spreads: Vec<f64>,
    /// The share of the trace that one window is, if there are windows that were not drawn.
    window: f64,
}

impl Draws {
    fn of(chances: impl Iterator<Item = f64>, reach: Reach) -> Self {
        let (weights, spreads): (Vec<f64>, Vec<f64>) = chances
            .map(|chance| (1.0 / chance, (1.0 - reach.covered * chance).max(0.0).sqrt()))
            .unzip();
        let is_whole = spreads.iter().all(|spread| *spread == 0.0);
        Self { weights, spreads, window: if is_whole { 0.0 } else { reach.window } }
    }

    /// The percentile that takes the place of another if one window has nothing but latencies that
    /// are longer.
    fn further(&self, share: f64) -> f64 {
        // All but one window have the rest of what is beyond.
        1.0 - ((1.0 - share - self.window) / (1.0 - self.window)).max(0.0)
    }

    /// What `value` makes of weights that are drawn anew, in order.
    fn resampled(&self, seed: u64, value: impl Fn(&[f64]) -> Option<f64>) -> Vec<f64> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut again = self.weights.clone();
        let mut values: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let pairs = self.weights.iter().zip(&self.spreads);
                for (own, (weight, spread)) in again.iter_mut().zip(pairs) {
                    let random: f64 = Exp1.sample(&mut rng);
                    *own = weight * (1.0 + spread * (random - 1.0));
                }
                value(&again)
            })
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The interval around a value, from logarithms of resampled ones over it, in order, and from
    /// the room to both sides for a window that was not drawn.
    fn interval(&self, value: f64, resampled: Vec<f64>, room: (f64, f64)) -> Option<Interval> {
        let is_whole = self.spreads.iter().all(|spread| *spread == 0.0);
        let end = |share: f64| {
            let at = (share * resampled.len() as f64) as usize;
            resampled.get(at.min(resampled.len().saturating_sub(1))).copied().unwrap_or(0.0)
        };
        let low = (WIDENED * end(ENDS.0)).min(0.0).hypot(room.0);
        let high = (WIDENED * end(ENDS.1)).max(0.0).hypot(room.1);
        (self.weights.len() >= WINDOWS_MIN || is_whole)
            .then(|| Interval { low: value * (-low).exp(), high: value * high.exp() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Population;
    use rand::RngExt;
    use rand_distr::LogNormal;

    /// Windows of a trace of 10,000.
    const REACH: Reach = Reach { covered: 1.0, unseen: 0.0, window: 1e-4 };

    #[test]
    fn percentiles_count_requests_by_their_weights() {
        let (few, many) = (Latencies::new(vec![30, 10, 20]), Latencies::new((1..=97).collect()));
        let pool = Pool::of([&few, &many].into_iter());
        assert_eq!(pool.percentile(&[1.0, 1.0], 0.5), Some(50.0 - 3.0));
        assert_eq!(pool.percentile(&[1.0, 1.0], 0.99), Some(96.0));
        assert_eq!(pool.percentile(&[1.0, 0.0], 0.5), Some(20.0));
        assert_eq!(pool.percentile(&[1.0, 0.0], 1.0), Some(30.0));
        assert_eq!(Pool::of([].into_iter()).percentile(&[], 0.5), None);
    }

    #[test]
    fn a_drive_beside_itself_is_as_good_and_all_windows_leave_nothing_open() {
        let own = Latencies::new((1..=500).collect());
        let slow = Latencies::new((1..=500).map(|value| 3 * value).collect());
        let window = |chance, above| TailWindow { chance, below: &own, above };
        let same = Tail::of(&[window(0.1, &own); 50], 0.99, Reach::WHOLE, 1).unwrap();
        assert_eq!((same.value, same.interval), (1.0, Some(Interval { low: 1.0, high: 1.0 })));
        let whole = Tail::of(&[window(1.0, &slow); 3], 0.99, REACH, 1).unwrap();
        assert_eq!((whole.below, whole.value), (495.0, 3.0));
        assert_eq!(whole.interval, Some(Interval { low: 3.0, high: 3.0 }));
        assert_eq!(Tail::of(&[window(0.5, &slow); 3], 0.99, REACH, 1).unwrap().interval, None);
    }

    /// One request in a hundred takes five times as long: the next request more that does, and p99
    /// is that. No weights of these windows, which are all alike, would tell it.
    #[test]
    fn a_percentile_beside_a_step_has_room_for_it() {
        let mut values = vec![10; 99];
        values.push(50);
        let (own, even) = (Latencies::new(values), Latencies::new(vec![10; 100]));
        let one = Percentile::of(&[(0.5, &own); 50], 0.99, REACH, 1).unwrap();
        let interval = one.interval.unwrap();
        assert_eq!(one.value, 10.0);
        assert!((interval.low - 10.0).abs() < 1e-9 && (interval.high - 50.0).abs() < 1e-9);
        let whole = Percentile::of(&[(0.5, &own); 50], 0.99, Reach::WHOLE, 1).unwrap();
        assert_eq!(whole.interval.unwrap().high, 10.0);
        let pair = |below, above| [TailWindow { chance: 0.5, below, above }; 50];
        let worse = Tail::of(&pair(&even, &own), 0.99, REACH, 1).unwrap().interval.unwrap();
        assert!((worse.low - 1.0).abs() < 1e-9 && (worse.high - 5.0).abs() < 1e-9);
        let better = Tail::of(&pair(&own, &even), 0.99, REACH, 1).unwrap().interval.unwrap();
        assert!((better.low - 0.2).abs() < 1e-9 && (better.high - 1.0).abs() < 1e-9);
    }

    /// Windows of quiet and busy times, where the tail comes from some of them.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut rng = Pcg64::seed_from_u64(17);
        let windows: Vec<(Latencies, Latencies)> = (0..400)
            .map(|_| {
                let busy: f64 = LogNormal::new(0.0, 0.7).unwrap().sample(&mut rng);
                let law = LogNormal::new(4.0 + busy.min(3.0), 0.5).unwrap();
                let values: Vec<f64> = (0..100).map(|_| law.sample(&mut rng)).collect();
                let other = |value: &f64| (value * (1.3 + 0.2 * rng.random::<f64>())) as u64;
                let others = values.iter().map(other).collect();
                let own = values.iter().map(|value| *value as u64).collect();
                (Latencies::new(own), Latencies::new(others))
            })
            .collect();
        let sizes: Vec<f64> = windows.iter().map(|(own, _)| own.sum()).collect();
        let measured = |sample: &crate::Sample, seed| {
            let drawn = sample.drawn.iter().map(|own| {
                let (below, above) = &windows[own.window];
                TailWindow { chance: own.chance, below, above }
            });
            Tail::of(&drawn.collect::<Vec<_>>(), 0.99, sample.reach, seed).unwrap()
        };
        let all = |seed| Population::new(&sizes, 1.0, seed).unwrap();
        let truth = measured(&all(0).sample(400), 0);
        assert!((1.3..1.5).contains(&truth.value));
        let (trials, mut held, mut held_alone) = (300, 0, 0);
        for seed in 0..trials {
            let sample = all(seed).sample(60);
            let own = measured(&sample, seed);
            held += u32::from(own.interval.unwrap().holds(truth.value));
            let alone: Vec<(f64, &Latencies)> =
                sample.drawn.iter().map(|own| (own.chance, &windows[own.window].1)).collect();
            let alone = Percentile::of(&alone, 0.99, sample.reach, seed).unwrap();
            held_alone += u32::from(alone.interval.unwrap().holds(truth.above));
        }
        assert!(held >= 276 && held_alone >= 276, "{held} and {held_alone} of {trials}");
    }
}
