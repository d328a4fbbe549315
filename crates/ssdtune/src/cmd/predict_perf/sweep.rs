//! `predict-perf sweep`: measures a simulated drive at every point of a grid.

use super::args::{GridArgs, MeasureArgs, measure_failure, results_failure};
use crate::context::{Context, Level};
use crate::device::{self, Overrides};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::GrowingFile;
use crate::program::simulator;
use crate::progress::Progress;
use serde::Serialize;
use ssdtune_predict::blackbox::{ResultsFile, ResultsSource, SimulatedDrive, SweepError, sweep};
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
    measure: MeasureArgs,

    /// File of JSON lines for the results. If the file was begun by the same command, it is
    /// continued.
    #[arg(long, value_name = "FILE")]
    out: GrowingFile,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    source: &'a ResultsSource,
    points: usize,
    known_before: usize,
    file: String,
}

/// Measures the points that the file does not hold.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = device::load_checked(&args.device, &args.overrides, context)?;
    let points = args.grid.points(context)?;
    let settings = args.measure.settings(context)?;
    let source = ResultsSource::simulated(&config, simulator(), settings.clone(), &points);
    let store = ResultsFile::open(&args.out, source).map_err(results_failure)?;
    let known_before = store.results().rows.len();
    if known_before > 0 {
        context.note(format_args!("{known_before} of {} points are known", points.len()));
    }
    let deferred = Deferred::new();
    let drive = SimulatedDrive { config: &config, settings, stop: deferred.flag() };
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let done = AtomicUsize::new(known_before);
    let tell = |more: usize| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress.cell(0, done as f64 / points.len() as f64, 0);
    };
    let outcome = context.pool()?.install(|| sweep(&drive, &points, store, &tell));
    progress.finish();
    let file = args.out.display();
    let results = outcome.map_err(|error| match error {
        SweepError::Measure(error) => measure_failure(error),
        SweepError::Keep(error) => Failure::Work(error.into()),
    });
    if let Err(Failure::Interrupted) = results {
        context.note(format_args!("what was measured is in {file}; the same command goes on"));
    }
    let results = results?;
    let points = results.rows.len();
    if context.json() {
        let (source, file) = (&results.source, file.to_string());
        return context.document(&Document { source, points, known_before, file });
    }
    context.line(format_args!("{points} points of {} in {file}", results.source.device()))
}
