//! Discrete distributions that draw in constant time: alias tables, Zipf ranks in buckets, and a
//! keyed permutation.
//!
//! A draw costs one random number of 64 bits, one look-up in a table and no division.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// Converts a probability to a threshold: a uniform number of 64 bits is below it with this
/// probability.
pub(crate) fn threshold(probability: f64) -> u64 {
    // 2^64 saturates, so a probability of 1 fails once in 2^64 draws.
    (probability * 18_446_744_073_709_551_616.0) as u64
}

/// Converts a probability to a threshold for uniform numbers of 32 bits. A probability of 1 never
/// fails.
pub(crate) fn half_threshold(probability: f64) -> u64 {
    (probability * 4_294_967_296.0) as u64
}

/// A uniform number below `n` from one draw of 64 bits. The bias is below n / 2^64.
#[inline]
pub(crate) fn below(rng: &mut Pcg64, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A distribution over indices by weights, drawn with Vose's alias method.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    slots: Vec<Slot>,
}

/// A slot takes eight bytes, so that the table of a Zipf skew fits into the first-level cache.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Numbers below this choose the index of the slot itself, the others its alias.
    cut: u32,
    alias: u32,
}

impl Alias {
    /// A distribution by `weights`. They need not sum to one; at least one must be positive.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0 && weights.len() < u32::MAX as usize, "no positive weight");
        let scale = weights.len() as f64 / total;
        let mut scaled: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let mut slots: Vec<Slot> =
            (0..weights.len() as u32).map(|alias| Slot { cut: u32::MAX, alias }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..scaled.len()).partition(|&i| scaled[i] < 1.0);
        while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
            slots[poor] =
                Slot { cut: half_threshold(scaled[poor].max(0.0)) as u32, alias: rich as u32 };
            scaled[rich] -= 1.0 - scaled[poor];
            if scaled[rich] < 1.0 { small.push(rich) } else { large.push(rich) }
        }
        Self { slots }
    }

    /// Draws an index.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Pcg64) -> usize {
        self.draw_with_rest(rng).0
    }

    /// Draws an index, together with 32 random bits that are independent of it.
    ///
    /// The draw multiplies a random number by the length of the table. The high half of the product
    /// is the slot, the next 32 bits choose between the slot and its alias, and the last 32 bits
    /// are free.
    #[inline]
    pub(crate) fn draw_with_rest(&self, rng: &mut Pcg64) -> (usize, u64) {
        let product = u128::from(rng.next_u64()) * self.slots.len() as u128;
        let (index, rest) = ((product >> 64) as usize, product as u64);
        let slot = self.slots[index];
        let keep = (rest >> 32) < u64::from(slot.cut);
        (std::hint::select_unpredictable(keep, index, slot.alias as usize), rest & 0xffff_ffff)
    }
}

/// The number of ranks that have a bucket of their own.
const EXACT_RANKS: u64 = 256;
/// A later bucket spans 1 % of its rank, so that the weight inside it varies by 1 % x theta.
const BUCKET_SPAN: f64 = 0.01;

/// A distribution over the ranks 0..n, with probabilities proportional to (rank + 1)^-theta: an
/// alias table over buckets of ranks.
///
/// The first 256 ranks are exact. Later ranks share a bucket with neighbours whose weight differs
/// by at most 1 % x theta. The weight of a bucket is exact. 2^31 ranks take about 2,000 buckets of
/// 20 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    buckets: Vec<Bucket>,
}

/// The first rank of a bucket, and the number of its ranks. Ranks are below 2^31.
type Span = (u32, u32);

/// A slot of the alias table with the spans of both its choices, so that a draw needs one look-up.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    cut: u32,
    span: Span,
    alias: Span,
}

impl Zipf {
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        let spans = spans(n);
        let weights: Vec<f64> = spans.iter().map(|&span| weight(span, theta)).collect();
        let spans: Vec<Span> =
            spans.into_iter().map(|(start, len)| (start as u32, len as u32)).collect();
        let slots = Alias::new(&weights).slots.into_iter().zip(&spans);
        let buckets = slots
            .map(|(Slot { cut, alias }, &span)| Bucket { cut, span, alias: spans[alias as usize] })
            .collect();
        Self { buckets }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Pcg64) -> u64 {
        // Works like `Alias::draw_with_rest`. The free bits choose a rank inside the span.
        let product = u128::from(rng.next_u64()) * self.buckets.len() as u128;
        let (bucket, rest) = (self.buckets[(product >> 64) as usize], product as u64);
        let keep = (rest >> 32) < u64::from(bucket.cut);
        let (start, len) = std::hint::select_unpredictable(keep, bucket.span, bucket.alias);
        u64::from(start) + (((rest & 0xffff_ffff) * u64::from(len)) >> 32)
    }
}

