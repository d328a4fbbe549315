//! `ssdtune compare placement`: what placement policies make of the writes of traces and workload
//! models.
//!
//! Every policy replays every load. Loads are read one after the other, and the replays of a load
//! run on all threads.

use crate::context::{Context, Level};
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::OutPlace;
use crate::progress::Progress;
use crate::read_args::StrictArg;
use anyhow::anyhow;
use ssdtune_experiment::{Origin, RequestSource};
use ssdtune_model::config::MovedPages;
use ssdtune_placement::{
    Candidates, Comparison, DriveRule, LoadResult, Sizing, Study, TABLE_III_PAGE_BYTES,
    TABLE_III_SPARE, TABLE_IV_VOLUMES, figure_names, figures, text, title, training_csv,
};
use ssdtune_trace::workload::{Seed, bundled};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Arguments of `ssdtune compare placement`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)
    .args(["trace", "workload", "volumes"])))]
pub(crate) struct Args {
    /// Trace files.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trace: Vec<PathBuf>,

    #[command(flatten)]
    strict: StrictArg,

    /// Bundled workload models (`ssdtune trace models` lists them). They are synthetic: fitted to
    /// published figures.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    workload: Vec<String>,

    /// The 13 volumes of HAML-SSD's Table IV, as bundled models.
    #[arg(long)]
    volumes: bool,

    /// Take the devices of a trace for applications on one address space, which auto-stream tells
    /// apart. Otherwise each device has an address space of its own.
    #[arg(long)]
    one_address_space: bool,

    /// Policies to compare: those of placement.policy, or oracle and oracle-order, which know the
    /// future.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_values_t = Candidates::default().policies)]
    policy: Vec<String>,

    /// Clusters of haml. Several numbers are compared.
    #[arg(long, value_name = "K,K", value_delimiter = ',', default_values_t = [6])]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=16))]
    clusters: Vec<u32>,

    /// Slices of haml. Several numbers are compared.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [2_560])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    slices: Vec<u32>,

    /// How often haml is trained in the time of a load. Several numbers are compared. The default
    /// is the paper's: a week in steps of six hours.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [28.0])]
    #[arg(value_parser = real(1.0..=1e6))]
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

    /// Write the last training of haml on each load into this directory, as CSV: updates, interval
    /// and cluster of every slice.
    #[arg(long, value_name = "DIR")]
    tables: Option<OutPlace>,

    /// Which write frontiers take the pages that collection moves. Several ways are compared.
    /// `policy` is each policy's own way, `with-host` puts the pages with host data.
    #[arg(long, value_name = "WHERE,WHERE", value_delimiter = ',', default_values = ["policy"])]
    #[arg(value_parser = ["policy", "with-host", "together", "by-queue"])]
    moved: Vec<String>,

    /// Cross the policies with victim policies: names of gc.policy, or rga-N for d-choices of N.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    victims: Vec<String>,

    /// Spare share of the raw capacity of a drive that is sized by its load. The default is that of
    /// Table III, 44 of 300 GB.
    #[arg(long, value_name = "SHARE", default_value_t = TABLE_III_SPARE)]
    #[arg(value_parser = real(0.01..=0.9))]
    spare: f64,

    /// Bytes of a flash page.
    #[arg(long, value_name = "BYTES", default_value_t = TABLE_III_PAGE_BYTES)]
    #[arg(value_parser = clap::value_parser!(u32).range(512..=65_536))]
    page_bytes: u32,

    /// Take the drive of Table III (300 GB raw) instead of one that is sized by its load.
    #[arg(long, conflicts_with_all = ["spare", "page_bytes"])]
    table_iii: bool,

    /// Pages of a write buffer (LRU) in front of the drive; a page rewritten in it costs nothing.
    #[arg(long, value_name = "PAGES", default_value_t = 0, conflicts_with = "response")]
    write_buffer: u32,

    /// Read only the first N requests of each load.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..))]
    requests: Option<u64>,

    /// Also time the first N requests of the second half with the simulator, on a drive of at least
    /// four planes.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = whole::<u64>(1..=100_000_000))]
    response: Option<u64>,

    /// Draw charts into this directory, as SVG: write amplification, erases, response times, blocks
    /// by invalid pages, intervals, and the clusters of each load.
    #[arg(long, value_name = "DIR")]
    plots: Option<OutPlace>,
}

