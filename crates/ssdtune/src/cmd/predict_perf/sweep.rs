//! `predict-perf sweep`: measures a simulated drive at every point of a grid, or with random
//! workloads.

use super::args::{GridArgs, MeasureArgs, measure_failure, results_failure};
use crate::context::{Context, Level};
use crate::device::{self, Overrides};
use crate::global::whole;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::GrowingFile;
use crate::program::simulator;
use crate::progress::Progress;
use ssdtune_model::given::Part;
use ssdtune_predict::blackbox::{Designs, SimulatedDrive, SweepError, SweepPlan};
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

    /// Measure N random workloads instead of a grid, each as long as a window of a trace.
    /// `predict-perf fit --workloads` learns from them what windows take. Three in five are chosen
    /// by what is least known.
    #[arg(long, value_name = "N", conflicts_with_all = ["grid", "sample"])]
    #[arg(value_parser = whole::<u32>(50..=4_000))]
    workloads: Option<u32>,

    /// Requests outstanding, for --workloads: each is measured with each of these numbers.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,4,16")]
    #[arg(requires = "workloads", conflicts_with_all = ["grid", "sample"])]
    #[arg(value_parser = whole::<u32>(1..=1000))]
    depth: Vec<u32>,

    /// Measure the K-th of N equal parts of the grid alone: one of N jobs (docs/cluster.md).
    #[arg(long, value_name = "K/N", default_value = "1/1", conflicts_with = "workloads")]
    part: Part,

    #[command(flatten)]
    measure: MeasureArgs,

    /// File of JSON lines for the results. If the file was begun by the same command, it is
    /// continued.
    #[arg(long, value_name = "FILE")]
    out: GrowingFile,
}

/// Measures the points that the file does not hold.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = device::load_checked(&args.device, &args.overrides, context)?;
    let plan = match args.workloads {
        Some(count) => SweepPlan::Designs(Designs::new(count, &args.depth)),
        None => SweepPlan::Points(args.grid.points(context)?),
    };
    let settings = args.measure.settings(context)?;
    let source = plan.source(&config, simulator(), settings.clone());
    let plan = plan.part(args.part);
    let count = plan.measurements();
    let sweep = plan.open(&args.out, source).map_err(results_failure)?;
    let known = sweep.known;
    if known > 0 {
        context.note(format_args!("{known} of {count} points are known"));
    }
    let deferred = Deferred::new();
    let drive = SimulatedDrive { config: &config, settings, stop: deferred.flag() };
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let done = AtomicUsize::new(known);
    let tell = |more: usize| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress.cell(0, done as f64 / count as f64, 0);
    };
    let outcome = context.pool()?.install(|| sweep.run(&drive, &tell));
    progress.finish();
    let swept = outcome.map_err(|error| match error {
        SweepError::Measure(error) => measure_failure(error),
        error => Failure::Work(error.into()),
    });
    if let Err(Failure::Interrupted) = swept {
        let file = args.out.display();
        context.note(format_args!("what was measured is in {file}; the same command goes on"));
    }
    let swept = swept?;
    context.show(&swept, swept.to_string())
}
