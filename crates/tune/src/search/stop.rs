//! When a search ends: its budget is spent, or the best trials no longer change.

use super::log::TrialLog;

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

    /// Adds to the evaluations spent.
    pub fn spend(&mut self, evaluations: f64) {
        self.spent += evaluations;
    }

    /// Evaluations spent.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Evaluations that may be spent in all.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether nothing is left. A small tolerance absorbs rounding errors of sums of shares.
    pub fn is_spent(&self) -> bool {
        self.spent + 1e-9 >= self.limit
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
        let mut budget = Budget::new(1.0);
        for _ in 0..10 {
            assert!(!budget.is_spent(), "{budget:?}");
            budget.spend(0.1);
        }
        assert!(budget.is_spent(), "{budget:?}");
    }
}
