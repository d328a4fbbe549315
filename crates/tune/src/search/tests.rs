use super::*;
use crate::evaluate::{Busy, EvaluationError, Evaluator, Job, Measurement, RunFacts};
use crate::grade::Figures;
use crate::workload::Trace;
use proptest::prelude::*;
use ssdtune_experiment::Preparation;
use ssdtune_model::{Nanos, Sectors, presets};
use ssdtune_trace::{Op, Request, TenantId};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) static GO_ON: AtomicBool = AtomicBool::new(false);

/// A drive's figures by a formula: more channels and a faster bus help with diminishing returns, one plane
/// order is best, chips cost power. The other workloads are hurt by a wide bus.
#[derive(Default)]
pub(super) struct Formula {
    pub asked: AtomicU64,
    watts: bool,
}

impl Evaluator for Formula {
    fn identity(&self) -> String {
        "formula".to_owned()
    }

    fn preparation(&self) -> Preparation {
        Preparation::default()
    }

    fn measure(&self, job: &Job, _: &AtomicBool) -> Result<Measurement, EvaluationError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let config = job.config;
        let channels = f64::from(config.bus.channels);
        let rate = f64::from(config.bus.rate_mts) * f64::from(config.bus.width_bytes);
        let order = match config.mapping.plane_order.name() {
            "PCWD" => 0.8,
            "CWDP" => 1.0,
            _ => 1.1,
        };
        let mut latency_ns = 20_000.0 + 1e6 / channels * order + 4e7 / rate;
        if job.trace.name == "other" {
            latency_ns = 20_000.0 + 500.0 * f64::from(config.bus.width_bytes) + 1e6 / channels;
        }
        let throughput_bps = 1e9 * channels.sqrt();
        let facts = RunFacts {
            latency_ns_mean: latency_ns,
            latency_ns_p99: 0,
            total_latency_ns_mean: latency_ns,
            bandwidth_bps: throughput_bps,
            seconds: 1.0,
            busy: Busy { dies: 0.1, channels: 0.0, link_down: 0.0, link_up: 0.0, dram: 0.0 },
            collections: 0,
            mapping_misses: 0,
            unwritten_share: 0.0,
            write_amplification: 1.0,
            never_fired: Vec::new(),
            requests: job.trace.requests().len() as u64,
            energy_j: None,
            average_watts: self.watts.then_some(channels),
            peak_watts: None,
        };
        let figures = Figures { latency_ns, throughput_bps };
        Ok(Measurement { figures, open: Some(facts.clone()), closed: Some(facts) })
    }
}

fn workload(name: &str) -> Workload {
    let request = |number: u64| Request {
        at: Nanos(number * 1_000),
        lba: Sectors(number * 8),
        sectors: 8,
        tenant: TenantId(0),
        op: Op::Read,
    };
    let trace = Trace::new(name, (0..100).map(request).collect());
    Workload { name: name.to_owned(), depth: 4, traces: vec![trace] }
}

pub(super) fn task() -> Task {
    let base = presets::load("intel-750").unwrap();
    Task {
        space: Space::autoblox().around(&base),
        limits: Limits::around(&base),
        base: base.check().unwrap(),
        target: workload("target"),
        others: vec![workload("other")],
        weights: Weights::default(),
        order: Vec::new(),
        seeds: Vec::new(),
        examples: Vec::new(),
    }
}

fn search(task: &Task, settings: &Settings, evaluator: &dyn Evaluator, threads: usize) -> Found {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let cached = CachedEvaluator::new(evaluator, None, &GO_ON, &|_| {});
        run(task, settings, &cached, &mut |_, _| {}).unwrap()
    })
}

pub(super) fn settings(algorithm: Algorithm, seed: u64) -> Settings {
    Settings { algorithm, seed, budget: 25.0, ..Settings::default() }
}

