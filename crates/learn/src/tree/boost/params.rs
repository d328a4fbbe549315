//! Parameters of boosted trees, and their check.

use super::BoostError;
use crate::guard::guarded_params;

/// The greatest depth: 4,096 leaves.
pub(super) const DEPTH_MAX: usize = 12;

/// Parameters of boosted trees. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostParams(BoostValidParams);

/// Parameters of boosted trees that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostValidParams {
    pub(super) trees: usize,
    pub(super) depth: usize,
    pub(super) rate: f64,
    pub(super) thresholds: usize,
    pub(super) prior_rows: f64,
}

guarded_params!(BoostParams, BoostValidParams, BoostError);

impl BoostParams {
    /// `trees` trees of `depth` questions each, 1 to 12. Each takes a tenth of what is left over
    /// ([`rate`](Self::rate)), from at most 63 thresholds of each column
    /// ([`thresholds`](Self::thresholds)), and a leaf is drawn to 0 as if it had 5 more rows that
    /// say 0.
    pub fn new(trees: usize, depth: usize) -> Self {
        Self(BoostValidParams { trees, depth, rate: 0.1, thresholds: 63, prior_rows: 5.0 })
    }

    /// Sets the share of what is left over that each tree takes, above 0 and up to 1.
    #[must_use]
    pub fn rate(mut self, rate: f64) -> Self {
        self.0.rate = rate;
        self
    }

    /// Sets how many thresholds of each column are tried at most; at least 1. They are spread
    /// evenly over the rows.
    #[must_use]
    pub fn thresholds(mut self, thresholds: usize) -> Self {
        self.0.thresholds = thresholds;
        self
    }
}

impl BoostValidParams {
    pub(super) fn verify(&self) -> Result<(), BoostError> {
        let counts = [(self.trees, "trees"), (self.thresholds, "thresholds")];
        if let Some((_, name)) = counts.into_iter().find(|(count, _)| *count == 0) {
            return Err(BoostError::Zero(name));
        }
        if !(1..=DEPTH_MAX).contains(&self.depth) {
            return Err(BoostError::Depth(self.depth));
        }
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            return Err(BoostError::Rate(self.rate));
        }
        Ok(())
    }
}
