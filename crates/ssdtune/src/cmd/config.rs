//! `ssdtune config …`: drive configurations as files.

mod params;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// What to do with configurations.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List every parameter of a drive: meaning, unit, default, legal values.
    Params(params::Args),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Params(args) => params::run(&args, context),
        }
    }
}
