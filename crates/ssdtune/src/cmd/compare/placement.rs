//! `ssdtune compare placement`: what placement policies make of the writes of traces and workload
//! models.
//!
//! Every combination of a load and a policy is a replay of its own. Loads are read one after the
//! other, and a load's replays run on all threads.

mod show;

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use anyhow::{Context as _, anyhow};
use ssdtune_experiment::{Origin, RequestSource};
use ssdtune_model::config::MovedPages;
use ssdtune_placement::{
    Candidates, Comparison, DriveRule, LoadResult, PlacementError, Sizing, Study,
    TABLE_III_PAGE_BYTES, TABLE_III_SPARE, figures, training_csv,
};
use ssdtune_trace::ReadOptions;
use ssdtune_trace::workload::{Seed, bundled};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The volumes of HAML-SSD's Table IV, as bundled models.
const VOLUMES: [&str; 13] = [
    "prn_1",
    "proj_1",
    "usr_2",
    "prxy_0",
    "proj_0",
    "ts_0",
    "usr_1",
    "stg_1",
    "wdev_0",
    "web_2",
    "systor_lun0",
    "systor_lun1",
    "systor_lun3",
];

/// Arguments of `ssdtune compare placement`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["trace", "workload", "volumes"])))]
pub(crate) struct Args {
    /// Trace files.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trace: Vec<PathBuf>,

    /// Bundled workload models (`ssdtune trace models` lists them). They are synthetic: fitted to
    /// published figures.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    workload: Vec<String>,

    /// The 13 volumes of HAML-SSD's Table IV, as bundled models.
    #[arg(long)]
    volumes: bool,

    /// Devices of a trace are applications on one address space, not devices with one each: what
    /// auto-stream tells apart.
    #[arg(long)]
    one_address_space: bool,

    /// Policies to compare: none, auto-stream, hotis, asa-ftl, haml, sepbit, or oracle, which knows
    /// the future.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_values_t = Candidates::default().policies)]
    policy: Vec<String>,

    /// Clusters of haml; several compare them.
    #[arg(long, value_name = "K,K", value_delimiter = ',', default_values_t = [6])]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=16))]
    clusters: Vec<u32>,

    /// Slices of haml; several compare them.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [2_560])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    slices: Vec<u32>,

    /// Trainings of haml in the time of a load; several compare them. 28 are the paper's, a week in
    /// steps of six hours.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [28.0])]
    #[arg(value_parser = periods)]
    periods: Vec<f64>,

    /// Also run haml without its wear rules.
    #[arg(long)]
    without_wear_rules: bool,

    /// Also run haml with logarithmic tables.
    #[arg(long)]
    with_log_scale: bool,

    /// Also run haml by update frequency alone.
    #[arg(long)]
    without_interval: bool,

    /// Write each load's last training of haml into this directory, a CSV file each: updates,
    /// interval and cluster of every slice.
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,

    /// Which write frontiers take the pages that collection moves; several compare them. `policy`
    /// is each policy's own way, `with-host` puts them with host data.
    #[arg(long, value_name = "WHERE,WHERE", value_delimiter = ',', default_values = ["policy"])]
    #[arg(value_parser = ["policy", "with-host", "together", "by-queue"])]
    moved: Vec<String>,

    /// Spare share of the raw capacity of a sized drive. The default is Table III's, 44 of 300.
    #[arg(long, value_name = "SHARE", default_value_t = TABLE_III_SPARE, value_parser = spare)]
    spare: f64,

    /// Bytes of a flash page.
    #[arg(long, value_name = "BYTES", default_value_t = TABLE_III_PAGE_BYTES)]
    #[arg(value_parser = clap::value_parser!(u32).range(512..=65_536))]
    page_bytes: u32,

    /// Take the drive of Table III (300 GB raw) instead of one sized by the load.
    #[arg(long, conflicts_with_all = ["spare", "page_bytes"])]
    table_iii: bool,

    /// Read only the first N requests of each load.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// Also time the first N requests of the second half with the simulator, on a drive of four
    /// planes at least.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    response: Option<u64>,

    /// Draw into this directory, an SVG file each: write amplification, erases, response times,
    /// blocks by invalid pages, intervals, and the clusters of each load.
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

fn spare(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.01..=0.9).contains(share));
    share.ok_or_else(|| "write a share between 0.01 and 0.9".to_owned())
}

fn periods(text: &str) -> Result<f64, String> {
    let count = text.parse().ok().filter(|count| (1.0..=1e6).contains(count));
    count.ok_or_else(|| "write a number between 1 and 1000000".to_owned())
}

