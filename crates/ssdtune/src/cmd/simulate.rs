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
use crate::failure_document::{ErrorObject, FailureDocument};
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{OutFile, OutPlace};
use crate::preparation::PreparationArgs;
use crate::progress::Progress;
use crate::read_args::{FitArg, StrictArg};
use plan::PlannedRun;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::livepoints::SampleOptions;
use ssdtune_experiment::sampled::{SampledCells, SampledError};
use ssdtune_experiment::{
    ChannelList, ComparedRun, ExperimentError, Load, Observer, Origin, PreparationInWords,
    Recorder, RecorderOptions, RunOptions, comparison, fairness, summary,
};
use ssdtune_keeper::{AllocatorObserver, Decision, decisions_line};
use ssdtune_model::{Nanos, given};
use ssdtune_predict::{FirmwareModel, FirmwareObserver, FirmwareReport};
use ssdtune_report::Text;
use ssdtune_sim::{Ending, Replay, Report, Slowdown};
use std::collections::{BTreeMap, BTreeSet};
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
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with_all = ["trace", "tenants"])]
    workload: Option<String>,

    /// Run a pair of MQSim's files as MQSim does, with its peculiarities (`compat`).
    #[arg(long, num_args = 2, value_names = ["SSD.xml", "WORKLOAD.xml"])]
    #[arg(conflicts_with_all = ["trace", "workload", "tenants", "replay"])]
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
    #[arg(long, value_enum, value_name = "HOW")]
    fit_addresses: Option<FitArg>,

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

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: u32,
    partial: bool,
    /// Why the command fails, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorObject>,
    cells: Vec<RunResult>,
}

/// What one simulation gave.
#[derive(Serialize)]
struct RunResult {
    cell: usize,
    device: String,
    workload: String,
    settings: BTreeMap<String, String>,
    preparation: PreparationInWords,
    /// What a calibrated drive was not tested at and the run has asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_tested_range: Option<Vec<String>>,
    log: Option<PathBuf>,
    series: Option<PathBuf>,
    error: Option<String>,
    report: Option<Report>,
    /// What the allocator of channels saw and did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<Decision>,
    /// What sharing costs the tenants, if --slowdown asks for it.
    slowdown: Option<Slowdown>,
    /// The time of the firmware, if --ftl-time asks for it.
    firmware: Option<FirmwareReport>,
    /// The failure of which `error` is the text.
    #[serde(skip)]
    failure: Option<Failure>,
}

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
    let simulate = |(index, cell): (usize, &PlannedRun)| {
        let record = records[index].clone();
        let tell = |done: f64, requests: u64| progress.cell(index, done, requests);
        let options =
            RunOptions { stop: deferred.flag(), progress: &tell, exact_percentiles: args.exact };
        let watch = Watch { options, record, firmware: firmware.as_ref() };
        let result = run_planned(index, cell, &watch, args.slowdown);
        tell(1.0, 0);
        result
    };
    let results = context
        .pool()?
        .install(|| cells.par_iter().enumerate().map(simulate).collect::<Vec<RunResult>>());
    progress.finish();
    let interrupted = deferred.flag().load(Ordering::Relaxed);
    if let Some(real) = cells.first().and_then(|cell| cell.calibrated.as_ref()) {
        let outside = results.iter().flat_map(|cell| cell.outside_tested_range.iter().flatten());
        device::note_outside(real, &outside.cloned().collect::<Vec<_>>(), context);
    }
    print(results, interrupted, context)
}

