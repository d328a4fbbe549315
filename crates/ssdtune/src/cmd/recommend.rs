//! `ssdtune recommend`: what is remembered for workloads like this one, without a simulation.

use crate::autodb::{self, DbArg, cluster_failure};
use crate::context::Context;
use crate::device;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::workload_source::{SourceArgs, SourceName};
use anyhow::anyhow;
use serde::Serialize;
use ssdtune_tune::cluster::{Categories, Classification, Threshold};
use ssdtune_tune::memory::{BestError, StoredRecommendation};
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `ssdtune recommend`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The trace is put into a category of workloads (`ssdtune workload learn`). \
    The best configuration that a search has stored for the category is printed as TOML. The exit \
    code is 1 if the trace belongs to no category, or if no stored configuration fits: `ssdtune \
    search` finds and stores one."
)]
pub(crate) struct Args {
    /// A trace file, or a bundled model (`ssdtune trace models`).
    #[arg(value_name = "TRACE")]
    source: SourceName,

    /// Only a configuration that keeps these constraints (a TOML file).
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,

    /// How near the trace must be to the centre of a category to belong to it: a distance, or
    /// `derived`, the least distance between two categories.
    #[arg(long, value_name = "DISTANCE", default_value_t = Threshold::default())]
    threshold: Threshold,

    /// Write the configuration into this file instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<OutFile>,

    #[command(flatten)]
    input: SourceArgs,

    #[command(flatten)]
    db: DbArg,
}

#[derive(Serialize)]
struct Report {
    source: String,
    verdict: Classification,
    recommendation: StoredRecommendation,
}

/// Looks the configuration up.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let limits = args.constraints.as_deref().map(device::read_constraints).transpose()?;
    let db = args.db.open_existing()?;
    let categories = Categories::load(&db).map_err(cluster_failure)?;
    let requests = args.input.read(&args.source, context)?;
    let began = Instant::now();
    let name = &args.source.source;
    let verdict = categories.classify(name, &requests, args.threshold).map_err(cluster_failure)?;
    let (category, distance, threshold) = (&verdict.name, verdict.distance, verdict.threshold);
    if !verdict.inside {
        return Err(Failure::Work(anyhow!(
            "{name} belongs to no category (the nearest is {category} at {distance:.2}, beyond \
             {threshold:.2}): `ssdtune workload learn` makes one of it, and `ssdtune search` then \
             finds its configuration"
        )));
    }
    let best = StoredRecommendation::best_of_category(&db, verdict.category, limits.as_ref());
    let best = best.map_err(|error| best_failure(error, category))?;
    context.note(format_args!(
        "{name} is of category {category} (distance {distance:.2}, threshold {threshold:.2}); \
         looked up in {:.1} ms",
        began.elapsed().as_secs_f64() * 1e3
    ));
    context.note(best.told());
    if let Some(path) = &args.output {
        outputs::write(path, &best.configuration)?;
    }
    if context.json() {
        return context.document(&Report { source: name.clone(), verdict, recommendation: best });
    }
    if args.output.is_some() { Ok(()) } else { context.raw(best.configuration.as_bytes()) }
}

fn best_failure(error: BestError, category: &str) -> Failure {
    match error {
        BestError::Db(error) => autodb::failure(error),
        BestError::Faulty { .. } => Failure::input(error),
        BestError::Nothing | BestError::NoneKeeps { .. } => Failure::Work(anyhow!(
            "{error} for category {category}: `ssdtune search` finds one and stores it"
        )),
    }
}
