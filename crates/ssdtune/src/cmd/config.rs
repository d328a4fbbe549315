//! `ssdtune config …`: commands on drive configurations.

mod check;
mod convert;
mod diff;
mod params;
mod show;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// A subcommand on configurations.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check drives: all faults, where the capacity goes, memory, settings without effect.
    Check(check::Args),
    /// Show a drive, or list the presets.
    Show(show::Args),
    /// Convert a drive between TOML and MQSim's XML, or edit a TOML file.
    Convert(convert::Args),
    /// Compare two drives.
    Diff(diff::Args),
    /// List every parameter of a drive: meaning, unit, default, legal values.
    Params(params::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Check(args) => check::run(&args, context),
            Self::Show(args) => show::run(&args, context),
            Self::Convert(args) => convert::run(&args, context),
            Self::Diff(args) => diff::run(&args, context),
            Self::Params(args) => params::run(&args, context),
        }
    }
}
