//! `predict-perf sweep`: measures a simulated drive at every point of a grid.

use super::{GridArgs, drive, results_failure, simulator};
use crate::context::{Context, Level};
use crate::device::Overrides;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use crate::tuning;
use serde::Serialize;
use ssdtune_predict::blackbox::measure::{Bench, Effort, MeasureError, Settings, State};
use ssdtune_predict::blackbox::results::{Source, Store};
use ssdtune_predict::blackbox::sweep::{self, SweepError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Arguments of `predict-perf sweep`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The drive: a preset (`ssdtune config show` lists them), a TOML file, or an MQSim
    /// ssdconfig.xml.
    #[arg(long, value_name = "DEVICE")]
    device: String,

    #[command(flatten)]
    overrides: Overrides,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    how: HowArgs,

    /// File of JSON lines for the results. One that was begun by the same command is gone on with.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// How points are measured.
#[derive(Debug, clap::Args)]
pub(super) struct HowArgs {
    /// What the drive holds before each workload: nothing, every page written once in order, or
    /// every page and overwritten at random for ever.
    #[arg(long, value_enum, value_name = "STATE", default_value = "sequential")]
    pub(super) start: StartArg,

    /// Count as many requests as move so many pages of 4 KiB,
    #[arg(long, value_name = "N", default_value_t = Effort::default().pages, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pages: u64,

    /// but at most so many,
    #[arg(long, value_name = "N", default_value_t = Effort::default().requests_max, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    requests_max: u64,

    /// and at least so many,
    #[arg(long, value_name = "N", default_value_t = Effort::default().requests_min, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    requests_min: u64,

    /// and so many for each request outstanding.
    #[arg(long, value_name = "N", default_value_t = Effort::default().rounds, value_parser = clap::value_parser!(u64).range(0..=1 << 16))]
    rounds: u64,

    /// Requests before those that are counted, in percent of them.
    #[arg(long, value_name = "PERCENT", default_value_t = Effort::default().lead_in_percent, value_parser = clap::value_parser!(u64).range(0..=1000))]
    lead_in: u64,
}

/// What a drive holds.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum StartArg {
    /// Nothing.
    Empty,
    /// Every page, written once in order.
    Sequential,
    /// Every page, overwritten at random for ever.
    Steady,
}

impl HowArgs {
    /// The settings, with the seed of the command line.
    pub(super) fn settings(&self, context: &Context) -> Settings {
        let state = match self.start {
            StartArg::Empty => State::Empty,
            StartArg::Sequential => State::Sequential,
            StartArg::Steady => State::Steady,
        };
        let effort = Effort {
            pages: self.pages,
            requests_max: self.requests_max,
            requests_min: self.requests_min,
            rounds: self.rounds,
            lead_in_percent: self.lead_in,
        };
        Settings { state, effort, seed: context.seed().unwrap_or(0) }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    source: &'a Source,
    points: usize,
    known_before: usize,
    file: String,
}

/// Measures what is not known yet.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = drive(&args.device, &args.overrides, context)?;
    let points = args.grid.points(context)?;
    let settings = args.how.settings(context);
    let source = Source::simulated(&config, simulator(), settings, &points);
    let store = Store::open(&args.out, source).map_err(results_failure)?;
    let known_before = store.results().rows.len();
    if known_before > 0 {
        context.note(format_args!("{known_before} of {} points are known", points.len()));
    }
    let deferred = Deferred::new();
    let bench = Bench { config: &config, settings, stop: deferred.flag() };
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let done = AtomicUsize::new(known_before);
    let tell = |more: usize| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress.cell(0, done as f64 / points.len() as f64, 0);
    };
    let pool = tuning::pool(context)?;
    let outcome = pool.install(|| sweep::run(&bench, &points, store, &tell));
    progress.finish();
    let results = outcome.map_err(|error| failure(error, &args.out, context))?;
    if context.json() {
        let file = args.out.display().to_string();
        let points = results.rows.len();
        return context.document(&Summary { source: &results.source, points, known_before, file });
    }
    context.line(format_args!(
        "{} points of {} in {}",
        results.rows.len(),
        results.source.device(),
        args.out.display()
    ))
}

fn failure(error: SweepError, out: &std::path::Path, context: &Context) -> Failure {
    match error {
        SweepError::Measure(MeasureError::Interrupted) => {
            let file = out.display();
            context.note(format_args!("what was measured is in {file}; the same command goes on"));
            Failure::Interrupted
        }
        SweepError::Measure(error) => Failure::Work(error.into()),
        SweepError::Keep(error) => Failure::Work(error.into()),
    }
}
