//! `predict-perf fit`: a model of measured points, and how good it is.

use super::{command_line, read_results, simulator};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::{table, tuning};
use anyhow::Context as _;
use ssdtune_predict::blackbox::fit::{FitOptions, FitReport, fit};
use ssdtune_predict::blackbox::model::Target;
use std::path::PathBuf;

/// Arguments of `predict-perf fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results of `predict-perf sweep` or `predict-perf import`.
    results: PathBuf,

    /// Points to learn from, drawn at random; the others test. The paper's number.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(100..))]
    train: u32,

    /// Folds of the cross-validation that chooses and that finds the intervals.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=20))]
    folds: u32,

    /// File for the model.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Fits, writes, prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let results = read_results(&args.results)?;
    let options = FitOptions {
        train: args.train as usize,
        seed: context.seed().unwrap_or(0),
        folds: args.folds as usize,
        program: simulator(),
        command: command_line(),
    };
    let fitted = tuning::pool(context)?.install(|| fit(&results, &options));
    let (model, report) = fitted
        .map_err(|error| Failure::input(anyhow::anyhow!("{}: {error}", args.results.display())))?;
    if let Some(path) = &args.out {
        std::fs::write(path, model.to_json())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match context.json() {
        true => context.document(&report),
        false => show(&report, context),
    }
}

fn show(report: &FitReport, context: &Context) -> Outcome {
    let kind = if report.open { "open loop" } else { "closed loop" };
    context.line(format_args!(
        "{}, {kind}: learned from {} points, tested on {}",
        report.device, report.trained_on, report.tested_on
    ))?;
    let mut table = table::new(&[
        "model", "target", "from", "MRE", "MAPE", "R2", "p90", "leaves", "fit", "predict", "recipe",
    ]);
    for entry in &report.entries {
        // What is offered is what is served: no news.
        if report.open && entry.target != Target::Latency {
            continue;
        }
        table.add_row([
            entry.model.to_owned(),
            entry.target.name().to_owned(),
            if entry.derived { "latency" } else { "itself" }.to_owned(),
            format!("{:.3}", entry.error.mre),
            format!("{:.1} %", entry.error.mape_percent),
            format!("{:.3}", entry.error.r2),
            format!("{:.3}", entry.error.relative_p90),
            entry.leaves.to_string(),
            format!("{:.2} s", entry.fit_seconds),
            format!("{:.0} ns", entry.predict_ns),
            entry.recipe.clone(),
        ]);
    }
    context.line(table)?;
    for coverage in &report.coverage {
        context.line(format_args!(
            "intervals of the {}: {:.1} % of the latencies inside (90 % are meant to be), upper end {:.2} times \
             the lower",
            coverage.model,
            100.0 * coverage.inside,
            coverage.width
        ))?;
    }
    let shares =
        report.importance.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
    context.line(format_args!("what latency depends on: {}", shares.collect::<Vec<_>>().join(", ")))
}
