//! Tests of the search: every algorithm, censoring, threads, limits, and the objective.

use super::autoblox::tuning_sets;
use super::testing::{
    Formula, GO_ON, SEED, TASK, decisions, decisions_before_the_end, search, settings,
    shared_search, workload,
};
use super::*;
use crate::aim::Aim;
use crate::evaluate::{EvaluationError, Evaluator, Job, MeasureError, Measurement};
use crate::grade::Weights;
use crate::memory::AutoDb;
use crate::moves::Moves;
use crate::random::stream;
use crate::recommend;
use crate::space::{OrderedParameter, Point, TuningOrder};
use crate::task::MaxHarm;
use crate::workload::Workload;
use proptest::prelude::*;
use ssdtune_experiment::Preparation;
use ssdtune_model::CheckedConfig;
use ssdtune_model::DeviceConfig;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

fn nothing() -> PriorKnowledge {
    PriorKnowledge::default()
}

fn found_by(settings: &Settings, threads: usize) -> Found {
    search(&TASK, &nothing(), settings, &Formula::default(), threads)
}

/// The point of the baseline, and moves around it.
static MOVES: LazyLock<(Point, Moves<'static>)> = LazyLock::new(|| {
    let base = TASK.space.point(&TASK.base).unwrap();
    let moves = Moves::of_task(&TASK, &base);
    (base, moves)
});

#[test]
fn every_algorithm_beats_the_baseline_and_keeps_every_limit() {
    let task = &*TASK;
    for algorithm in Algorithm::ALL {
        let found = shared_search(algorithm);
        let best = found.best().unwrap();
        assert!(best.grade.unwrap() > 0.05, "{algorithm}: {:?}", best.grade);
        let mut points = BTreeSet::new();
        for trial in &found.trials {
            let number = trial.number;
            assert!(task.limits.check(&trial.config).is_ok(), "{algorithm}: trial {number}");
            assert_eq!(task.space.config(&task.base, &trial.point), *trial.config);
            // A point that only raced on the prefix may run in full later.
            let is_full = trial.target.is_some();
            assert!(!is_full || points.insert(&trial.point), "{algorithm}: {number} again");
        }
        let curve: Vec<Option<f64>> = found.curve.iter().map(|point| point.best_grade).collect();
        assert!(curve.windows(2).all(|pair| pair[0] <= pair[1]), "{algorithm}");
    }
}

#[test]
fn the_others_count_by_their_own_measurements() {
    let task = &*TASK;
    let found = shared_search(Algorithm::Random);
    let weights = &task.weights;
    let mut told_apart = 0;
    for trial in found.trials.iter().filter(|trial| trial.grade.is_some()) {
        let (target, others) = (trial.target.unwrap(), trial.others.as_ref().unwrap());
        let other = weights.performance(&others[0]);
        let expected = 0.9 * weights.performance(&target) + 0.1 * other;
        assert!((trial.grade.unwrap() - expected).abs() < 1e-12);
        // The formula of the other workload does not depend on the bus's rate or the plane order.
        let other_ns = |drive: &DeviceConfig| {
            let (width, channels) = (drive.bus.width_bytes, drive.bus.channels);
            20_000.0 + 500.0 * f64::from(width) + 1e6 / f64::from(channels)
        };
        let expected = other_ns(&task.base) / other_ns(&trial.config);
        assert!((others[0].latency - expected).abs() < 1e-12, "{others:?} and {expected}");
        told_apart += u32::from(others[0].latency != target.latency);
    }
    assert!(told_apart > 0, "no graded drive serves the two workloads differently");
}

#[test]
fn the_default_is_better_than_chance_at_the_same_budget() {
    let grade = |algorithm, seed| match seed {
        SEED => shared_search(algorithm).best().unwrap().grade.unwrap(),
        _ => found_by(&settings(algorithm, seed), 2).best().unwrap().grade.unwrap(),
    };
    let mean =
        |algorithm| [SEED, 0, 1].map(|seed| grade(algorithm, seed)).iter().sum::<f64>() / 3.0;
    let (bayes, random) = (mean(Algorithm::Bayes), mean(Algorithm::Random));
    assert!(bayes > random + 0.05, "{bayes} {random}");
}

