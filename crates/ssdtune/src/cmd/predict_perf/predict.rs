//! `predict-perf predict`: what a model predicts for a workload.

use super::args::{ModelArg, WindowArgs, grid_points};
use crate::context::Context;
use crate::global::{real, whole};
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_predict::blackbox::{AnyModel, BatchLine, BlackBoxModel, Point, Prediction};
use std::path::{Path, PathBuf};

/// Arguments of `predict-perf predict`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "point", "points"])))]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArg,

    /// Predict every window of a trace.
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,

    /// Predict a workload by its characteristics, written as a point: w50-q16-W64k.r100-R4k.s16k is
    /// 50 % writes, 16 requests outstanding, writes of 64 KiB all at random, and reads of 4 KiB
    /// with 16 KiB left out between them (r0 is sequential).
    #[arg(long, value_name = "POINT", conflicts_with = "window")]
    point: Option<Point>,

    /// Predict every point of a grid, by its name or from a file that lists points; quickly, and
    /// without intervals.
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "window")]
    points: Option<String>,

    /// Requests outstanding, for a trace and a model of a closed loop.
    #[arg(long, value_name = "N", conflicts_with_all = ["point", "points"])]
    #[arg(value_parser = whole::<u32>(1..=4096))]
    depth: Option<u32>,

    /// Requests that arrive in a second, for a point and a model of an open loop. The load of the
    /// point (l) is then ignored.
    #[arg(long, value_name = "IOPS", conflicts_with_all = ["trace", "points"])]
    #[arg(value_parser = real(1e-3..=1e9))]
    rate: Option<f64>,

    #[command(flatten)]
    window: WindowArgs,
}

/// Predicts and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    match (&args.point, &args.points, &args.trace) {
        (Some(point), ..) => one(&args.model.read_any()?, point, args.rate, context),
        (_, Some(grid), _) => {
            let (model, points) = (args.model.read_any()?, grid_points(grid)?);
            let lines = context.pool()?.install(|| model.batch(&points)).map_err(Failure::usage)?;
            context.show(&lines, BatchLine::table(&lines))
        }
        (.., Some(path)) => windows(args, path, &args.model.read()?, context),
        _ => Err(Failure::usage(anyhow!("give --point, --points or --trace"))),
    }
}

/// Predicts a point.
fn one(model: &AnyModel, point: &Point, rate: Option<f64>, context: &Context) -> Outcome {
    let warn = |warnings: &[String]| {
        warnings.iter().filter(|_| !context.json()).for_each(|warning| context.warn(warning));
    };
    match model {
        AnyModel::Grid(model) => {
            let workload = model.characteristics(point, rate).map_err(Failure::usage)?;
            let prediction = model.predict(&workload);
            warn(&prediction.warnings);
            context.show(&prediction, model.text(&prediction))
        }
        AnyModel::Few(model) => {
            let prediction = model.predict(point, rate).map_err(Failure::usage)?;
            warn(&prediction.warnings);
            context.show(&prediction, prediction.text())
        }
    }
}

/// Predicts every window of a trace.
fn windows(args: &Args, path: &Path, model: &BlackBoxModel, context: &Context) -> Outcome {
    model.check_depth(args.depth).map_err(Failure::usage)?;
    let mut predictions = Vec::new();
    args.window.windows(path, context, |window| {
        let seen = model.see(&window, args.depth);
        predictions.extend(seen.map(|one| model.predict_window(&one)));
    })?;
    if predictions.is_empty() {
        return Err(Failure::input(anyhow!("{}: there is no window to predict", path.display())));
    }
    if !context.json() {
        let warnings = Prediction::examples(&predictions);
        warnings.iter().for_each(|warning| context.warn(format_args!("for example, {warning}")));
        model.doubt().iter().for_each(|doubt| context.warn(doubt));
    }
    context.show(&predictions, Prediction::table(&predictions))
}
