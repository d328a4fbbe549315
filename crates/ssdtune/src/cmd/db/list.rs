//! `ssdtune db list`: how much is stored of each kind, or every record of one kind.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use serde::Serialize;
use ssdtune_report::{Table, Text};
use ssdtune_tune::memory::{AutoDb, Generation, RecordKind, SCHEMA, Stale, key_text};

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
struct RecordRow {
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
    match args.kind {
        Some(kind) => list_records(&db, kind, context),
        None => summarise(&db, context),
    }
}

fn list_records(db: &AutoDb, kind: RecordKind, context: &Context) -> Outcome {
    let mut rows = Vec::new();
    let mut table = Table::new(["key", "generation", "epoch", "bytes"]);
    for record in db.entries(kind) {
        let record = record.map_err(failure)?;
        let (key, bytes) = (key_text(&record.key), record.json.len());
        let (generation, epoch) = (record.generation, record.epoch);
        let cells = [key.clone(), generation.to_string(), epoch.to_string(), bytes.to_string()];
        table.add_row(cells);
        rows.push(RecordRow { key, generation, epoch, bytes });
    }
    context.show(&rows, table)
}

fn summarise(db: &AutoDb, context: &Context) -> Outcome {
    let health = db.verify().map_err(failure)?;
    let damaged = health.damaged.len();
    if damaged > 0 {
        context.warn(format!("{damaged} damaged records: see `ssdtune db verify`"));
    }
    let (path, generation) = (db.path().display().to_string(), db.generation());
    let mut text = Text::new();
    text.line(format_args!("{path}: generation {generation}, schema {SCHEMA}"));
    let mut table = Table::new(["kind", "records", "bytes"]);
    let mut kinds = Vec::new();
    for (&kind, &records) in &health.records {
        let bytes = health.bytes.get(&kind).copied().unwrap_or(0);
        table.add_row([kind.to_string(), records.to_string(), bytes.to_string()]);
        kinds.push(KindRow { kind, records, bytes });
    }
    text.table(table);
    let stale = health.stale;
    if !context.json() {
        for Stale { kind, records, reason } in &stale {
            context.note(format_args!("{records} stale {kind} records: {reason}"));
        }
    }
    let schema = SCHEMA;
    context.show(&Summary { path, schema, generation, kinds, stale, damaged }, text)?;
    if damaged == 0 { Ok(()) } else { Err(Failure::Reported(3)) }
}
