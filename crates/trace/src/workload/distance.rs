//! How much two streams of requests differ, aspect by aspect.
//!
//! - Sizes and gaps: the Kolmogorov-Smirnov distance, which is the largest difference of the two
//!   distribution functions (0 for equal, 1 for disjoint distributions).
//! - Gaps also: the Wasserstein distance in octaves (1 if one stream has gaps twice as long).
//! - Reuse: the Kolmogorov-Smirnov distance over log-spaced distances. First references count as
//!   infinitely far.
//! - Skew: the largest difference in the shares of the hottest 1, 10 and 20 % of the pages.
//! - Footprint, overwrite factor and burstiness: octaves, which is |log2 of the ratio|.

use crate::describe::{Description, describe};
use crate::{Op, Request};
use serde::Serialize;
use std::fmt;

/// How much two streams differ. 0 everywhere means that no difference was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distance {
    /// The difference of the shares of reads.
    pub read_share: f64,
    /// The Kolmogorov-Smirnov distance of the sizes of reads.
    pub read_size_ks: f64,
    /// The Kolmogorov-Smirnov distance of the sizes of writes.
    pub write_size_ks: f64,
    /// The Kolmogorov-Smirnov distance of the gaps between requests.
    pub gap_ks: f64,
    /// The Wasserstein distance of the gaps between requests, in octaves.
    pub gap_octaves: f64,
    /// The difference of the index of dispersion in octaves, as a mean over the window lengths that
    /// both streams have.
    pub burstiness_octaves: f64,
    /// The Kolmogorov-Smirnov distance of the reuse distances.
    pub reuse_ks: f64,
    /// The largest difference in the shares of the hottest 1, 10 and 20 % of the pages.
    pub skew: f64,
    /// The difference of the near-sequential shares, each a mean over reads and writes.
    pub sequential: f64,
    /// The difference of the overwrite factors, in octaves.
    pub overwrite_octaves: f64,
    /// The difference of the numbers of pages touched, in octaves.
    pub footprint_octaves: f64,
}

impl Distance {
    /// The sum of all distances but `gap_octaves`, for choosing between fits. Octaves count at most
    /// 1 each.
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

/// The distance between two streams in order of time.
pub fn distance(one: &[Request], other: &[Request]) -> Distance {
    Profile::of(one).distance(&Profile::of(other))
}

/// What is needed to compare a stream with others, computed once.
#[derive(Clone, Debug)]
pub struct Profile {
    description: Description,
    /// The sizes of reads and of writes in sectors, each list sorted.
    sizes: [Vec<u64>; 2],
    /// The gaps between requests in nanoseconds, sorted.
    gaps: Vec<u64>,
}

impl Profile {
    /// The profile of a stream, whose requests must be in order of time.
    pub fn of(requests: &[Request]) -> Self {
        let sizes = [Op::Read, Op::Write]
            .map(|op| sorted(requests.iter().filter(|r| r.op == op).map(|r| u64::from(r.sectors))));
        let gaps = sorted(requests.windows(2).map(|w| w[1].at.saturating_sub(w[0].at).0));
        Self { description: describe(requests), sizes, gaps }
    }

    /// The distance to another stream.
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

/// The ratio of two positive numbers as |log2|; 0 if one of them is not positive.
fn octaves(a: f64, b: f64) -> f64 {
    if a > 0.0 && b > 0.0 { (a / b).log2().abs() } else { 0.0 }
}

/// The Kolmogorov-Smirnov distance of two sorted samples; 0 if either is empty, because the share
/// of the operation already shows that.
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

/// The mean difference between equal quantiles of log2(1 + gap), over 1,000 quantiles.
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