#[test]
fn threads_and_repetition_change_nothing_and_the_seed_decides() {
    for algorithm in Algorithm::ALL {
        let shared = decisions(shared_search(algorithm));
        let again = decisions(&found_by(&settings(algorithm, SEED), 8));
        assert_eq!(shared, again, "{algorithm} on 8 threads");
        // A smaller budget ends a search earlier, but does not change how it begins.
        let short = Settings { budget: 8.0, ..settings(algorithm, SEED) };
        let other = Settings { seed: SEED + 1, ..short.clone() };
        let (found, other) = (found_by(&short, 1), found_by(&other, 1));
        let begun = decisions_before_the_end(&found, &short);
        assert!(begun.len() > 6, "{algorithm}: {} trials", begun.len());
        assert!(shared.starts_with(&begun), "{algorithm} on one thread");
        assert_ne!(decisions(&found), decisions(&other), "{algorithm}: the seed decides nothing");
    }
}

#[test]
fn a_search_spends_its_budget_and_no_more() {
    for algorithm in Algorithm::ALL {
        for (budget, batch, prefix) in [
            (1.0, 4, 0.1),
            (1.5, 4, 0.25),
            (2.0, 4, 0.1),
            (3.0, 2, 1.0),
            (4.3, 3, 0.3),
            (7.0, 1, 0.1),
        ] {
            let settings =
                Settings { budget, batch, prefix, patience: 1000, ..settings(algorithm, SEED) };
            let evaluator = Formula::default();
            let found = search(&TASK, &nothing(), &settings, &evaluator, 2);
            let case = format!("{algorithm} with {budget}, {batch}, {prefix}");
            assert!(found.spent <= budget + 1e-9, "{case}: {} spent", found.spent);
            assert!(found.spent > budget - 1.0, "{case}: only {} spent", found.spent);
            assert_eq!(found.ended, Ended::Budget, "{case}");
            let full = found.trials.iter().skip(1).filter(|trial| trial.target.is_some()).count();
            let raced = found.trials.iter().filter(|trial| trial.prefix_performance.is_some());
            let raced = if prefix < 1.0 { raced.count() - 1 } else { 0 };
            let counted = full as f64 + raced as f64 * prefix;
            assert!((counted - found.spent).abs() < 1e-9, "{case}: {counted} {}", found.spent);
            assert!(full >= 1, "{case}: nothing ran in full");
        }
    }
}

#[test]
fn more_budget_gives_the_answer_that_it_gives_from_the_start() {
    for algorithm in Algorithm::ALL {
        let directory = tempfile::tempdir().unwrap();
        let db = AutoDb::open(directory.path().join("db")).unwrap();
        let run_for = |budget, resume| {
            let settings = Settings { budget, ..settings(algorithm, SEED) };
            let options = BeginOptions { resume, ..BeginOptions::default() };
            let begun = begin(&db, &TASK, &settings, "formula", options).unwrap();
            assert_eq!(begun.resumed, resume, "{algorithm}");
            let evaluator = Formula::default();
            let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
            let found = run(&TASK, &begun.prior, &settings, &cached, &mut |_, _| {}).unwrap();
            (found, evaluator.count.load(Ordering::Relaxed))
        };
        let (_, first) = run_for(10.0, false);
        let (longer, more) = run_for(20.0, true);
        let settings = Settings { budget: 20.0, ..settings(algorithm, SEED) };
        let evaluator = Formula::default();
        let at_once = search(&TASK, &nothing(), &settings, &evaluator, 1);
        assert_eq!(decisions(&longer), decisions(&at_once), "{algorithm}");
        assert!(longer.spent > 19.0, "{algorithm}: {}", longer.spent);
        let whole = evaluator.count.load(Ordering::Relaxed);
        assert!(more > 0 && more < whole, "{algorithm}: {more} of {whole} run again");
        // The last race of the shorter search may have run what the longer one did not ask for.
        assert!(first + more <= whole + 14, "{algorithm}: {first} and {more}, not {whole}");
    }
}

