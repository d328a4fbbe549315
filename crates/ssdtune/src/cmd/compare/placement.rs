//! `ssdtune compare placement`: what placement policies make of the writes of traces and workload
//! models.
//!
//! Every policy replays every load. Loads are read one after the other, and the replays of a load
//! run on all threads.

use crate::context::{Context, Level};
use crate::device::{self, Overrides};
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
    TABLE_III_SPARE, TABLE_IV_VOLUMES, figure_names, figures, text, title,
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
    #[arg(value_parser = whole::<u32>(2..=16))]
    clusters: Vec<u32>,

    /// Slices of haml. Several numbers are compared.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [2_560])]
    #[arg(value_parser = whole::<u32>(1..=1 << 24))]
    slices: Vec<u32>,

    /// How often haml is trained in the time of a load. Several numbers are compared. The default
    /// is the paper's: a week in steps of six hours.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [28.0])]
    #[arg(value_parser = real(1.0..=1e6))]
    periods: Vec<f64>,

    /// Also run haml with no-wear-rules, log-scale (tables), no-interval (update frequency alone),
    /// equal-memory (slices in the memory of asa-ftl), readings (all that its paper may mean).
    #[arg(long, value_name = "WAYS", value_delimiter = ',')]
    haml: Vec<String>,

    /// Write the last training of haml on each load into this directory, as CSV by slices.
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

    /// Bytes of a flash page: a multiple of 512, up to 32768.
    #[arg(long, value_name = "BYTES", default_value_t = TABLE_III_PAGE_BYTES)]
    #[arg(value_parser = whole::<u32>(512..=65_536))]
    page_bytes: u32,

    /// Pages of a block, in planes of up to 65,536 blocks. Default: 16 to 256 for 2,048 blocks.
    #[arg(long, value_name = "PAGES", conflicts_with = "like")]
    #[arg(value_parser = whole::<u32>(2..=65_536))]
    block_pages: Option<u32>,

    /// Take the drive of Table III (300 GB raw) instead of one that is sized by its load.
    #[arg(long, conflicts_with_all = ["spare", "page_bytes", "block_pages"])]
    table_iii: bool,

    /// Take a drive that works as this preset or file, cut to what the load writes.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["spare", "page_bytes", "table_iii"])]
    like: Option<String>,

    /// Pages of a write buffer (LRU) in front of the drive; a page rewritten in it costs nothing.
    #[arg(long, value_name = "PAGES", default_value_t = 0, conflicts_with = "response")]
    write_buffer: u32,

    /// Replay each load until write amplification changes by less than this share (12 at most).
    #[arg(long, value_name = "SHARE", value_parser = real(1e-6..=1.0), conflicts_with = "response")]
    settle: Option<f64>,

    /// Compare every policy with these, load by load, with intervals of 95 %.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["none"])]
    beside: Vec<String>,

    /// Read only the first N requests of each load.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..))]
    requests: Option<u64>,

    /// Also time the first N requests of the second half with the simulator. The drive then has at
    /// least four planes, which changes all other figures too.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=100_000_000))]
    response: Option<u64>,

    /// Draw charts of the results into this directory, as SVG.
    #[arg(long, value_name = "DIR")]
    plots: Option<OutPlace>,
}

impl Args {
    /// The loads to read.
    fn sources(&self, context: &Context) -> Outcome<Vec<RequestSource>> {
        self.strict.needs(!self.trace.is_empty())?;
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

    fn comparison(&self, context: &Context) -> Outcome<Comparison> {
        let candidates = Candidates {
            policies: self.policy.clone(),
            clusters: self.clusters.clone(),
            slices: self.slices.clone(),
            periods: self.periods.clone(),
            moved: self.moved.iter().filter_map(|name| MovedPages::from_name(name)).collect(),
            victims: self.victims.clone(),
            ways: self.haml.clone(),
            beside: self.beside.clone(),
        };
        let candidates = candidates.list().map_err(|error| Failure::usage(anyhow!("--{error}")))?;
        let load = |name: &String| device::load(name, &Overrides::default(), context);
        let like = self.like.as_ref().map(load).transpose()?.map(|device| device.config);
        let timed = self.response.is_some();
        let sized = Sizing::asked(self.spare, self.page_bytes, self.block_pages, timed);
        Ok(Comparison {
            candidates,
            drives: DriveRule::asked(like, self.table_iii, sized),
            one_address_space: self.one_address_space,
            write_buffer: self.write_buffer,
            settle: self.settle,
            timed_requests: self.response.unwrap_or(0) as usize,
        })
    }
}

/// Compares and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sources = args.sources(context)?;
    let comparison = args.comparison(context)?;
    let titles: Vec<String> = sources.iter().map(|source| title(&source.name())).collect();
    if let Some(directory) = &args.tables {
        let names = titles.iter().map(|title| format!("{title}.csv"));
        context.will_write_into("--tables", directory, names)?;
    }
    if let Some(directory) = &args.plots {
        context.will_write_into("--plots", directory, figure_names(&titles))?;
    }
    let deferred = Deferred::new();
    let loads = measure(&sources, &comparison, deferred.flag(), context)?;
    if let Some(directory) = &args.tables {
        ssdtune_output::write_into(directory, loads.iter().filter_map(LoadResult::table))?;
    }
    let partial = deferred.flag().load(Ordering::Relaxed);
    let study = Study::of(&comparison.drives, loads, partial).beside(&args.beside);
    if let Some(directory) = &args.plots {
        ssdtune_output::write_into(directory, figures(&study))?;
    }
    context.show(&study, text(&study))?;
    match study.geometric_means.is_empty() {
        _ if partial => Err(Failure::Interrupted),
        true => Err(Failure::Work(anyhow!("nothing was measured"))),
        false => Ok(()),
    }
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
        context.note(format_args!("{load}"));
        let tell = |candidate: usize, done: f64, pages: u64| {
            progress.cell(number * candidates + candidate, done, pages);
        };
        let result = pool.install(|| comparison.run(&load, stop, &tell));
        if context.level() > Level::Normal {
            result.times().for_each(|time| context.note(format_args!("{}, {time}", load.name)));
        }
        results.push(result);
    }
    progress.finish();
    Ok(results)
}
