//! What a prefix does not show: a used drive collects when its free blocks run out, and the
//! beginning of a run may be over before that.
//!
//! Parameters of collection have little effect on such a prefix, so sensitivity runs and races on
//! it pass over them, though one of them alone may decide how fast the drive is in the long run. So
//! the axes with little effect on how the prefix is served are changed all at once, and these
//! drives run in full: two of them, with values on both sides of those of the best trial. As long
//! as one of the two differs from it, or cannot serve the target, two more follow.
//!
//! Cost: two evaluations where there is nothing to be seen, six at most, and a quarter of a small
//! budget.

use super::state::SearchState;
use super::trial::Proposal;
use crate::error::TuneError;
use crate::moves::Moves;
use crate::random::stream;

/// A drive that differs from another one by less than this performs alike: 5 % in speed.
pub(super) const ALIKE: f64 = 0.05;
/// Pairs of drives at most, and the greatest share of the budget that they may cost.
const PAIRS: f64 = 3.0;
const SHARE: f64 = 0.25;
/// How far the first pair goes on each axis, as a share of the values there; half as far after a
/// drive that cannot serve the target.
const REACH: f64 = 0.5;
/// The stream of random numbers, beside those of iterations, which count from 1.
const STREAM: u64 = u64::MAX;

/// Runs changes in full that had little effect on the prefix, if the baseline collects less on that
/// than on the whole target. `weak` are the axes with little effect.
pub(super) fn explore(
    state: &mut SearchState,
    moves: &Moves,
    weak: &[usize],
) -> Result<(), TuneError> {
    if !state.prefix_is_blind() {
        return Ok(());
    }
    let pairs = (state.budget.limit() * SHARE / 2.0).min(PAIRS);
    let mut reach = REACH;
    for pair in 0..pairs as u64 {
        let root = &state.log.trials()[state.log.roots()[0]];
        let (before, first) = (root.performance, state.log.trials().len());
        let mut rng = stream(state.settings.seed, STREAM, pair);
        let drawn = moves.to_both_sides(&root.point, weak, reach, &mut rng);
        let new = drawn.into_iter().filter(|found| state.log.is_new(&found.point));
        let proposals: Vec<Proposal> =
            new.map(|found| Proposal::new(found.point, found.config, "exploration")).collect();
        state.run_in_full(proposals)?;
        let ran = &state.log.trials()[first..];
        let differs = |performance: f64| (performance - before.unwrap_or(0.0)).abs() > ALIKE;
        if ran.iter().any(|trial| trial.performance.is_none()) {
            reach /= 2.0;
        } else if !ran.iter().filter_map(|trial| trial.performance).any(differs) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::evaluate::{CachedEvaluator, EvaluationError, Evaluator, Job, Measurement};
    use crate::recommend::{Options, Pick, recommend};
    use crate::search::testing::{Formula, GO_ON, TASK, search, settings};
    use crate::search::{Algorithm, Found, PriorKnowledge};
    use ssdtune_experiment::Preparation;
    use std::sync::atomic::AtomicBool;

    /// The formula, but on more requests than a prefix has drives collect, and collection makes
    /// them twenty times as slow unless it begins early.
    #[derive(Default)]
    struct Cliff(Formula);

    impl Evaluator for Cliff {
        fn identity(&self) -> String {
            "cliff".to_owned()
        }

        fn preparation(&self) -> Preparation {
            self.0.preparation()
        }

        fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
            let mut measured = self.0.measure(job, stop)?;
            if job.trace.requests().len() > 20 {
                if job.config.gc.threshold < 0.12 {
                    measured.figures.latency_ns *= 20.0;
                    measured.figures.throughput_bps /= 20.0;
                }
                let facts = [&mut measured.open, &mut measured.closed];
                facts.into_iter().flatten().for_each(|facts| facts.collections = 10);
            }
            Ok(measured)
        }
    }

    fn found(evaluator: &dyn Evaluator, seed: u64) -> Found {
        let settings = settings(Algorithm::Bayes, seed);
        search(&TASK, &PriorKnowledge::default(), &settings, evaluator, 2)
    }

    #[test]
    fn a_cliff_behind_the_prefix_is_found() {
        for seed in 0..6 {
            let found = found(&Cliff::default(), seed);
            let best = found.best().unwrap();
            assert!(best.grade.unwrap() > 2.5, "seed {seed}: {:?}", best.grade);
            assert!(best.config.gc.threshold > 0.12, "seed {seed}");
            let cost = found.trials.iter().filter(|trial| trial.origin == "exploration").count();
            assert!((2..=6).contains(&cost), "seed {seed}: {cost} of 25 evaluations");
        }
    }

    #[test]
    fn a_baseline_that_stumbles_over_one_setting_is_told() {
        let notes = |evaluator: &dyn Evaluator| {
            let found = found(evaluator, 0);
            let cached = CachedEvaluator::new(evaluator, None, &GO_ON, &|_| {});
            let options = Options { held_out: None, name: "tuned".to_owned(), pick: Pick::Knee };
            let settings = settings(Algorithm::Bayes, 0);
            let result = recommend(&TASK, &settings, &found, &cached, &options).unwrap();
            let first = result.importance.first().unwrap();
            let alone = first.alone.map(|alone| TASK.weights.performance(&alone));
            (first.keys.clone(), alone.unwrap(), result.notes.join("; "))
        };
        let (keys, alone, told) = notes(&Cliff::default());
        assert_eq!(keys, ["gc.threshold"]);
        assert!((alone - 20_f64.ln()).abs() < 1e-9, "{alone}");
        assert!(told.contains("gc.threshold alone brings"), "{told}");
        let (keys, alone, told) = notes(&Formula::default());
        assert!(alone > 0.0 && !keys.iter().any(|key| key == "gc.threshold"), "{keys:?}: {alone}");
        assert!(!told.contains("gc.threshold"), "{told}");
    }

    #[test]
    fn a_prefix_that_shows_everything_costs_nothing_more() {
        let found = found(&Formula::default(), 0);
        assert!(found.trials.iter().all(|trial| trial.origin != "exploration"));
    }
}
