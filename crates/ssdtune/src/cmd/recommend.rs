//! `ssdtune recommend`: what is remembered for workloads like this one, without a simulation.

use crate::autodb::{self, DbArg, cluster_failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::workload_source::{SourceArgs, SourceName};
use anyhow::{Context as _, anyhow};
use serde::Serialize;
use ssdtune_model::Constraints;
use ssdtune_model::document::Document;
use ssdtune_model::source::read_text;
use ssdtune_tune::cluster::{Categories, Classification, Threshold};
use ssdtune_tune::memory::{AutoDb, StoredRecommendation};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `ssdtune recommend`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The trace is put into a category of workloads (`ssdtune workload learn`); the best \
configuration that a search has stored for the category is printed as TOML. The exit code is 1 if the trace belongs \
to no category, or no stored configuration fits: `ssdtune search` finds and stores one."
)]
pub(crate) struct Args {
    /// A trace file, or a bundled model (`ssdtune trace models`).
    #[arg(value_name = "TRACE")]
    source: SourceName,

    /// Only a configuration that keeps to these constraints (a TOML file).
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,

    /// How near the trace must be to a category's centre to belong to it: a distance, or derived,
    /// which is the least distance between two categories.
    #[arg(long, value_name = "DISTANCE", default_value_t = Threshold::default())]
    threshold: Threshold,

    /// Write the configuration into this file instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

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

/// Looks it up.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let limits = args.constraints.as_deref().map(read_constraints).transpose()?;
    let db = args.db.open_existing()?;
    let categories = Categories::load(&db).map_err(cluster_failure)?;
    let requests = args.source.read(&args.input, context)?;
    let began = Instant::now();
    let name = &args.source.source;
    let verdict = categories.classify(name, &requests, args.threshold).map_err(cluster_failure)?;
    if !verdict.inside {
        return Err(Failure::Work(anyhow!(
            "{name} belongs to no category (the nearest is {} at {:.2}, beyond {:.2}): `ssdtune workload \
             learn` makes one of it, and `ssdtune search` then finds its configuration",
            verdict.name,
            verdict.distance,
            verdict.threshold
        )));
    }
    let best = best(&db, &verdict, limits.as_ref())?;
    context.note(format_args!(
        "{name} is of category {} (distance {:.2}, threshold {:.2}); looked up in {:.1} ms",
        verdict.name,
        verdict.distance,
        verdict.threshold,
        began.elapsed().as_secs_f64() * 1e3
    ));
    context.note(format_args!(
        "found for {}: grade {:.4} against {}",
        best.target, best.grade, best.baseline
    ));
    if let Some(path) = &args.output {
        std::fs::write(path, &best.configuration)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.json() {
        return context.document(&Report { source: name.clone(), verdict, recommendation: best });
    }
    if args.output.is_some() { Ok(()) } else { context.raw(best.configuration.as_bytes()) }
}

fn read_constraints(path: &Path) -> Outcome<Constraints> {
    let text = read_text(path).map_err(Failure::input)?;
    let shown = path.display().to_string();
    Constraints::parse(&text).map_err(|faults| Failure::input(faults.in_file(&shown)))
}

/// The stored configuration of the highest grade that keeps to the limits; of equal ones the first
/// by key.
fn best(
    db: &AutoDb,
    verdict: &Classification,
    limits: Option<&Constraints>,
) -> Outcome<StoredRecommendation> {
    let mut best: Option<StoredRecommendation> = None;
    let mut refused = 0;
    for found in StoredRecommendation::of_category(db, verdict.category) {
        let one = found.map_err(autodb::failure)?.1.value;
        if let Some(limits) = limits
            && !keeps(&one, limits)?
        {
            refused += 1;
            continue;
        }
        if best.as_ref().is_none_or(|best| one.grade > best.grade) {
            best = Some(one);
        }
    }
    best.ok_or_else(|| {
        let none = match refused {
            0 => "no configuration is stored".to_owned(),
            _ => format!("none of the {refused} stored configurations keeps to the constraints"),
        };
        Failure::Work(anyhow!(
            "{none} for category {}: `ssdtune search` finds one and stores it",
            verdict.name
        ))
    })
}

fn keeps(one: &StoredRecommendation, limits: &Constraints) -> Outcome<bool> {
    let document = Document::parse(&one.configuration).map_err(|faults| {
        Failure::input(anyhow!("the configuration stored for {} is wrong: {faults}", one.target))
    })?;
    // A drive of unknown power keeps to no budget.
    let within = limits.power_budget_watts.is_none()
        || one.watts.is_some_and(|watts| limits.power_violation(watts).is_none());
    Ok(within && limits.violations(document.config()).is_empty())
}
