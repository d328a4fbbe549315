//! Which trials keep every limit, and what is nearest where none does.

use super::Found;
use super::trial::{Trial, Verdict};
use crate::breach::{Nearest, NothingKept, SCHEMA};

impl Found {
    /// What to say if no trial keeps every limit. `nearest` comes nearest; `None` for the trial
    /// that breaks a limit by the least share.
    pub(crate) fn nothing_kept(&self, nearest: Option<Nearest>) -> NothingKept {
        let of_trial = |trial: &Trial| Nearest {
            number: trial.number,
            target: trial.target,
            breaches: trial.breaches.clone(),
        };
        let nearest = nearest.or_else(|| least_broken(&self.trials[1..]).map(of_trial));
        let baseline = self.trials[0].breaches.clone();
        let mut broken: Vec<&'static str> = Vec::new();
        for breach in nearest.iter().flat_map(|nearest| &nearest.breaches).chain(&baseline) {
            if !broken.contains(&breach.code) {
                broken.push(breach.code);
            }
        }
        NothingKept {
            schema: SCHEMA,
            found: false,
            broken,
            baseline,
            nearest,
            proposals: self.trials.len() - 1,
            spent: self.spent,
        }
    }
}

/// The trial that breaks limits by the least share; of equal ones the first.
pub(super) fn least_broken(trials: &[Trial]) -> Option<&Trial> {
    let broken = trials.iter().filter(|trial| !trial.breaches.is_empty());
    broken.min_by(|a, b| a.excess().total_cmp(&b.excess()))
}

impl Trial {
    /// The grade, if the drive keeps every limit.
    pub fn kept_grade(&self) -> Option<f64> {
        self.grade.filter(|_| self.verdict == Verdict::Graded)
    }

    /// By how much it breaks the limit that it breaks most; 0 if none.
    pub(super) fn excess(&self) -> f64 {
        self.breaches.iter().map(|breach| breach.excess).fold(0.0, f64::max)
    }
}