#[test]
fn every_algorithm_beats_the_baseline_and_keeps_every_limit() {
    let task = task();
    for algorithm in Algorithm::ALL {
        let found = search(&task, &settings(algorithm, 1), &Formula::default(), 2);
        let best = found.best();
        assert!(best.grade.unwrap() > 0.05, "{algorithm}: {:?}", best.grade);
        let mut points = BTreeSet::new();
        for trial in &found.trials {
            assert!(
                task.limits.check(&trial.config).is_ok(),
                "{algorithm}: trial {}",
                trial.number
            );
            assert_eq!(task.space.config(&task.base, &trial.point), *trial.config);
            // What was only raced may run in full later.
            let full = trial.target.is_some();
            assert!(!full || points.insert(&trial.point), "{algorithm}: {} again", trial.number);
        }
        let curve: Vec<f64> = found.curve.iter().map(|point| point.best_grade).collect();
        assert!(curve.windows(2).all(|pair| pair[0] <= pair[1]), "{algorithm}");
    }
}

#[test]
fn the_default_is_better_than_chance_at_the_same_budget() {
    let task = task();
    let grade = |algorithm, seed| {
        search(&task, &settings(algorithm, seed), &Formula::default(), 2).best().grade.unwrap()
    };
    let mean = |algorithm| (0..3).map(|seed| grade(algorithm, seed)).sum::<f64>() / 3.0;
    let (bayes, random) = (mean(Algorithm::Bayes), mean(Algorithm::Random));
    assert!(bayes > random + 0.05, "{bayes} {random}");
}

#[test]
fn threads_and_repetition_change_nothing() {
    let task = task();
    for algorithm in Algorithm::ALL {
        let path = |threads| -> Vec<(Point, Option<f64>)> {
            let found = search(&task, &settings(algorithm, 7), &Formula::default(), threads);
            found.trials.iter().map(|trial| (trial.point.clone(), trial.grade)).collect()
        };
        let one = path(1);
        assert_eq!(one, path(2), "{algorithm}");
        assert_eq!(one, path(8), "{algorithm}");
        let other = search(&task, &settings(algorithm, 8), &Formula::default(), 2);
        let other: Vec<Point> = other.trials.iter().map(|trial| trial.point.clone()).collect();
        let same: Vec<Point> = one.into_iter().map(|(point, _)| point).collect();
        assert_ne!(same, other, "{algorithm}: the seed decides nothing");
    }
}

#[test]
fn a_censored_trial_has_no_grade_and_its_others_were_not_run() {
    let task = task();
    for algorithm in Algorithm::ALL {
        let found = search(&task, &settings(algorithm, 3), &Formula::default(), 2);
        let mut censored = 0;
        for trial in &found.trials {
            let parts = (trial.target.is_some(), trial.others.is_some(), trial.grade.is_some());
            let expected = match trial.verdict {
                Verdict::Graded => (true, true, true),
                Verdict::Censored | Verdict::OverPower(_) => (true, false, false),
                Verdict::Raced | Verdict::Unfit(_) | Verdict::Screened => (false, false, false),
            };
            assert_eq!(parts, expected, "{algorithm}: {:?}", trial.verdict);
            censored += usize::from(trial.verdict == Verdict::Censored);
        }
        assert!(censored > 0, "{algorithm}: nothing was left out");
    }
}

#[test]
fn a_power_budget_binds() {
    let mut task = task();
    task.limits.constraints.power_budget_watts = Some(14.0);
    let evaluator = Formula { watts: true, ..Formula::default() };
    let found = search(&task, &settings(Algorithm::Bayes, 0), &evaluator, 2);
    assert!(found.best().average_watts.unwrap() <= 14.0);
    let over = |trial: &&Trial| matches!(trial.verdict, Verdict::OverPower(_));
    for trial in found.trials.iter().filter(over) {
        assert!(trial.average_watts.unwrap() > 14.0 && trial.grade.is_none());
    }
}

