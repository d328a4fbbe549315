//! `ssdtune simulate`: what a drive does with a workload.
//!
//! Every combination of a workload and a point of the sweep is one simulation, called a cell. Cells
//! run on all threads and are printed in their order. `docs/simulate.md` explains the command,
//! `docs/results-schema.md` the JSON.

mod allocator;
mod former;
mod plan;

use crate::context::{Context, Level};
use crate::device::{self, Override, Overrides};
use crate::failure_document::FailureDocument;
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{OutFile, OutPlace};
use crate::preparation::PreparationArgs;
use crate::progress::Progress;
use crate::read_args::StrictArg;
use plan::PlannedRun;
use rayon::prelude::*;
use ssdtune_experiment::livepoints::SampleOptions;
use ssdtune_experiment::sampled::{SampledCells, SampledError};
use ssdtune_experiment::{
    AddressFit, CellOptions, CellResult, CellsDocument, ChannelList, ExperimentError, Observer,
    Origin, RecorderOptions, RunOptions,
};
use ssdtune_keeper::{AllocatorObserver, Decision, decisions_line};
use ssdtune_model::{Nanos, given};
use ssdtune_predict::{FirmwareModel, FirmwareObserver, FirmwareReport};
use ssdtune_report::Text;
use ssdtune_sim::{Ending, Replay};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Arguments of `ssdtune simulate`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "workload", "mqsim"])))]
// The former --warm-up was made for drives that start empty.
#[command(mut_arg("start", |start| {
    start.default_value_if("warm_up", clap::builder::ArgPredicate::IsPresent, "empty")
}))]
pub(crate) struct Args {
    /// The drive: a preset (`ssdtune config show` lists them), a TOML file, or an MQSim
    /// ssdconfig.xml.
    #[arg(long, value_name = "DEVICE")]
    #[arg(conflicts_with = "mqsim", required_unless_present = "mqsim")]
    device: Option<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// Simulate a drive for each of these values. Given more than once, every combination of values
    /// is simulated.
    #[arg(long, value_name = "KEY=A,B,C")]
    sweep: Vec<Override>,

    /// Replay trace files; `-` is standard input. Without --tenants each runs on a drive of its
    /// own.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trace: Vec<PathBuf>,

    /// Format of the traces; `ssdtune trace formats` lists them. Default: the format is found by
    /// the content.
    #[arg(long, value_name = "NAME", requires = "trace")]
    format: Option<String>,

    /// Skip lines of the traces that cannot be read, instead of stopping at the first.
    #[arg(long, requires = "trace")]
    lenient: bool,

    #[command(flatten)]
    strict: StrictArg,

    /// Run a bundled workload model (`ssdtune trace models` lists them) or a model file.
    #[arg(long, value_name = "NAME|FILE.toml")]
    #[arg(conflicts_with_all = ["trace", "tenants", "format", "lenient"])]
    workload: Option<String>,

    /// Run a pair of MQSim's files as MQSim does, with its peculiarities (`compat`).
    #[arg(long, num_args = 2, value_names = ["SSD.xml", "WORKLOAD.xml"])]
    #[arg(conflicts_with_all = ["trace", "workload", "tenants", "replay", "format", "lenient"])]
    #[arg(conflicts_with_all = ["start", "age", "erases"])]
    mqsim: Vec<PathBuf>,

    /// Run all traces on one drive. Each is a tenant with an address space of its own.
    #[arg(long, requires = "trace")]
    tenants: bool,

    /// Channels of a tenant, as in 0-3 or 0,2,5. Give it once for each tenant, in their order.
    #[arg(long, value_name = "LIST", requires = "tenants")]
    channels: Vec<ChannelList>,

    #[command(flatten)]
    allocator: allocator::AllocatorArgs,

    /// Also run each tenant alone on the same drive, and print how much sharing slows each one down
    /// and how fair that is.
    #[arg(long)]
    slowdown: bool,

    /// When requests are submitted: at their own times (open), or always N at once (closed:N).
    #[arg(long, value_name = "open|closed:N", default_value = "open")]
    replay: Replay,

    /// Multiply all times of the requests: 0.5 makes them arrive twice as fast.
    #[arg(long, value_name = "FACTOR", value_parser = real(1e-6..=1e6))]
    time_scale: Option<f64>,

    /// Read at most N requests of each trace. Default: all of a trace, 1,000,000 of a workload
    /// model.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..))]
    requests: Option<u64>,

    /// What to do with addresses beyond the end of the drive. Without it they are an error.
    #[arg(long, value_name = "wrap|compact")]
    fit_addresses: Option<AddressFit>,

    #[command(flatten)]
    preparation: PreparationArgs,