impl Args {
    /// The loads to read.
    fn sources(&self, context: &Context) -> Outcome<Vec<RequestSource>> {
        let file = |path: &PathBuf| {
            let read = self.strict.options(context);
            let source = RequestSource::new(Origin::File(path.clone()), read);
            let source = RequestSource { limit: self.requests, ..source };
            source.repeatable().map_err(Failure::input)
        };
        let model = |name: &str| {
            let model = bundled(name).map_err(Failure::usage)?;
            let seed = Seed { index: context.seed().unwrap_or(0), ..Seed::default() };
            let requests = self.requests.unwrap_or(model.requests);
            Ok(RequestSource::of_model(model, seed, requests))
        };
        let volumes = TABLE_IV_VOLUMES.into_iter().filter(|_| self.volumes);
        let models = volumes.chain(self.workload.iter().map(String::as_str));
        self.trace.iter().map(file).chain(models.map(model)).collect()
    }

    fn comparison(&self) -> Outcome<Comparison> {
        let candidates = Candidates {
            policies: self.policy.clone(),
            clusters: self.clusters.clone(),
            slices: self.slices.clone(),
            periods: self.periods.clone(),
            moved: self.moved.iter().filter_map(|name| MovedPages::from_name(name)).collect(),
            victims: self.victims.clone(),
            without_wear_rules: self.without_wear_rules,
            with_log_scale: self.with_log_scale,
            without_interval: self.without_interval,
        };
        let candidates = candidates.list().map_err(|error| Failure::usage(anyhow!("--{error}")))?;
        let sized = Sizing::asked(self.spare, self.page_bytes, self.response.is_some());
        Ok(Comparison {
            candidates,
            drives: if self.table_iii { DriveRule::TableIii } else { DriveRule::Sized(sized) },
            one_address_space: self.one_address_space,
            write_buffer: self.write_buffer,
            timed_requests: self.response.unwrap_or(0) as usize,
        })
    }
}

/// Compares and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sources = args.sources(context)?;
    let comparison = args.comparison()?;
    let titles: Vec<String> = sources.iter().map(|source| title(&source.name())).collect();
    if let Some(directory) = &args.tables {
        let names = titles.iter().map(|title| format!("{title}.csv"));
        context.will_write_into("--tables", directory, names)?;
    }
    if let Some(directory) = &args.plots {
        let names = figure_names(&titles).into_iter().map(|name| name + ".svg");
        context.will_write_into("--plots", directory, names)?;
    }
    let deferred = Deferred::new();
    let loads = measure(&sources, &comparison, deferred.flag(), context)?;
    if let Some(directory) = &args.tables {
        let trained = loads.iter().filter_map(|load| Some((load.title(), load.training()?)));
        let csv = |(title, training)| (format!("{title}.csv"), training_csv(training));
        ssdtune_output::write_into(directory, trained.map(csv))?;
    }
    let partial = deferred.flag().load(Ordering::Relaxed);
    let study = Study::of(&comparison.drives, loads, partial);
    if let Some(directory) = &args.plots {
        let figures = figures(&study).into_iter();
        let svg = figures.map(|one| (format!("{}.svg", one.name), one.svg.to_string()));
        ssdtune_output::write_into(directory, svg)?;
    }
    context.show(&study, text(&study))?;
    if partial { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Measures every candidate on every load, until `stop` is set.
fn measure(
    sources: &[RequestSource],
    comparison: &Comparison,
    stop: &AtomicBool,
    context: &Context,
) -> Outcome<Vec<LoadResult>> {
    let pool = context.pool()?;
    let candidates = comparison.candidates.len();
    let progress = Progress::new(sources.len() * candidates, context.level() > Level::Quiet);
    let mut results = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let load = comparison.load(source).map_err(Failure::input)?;
        load.warnings.iter().for_each(|warning| context.warn(warning));
        let (name, writes) = (&load.name, load.writes.len());
        context.note(format_args!("{name}: {writes} writes of {} pages", load.footprint_pages));
        let tell = |candidate: usize, done: f64, pages: u64| {
            progress.cell(number * candidates + candidate, done, pages);
        };
        let result = pool.install(|| comparison.run(&load, stop, &tell));
        if context.level() > Level::Normal {
            for policy in &result.policies {
                let Some(measured) = &policy.measured else { continue };
                context.note(format_args!("{name}, {}: {:.1} s", policy.policy, measured.seconds));
            }
        }
        results.push(result);
    }
    progress.finish();
    Ok(results)
}
