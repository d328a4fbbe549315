//! `ssdtune workload classify`: the categories that traces belong to.

use crate::autodb::{DbArg, cluster_failure};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::workload_source::{SourceArgs, SourceName};
use serde::Serialize;
use ssdtune_tune::cluster::{Classification, PAPER_THRESHOLD, Threshold, classified_text};
use std::time::Instant;

/// Arguments of `ssdtune workload classify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Trace files or bundled models (`ssdtune trace models`).
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<SourceName>,

    /// How near a trace must be to the centre of a category to belong to it: a distance, or
    /// `derived`, the least distance between two categories.
    #[arg(long, value_name = "DISTANCE", default_value_t = Threshold::default())]
    threshold: Threshold,

    #[command(flatten)]
    input: SourceArgs,

    #[command(flatten)]
    db: DbArg,
}

/// The category of a source.
#[derive(Serialize)]
struct ClassifiedSource {
    source: String,
    threshold_default: f64,
    #[serde(flatten)]
    verdict: Classification,
}

/// Classifies each source.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let categories = args.db.categories()?;
    let mut rows = Vec::new();
    for source in &args.sources {
        let requests = args.input.read(source, context)?;
        let began = Instant::now();
        let verdict = categories
            .classify(&source.source, &requests, args.threshold)
            .map_err(cluster_failure)?;
        context.note(format_args!(
            "{}: {} windows classified in {:.1} ms",
            source.source,
            verdict.windows,
            began.elapsed().as_secs_f64() * 1e3
        ));
        let source = source.source.clone();
        rows.push(ClassifiedSource { source, threshold_default: PAPER_THRESHOLD, verdict });
    }
    let verdicts = rows.iter().map(|row| (row.source.as_str(), &row.verdict));
    context.show(&rows, classified_text(&categories, verdicts, args.threshold))
}
