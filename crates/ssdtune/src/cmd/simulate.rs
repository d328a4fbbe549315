//! `ssdtune simulate`: what a drive does with a workload.
//!
//! Every combination of a workload and a point of the sweep is a cell, a simulation of its own;
//! cells run on all threads and are printed in their order. `docs/simulate.md` is the tour,
//! `docs/results-schema.md` the JSON.

pub(crate) mod allocator;
mod former;
mod plan;
mod show;

use crate::context::{Context, Level};
use crate::device::{Override, Overrides};
use crate::firmware::{FirmwareReport, FirmwareTime};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome, chain};
use crate::preparation::PreparationArgs;
use crate::progress::Progress;
use anyhow::anyhow;
use plan::Cell;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::{
    AddressFit, Experiment, ExperimentError, Observer, Recorder, RecorderOptions, RunOptions,
};
use ssdtune_keeper::{AllocatorObserver, Decision};
use ssdtune_model::Nanos;
use ssdtune_predict::firmware::fit::FirmwareModel;
use ssdtune_sim::{Ending, Report, Slowdown};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Arguments of `ssdtune simulate`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "workload", "mqsim"])))]
pub(crate) struct Args {
    /// The drive: a preset (`ssdtune config show` lists them), a TOML file, or an MQSim
    /// ssdconfig.xml.
    #[arg(
        long,
        value_name = "DEVICE",
        conflicts_with = "mqsim",
        required_unless_present = "mqsim"
    )]
    device: Option<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// Simulate every one of these values; given often, every combination.
    #[arg(long, value_name = "KEY=A,B,C")]
    sweep: Vec<Override>,

    /// Replay trace files, each on a drive of its own unless --tenants is given.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trace: Vec<PathBuf>,

    /// Format of the traces; `ssdtune trace formats` lists them. Default: told by the content.
    #[arg(long, value_name = "NAME", requires = "trace")]
    format: Option<String>,

    /// Skip lines of the traces that cannot be read instead of stopping.
    #[arg(long, requires = "trace")]
    lenient: bool,

    /// Run a bundled workload model (`ssdtune trace models` lists them) or a model file.
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with_all = ["trace", "tenants"])]
    workload: Option<String>,

    /// Run an MQSim pair as it is; MQSim's peculiarities (`compat`) are reproduced.
    #[arg(long, num_args = 2, value_names = ["SSD.xml", "WORKLOAD.xml"])]
    #[arg(conflicts_with_all = ["trace", "workload", "tenants", "replay"])]
    mqsim: Vec<PathBuf>,

    /// Put all traces onto one drive, each a tenant with an address space of its own.
    #[arg(long, requires = "trace")]
    tenants: bool,

    /// Channels of a tenant, as in 0-3 or 0,2,5; given once for each tenant, in their order.
    #[arg(long, value_name = "LIST", requires = "tenants")]
    channels: Vec<plan::Ids>,

    #[command(flatten)]
    allocator: allocator::AllocatorArgs,

    /// Also run each tenant alone on the same drive, and say how much sharing slows each down and
    /// how fair that is.
    #[arg(long)]
    slowdown: bool,

    /// When requests are submitted: at their own times (open), or N at once (closed:N).
    #[arg(long, value_name = "open|closed:N", default_value = "open")]
    replay: plan::ReplayArg,

    /// Multiply all times of the requests: 0.5 makes them arrive twice as fast.
    #[arg(long, value_name = "FACTOR")]
    time_scale: Option<f64>,

    /// At most so many requests of each trace; of a workload model 1,000,000 unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// What to do with addresses beyond the end of the drive; without it they are an error.
    #[arg(long, value_enum, value_name = "HOW")]
    fit_addresses: Option<FitArg>,

    #[command(flatten)]
    preparation: PreparationArgs,

    #[command(flatten)]
    former: former::FormerArgs,

    /// Keep the drive as --start and --age leave it, before the run, in a file for --restore. One
    /// drive only.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Begin with a drive that --save has kept. Device and tenants must be those it was made with.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["start", "age", "warm_up", "save"])]
    restore: Option<PathBuf>,

    /// Write a line for each request, as CSV; several cells get a number before the ending.
    #[arg(long, value_name = "FILE.csv[.zst]")]
    log: Option<PathBuf>,

    /// Write a line for each interval, as CSV; likewise.
    #[arg(long, value_name = "FILE.csv[.zst]")]
    series: Option<PathBuf>,

    /// Length of the intervals of --series, in milliseconds of simulated time.
    #[arg(long, value_name = "MS", default_value_t = 100.0)]
    interval: f64,

    /// Add the time of the drive's firmware, as a model predicts it that `predict-perf ftl fit`
    /// made.
    #[arg(long, value_name = "MODEL")]
    ftl_time: Option<PathBuf>,

    /// Keep every latency (16 B each), so that percentiles are exact instead of within 0.1 %.
    #[arg(long)]
    exact: bool,
}

