//! `keeper label`: the best strategy of each of many mixes.

use super::{DriveArgs, bench_failure, labels_failure, simulator};
use crate::cmd::simulate::allocator::milliseconds;
use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::tuning;
use serde::Serialize;
use ssdtune_keeper::bench::{Bench, Settings};
use ssdtune_keeper::labels::{Labels, LabelsError, Source, label};
use ssdtune_keeper::mix::{BURSTY, MINORITY, REQUEST_PAGES};
use ssdtune_keeper::saturation;
use ssdtune_model::{CheckedConfig, Nanos};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Arguments of `keeper label`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    drive: DriveArgs,

    /// How many mixes.
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    mixes: u64,

    /// How many tenants mixes have, in turn: `4`, or `4,4,4,4,2` for two tenants in every fifth.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4")]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    tenants: Vec<u8>,

    #[command(flatten)]
    how: HowArgs,

    /// Run every strategy to its end.
    #[arg(long)]
    no_elimination: bool,

    /// File of JSON lines for the results. One that was begun by the same command is gone on with.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// How mixes are measured.
#[derive(Debug, clap::Args)]
pub(super) struct HowArgs {
    /// Requests of a mix.
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    requests: u64,

    /// Pages of each tenant's working set.
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    working_set: u64,

    /// Share of a tenant's requests that are not of its kind.
    #[arg(long, value_name = "SHARE", default_value_t = MINORITY, value_parser = minority)]
    minority: f64,

    /// Pages of a read request.
    #[arg(long, value_name = "N", default_value_t = REQUEST_PAGES[0], value_parser = clap::value_parser!(u32).range(1..=1024))]
    read_pages: u32,

    /// Pages of a write request.
    #[arg(long, value_name = "N", default_value_t = REQUEST_PAGES[1], value_parser = clap::value_parser!(u32).range(1..=1024))]
    write_pages: u32,

    /// Share of the mixes whose tenants come in bursts and with requests of 4 to 64 KiB. 0 is the paper's.
    #[arg(long, value_name = "SHARE", default_value_t = BURSTY, value_parser = share)]
    bursty: f64,

    /// The period T from which the features are, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = milliseconds)]
    collect_ms: Nanos,

    /// Flash pages a second at which intensity level 20 ends. Unless given it is measured: 90 % of what saturates
    /// the drive when all channels are shared.
    #[arg(long, value_name = "PAGES", value_parser = rate)]
    rate_max: Option<f64>,
}

fn minority(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.5).contains(share));
    share.ok_or_else(|| "write a share between 0 and 0.5".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share between 0 and 1".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1.0..=1e9).contains(rate));
    rate.ok_or_else(|| "write flash pages a second, from 1 to 1e9".to_owned())
}

impl HowArgs {
    /// The settings, level 20 measured if need be.
    pub(super) fn settings(
        &self,
        config: &CheckedConfig,
        eliminate: bool,
        stop: &AtomicBool,
        context: &Context,
    ) -> Outcome<Settings> {
        let mut settings = Settings {
            rate_max_pages: self.rate_max.unwrap_or(1.0),
            requests: self.requests,
            working_set_pages: self.working_set,
            minority: self.minority,
            request_pages: [self.read_pages, self.write_pages],
            bursty: self.bursty,
            collect_ns: self.collect_ms.0,
            seed: context.seed().unwrap_or(0),
            eliminate,
        };
        if self.rate_max.is_none() {
            let bench = Bench::new(config, settings, stop);
            let saturated = saturation::rate_pages(&bench).map_err(bench_failure)?;
            settings.rate_max_pages = (saturated * saturation::SHARE).round();
            context.note(format_args!(
                "saturated at {saturated:.0} flash pages a second: level 20 ends at {:.0}",
                settings.rate_max_pages
            ));
        }
        Ok(settings)
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    source: &'a Source,
    mixes: usize,
    /// How often each strategy is the best.
    labels: BTreeMap<String, usize>,
    file: String,
}

/// Labels what is not labelled yet.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load_static(context)?;
    let deferred = Deferred::new();
    let settings = args.how.settings(&config, !args.no_elimination, deferred.flag(), context)?;
    let tenants = args.tenants.iter().map(|&tenants| tenants.into()).collect();
    let source = Source::new(&config, simulator(), tenants, settings);
    let bench = Bench::new(&config, settings, deferred.flag());
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let done = AtomicU64::new(0);
    let tell = |more: u64| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress.cell(0, done as f64 / args.mixes as f64, 0);
    };
    let pool = tuning::pool(context)?;
    let outcome = pool.install(|| label(&bench, &source, args.mixes, &args.out, &tell));
    progress.finish();
    let labels = outcome.map_err(|error| {
        if matches!(error, LabelsError::Bench(_)) {
            let file = args.out.display();
            context.note(format_args!("what was labelled is in {file}; the same command goes on"));
        }
        labels_failure(error)
    })?;
    show(&labels, args, context)
}

fn show(labels: &Labels, args: &Args, context: &Context) -> Outcome {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in &labels.rows {
        *counts.entry(row.best().strategy.to_string()).or_default() += 1;
    }
    let (mixes, file) = (labels.rows.len(), args.out.display().to_string());
    if context.json() {
        return context.document(&Summary { source: &labels.source, mixes, labels: counts, file });
    }
    context.line(format_args!("{mixes} mixes on {} in {file}", labels.source.device))?;
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let words = counts.iter().map(|(name, count)| format!("{name} {count}"));
    context.line(format_args!("best: {}", words.collect::<Vec<_>>().join(", ")))
}
