//! A study: how many simulations the filter of hopeless proposals (`search --screen`) saves, and
//! whether grades suffer. It prints the figures of docs/results/search.md.
//!
//!     cargo run --release -p ssdtune-tune --example screening -- \
//!         [FIRST SEED] [LAST SEED] [ALGORITHM,...] [TARGET,...]
//!
//! First, searches for each target fill an AutoDB, on traces of seeds that are not used again. Then
//! pairs of searches run, one with and one without the filter. Each pair has traces of its own seed
//! and equal options otherwise. A discarded proposal costs as much of the budget as if it had run,
//! so both searches make about as many proposals.

use ssdtune_model::presets;
use ssdtune_trace::workload::{Seed, SeedSet, bundled};
use ssdtune_tune::evaluate::{CachedEvaluator, Evaluator, InProcess};
use ssdtune_tune::limits::Limits;
use ssdtune_tune::memory::{AutoDb, ExampleQuery, training_examples};
use ssdtune_tune::search::{
    self, Algorithm, DiscardReport, EXAMPLES_MAX, PriorKnowledge, Settings,
};
use ssdtune_tune::space::Space;
use ssdtune_tune::workload::{Trace, Workload, published_depth};
use ssdtune_tune::{Task, Weights};
use std::error::Error;
use std::sync::atomic::AtomicBool;

const TARGETS: [&str; 3] = ["database", "websearch", "recomm"];
const REQUESTS: usize = 1_000;
const BUDGET: f64 = 20.0;
/// The seeds of the searches that fill AutoDB.
const EXPERIENCE: [u64; 2] = [101, 102];

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seed = |at: usize, usual: u64| words.get(at).map_or(Ok(usual), |text| text.parse());
    let (first, last) = (seed(0, 2001)?, seed(1, 2010)?);
    let is_chosen = |at: usize, usual: &str, name: &str| {
        words.get(at).map_or(usual, String::as_str).split(',').any(|word| word == name)
    };
    let directory = tempfile::tempdir()?;
    let db = AutoDb::open(directory.path().join("db"))?;
    for seed in EXPERIENCE {
        for target in TARGETS {
            let (task, settings) = (task(target, seed)?, settings(Algorithm::Bayes, seed));
            let found = run(&task, &PriorKnowledge::default(), &settings, Some(&db))?;
            eprintln!("learned {target} {seed}: {} in {} requests", found.grade, found.requests);
        }
    }
    for algorithm in Algorithm::ALL {
        for target in TARGETS {
            if is_chosen(2, "bayes,random", algorithm.name()) && is_chosen(3, target, target) {
                pairs(&db, algorithm, target, first..=last)?;
            }
        }
    }
    Ok(())
}

fn task(target: &str, seed: u64) -> Outcome<Task> {
    let base = presets::load("intel-750")?;
    let workload = |name: &str| -> Outcome<Workload> {
        let seed = Seed { set: SeedSet::Training, index: seed };
        let trace = Trace::of_model(&bundled(name)?, seed, REQUESTS)?;
        let (name, depth) = (name.to_owned(), published_depth(name));
        Ok(Workload { name, depth, traces: vec![trace] })
    };
    let others = TARGETS.iter().filter(|name| **name != target);
    Ok(Task {
        space: Space::autoblox().around(&base),
        limits: Limits::around(&base),
        base: base.check()?,
        target: workload(target)?,
        others: others.map(|name| workload(name)).collect::<Outcome<_>>()?,
        weights: Weights::default(),
        max_harm: None,
    })
}

fn settings(algorithm: Algorithm, seed: u64) -> Settings {
    let patience = 100_000;
    Settings { algorithm, seed, budget: BUDGET, prefix: 0.2, patience, ..Settings::default() }
}

/// The result of a search and its cost.
struct SearchFigures {
    grade: f64,
    proposals: usize,
    /// The number of requests simulated, without those for the baseline.
    requests: u64,
    report: DiscardReport,
}

fn run(
    task: &Task,
    prior: &PriorKnowledge,
    settings: &Settings,
    db: Option<&AutoDb>,
) -> Outcome<SearchFigures> {
    let evaluator = InProcess::default();
    let cached = CachedEvaluator::new(&evaluator, db, &GO_ON, &|_| {});
    let found = search::run(task, prior, settings, &cached, &mut |_, _| {})?;
    let baseline = found.curve.first().map_or(0, |point| point.requests);
    Ok(SearchFigures {
        grade: found.best().and_then(|best| best.grade).unwrap_or(0.0),
        proposals: found.trials.len() - 1,
        requests: cached.counts().requests - baseline,
        report: found.discard_report.unwrap_or_default(),
    })
}

/// Runs a pair of searches for each seed, and prints each pair and the mean of all.
fn pairs(
    db: &AutoDb,
    algorithm: Algorithm,
    target: &str,
    seeds: std::ops::RangeInclusive<u64>,
) -> Outcome {
    println!(
        "\n| {algorithm} | seed | grade with | without | requests with | without | screening |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (mut gaps, mut saved) = (Vec::new(), Vec::new());
    let (mut with_requests, mut without_requests, mut all) = (0, 0, DiscardReport::default());
    for seed in seeds {
        let task = task(target, seed)?;
        let nothing = PriorKnowledge::default();
        let without = run(&task, &nothing, &settings(algorithm, seed), None)?;
        let query = ExampleQuery {
            base: &task.base,
            space: &task.space,
            evaluator: &InProcess::default().identity(),
            generation: db.generation(),
            count_max: EXAMPLES_MAX,
        };
        let prior = PriorKnowledge { examples: training_examples(db, &query)?, ..nothing };
        let settings = Settings { discard_hopeless: true, ..settings(algorithm, seed) };
        let with = run(&task, &prior, &settings, None)?;
        let DiscardReport { examples, discarded, checked, wrong, .. } = with.report;
        println!(
            "| {target} | {seed} | {:.4} | {:.4} | {} | {} | {discarded} of {} discarded, \
             {checked} checked, {wrong} wrong, {examples} lessons |",
            with.grade, without.grade, with.requests, without.requests, with.proposals,
        );
        gaps.push(with.grade - without.grade);
        saved.push(1.0 - with.requests as f64 / without.requests as f64);
        with_requests += with.requests;
        without_requests += without.requests;
        all.discarded += discarded;
        all.checked += checked;
        all.wrong += wrong;
    }
    let ((gap, gap_error), (share, share_error)) = (mean(&gaps), mean(&saved));
    println!(
        "\n{algorithm}, {target}: grade {gap:+.4} ± {gap_error:.4} over {} pairs; requests \
         {with_requests} instead of {without_requests}, {:.1} ± {:.1} % saved; {} discarded, {} \
         checked, {} of them wrongly hopeless",
        gaps.len(),
        100.0 * share,
        100.0 * share_error,
        all.discarded,
        all.checked,
        all.wrong
    );
    Ok(())
}

/// The mean of some values, and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (square / count).sqrt())
}
