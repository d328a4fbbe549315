//! `keeper compare`: strategies and the allocator on one mix of workloads or traces (Table V,
//! Fig. 5).

use super::{DriveArgs, micros};
use crate::context::Context;
use crate::interrupt::Deferred;
use crate::keeper::{milliseconds, note_other_drive, read_policy};
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use crate::{table, tuning};
use serde::Serialize;
use ssdtune_experiment::{
    AddressFit, Blank, Origin, Position, RequestSource, SourceError, page_sectors,
};
use ssdtune_keeper::compare::{MergeOptions, merge};
use ssdtune_keeper::{CompareError, CompareOptions, Comparison, DataPlacement, PlanRunner, Policy};
use ssdtune_model::{CheckedConfig, Nanos, Sectors};
use ssdtune_sim::{Observe, Tenant};
use ssdtune_trace::workload::Seed;
use ssdtune_trace::{ReadOptions, Request};
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `keeper compare`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["trace", "workload"])))]
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

    /// Trace files, one for each tenant.
    #[arg(long, value_name = "FILE", num_args = 2..=4)]
    trace: Vec<PathBuf>,

    /// Keep at most this many requests in all, the first in order of time.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    requests: u64,

    /// Change the speed of the whole mix so that it has this intensity level in the mean, 1 to 20.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=20))]
    level: Option<u8>,

    /// Change the speed of each tenant so that all end together, before anything else: for traces
    /// of different lengths.
    #[arg(long)]
    even: bool,

    /// Where data lie that are read before they are written: where the strategy at the time of
    /// their first use puts them (the paper's simulator), or on all channels from the beginning.
    #[arg(long, value_enum, value_name = "WHERE", default_value = "first-touch")]
    data: DataArg,

    /// The period T, in milliseconds, after which the allocator decides; unless given, the one that
    /// the network was trained for.
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    collect_ms: Option<Nanos>,

    /// Also decide again after every period, if a strategy promises this much over the one in
    /// place: the logarithm of latencies, or of probabilities where the model is a classifier.
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.03")]
    repeat: Option<f64>,
}

/// Where data lie.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DataArg {
    /// Where the strategy at the time of their first use puts them.
    FirstTouch,
    /// On all channels.
    Spread,
}

impl From<DataArg> for DataPlacement {
    fn from(data: DataArg) -> Self {
        match data {
            DataArg::FirstTouch => Self::FirstTouch,
            DataArg::Spread => Self::Spread,
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
    let sources = sources(args, context)?;
    let tenants: Vec<String> = sources.iter().map(RequestSource::name).collect();
    let requests = mix(&sources, args, &config, &policy)?;
    let deferred = Deferred::new();
    let stop = deferred.flag();
    let plans = PlanRunner::new(&config, args.data.into(), tenants.len(), &requests, stop)
        .map_err(failure)?;
    let collect = args.collect_ms.unwrap_or(Nanos(policy.collect_ns));
    let options = CompareOptions { policy: &policy, collect, repeat: args.repeat };
    let comparison = tuning::pool(context)?.install(|| plans.compare(options)).map_err(failure)?;
    let document = Document { tenants, comparison };
    if context.json() {
        return context.document(&document);
    }
    show(&document, context)
}

fn failure(error: CompareError) -> Failure {
    match error {
        CompareError::Interrupted => Failure::Interrupted,
        CompareError::Allocator(error) => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}

/// The requests of all tenants in order of time, at the speed asked for.
fn mix(
    sources: &[RequestSource],
    args: &Args,
    config: &CheckedConfig,
    policy: &Policy,
) -> Outcome<Vec<Request>> {
    let space = shared_space(config, sources.len())?;
    let page = page_sectors(config.flash.page_bytes);
    let read = |source: &RequestSource| -> Result<Vec<Request>, SourceError> {
        source.open(&[space], page, &Position::default())?.collect()
    };
    let workloads: Vec<Vec<Request>> =
        sources.iter().map(read).collect::<Result<_, _>>().map_err(Failure::input)?;
    let options = MergeOptions {
        even: args.even,
        requests_max: args.requests as usize,
        level: args.level,
        intensity: policy.intensity,
        page_sectors: config.geometry().sectors_per_page(),
    };
    merge(workloads, &options).map_err(Failure::input)
}

fn sources(args: &Args, context: &Context) -> Outcome<Vec<RequestSource>> {
    let limited = |origin, fit| RequestSource {
        limit: Some(args.requests),
        fit: Some(fit),
        ..RequestSource::new(origin, ReadOptions::default())
    };
    if !args.trace.is_empty() {
        let source = |path: &PathBuf| limited(Origin::File(path.clone()), AddressFit::Compact);
        return Ok(args.trace.iter().map(source).collect());
    }
    let index = context.seed().unwrap_or(0);
    (args.workload.iter())
        .map(|name| {
            let model = Arc::new(load_model(name)?);
            let seed = Seed { index, ..Seed::default() };
            Ok(limited(Origin::Model { model, seed }, AddressFit::Wrap))
        })
        .collect()
}

/// Sectors that each of the tenants sees.
fn shared_space(config: &CheckedConfig, tenants: usize) -> Outcome<Sectors> {
    let tenants = vec![Tenant::sole(config); tenants];
    let spaces = Blank::new(config, &tenants, Observe::default()).address_spaces();
    Ok(spaces.map_err(|error| Failure::Work(error.into()))?[0])
}

fn show(document: &Document, context: &Context) -> Outcome {
    let Document { tenants, comparison } = document;
    let kinds: Vec<String> = (tenants.iter().zip(&comparison.writers))
        .map(|(name, writes)| format!("{name} ({})", if *writes { "writes" } else { "reads" }))
        .collect();
    context.line(format_args!("{}; intensity level {}", kinds.join(", "), comparison.level))?;
    let mut table = table::new(&[
        "",
        "strategy",
        "write us",
        "read us",
        "sum us",
        "over Shared",
        "slowdown of each tenant",
        "fairness",
    ]);
    for line in &comparison.lines {
        let one = |slowdown: Option<f64>| slowdown.map_or("-".to_owned(), |s| format!("{s:.2}"));
        let slowdowns: Vec<String> =
            line.slowdown.tenants.iter().map(|tenant| one(tenant.slowdown)).collect();
        table.add_row([
            line.plan.clone(),
            line.strategy.clone(),
            micros(line.means.write_ns),
            micros(line.means.read_ns),
            micros(line.total_ns),
            format!("{:.3}", line.over_shared),
            slowdowns.join(" "),
            one(line.slowdown.min_over_max),
        ]);
    }
    context.line(table)?;
    if let Some(first) = comparison.decisions.first() {
        let kinds: Vec<String> =
            first.reads.iter().map(|&reads| u8::from(reads).to_string()).collect();
        let shares: Vec<String> = first.shares.iter().map(|share| format!("{share:.2}")).collect();
        context.line(format_args!(
            "seen at {:.1} ms: [{}] [{}] [{}]",
            first.at_ns as f64 / 1e6,
            first.level,
            kinds.join(","),
            shares.join(",")
        ))?;
    }
    Ok(())
}
