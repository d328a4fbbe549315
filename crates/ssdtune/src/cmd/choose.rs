//! `ssdtune choose`: which of the drives that can be bought serves a workload best.

use crate::context::{Context, Level};
use crate::device::{self, Overrides};
use crate::global::whole;
use crate::interrupt::Deferred;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use crate::preparation::PreparationArgs;
use crate::progress::Progress;
use crate::read_args::{FitArg, StrictArg};
use anyhow::anyhow;
use ssdtune_choose::{Candidate, Figure, Question, choose};
use ssdtune_experiment::{FlowSet, Origin, RequestSource};
use ssdtune_model::presets;
use ssdtune_sim::Replay;
use ssdtune_trace::workload::Seed;
use ssdtune_trace::{Devices, Format, ReadOptions};
use std::path::PathBuf;

/// Arguments of `ssdtune choose`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("start", |start| start.default_value("steady")))]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "workload"])))]
pub(crate) struct Args {
    /// Drives to rank: presets, TOML files, or MQSim's ssdconfig.xml. Default: all presets that are
    /// calibrated to real drives.
    #[arg(value_name = "DRIVE")]
    drives: Vec<String>,

    /// The workload: a trace file; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// The workload: a bundled model (`ssdtune trace models` lists them) or a model file.
    #[arg(long, value_name = "NAME|FILE.toml")]
    workload: Option<String>,

    /// Format of the trace; `ssdtune trace formats` lists them. Default: found by the content.
    #[arg(long, value_name = "NAME", requires = "trace")]
    format: Option<String>,

    #[command(flatten)]
    strict: StrictArg,

    /// Rank by mean (latency), p99, throughput, write-amplification or endurance.
    #[arg(long, value_name = "FIGURE", default_value_t = Figure::Mean)]
    by: Figure,

    /// When requests are submitted: at their own times (open), or always N at once (closed:N).
    #[arg(long, value_name = "open|closed:N", default_value = "open")]
    replay: Replay,

    /// Read at most N requests. Default: all of a trace, 1,000,000 of a workload model.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..))]
    requests: Option<u64>,

    /// What to do with addresses beyond the end of a drive. Without it such a drive is not ranked,
    /// and the exit code is 3.
    #[arg(long, value_enum, value_name = "HOW")]
    fit_addresses: Option<FitArg>,

    #[command(flatten)]
    preparation: PreparationArgs,

    /// The fewest windows that the intervals of a long trace are taken over; there are less than
    /// twice as many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>(5..=200))]
    windows: usize,
}

/// Runs the workload on every drive and prints the ranking.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let named: Vec<String> = match args.drives.is_empty() {
        true => presets::calibrated().map(str::to_owned).collect(),
        false => args.drives.clone(),
    };
    if named.is_empty() {
        return Err(Failure::usage(anyhow!(
            "no preset is calibrated to a real drive: name drives to choose from, files that \
             `ssdtune calibrate` has written or any others"
        )));
    }
    let overrides = Overrides { set: Vec::new() };
    let candidate = |name: &String| {
        let (device, loaded) = device::load_own_seed(name, &overrides, context)?;
        Ok(Candidate { name: name.clone(), device, calibrated: loaded.calibrated })
    };
    let drives = named.iter().map(candidate).collect::<Outcome<Vec<_>>>()?;
    let question = args.question(context)?;
    let deferred = Deferred::new();
    let progress = Progress::new(drives.len(), context.level() > Level::Quiet);
    let tell = |drive: usize, done: f64, requests: u64| progress.cell(drive, done, requests);
    let choice = context.pool()?.install(|| choose(&drives, &question, deferred.flag(), &tell));
    progress.finish();
    let choice = choice.map_err(|_| Failure::Interrupted)?;
    context.show(&choice, choice.text())?;
    let Some(first) = choice.failed.first() else { return Ok(()) };
    let error = anyhow!("{}: {}", first.drive, first.error);
    Err(if first.is_work { Failure::Work(error) } else { Failure::input(error) })
}

impl Args {
    fn question(&self, context: &Context) -> Outcome<Question> {
        let source = match (&self.trace, &self.workload) {
            (Some(path), _) => {
                let format = self.format.as_deref().map(Format::parse).transpose();
                let format = format.map_err(Failure::usage)?;
                let own = self.strict.options(context);
                let read = ReadOptions { format, devices: Devices::Merged, ..own };
                RequestSource::new(Origin::File(path.clone()), read)
            }
            (None, name) => {
                let seed = Seed { index: context.seed().unwrap_or(0), ..Seed::default() };
                let model = load_model(name.as_deref().unwrap_or_default())?;
                RequestSource::of_model(model, seed, 1_000_000)
            }
        };
        let (limit, fit) = (self.requests.or(source.limit), self.fit_addresses.map(Into::into));
        let source = RequestSource { limit, fit, ..source };
        let mut flows = match self.trace {
            Some(_) => FlowSet::single(source, self.replay),
            None => FlowSet::of_model(source, self.replay).map_err(Failure::usage)?,
        };
        flows.keep_pipes().map_err(Failure::input)?;
        flows.keep_short_traces().map_err(Failure::input)?;
        let preparation = self.preparation.preparation(0)?;
        Ok(Question { flows, preparation, by: self.by, windows: self.windows })
    }
}
