//! `ssdtune db show`: one record.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use serde::Serialize;
use ssdtune_tune::memory::{FindError, Generation, RecordKind, key_text};

/// Arguments of `ssdtune db show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Kind of the record: evaluation, workload, cluster, model, pruning, search, run or
    /// configuration.
    #[arg(value_name = "KIND")]
    kind: RecordKind,

    /// Key of the record, as `ssdtune db list KIND` prints it, or a beginning that no other key
    /// has.
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

/// Prints the record as JSON: with `--json` all of it, otherwise its value.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    let found = db.find(args.kind, &args.key).map_err(|error| match error {
        FindError::Db(error) => failure(error),
        other => Failure::usage(other),
    })?;
    let (kind, key) = (args.kind, key_text(&found.key));
    let (generation, epoch) = (found.generation, found.epoch);
    let value: serde_json::Value = serde_json::from_str(&found.json)?;
    if context.json() {
        return context.document(&Record { kind, key, generation, epoch, value });
    }
    context.note(format_args!("{kind} {key}: generation {generation}, epoch {epoch}"));
    context.document(&value)
}
