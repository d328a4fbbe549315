//! `ssdtune trace …`: block-I/O traces as files.

mod convert;
mod formats;
mod head;
pub(crate) mod read_args;
pub(crate) mod units;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert, join, cut, filter and remap traces.
    Convert(Box<convert::Args>),
    /// List the trace formats that can be read.
    Formats,
    /// Print the first requests of a trace, as they are understood.
    Head(Box<head::Args>),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Convert(args) => convert::run(&args, context),
            Self::Formats => formats::run(context),
            Self::Head(args) => head::run(&args, context),
        }
    }
}
