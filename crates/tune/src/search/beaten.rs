//! Which trials of a search with several aims no other beats, and how much room they take.

use super::trial::{Trial, Verdict};
use crate::pareto;

/// The reference of the hypervolume: half as good as the baseline in everything.
pub const REFERENCE: f64 = -std::f64::consts::LN_2;

/// The gains of a trial that keeps every limit; `None` of any other.
fn kept_gains(trial: &Trial) -> Option<&Vec<f64>> {
    trial.gains.as_ref().filter(|_| trial.verdict == Verdict::Graded)
}

/// Numbers of the trials of which none is better in everything, in the order of their numbers.
pub(super) fn front_of(trials: &[Trial]) -> Vec<usize> {
    let kept: Vec<&Trial> = trials.iter().filter(|trial| kept_gains(trial).is_some()).collect();
    let gains: Vec<Vec<f64>> = kept.iter().filter_map(|trial| kept_gains(trial)).cloned().collect();
    pareto::front(&gains).into_iter().map(|index| kept[index].number).collect()
}

/// The hypervolume of trials.
pub(super) fn volume_of(trials: &[Trial]) -> f64 {
    let gains = gains_of(trials, &front_of(trials));
    gains.first().map_or(0.0, |first| pareto::hypervolume(&gains, &vec![REFERENCE; first.len()]))
}

/// The gains of trials that keep every limit.
pub(super) fn gains_of(trials: &[Trial], numbers: &[usize]) -> Vec<Vec<f64>> {
    numbers.iter().filter_map(|number| kept_gains(&trials[*number])).cloned().collect()
}

/// Whether some trial is at least as good in everything.
pub(super) fn is_beaten(gains: &[f64], trials: &[Trial]) -> bool {
    trials.iter().filter_map(kept_gains).any(|other| pareto::dominates(other, gains))
}
