//! Shares of windows with intervals.

use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::fmt;

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_964;
/// The number of draws of the bootstrap.
const DRAWS: usize = 10_000;

/// Hits among windows, trace by trace.
#[derive(Clone, Debug, Default)]
pub struct Share {
    counts: Vec<(usize, usize)>,
}

impl Share {
    /// Counts a trace.
    pub fn add(&mut self, hits: usize, windows: usize) {
        self.counts.push((hits, windows));
    }

    /// All hits and all windows.
    pub fn total(&self) -> (usize, usize) {
        sum(self.counts.iter().copied())
    }

    /// The mean of the shares of traces.
    pub fn mean(&self) -> f64 {
        self.counts.iter().map(|count| ratio(*count)).sum::<f64>() / self.counts.len() as f64
    }

    /// Counts in place of a share, with the interval over what is counted.
    pub fn counted(&self) -> String {
        let (hits, all) = self.total();
        let (low, high) = self.wilson();
        let (low, high) = (100.0 * low, 100.0 * high);
        format!("{hits} of {all} ({low:.0} to {high:.0} %)")
    }

    /// Wilson's interval, as if windows were independent of each other.
    fn wilson(&self) -> (f64, f64) {
        let (hits, windows) = self.total();
        let (n, p) = (windows as f64, ratio((hits, windows)));
        let middle = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
    }

    /// The middle 95 % of shares of traces that are drawn with replacement.
    fn bootstrap(&self) -> (f64, f64) {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut draw = || {
            let traces = (0..self.counts.len()).map(|_| rng.random_range(0..self.counts.len()));
            ratio(sum(traces.map(|trace| self.counts[trace])))
        };
        let mut shares: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
        shares.sort_by(f64::total_cmp);
        (shares[DRAWS / 40], shares[DRAWS - 1 - DRAWS / 40])
    }
}

impl fmt::Display for Share {
    /// The share, with intervals over windows and over traces.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hits, windows) = self.total();
        if windows == 0 {
            return write!(out, "-");
        }
        let percent =
            |(low, high): (f64, f64)| format!("{:.1} to {:.1}", 100.0 * low, 100.0 * high);
        let share = 100.0 * ratio((hits, windows));
        write!(out, "**{share:.1} %** ({}", percent(self.wilson()))?;
        if self.counts.len() > 1 {
            write!(out, "; {}", percent(self.bootstrap()))?;
        }
        write!(out, ")")
    }
}

fn sum(counts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

fn ratio((hits, windows): (usize, usize)) -> f64 {
    hits as f64 / windows as f64
}
