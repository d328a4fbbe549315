//! Values and how they are distributed.

use hdrhistogram::Histogram;
use serde::Serialize;

/// A distribution by its quantiles. Count, mean, least and greatest value are exact; quantiles are
/// the low ends of buckets of three significant digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The number of values.
    pub count: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The smallest value.
    pub min: u64,
    /// The value that 5 % do not exceed.
    pub p05: u64,
    /// The value that 25 % do not exceed.
    pub p25: u64,
    /// The value that 50 % do not exceed.
    pub p50: u64,
    /// The value that 75 % do not exceed.
    pub p75: u64,
    /// The value that 95 % do not exceed.
    pub p95: u64,
    /// The value that 99 % do not exceed.
    pub p99: u64,
    /// The value that 99.9 % do not exceed.
    pub p999: u64,
    /// The largest value.
    pub max: u64,
    /// The number of values in each power of two, without empty buckets.
    pub histogram: Vec<Bucket>,
}

/// The number of values in `from..=to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The smallest value of the bucket.
    pub from: u64,
    /// The largest value of the bucket.
    pub to: u64,
    /// The number of values in the bucket.
    pub count: u64,
}

/// Values seen so far.
#[derive(Debug)]
pub(super) struct Values {
    /// Over the whole range of u64 with three significant digits. It takes about 450 KB.
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Values {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, u64::MAX >> 1, 3);
        let histogram = histogram.expect("constant bounds are legal");
        Self { histogram, sum: 0, min: u64::MAX, max: 0 }
    }

    pub(super) fn record(&mut self, value: u64) {
        self.histogram.saturating_record(value);
        self.sum += u128::from(value);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    pub(super) fn quantiles(&self) -> Quantiles {
        let Self { histogram, sum, min, max } = self;
        if histogram.is_empty() {
            return Quantiles::default();
        }
        // The low end of the bucket, so that 8192 shows as 8192 and not as 8199.
        let at = |quantile| {
            let found = histogram.lowest_equivalent(histogram.value_at_quantile(quantile));
            found.clamp(*min, *max)
        };
        Quantiles {
            count: histogram.len(),
            mean: *sum as f64 / histogram.len() as f64,
            min: *min,
            p05: at(0.05),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: *max,
            histogram: by_power_of_two(histogram),
        }
    }
}

fn by_power_of_two(histogram: &Histogram<u64>) -> Vec<Bucket> {
    let mut counts = [0u64; 65];
    for value in histogram.iter_recorded() {
        let bits = 64 - value.value_iterated_to().leading_zeros();
        counts[bits as usize] += value.count_at_value();
    }
    let bucket = |(bits, &count): (usize, &u64)| Bucket {
        from: if bits == 0 { 0 } else { 1 << (bits - 1) },
        to: if bits == 0 { 0 } else { u64::MAX >> (64 - bits) },
        count,
    };
    counts.iter().enumerate().filter(|(_, count)| **count > 0).map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_mean_are_exact_and_quantiles_lie_between_them() {
        let mut values = Values::new();
        [15_000_000_001, 8_193, 8_193, 100].into_iter().for_each(|value| values.record(value));
        let found = values.quantiles();
        assert_eq!((found.min, found.max), (100, 15_000_000_001));
        assert_eq!(found.mean, (15_000_000_001.0 + 2.0 * 8_193.0 + 100.0) / 4.0);
        assert_eq!((found.p50, found.p05), (8_192, 100));
        assert!((14_990_000_000..=15_000_000_001).contains(&found.p999), "{}", found.p999);
        assert_eq!(Values::new().quantiles(), Quantiles::default());
    }
}
