//! `predict-perf fit`: a model of measured points, and how good it is.

use super::args::results_failure;
use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::program::{command_line, simulator};
use anyhow::anyhow;
use ssdtune_predict::blackbox::{
    DriveModel, FEW_MIN, FitError, FitOptions, GRID_TRAIN, Results, fit_and_test, fit_few,
};
use std::path::{Path, PathBuf};

/// Arguments of `predict-perf fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results of `predict-perf sweep` or `predict-perf import`.
    results: PathBuf,

    /// Points to learn from, drawn at random; the others test the model. Default: 2,000, the
    /// paper's number. A real drive of which fewer are known gets a model of few points: it learns
    /// from all, and its errors are those of learning from N of them (default: a third).
    #[arg(long, value_name = "N", value_parser = whole::<u32>(5..))]
    train: Option<u32>,

    /// Models of few points of other drives: begin with what is known of the one that is most like
    /// this drive, if one is. Of use where 5 to 20 points are known.
    #[arg(long, value_name = "MODEL", num_args = 1.., conflicts_with_all = ["test", "workloads"])]
    like: Vec<PathBuf>,

    /// Results of another sweep of the drive, with another --seed. Half of its points make the
    /// intervals and half test: points of one sweep share their draws, so errors look small there.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,

    /// Results of `predict-perf sweep --workloads` of the drive: learn from them what windows of
    /// traces take, for `predict --trace` and `check`.
    #[arg(long, value_name = "FILE")]
    workloads: Option<PathBuf>,

    /// Folds of the cross-validation that chooses and that finds the intervals.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(2..=20))]
    folds: u32,

    /// File for the model.
    #[arg(long, value_name = "FILE")]
    out: Option<OutFile>,
}

/// Fits, writes, prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let results = Results::read(&args.results).map_err(results_failure)?;
    let tests = args.test.as_deref().map(Results::read).transpose().map_err(results_failure)?;
    let train = args.train.map(|count| count as usize);
    let is_few = results.are_few(train);
    let usual = if is_few { (results.rows.len() / 3).max(FEW_MIN) } else { GRID_TRAIN };
    let options = FitOptions {
        train: train.unwrap_or(usual),
        seed: context.seed().unwrap_or(0),
        folds: args.folds as usize,
        program: simulator(),
        command: command_line(),
    };
    if is_few || !args.like.is_empty() {
        return few(&results, &options, args, context);
    }
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

/// The same for a real drive of which few points are known.
fn few(results: &Results, options: &FitOptions, args: &Args, context: &Context) -> Outcome {
    if args.test.is_some() || args.workloads.is_some() {
        let reason = "--test and --workloads are for models that learn from a grid";
        return Err(Failure::usage(anyhow!("{reason}: here are {} points", results.rows.len())));
    }
    let read = |path: &PathBuf| DriveModel::read(path).map_err(Failure::input);
    let others: Vec<DriveModel> = args.like.iter().map(read).collect::<Outcome<_>>()?;
    let fitted = context.pool()?.install(|| fit_few(results, &others, options));
    let wrong = |error: FitError| anyhow!("{}: {error}", args.results.display());
    let (model, report) = fitted.map_err(|error| Failure::input(wrong(error)))?;
    args.out.iter().try_for_each(|path| outputs::write(path, model.to_json()))?;
    context.show(&report, report.text())
}