/// Samples the traces, serves windows and prints.
fn sampled(args: &Args, cells: Vec<PlannedRun>, context: &Context) -> Outcome {
    let own = |cell: PlannedRun| (cell.experiment, cell.settings.into_iter().collect());
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
    for flow in cells.iter().flat_map(|cell| &cell.experiment.flows) {
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

/// How a cell is run, and what is recorded of it.
struct Watch<'a> {
    options: RunOptions<'a>,
    record: RecorderOptions,
    firmware: Option<&'a FirmwareModel>,
}

/// What a run of a cell gave.
struct Ran {
    report: Report,
    decisions: Vec<Decision>,
    firmware: Option<FirmwareReport>,
    outside: Option<Vec<String>>,
}

fn run_planned(index: usize, cell: &PlannedRun, watch: &Watch, slowdown: bool) -> RunResult {
    let mut result = RunResult {
        cell: index,
        device: cell.experiment.device.name.clone(),
        workload: cell.experiment.workload(),
        settings: cell.settings.iter().cloned().collect(),
        preparation: cell.experiment.preparation.in_words(),
        outside_tested_range: None,
        log: watch.record.log.clone(),
        series: watch.record.series.clone().map(|(path, _)| path),
        error: None,
        report: None,
        decisions: Vec::new(),
        slowdown: None,
        firmware: None,
        failure: None,
    };
    if watch.options.stop.load(Ordering::Relaxed) {
        return result;
    }
    let (shared, alone) = match slowdown {
        true => {
            rayon::join(|| observed(cell, watch), || cell.experiment.run_each_alone(&watch.options))
        }
        false => (observed(cell, watch), Ok(Vec::new())),
    };
    match shared.and_then(|ran| Ok((ran, alone?))) {
        Ok((Ran { report, decisions, firmware, outside }, alone)) => {
            result.outside_tested_range = outside;
            let whole = !report.partial && alone.iter().all(|alone| !alone.partial);
            result.slowdown = (slowdown && whole).then(|| Slowdown::of(&report, &alone));
            (result.decisions, result.firmware) = (decisions, firmware);
            result.report = Some(report);
        }
        Err(error) => {
            let failure = match error.is_failed_work() {
                true => Failure::Work(error.into()),
                false => Failure::input(error),
            };
            result.error = Some(failure.message());
            result.failure = Some(failure);
        }
    }
    result
}

/// Runs a cell with everything that observes it.
fn observed(cell: &PlannedRun, watch: &Watch) -> Result<Ran, ExperimentError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| ExperimentError::Observer(error);
    let mut recorder = Recorder::create(&watch.record).map_err(|error| failed(Box::new(error)))?;
    let mut firmware = watch.firmware.map(FirmwareObserver::new);
    let keeper = cell.allocator.as_deref();
    let mut allocator =
        keeper.map(|keeper| AllocatorObserver::new(&keeper.policy, keeper.collect, keeper.repeat));
    let mut load = cell.calibrated.as_ref().map(|_| Load::default());
    let mut observers: Vec<&mut dyn Observer> = vec![&mut recorder];
    observers.extend(load.as_mut().map(|own| own as &mut dyn Observer));
    observers.extend(firmware.as_mut().map(|own| own as &mut dyn Observer));
    observers.extend(allocator.as_mut().map(|own| own as &mut dyn Observer));
    let report = cell.experiment.run(&watch.options, &mut observers)?;
    let replays = cell.experiment.flows.iter().map(|flow| flow.replay);
    let outside = load
        .zip(cell.calibrated.as_ref())
        .map(|(load, real)| load.of_run(replays, &report).outside(real, &cell.experiment.device));
    Ok(Ran {
        report,
        outside,
        decisions: allocator.map(|own| own.decisions().to_vec()).unwrap_or_default(),
        firmware: firmware.and_then(FirmwareObserver::into_report),
    })
}

/// Prints the results. The exit code says how complete they are.
fn print(mut cells: Vec<RunResult>, interrupted: bool, context: &Context) -> Outcome {
    let failure = failure(&mut cells, interrupted);
    let reports = || cells.iter().map(|cell| cell.report.as_ref());
    let partial = reports().any(|report| report.is_none_or(|report| report.partial));
    let starved = reports().flatten().any(|report| report.outcome == Ending::OutOfSpace);
    let error = failure.as_ref().and_then(FailureDocument::of).map(FailureDocument::into_error);
    let document = Document { schema: ssdtune_sim::SCHEMA, partial, error, cells };
    context.show(&document, text(&document.cells))?;
    if !context.json() {
        warn(&document.cells, context);
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
    let failures: Vec<Failure> = cells.iter_mut().filter_map(|cell| cell.failure.take()).collect();
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

/// One cell in full, or several as a table.
fn text(cells: &[RunResult]) -> Text {
    if let [RunResult { report: Some(report), .. }] = cells {
        return one_in_full(&cells[0], report);
    }
    let runs: Vec<ComparedRun> = cells.iter().filter_map(compared).collect();
    if runs.is_empty() {
        return Text::new();
    }
    let mut text: Text = comparison(&runs).into();
    // A pair's scenarios may differ in what they start with; all other cells start alike.
    let starts: BTreeSet<&str> = cells.iter().map(|cell| cell.preparation.start.as_str()).collect();
    if let [cell, ..] = cells
        && starts.len() == 1
    {
        text.line(cell.preparation.line(None));
    }
    text
}

fn compared(cell: &RunResult) -> Option<ComparedRun<'_>> {
    let RunResult { cell: number, workload, settings, report, .. } = cell;
    Some(ComparedRun { number: *number, workload, settings, report: report.as_ref()? })
}

fn one_in_full(cell: &RunResult, report: &Report) -> Text {
    let mut text = summary(&cell.workload, report, cell.slowdown.as_ref());
    text.line(cell.preparation.line(Some(report)));
    decisions_line(&cell.decisions).into_iter().for_each(|line| _ = text.line(line));
    if let Some(slowdown) = &cell.slowdown {
        text.line(fairness(slowdown));
    }
    if let Some(firmware) = &cell.firmware {
        firmware.lines().into_iter().for_each(|line| _ = text.line(line));
    }
    if !report.never_fired.is_empty() {
        text.line(format_args!("never used      {}", report.never_fired.join(", ")));
    }
    text
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
