//! `keeper compare`: strategies and the allocator on one mix of workloads or traces (Table V, Fig. 5).

use super::{DriveArgs, micros, note_other_drive, read_policy};
use crate::cmd::simulate::allocator::milliseconds;
use crate::context::Context;
use crate::interrupt::Deferred;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use crate::{table, tuning};
use anyhow::anyhow;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_experiment::{
    AddressFit, Blank, Origin, Position, RequestSource, SourceError, page_sectors,
};
use ssdtune_keeper::LEVELS;
use ssdtune_keeper::allocator::{Decision, Repeat};
use ssdtune_keeper::bench::Means;
use ssdtune_keeper::compare::{CompareError, Contest, Data, Plan, Ran};
use ssdtune_keeper::policy::Policy;
use ssdtune_keeper::strategy::Strategy;
use ssdtune_model::{CheckedConfig, Nanos, Sectors};
use ssdtune_sim::{Observe, Report, Slowdown, Tenant};
use ssdtune_trace::workload::Seed;
use ssdtune_trace::{Op, ReadOptions, Request, TenantId};
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

    /// Workload models, one for each tenant: bundled ones (`ssdtune trace models` lists them) or files.
    #[arg(long, value_name = "NAME|FILE.toml", num_args = 2..=4)]
    workload: Vec<String>,

    /// Trace files, one for each tenant.
    #[arg(long, value_name = "FILE", num_args = 2..=4)]
    trace: Vec<PathBuf>,

    /// At most so many requests in all, the first in order of time.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    requests: u64,

    /// Change the speed of the whole mix so that it has this intensity level in the mean, 1 to 20.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=20))]
    level: Option<u8>,

    /// Change the speed of each tenant so that all end together, before anything else: for traces of
    /// different lengths.
    #[arg(long)]
    even: bool,

    /// Where data lie that are read before they are written: where the strategy of their first use puts them (the
    /// paper's simulator), or on all channels from the beginning.
    #[arg(long, value_enum, value_name = "WHERE", default_value = "first-touch")]
    data: DataArg,

    /// The period T after which the allocator decides, in milliseconds; the one for which the network was trained
    /// unless given.
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    collect_ms: Option<Nanos>,

    /// Also decide again after every period, if a strategy promises so much over the one in place: the logarithm of
    /// latencies, or of probabilities where the model is a classifier.
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.03")]
    repeat: Option<f64>,
}

/// Where data lie.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DataArg {
    /// Where the strategy of their first use puts them.
    FirstTouch,
    /// On all channels.
    Spread,
}

#[derive(Serialize)]
struct Document {
    tenants: Vec<String>,
    /// What the whole run asks for.
    level: u8,
    writers: Vec<bool>,
    lines: Vec<Line>,
    /// What the allocator decided.
    decisions: Vec<Decision>,
}

/// What one plan did.
#[derive(Serialize)]
struct Line {
    plan: String,
    strategy: String,
    #[serde(flatten)]
    means: Means,
    total_ns: f64,
    /// Over the total of Shared.
    over_shared: f64,
    slowdown: Slowdown,
}

/// Runs every plan and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load(context)?;
    let policy = read_policy(&args.model)?;
    note_other_drive(&policy, &config, context);
    let (names, requests) = mix(args, &config, &policy, context)?;
    let data = match args.data {
        DataArg::FirstTouch => Data::FirstTouch,
        DataArg::Spread => Data::Spread,
    };
    let collect = args.collect_ms.unwrap_or(Nanos(policy.collect_ns));
    let deferred = Deferred::new();
    let contest =
        Contest::new(&config, data, names.len(), &requests, deferred.flag()).map_err(failure)?;
    let document = tuning::pool(context)?
        .install(|| measure(&contest, &policy, collect, args, names, &requests))
        .map_err(failure)?;
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

/// A plan's name, what it is, and whether with hybrid allocation.
type Named<'a> = (String, Plan<'a>, bool);

