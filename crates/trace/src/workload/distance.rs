//! How far two streams are apart, aspect by aspect.
//!
//! Sizes and gaps: Kolmogorov-Smirnov, the largest difference of the two distribution functions (0
//! equal, 1 disjoint), and for gaps also the Wasserstein distance in octaves (1: one stream's gaps
//! are twice the other's). Reuse: Kolmogorov-Smirnov over the log-spaced distances with first
//! references at infinity. Skew: the largest difference in the shares of the hottest 1, 10 and 20 %
//! of the pages. Footprint, overwrite factor and burstiness: octaves, |log2 of the ratio|.

use crate::describe::{Description, describe};
use crate::{Op, Request};
use serde::Serialize;
use std::fmt;

/// The distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distance {
    /// Difference of the read shares.
    pub read_share: f64,
    /// Sizes of reads.
    pub read_size_ks: f64,
    /// Sizes of writes.
    pub write_size_ks: f64,
    /// Gaps.
    pub gap_ks: f64,
    /// Gaps, in octaves.
    pub gap_octaves: f64,
    /// Index of dispersion, mean over the window lengths both have, in octaves.
    pub burstiness_octaves: f64,
    /// Reuse distances.
    pub reuse_ks: f64,
    /// Popularity.
    pub skew: f64,
    /// Near-sequential shares, the mean of reads and writes by their number.
    pub sequential: f64,
    /// Overwrite factors.
    pub overwrite_octaves: f64,
    /// Pages touched.
    pub footprint_octaves: f64,
}

impl Distance {
    /// One number for choosing between fits: the sum, with octaves capped at one each.
    pub fn score(&self) -> f64 {
        self.read_share
            + self.read_size_ks
            + self.write_size_ks
            + self.gap_ks
            + self.reuse_ks
            + self.skew
            + self.sequential
            + self.burstiness_octaves.min(1.0)
            + self.overwrite_octaves.min(1.0)
            + self.footprint_octaves.min(1.0)
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value, unit) in [
            ("read share", self.read_share, "difference"),
            ("read sizes", self.read_size_ks, "KS"),
            ("write sizes", self.write_size_ks, "KS"),
            ("gaps", self.gap_ks, "KS"),
            ("gaps", self.gap_octaves, "octaves"),
            ("burstiness", self.burstiness_octaves, "octaves"),
            ("reuse distance", self.reuse_ks, "KS"),
            ("skew", self.skew, "difference"),
            ("sequential share", self.sequential, "difference"),
            ("overwrite factor", self.overwrite_octaves, "octaves"),
            ("footprint", self.footprint_octaves, "octaves"),
        ] {
            writeln!(f, "{name:<18} {value:.3} {unit}")?;
        }
        Ok(())
    }
}

/// The distance between two streams.
pub fn distance(one: &[Request], other: &[Request]) -> Distance {
    Profile::of(one).distance(&Profile::of(other))
}

/// What a distance needs of a stream, worked out once.
#[derive(Clone, Debug)]
pub struct Profile {
    description: Description,
    /// Sorted.
    sizes: [Vec<u64>; 2],
    gaps: Vec<u64>,
}

impl Profile {
    /// The profile of a stream.
    pub fn of(requests: &[Request]) -> Self {
        let sizes = [Op::Read, Op::Write]
            .map(|op| sorted(requests.iter().filter(|r| r.op == op).map(|r| u64::from(r.sectors))));
        let gaps = sorted(requests.windows(2).map(|w| w[1].at.saturating_sub(w[0].at).0));
        Self { description: describe(requests), sizes, gaps }
    }

