//! The flags that every subcommand takes.

use crate::outputs::OutFile;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};
pub(crate) use ssdtune_model::given::{real, whole};
use std::str::FromStr;

/// Reads one of some names, which help, errors and completions list.
pub(crate) fn one_of<T>(names: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.iter().copied()).try_map(|name| name.parse())
}

/// Flags that every subcommand takes.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Print one JSON document on standard output instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Replace files that exist. Without this a command refuses to write a file that is there. A
    /// file that the command reads is never replaced.
    #[arg(long, global = true)]
    pub(crate) force: bool,

    /// Also write the result as a page: one HTML file that refers to nothing outside.
    #[arg(long, global = true, value_name = "FILE.html")]
    pub(crate) report: Option<OutFile>,

    /// Number of threads, at most 4 for each processor. Results do not depend on it. Default: as
    /// many as processors.
    #[arg(long, global = true, value_name = "N", value_parser = whole::<usize>(1..))]
    pub(crate) threads: Option<usize>,

    /// Seed of every random choice. Default: the seed in each file, or a fixed one.
    #[arg(long, global = true, value_name = "N")]
    #[arg(value_parser = whole::<u64>(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,

    /// Print only failures on standard error.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more on standard error; given twice, even more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When to print colours.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always, into files and pipes too.
    Always,
    /// Never.
    Never,
}
