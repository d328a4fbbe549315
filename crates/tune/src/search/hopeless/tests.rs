//! Tests of the filter of hopeless proposals.

use super::super::testing::{Formula, GO_ON, decisions, search, settings, task_of};
use super::super::{
    Algorithm, BeginOptions, Found, Objective, PriorKnowledge, Settings, Verdict, begin, run,
};
use super::{EXAMPLES_MAX, EXAMPLES_MIN, HopelessFilter};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, EvaluationError, Evaluator, Job, Measurement};
use crate::memory::{AutoDb, ExampleQuery, training_examples};
use crate::task::Task;
use ssdtune_experiment::Preparation;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The search that is filtered: on traces that AutoDB has not seen.
fn task() -> Task {
    task_of(100)
}

/// Long enough for a top set that chance rarely reaches.
fn unfiltered(algorithm: Algorithm) -> Settings {
    let budget = if algorithm == Algorithm::Random { 60.0 } else { 25.0 };
    Settings { budget, ..settings(algorithm, 5) }
}

fn filtered(algorithm: Algorithm) -> Settings {
    Settings { discard_hopeless: true, ..unfiltered(algorithm) }
}

/// An AutoDB in which searches on other traces have left what they measured.
fn experienced(path: &Path) -> AutoDb {
    let db = AutoDb::open(path).unwrap();
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
    for (seed, algorithm) in [(1, Algorithm::Random), (2, Algorithm::Random), (3, Algorithm::Bayes)]
    {
        let settings = Settings { budget: 100.0, ..settings(algorithm, seed) };
        let prior = PriorKnowledge::default();
        run(&task_of(100 + seed), &prior, &settings, &cached, &mut |_, _| {}).unwrap();
    }
    db
}

/// What AutoDB has to teach about the task.
fn examples(db: &AutoDb) -> PriorKnowledge {
    let task = task();
    let query = ExampleQuery {
        base: &task.base,
        space: &task.space,
        evaluator: &Formula::default().identity(),
        generation: db.generation(),
        count_max: EXAMPLES_MAX,
    };
    let examples = training_examples(db, &query).unwrap();
    PriorKnowledge { examples, ..PriorKnowledge::default() }
}

/// What an experienced AutoDB has to teach. It takes seconds, so that tests share it.
static EXPERIENCE: LazyLock<PriorKnowledge> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    examples(&experienced(&directory.path().join("db")))
});

/// Searches, and counts evaluations.
fn counted(prior: &PriorKnowledge, settings: &Settings, threads: usize) -> (Found, u64) {
    let evaluator = Formula::default();
    let found = search(&task(), prior, settings, &evaluator, threads);
    (found, evaluator.count.load(Ordering::Relaxed))
}

#[test]
fn a_filter_that_knows_nothing_discards_nothing_and_says_so() {
    for algorithm in Algorithm::ALL {
        let nothing = PriorKnowledge::default();
        let (with, _) = counted(&nothing, &filtered(algorithm), 2);
        let (without, _) = counted(&nothing, &unfiltered(algorithm), 2);
        assert_eq!(decisions(&with), decisions(&without), "{algorithm}");
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
    let prior = &*EXPERIENCE;
    let (with, _) = counted(prior, &filtered(Algorithm::Autoblox), 2);
    let (without, _) = counted(prior, &unfiltered(Algorithm::Autoblox), 2);
    assert_eq!(decisions(&with), decisions(&without));
    assert_eq!(with.discard_report.unwrap().discarded, 0);
}

#[test]
fn plainly_bad_drives_are_hopeless_and_good_ones_are_not() {
    let (task, prior) = (task(), &*EXPERIENCE);
    assert!(prior.examples.len() >= EXAMPLES_MIN, "{}", prior.examples.len());
    let filter = HopelessFilter::new(&task, &filtered(Algorithm::Random), &prior.examples).unwrap();
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(&task, &cached).unwrap();
    let bound = |values: &[(&str, &str)]| {
        let values: BTreeMap<String, String> =
            values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let point = objective.point(&values).unwrap();
        filter.bound(&task, &task.space.config(&task.base, &point)).unwrap()
    };
    // The fewest channels of the slowest bus, against the most of the fastest.
    let slow = bound(&[("bus.channels", "4"), ("bus.rate_mts", "100")]);
    let fast = bound(&[("bus.channels", "32"), ("bus.rate_mts", "800")]);
    assert!(slow < fast - 0.2, "{slow} {fast}");
}

#[test]
fn what_is_discarded_would_not_have_won_and_is_not_run() {
    let (task, prior) = (task(), &*EXPERIENCE);
    let evaluator = Formula::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let objective = Objective::new(&task, &cached).unwrap();
    for algorithm in [Algorithm::Bayes, Algorithm::Random] {
        let (with, fewer) = counted(prior, &filtered(algorithm), 2);
        let (without, more) = counted(prior, &unfiltered(algorithm), 2);
        let (with_best, without_best) = (with.best().grade.unwrap(), without.best().grade.unwrap());
        assert!(with_best > without_best - 0.01, "{algorithm}: {with_best}, was {without_best}");
        let report = with.discard_report.clone().unwrap();
        let out: Vec<_> =
            with.trials.iter().filter(|own| own.verdict == Verdict::Hopeless).collect();
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
    let prior = &*EXPERIENCE;
    for algorithm in Algorithm::ALL {
        let one = decisions(&counted(prior, &filtered(algorithm), 1).0);
        assert_eq!(one, decisions(&counted(prior, &filtered(algorithm), 3).0), "{algorithm}");
    }
}

/// A formula whose caller gives up after a number of evaluations.
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

/// What was stored in the meantime teaches a resumed search nothing.
#[test]
fn a_resumed_search_discards_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let db = experienced(&directory.path().join("db"));
    let (task, settings) = (task(), filtered(Algorithm::Random));
    let identity = Formula::default().identity();
    let whole = search(&task, &examples(&db), &settings, &Formula::default(), 1);
    let go = |after: u64, resume: bool| {
        let options = BeginOptions { resume, ..BeginOptions::default() };
        let (_, prior) = begin(&db, &task, &settings, &identity, options).unwrap();
        let stop = AtomicBool::new(false);
        let evaluator = Impatient { formula: Formula::default(), stop: &stop, after };
        let cached = CachedEvaluator::new(&evaluator, Some(&db), &stop, &|_| {});
        (run(&task, &prior, &settings, &cached, &mut |_, _| {}), prior.examples.len())
    };
    let (cut, before) = go(20, false);
    assert!(matches!(cut, Err(TuneError::Measure(_))));
    let (resumed, again) = go(u64::MAX, true);
    assert_eq!(before, again);
    assert_eq!(decisions(&resumed.unwrap()), decisions(&whole));
    assert!(whole.discard_report.unwrap().discarded > 0);
    // Begun anew, it would know more.
    assert!(go(u64::MAX, false).1 > before);
}
