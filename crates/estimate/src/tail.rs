//! Percentiles of all requests, told from those of some windows.
//!
//! A request counts with one over the chance of its window. How far the percentile is known, a
//! bootstrap says: the weight of each window is multiplied by random numbers whose mean is 1 and
//! whose variance is what drawing the window leaves open, so that windows which were certain do not
//! move (the generalised bootstrap for Poisson sampling). Both drives get the same numbers: what
//! they have in common drops out of their ratio.
//!
//! Cost: sorting all latencies once, and for each of [`RESAMPLES`] a walk over those in the tail.

use crate::interval::{Interval, WINDOWS_MIN};
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

impl Tail {
    /// The ratio of the percentile `share` (0.99 for p99) of what was measured; `covered` is the
    /// share of the trace that the windows which these were drawn from are. `None` without a
    /// latency above 0.
    pub fn of(windows: &[TailWindow<'_>], share: f64, covered: f64, seed: u64) -> Option<Self> {
        let below = Pool::of(windows.iter().map(|window| window.below));
        let above = Pool::of(windows.iter().map(|window| window.above));
        let weights: Vec<f64> = windows.iter().map(|window| 1.0 / window.chance).collect();
        let both = |weights: &[f64]| {
            let pair = (below.percentile(weights, share)?, above.percentile(weights, share)?);
            (pair.0 > 0.0 && pair.1 > 0.0).then_some(pair)
        };
        let (own_below, own_above) = both(&weights)?;
        let value = own_above / own_below;
        let spreads: Vec<f64> =
            windows.iter().map(|own| (1.0 - covered * own.chance).max(0.0).sqrt()).collect();
        let is_whole = spreads.iter().all(|spread| *spread == 0.0);
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut resampled: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let again: Vec<f64> = weights
                    .iter()
                    .zip(&spreads)
                    .map(|(weight, spread)| {
                        let random: f64 = Exp1.sample(&mut rng);
                        weight * (1.0 + spread * (random - 1.0))
                    })
                    .collect();
                both(&again).map(|(below, above)| (above / below / value).ln())
            })
            .collect();
        resampled.sort_by(f64::total_cmp);
        let end = |share: f64| {
            let at = (share * resampled.len() as f64) as usize;
            resampled.get(at.min(resampled.len().saturating_sub(1))).copied().unwrap_or(0.0)
        };
        let interval = (windows.len() >= WINDOWS_MIN || is_whole).then(|| Interval {
            low: value * (WIDENED * end(ENDS.0)).min(0.0).exp(),
            high: value * (WIDENED * end(ENDS.1)).max(0.0).exp(),
        });
        Some(Self { value, below: own_below, above: own_above, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Population;
    use rand::RngExt;
    use rand_distr::LogNormal;

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
        let same = Tail::of(&[window(0.1, &own); 50], 0.99, 1.0, 1).unwrap();
        assert_eq!((same.value, same.interval), (1.0, Some(Interval { low: 1.0, high: 1.0 })));
        let whole = Tail::of(&[window(1.0, &slow); 3], 0.99, 1.0, 1).unwrap();
        assert_eq!((whole.below, whole.value), (495.0, 3.0));
        assert_eq!(whole.interval, Some(Interval { low: 3.0, high: 3.0 }));
        assert_eq!(Tail::of(&[window(0.5, &slow); 3], 0.99, 1.0, 1).unwrap().interval, None);
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
            Tail::of(&drawn.collect::<Vec<_>>(), 0.99, sample.reach.covered, seed).unwrap()
        };
        let all = |seed| Population::new(&sizes, 1.0, seed).unwrap();
        let truth = measured(&all(0).sample(400), 0);
        assert!((1.3..1.5).contains(&truth.value));
        let (trials, mut held) = (300, 0);
        for seed in 0..trials {
            let own = measured(&all(seed).sample(60), seed);
            held += u32::from(own.interval.unwrap().holds(truth.value));
        }
        assert!(held >= 276, "{held} of {trials}");
    }
}
