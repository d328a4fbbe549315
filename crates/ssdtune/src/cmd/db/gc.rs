//! `ssdtune db gc`: leaves out what no search finds any more, and frees the space.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::Outcome;
use ssdtune_tune::memory::Upkeep;

/// Arguments of `ssdtune db gc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Evaluations and prunings of another results epoch are left out: \
    simulations have other results today, and no search looks for the old ones. Recommendations \
    and categories stay.")]
pub(crate) struct Args {
    /// Keep results of other epochs, and only free unused space.
    #[arg(long)]
    keep_outdated: bool,

    /// Leave out damaged records too. Without this flag they stop the work.
    #[arg(long)]
    damaged: bool,

    #[command(flatten)]
    db: DbArg,
}

/// Collects.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut db = args.db.open_existing()?;
    let upkeep = Upkeep { keep_outdated: args.keep_outdated, drop_damaged: args.damaged };
    let collected = db.gc(upkeep).map_err(failure)?;
    let text = format!(
        "{} records kept, {} outdated and {} damaged left out; {} bytes before, {} after",
        collected.kept,
        collected.outdated,
        collected.damaged,
        collected.bytes_before,
        collected.bytes_after
    );
    context.show(&collected, text)
}
