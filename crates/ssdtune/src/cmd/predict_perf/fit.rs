//! `predict-perf fit`: a model of measured points, and how good it is.

use super::args::results_failure;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::program::{command_line, simulator};
use anyhow::anyhow;
use ssdtune_predict::blackbox::{FitError, FitOptions, Results, fit_and_test};
use std::path::{Path, PathBuf};

/// Arguments of `predict-perf fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results of `predict-perf sweep` or `predict-perf import`.
    results: PathBuf,

    /// Points to learn from, drawn at random; the others test the model. The paper's number.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..))]
    train: u32,

    /// Results of another sweep of the drive, with another --seed. Half of its points make the
    /// intervals and half test: points of one sweep share their draws, so errors look small there.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,

    /// Results of `predict-perf sweep --workloads` of the drive: learn from them what windows of
    /// traces take, for `predict --trace` and `check`.
    #[arg(long, value_name = "FILE")]
    workloads: Option<PathBuf>,

    /// Folds of the cross-validation that chooses and that finds the intervals.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=20))]
    folds: u32,

    /// File for the model.
    #[arg(long, value_name = "FILE")]
    out: Option<OutFile>,
}

/// Fits, writes, prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let results = Results::read(&args.results).map_err(results_failure)?;
    let tests = args.test.as_deref().map(Results::read).transpose().map_err(results_failure)?;
    let options = FitOptions {
        train: args.train as usize,
        seed: context.seed().unwrap_or(0),
        folds: args.folds as usize,
        program: simulator(),
        command: command_line(),
    };
    let fitted = context.pool()?.install(|| fit_and_test(&results, tests.as_ref(), &options));
    let wrong =
        |path: &Path, error: FitError| Failure::input(anyhow!("{}: {error}", path.display()));
    let (mut model, mut report) = fitted.map_err(|error| wrong(&args.results, error))?;
    if let Some(path) = &args.workloads {
        let results = Results::read(path).map_err(results_failure)?;
        let learned = context.pool()?.install(|| model.learn_windows(&results, options.seed));
        report.windows = Some(learned.map_err(|error| wrong(path, error))?);
    }
    if let Some(path) = &args.out {
        outputs::write(path, model.to_json())?;
    }
    context.show(&report, report.text())
}
