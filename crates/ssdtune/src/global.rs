//! The flags that every subcommand takes.

use clap::{ArgAction, Args, ValueEnum};
use std::num::NonZeroUsize;

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
    #[arg(long, global = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
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