impl Args {
    /// The loads, not read yet.
    fn sources(&self, context: &Context) -> Outcome<Vec<RequestSource>> {
        let traces = self.trace.iter().map(|path| Ok((Origin::File(path.clone()), None)));
        let volumes = VOLUMES.iter().filter(|_| self.volumes).map(|name| (*name).to_owned());
        let models = volumes.chain(self.workload.iter().cloned()).map(|name| {
            let model = bundled(&name).map_err(|error| Failure::usage(anyhow!("{error}")))?;
            let seed = Seed { index: context.seed().unwrap_or(0), ..Seed::default() };
            let requests = model.requests;
            Ok((Origin::Model { model: Arc::new(model), seed }, Some(requests)))
        });
        let source = |found: Outcome<(Origin, Option<u64>)>| {
            let (origin, all) = found?;
            let limit = self.requests.or(all);
            Ok(RequestSource { limit, ..RequestSource::new(origin, ReadOptions::default()) })
        };
        traces.chain(models).map(source).collect()
    }

    fn comparison(&self) -> Outcome<Comparison> {
        let candidates = Candidates {
            policies: self.policy.clone(),
            clusters: self.clusters.clone(),
            slices: self.slices.clone(),
            periods: self.periods.clone(),
            moved: self.moved.iter().filter_map(|name| MovedPages::from_name(name)).collect(),
            without_wear_rules: self.without_wear_rules,
            with_log_scale: self.with_log_scale,
            without_interval: self.without_interval,
        };
        let candidates =
            candidates.list().map_err(|error| Failure::usage(anyhow!("--policy {error}")))?;
        let planes_min = if self.response.is_some() { TIMED_PLANES } else { 1 };
        let (spare, page_bytes) = (self.spare, self.page_bytes);
        Ok(Comparison {
            candidates,
            drives: match self.table_iii {
                true => DriveRule::TableIii,
                false => DriveRule::Sized(Sizing { spare, page_bytes, planes_min }),
            },
            one_address_space: self.one_address_space,
            timed_requests: self.response.unwrap_or(0) as usize,
        })
    }
}

/// Fewest planes of a drive that is timed: one plane alone would serve one write at a time.
const TIMED_PLANES: u32 = 4;

/// Compares and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sources = args.sources(context)?;
    let comparison = args.comparison()?;
    let deferred = Deferred::new();
    let loads = measure(&sources, &comparison, deferred.flag(), context)?;
    if let Some(directory) = &args.tables {
        write_tables(directory, &loads)?;
    }
    let partial = deferred.flag().load(Ordering::Relaxed);
    let study = Study::of(&comparison.drives, loads, partial);
    if let Some(directory) = &args.plots {
        write_plots(directory, &study)?;
    }
    show::print(&study, context)?;
    if partial { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Measures every candidate on every load, until the flag is set.
fn measure(
    sources: &[RequestSource],
    comparison: &Comparison,
    stop: &AtomicBool,
    context: &Context,
) -> Outcome<Vec<LoadResult>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(context.threads())
        .build()
        .map_err(|error| Failure::Work(error.into()))?;
    let candidates = comparison.candidates.len();
    let progress = Progress::new(sources.len() * candidates, context.level() > Level::Quiet);
    let mut results = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let load = comparison.load(source).map_err(failure)?;
        let (name, writes) = (&load.name, load.writes.len());
        context.note(format_args!("{name}: {writes} writes of {} pages", load.footprint_pages));
        let tell = |candidate: usize, done: f64, pages: u64| {
            progress.cell(number * candidates + candidate, done, pages);
        };
        let result = pool.install(|| comparison.run(&load, stop, &tell));
        for policy in &result.policies {
            if let (Some(measured), Level::Verbose | Level::Debug) =
                (&policy.measured, context.level())
            {
                context.note(format_args!("{name}, {}: {:.1} s", policy.policy, measured.seconds));
            }
        }
        results.push(result);
    }
    progress.finish();
    Ok(results)
}

/// A load that cannot be read is a wrong input.
fn failure(error: PlacementError) -> Failure {
    Failure::input(error)
}

/// Writes a CSV file for each load that haml was trained on.
fn write_tables(directory: &Path, loads: &[LoadResult]) -> anyhow::Result<()> {
    let trained = loads.iter().filter_map(|load| Some((load.title(), load.training()?)));
    let files = trained.map(|(title, training)| (format!("{title}.csv"), training_csv(training)));
    write_files(directory, files)
}

/// Writes an SVG file for each figure.
fn write_plots(directory: &Path, study: &Study) -> anyhow::Result<()> {
    let files = figures(study).into_iter();
    write_files(directory, files.map(|one| (format!("{}.svg", one.name), one.svg.to_string())))
}

/// Writes files, each a name and its text, into a directory that is made if need be.
fn write_files(
    directory: &Path,
    files: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