#[test]
fn a_censored_trial_has_no_grade_and_its_others_were_not_run() {
    for algorithm in Algorithm::ALL {
        let found = shared_search(algorithm);
        let mut censored = 0;
        for trial in &found.trials {
            let parts = (trial.target.is_some(), trial.others.is_some(), trial.grade.is_some());
            let expected = match trial.verdict {
                Verdict::Graded | Verdict::Harmful => (true, true, true),
                Verdict::Censored | Verdict::OverPower => (true, false, false),
                Verdict::Raced | Verdict::Unfit(_) => (false, false, false),
            };
            assert_eq!(parts, expected, "{algorithm}: {:?}", trial.verdict);
            censored += usize::from(trial.verdict == Verdict::Censored);
        }
        assert!(censored > 0, "{algorithm}: nothing was left out");
    }
}

#[test]
fn a_power_budget_binds() {
    let mut task = TASK.clone();
    task.limits.constraints.power_budget_watts = Some(14.0);
    let evaluator = Formula { counts_energy: true, ..Formula::default() };
    let settings = Settings { budget: 12.0, ..settings(Algorithm::Bayes, 0) };
    let found = search(&task, &nothing(), &settings, &evaluator, 2);
    assert!(found.best().unwrap().average_watts.unwrap() <= 14.0);
    let is_over = |trial: &&Trial| matches!(trial.verdict, Verdict::OverPower);
    assert!(found.trials.iter().any(|trial| is_over(&trial)), "no drive was above the budget");
    for trial in found.trials.iter().filter(is_over) {
        assert!(trial.average_watts.unwrap() > 14.0 && trial.grade.is_none());
        assert_eq!(
            trial.breaches.iter().map(|breach| breach.code).collect::<Vec<_>>(),
            [POWER_BUDGET]
        );
    }
}

/// The baseline has 12 channels, and so needs 12 W.
#[test]
fn a_baseline_over_the_power_budget_is_not_recommended() {
    let evaluator = Formula { counts_energy: true, ..Formula::default() };
    for algorithm in Algorithm::ALL {
        let settings = Settings { budget: 16.0, ..settings(algorithm, SEED) };
        let found_within = |watts| {
            let mut task = TASK.clone();
            task.limits.constraints.power_budget_watts = Some(watts);
            search(&task, &nothing(), &settings, &evaluator, 2)
        };
        // Six channels are slower than the baseline's twelve, and all that the budget allows.
        let found = found_within(6.0);
        let best = found.best().unwrap_or_else(|| panic!("{algorithm} found nothing"));
        assert!(best.average_watts.unwrap() <= 6.0, "{algorithm}: {:?}", best.average_watts);
        assert!(!found.ranking.contains(&0), "{algorithm}: the baseline counts as kept");
        assert_eq!(found.trials[0].verdict, Verdict::OverPower);
        // No drive of the space has fewer than four.
        let found = found_within(3.0);
        assert!(found.best().is_none(), "{algorithm}");
        let nothing = found.nothing_kept(None);
        assert_eq!(nothing.broken, [POWER_BUDGET]);
        assert!((nothing.baseline[0].excess - 3.0).abs() < 1e-12, "{:?}", nothing.baseline);
        let nearest = nothing.nearest.as_ref().unwrap();
        let least = found.trials.iter().filter_map(|trial| trial.average_watts);
        assert_eq!(nearest.breaches[0].measured, least.fold(f64::INFINITY, f64::min));
        let text = nothing.to_string();
        assert!(text.contains("the baseline: power_budget_watts: 12.000 W on average"), "{text}");
        assert!(found.curve.iter().all(|point| point.best_grade.is_none()));
    }
}