    #[command(flatten)]
    former: former::FormerArgs,

    /// Write the drive as --start and --age leave it, before the run, into a file for --restore.
    /// There can be one drive only.
    #[arg(long, value_name = "FILE")]
    save: Option<OutFile>,

    /// Begin with a drive that --save has written. Device and tenants must be those that it was
    /// made with.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["start", "age", "warm_up", "save"])]
    restore: Option<PathBuf>,

    /// Write a line for each request, as CSV. Where several cells run, each file has the number of
    /// its cell before the ending.
    #[arg(long, value_name = "FILE.csv[.zst]")]
    log: Option<OutPlace>,

    /// Write a line for each interval of time, as CSV. Files are numbered as those of --log.
    #[arg(long, value_name = "FILE.csv[.zst]")]
    series: Option<OutPlace>,

    /// Length of the intervals of --series, in milliseconds of simulated time.
    #[arg(long, value_name = "MS", default_value = "100", value_parser = given::milliseconds)]
    #[arg(requires = "series")]
    interval: Nanos,

    /// Add the time that the drive's firmware takes, as predicted by a model that `predict-perf ftl
    /// fit` made.
    #[arg(long, value_name = "MODEL")]
    ftl_time: Option<PathBuf>,

    /// Serve windows from all over each trace instead of the whole, on drives that are restored
    /// before each, and tell the figures of the whole with intervals (docs/sampling.md). For traces
    /// of millions of requests, or for what `ssdtune trace sample` has made of one.
    #[arg(long, conflicts_with_all = ["tenants", "slowdown", "log", "series", "ftl_time", "exact"])]
    #[arg(conflicts_with_all = ["save", "restore", "mqsim", "allocator"])]
    sample: bool,

    /// With --sample: serve no more windows than it takes to know the mean latency as well as this,
    /// as a share of it: 0.02 is 2 %. Default: all windows.
    #[arg(long, value_name = "SHARE", requires = "sample", value_parser = real(0.001..=1.0))]
    precision: Option<f64>,

    /// Keep every latency (16 B each), so that percentiles are exact instead of within 0.1 %.
    #[arg(long)]
    exact: bool,
}

/// What one simulation gave.
type RunResult = CellResult<Decision, FirmwareReport>;

/// Simulates and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let record = recorder_options(args);
    let firmware = args.ftl_time.as_deref().map(FirmwareModel::read).transpose();
    let firmware = firmware.map_err(Failure::input)?;
    let cells = plan::runs(args, context)?;
    let records: Vec<RecorderOptions> = match cells.len() {
        1 => vec![record],
        count => (0..count).map(|index| record.numbered(index)).collect(),
    };
    let reader = if args.mqsim.is_empty() { "--trace" } else { "--mqsim" };
    enter_files(reader, &cells, &records, context)?;
    if args.sample {
        return sampled(args, cells, context);
    }
    let deferred = Deferred::new();
    let progress = Progress::new(cells.len(), context.level() > Level::Quiet);
    let simulate = |(index, run): (usize, &PlannedRun)| {
        let record = records[index].clone();
        let tell = |done: f64, requests: u64| progress.cell(index, done, requests);
        let options =
            RunOptions { stop: deferred.flag(), progress: &tell, exact_percentiles: args.exact };
        let how = CellOptions { run: options, record, slowdown: args.slowdown };
        let result = run_planned(index, run, &how, firmware.as_ref());
        tell(1.0, 0);
        result
    };
    let results = context
        .pool()?
        .install(|| cells.par_iter().enumerate().map(simulate).collect::<Vec<RunResult>>());
    progress.finish();
    let interrupted = deferred.flag().load(Ordering::Relaxed);
    if let Some(real) = cells.first().and_then(|run| run.cell.calibrated.as_ref()) {
        let outside = results.iter().flat_map(|cell| cell.outside_tested_range.iter().flatten());
        device::note_outside(real, &outside.cloned().collect::<Vec<_>>(), context);
    }
    print(results, interrupted, context)
}

/// Samples the traces, serves windows and prints.
fn sampled(args: &Args, cells: Vec<PlannedRun>, context: &Context) -> Outcome {
    let own = |run: PlannedRun| (run.cell.experiment, run.cell.settings.into_iter().collect());
    let cells = cells.into_iter().map(own).collect();
    let options = SampleOptions { seed: context.seed().unwrap_or(1), ..SampleOptions::default() };
    let sampled = SampledCells { cells, options, precision: args.precision };
    let deferred = Deferred::new();
    let progress = Progress::new(sampled.cells.len(), context.level() > Level::Quiet);
    let tell = |cell: usize, requests: u64| progress.cell(cell, 0.0, requests);
    let done = context.pool()?.install(|| sampled.run(deferred.flag(), &tell));
    progress.finish();
    let document = done.map_err(|error| match error {
        SampledError::Interrupted => Failure::Interrupted,
        error if error.is_usage() => Failure::usage(error),
        error => Failure::input(error),
    })?;
    context.show(&document, document.text())
}