/// Buckets of ranks, each as its first rank and its number of ranks.
fn spans(n: u64) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = (0..n.min(EXACT_RANKS)).map(|rank| (rank, 1)).collect();
    let mut start = EXACT_RANKS;
    while start < n {
        let width = ((start as f64 * BUCKET_SPAN) as u64).max(1).min(n - start);
        spans.push((start, width));
        start += width;
    }
    spans
}

/// The weight of a bucket: the integral of x^-theta from half a rank before it to half a rank
/// before its end, exact to O(1/rank^2).
fn weight((start, len): (u64, u64), theta: f64) -> f64 {
    if len == 1 {
        return (start as f64 + 1.0).powf(-theta);
    }
    let (low, high) = (start as f64 + 0.5, (start + len) as f64 + 0.5);
    if (theta - 1.0).abs() < 1e-9 {
        (high / low).ln()
    } else {
        (high.powf(1.0 - theta) - low.powf(1.0 - theta)) / (1.0 - theta)
    }
}

/// A keyed permutation of 0..n: a Feistel network of three rounds on a grid whose rows have a power
/// of two of columns. A result outside 0..n is permuted again.
///
/// Three rounds are enough if the round function is good (Luby and Rackoff, SIAM J. Comput. 17,
/// 1988). A single multiplication is not: neighbours in rank then stay neighbours in place several
/// times too often. The grid exceeds n by less than one row (about the root of n), so that a result
/// outside 0..n is rare and the branch is predictable. On the next power of two it would be taken
/// up to every second time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scramble {
    n: u64,
    rows: u64,
    column_bits: u32,
    column_mask: u64,
    keys: [u64; 3],
}

impl Scramble {
    /// A permutation of 0..n, for 0 < n <= 2^48: a row and a hash of 32 bits must fit into 64 bits.
    pub(crate) fn new(n: u64, rng: &mut Pcg64) -> Self {
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2);
        let column_bits = bits / 2;
        Self {
            n,
            rows: n.div_ceil(1 << column_bits),
            column_bits,
            column_mask: (1 << column_bits) - 1,
            keys: std::array::from_fn(|_| rng.next_u64()),
        }
    }

    /// The image of `x`, which must be below n.
    #[inline]
    pub(crate) fn permute(&self, mut x: u64) -> u64 {
        debug_assert!(x < self.n);
        loop {
            x = self.rounds(x);
            if x < self.n {
                return x;
            }
        }
    }

    /// Changes the row by the column, the column by the row, and the row again. Rows change by a
    /// sum modulo the number of rows, columns by xor.
    #[inline]
    fn rounds(&self, x: u64) -> u64 {
        let moved = |row: u64, column: u64, key: u64| {
            let sum = row + ((hash(column ^ key) * self.rows) >> 32);
            std::hint::select_unpredictable(sum < self.rows, sum, sum.wrapping_sub(self.rows))
        };
        let (mut row, mut column) = (x >> self.column_bits, x & self.column_mask);
        row = moved(row, column, self.keys[0]);
        column ^= hash(row ^ self.keys[1]) & self.column_mask;
        row = moved(row, column, self.keys[2]);
        (row << self.column_bits) | column
    }
}

