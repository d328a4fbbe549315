//! `ssdtune compare placement`: what placement policies make of the writes of traces and workload models.
//!
//! Every combination of a load and a policy is a cell: a functional replay of its own (`replay`). Loads are read
//! one after the other, a load's cells run on all threads.

mod drive;
mod load;
mod plots;
mod replay;
mod response;
mod show;
mod table;

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome, chain};
use crate::progress::Progress;
use anyhow::anyhow;
use drive::{Rule, Variation};
use rayon::prelude::*;
use replay::Watch;
use show::{CellResult, Document, LoadResult};
use ssdtune_experiment::{Origin, RequestSource};
use ssdtune_model::config::{MovedPages, PlacementPolicy, TableScale};
use ssdtune_trace::ReadOptions;
use ssdtune_trace::workload::{Seed, bundled};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["trace", "workload", "volumes"])))]
pub(crate) struct Args {
    /// Trace files.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trace: Vec<PathBuf>,

    /// Bundled workload models (`ssdtune trace models` lists them). They are synthetic: fitted to published figures.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    workload: Vec<String>,

    /// The 13 volumes of HAML-SSD's Table IV, as bundled models.
    #[arg(long)]
    volumes: bool,

    /// Devices of a trace are applications on one address space, not devices with one each: what auto-stream tells
    /// apart.
    #[arg(long)]
    one_address_space: bool,

    /// Policies to compare: none, auto-stream, hotis, asa-ftl, haml, sepbit, or oracle, which knows the future.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_values = ["none", "auto-stream", "hotis", "asa-ftl", "haml", "sepbit", "oracle"])]
    policy: Vec<String>,

    /// Clusters of haml; several compare them.
    #[arg(long, value_name = "K,K", value_delimiter = ',', default_values_t = [6])]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=16))]
    clusters: Vec<u32>,

    /// Slices of haml; several compare them.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [2_560])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    slices: Vec<u32>,

    /// Trainings of haml in the time of a load; several compare them. 28 are the paper's, a week in steps of six
    /// hours.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [28.0], value_parser = periods)]
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

    /// Write each load's last training of haml into this directory, a CSV file each: updates, interval and cluster of
    /// every slice.
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,

    /// Which write frontiers take the pages that collection moves; several compare them. `policy` is each policy's
    /// own way, `with-host` puts them with host data.
    #[arg(long, value_name = "WHERE,WHERE", value_delimiter = ',', default_values = ["policy"])]
    #[arg(value_parser = ["policy", "with-host", "together", "by-queue"])]
    moved: Vec<String>,

    /// Spare share of the raw capacity of a sized drive. The default is Table III's, 44 of 300.
    #[arg(long, value_name = "SHARE", default_value_t = 44.0 / 300.0, value_parser = spare)]
    spare: f64,

    /// Bytes of a flash page.
    #[arg(long, value_name = "BYTES", default_value_t = 8_192)]
    #[arg(value_parser = clap::value_parser!(u32).range(512..=65_536))]
    page_bytes: u32,

    /// Take the drive of Table III (300 GB raw) instead of one sized by the load.
    #[arg(long, conflicts_with_all = ["spare", "page_bytes"])]
    table_iii: bool,

    /// At most so many requests of each load.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// Also time the first N requests of the second half with the simulator, on a drive of four planes at least.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    response: Option<u64>,

    /// Draw into this directory, an SVG file each: write amplification, erases, response times, blocks by invalid
    /// pages, intervals, and the clusters of each load.
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
    fn sources(&self, context: &Context) -> Outcome<Vec<RequestSource>> {
        let traces = self.trace.iter().map(|path| Ok(Origin::File(path.clone())));
        let volumes = VOLUMES.iter().filter(|_| self.volumes).map(|name| (*name).to_owned());
        let models = volumes.chain(self.workload.iter().cloned()).map(|name| {
            let model = bundled(&name).map_err(|error| Failure::usage(anyhow!("{error}")))?;
            let seed = Seed { index: context.seed().unwrap_or(0), ..Seed::default() };
            Ok(Origin::Model { model: Arc::new(model), seed })
        });
        let all = traces.chain(models).map(|origin: Outcome<Origin>| {
            let origin = origin?;
            let own = match &origin {
                Origin::Model { model, .. } => Some(model.requests),
                _ => None,
            };
            let limit = self.requests.or(own);
            Ok(RequestSource { limit, ..RequestSource::new(origin, ReadOptions::default()) })
        });
        all.collect()
    }

    /// Every policy with every setting that it looks at.
    fn variations(&self) -> Outcome<Vec<Variation>> {
        let mut all = Vec::new();
        for name in &self.policy {
            let oracle = name == "oracle";
            let known = PlacementPolicy::from_name(name).filter(|_| !oracle);
            let Some(policy) = known.or(oracle.then_some(PlacementPolicy::Haml)) else {
                let legal: Vec<&str> = PlacementPolicy::ALL.iter().map(|p| p.name()).collect();
                let error = anyhow!("--policy {name}: must be one of {}, oracle", legal.join(", "));
                return Err(Failure::usage(error));
            };
            let plain = Variation {
                label: name.clone(),
                policy,
                oracle,
                moved: MovedPages::Policy,
                clusters: if oracle { ORACLE_FRONTIERS } else { self.clusters[0] },
                slices: self.slices[0],
                periods: self.periods[0],
                scale: TableScale::Linear,
                interval: true,
                wear_rules: !oracle,
            };
            if policy == PlacementPolicy::Haml && !oracle {
                self.vary_haml(&plain, &mut all);
            } else {
                all.push(plain);
            }
        }
        let moved = self.moved.iter().filter_map(|name| MovedPages::from_name(name));
        let with = |moved: MovedPages| {
            let name = |label: &str| match moved {
                MovedPages::Policy => label.to_owned(),
                moved => format!("{label}, moved {moved}"),
            };
            let all = all.iter().map(move |plain| Variation {
                label: name(&plain.label),
                moved,
                ..plain.clone()
            });
            all.collect::<Vec<_>>()
        };
        Ok(moved.flat_map(with).collect())
    }

