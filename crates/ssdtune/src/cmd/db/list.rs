//! `ssdtune db list`: how much is stored of each kind, or every record of one kind.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_tune::memory::{AutoDb, RecordKind, RecordOverview, Stale};

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

/// Lists.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    match args.kind {
        Some(kind) => list_records(&db, kind, context),
        None => summarise(&db, context),
    }
}

fn list_records(db: &AutoDb, kind: RecordKind, context: &Context) -> Outcome {
    let records = db.records(kind).map_err(failure)?;
    context.show(&records, RecordOverview::table(&records))
}

fn summarise(db: &AutoDb, context: &Context) -> Outcome {
    let overview = db.overview().map_err(failure)?;
    let damaged = overview.damaged;
    if damaged > 0 {
        context.warn(format!("{damaged} damaged records: see `ssdtune db verify`"));
    }
    if !context.json() {
        for Stale { kind, records, reason } in &overview.stale {
            context.note(format_args!("{records} stale {kind} records: {reason}"));
        }
    }
    context.show(&overview, overview.text())?;
    if damaged == 0 { Ok(()) } else { Err(Failure::Reported(3)) }
}