/// `--fit-addresses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FitArg {
    /// Fold them back: the remainder by the size of the drive.
    Wrap,
    /// Close the gaps between the pages that the trace touches (reads it twice).
    Compact,
}

impl From<FitArg> for AddressFit {
    fn from(fit: FitArg) -> Self {
        match fit {
            FitArg::Wrap => Self::Wrap,
            FitArg::Compact => Self::Compact,
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: u32,
    partial: bool,
    cells: Vec<CellResult>,
}

/// One cell of it.
#[derive(Serialize)]
struct CellResult {
    cell: usize,
    device: String,
    workload: String,
    settings: BTreeMap<String, String>,
    log: Option<PathBuf>,
    series: Option<PathBuf>,
    error: Option<String>,
    report: Option<Report>,
    /// What the allocator saw and did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<Decision>,
    /// What sharing costs the tenants, if that was asked for.
    slowdown: Option<Slowdown>,
    /// Firmware time, if a model was given.
    firmware: Option<FirmwareReport>,
    /// Whether the error is one of the work (writing, room on the drive), not of an input.
    #[serde(skip)]
    work_failed: bool,
}

/// Simulates and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let record = recorder_options(args)?;
    let firmware = args.ftl_time.as_deref().map(FirmwareModel::read).transpose();
    let firmware = firmware.map_err(Failure::input)?;
    let cells = plan::cells(args, context)?;
    let deferred = Deferred::new();
    let progress = Progress::new(cells.len(), context.level() > Level::Quiet);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(context.threads())
        .build()
        .map_err(|error| Failure::Work(error.into()))?;
    let results: Vec<CellResult> = pool.install(|| {
        cells
            .par_iter()
            .enumerate()
            .map(|(index, cell)| {
                let record = if cells.len() > 1 { record.numbered(index) } else { record.clone() };
                let tell = |done: f64, requests: u64| progress.cell(index, done, requests);
                let options = RunOptions {
                    stop: deferred.flag(),
                    progress: &tell,
                    exact_percentiles: args.exact,
                };
                let watch = Watch { options, record, firmware: firmware.as_ref() };
                run_cell(index, cell, &watch, args.slowdown)
            })
            .collect()
    });
    progress.finish();
    let interrupted = deferred.flag().load(Ordering::Relaxed);
    print(results, interrupted, context)
}

fn recorder_options(args: &Args) -> Outcome<RecorderOptions> {
    let ms = args.interval;
    if !(ms.is_finite() && (0.001..=1e9).contains(&ms)) {
        return Err(Failure::usage(anyhow!("--interval {ms}: must be 0.001 to 1000000000 ms")));
    }
    let interval = Nanos((ms * 1e6).round() as u64);
    let series = args.series.clone().map(|path| (path, interval));
    Ok(RecorderOptions { log: args.log.clone(), series })
}

/// How cells are run and what is kept of them.
struct Watch<'a> {
    options: RunOptions<'a>,
    record: RecorderOptions,
    firmware: Option<&'a FirmwareModel>,
}

/// What a cell gave.
struct Ran {
    report: Report,
    decisions: Vec<Decision>,
    firmware: Option<FirmwareReport>,
}