    fn vary_haml(&self, plain: &Variation, all: &mut Vec<Variation>) {
        let several = |count: usize, text: String| if count > 1 { text } else { String::new() };
        for &clusters in &self.clusters {
            for &slices in &self.slices {
                for &periods in &self.periods {
                    let label = [
                        "haml".to_owned(),
                        several(self.clusters.len(), format!(" K={clusters}")),
                        several(self.slices.len(), format!(" {slices} slices")),
                        several(self.periods.len(), format!(" {periods} periods")),
                    ]
                    .concat();
                    all.push(Variation { label, clusters, slices, periods, ..plain.clone() });
                }
            }
        }
        if self.without_wear_rules {
            let label = "haml, no wear rules".to_owned();
            all.push(Variation { label, wear_rules: false, ..plain.clone() });
        }
        if self.with_log_scale {
            let label = "haml, log scale".to_owned();
            all.push(Variation { label, scale: TableScale::Log, ..plain.clone() });
        }
        if self.without_interval {
            let label = "haml, no interval".to_owned();
            all.push(Variation { label, interval: false, ..plain.clone() });
        }
    }
}

/// Planes of a drive that is timed: one plane alone would serve one write at a time.
const TIMED_PLANES: u32 = 4;

/// Frontiers of the reference.
const ORACLE_FRONTIERS: u32 = 8;

/// Compares and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sources = args.sources(context)?;
    let variations = args.variations()?;
    let planes_min = if args.response.is_some() { TIMED_PLANES } else { 1 };
    let rule = Rule { spare: args.spare, page_bytes: args.page_bytes, planes_min };
    let options = load::LoadOptions {
        page_bytes: args.page_bytes,
        one_space: args.one_address_space,
        slice: args.response.unwrap_or(0) as usize,
    };
    let deferred = Deferred::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(context.threads())
        .build()
        .map_err(|error| Failure::Work(error.into()))?;
    let mut loads = Vec::new();
    let progress = Progress::new(sources.len() * variations.len(), context.level() > Level::Quiet);
    for (number, source) in sources.iter().enumerate() {
        if deferred.flag().load(Ordering::Relaxed) {
            break;
        }
        let load = load::load(source, options, context)?;
        let sized = if args.table_iii { drive::table_iii() } else { rule.drive(&load) };
        let mut result = LoadResult::of(&load);
        match sized {
            Err(error) => result.skipped = Some(chain(&error)),
            Ok(drive) => {
                result.drive = Some(show::Drive::of(&drive));
                result.cells = pool.install(|| {
                    let cell = |(index, variation): (usize, &Variation)| {
                        let tell = |done: f64, requests: u64| {
                            progress.cell(number * variations.len() + index, done, requests);
                        };
                        let watch = Watch { stop: deferred.flag(), progress: &tell };
                        run_cell(&load, &drive, variation, &watch)
                    };
                    variations.par_iter().enumerate().map(cell).collect()
                });
            }
        }
        for (variation, cell) in variations.iter().zip(&result.cells) {
            if let (Some(measured), Level::Verbose | Level::Debug) =
                (&cell.measured, context.level())
            {
                let (name, seconds) = (&variation.label, measured.seconds);
                context.note(format_args!("{}, {name}: {seconds:.1} s", load.name));
            }
        }
        loads.push(result);
    }
    progress.finish();
    let rule = if args.table_iii { "the drive of Table III".to_owned() } else { rule.describe() };
    if let Some(directory) = &args.tables {
        table::write_all(directory, &loads)?;
    }
    let document = Document::of(rule, loads, deferred.flag().load(Ordering::Relaxed));
    show::print(&document, args.plots.as_deref(), context)?;
    if document.partial {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

fn run_cell(
    load: &load::Load,
    drive: &ssdtune_model::DeviceConfig,
    variation: &Variation,
    watch: &Watch<'_>,
) -> CellResult {
    let mut result = CellResult::new(variation);
    if variation.policy == PlacementPolicy::AutoStream && load.applications < 2 {
        result.not_applicable = Some("one stream, and nobody knows who writes".to_owned());
    } else {
        match replay::replay(load, drive, variation, watch) {
            Ok(measured) => result.measured = measured,
            Err(error) => result.error = Some(chain(&error)),
        }
        if !load.slice.is_empty() && !variation.oracle && result.error.is_none() {
            match response::measure(load, drive, variation, watch.stop) {
                Ok(response) => result.response = response,
                Err(error) => result.error = Some(chain(&error)),
            }
        }
    }
    (watch.progress)(1.0, 0);
    result
}
