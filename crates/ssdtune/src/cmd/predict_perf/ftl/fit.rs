//! `predict-perf ftl fit`: models of a target's firmware time, judged on workloads they have not
//! seen.

use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::program::simulator;
use serde::Serialize;
use ssdtune_learn::mlp::{MlpError, can_train};
use ssdtune_predict::firmware::{
    FirmwareProvenance, FitError, FitOptions, FitReport, Networks, Profile, Statistic, fit,
};
use std::path::PathBuf;

/// Arguments of `predict-perf ftl fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Profile of this machine: events and times. Several taken at different times are put
    /// together.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    host: Vec<PathBuf>,

    /// Profile of the target, or of a stand-in for it: times of the same groups. Several taken at
    /// different times are put together.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    target: Vec<PathBuf>,

    /// Which of a group's repeated times counts.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "median")]
    time: TimeArg,

    /// Networks of the paper's Table 2: none, of the paper's shape, or also of the shapes that a
    /// search finds. Needs the program ssdtune-train.
    #[arg(long, value_enum, value_name = "HOW", default_value = "none")]
    networks: NetworksArg,

    /// Passes over the groups that a network takes; by default what makes the paper's 35,000 steps.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=100_000))]
    epochs: Option<u32>,

    /// With how many seeds each network is trained; the report has the mean and the spread.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(1..=99))]
    seeds: u64,

    /// File for the model.
    #[arg(long, value_name = "FILE")]
    out: Option<OutFile>,
}

/// Which of a group's repeated times counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TimeArg {
    /// The median.
    Median,
    /// The least, for shared machines: other programs only ever add time.
    Least,
}

/// Which networks are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum NetworksArg {
    /// Train none.
    None,
    /// Six layers of 128 neurons.
    PaperShape,
    /// That, and the paper's network with the best of all 48 points of Table 2.
    Search,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    target: String,
    provenance: &'a FirmwareProvenance,
    #[serde(flatten)]
    report: &'a FitReport,
}

impl Args {
    fn options(&self, context: &Context) -> FitOptions {
        FitOptions {
            statistic: match self.time {
                TimeArg::Median => Statistic::Median,
                TimeArg::Least => Statistic::Least,
            },
            networks: match self.networks {
                NetworksArg::None => Networks::None,
                NetworksArg::PaperShape => Networks::PaperShape,
                NetworksArg::Search => Networks::Search,
            },
            epochs: self.epochs.map(|passes| passes as usize),
            seeds: self.seeds,
            seed: context.seed().unwrap_or(0),
            program: simulator(),
        }
    }
}

/// Fits, writes, prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    if args.networks != NetworksArg::None && !can_train() {
        return Err(Failure::usage(MlpError::NoTrainer));
    }
    let host = Profile::read_all(&args.host).map_err(Failure::input)?;
    let target = Profile::read_all(&args.target).map_err(Failure::input)?;
    let options = args.options(context);
    let note = context.notes();
    let fitted = context.pool()?.install(|| fit(&host, &target, &options, &note));
    let (model, report) = fitted.map_err(|error| match error {
        FitError::Join(_) => Failure::input(error),
        other => Failure::Work(other.into()),
    })?;
    if let Some(path) = &args.out {
        outputs::write(path, model.to_json())?;
    }
    let provenance = &model.provenance;
    let document = Document { target: provenance.target_label(), provenance, report: &report };
    context.show(&document, report.text(provenance))
}
