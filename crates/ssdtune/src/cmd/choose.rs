//! `ssdtune choose`: which of the drives that can be bought serves a workload best.

use crate::context::{Context, Level};
use crate::device::{self, Overrides};
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::models;
use crate::outcome::{Failure, Outcome};
use crate::preparation::PreparationArgs;
use crate::progress::Progress;
use crate::read_args::StrictArg;
use anyhow::anyhow;
use ssdtune_choose::{Candidate, ChooseError, Figure, Question, Sampling, choose, choose_sampled};
use ssdtune_experiment::livepoints::{LivePoints, SampleOptions};
use ssdtune_experiment::{AddressFit, FlowSet, Origin, RequestSource};
use ssdtune_model::presets;
use ssdtune_sim::Replay;
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
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with = "format")]
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
    #[arg(long, value_name = "wrap|compact")]
    fit_addresses: Option<AddressFit>,

    #[command(flatten)]
    preparation: PreparationArgs,

    /// The fewest windows that the intervals of a long trace are taken over; there are twice as
    /// many at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>(5..=200))]
    windows: usize,

    /// Serve windows from all over the trace instead of the whole, on drives that are restored
    /// before each, and rank by what they tell of the whole (docs/sampling.md). A trace that
    /// `ssdtune trace sample` has written is taken so without this flag.
    #[arg(long, conflicts_with = "windows")]
    sample: bool,

    /// With --sample: serve no more windows than it takes to know the mean latency of every drive
    /// as well as this, as a share of it: 0.02 is 2 %. Default: all windows.
    #[arg(long, value_name = "SHARE", requires = "sample", value_parser = real(0.001..=1.0))]
    precision: Option<f64>,
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
    let sampling = args.sampling(context);
    let choice = context.pool()?.install(|| match &sampling {
        Some(own) => choose_sampled(&drives, &question, own, deferred.flag(), &tell),
        None => choose(&drives, &question, deferred.flag(), &tell),
    });
    progress.finish();
    let choice = choice.map_err(|error| match error {
        ChooseError::Interrupted => Failure::Interrupted,
        error => Failure::usage(error),
    })?;
    context.show(&choice, choice.text())?;
    let Some(first) = choice.failed.first() else { return Ok(()) };
    let error = anyhow!("{}: {}", first.drive, first.error);
    Err(if first.is_work { Failure::Work(error) } else { Failure::input(error) })
}

impl Args {
    /// How the trace is sampled, if it is.
    fn sampling(&self, context: &Context) -> Option<Sampling> {
        let holds_windows = self.trace.as_deref().is_some_and(LivePoints::is_file);
        let seed = context.seed().unwrap_or(1);
        let options = SampleOptions { seed, ..SampleOptions::default() };
        (self.sample || holds_windows).then_some(Sampling { options, precision: self.precision })
    }

    fn question(&self, context: &Context) -> Outcome<Question> {
        self.strict.needs(self.trace.is_some())?;
        let source = match (&self.trace, &self.workload) {
            (Some(path), _) => {
                let format = self.format.as_deref().map(Format::parse).transpose();
                let format = format.map_err(Failure::usage)?;
                let own = self.strict.options(context);
                let read = ReadOptions { format, devices: Devices::Merged, ..own };
                RequestSource::new(Origin::File(path.clone()), read)
            }
            (None, name) => {
                models::source(name.as_deref().unwrap_or_default(), 1_000_000, context)?
            }
        };
        let (limit, fit) = (self.requests.or(source.limit), self.fit_addresses);
        let source = RequestSource { limit, fit, ..source };
        let mut flows = match self.trace {
            Some(_) => FlowSet::single(source, self.replay),
            None => FlowSet::of_model(source, self.replay).map_err(Failure::usage)?,
        };
        flows.keep_pipes().map_err(Failure::input)?;
        if self.sampling(context).is_none() {
            flows.keep_short_traces().map_err(Failure::input)?;
        }
        let preparation = self.preparation.preparation(0)?;
        Ok(Question { flows, preparation, by: self.by, windows: self.windows })
    }
}
