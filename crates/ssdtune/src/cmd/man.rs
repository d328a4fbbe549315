//! `ssdtune man DIR`: writes manual pages, made from the definition of the command line.

use super::command_line;
use crate::context::Context;
use crate::outcome::Outcome;
use anyhow::Context as _;
use std::path::PathBuf;

/// Arguments of `ssdtune man`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory. It is made if it does not exist.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes `ssdtune.1`, `ssdtune-config.1` and a page for each other subcommand.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let at = args.directory.display();
    std::fs::create_dir_all(&args.directory).with_context(|| format!("cannot make {at}"))?;
    clap_mangen::generate_to(command_line(), &args.directory)
        .with_context(|| format!("cannot write the manual pages into {at}"))?;
    context.note(format_args!("manual pages written to {at}"));
    Ok(())
}
