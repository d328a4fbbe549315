//! `ssdtune workload classify`: where traces belong.

use crate::autodb::{DbArg, cluster_failure};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use crate::workload_source::{SourceArgs, SourceName};
use serde::Serialize;
use ssdtune_tune::cluster::{Categories, Classification, PAPER_THRESHOLD, Threshold};
use std::time::Instant;

/// Arguments of `ssdtune workload classify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Trace files or bundled models (`ssdtune trace models`).
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<SourceName>,

    /// How near a trace must be to a category's centre to belong to it: a distance, or derived,
    /// which is the least distance between two categories.
    #[arg(long, value_name = "DISTANCE", default_value_t = Threshold::default())]
    threshold: Threshold,

    #[command(flatten)]
    input: SourceArgs,

    #[command(flatten)]
    db: DbArg,
}

#[derive(Serialize)]
struct Row {
    source: String,
    threshold_default: f64,
    #[serde(flatten)]
    verdict: Classification,
}

/// Classifies each source.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let categories = {
        let db = args.db.open_existing()?;
        Categories::load(&db).map_err(cluster_failure)?
    };
    let mut rows = Vec::new();
    for source in &args.sources {
        let requests = source.read(&args.input, context)?;
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
        rows.push(Row {
            source: source.source.clone(),
            threshold_default: PAPER_THRESHOLD,
            verdict,
        });
    }
    if context.json() {
        return context.document(&rows);
    }
    let mut table = table::new(&[
        "source",
        "category",
        "distance",
        "next",
        "threshold",
        "windows",
        "of them there",
    ]);
    for Row { source, verdict, .. } in &rows {
        let next = verdict.distances.get(1);
        table.add_row([
            source.clone(),
            if verdict.inside {
                verdict.name.clone()
            } else {
                format!("none; nearest {}", verdict.name)
            },
            format!("{:.2}", verdict.distance),
            next.map_or_else(String::new, |(name, distance)| format!("{name} {distance:.2}")),
            format!("{:.2}", verdict.threshold),
            verdict.windows.to_string(),
            format!("{:.0} %", 100.0 * verdict.windows_share),
        ]);
    }
    context.line(table)?;
    let least = categories.category_distance_min();
    let least = least.map_or("none".to_owned(), |least| format!("{least:.2}"));
    context.line(format_args!(
        "threshold {}; default {PAPER_THRESHOLD}, least distance between two categories {least}",
        args.threshold
    ))
}