/// The task with a limit on what the other workload may lose, judged on traces called `judged_by`.
fn sparing(share: f64, judged_by: &str) -> Task {
    let trace = workload(judged_by, 24, 100);
    let validation = vec![Workload { name: "other".to_owned(), ..trace }];
    Task { max_harm: Some(MaxHarm { share, validation }), ..TASK.clone() }
}

/// Wide buses are good for the target; with few channels more they make the other workload slower.
#[test]
fn what_hurts_another_workload_is_no_result_and_proposals_learn_it() {
    let task = Task { weights: Weights { alpha: 0.0, beta: 0.0 }, ..sparing(0.0, "other") };
    for algorithm in Algorithm::ALL {
        let settings = Settings { budget: 20.0, ..settings(algorithm, SEED) };
        let found = search(&task, &nothing(), &settings, &Formula::default(), 2);
        let least = |trial: &Trial| {
            let each = trial.others.iter().flatten();
            each.map(|speedup| speedup.latency.min(speedup.throughput)).fold(1.0, f64::min)
        };
        for trial in &found.trials {
            let is_harmful = trial.verdict == Verdict::Harmful;
            assert_eq!(is_harmful, least(trial) < 1.0, "{algorithm}: {:?}", trial.breaches);
            assert_eq!(is_harmful, trial.breaches.iter().any(|breach| breach.code == MAX_HARM));
            assert!(!is_harmful || trial.grade.is_some() && trial.kept_grade().is_none());
        }
        assert!(found.ranking.iter().all(|number| least(&found.trials[*number]) >= 1.0));
        assert!(found.best().unwrap().grade > Some(0.05), "{algorithm}: {:?}", found.best());
    }
}

#[test]
fn validation_traces_judge_the_result_and_no_proposal_learns_from_them() {
    for algorithm in Algorithm::ALL {
        let settings = Settings { budget: 14.0, ..settings(algorithm, SEED) };
        let judged = |judged_by: &str| {
            let task = sparing(0.02, judged_by);
            let evaluator = Formula::default();
            let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
            let found = run(&task, &nothing(), &settings, &cached, &mut |_, _| {}).unwrap();
            let before = cached.counts();
            let choice = recommend::choose(&task, &found, &cached).unwrap();
            let asked = cached.counts().answered - before.answered;
            assert!(asked <= recommend::choice_max(&task, &found), "{algorithm}: {asked}");
            let options = recommend::Options {
                held_out: None,
                name: "best".to_owned(),
                pick: recommend::Pick::Knee,
            };
            let told = recommend::recommend(&task, &settings, &found, &cached, &options).unwrap();
            let [own, alone] = [&told.training, &told.ignoring_others]
                .map(|table| task.weights.performance(&table.target.speedup));
            assert!(
                alone >= own,
                "{algorithm}: {own} beats the best for the target alone, {alone}"
            );
            (found, choice, told)
        };
        let ((lenient, chosen, _), (strict, other, told)) = (judged("other"), judged("unseen"));
        assert_eq!(decisions(&lenient), decisions(&strict), "{algorithm} learns from the judge");
        assert_eq!(Some(chosen.number), lenient.ranking.first().copied(), "{algorithm}");
        // The best ones hurt the unseen traces: they are named, and the next one is taken.
        assert_ne!(other.number, chosen.number, "{algorithm}");
        let refused: Vec<usize> = other.refused.iter().map(|refused| refused.number).collect();
        assert!(refused.contains(&chosen.number), "{algorithm}: {refused:?}");
        for refused in &other.refused {
            let is_kept = strict.ranking.contains(&refused.number);
            let traces = if is_kept { TraceSet::Validation } else { TraceSet::Search };
            for breach in &refused.breaches {
                assert_eq!((breach.code, breach.traces), (MAX_HARM, traces), "{algorithm}");
                assert!(breach.measured < 0.98 && breach.workload == "other", "{breach}");
            }
        }
        let own = &told.validation[0].speedup;
        assert!(own.latency >= 0.98 && own.throughput >= 0.98, "{algorithm}: {own:?}");
        assert_eq!(told.refused.len(), refused.len());
    }
}

