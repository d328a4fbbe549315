//! `ssdtune db show`: one record.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use serde::Serialize;
use ssdtune_tune::memory::{AutoDb, Generation, RawRecord, RecordKind, key_text};

/// Arguments of `ssdtune db show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// RecordKind of the record: evaluation, workload, cluster, model, pruning, search, run or
    /// configuration.
    #[arg(value_name = "KIND")]
    kind: RecordKind,

    /// Its key as `ssdtune db list KIND` prints it, or a beginning that only it has.
    #[arg(value_name = "KEY")]
    key: String,

    #[command(flatten)]
    db: DbArg,
}

#[derive(Serialize)]
struct Record {
    kind: RecordKind,
    key: String,
    generation: Generation,
    epoch: u32,
    value: serde_json::Value,
}

/// Prints the record as JSON.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    let entry = find(&db, args.kind, &args.key)?;
    let value: serde_json::Value = serde_json::from_str(&entry.json)?;
    if !context.json() {
        let (kind, key) = (args.kind, key_text(&entry.key));
        context.note(format_args!(
            "{kind} {key}: generation {}, epoch {}",
            entry.generation, entry.epoch
        ));
        return context.document(&value);
    }
    context.document(&Record {
        kind: args.kind,
        key: key_text(&entry.key),
        generation: entry.generation,
        epoch: entry.epoch,
        value,
    })
}

/// The record of that key, or the only one whose key begins so.
fn find(db: &AutoDb, kind: RecordKind, wanted: &str) -> Outcome<RawRecord> {
    if let Some(entry) = db.entry(kind, wanted.as_bytes()).map_err(failure)? {
        return Ok(entry);
    }
    let mut found: Option<RawRecord> = None;
    for entry in db.entries(kind) {
        let entry = entry.map_err(failure)?;
        let text = key_text(&entry.key);
        if text == wanted {
            return Ok(entry);
        }
        if text.starts_with(wanted) {
            if let Some(first) = &found {
                let first = key_text(&first.key);
                return Err(Failure::usage(anyhow!(
                    "{kind} {wanted}: the keys {first} and {text} both begin so: say more of it"
                )));
            }
            found = Some(entry);
        }
    }
    found.ok_or_else(|| {
        Failure::usage(anyhow!(
            "no {kind} has a key that begins with {wanted}: `ssdtune db list {kind}` lists them"
        ))
    })
}
