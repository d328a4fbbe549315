//! `ssdtune db verify`: checks whether every record is what was written.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_report::Text;

/// Arguments of `ssdtune db verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The exit code is 3 if anything is damaged.")]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArg,
}

/// Reads and checks every record.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    let health = db.verify().map_err(failure)?;
    let (sound, outdated) = (health.records.values().sum::<u64>(), health.outdated);
    let mut text = Text::new();
    text.line(format_args!(
        "{sound} records are sound, {outdated} of them of another results epoch"
    ));
    for damage in &health.damaged {
        text.line(format_args!("{} {}: {}", damage.kind, damage.key, damage.reason));
    }
    context.show(&health, text)?;
    if health.damaged.is_empty() { Ok(()) } else { Err(Failure::Reported(3)) }
}
