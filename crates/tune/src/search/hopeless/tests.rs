//! Tests of the filter of hopeless proposals.

use super::super::testing::{
    Formula, GO_ON, SEED, TASK, decisions, decisions_before_the_end, search, settings,
    shared_search, task_of,
};
use super::super::{
    Algorithm, BeginOptions, Found, Objective, PriorKnowledge, Settings, Verdict, begin, run,
};
use super::{EXAMPLES_MAX, EXAMPLES_MIN, HopelessFilter};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, EvaluationError, Evaluator, Job, Measurement};
use crate::memory::{AutoDb, ExampleQuery, OnConflict, RecordKind, training_examples};
use ssdtune_experiment::Preparation;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Settings of a search without the filter. Its budget is large enough for a top set that random
/// proposals rarely reach.
fn unfiltered(algorithm: Algorithm) -> Settings {
    match algorithm {
        Algorithm::Random => Settings { budget: 60.0, ..settings(algorithm, SEED) },
        Algorithm::Bayes | Algorithm::Autoblox => settings(algorithm, SEED),
    }
}

fn filtered(algorithm: Algorithm) -> Settings {
    Settings { discard_hopeless: true, ..unfiltered(algorithm) }
}

/// A search and the number of its evaluations.
type Counted = (Found, u64);

/// Runs a search of [`TASK`] and counts its evaluations.
fn counted(prior: &PriorKnowledge, settings: &Settings, threads: usize) -> Counted {
    let evaluator = Formula::default();
    let found = search(&TASK, prior, settings, &evaluator, threads);
    (found, evaluator.count.load(Ordering::Relaxed))
}

/// Random search without the filter.
static UNFILTERED_RANDOM: LazyLock<Counted> =
    LazyLock::new(|| counted(&PriorKnowledge::default(), &unfiltered(Algorithm::Random), 2));

/// A search without the filter.
fn unfiltered_search(algorithm: Algorithm) -> &'static Found {
    match algorithm {
        Algorithm::Random => &UNFILTERED_RANDOM.0,
        Algorithm::Bayes | Algorithm::Autoblox => shared_search(algorithm),
    }
}

/// A search with the filter, which has learned from [`EXPERIENCE`], on three threads.
fn filtered_search(algorithm: Algorithm) -> &'static Counted {
    fn found(algorithm: Algorithm) -> Counted {
        counted(&EXPERIENCE.prior, &filtered(algorithm), 3)
    }
    static BAYES: LazyLock<Counted> = LazyLock::new(|| found(Algorithm::Bayes));
    static AUTOBLOX: LazyLock<Counted> = LazyLock::new(|| found(Algorithm::Autoblox));
    static RANDOM: LazyLock<Counted> = LazyLock::new(|| found(Algorithm::Random));
    match algorithm {
        Algorithm::Bayes => &BAYES,
        Algorithm::Autoblox => &AUTOBLOX,
        Algorithm::Random => &RANDOM,
    }
}

/// What searches on other traces have left: an AutoDB, and what it teaches about [`TASK`].
struct Experience {
    /// The AutoDB as JSON lines.
    export: Vec<u8>,
    prior: PriorKnowledge,
}

/// It takes seconds to make, so tests share it.
static EXPERIENCE: LazyLock<Experience> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
    for (seed, algorithm) in [(1, Algorithm::Random), (2, Algorithm::Random), (3, Algorithm::Bayes)]
    {
        let budget = if algorithm == Algorithm::Random { 100.0 } else { 25.0 };
        let settings = Settings { budget, ..settings(algorithm, seed) };
        let prior = PriorKnowledge::default();
        run(&task_of(100 + seed), &prior, &settings, &cached, &mut |_, _| {}).unwrap();
    }
    let query = ExampleQuery {
        base: &TASK.base,
        space: &TASK.space,
        evaluator: &Formula::default().identity(),
        generation: db.generation(),
        count_max: EXAMPLES_MAX,
    };
    let examples = training_examples(&db, &query).unwrap();
    let mut export = Vec::new();
    db.export(&RecordKind::ALL, &mut export).unwrap();
    Experience { export, prior: PriorKnowledge { examples, ..PriorKnowledge::default() } }
});

#[test]
fn a_filter_that_knows_nothing_discards_nothing_and_says_so() {
    for algorithm in Algorithm::ALL {
        // A smaller budget ends a search earlier, but does not change how it begins.
        let short = Settings { budget: 12.0, ..filtered(algorithm) };
        let (with, _) = counted(&PriorKnowledge::default(), &short, 2);
        let without = unfiltered_search(algorithm);
        let begun = decisions_before_the_end(&with, &short);
        assert!(begun.len() > 10 && decisions(without).starts_with(&begun), "{algorithm}");
        let report = with.discard_report.unwrap();
        assert_eq!((report.discarded, report.checked), (0, 0));
        let reason = match algorithm {
            Algorithm::Autoblox => "to learn from it",
            Algorithm::Bayes | Algorithm::Random => "0 evaluations",
        };
        assert!(report.idle.unwrap().contains(reason), "{algorithm}");
        assert_eq!(without.discard_report, None);
    }
}

