//! `ssdtune ablate`: one search for each value of α or β (AutoBlox, section 4.6).

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::table;
use crate::tuning::{self, Bounds, TuneArgs};
use anyhow::anyhow;
use serde::Serialize;
use ssdtune_tune::evaluate::CachedEvaluator;
use ssdtune_tune::search::{self, PriorKnowledge};
use ssdtune_tune::{Speedup, Task, Weights};

/// Arguments of `ssdtune ablate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The weight to vary: `alpha` (throughput against latency) or `beta` (others against the
    /// target).
    #[arg(value_enum)]
    weight: Weight,

    #[command(flatten)]
    tune: TuneArgs,

    /// Its values.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    #[arg(default_values_t = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])]
    values: Vec<f64>,

    /// Evaluations of the target that each search may spend.
    #[arg(long, value_name = "EVALS", default_value_t = 40)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,

    /// Requests of the prefix that candidates are raced on; 0 races nothing.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    prefix: u32,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Weight {
    Alpha,
    Beta,
}

/// One value.
#[derive(Serialize)]
struct Row {
    value: f64,
    grade: f64,
    target: Speedup,
    others_mean: Speedup,
    others_worst_latency: Option<f64>,
}

/// Searches for each value and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if let Some(wrong) = args.values.iter().find(|value| !(0.0..=1.0).contains(*value)) {
        return Err(Failure::usage(anyhow!("--values {wrong}: write numbers between 0 and 1")));
    }
    let job = args.tune.load(Bounds::Market, args.tune.weights(), context)?;
    let settings = tuning::settings(context, &args.tune, args.budget, args.prefix);
    let deferred = Deferred::new();
    let evaluator =
        CachedEvaluator::new(&*job.evaluator, job.db.as_ref(), deferred.flag(), &|_| {});
    let pool = tuning::pool(context)?;
    let mut rows = Vec::new();
    for value in &args.values {
        // As in the paper, no search knows what another has learned.
        let weights = match args.weight {
            Weight::Alpha => Weights { alpha: *value, ..job.task.weights },
            Weight::Beta => Weights { beta: *value, ..job.task.weights },
        };
        let task = Task { weights, ..job.task.clone() };
        let prior = PriorKnowledge::default();
        let found =
            pool.install(|| search::run(&task, &prior, &settings, &evaluator, &mut |_, _| {}));
        let found = found.map_err(tuning::failure)?;
        let best = found.best();
        let others = best.others.clone().unwrap_or_default();
        let worst = others.iter().map(|own| own.latency).min_by(f64::total_cmp);
        let row = Row {
            value: *value,
            grade: best.grade.unwrap_or(0.0),
            target: best.target.unwrap_or(Speedup { latency: 1.0, throughput: 1.0 }),
            others_mean: Speedup::mean(&others),
            others_worst_latency: worst,
        };
        if context.level() > Level::Quiet {
            anstream::eprintln!("{value}: grade {:.4}", row.grade);
        }
        rows.push(row);
    }
    match context.json() {
        true => context.document(&rows),
        false => show(args.weight, &rows, context),
    }
}

fn show(weight: Weight, rows: &[Row], context: &Context) -> Outcome {
    let name = match weight {
        Weight::Alpha => "alpha",
        Weight::Beta => "beta",
    };
    let headings = [
        name,
        "grade",
        "target latency",
        "target throughput",
        "others latency",
        "others throughput",
        "worst latency",
    ];
    let mut table = table::new(&headings);
    for row in rows {
        table.add_row([
            row.value.to_string(),
            format!("{:.4}", row.grade),
            format!("{:.2}x", row.target.latency),
            format!("{:.2}x", row.target.throughput),
            format!("{:.2}x", row.others_mean.latency),
            format!("{:.2}x", row.others_mean.throughput),
            row.others_worst_latency.map(|worst| format!("{worst:.2}x")).unwrap_or_default(),
        ]);
    }
    table.align_right(..);
    context.line(table)
}