#[test]
fn what_memory_knows_is_judged_first() {
    let mut task = task();
    let mut known = (*task.base).clone();
    for (key, value) in [("bus.width_bytes", "2"), ("mapping.plane_order", "PCWD")] {
        ssdtune_model::set(&mut known, key, value).unwrap();
    }
    // Outside the space: passed over.
    let mut strange = known.clone();
    ssdtune_model::set(&mut strange, "flash.page_bytes", "8192").unwrap();
    task.seeds = vec![strange, known.clone()];
    let found = search(&task, &settings(Algorithm::Autoblox, 0), &Formula::default(), 1);
    assert_eq!((found.trials[1].origin, &*found.trials[1].config), ("memory", &known));
    assert_ne!(found.trials[2].origin, "memory");
}

#[test]
fn tuning_sets_follow_the_coefficients_and_keep_groups_together() {
    let mut task = task();
    let order = [
        ("bus.channels", 0.4),
        ("cache.capacity_bytes", -0.3),
        ("bus.rate_mts", 0.14),
        ("no.such", 0.1),
        ("gc.threshold", 0.01),
    ];
    let ordered = |(key, coefficient): &(&str, f64)| Ordered {
        key: (*key).to_owned(),
        coefficient: *coefficient,
    };
    task.order = order.iter().map(ordered).collect();
    let keys = |set: &Vec<usize>| -> Vec<&str> {
        set.iter().map(|axis| task.space.axes()[*axis].key()).collect()
    };
    let sets: Vec<Vec<&str>> = autoblox::tuning_sets(&task).iter().map(keys).collect();
    assert_eq!(sets.len(), 3, "{sets:?}");
    assert_eq!(sets[0].len(), 6 + 2);
    assert_eq!(sets[1], ["bus.rate_mts"]);
    assert_eq!(sets[2], ["gc.threshold"]);
    task.order.clear();
    assert_eq!(autoblox::tuning_sets(&task)[0].len(), task.space.axes().len());
}

#[test]
fn a_baseline_outside_the_limits_is_refused_with_the_reason() {
    let mut task = task();
    task.limits.constraints.max_chips = Some(59);
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let error = run(&task, &Settings::default(), &cached, &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("max_chips: 60 chips, at most 59"), "{error}");
    assert_eq!(evaluator.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn an_interruption_ends_a_search_with_what_it_is() {
    let (task, evaluator, stop) = (task(), Formula::default(), AtomicBool::new(true));
    let cached = CachedEvaluator::new(&evaluator, None, &stop, &|_| {});
    let outcome = run(&task, &Settings::default(), &cached, &mut |_, _| {});
    assert!(matches!(outcome, Err(SearchError::Measure(MeasureError::Interrupted))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is drawn or jumped to keeps the limits, and is canonical.
    #[test]
    fn moves_keep_every_limit(seed in any::<u64>(), reach in 0.05_f64..1.0) {
        let task = task();
        let base = task.space.point(&task.base).unwrap();
        let moves = Moves::new(&task, &base);
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
    let task = task();
    let found = search(&task, &settings(Algorithm::Bayes, 2), &Formula::default(), 2);
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(&task, &cached).unwrap();
    let graded: Vec<&Trial> = found.trials.iter().filter(|trial| trial.grade.is_some()).collect();
    let drives: Vec<CheckedConfig> = graded.iter().map(|trial| trial.config.clone()).collect();
    for (trial, own) in graded.iter().zip(objective.grade(&drives).unwrap()) {
        assert_eq!(trial.grade, Some(own.unwrap().grade));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever an optimiser proposes, what is repaired keeps every limit, and what keeps them already stays.
    #[test]
    fn any_point_is_repaired(shares in proptest::collection::vec(0.0..1.0_f64, 64)) {
        let task = task();
        let evaluator = Formula::default();
        let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
        let objective = Objective::new(&task, &cached).unwrap();
        let ranks = task.space.axes().iter().zip(&shares);
        let ranks = ranks.map(|(axis, share)| (axis.values().len() as f64 * share) as u16);
        let found = objective.repair(&Point(ranks.collect())).expect("there is a drive near it");
        prop_assert!(task.limits.check(&found.config).is_ok());
        let again = objective.repair(&found.point).expect("it keeps the limits");
        prop_assert_eq!(again.point, found.point);
    }
}