fn measure(
    contest: &Contest,
    policy: &Policy,
    collect: Nanos,
    args: &Args,
    names: Vec<String>,
    requests: &[Request],
) -> Result<Document, CompareError> {
    let writers = contest.writers();
    let tenants = names.len();
    let strategies: Vec<Strategy> = (Strategy::all(policy.channels, tenants).into_iter())
        .filter(|strategy| strategy.is_distinct(&writers))
        .collect();
    let keeper = |repeat| Plan::Keeper { policy, collect, repeat };
    let mut plans: Vec<Named> = vec![
        ("SSDKeeper".to_owned(), keeper(Repeat::Once), false),
        ("SSDKeeper + hybrid".to_owned(), keeper(Repeat::Once), true),
    ];
    if let Some(gain) = args.repeat {
        let repeat = Repeat::Always { hysteresis: gain.max(0.0) };
        plans.push(("SSDKeeper, repeated".to_owned(), keeper(repeat), false));
    }
    let kept = plans.len();
    plans.extend(strategies.iter().map(|s| (s.to_string(), Plan::Fixed(s, &writers), false)));
    let alone = |tenant: usize| {
        let plan = Plan::Fixed(&Strategy::Shared, &writers);
        contest.run(plan, false, Some(tenant as u16)).map(|ran| ran.report)
    };
    let alone: Vec<Report> = (0..tenants).into_par_iter().map(alone).collect::<Result<_, _>>()?;
    let ran: Vec<Ran> = (plans.par_iter())
        .map(|(_, plan, hybrid)| contest.run(*plan, *hybrid, None))
        .collect::<Result<_, _>>()?;
    let shared_ns = ran[kept].means.total_ns();
    let decisions = ran[0].decisions.clone();
    let line = |plan: &str, number: usize| {
        let last = |ran: &Ran| ran.decisions.last().map(|last| last.strategy.to_string());
        Line {
            plan: plan.to_owned(),
            strategy: last(&ran[number]).unwrap_or_else(|| plans[number].0.clone()),
            means: ran[number].means,
            total_ns: ran[number].means.total_ns(),
            over_shared: ran[number].means.total_ns() / shared_ns,
            slowdown: Slowdown::of(&ran[number].report, &alone),
        }
    };
    let best = (kept..plans.len())
        .min_by(|&a, &b| ran[a].means.total_ns().total_cmp(&ran[b].means.total_ns()))
        .unwrap_or(kept);
    let mut lines = vec![line("Shared", kept)];
    if let Some(isolated) = strategies.iter().position(|s| *s == Strategy::Isolated) {
        lines.push(line("Isolated", kept + isolated));
    }
    lines.extend((0..kept).map(|number| line(&plans[number].0, number)));
    lines.push(line(&format!("best of {}", strategies.len()), best));
    let level = policy.intensity.level(page_rate(requests, contest));
    Ok(Document { tenants: names, level, writers, lines, decisions })
}

fn page_rate(requests: &[Request], contest: &Contest) -> f64 {
    let pages: u64 = requests.iter().map(|request| pages(request, contest.page_sectors())).sum();
    let last = requests.last().map_or(1, |request| request.at.0.max(1));
    pages as f64 * 1e9 / last as f64
}

fn pages(request: &Request, page_sectors: u64) -> u64 {
    match request.op {
        Op::Read | Op::Write => {
            let end = request.lba.0 + u64::from(request.sectors.max(1));
            (end - 1) / page_sectors - request.lba.0 / page_sectors + 1
        }
        Op::Trim | Op::Flush => 0,
    }
}

/// The requests of all tenants in order of time, at the speed asked for.
fn mix(
    args: &Args,
    config: &CheckedConfig,
    policy: &Policy,
    context: &Context,
) -> Outcome<(Vec<String>, Vec<Request>)> {
    let sources = sources(args, context)?;
    let names: Vec<String> = sources.iter().map(RequestSource::name).collect();
    let space = shared_space(config, sources.len())?;
    let page = page_sectors(config.flash.page_bytes);
    let mut requests: Vec<Request> = Vec::new();
    let mut longest = 0u64;
    let mut parts: Vec<Vec<Request>> = Vec::new();
    for source in &sources {
        let read = || -> Result<Vec<Request>, SourceError> {
            let opened = source.open(&[space], page, &Position::default())?;
            opened.map(|request| Ok(Request { tenant: TenantId(0), ..request? })).collect()
        };
        let part = read().map_err(Failure::input)?;
        longest = longest.max(part.last().map_or(0, |request| request.at.0));
        parts.push(part);
    }
    for (tenant, part) in parts.into_iter().enumerate() {
        let own = part.last().map_or(1, |request| request.at.0.max(1));
        let factor = if args.even { longest as f64 / own as f64 } else { 1.0 };
        let tenant = TenantId(tenant as u16);
        requests.extend(part.into_iter().map(|request| Request {
            tenant,
            at: Nanos((request.at.0 as f64 * factor) as u64),
            ..request
        }));
    }
    requests.sort_by_key(|request| (request.at, request.tenant.0));
    requests.truncate(args.requests as usize);
    let first = requests.first().map_or(0, |request| request.at.0);
    let last = requests.last().map_or(0, |request| request.at.0);
    let total: u64 = requests.iter().map(|request| pages(request, page.0)).sum();
    if total == 0 || last == first {
        return Err(Failure::input(anyhow!("the mix has no reads and writes over some time")));
    }
    let factor = args.level.map_or(1.0, |level| {
        let wanted =
            (f64::from(level) - 0.5) / f64::from(LEVELS) * policy.intensity.requests_per_s_max;
        total as f64 * 1e9 / (last - first) as f64 / wanted
    });
    for request in &mut requests {
        request.at = Nanos(((request.at.0 - first) as f64 * factor) as u64);
    }
    Ok((names, requests))
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
    let kinds: Vec<String> = (document.tenants.iter().zip(&document.writers))
        .map(|(name, writes)| format!("{name} ({})", if *writes { "writes" } else { "reads" }))
        .collect();
    context.line(format_args!("{}; intensity level {}", kinds.join(", "), document.level))?;
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
    for line in &document.lines {
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
    if let Some(first) = document.decisions.first() {
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