#[test]
fn what_earlier_work_recommends_is_judged_first() {
    let mut known = (*TASK.base).clone();
    for (key, value) in [("bus.width_bytes", "2"), ("mapping.plane_order", "PCWD")] {
        ssdtune_model::set(&mut known, key, value).unwrap();
    }
    // A seed outside of the space is skipped.
    let mut strange = known.clone();
    ssdtune_model::set(&mut strange, "flash.page_bytes", "8192").unwrap();
    let prior = PriorKnowledge { seeds: vec![strange, known.clone()], ..nothing() };
    let settings = Settings { budget: 3.0, ..settings(Algorithm::Autoblox, 0) };
    let found = search(&TASK, &prior, &settings, &Formula::default(), 1);
    assert_eq!((found.trials[1].origin, &*found.trials[1].config), ("memory", &known));
    assert_ne!(found.trials[2].origin, "memory");
}

#[test]
fn tuning_sets_follow_the_coefficients_and_keep_groups_together() {
    let space = &TASK.space;
    let order = [
        ("bus.channels", 0.4),
        ("cache.capacity_bytes", -0.3),
        ("bus.rate_mts", 0.14),
        ("no.such", 0.1),
        ("gc.threshold", 0.01),
    ];
    let ordered = |(key, coefficient): &(&str, f64)| OrderedParameter {
        key: (*key).to_owned(),
        coefficient: *coefficient,
    };
    let order = TuningOrder(order.iter().map(ordered).collect());
    let keys = |set: &Vec<usize>| -> Vec<&str> {
        set.iter().map(|axis| space.axes()[*axis].key()).collect()
    };
    let sets: Vec<Vec<&str>> = tuning_sets(space, &order).iter().map(keys).collect();
    assert_eq!(sets.len(), 3, "{sets:?}");
    assert_eq!(sets[0].len(), 6 + 2);
    assert_eq!(sets[1], ["bus.rate_mts"]);
    assert_eq!(sets[2], ["gc.threshold"]);
    assert_eq!(tuning_sets(space, &order.together()).len(), 1);
    let all = tuning_sets(space, &TuningOrder::default());
    assert_eq!((all.len(), all[0].len()), (1, space.axes().len()));
}

#[test]
fn an_aim_that_has_no_value_is_refused_with_the_remedy() {
    let formula = Formula::default();
    let cached = CachedEvaluator::new(&formula, None, &GO_ON, &|_| {});
    for (aim, remedy) in [(Aim::P999, "--requests"), (Aim::Power, "energy"), (Aim::Price, "list")] {
        let aims = vec![Aim::Latency, aim];
        let settings = Settings { aims, ..settings(Algorithm::Bayes, SEED) };
        let refused = run(&TASK, &nothing(), &settings, &cached, &mut |_, _| {}).unwrap_err();
        assert!(refused.is_of_usage());
        let told = refused.to_string();
        assert!(told.starts_with(&format!("--aim {aim}: ")) && told.contains(remedy), "{told}");
    }
}

#[test]
fn a_baseline_outside_the_limits_is_refused_with_the_reason() {
    let mut task = TASK.clone();
    task.limits.constraints.max_chips = Some(59);
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let error = run(&task, &nothing(), &Settings::default(), &cached, &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("max_chips: 60 chips, at most 59"), "{error}");
    assert_eq!(evaluator.count.load(Ordering::Relaxed), 0);
}

