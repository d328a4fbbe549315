//! `keeper compare`: strategies and the allocator on one mix of workloads or traces (Table V,
//! Fig. 5).

use super::DriveArgs;
use crate::context::Context;
use crate::global::whole;
use crate::interrupt::Deferred;
use crate::keeper::{note_other_drive, read_policy};
use crate::models;
use crate::outcome::{Failure, Outcome};
use crate::preparation::PreparationArgs;
use crate::read_args::StrictArg;
use serde::Serialize;
use ssdtune_experiment::{AddressFit, Origin, Preparation, RequestSource, Start};
use ssdtune_keeper::compare::{MergeError, MergeOptions, merged_requests};
use ssdtune_keeper::{CompareError, CompareOptions, Comparison, PlanRunner};
use ssdtune_model::{CheckedConfig, Nanos, given};
use std::path::PathBuf;

/// Arguments of `keeper compare`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "workload"])))]
#[command(mut_arg("start", |start| start.default_value("empty")))]
pub(crate) struct Args {
    #[command(flatten)]
    drive: DriveArgs,

    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Workload models, one for each tenant: bundled ones (`ssdtune trace models` lists them) or
    /// files.
    #[arg(long, value_name = "NAME|FILE.toml", num_args = 2..=4)]
    workload: Vec<String>,

    /// Trace files, one for each tenant; `-` is standard input.
    #[arg(long, value_name = "FILE", num_args = 2..=4)]
    trace: Vec<PathBuf>,

    #[command(flatten)]
    strict: StrictArg,

    /// Keep at most this many requests in all, the first in order of time.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = whole::<u64>(100..=100_000_000))]
    requests: u64,

    /// Change the speed of the whole mix so that it has this intensity level in the mean, 1 to 20.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=20))]
    level: Option<u8>,

    /// Change the speed of each tenant so that all end together, before anything else: for traces
    /// of different lengths.
    #[arg(long)]
    even: bool,

    #[command(flatten)]
    preparation: PreparationArgs,

    /// Now --start.
    #[arg(long, value_enum, value_name = "WHERE", hide = true)]
    #[arg(conflicts_with_all = ["start", "age", "erases"])]
    data: Option<FormerData>,

    /// The period T, in milliseconds, after which the allocator decides; unless given, the one that
    /// the network was trained for.
    #[arg(long, value_name = "MS", value_parser = given::milliseconds)]
    collect_ms: Option<Nanos>,

    /// Also decide again after every period, if a strategy promises this much over the one in
    /// place: the logarithm of latencies, or of probabilities where the model is a classifier.
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.03")]
    repeat: Option<f64>,
}

/// What the former flag `--data` named.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormerData {
    FirstTouch,
    Spread,
}

impl FormerData {
    /// What to write instead, after `--start`.
    fn start(self) -> Start {
        match self {
            Self::FirstTouch => Start::Empty,
            Self::Spread => Start::sequential(0.0),
        }
    }
}

#[derive(Serialize)]
struct Document {
    /// Names of the workloads.
    tenants: Vec<String>,
    #[serde(flatten)]
    comparison: Comparison,
}

/// Runs every plan and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load(context)?;
    let policy = read_policy(&args.model)?;
    note_other_drive(&policy, &config, context);
    let preparation = preparation(args, &config, context)?;
    let sources = sources(args, context)?;
    let tenants: Vec<String> = sources.iter().map(RequestSource::name).collect();
    let options = MergeOptions {
        even: args.even,
        requests_max: args.requests as usize,
        level: args.level,
        intensity: policy.intensity,
    };
    let requests = merged_requests(&config, &sources, &options).map_err(merge_failure)?;
    let deferred = Deferred::new();
    let plans = PlanRunner::new(&config, preparation, tenants.len(), &requests, deferred.flag())
        .map_err(failure)?;
    let collect = args.collect_ms.unwrap_or(Nanos(policy.collect_ns));
    let options = CompareOptions { policy: &policy, collect, repeat: args.repeat };
    let comparison = context.pool()?.install(|| plans.compare(options)).map_err(failure)?;
    let text = comparison.text(&tenants);
    context.show(&Document { tenants, comparison }, text)
}

fn failure(error: CompareError) -> Failure {
    match error {
        CompareError::Interrupted => Failure::Interrupted,
        CompareError::Allocator(error) => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}

fn merge_failure(error: MergeError) -> Failure {
    match error {
        MergeError::Drive(error) => Failure::Work(error.into()),
        MergeError::Source(_) | MergeError::NoDuration => Failure::input(error),
    }
}

/// What the drive is prepared like before each plan.
fn preparation(args: &Args, config: &CheckedConfig, context: &Context) -> Outcome<Preparation> {
    let seed = config.run.seed;
    let Some(former) = args.data else { return args.preparation.preparation(seed) };
    let start = former.start();
    context.note(format_args!("--data is now --start: write --start {start}"));
    Ok(Preparation::of(start, seed))
}

/// The tenants' workloads, in the order of the command line.
fn sources(args: &Args, context: &Context) -> Outcome<Vec<RequestSource>> {
    let traces = args.trace.iter().map(|path| {
        let file = RequestSource::new(Origin::File(path.clone()), args.strict.options(context));
        let limit = Some(args.requests);
        // Several readings, of one or all tenants, follow.
        let file = RequestSource { limit, ..file };
        let file = file.load(usize::MAX).map_err(Failure::input)?.unwrap_or(file);
        file.warnings.iter().for_each(|warning| context.warn(warning));
        Ok(RequestSource { fit: Some(AddressFit::Compact), ..file })
    });
    let models = args.workload.iter().map(|name| {
        let model = models::source(name, args.requests, context)?;
        Ok(RequestSource { fit: Some(AddressFit::Wrap), ..model })
    });
    traces.chain(models).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    /// Every form of the former flag, and what to write instead.
    #[test]
    fn the_former_flag_means_what_it_meant() {
        let now = FormerData::value_variants().iter().map(|former| {
            let value = former.to_possible_value().expect("no form is hidden");
            (value.get_name().to_owned(), former.start().to_string())
        });
        let rows = [("first-touch", "empty"), ("spread", "sequential:0")];
        assert!(now.eq(rows.map(|(former, now)| (former.to_owned(), now.to_owned()))));
    }
}
