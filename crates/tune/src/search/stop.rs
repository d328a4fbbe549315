//! When a search ends: its budget is spent, or the best trials no longer change.

use super::log::TrialLog;

/// Evaluations of the target, those on a prefix counted by their share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    limit: f64,
    spent: f64,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub fn new(limit: f64) -> Self {
        Self { limit, spent: 0.0 }
    }

    /// Counts evaluations.
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

    /// Whether nothing is left. Sums of shares may miss the limit by rounding.
    pub fn is_spent(&self) -> bool {
        self.spent + 1e-9 >= self.limit
    }
}

/// Tells when the top set has stopped changing.
pub(super) struct Convergence {
    /// A smaller change of the top set's mean grade is none. Grades are logarithms, so a hundredth
    /// is a change of one percent.
    change_min: f64,
    /// Evaluations without a change after which a search has converged.
    patience: f64,
    /// The top set's mean grade when it last changed.
    reference: f64,
    /// Evaluations spent when it last changed.
    since: f64,
}

impl Convergence {
    /// Begins to watch now.
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
