//! `keeper compare`: strategies and the allocator on one mix of workloads or traces (Table V,
//! Fig. 5).

use super::DriveArgs;
use crate::context::Context;
use crate::device;
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::models;
use crate::outcome::{Failure, Outcome};
use crate::preparation::PreparationArgs;
use crate::read_args::StrictArg;
use ssdtune_experiment::{AddressFit, Origin, Preparation, RequestSource, Start, former_data};
use ssdtune_keeper::compare::{Aim, Aims, MergeError, MergeOptions, merged_requests};
use ssdtune_keeper::{CompareError, CompareOptions, PlanRunner, Target, compare_windows};
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

    /// Workload models, one for each of 2 to 8 tenants: bundled ones (`ssdtune trace models` lists
    /// them) or files.
    #[arg(long, value_name = "NAME|FILE.toml", num_args = 2..=8)]
    workload: Vec<String>,

    /// Trace files, one for each of 2 to 8 tenants; `-` is standard input.
    #[arg(long, value_name = "FILE", num_args = 2..=8)]
    trace: Vec<PathBuf>,

    #[command(flatten)]
    strict: StrictArg,

    /// Keep at most this many requests in all, the first in order of time. Unless given: 1,000,000,
    /// and of traces with --sample all.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(100..=100_000_000))]
    requests: Option<u64>,

    /// Tell the figures of the whole mix from windows of it (docs/sampling.md), for millions of
    /// requests: `keeper compare --model net.json --trace a.csv b.csv --even --sample`. The drive
    /// begins empty or with --start footprint.
    #[arg(long, conflicts_with = "repeat")]
    sample: bool,

    /// Change the speed of the whole mix so that it has this intensity level in the mean, 1 to 20.
    #[arg(long, value_name = "LEVEL", value_parser = whole::<u8>(1..=20))]
    level: Option<u8>,

    /// Change the speed of each tenant so that all end together, before anything else: for traces
    /// of different lengths.
    #[arg(long)]
    even: bool,

    #[command(flatten)]
    preparation: PreparationArgs,

    /// Now --start.
    #[arg(long, value_name = "WHERE", value_parser = former_data, hide = true)]
    #[arg(conflicts_with_all = ["start", "age", "erases"])]
    data: Option<Start>,

    /// The period T, in milliseconds. The allocator decides at its end; with most networks also at
    /// moments before, and until 2 T. Unless given, the one that the network was trained for.
    #[arg(long, value_name = "MS", value_parser = given::milliseconds)]
    collect_ms: Option<Nanos>,

    /// Also decide again after every period, if a strategy promises this much over the one in
    /// place: the logarithm of latencies, or of probabilities where the model is a classifier.
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.03")]
    #[arg(value_parser = real(0.0..=1.0))]
    repeat: Option<f64>,

    /// What the best strategy is the best in: `latency`, mean read plus mean write latency, or
    /// `fairness`, the least slowdown over the greatest, if no tenant is slowed down more than the
    /// slowest one under Shared. SSDKeeper, but for --repeat, acts by it if there is no --slo.
    #[arg(long, value_name = "AIM", default_value = "latency", conflicts_with = "sample")]
    aim: Aim,

    /// A latency that a tenant, by its name or number, is to stay below: `a:p99<2ms`,
    /// `2:read-mean<500us` (mean, p50 to p99.99 or max). Strategies that meet all are the best, or
    /// the one that misses by least. SSDKeeper, but for --repeat, acts to meet these targets.
    #[arg(long, value_name = "TENANT:FIGURE<TIME", conflicts_with = "sample")]
    slo: Vec<Target>,
}

/// Runs every plan and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load(context)?;
    let policy = device::network(&args.model, &config, Some(context))?;
    let preparation = preparation(args, &config, context)?;
    let is_cut = !args.sample || args.trace.is_empty();
    let limit = args.requests.or(is_cut.then_some(1_000_000));
    let sources = sources(args, limit, context)?;
    let requests_max = limit.map_or(usize::MAX, |limit| limit as usize);
    let (even, level, intensity) = (args.even, args.level, policy.intensity);
    let options = MergeOptions { even, requests_max, level, intensity };
    let collect = args.collect_ms.unwrap_or(Nanos(policy.collect_ns));
    if args.sample {
        let (deferred, mix) = (Deferred::new(), (&sources[..], options));
        let (stop, allocator) = (deferred.flag(), (&policy, collect));
        let compare = || compare_windows(&config, &preparation, mix, allocator, stop);
        let comparison = context.pool()?.install(compare).map_err(failure)?;
        return context.show(&comparison, comparison.text());
    }
    let tenants: Vec<String> = sources.iter().map(RequestSource::name).collect();
    let requests =
        merged_requests(&config, &sources, &options).map_err(|error| failure(error.into()))?;
    let deferred = Deferred::new();
    let plans = PlanRunner::new(&config, preparation, tenants.len(), &requests, deferred.flag())
        .map_err(failure)?;
    let aims = Aims { aim: args.aim, targets: args.slo.clone() };
    let options = CompareOptions { policy: &policy, collect, repeat: args.repeat, aims: &aims };
    let whole = context.pool()?.install(|| plans.compare(tenants, options)).map_err(failure)?;
    context.show(&whole, whole.text())
}

fn failure(error: CompareError) -> Failure {
    match error {
        CompareError::Interrupted => Failure::Interrupted,
        error if error.is_usage() => Failure::usage(error),
        CompareError::Windows(error) => Failure::input(error),
        CompareError::Mix(error) if !matches!(error, MergeError::Drive(_)) => Failure::input(error),
        other => Failure::Work(other.into()),
    }
}

/// What the drive is prepared like before each plan.
fn preparation(args: &Args, config: &CheckedConfig, context: &Context) -> Outcome<Preparation> {
    let seed = config.run.seed;
    let Some(start) = args.data.clone() else { return args.preparation.preparation(seed) };
    context.note(format_args!("--data is now --start: write --start {start}"));
    Ok(Preparation::of(start, seed))
}

/// The tenants' workloads, in the order of the command line.
fn sources(args: &Args, limit: Option<u64>, context: &Context) -> Outcome<Vec<RequestSource>> {
    args.strict.needs(!args.trace.is_empty())?;
    let traces = args.trace.iter().map(|path| {
        let file = RequestSource::new(Origin::File(path.clone()), args.strict.options(context));
        // Several readings, of one or all tenants, follow.
        let file = RequestSource { limit, ..file };
        let file = match args.sample {
            true => file.repeatable().map_err(Failure::input)?,
            false => file.load(usize::MAX).map_err(Failure::input)?.unwrap_or(file),
        };
        file.warnings.iter().for_each(|warning| context.warn(warning));
        Ok(RequestSource { fit: Some(AddressFit::Compact), ..file })
    });
    let models = args.workload.iter().map(|name| {
        let model = models::source(name, limit.unwrap_or(u64::MAX), context)?;
        Ok(RequestSource { fit: Some(AddressFit::Wrap), ..model })
    });
    traces.chain(models).collect()
}
