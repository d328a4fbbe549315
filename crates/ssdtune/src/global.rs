//! The flags that every subcommand takes.

use clap::{ArgAction, Args, ValueEnum};
use std::ops::{Bound, RangeBounds, RangeInclusive};

/// Flags that every subcommand takes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Print one JSON document on standard output instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Replace files that exist. Without this a command refuses to write a file that is there. A
    /// file that the command reads is never replaced.
    #[arg(long, global = true)]
    pub(crate) force: bool,

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

/// The parser of an option whose value is a whole number in a range. What it says of a wrong value
/// is the range.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: impl RangeBounds<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    let least = match range.start_bound() {
        Bound::Included(&least) => least,
        Bound::Excluded(&below) => below.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let most = match range.end_bound() {
        Bound::Included(&most) => most,
        Bound::Excluded(&above) => above.saturating_sub(1),
        Bound::Unbounded => u64::MAX,
    };
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match most {
            u64::MAX => format!("write a whole number of at least {least}"),
            _ => format!("write a whole number from {least} to {most}"),
        })
    }
}

/// The parser of an option whose value is a number in a range.
pub(crate) fn real(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("write a number from {} to {}", range.start(), range.end()))
    }
}
