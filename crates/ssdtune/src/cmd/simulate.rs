//! `ssdtune simulate`: what a drive does with a workload.
//!
//! Every combination of a workload and a point of the sweep is a cell, a simulation of its own; cells run
//! on all threads and are printed in their order. `docs/simulate.md` is the tour,
//! `docs/results-schema.md` the JSON.

pub(crate) mod allocator;
mod plan;
mod show;

use crate::cell::{Ageing, Cell, StartArg, WarmUp, Watch, interval_of_ms};
use crate::context::{Context, Level};
use crate::device::{Override, Overrides};
use crate::feed::Fit;
use crate::firmware::FirmwareReport;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome, chain};
use crate::progress::Progress;
use crate::record::RecorderOptions;
use anyhow::anyhow;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_keeper::allocator::Decision;
use ssdtune_predict::firmware::fit::FirmwareModel;
use ssdtune_sim::{Ending, FtlError, InitialContent, Report, SimError, Slowdown};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Arguments of `ssdtune simulate`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "workload", "mqsim"])))]
pub(crate) struct Args {
    /// The drive: a preset (`ssdtune config show` lists them), a TOML file, or an MQSim ssdconfig.xml.
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

    /// Also run each tenant alone on the same drive, and say how much sharing slows each down and how fair that is.
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
    fit_addresses: Option<Fit>,

    /// What the drive holds at the start: nothing, or data in every page as a sequential fill or endless random
    /// writes leave them behind, the pages that the run uses first. They are defined, not written: it takes no
    /// time, and memory only for what the run touches.
    #[arg(
        long,
        value_enum,
        value_name = "STATE",
        default_value = "empty",
        conflicts_with = "mqsim"
    )]
    start: StartArg,

    /// Age the drive before the run, without time: `sequential` writes every page once, `random` then overwrites
    /// five times as many at random, `trace` serves the run's own requests once. Takes memory for every page
    /// written.
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "mqsim")]
    warm_up: Option<WarmUp>,

    /// Share of the pages that hold data after --start, or after a sequential or random --warm-up.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    #[arg(value_parser = share)]
    occupancy: f64,

    /// How often each block was erased before a sequential or steady --start.
    #[arg(long, value_name = "N")]
    erases: Option<u32>,

    /// Keep the drive as --start and --warm-up leave it, before the run, in a file for --restore. One drive only.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Begin with a drive that --save has kept. Device and tenants must be those it was made with.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["warm_up", "save"])]
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

    /// Add the time of the drive's firmware, as a model predicts it that `predict-perf ftl fit` made.
    #[arg(long, value_name = "MODEL")]
    ftl_time: Option<PathBuf>,

    /// Keep every latency (16 B each), so that percentiles are exact instead of within 0.1 %.
    #[arg(long)]
    exact: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share between 0 and 1".to_owned())
}

impl Args {
    fn past(&self) -> anyhow::Result<InitialContent> {
        let filled = matches!(self.warm_up, Some(WarmUp::Sequential | WarmUp::Random));
        if filled && self.start != StartArg::Empty {
            return Err(anyhow!(
                "--start fills the drive already: leave --warm-up away, or age it with --warm-up trace"
            ));
        }
        if self.restore.is_some() && self.start != StartArg::Empty {
            return Err(anyhow!("--restore brings its own start: leave --start away"));
        }
        if self.occupancy < 1.0 && self.start == StartArg::Empty && !filled {
            return Err(anyhow!(
                "--occupancy says how full --start or --warm-up leave the drive: give one of them"
            ));
        }
        if self.erases.is_some() && self.start == StartArg::Empty {
            return Err(anyhow!("--erases says how worn --start leaves the drive: give it too"));
        }
        let (occupancy, erases) = (vec![self.occupancy], self.erases.unwrap_or(0));
        Ok(InitialContent { state: self.start.into(), occupancy, erases, seed: 0 })
    }

    fn ageing(&self) -> Option<Ageing> {
        self.warm_up.map(|how| Ageing { how, occupancy: self.occupancy })
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
                let watch = Watch {
                    stop: deferred.flag(),
                    progress: &tell,
                    record,
                    exact: args.exact,
                    keep: false,
                    firmware: firmware.as_ref(),
                };
                run_cell(index, cell, &watch, args.slowdown)
            })
            .collect()
    });
    progress.finish();
    let interrupted = deferred.flag().load(Ordering::Relaxed);
    print(results, interrupted, context)
}

fn recorder_options(args: &Args) -> Outcome<RecorderOptions> {
    let interval = interval_of_ms(args.interval).ok_or_else(|| {
        Failure::usage(anyhow!("--interval {}: must be 0.001 to 1000000000 ms", args.interval))
    })?;
    Ok(RecorderOptions {
        log: args.log.clone(),
        series: args.series.clone(),
        interval: args.series.as_ref().map(|_| interval),
    })
}

fn run_cell(index: usize, cell: &Cell, watch: &Watch, slowdown: bool) -> CellResult {
    let mut result = CellResult {
        cell: index,
        device: cell.device.name.clone(),
        workload: cell.workload(),
        settings: cell.settings.iter().cloned().collect(),
        log: watch.record.log.clone(),
        series: watch.record.series.clone(),
        error: None,
        report: None,
        decisions: Vec::new(),
        slowdown: None,
        firmware: None,
        work_failed: false,
    };
    if watch.stop.load(Ordering::Relaxed) {
        return result;
    }
    let (shared, alone) = match slowdown {
        true => rayon::join(|| cell.run(watch), || run_alone(cell, watch)),
        false => (cell.run(watch), Ok(Vec::new())),
    };
    let reports = shared.and_then(|ran| Ok((ran, alone?)));
    match reports {
        Ok((ran, alone)) => {
            let report = ran.report;
            result.decisions = ran.decisions;
            result.firmware = ran.firmware;
            let whole = !report.partial && alone.iter().all(|alone| !alone.partial);
            result.slowdown = (slowdown && whole).then(|| Slowdown::of(&report, &alone));
            result.report = Some(report);
        }
        Err(error) => {
            let writing = error.chain().any(|cause| cause.is::<std::io::Error>())
                && !error.is::<ssdtune_trace::TraceError>();
            let room =
                matches!(error.downcast_ref(), Some(SimError::Ftl(FtlError::OutOfSpace { .. })));
            result.work_failed = writing || room;
            result.error = Some(chain(&error));
        }
    }
    (watch.progress)(1.0, 0);
    result
}

/// Runs each tenant alone on the same drive, in the order of the tenants.
fn run_alone(cell: &Cell, watch: &Watch) -> anyhow::Result<Vec<Report>> {
    let alone = |tenant| {
        let cell = Cell { only: Some(tenant), allocator: None, ..cell.clone() };
        let watch = Watch {
            stop: watch.stop,
            progress: &|_, _| {},
            record: RecorderOptions::default(),
            exact: watch.exact,
            keep: false,
            firmware: None,
        };
        cell.run(&watch).map(|ran| ran.report)
    };
    (0..cell.tenants.len() as u16).into_par_iter().map(alone).collect()
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
