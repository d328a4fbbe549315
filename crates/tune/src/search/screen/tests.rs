use super::super::tests::{Formula, GO_ON, settings, task};
use super::super::{Algorithm, Found, Settings, Task, Verdict, run};
use super::{EXAMPLES_MAX, EXAMPLES_MIN, Screen, quantile};
use crate::evaluate::{CachedEvaluator, EvaluationError, Evaluator, Job, Measurement};
use crate::history;
use crate::memory::AutoDb;
use crate::memory::{ExampleQuery, training_examples};
use crate::search::{Objective, SearchError};
use crate::workload::{Trace, Workload};
use ssdtune_experiment::Preparation;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, TenantId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn quantiles_by_hand() {
    let all: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!(quantile(all.clone(), 0.98), 98.0);
    assert_eq!(quantile(all, 1.0), 100.0);
    assert_eq!(quantile(vec![3.0], 0.5), 3.0);
    assert_eq!(quantile(Vec::new(), 0.5), f64::INFINITY);
}

/// Requests by the pattern of a category; `variant` is another trace of it.
fn workload(name: &str, sectors: u32, variant: u64) -> Workload {
    let request = |number: u64| Request {
        at: Nanos(number * 1_000),
        lba: Sectors(number * 64),
        sectors,
        tenant: TenantId(0),
        op: Op::Read,
    };
    let trace = Trace::new(name, (0..100 + variant).map(request).collect());
    Workload { name: name.to_owned(), depth: 4, traces: vec![trace] }
}

/// Two workloads that AutoDB can tell apart.
fn variant(number: u64) -> Task {
    let (target, other) = (workload("target", 8, number), workload("other", 16, number));
    Task { target, others: vec![other], ..task() }
}

/// The search that is screened: on traces that AutoDB has not seen.
fn two() -> Task {
    variant(0)
}

/// Long enough for a top set that chance rarely reaches.
fn plain(algorithm: Algorithm) -> Settings {
    let budget = if algorithm == Algorithm::Random { 60.0 } else { 25.0 };
    Settings { budget, ..settings(algorithm, 5) }
}

fn screened(algorithm: Algorithm) -> Settings {
    Settings { screen: true, ..plain(algorithm) }
}

/// An AutoDB in which searches on other traces have left what they measured.
fn experienced(path: &std::path::Path) -> AutoDb {
    let db = AutoDb::open(path).unwrap();
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
    for (number, algorithm) in
        [(1, Algorithm::Random), (2, Algorithm::Random), (3, Algorithm::Bayes)]
    {
        let settings = Settings { budget: 100.0, ..settings(algorithm, number) };
        run(&variant(number), &settings, &cached, &mut |_, _| {}).unwrap();
    }
    db
}

/// The task with what AutoDB has to teach.
fn taught(db: &AutoDb) -> Task {
    let mut task = two();
    let query = ExampleQuery {
        base: &task.base,
        space: &task.space,
        evaluator: &Formula::default().identity(),
        generation: db.generation(),
        count_max: EXAMPLES_MAX,
    };
    task.examples = training_examples(db, &query).unwrap();
    task
}

fn search(task: &Task, settings: &Settings, threads: usize) -> (Found, u64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let evaluator = Formula::default();
    let found = pool.install(|| {
        let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
        run(task, settings, &cached, &mut |_, _| {}).unwrap()
    });
    (found, evaluator.asked.load(Ordering::Relaxed))
}

type Way = Vec<(crate::space::Point, Option<f64>, Option<f64>)>;

fn way(found: &Found) -> Way {
    found.trials.iter().map(|own| (own.point.clone(), own.grade, own.bound)).collect()
}

#[test]
fn who_knows_nothing_discards_nothing_and_says_so() {
    let task = two();
    for algorithm in Algorithm::ALL {
        let (with, _) = search(&task, &screened(algorithm), 2);
        let (without, _) = search(&task, &plain(algorithm), 2);
        assert_eq!(way(&with), way(&without), "{algorithm}");
        let report = with.screened.unwrap();
        assert_eq!((report.discarded, report.checked), (0, 0));
        let reason = match algorithm {
            Algorithm::Autoblox => "to learn from it",
            Algorithm::Bayes | Algorithm::Random => "0 evaluations",
        };
        assert!(report.idle.unwrap().contains(reason), "{algorithm}");
        assert_eq!(without.screened, None);
    }
}

#[test]
fn the_papers_algorithm_is_not_screened_whatever_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let task = taught(&experienced(&directory.path().join("db")));
    let (with, _) = search(&task, &screened(Algorithm::Autoblox), 2);
    let (without, _) = search(&task, &plain(Algorithm::Autoblox), 2);
    assert_eq!(way(&with), way(&without));
    assert_eq!(with.screened.unwrap().discarded, 0);
}