#[test]
fn the_papers_algorithm_is_not_filtered_whatever_is_known() {
    let (with, _) = filtered_search(Algorithm::Autoblox);
    assert_eq!(decisions(with), decisions(unfiltered_search(Algorithm::Autoblox)));
    assert_eq!(with.discard_report.as_ref().unwrap().discarded, 0);
}

#[test]
fn plainly_bad_drives_are_hopeless_and_good_ones_are_not() {
    let (task, prior) = (&*TASK, &EXPERIENCE.prior);
    assert!(prior.examples.len() >= EXAMPLES_MIN, "{}", prior.examples.len());
    let filter = HopelessFilter::new(task, &filtered(Algorithm::Random), &prior.examples).unwrap();
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(task, &cached).unwrap();
    let bound = |values: &[(&str, &str)]| {
        let values: BTreeMap<String, String> =
            values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let point = objective.point(&values).unwrap();
        filter.bound(task, &task.space.config(&task.base, &point)).unwrap()
    };
    // The fewest channels with the slowest bus, and the most channels with the fastest bus.
    let slow = bound(&[("bus.channels", "4"), ("bus.rate_mts", "100")]);
    let fast = bound(&[("bus.channels", "32"), ("bus.rate_mts", "800")]);
    assert!(slow < fast - 0.2, "{slow} {fast}");
}

#[test]
fn what_is_discarded_would_not_have_won_and_is_not_run() {
    let task = &*TASK;
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(task, &cached).unwrap();
    for algorithm in [Algorithm::Bayes, Algorithm::Random] {
        let (with, fewer) = filtered_search(algorithm);
        let without = unfiltered_search(algorithm);
        let (with_best, without_best) =
            (with.best().unwrap().grade.unwrap(), without.best().unwrap().grade.unwrap());
        assert!(with_best > without_best - 0.01, "{algorithm}: {with_best}, was {without_best}");
        let report = with.discard_report.clone().unwrap();
        let out: Vec<_> =
            with.trials.iter().filter(|trial| trial.verdict == Verdict::Hopeless).collect();
        assert_eq!(out.len(), report.discarded);
        assert!(report.idle.is_none() && report.wrong <= report.checked, "{report:?}");
        // The default algorithm proposes hardly any hopeless drives for so smooth a formula.
        if algorithm == Algorithm::Random {
            let more = &UNFILTERED_RANDOM.1;
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
    // The paper's algorithm is not filtered, and is tested without the filter.
    for algorithm in [Algorithm::Bayes, Algorithm::Random] {
        let (on_one, _) = counted(&EXPERIENCE.prior, &filtered(algorithm), 1);
        assert_eq!(decisions(&on_one), decisions(&filtered_search(algorithm).0), "{algorithm}");
    }
}

/// An evaluator that stops the search after a number of evaluations.
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
        if self.formula.count.load(Ordering::Relaxed) >= self.after {
            self.stop.store(true, Ordering::Relaxed);
            return Err(EvaluationError::Interrupted);
        }
        self.formula.measure(job, stop)
    }
}

/// A resumed search does not learn from what was stored after it began.
#[test]
fn a_resumed_search_discards_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    db.import(&mut &EXPERIENCE.export[..], OnConflict::Refuse).unwrap();
    let (task, settings) = (&*TASK, filtered(Algorithm::Random));
    let identity = Formula::default().identity();
    let (whole, _) = filtered_search(Algorithm::Random);
    let go = |after: u64, resume: bool| {
        let options = BeginOptions { resume, ..BeginOptions::default() };
        let prior = begin(&db, task, &settings, &identity, options).unwrap().prior;
        let stop = AtomicBool::new(false);
        let evaluator = Impatient { formula: Formula::default(), stop: &stop, after };
        let cached = CachedEvaluator::new(&evaluator, Some(&db), &stop, &|_| {});
        (run(task, &prior, &settings, &cached, &mut |_, _| {}), prior.examples.len())
    };
    let (cut, before) = go(20, false);
    assert!(matches!(cut, Err(TuneError::Measure(_))));
    let (resumed, again) = go(u64::MAX, true);
    assert_eq!(before, again);
    assert_eq!(decisions(&resumed.unwrap()), decisions(whole));
    assert!(whole.discard_report.as_ref().unwrap().discarded > 0);
    // A search that begins now learns from more examples.
    assert!(go(u64::MAX, false).1 > before);
}
