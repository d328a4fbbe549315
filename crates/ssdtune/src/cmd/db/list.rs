//! `ssdtune db list`: how much there is, or every record of a kind.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use serde::Serialize;
use ssdtune_tune::memory::{Generation, RecordKind, Stale, key_text};

/// Arguments of `ssdtune db list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the records of this kind: evaluation, workload, cluster, model, pruning, search, run or
    /// configuration.
    #[arg(value_name = "KIND")]
    kind: Option<RecordKind>,

    #[command(flatten)]
    db: DbArg,
}

#[derive(Serialize)]
struct Row {
    key: String,
    generation: Generation,
    epoch: u32,
    bytes: usize,
}

#[derive(Serialize)]
struct Summary {
    path: String,
    schema: u32,
    generation: Generation,
    kinds: Vec<KindRow>,
    /// What this program does not use any more, and why.
    stale: Vec<Stale>,
    damaged: usize,
}

#[derive(Serialize)]
struct KindRow {
    kind: RecordKind,
    records: u64,
    bytes: u64,
}

/// Lists.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    let Some(kind) = args.kind else {
        let health = db.verify().map_err(failure)?;
        let row = |(kind, records): (&RecordKind, &u64)| KindRow {
            kind: *kind,
            records: *records,
            bytes: health.bytes.get(kind).copied().unwrap_or(0),
        };
        let summary = Summary {
            path: db.path().display().to_string(),
            schema: ssdtune_tune::memory::SCHEMA,
            generation: db.generation(),
            kinds: health.records.iter().map(row).collect(),
            stale: health.stale,
            damaged: health.damaged.len(),
        };
        return summarise(&summary, context);
    };
    let mut rows = Vec::new();
    for entry in db.entries(kind) {
        let entry = entry.map_err(failure)?;
        rows.push(Row {
            key: key_text(&entry.key),
            generation: entry.generation,
            epoch: entry.epoch,
            bytes: entry.json.len(),
        });
    }
    if context.json() {
        return context.document(&rows);
    }
    let mut table = table::new(&["key", "generation", "epoch", "bytes"]);
    for Row { key, generation, epoch, bytes } in rows {
        table.add_row([key, generation.to_string(), epoch.to_string(), bytes.to_string()]);
    }
    context.line(table)
}

fn summarise(summary: &Summary, context: &Context) -> Outcome {
    if summary.damaged > 0 {
        context.warn(format!("{} damaged records: see `ssdtune db verify`", summary.damaged));
    }
    if context.json() {
        return context.document(summary);
    }
    context.line(format_args!(
        "{}: generation {}, schema {}",
        summary.path, summary.generation, summary.schema
    ))?;
    for Stale { kind, records, reason } in &summary.stale {
        context.note(format_args!("{records} stale {kind} records: {reason}"));
    }
    let mut table = table::new(&["kind", "records", "bytes"]);
    for KindRow { kind, records, bytes } in &summary.kinds {
        table.add_row([kind.to_string(), records.to_string(), bytes.to_string()]);
    }
    context.line(table)
}
