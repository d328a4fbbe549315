//! `keeper map`: which strategy a network chooses, by intensity and write share (Fig. 6).

use crate::context::Context;
use crate::keeper::read_policy;
use crate::outcome::Outcome;
use crate::table;
use anyhow::Context as _;
use ssdtune_keeper::evaluation::choice_map;
use ssdtune_keeper::features::LEVELS;
use ssdtune_report::NameGrid;
use std::path::PathBuf;

/// Arguments of `keeper map`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Number of tenants. Half of them write and half read; writers have equal shares, and so have
    /// readers.
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    tenants: u8,

    /// Also draw the map as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Asks the network at every intensity level and write share, and prints its choices.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let policy = read_policy(&args.model)?;
    let points = choice_map(&policy, args.tenants.into());
    let levels: Vec<String> = (0..LEVELS).map(|level| level.to_string()).collect();
    let headings: Vec<&str> =
        std::iter::once("writers' share").chain(levels.iter().map(String::as_str)).collect();
    let mut table = table::new(&headings);
    let title = "Strategy by intensity level and share of the writers";
    let mut grid = NameGrid::new(title, "intensity level", &levels).grey("Shared");
    for row in points.chunks(levels.len()) {
        let share = format!("{:.0} %", 100.0 * row[0].write_share);
        let strategies: Vec<String> = row.iter().map(|point| point.strategy.to_string()).collect();
        table.add_row(std::iter::once(&share).chain(&strategies));
        grid.add_row(share, strategies);
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, grid.to_svg().as_str())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.json() { context.document(&points) } else { context.line(table) }
}
