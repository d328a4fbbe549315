//! The figures of docs/results/search.md on screening: what `search --screen` saves, and whether it costs anything.
//!
//!     cargo run --release -p ssdtune-tune --example screening -- [FIRST SEED] [LAST SEED] [ALGORITHM,...] [TARGET,...]
//!
//! First an AutoDB learns: one search for each target, on traces of seeds that no pair uses. Then every pair of
//! searches, with and without screening, runs on traces of its own seed with the same options otherwise. A discarded
//! proposal counts against the budget as if it had run, so both make about as many proposals.

use ssdtune_model::presets;
use ssdtune_trace::workload::{Seed, SeedSet, bundled};
use ssdtune_tune::evaluate::{CachedEvaluator, Evaluator, InProcess};
use ssdtune_tune::grade::Weights;
use ssdtune_tune::limits::Limits;
use ssdtune_tune::memory::AutoDb;
use ssdtune_tune::memory::{ExampleQuery, training_examples};
use ssdtune_tune::search::{self, Algorithm, EXAMPLES_MAX, Screened, Settings, Task};
use ssdtune_tune::space::Space;
use ssdtune_tune::workload::{Trace, Workload, published_depth};
use std::error::Error;
use std::sync::atomic::AtomicBool;

const TARGETS: [&str; 3] = ["database", "websearch", "recomm"];
const REQUESTS: usize = 1_000;
const BUDGET: f64 = 20.0;
/// Seeds that AutoDB learned from.
const EXPERIENCE: [u64; 2] = [101, 102];

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seed = |at: usize, usual: u64| words.get(at).map_or(Ok(usual), |text| text.parse());
    let (first, last) = (seed(0, 2001)?, seed(1, 2010)?);
    let algorithms = words.get(2).map_or("bayes,random", String::as_str);
    let targets = words.get(3).map_or("database,websearch,recomm", String::as_str);
    let directory = tempfile::tempdir()?;
    let db = AutoDb::open(directory.path().join("db"))?;
    for seed in EXPERIENCE {
        for target in TARGETS {
            let (found, requests) =
                run(&task(target, seed)?, &settings(Algorithm::Bayes, seed), Some(&db))?;
            eprintln!("learned {target} {seed}: {} in {requests} requests", grade(&found));
        }
    }
    for algorithm in Algorithm::ALL {
        if algorithms.split(',').any(|name| name == algorithm.name()) {
            for target in TARGETS.iter().filter(|name| targets.split(',').any(|own| own == **name))
            {
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
        order: Vec::new(),
        seeds: Vec::new(),
        examples: Vec::new(),
    })
}

fn settings(algorithm: Algorithm, seed: u64) -> Settings {
    let patience = 100_000;
    Settings { algorithm, seed, budget: BUDGET, prefix: 0.2, patience, ..Settings::default() }
}

/// What was found, and the requests that were simulated for it, the baseline's excluded.
fn run(task: &Task, settings: &Settings, db: Option<&AutoDb>) -> Outcome<(search::Found, u64)> {
    let evaluator = InProcess::default();
    let cached = CachedEvaluator::new(&evaluator, db, &GO_ON, &|_| {});
    let found = search::run(task, settings, &cached, &mut |_, _| {})?;
    let baseline = found.curve.first().map_or(0, |point| point.requests);
    let requests = cached.counts().requests - baseline;
    Ok((found, requests))
}

fn grade(found: &search::Found) -> f64 {
    found.best().grade.unwrap_or(0.0)
}

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
    let (mut with_requests, mut without_requests, mut all) = (0, 0, Screened::default());
    for seed in seeds {
        let mut task = task(target, seed)?;
        let (without, plain) = run(&task, &settings(algorithm, seed), None)?;
        let query = ExampleQuery {
            base: &task.base,
            space: &task.space,
            evaluator: &InProcess::default().identity(),
            generation: db.generation(),
            count_max: EXAMPLES_MAX,
        };
        task.examples = training_examples(db, &query)?;
        let settings = Settings { screen: true, ..settings(algorithm, seed) };
        let (with, screened) = run(&task, &settings, None)?;
        let own = with.screened.clone().unwrap_or_default();
        println!(
            "| {target} | {seed} | {:.4} | {:.4} | {screened} | {plain} | {} of {} discarded, {} checked, {} \
             wrong, {} lessons |",
            grade(&with),
            grade(&without),
            own.discarded,
            with.trials.len() - 1,
            own.checked,
            own.wrong,
            own.lessons
        );
        gaps.push(grade(&with) - grade(&without));
        saved.push(1.0 - screened as f64 / plain as f64);
        (with_requests, without_requests) = (with_requests + screened, without_requests + plain);
        all.discarded += own.discarded;
        all.checked += own.checked;
        all.wrong += own.wrong;
    }
    let ((gap, gap_error), (share, share_error)) = (mean(&gaps), mean(&saved));
    println!(
        "\n{algorithm}, {target}: grade {gap:+.4} ± {gap_error:.4} over {} pairs; requests {with_requests} instead of \
         {without_requests}, {:.1} ± {:.1} % saved; {} discarded, {} checked, {} of them wrongly hopeless",
        gaps.len(),
        100.0 * share,
        100.0 * share_error,
        all.discarded,
        all.checked,
        all.wrong
    );
    Ok(())
}

/// The mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (square / count).sqrt())
}
