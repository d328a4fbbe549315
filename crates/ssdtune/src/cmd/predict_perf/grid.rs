//! `predict-perf grid`: the points of a grid, by name.

use super::GridArgs;
use crate::context::Context;
use crate::outcome::Outcome;

/// Arguments of `predict-perf grid`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    grid: GridArgs,
}

/// Prints one name in a line.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let points = args.grid.points(context)?;
    if context.json() {
        return context.document(&points);
    }
    points.iter().try_for_each(|point| context.line(point))
}
