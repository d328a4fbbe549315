//! `predict-perf check`: a model against the simulator, on windows of real traces.

use super::args::{MeasureArgs, ModelArg, WindowArgs, measure_failure};
use crate::context::Context;
use crate::device::{self, Overrides};
use crate::global::whole;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use anyhow::anyhow;
use ssdtune_experiment::livepoints::LivePoints;
use ssdtune_predict::blackbox::SimulatedDrive;
use ssdtune_predict::blackbox::windows::{
    CheckError, Window, Windows, WindowsReport, check, check_restored,
};
use ssdtune_trace::note_held;
use std::path::PathBuf;

/// Arguments of `predict-perf check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArg,

    /// The drive that the model is of.
    #[arg(long, value_name = "DEVICE")]
    device: String,

    #[command(flatten)]
    overrides: Overrides,

    /// Traces to cut into windows.
    #[arg(long, value_name = "TRACE", num_args = 1.., required = true)]
    trace: Vec<PathBuf>,

    /// Requests outstanding, for a model of a closed loop. Several numbers, as in 1,16, compare
    /// every window with each of them.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = whole::<u32>(1..=4096))]
    depth: Vec<u32>,

    /// Write the model again, with intervals for windows of other traces. They follow from the
    /// windows compared here, which must be of nine traces or more; each trace counts alike.
    #[arg(long, value_name = "FILE")]
    calibrate: Option<OutFile>,

    /// Compare at most N windows of each trace, at equal distances.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u32>(1..))]
    windows: u32,

    /// Take windows of the whole trace in memory that does not grow with it, each on a drive whose
    /// caches hold what they hold there (docs/sampling.md). Files that `ssdtune trace sample` has
    /// written are taken so without this flag, with windows of their own length.
    #[arg(long)]
    sample: bool,

    #[command(flatten)]
    measure: MeasureArgs,

    #[command(flatten)]
    window: WindowArgs,
}

/// Simulates the windows and compares.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let mut model = args.model.read()?;
    let depths = model.depths(&args.depth).map_err(Failure::usage)?;
    let config = device::load_checked(&args.device, &args.overrides, context)?;
    let settings = args.measure.settings(context)?;
    match model.other_drive(&config, &settings) {
        Some(note) if args.calibrate.is_some() => {
            return Err(Failure::usage(anyhow!("{note}: give the model's own --device")));
        }
        note => note.iter().for_each(|note| context.warn(note)),
    }
    model.other_preparation(&settings).iter().for_each(|note| context.warn(note));
    let most = args.windows as usize;
    let is_sampled = |path: &&PathBuf| args.sample || LivePoints::is_file(path);
    let (sampled, cut): (Vec<&PathBuf>, Vec<&PathBuf>) = args.trace.iter().partition(is_sampled);
    let mut windows = Vec::new();
    // Only windows that are compared are held.
    for path in cut {
        let step = args.window.count(path, context)?.div_ceil(most).max(1);
        let mut all = Vec::new();
        args.window.windows(path, context, |window| {
            if (window.number - 1).is_multiple_of(step) {
                note_held(window.requests.len());
                all.push(window);
            }
        })?;
        windows.extend(Window::thin_out(all, most));
    }
    let deferred = Deferred::new();
    let drive = SimulatedDrive { config: &config, settings, stop: deferred.flag() };
    let compare = || check(&model, &drive, &windows, &depths);
    let mut lines = context.pool()?.install(compare).map_err(failure)?;
    let length = args.window.window;
    let some = Windows { most, length, seed: context.seed().unwrap_or(1) };
    for path in sampled {
        let source = args.window.source(path, context)?;
        let compare = || check_restored(&model, &drive, source, some, &depths);
        lines.extend(context.pool()?.install(compare).map_err(failure)?);
    }
    let mut report = WindowsReport::of(lines).map_err(failure)?;
    if let Some(path) = &args.calibrate {
        report.calibrate(&mut model).map_err(Failure::input)?;
        outputs::write(path, model.to_json())?;
    }
    context.show(&report, report.text())
}

fn failure(error: CheckError) -> Failure {
    match error {
        CheckError::Measure(error) => measure_failure(error),
        CheckError::Start { .. } => Failure::usage(error),
        CheckError::Sampled(_) | CheckError::Nothing(_) => Failure::input(error),
    }
}
