//! A whole search: tunes a drive for one workload without hurting another, checks the result on
//! requests that no decision has seen, and says which changes matter.
//!
//! Run it with `cargo run --release -p ssdtune-tune --example search -- [DIRECTORY]`. It takes some
//! seconds. With a directory, evaluations are kept there in an AutoDB: repeated or interrupted, the
//! search simulates nothing twice.

use ssdtune_model::presets;
use ssdtune_trace::workload::{Seed, SeedSet, bundled};
use ssdtune_tune::evaluate::Evaluator as _;
use ssdtune_tune::recommend::{Options, Pick, parameter_lines, recommend};
use ssdtune_tune::search::{self, BeginOptions};
use ssdtune_tune::workload::published_depth;
use ssdtune_tune::{
    AutoDb, CachedEvaluator, InProcess, Limits, MaxHarm, PriorKnowledge, Settings, Space, Task,
    Trace, Weights, Workload,
};
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// The first 1,000 requests of a bundled model. Each set of seeds gives other requests.
fn workload(name: &str, set: SeedSet) -> Result<Workload, Box<dyn Error>> {
    let trace = Trace::of_model(&bundled(name)?, Seed { set, index: 0 }, 1_000)?;
    Ok(Workload { name: name.to_owned(), depth: published_depth(name), traces: vec![trace] })
}

fn main() -> Result<(), Box<dyn Error>> {
    let base = presets::load("intel-750")?;
    let task = Task {
        space: Space::autoblox().around(&base),
        limits: Limits::around(&base),
        base: base.check()?,
        target: workload("database", SeedSet::Training)?,
        others: vec![workload("websearch", SeedSet::Training)?],
        weights: Weights::default(),
        // The other workload may lose 2 %, judged on requests that no proposal learns from.
        max_harm: Some(MaxHarm {
            share: 0.02,
            validation: vec![workload("websearch", SeedSet::Validation)?],
        }),
    };
    let settings = Settings { budget: 20.0, ..Settings::default() };

    let directory = std::env::args().nth(1);
    let db = directory.map(AutoDb::open).transpose()?;
    let simulator = InProcess::default();
    // Ctrl-C handlers and the like set this flag to end a search early.
    let stop = AtomicBool::new(false);
    let evaluator = CachedEvaluator::new(&simulator, db.as_ref(), &stop, &|_| {});

    // `begin` notes how the search begins, so that it can be resumed, and looks up what earlier
    // searches have stored for this target.
    let prior = match &db {
        Some(db) => {
            let options = BeginOptions::default();
            search::begin(db, &task, &settings, &simulator.identity(), options)?.prior
        }
        None => PriorKnowledge::default(),
    };
    let found = search::run(&task, &prior, &settings, &evaluator, &mut |trial, progress| {
        if let Some(best) = progress.best_grade.filter(|best| trial.grade == Some(*best)) {
            println!("evaluation {:4.1}: best grade {best:.3}", progress.spent);
        }
    })?;
    println!("{} trials; {}\n", found.trials.len() - 1, found.ended);

    let held_out =
        vec![workload("database", SeedSet::HeldOut)?, workload("websearch", SeedSet::HeldOut)?];
    let options = Options { held_out: Some(held_out), name: "tuned".to_owned(), pick: Pick::Knee };
    let result = recommend(&task, &settings, &found, &evaluator, &options)?;
    let table = result.held_out.as_ref().ok_or("held-out traces were given")?;
    for row in std::iter::once(&table.target).chain(&table.others) {
        let (name, speedup) = (&row.workload, row.speedup);
        println!("{name}: latency {:.2}x, throughput {:.2}x", speedup.latency, speedup.throughput);
    }
    for [key, before, after] in parameter_lines(&result) {
        println!("{key}: {before} -> {after}");
    }
    if let Some(greatest) = result.importance.first() {
        println!("what matters most: {}", greatest.keys.join(", "));
    }
    Ok(())
}