#[test]
fn an_interruption_ends_a_search_with_what_it_is() {
    let (evaluator, stop) = (Formula::default(), AtomicBool::new(true));
    let cached = CachedEvaluator::new(&evaluator, None, &stop, &|_| {});
    let outcome = run(&TASK, &nothing(), &Settings::default(), &cached, &mut |_, _| {});
    assert!(matches!(outcome, Err(TuneError::Measure(MeasureError::Interrupted))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 6))]

    /// Every drive from a random draw or a jump keeps the limits.
    #[test]
    fn moves_keep_every_limit(seed in any::<u64>(), reach in 0.05_f64..1.0) {
        let (task, (base, moves)) = (&*TASK, &*MOVES);
        let mut rng = stream(seed, 0, 0);
        let axes: Vec<usize> = (0..task.space.axes().len()).collect();
        let mut from = base.clone();
        for _ in 0..10 {
            for found in [moves.anywhere(&mut rng), moves.jump(&from, &axes, reach, &mut rng)] {
                let Some(found) = found else { continue };
                prop_assert!(task.limits.check(&found.config).is_ok());
                prop_assert_eq!(&task.space.config(&task.base, &found.point), &*found.config);
                from = found.point;
            }
        }
    }
}

#[test]
fn the_objective_grades_as_the_search_does() {
    let task = &*TASK;
    let found = shared_search(Algorithm::Bayes);
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(task, &cached).unwrap();
    let graded: Vec<&Trial> = found.trials.iter().filter(|trial| trial.grade.is_some()).collect();
    let drives: Vec<CheckedConfig> = graded.iter().map(|trial| trial.config.clone()).collect();
    for (trial, answer) in graded.iter().zip(objective.grade(&drives).unwrap()) {
        assert_eq!(trial.grade, Some(answer.unwrap().grade));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    /// Any point can be repaired. The repaired point keeps every limit, and repairing it again
    /// changes nothing.
    #[test]
    fn any_point_is_repaired(shares in proptest::collection::vec(0.0..1.0_f64, 64)) {
        let (task, (_, moves)) = (&*TASK, &*MOVES);
        let ranks = task.space.axes().iter().zip(&shares);
        let ranks = ranks.map(|(axis, share)| (axis.count() as f64 * share) as u16);
        let found = moves.nearest(&Point(ranks.collect())).expect("there is a drive near it");
        prop_assert!(task.limits.check(&found.config).is_ok());
        let again = moves.nearest(&found.point).expect("it keeps the limits");
        prop_assert_eq!(again.point, found.point);
    }
}

/// The formula for drives that begin to collect at 0.12 to 0.25 of free blocks; earlier than that
/// they have too little room, and later they are twenty times as slow.
#[derive(Default)]
struct Narrow(Formula);

impl Evaluator for Narrow {
    fn identity(&self) -> String {
        "narrow".to_owned()
    }

    fn preparation(&self) -> Preparation {
        self.0.preparation()
    }

    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
        let mut measured = self.0.measure(job, stop)?;
        match job.config.gc.threshold {
            early if early > 0.25 => return Err(EvaluationError::Unfit("no room".to_owned())),
            late if late < 0.12 => {
                measured.figures.latency_ns *= 20.0;
                measured.figures.throughput_bps /= 20.0;
            }
            _ => {}
        }
        Ok(measured)
    }
}

#[test]
fn an_end_that_cannot_serve_is_followed_by_values_nearer_to_the_baseline() {
    let settings = settings(Algorithm::Bayes, SEED);
    let found = search(&TASK, &nothing(), &settings, &Narrow::default(), 2);
    let is_change = |trial: &&Trial| trial.origin == "sensitivity";
    let tried = found.trials.iter().filter(is_change).map(|trial| trial.config.gc.threshold);
    assert!(tried.clone().any(|threshold| threshold > 0.25), "the end comes first");
    assert!(tried.clone().any(|threshold| (0.12..=0.25).contains(&threshold)));
    assert!(found.best().unwrap().grade.unwrap() > 2.5, "{:?}", found.best().unwrap().grade);
}
