//! Changes of time: scaling, silences cut short.

use super::Transform;
use crate::error::TraceError;
use crate::request::Request;
use ssdtune_model::Nanos;

/// Multiplies all times by a factor: below 1 makes a trace denser.
#[derive(Clone, Copy, Debug)]
pub struct ScaleTime {
    /// The factor times 2^32: integers round the same way everywhere.
    factor_q32: u128,
}

impl ScaleTime {
    /// Scales by `factor`, above 0 and at most one million.
    pub fn new(factor: f64) -> Result<Self, TraceError> {
        if factor.is_finite() && (1e-6..=1e6).contains(&factor) {
            return Ok(Self { factor_q32: (factor * (1u64 << 32) as f64).round() as u128 });
        }
        Err(TraceError::Option {
            option: "--scale-time",
            value: factor.to_string(),
            problem: "not a factor of time".into(),
            legal: "0.000001 to 1000000".into(),
        })
    }
}

impl Transform for ScaleTime {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        for request in batch {
            let scaled = (u128::from(request.at.0) * self.factor_q32) >> 32;
            request.at = Nanos(u64::try_from(scaled).unwrap_or(u64::MAX));
        }
        Ok(())
    }
}

/// Shortens every silence that is longer than a limit to that limit.
#[derive(Clone, Copy, Debug)]
pub struct ClipGaps {
    limit: Nanos,
    last: Nanos,
    cut: Nanos,
}

impl ClipGaps {
    /// Keeps at most `limit` between two requests.
    pub fn new(limit: Nanos) -> Self {
        Self { limit, last: Nanos::ZERO, cut: Nanos::ZERO }
    }
}

impl Transform for ClipGaps {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        for request in batch {
            let gap = request.at.saturating_sub(self.last);
            self.last = request.at;
            self.cut += gap.saturating_sub(self.limit);
            request.at = request.at.saturating_sub(self.cut);
        }
        Ok(())
    }
}