#[test]
fn plainly_bad_drives_are_hopeless_and_good_ones_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let task = taught(&experienced(&directory.path().join("db")));
    assert!(task.examples.len() >= EXAMPLES_MIN, "{}", task.examples.len());
    let screen = Screen::new(&task, &screened(Algorithm::Random)).unwrap();
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(&task, &cached).unwrap();
    let bound = |values: &[(&str, &str)]| {
        let values: BTreeMap<String, String> =
            values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let point = objective.point(&values).unwrap();
        screen.bound(&task, &task.space.config(&task.base, &point)).unwrap()
    };
    let slow = bound(&[("bus.channels", "4"), ("bus.rate_mts", "100")]);
    let fast = bound(&[("bus.channels", "32"), ("bus.rate_mts", "800")]);
    // The fewest channels of the slowest bus, against the most of the fastest.
    assert!(slow < fast - 0.2, "{slow} {fast}");
}

#[test]
fn what_is_discarded_would_not_have_won_and_is_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let task = taught(&experienced(&directory.path().join("db")));
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(&task, &cached).unwrap();
    for algorithm in [Algorithm::Bayes, Algorithm::Random] {
        let (with, fewer) = search(&task, &screened(algorithm), 2);
        let (without, more) = search(&task, &plain(algorithm), 2);
        let (with_best, without_best) = (with.best().grade.unwrap(), without.best().grade.unwrap());
        assert!(with_best > without_best - 0.01, "{algorithm}: {with_best}, was {without_best}");
        let report = with.screened.clone().unwrap();
        let out: Vec<_> =
            with.trials.iter().filter(|own| own.verdict == Verdict::Screened).collect();
        assert_eq!(out.len(), report.discarded);
        assert!(report.idle.is_none() && report.wrong <= report.checked, "{report:?}");
        // The default proposes little that is hopeless where a formula has no surprises.
        if algorithm == Algorithm::Random {
            assert!(!out.is_empty() && fewer < more, "{algorithm}: {fewer} of {more}, {report:?}");
        }
        for trial in out {
            assert!(trial.performance.is_none() && trial.prefix_performance.is_none());
            let truth = objective.grade(std::slice::from_ref(&trial.config)).unwrap().remove(0);
            let truth = truth.unwrap().grade;
            assert!(truth < with_best, "{algorithm}: trial {} has {truth}", trial.number);
        }
    }
}

#[test]
fn threads_do_not_change_what_is_discarded() {
    let directory = tempfile::tempdir().unwrap();
    let task = taught(&experienced(&directory.path().join("db")));
    for algorithm in Algorithm::ALL {
        let one = way(&search(&task, &screened(algorithm), 1).0);
        assert_eq!(one, way(&search(&task, &screened(algorithm), 3).0), "{algorithm}");
    }
}

/// A formula whose caller gives up after so many evaluations.
struct Impatient<'a> {
    formula: Formula,
    stop: &'a AtomicBool,
    after: u64,
}

impl Evaluator for Impatient<'_> {
    fn identity(&self) -> String {
        self.formula.identity()
    }

    fn preparation(&self) -> Preparation {
        self.formula.preparation()
    }

    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
        if self.formula.asked.load(Ordering::Relaxed) >= self.after {
            self.stop.store(true, Ordering::Relaxed);
            return Err(EvaluationError::Interrupted);
        }
        self.formula.measure(job, stop)
    }
}

/// What was stored in the meantime teaches a resumed search nothing.
#[test]
fn a_resumed_search_discards_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let db = experienced(&directory.path().join("db"));
    let settings = screened(Algorithm::Random);
    let identity = Formula::default().identity();
    let go = |after: u64, resume: bool| {
        let mut task = two();
        history::begin(&db, &mut task, &settings, &identity, resume).unwrap();
        let stop = AtomicBool::new(false);
        let evaluator = Impatient { formula: Formula::default(), stop: &stop, after };
        let cached = CachedEvaluator::new(&evaluator, Some(&db), &stop, &|_| {});
        (run(&task, &settings, &cached, &mut |_, _| {}), task.examples.len())
    };
    let (cut, before) = go(20, false);
    assert!(matches!(cut, Err(SearchError::Measure(_))));
    let (resumed, again) = go(u64::MAX, true);
    assert_eq!(before, again);
    let whole = search(&taught_as_of_start(&directory, &settings, &identity), &settings, 1).0;
    assert_eq!(way(&resumed.unwrap()), way(&whole));
    assert!(whole.screened.unwrap().discarded > 0);
    // Begun anew, it would know more.
    assert!(go(u64::MAX, false).1 > before);
}

/// The same search, prepared over an AutoDB with the same past that nobody else has used.
fn taught_as_of_start(directory: &tempfile::TempDir, settings: &Settings, identity: &str) -> Task {
    let db = experienced(&directory.path().join("another"));
    let mut task = two();
    history::begin(&db, &mut task, settings, identity, false).unwrap();
    task
}
