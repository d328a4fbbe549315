//! `ssdtune db gc`: without what nobody needs.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::Outcome;
use ssdtune_tune::memory::Upkeep;

/// Arguments of `ssdtune db gc`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Left out are evaluations and prunings of another results epoch: simulations answer \
                        something else today, and no search looks for them. Recommendations and categories stay."
)]
pub(crate) struct Args {
    /// Keep results of other epochs, and only give unused space back.
    #[arg(long)]
    keep_outdated: bool,

    /// Leave out damaged records too; without it they stop the work.
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
    if context.json() {
        return context.document(&collected);
    }
    context.line(format_args!(
        "{} records kept, {} outdated and {} damaged left out; {} bytes before, {} after",
        collected.kept,
        collected.outdated,
        collected.damaged,
        collected.bytes_before,
        collected.bytes_after
    ))
}
