//! When a search ends: its budget is spent, or the best trials no longer change.

use super::log::TrialLog;

/// What sums of shares may differ from the limit by rounding, in evaluations.
const ROUNDING: f64 = 1e-9;

/// Evaluations of the target, allowed and spent. A run on a prefix counts as its share of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    limit: f64,
    spent: f64,
}

impl Budget {
    /// A budget of `limit` evaluations, none of them spent.
    pub fn new(limit: f64) -> Self {
        Self { limit, spent: 0.0 }
    }

    /// Adds to the evaluations spent. Callers ask [`Budget::affords`] first.
    pub fn spend(&mut self, evaluations: f64) {
        self.spent += evaluations;
        debug_assert!(self.spent <= self.limit + ROUNDING, "overspent: {self:?}");
    }

    /// How many runs of `share` evaluations each what is left pays for.
    pub fn affords(&self, share: f64) -> usize {
        self.affords_beside(0.0, share)
    }

    /// How many runs of `share` evaluations each what is left pays for, if `reserve` evaluations of
    /// it are kept.
    pub fn affords_beside(&self, reserve: f64, share: f64) -> usize {
        // A negative number becomes 0.
        ((self.limit - self.spent - reserve + ROUNDING) / share) as usize
    }

    /// Evaluations spent.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Evaluations that may be spent in all.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether what is left does not pay for a run in full, without which there is no grade.
    pub fn is_spent(&self) -> bool {
        self.affords(1.0) == 0
    }
}

/// Tells when the top set has stopped changing.
pub(super) struct Convergence {
    /// A change of the top set's mean grade up to this counts as none. Grades are logarithms, so
    /// 0.01 is about one percent.
    change_min: f64,
    /// Evaluations without a change after which a search has converged.
    patience: f64,
    /// The top set's mean grade at its last change.
    reference: f64,
    /// Evaluations spent at its last change.
    since: f64,
}

impl Convergence {
    /// A watch that begins now.
    pub fn new(change_min: f64, patience: usize, log: &TrialLog, budget: Budget) -> Self {
        let (reference, since) = (log.top_mean(), budget.spent());
        Self { change_min, patience: patience as f64, reference, since }
    }

    /// Whether the top set has not changed for long enough.
    pub fn is_reached(&mut self, log: &TrialLog, budget: Budget) -> bool {
        let mean = log.top_mean();
        if (mean - self.reference).abs() > self.change_min {
            (self.reference, self.since) = (mean, budget.spent());
        }
        budget.spent() - self.since >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn shares_that_add_up_to_the_limit_spend_it() {
        let mut budget = Budget::new(2.0);
        for left in (1..=20).rev() {
            assert_eq!(budget.affords(0.1), left, "{budget:?}");
            assert_eq!(budget.is_spent(), left < 10, "{budget:?}");
            budget.spend(0.1);
        }
        assert_eq!(budget.affords(0.1), 0, "{budget:?}");
    }

    #[test]
    fn a_reserve_is_kept_and_what_is_less_than_it_pays_for_nothing() {
        let mut budget = Budget::new(3.0);
        assert_eq!(budget.affords_beside(1.0, 0.25), 8);
        budget.spend(2.5);
        assert_eq!((budget.affords_beside(1.0, 0.25), budget.affords(0.25)), (0, 2));
    }
}
