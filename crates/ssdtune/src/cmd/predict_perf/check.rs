//! `predict-perf check`: a model against the simulator, on windows of real traces.

use super::args::{MeasureArgs, ModelArg, WindowArgs, measure_failure};
use crate::context::Context;
use crate::device::{self, Overrides};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use ssdtune_predict::blackbox::windows::{CheckError, Window, check};
use ssdtune_predict::blackbox::{ResultsSource, SimulatedDrive};
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

    /// Requests outstanding, for a model of a closed loop.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    depth: Option<u32>,

    /// Compare at most N windows of each trace, at equal distances.
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,

    #[command(flatten)]
    measure: MeasureArgs,

    #[command(flatten)]
    window: WindowArgs,
}

/// Simulates the windows and compares.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let model = args.model.read()?;
    model.check_depth(args.depth).map_err(Failure::usage)?;
    let config = device::load_checked(&args.device, &args.overrides, context)?;
    let settings = args.measure.settings(context)?;
    let asked = ResultsSource::simulated(&config, String::new(), settings.clone(), &[]);
    let modelled = &model.provenance.source;
    if asked.device_digest() != modelled.device_digest() {
        context.warn(format_args!(
            "the model is of {}, whose configuration is not that of {}",
            modelled.device(),
            config.name
        ));
    }
    let mut windows = Vec::new();
    for path in &args.trace {
        let mut all = Vec::new();
        args.window.windows(path, context, |window| {
            note_held(window.requests.len());
            all.push(window);
        })?;
        windows.extend(Window::thin_out(all, args.windows as usize));
    }
    let deferred = Deferred::new();
    let drive = SimulatedDrive { config: &config, settings, stop: deferred.flag() };
    let compare = || check(&model, &drive, &windows, args.depth);
    let report = context.pool()?.install(compare).map_err(|error| match error {
        CheckError::Measure(error) => measure_failure(error),
        CheckError::Nothing(_) => Failure::input(error),
    })?;
    context.show(&report, report.text())
}
