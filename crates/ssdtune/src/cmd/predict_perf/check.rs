//! `predict-perf check`: a model against the simulator, on windows of real traces.

use super::predict::{read, shown};
use super::sweep::HowArgs;
use super::{drive, read_model};
use crate::context::Context;
use crate::device::Overrides;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::read_args::ReadArgs;
use crate::{table, tuning};
use anyhow::anyhow;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_learn::metrics::ErrorReport;
use ssdtune_predict::blackbox::measure::{Bench, MeasureError};
use ssdtune_predict::blackbox::model::Target;
use ssdtune_predict::blackbox::results::Source;
use ssdtune_predict::blackbox::windows;
use ssdtune_trace::Request;
use std::path::PathBuf;

/// Arguments of `predict-perf check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A model made by `predict-perf fit`.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// The drive that the model is of.
    #[arg(long, value_name = "DEVICE")]
    device: String,

    #[command(flatten)]
    overrides: Overrides,

    /// Traces to cut into windows.
    #[arg(long, value_name = "TRACE", num_args = 1.., required = true)]
    trace: Vec<PathBuf>,

    /// Requests outstanding, for a model of a closed loop.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    depth: Option<u32>,

    /// At most so many windows of each trace, evenly over it.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,

    /// Requests of a window.
    #[arg(long, value_name = "N", default_value_t = windows::WINDOW_REQUESTS as u32, value_parser = clap::value_parser!(u32).range(10..))]
    window: u32,

    #[command(flatten)]
    how: HowArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// One window of a trace.
#[derive(Serialize)]
struct Line {
    trace: String,
    window: usize,
    latency_ns: f64,
    strong_ns: f64,
    tree_ns: f64,
    inside_interval: bool,
    warnings: usize,
}

#[derive(Serialize)]
struct Verdict {
    windows: usize,
    stronger: ErrorReport,
    tree: ErrorReport,
    inside_intervals: f64,
    outside_training: usize,
    lines: Vec<Line>,
}

/// Simulates the windows and compares.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let model = read_model(&args.model)?;
    if model.open == args.depth.is_some() {
        let problem = if model.open { "an open loop: leave out" } else { "a closed loop: give" };
        return Err(Failure::usage(anyhow!("the model is of {problem} --depth")));
    }
    let config = drive(&args.device, &args.overrides, context)?;
    let settings = args.how.settings(context);
    let asked = Source::simulated(&config, String::new(), settings, &[]);
    if asked.device_digest() != model.provenance.source.device_digest() {
        context.warn(format_args!(
            "the model is of {}, whose configuration is not that of {}",
            model.provenance.source.device(),
            config.name
        ));
    }
    let cells = cells(args, context)?;
    let deferred = Deferred::new();
    let bench = Bench { config: &config, settings, stop: deferred.flag() };
    let line = |(trace, number, window): &(String, usize, Vec<Request>)| {
        let Some(workload) = windows::characteristics(window, args.depth) else { return Ok(None) };
        let measured = windows::measure(&bench, window, args.depth)?;
        let said = model.predict(&workload);
        let inside = (said.strong[0].low..=said.strong[0].high).contains(&measured.latency_ns);
        Ok(Some(Line {
            trace: trace.clone(),
            window: number + 1,
            latency_ns: measured.latency_ns,
            strong_ns: said.strong[0].value,
            tree_ns: said.tree[0].value,
            inside_interval: inside,
            warnings: said.warnings.len(),
        }))
    };
    let found: Result<Vec<Option<Line>>, MeasureError> =
        tuning::pool(context)?.install(|| cells.par_iter().map(line).collect());
    let lines = found.map_err(|error| match error {
        MeasureError::Interrupted => Failure::Interrupted,
        other => Failure::Work(other.into()),
    })?;
    show(lines.into_iter().flatten().collect(), context)
}

/// The windows that are simulated.
fn cells(args: &Args, context: &Context) -> Outcome<Vec<(String, usize, Vec<Request>)>> {
    let mut cells = Vec::new();
    for path in &args.trace {
        let requests = read(path, &args.read, context)?;
        let all = windows::cut(&requests, args.window as usize);
        let step = all.len().div_ceil(args.windows as usize).max(1);
        let name =
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if all.is_empty() {
            context.warn(format_args!("{} fills no window of {}", path.display(), args.window));
        }
        let some = all.into_iter().enumerate().step_by(step);
        cells.extend(some.map(|(number, window)| (name.clone(), number, window)));
    }
    Ok(cells)
}

fn show(lines: Vec<Line>, context: &Context) -> Outcome {
    let truths: Vec<f64> = lines.iter().map(|line| line.latency_ns).collect();
    let of = |pick: fn(&Line) -> f64| {
        let found: Vec<f64> = lines.iter().map(pick).collect();
        ErrorReport::new(&truths, &found)
            .map_err(|error| Failure::input(anyhow!("no windows to compare: {error}")))
    };
    let verdict = Verdict {
        windows: lines.len(),
        stronger: of(|line| line.strong_ns)?,
        tree: of(|line| line.tree_ns)?,
        inside_intervals: lines.iter().filter(|line| line.inside_interval).count() as f64
            / lines.len() as f64,
        outside_training: lines.iter().filter(|line| line.warnings > 0).count(),
        lines,
    };
    if context.json() {
        return context.document(&verdict);
    }
    let mut table = table::new(&["trace", "window", "simulated", "stronger", "tree", ""]);
    for line in &verdict.lines {
        table.add_row([
            line.trace.clone(),
            line.window.to_string(),
            shown(Target::Latency, line.latency_ns),
            shown(Target::Latency, line.strong_ns),
            shown(Target::Latency, line.tree_ns),
            if line.warnings > 0 { "outside training" } else { "" }.to_owned(),
        ]);
    }
    context.line(table)?;
    context.line(format_args!(
        "{} windows, latency: MRE {:.3} (median {:.3}) for the stronger model, {:.3} (median {:.3}) for the tree; \
         {:.0} % inside the interval, {} outside the training range",
        verdict.windows,
        verdict.stronger.mre,
        verdict.stronger.relative_p50,
        verdict.tree.mre,
        verdict.tree.relative_p50,
        100.0 * verdict.inside_intervals,
        verdict.outside_training
    ))
}
