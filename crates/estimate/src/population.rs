//! The windows that could be measured, and which of them are.
//!
//! Each window has a size, what a drive that was measured on all of them took there. It is drawn
//! with a chance that is half proportional to its size and half the same for all, so that windows
//! that decide the sum are seldom missed, and one whose size says too little is still met.
//!
//! Drawing is Poisson sampling with permanent random numbers (Ohlsson), collocated (Brewer): a
//! window has one number from 0 to 1 for good, and is in the sample while that is below its chance.
//! The chances of a larger sample are larger, so samples are nested: a drive that is measured on
//! more windows keeps what it has, and all drives are compared on the same windows. A sample of all
//! windows is no sample any more, and its intervals have no width.
//!
//! Cost: a sample takes one pass over the windows.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The share of a window's chance that does not depend on its size.
const UNIFORM: f64 = 0.5;

/// The windows of a trace.
#[derive(Clone, Debug)]
pub struct Population {
    /// What each window's chance is proportional to; in all 1.
    weights: Vec<f64>,
    /// Their permanent random numbers.
    numbers: Vec<f64>,
    /// The weights, the largest first.
    sorted: Vec<f64>,
    /// The sizes, as shares of those of the whole trace.
    shares: Vec<f64>,
    covered: f64,
}

/// Sizes that are no population.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PopulationError {
    /// No windows.
    #[error("there are no windows to draw from")]
    Empty,
    /// A size that is negative or no number.
    #[error("window {window} has the size {size}; a size is 0 or more")]
    Size {
        /// The window.
        window: usize,
        /// Its size.
        size: f64,
    },
    /// A share that is none.
    #[error("the windows cover {0} of the trace; write a share above 0, and 1 at most")]
    Covered(f64),
}

/// A window of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Its place in the population.
    pub window: usize,
    /// With what chance it is in a sample of this size.
    pub chance: f64,
}

/// Windows that were drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The windows, in the order of the trace.
    pub drawn: Vec<Drawn>,
    /// What they leave out.
    pub reach: Reach,
}

/// How much of a trace a sample reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The share of the trace that the windows to draw from cover: 1 if they are the whole trace.
    pub covered: f64,
    /// The size of the largest window that was not drawn, as a share of all sizes.
    pub unseen: f64,
    /// The share of the trace that one window is.
    pub window: f64,
}

impl Reach {
    /// All windows of the whole trace were measured.
    pub const WHOLE: Self = Self { covered: 1.0, unseen: 0.0, window: 0.0 };
}

impl Population {
    /// Windows of these sizes. `covered` is the share of the trace that they are: what lies between
    /// them was not looked at, and adds to each interval.
    ///
    /// # Errors
    /// There is none, or a size or the share is wrong.
    pub fn new(sizes: &[f64], covered: f64, seed: u64) -> Result<Self, PopulationError> {
        if sizes.is_empty() {
            return Err(PopulationError::Empty);
        }
        if let Some(window) = sizes.iter().position(|size| !(0.0..f64::INFINITY).contains(size)) {
            return Err(PopulationError::Size { window, size: sizes[window] });
        }
        if !(covered > 0.0 && covered <= 1.0) {
            return Err(PopulationError::Covered(covered));
        }
        let (count, total) = (sizes.len() as f64, sizes.iter().sum::<f64>());
        let weights: Vec<f64> = match total > 0.0 && total.is_finite() {
            true => {
                sizes.iter().map(|size| (1.0 - UNIFORM) * size / total + UNIFORM / count).collect()
            }
            false => vec![1.0 / count; sizes.len()],
        };
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut ranks: Vec<usize> = (0..sizes.len()).collect();
        ranks.shuffle(&mut rng);
        let offset: f64 = rng.random();
        let numbers = ranks.iter().map(|rank| (*rank as f64 + offset) / count).collect();
        let mut sorted = weights.clone();
        sorted.sort_by(|one, other| other.total_cmp(one));
        let whole = total.max(f64::MIN_POSITIVE) / covered;
        let shares = sizes.iter().map(|size| size / whole).collect();
        Ok(Self { weights, numbers, sorted, shares, covered })
    }

