//! Changes the times of a trace: scales them, and shortens long gaps.

use super::Transform;
use crate::error::TraceError;
use crate::request::Request;
use ssdtune_model::Nanos;

/// Multiplies all times by a factor. A factor below 1 makes a trace denser.
#[derive(Clone, Copy, Debug)]
pub struct ScaleTime {
    /// The factor times 2^32. Integers round in the same way on every machine.
    factor_q32: u128,
}

impl ScaleTime {
    /// Scales by `factor`.
    ///
    /// # Errors
    /// `factor` is not from 0.000001 to 1,000,000.
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

/// Shortens every gap between two requests that exceeds a limit to that limit.
#[derive(Clone, Copy, Debug)]
pub struct ClipGaps {
    limit: Nanos,
    last: Nanos,
    cut: Nanos,
}

impl ClipGaps {
    /// Shortens gaps to at most `limit`.
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
