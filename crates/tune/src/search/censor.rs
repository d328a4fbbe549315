//! Censoring: which trials are not run on the other workloads, because their performance on the
//! target is too low to win.

use super::beaten;
use super::log::TrialLog;
use super::settings::Algorithm;
use super::trial::{Trial, Verdict};
use crate::task::Task;

/// How much the mean performance on the other workloads may differ between two good drives: about a
/// third in speed. With the paper's β this changes a grade by 0.03.
const OTHERS_SPREAD: f64 = 0.3;

/// Sets the verdict of trials that cannot win to [`Verdict::Censored`].
///
/// Both rules look at the target's part of the grade. The paper's rule is that it must reach the
/// worst grade of the top set. The rule of the default algorithm is stricter: it must reach the
/// best grade so far and the best part in its batch, less the part that other workloads may add
/// (`OTHERS_SPREAD`).
pub(super) fn censor(trials: &mut [Trial], task: &Task, algorithm: Algorithm, log: &TrialLog) {
    let part = |trial: &Trial| {
        trial.performance.map_or(f64::NEG_INFINITY, |performance| target_part(task, performance))
    };
    let parts: Vec<f64> = trials.iter().map(part).collect();
    let threshold = match algorithm {
        Algorithm::Bayes => {
            let alive = parts.iter().zip(&*trials);
            let alive = alive.filter(|(_, trial)| trial.verdict == Verdict::Graded);
            let best = alive.map(|(part, _)| *part).fold(f64::NEG_INFINITY, f64::max);
            best.max(log.best_grade()) - task.weights.beta * OTHERS_SPREAD
        }
        Algorithm::Autoblox | Algorithm::Random => log.top_worst(),
        // Who proposes wants to know what became of everything.
        Algorithm::Own => f64::NEG_INFINITY,
    };
    for (trial, part) in trials.iter_mut().zip(parts) {
        if trial.verdict == Verdict::Graded && part < threshold {
            trial.verdict = Verdict::Censored;
        }
    }
}

/// Sets the verdict of trials that cannot win where there are several aims: those that another
/// trial beats in everything, or whose gains are not known.
pub(super) fn censor_what_is_beaten(trials: &mut [Trial], log: &TrialLog) {
    let is_beaten = |gains: &Vec<f64>| beaten::is_beaten(gains, log.trials());
    for trial in trials.iter_mut().filter(|trial| trial.verdict == Verdict::Graded) {
        if trial.gains.as_ref().is_none_or(is_beaten) {
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