    /// The distance to another.
    pub fn distance(&self, other: &Self) -> Distance {
        let (a, b) = (&self.description, &other.description);
        let sequential = |d: &Description| {
            let (reads, writes) = (d.reads as f64, d.writes as f64);
            let runs = reads * d.read_sequence.near_sequential_share
                + writes * d.write_sequence.near_sequential_share;
            runs / (reads + writes).max(1.0)
        };
        let skew = [
            a.skew.top_1_share - b.skew.top_1_share,
            a.skew.top_10_share - b.skew.top_10_share,
            a.skew.top_20_share - b.skew.top_20_share,
        ];
        Distance {
            read_share: (a.read_share - b.read_share).abs(),
            read_size_ks: kolmogorov_smirnov(&self.sizes[0], &other.sizes[0]),
            write_size_ks: kolmogorov_smirnov(&self.sizes[1], &other.sizes[1]),
            gap_ks: kolmogorov_smirnov(&self.gaps, &other.gaps),
            gap_octaves: wasserstein_octaves(&self.gaps, &other.gaps),
            burstiness_octaves: burstiness(a, b),
            reuse_ks: reuse(a, b),
            skew: skew.into_iter().map(f64::abs).fold(0.0, f64::max),
            sequential: (sequential(a) - sequential(b)).abs(),
            overwrite_octaves: octaves(a.overwrite_factor, b.overwrite_factor),
            footprint_octaves: octaves(a.footprint.pages as f64, b.footprint.pages as f64),
        }
    }
}

fn sorted(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}

fn octaves(a: f64, b: f64) -> f64 {
    if a > 0.0 && b > 0.0 { (a / b).log2().abs() } else { 0.0 }
}

/// Over sorted samples; 0 where either is empty (the share of the operation says that).
fn kolmogorov_smirnov(one: &[u64], other: &[u64]) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let (mut i, mut j, mut most) = (0, 0, 0.0f64);
    while i < one.len() && j < other.len() {
        let value = one[i].min(other[j]);
        while one.get(i) == Some(&value) {
            i += 1;
        }
        while other.get(j) == Some(&value) {
            j += 1;
        }
        let difference = i as f64 / one.len() as f64 - j as f64 / other.len() as f64;
        most = most.max(difference.abs());
    }
    most
}

/// The mean distance of equal quantiles of log2(1 + gap), at 1,000 quantiles.
fn wasserstein_octaves(one: &[u64], other: &[u64]) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let at =
        |values: &[u64], k: usize| (values[(2 * k + 1) * values.len() / 2000] as f64 + 1.0).log2();
    (0..1000).map(|k| (at(one, k) - at(other, k)).abs()).sum::<f64>() / 1000.0
}

fn burstiness(a: &Description, b: &Description) -> f64 {
    let pairs: Vec<f64> = a
        .arrivals
        .dispersion
        .iter()
        .filter_map(|one| {
            let other = b.arrivals.dispersion.iter().find(|o| o.window_ns == one.window_ns)?;
            Some(octaves(one.index, other.index))
        })
        .collect();
    if pairs.is_empty() { 0.0 } else { pairs.iter().sum::<f64>() / pairs.len() as f64 }
}

fn reuse(a: &Description, b: &Description) -> f64 {
    let within = |d: &Description, pages: u64| -> f64 {
        d.reuse.histogram.iter().filter(|bucket| bucket.to_pages <= pages).map(|b| b.share).sum()
    };
    let limits = (0..64).map(|bits| (1u64 << bits) - 1);
    limits.map(|pages| (within(a, pages) - within(b, pages)).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kolmogorov_smirnov_by_hand() {
        assert_eq!(kolmogorov_smirnov(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
        assert_eq!(kolmogorov_smirnov(&[1, 2], &[3, 4]), 1.0);
        assert_eq!(kolmogorov_smirnov(&[1, 1, 1, 5], &[1, 5, 5, 5]), 0.5);
        assert_eq!(kolmogorov_smirnov(&[], &[1]), 0.0);
    }

    #[test]
    fn wasserstein_counts_octaves() {
        let gaps: Vec<u64> = (1..5000u64).map(|i| i * 1000).collect();
        let twice: Vec<u64> = gaps.iter().map(|gap| gap * 2).collect();
        assert!((wasserstein_octaves(&gaps, &twice) - 1.0).abs() < 0.01);
        assert_eq!(wasserstein_octaves(&gaps, &gaps), 0.0);
    }
}
