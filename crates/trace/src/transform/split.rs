//! Splits a trace by time, for example into training, validation and test. Takes two passes: the
//! first finds the duration.

use crate::error::TraceError;
use crate::request::Request;
use crate::source::Source;
use ssdtune_model::Nanos;

/// The times at which the parts of a trace begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPlan {
    /// The start of each part but the first.
    bounds: Vec<Nanos>,
}

impl SplitPlan {
    /// Divides a trace whose last request is at `duration` into parts in proportion to `shares`,
    /// such as 70, 20 and 10.
    ///
    /// # Errors
    /// There are fewer than two shares, or a share is 0.
    pub fn new(duration: Nanos, shares: &[u32]) -> Result<Self, TraceError> {
        let total: u64 = shares.iter().map(|&s| u64::from(s)).sum();
        if shares.len() < 2 || shares.contains(&0) {
            return Err(TraceError::Option {
                option: "--split",
                value: shares.iter().map(u32::to_string).collect::<Vec<_>>().join("/"),
                problem: "not a list of shares".into(),
                legal: "two or more whole numbers above 0, such as 70/20/10".into(),
            });
        }
        // The last request belongs to the last part, so the span is one nanosecond longer than the
        // duration.
        let span = u128::from(duration.0) + 1;
        let mut sum = 0;
        let bounds = shares[..shares.len() - 1]
            .iter()
            .map(|&share| {
                sum += u64::from(share);
                Nanos((span * u128::from(sum) / u128::from(total)) as u64)
            })
            .collect();
        Ok(Self { bounds })
    }

    /// Reads `source` to its end to find its duration, and divides it in proportion to `shares`.
    ///
    /// # Errors
    /// `source` cannot be read, there are fewer than two shares, or a share is 0.
    pub fn of(source: &mut dyn Source, shares: &[u32]) -> Result<Self, TraceError> {
        let (mut batch, mut last) = (Vec::new(), Nanos::ZERO);
        while source.fill(&mut batch)? > 0 {
            last = batch.last().map_or(last, |r: &Request| r.at);
            batch.clear();
        }
        Self::new(last, shares)
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.bounds.len() + 1
    }

    /// Divides `batch`, which must be in order of time, into its parts. Calls `part` with the index
    /// of each and its requests, whose times count from the start of the part.
    pub fn cut(&self, batch: &[Request], mut part: impl FnMut(usize, Vec<Request>)) {
        let mut rest = batch;
        for index in 0..self.parts() {
            let end = self.bounds.get(index).copied().unwrap_or(Nanos::MAX);
            let taken = match index + 1 == self.parts() {
                true => rest.len(),
                false => rest.partition_point(|r| r.at < end),
            };
            let (this, after) = rest.split_at(taken);
            let start = if index == 0 { Nanos::ZERO } else { self.bounds[index - 1] };
            if !this.is_empty() {
                part(index, this.iter().map(|r| Request { at: r.at - start, ..*r }).collect());
            }
            rest = after;
        }
    }
}
