//! `predict-perf predict`: what a model says of a workload.

use super::read_model;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::read_args::{ReadArgs, open_input, warn_of_skipped};
use crate::table;
use anyhow::anyhow;
use ssdtune_predict::blackbox::features::Characteristics;
use ssdtune_predict::blackbox::model::{Estimate, Model, Prediction, Target};
use ssdtune_predict::blackbox::point::{Load, Point};
use ssdtune_predict::blackbox::windows;
use ssdtune_trace::Source;
use std::path::PathBuf;

/// Arguments of `predict-perf predict`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "point"])))]
pub(crate) struct Args {
    /// A model made by `predict-perf fit`.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Predict every window of a trace.
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,

    /// Predict a workload by its characteristics, written as a point: w50-q16-W64k.r100-R4k.s16k is
    /// 50 % writes, 16 outstanding, writes of 64 KiB all random, reads of 4 KiB with 16 KiB left
    /// out between them (r0 is sequential).
    #[arg(long, value_name = "POINT")]
    point: Option<Point>,

    /// Requests outstanding, for a trace and a model of a closed loop.
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u32).range(1..=4096))]
    depth: Option<u32>,

    /// Requests that arrive in a second, for a point and a model of an open loop (its l is then
    /// ignored).
    #[arg(long, value_name = "IOPS", requires = "point", value_parser = rate)]
    rate: Option<f64>,

    /// Requests of a window.
    #[arg(long, value_name = "N", default_value_t = windows::WINDOW_REQUESTS as u32, value_parser = clap::value_parser!(u32).range(10..))]
    window: u32,

    #[command(flatten)]
    read: ReadArgs,
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (1e-3..=1e9).contains(number));
    number.ok_or_else(|| "write a number of requests a second, 0.001 to 1e9".to_owned())
}

/// Predicts and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let model = read_model(&args.model)?;
    match (&args.point, &args.trace) {
        (Some(point), _) => one(&model, point, args.rate, context),
        (None, Some(path)) => {
            let workloads = of_trace(args, path, &model, context)?;
            several(&model, &workloads, context)
        }
        (None, None) => Err(Failure::usage(anyhow!("give --point or --trace"))),
    }
}

fn one(model: &Model, point: &Point, rate: Option<f64>, context: &Context) -> Outcome {
    let workload = match (model.open, point.load(), rate) {
        (true, _, Some(rate)) => {
            Characteristics::of_point(&point.with_load(Load::Percent(100)), Some(rate))
        }
        (true, _, None) => {
            return Err(Failure::usage(anyhow!("the model is of an open loop: give --rate IOPS")));
        }
        (false, Load::Depth(_), None) => Characteristics::of_point(point, None),
        (false, _, _) => {
            let problem =
                "the model is of a closed loop: give a point with a depth (q), and no --rate";
            return Err(Failure::usage(anyhow!(problem)));
        }
    };
    let prediction = model.predict(&workload);
    if context.json() {
        return context.document(&prediction);
    }
    for warning in &prediction.warnings {
        context.warn(warning);
    }
    let mut table = table::new(&["", "stronger model", "9 in 10", "tree", "9 in 10"]);
    for (at, target) in Target::ALL.into_iter().enumerate() {
        let (strong, tree) = (&prediction.strong[at], &prediction.tree[at]);
        let between =
            |e: &Estimate| format!("{} to {}", shown(target, e.low), shown(target, e.high));
        table.add_row([
            target.name().to_owned(),
            shown(target, strong.value),
            between(strong),
            shown(target, tree.value),
            between(tree),
        ]);
    }
    context.line(table)?;
    context.line("the tree's way to the latency (ns):")?;
    let lines = model.explain(Target::Latency, &workload);
    lines.iter().try_for_each(|line| context.line(format_args!("  {line}")))
}

fn of_trace(
    args: &Args,
    path: &std::path::Path,
    model: &Model,
    context: &Context,
) -> Outcome<Vec<Characteristics>> {
    if model.open == args.depth.is_some() {
        let problem = match model.open {
            true => "the model is of an open loop: leave out --depth, the trace has its own times",
            false => "the model is of a closed loop: give --depth",
        };
        return Err(Failure::usage(anyhow!(problem)));
    }
    let requests = read(path, &args.read, context)?;
    let workloads: Vec<Characteristics> = windows::cut(&requests, args.window as usize)
        .iter()
        .filter_map(|window| windows::characteristics(window, args.depth))
        .collect();
    if workloads.is_empty() {
        return Err(Failure::input(anyhow!(
            "{}: {} requests fill no window of {}: give a smaller --window",
            path.display(),
            requests.len(),
            args.window
        )));
    }
    Ok(workloads)
}

/// All requests of a trace.
pub(super) fn read(
    path: &std::path::Path,
    how: &ReadArgs,
    context: &Context,
) -> Outcome<Vec<ssdtune_trace::Request>> {
    let mut source = open_input(path, &how.options()?).map_err(Failure::input)?.source;
    let mut requests = Vec::new();
    while source.fill(&mut requests).map_err(Failure::input)? > 0 {}
    warn_of_skipped(&source.read_stats(), context);
    Ok(requests)
}

fn several(model: &Model, workloads: &[Characteristics], context: &Context) -> Outcome {
    let predictions: Vec<Prediction> = workloads.iter().map(|one| model.predict(one)).collect();
    if context.json() {
        return context.document(&predictions);
    }
    let mut table =
        table::new(&["window", "writes", "latency", "9 in 10", "IOPS", "bandwidth", ""]);
    for (number, prediction) in predictions.iter().enumerate() {
        let [latency, iops, bandwidth] = prediction.strong;
        let note = if prediction.warnings.is_empty() { "" } else { "outside training" };
        table.add_row([
            (number + 1).to_string(),
            format!("{:.0} %", 100.0 * prediction.workload.extended.rw_ratio),
            shown(Target::Latency, latency.value),
            format!(
                "{} to {}",
                shown(Target::Latency, latency.low),
                shown(Target::Latency, latency.high)
            ),
            shown(Target::Iops, iops.value),
            shown(Target::Bandwidth, bandwidth.value),
            note.to_owned(),
        ]);
    }
    context.line(table)?;
    let mut said: Vec<&String> = predictions.iter().flat_map(|one| &one.warnings).collect();
    said.sort();
    said.dedup_by_key(|warning| warning.split(" = ").next());
    said.iter().for_each(|warning| context.warn(format_args!("for example, {warning}")));
    Ok(())
}

/// A target as people read it.
pub(super) fn shown(target: Target, value: f64) -> String {
    match target {
        Target::Latency if value < 1e4 => format!("{value:.0} ns"),
        Target::Latency if value < 1e7 => format!("{:.1} us", value / 1e3),
        Target::Latency => format!("{:.1} ms", value / 1e6),
        Target::Iops => format!("{value:.0}"),
        Target::Bandwidth => format!("{:.1} MB/s", value / 1e6),
    }
}
