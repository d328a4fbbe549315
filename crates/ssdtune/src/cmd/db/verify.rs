//! `ssdtune db verify`: whether every record is what was written.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};

/// Arguments of `ssdtune db verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The exit code is 1 if a record is damaged.")]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArg,
}

/// Reads everything.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    let health = db.verify().map_err(failure)?;
    if context.json() {
        context.document(&health)?;
    } else {
        let sound: u64 = health.records.values().sum();
        context.line(format_args!(
            "{sound} records are sound, {} of them of another results epoch",
            health.outdated
        ))?;
        for damage in &health.damaged {
            context.line(format_args!("{} {}: {}", damage.kind, damage.key, damage.reason))?;
        }
    }
    if health.damaged.is_empty() { Ok(()) } else { Err(Failure::Reported(1)) }
}