fn run_cell(index: usize, cell: &Cell, watch: &Watch, slowdown: bool) -> CellResult {
    let mut result = CellResult {
        cell: index,
        device: cell.experiment.device.name.clone(),
        workload: cell.experiment.workload(),
        settings: cell.settings.iter().cloned().collect(),
        log: watch.record.log.clone(),
        series: watch.record.series.clone().map(|(path, _)| path),
        error: None,
        report: None,
        decisions: Vec::new(),
        slowdown: None,
        firmware: None,
        work_failed: false,
    };
    let stop: &AtomicBool = watch.options.stop;
    if stop.load(Ordering::Relaxed) {
        return result;
    }
    let (shared, alone) = match slowdown {
        true => rayon::join(|| observed(cell, watch), || run_alone(&cell.experiment, watch)),
        false => (observed(cell, watch), Ok(Vec::new())),
    };
    match shared.and_then(|ran| Ok((ran, alone?))) {
        Ok((ran, alone)) => {
            let report = ran.report;
            result.decisions = ran.decisions;
            result.firmware = ran.firmware;
            let whole = !report.partial && alone.iter().all(|alone| !alone.partial);
            result.slowdown = (slowdown && whole).then(|| Slowdown::of(&report, &alone));
            result.report = Some(report);
        }
        Err(error) => {
            result.work_failed = error.is_failed_work();
            result.error = Some(chain(&error.into()));
        }
    }
    (watch.options.progress)(1.0, 0);
    result
}

/// Runs a cell with everybody who follows it.
fn observed(cell: &Cell, watch: &Watch) -> Result<Ran, ExperimentError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| ExperimentError::Observer(error);
    let mut recorder = Recorder::create(&watch.record).map_err(|error| failed(Box::new(error)))?;
    let mut firmware = (watch.firmware.map(FirmwareTime::new).transpose())
        .map_err(|error| failed(error.to_string().into()))?;
    let keeper = cell.allocator.as_deref();
    let mut allocator =
        keeper.map(|keeper| AllocatorObserver::new(&keeper.policy, keeper.collect, keeper.repeat));
    let mut observers: Vec<&mut dyn Observer> = vec![&mut recorder];
    observers.extend(firmware.as_mut().map(|own| own as &mut dyn Observer));
    observers.extend(allocator.as_mut().map(|own| own as &mut dyn Observer));
    let report = cell.experiment.run(&watch.options, &mut observers)?;
    Ok(Ran {
        report,
        decisions: allocator.map(|own| own.decisions().to_vec()).unwrap_or_default(),
        firmware: firmware.and_then(FirmwareTime::into_report),
    })
}

/// Runs each tenant alone on the same drive, in the order of the tenants.
fn run_alone(shared: &Experiment, watch: &Watch) -> Result<Vec<Report>, ExperimentError> {
    let alone = |tenant| {
        let experiment = Experiment { only: Some(tenant), ..shared.clone() };
        let options = RunOptions { progress: &|_, _| {}, ..watch.options };
        experiment.run(&options, &mut [])
    };
    (0..shared.tenants.len() as u16).into_par_iter().map(alone).collect()
}

/// Prints what was measured, and says with the exit code how complete it is.
fn print(cells: Vec<CellResult>, interrupted: bool, context: &Context) -> Outcome {
    let failed: Vec<String> = cells.iter().filter_map(|cell| cell.error.clone()).collect();
    let out_of_space = |cell: &CellResult| {
        cell.report.as_ref().is_some_and(|report| report.outcome == Ending::OutOfSpace)
    };
    let starved = cells.iter().any(out_of_space);
    let partial = |cell: &CellResult| cell.report.as_ref().is_none_or(|report| report.partial);
    let document =
        Document { schema: ssdtune_sim::SCHEMA, partial: cells.iter().any(partial), cells };
    if context.json() {
        context.document(&document)?;
    } else {
        show::show(&document.cells, context)?;
    }
    if interrupted {
        return Err(Failure::Interrupted);
    }
    if let Some(first) = failed.first() {
        let more = match failed.len() {
            1 => String::new(),
            count => format!(" (and {} more of {} cells failed)", count - 1, document.cells.len()),
        };
        let error = anyhow!("{first}{more}");
        let work = document.cells.iter().any(|cell| cell.work_failed);
        return Err(if work { Failure::Work(error) } else { Failure::input(error) });
    }
    if starved { Err(Failure::Reported(1)) } else { Ok(()) }
}