/// A hash of 32 bits that depends on all bits of `x`.
#[inline]
fn hash(x: u64) -> u64 {
    let mixed = x.wrapping_mul(ssdtune_model::GOLDEN_STEP);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Seed;
    use proptest::prelude::*;

    fn rng(purpose: &str) -> Pcg64 {
        Seed::default().stream("dist", 0, purpose)
    }

    /// Pearson's statistic against expected counts: how many of its standard deviations it lies
    /// above its mean.
    fn chi_square_sigmas(seen: &[u64], shares: &[f64]) -> f64 {
        let total: u64 = seen.iter().sum();
        let statistic: f64 = seen
            .iter()
            .zip(shares)
            .map(|(&s, &p)| {
                let expected = p * total as f64;
                (s as f64 - expected).powi(2) / expected
            })
            .sum();
        let freedom = (seen.len() - 1) as f64;
        (statistic - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn alias_draws_follow_the_weights() {
        let weights = [1.0, 0.0, 5.0, 2.5, 0.5, 11.0];
        let alias = Alias::new(&weights);
        let mut seen = [0u64; 6];
        let mut rng = rng("alias");
        for _ in 0..200_000 {
            seen[alias.draw(&mut rng)] += 1;
        }
        assert_eq!(seen[1], 0);
        let kept: Vec<usize> = vec![0, 2, 3, 4, 5];
        let counts: Vec<u64> = kept.iter().map(|&i| seen[i]).collect();
        let shares: Vec<f64> = kept.iter().map(|&i| weights[i] / 20.0).collect();
        assert!(chi_square_sigmas(&counts, &shares).abs() < 5.0, "{seen:?}");
    }

    #[test]
    fn bucketed_zipf_is_the_exact_one() {
        for theta in [0.0, 0.6, 1.0, 1.3] {
            let n = 20_000u64;
            let exact: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-theta)).collect();
            let total: f64 = exact.iter().sum();
            let zipf = Zipf::new(n, theta);
            // The bins are the deciles of the exact distribution.
            let mut bins = vec![0usize; n as usize];
            let mut mass = 0.0;
            for (rank, w) in exact.iter().enumerate() {
                bins[rank] = ((mass / total) * 10.0).min(9.0) as usize;
                mass += w;
            }
            let mut shares = [0.0; 10];
            for (rank, w) in exact.iter().enumerate() {
                shares[bins[rank]] += w / total;
            }
            let used: Vec<usize> = (0..10).filter(|&bin| shares[bin] > 0.0).collect();
            let mut seen = [0u64; 10];
            let mut rng = rng("zipf");
            for _ in 0..200_000 {
                seen[bins[zipf.draw(&mut rng) as usize]] += 1;
            }
            let counts: Vec<u64> = used.iter().map(|&bin| seen[bin]).collect();
            let shares: Vec<f64> = used.iter().map(|&bin| shares[bin]).collect();
            assert!(chi_square_sigmas(&counts, &shares).abs() < 5.0, "theta {theta}: {counts:?}");
        }
    }

    /// Tries twenty keys, and sizes next to and between powers of two. The hottest ranks must fall
    /// on all parts of the space equally, and neighbours in rank must be neighbours in place no
    /// more often than by chance.
    #[test]
    fn scrambling_is_fair_to_every_part_of_the_space() {
        const PARTS: u64 = 64;
        for n in [4096, 5000, 65_537, 1 << 20, 3_000_017] {
            let (mut seen, mut neighbours) = ([0u64; PARTS as usize], 0);
            let hottest = 1000;
            for index in 0..20 {
                let mut key = Seed { index, ..Seed::default() }.stream("fair", 0, "scramble");
                let scramble = Scramble::new(n, &mut key);
                let places: Vec<u64> = (0..hottest).map(|rank| scramble.permute(rank)).collect();
                places.iter().for_each(|place| seen[(place * PARTS / n) as usize] += 1);
                neighbours += places.windows(2).filter(|w| w[0].abs_diff(w[1]) <= n / 1000).count();
            }
            let shares: Vec<f64> = (0..PARTS)
                .map(|part| ((part + 1) * n).div_ceil(PARTS) - (part * n).div_ceil(PARTS))
                .map(|cells| cells as f64 / n as f64)
                .collect();
            let sigmas = chi_square_sigmas(&seen, &shares);
            assert!(sigmas < 5.0, "{n} cells: {sigmas} sigmas, {seen:?}");
            let chance = 20.0 * 999.0 * (2 * (n / 1000)) as f64 / n as f64;
            let excess = (neighbours as f64 - chance) / chance.sqrt();
            assert!(excess.abs() < 5.0, "{n} cells: {neighbours} neighbours, {chance} by chance");
        }
    }

    proptest! {
        #[test]
        fn scrambling_is_a_permutation(n in 1u64..3000, key in any::<u64>()) {
            let seed = Seed { index: key, ..Seed::default() };
            let scramble = Scramble::new(n, &mut seed.stream("f", 0, "k"));
            let mut seen = vec![false; n as usize];
            for x in 0..n {
                let y = scramble.permute(x) as usize;
                prop_assert!(!seen[y]);
                seen[y] = true;
            }
        }
    }
}
