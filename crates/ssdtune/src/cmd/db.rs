//! `ssdtune db …`: commands on the records of an AutoDB.

mod export;
mod gc;
mod import;
mod list;
mod show;
mod verify;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// A subcommand on an AutoDB.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List what is stored: how much of each kind, or every record of one kind.
    List(list::Args),
    /// Show one record.
    Show(show::Args),
    /// Write records as JSON lines, without loss.
    Export(export::Args),
    /// Read records that were exported.
    Import(import::Args),
    /// Leave out what no search finds any more, and free the space.
    Gc(gc::Args),
    /// Read every record and check it.
    Verify(verify::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::List(args) => list::run(&args, context),
            Self::Show(args) => show::run(&args, context),
            Self::Export(args) => export::run(&args, context),
            Self::Import(args) => import::run(&args, context),
            Self::Gc(args) => gc::run(&args, context),
            Self::Verify(args) => verify::run(&args, context),
        }
    }
}
