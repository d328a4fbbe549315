//! `ssdtune compare …`: published ideas beside what they must beat, on the same writes.

mod placement;
mod unit;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// A subcommand that compares.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Placement policies (HAML-SSD and others): write amplification, erases, wear, response time.
    Placement(Box<placement::Args>),
    /// The HAML unit, hardware that trains HAML-SSD, beside software on this machine.
    Unit(unit::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Placement(args) => placement::run(&args, context),
            Self::Unit(args) => unit::run(&args, context),
        }
    }
}
