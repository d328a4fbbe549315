//! `predict-perf grid`: the points of a grid, by name.

use super::args::GridArgs;
use crate::context::Context;
use crate::outcome::Outcome;

/// Arguments of `predict-perf grid`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    grid: GridArgs,
}

/// Prints a name in each line.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let points = args.grid.points(context)?;
    if context.json() {
        return context.document(&points);
    }
    points.iter().try_for_each(|point| context.line(point))
}