fn recorder_options(args: &Args) -> RecorderOptions {
    let series = args.series.as_deref().map(|path| (path.to_path_buf(), args.interval));
    RecorderOptions { log: args.log.as_deref().map(Path::to_path_buf), series }
}

/// Enters what the cells read, the traces that MQSim's files name included, and what they write.
fn enter_files(
    reader: &str,
    cells: &[PlannedRun],
    records: &[RecorderOptions],
    context: &Context,
) -> Outcome {
    for flow in cells.iter().flat_map(|run| &run.cell.experiment.flows) {
        if let Origin::File(path) = &flow.source.origin {
            context.will_read(reader, path)?;
        }
    }
    for RecorderOptions { log, series } in records {
        log.iter().try_for_each(|path| context.will_write("--log", path))?;
        series.iter().try_for_each(|(path, _)| context.will_write("--series", path))?;
    }
    Ok(())
}

/// Runs a cell with everything that observes it.
fn run_planned(
    index: usize,
    run: &PlannedRun,
    how: &CellOptions,
    firmware: Option<&FirmwareModel>,
) -> RunResult {
    let mut firmware = firmware.map(FirmwareObserver::new);
    let keeper = run.allocator.as_deref();
    let mut allocator =
        keeper.map(|keeper| AllocatorObserver::new(&keeper.policy, keeper.collect, keeper.repeat));
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(firmware.as_mut().map(|own| own as &mut dyn Observer));
    observers.extend(allocator.as_mut().map(|own| own as &mut dyn Observer));
    let mut result: RunResult = run.cell.run(index, how, &mut observers);
    if result.report.is_some() {
        result.decisions = allocator.map(|own| own.decisions().to_vec()).unwrap_or_default();
        result.firmware = firmware.and_then(FirmwareObserver::into_report);
    }
    result
}

/// Prints the results. The exit code says how complete they are.
fn print(mut cells: Vec<RunResult>, interrupted: bool, context: &Context) -> Outcome {
    let failure = failure(&mut cells, interrupted);
    let reports = || cells.iter().filter_map(|cell| cell.report.as_ref());
    let starved = reports().any(|report| report.outcome == Ending::OutOfSpace);
    let error = failure.as_ref().and_then(FailureDocument::of).map(FailureDocument::into_error);
    context.show(&CellsDocument::new(&cells, error), text(&cells))?;
    if !context.json() {
        warn(&cells, context);
    }
    failure.map_or(Ok(()), Err)?;
    if starved { Err(Failure::Reported(1)) } else { Ok(()) }
}

/// The failure of the command: the first cell's that failed, as failed work if any cell's is.
fn failure(cells: &mut [RunResult], interrupted: bool) -> Option<Failure> {
    if interrupted {
        return Some(Failure::Interrupted);
    }
    let all = cells.len();
    let taken = cells.iter_mut().filter_map(|cell| cell.failure.take());
    let failures: Vec<Failure> = taken.map(failure_of_run).collect();
    let work = failures.iter().any(|failure| matches!(failure, Failure::Work(_)));
    let more = match failures.len().saturating_sub(1) {
        0 => String::new(),
        count => format!(" (and {count} more of {all} cells failed)"),
    };
    let first = failures.into_iter().next()?;
    let message = format!("{}{more}", first.message());
    let (Failure::Work(error) | Failure::Input(error)) = first else { return Some(first) };
    let error = error.context(message);
    Some(if work { Failure::Work(error) } else { Failure::Input(error) })
}

/// The failure, and so the exit code, of a run that has no report.
pub fn failure_of_run(error: ExperimentError) -> Failure {
    match error.is_failed_work() {
        true => Failure::Work(error.into()),
        false => Failure::input(error),
    }
}

/// One cell in full, or several as a table.
fn text(cells: &[RunResult]) -> Text {
    let [cell] = cells else { return CellResult::table(cells) };
    let firmware = cell.firmware.iter().flat_map(FirmwareReport::lines);
    cell.in_full(decisions_line(&cell.decisions), firmware).unwrap_or_default()
}

fn warn(cells: &[RunResult], context: &Context) {
    for cell in cells {
        for warning in cell.report.iter().flat_map(|report| &report.warnings) {
            match cells.len() {
                1 => context.warn(warning),
                _ => context.warn(format_args!("cell {}: {warning}", cell.cell)),
            }
        }
    }
}
