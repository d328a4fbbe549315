//! Which trials are not run on the other workloads, because their part of the target cannot win.

use super::log::TrialLog;
use super::settings::Algorithm;
use super::trial::{Trial, Verdict};
use crate::task::Task;

/// The mean performances of the others differ by less than this between two good drives (a third
/// faster). With the paper's β their part of a grade then differs by 0.03.
const OTHERS_SPREAD: f64 = 0.3;

/// Sets the verdict of trials that cannot win to [`Verdict::Censored`].
///
/// The paper's rule: the target's part of the grade must reach the worst grade of the top set. The
/// default algorithm's rule is stricter: what the part lacks to the best grade, or to the best part
/// of its own batch, must be within what the others have ever differed by.
pub(super) fn censor(trials: &mut [Trial], task: &Task, algorithm: Algorithm, log: &TrialLog) {
    let part =
        |trial: &Trial| trial.performance.map_or(f64::NEG_INFINITY, |own| target_part(task, own));
    let parts: Vec<f64> = trials.iter().map(part).collect();
    let threshold = match algorithm {
        Algorithm::Bayes => {
            let alive = parts.iter().zip(&*trials);
            let alive = alive.filter(|(_, trial)| trial.verdict == Verdict::Graded);
            let best = alive.map(|(part, _)| *part).fold(f64::NEG_INFINITY, f64::max);
            best.max(log.best_grade()) - task.weights.beta * OTHERS_SPREAD
        }
        Algorithm::Autoblox | Algorithm::Random => log.top_worst(),
    };
    for (trial, part) in trials.iter_mut().zip(parts) {
        if trial.verdict == Verdict::Graded && part < threshold {
            trial.verdict = Verdict::Censored;
        }
    }
}

/// What the target's performance contributes to a grade.
fn target_part(task: &Task, performance: f64) -> f64 {
    match task.others.is_empty() {
        true => performance,
        false => (1.0 - task.weights.beta) * performance,
    }
}
