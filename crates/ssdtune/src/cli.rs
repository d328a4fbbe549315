//! The command line: global flags here, each subcommand's own in its file under `cmd/`.

use crate::cmd::Command;
use crate::outcome::EXIT_CODES;
use clap::{ArgAction, Args, Parser, ValueEnum};
use std::num::NonZeroUsize;

/// Designs SSDs by simulation and learning.
#[derive(Debug, Parser)]
#[command(name = "ssdtune", version, propagate_version = true, after_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every subcommand takes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Print one JSON document on standard output instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Threads to work with; results do not depend on it. Default: all processors.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Seed of every random choice; without it each file's own or a fixed default.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,

    /// Say only what fails.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more; twice for even more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Colour: on a terminal only, always, or never.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Not at all.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