    /// How many windows there are.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is none, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// A sample of `count` windows in the mean; all of them if there are not more.
    pub fn sample(&self, count: usize) -> Sample {
        let factor = self.factor(count);
        // Between the windows there may be more like the largest one.
        let is_whole = self.covered >= 1.0;
        let mut unseen =
            if is_whole { 0.0 } else { self.shares.iter().copied().fold(0.0, f64::max) };
        let mut drawn = Vec::new();
        for (window, (weight, number)) in self.weights.iter().zip(&self.numbers).enumerate() {
            let chance = (factor * weight).min(1.0);
            if *number < chance {
                drawn.push(Drawn { window, chance });
            } else {
                unseen = unseen.max(self.shares[window]);
            }
        }
        let window = self.covered / self.len() as f64;
        Sample { drawn, reach: Reach { covered: self.covered, unseen, window } }
    }

    /// What weights are multiplied by so that the chances, 1 at most, sum to `count`.
    fn factor(&self, count: usize) -> f64 {
        if count >= self.len() {
            return f64::INFINITY;
        }
        let (mut certain, mut rest) = (0, 1.0);
        for weight in &self.sorted {
            let factor = (count - certain) as f64 / rest;
            if certain == count || factor * weight < 1.0 {
                return factor;
            }
            certain += 1;
            rest -= weight;
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chances_add_up_and_large_windows_are_certain() {
        // Weights: half of 1, 1, 2, 96 out of 100 and half of a quarter.
        let all = Population::new(&[1.0, 1.0, 2.0, 96.0], 1.0, 3).unwrap();
        let factor = all.factor(2);
        let chances: Vec<f64> = all.weights.iter().map(|own| (factor * own).min(1.0)).collect();
        assert!((chances.iter().sum::<f64>() - 2.0).abs() < 1e-12);
        assert_eq!(chances[3], 1.0);
        assert!((chances[0] - 0.13 / 0.395).abs() < 1e-12, "{chances:?}");
    }

    #[test]
    fn windows_without_sizes_are_drawn_alike() {
        let all = Population::new(&[0.0; 10], 1.0, 1).unwrap();
        for count in 1..=10 {
            let sample = all.sample(count);
            assert_eq!(sample.drawn.len(), count, "collocated numbers are drawn by their ranks");
            let chance = count as f64 / 10.0;
            assert!(sample.drawn.iter().all(|drawn| (drawn.chance - chance).abs() < 1e-12));
        }
    }

    #[test]
    fn what_is_no_population_is_said() {
        assert_eq!(Population::new(&[], 1.0, 1).unwrap_err(), PopulationError::Empty);
        let size = Population::new(&[1.0, f64::NAN], 1.0, 1).unwrap_err().to_string();
        assert!(size.contains("window 1 has the size NaN"), "{size}");
        for covered in [0.0, 1.5, f64::NAN] {
            assert!(Population::new(&[1.0], covered, 1).is_err());
        }
    }

    /// Over many seeds each window is drawn as often as its chance says.
    #[test]
    fn windows_come_as_often_as_their_chances_say() {
        let sizes: Vec<f64> = (0..50).map(|at| f64::from(at * at)).collect();
        let (mut seen, trials) = (vec![0.0; 50], 4_000);
        let mut chances = vec![0.0; 50];
        for seed in 0..trials {
            let all = Population::new(&sizes, 1.0, seed).unwrap();
            let factor = all.factor(12);
            chances = all.weights.iter().map(|own| (factor * own).min(1.0)).collect();
            all.sample(12).drawn.iter().for_each(|drawn| seen[drawn.window] += 1.0);
        }
        for (window, (seen, chance)) in seen.iter().zip(&chances).enumerate() {
            let count = trials as f64;
            let spread = (count * chance * (1.0 - chance)).sqrt().max(1.0);
            assert!((seen - count * chance).abs() < 4.5 * spread, "window {window}: {seen}");
        }
    }

    proptest! {
        #[test]
        fn larger_samples_hold_smaller_ones(
            sizes in prop::collection::vec(0.0..1e6_f64, 1..80),
            seed: u64,
        ) {
            let all = Population::new(&sizes, 1.0, seed).unwrap();
            let mut before: Vec<usize> = Vec::new();
            for count in 0..=sizes.len() {
                let sample = all.sample(count);
                let own: Vec<usize> = sample.drawn.iter().map(|drawn| drawn.window).collect();
                prop_assert!(before.iter().all(|window| own.contains(window)));
                prop_assert!(sample.drawn.iter().all(|drawn| drawn.chance <= 1.0));
                before = own;
            }
            prop_assert_eq!(before.len(), sizes.len());
        }
    }
}
