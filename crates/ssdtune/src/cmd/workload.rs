//! `ssdtune workload …`: commands on categories of workloads.

mod classify;
mod learn;
mod list;
mod plot;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// A subcommand on workloads.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn workloads. They make the categories, join one, or add one.
    Learn(Box<learn::Args>),
    /// Tell which category a trace belongs to.
    Classify(Box<classify::Args>),
    /// List the categories and the workloads in them.
    List(list::Args),
    /// Draw the windows of all learned workloads in two dimensions, as SVG.
    Plot(plot::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Learn(args) => learn::run(&args, context),
            Self::Classify(args) => classify::run(&args, context),
            Self::List(args) => list::run(&args, context),
            Self::Plot(args) => plot::run(&args, context),
        }
    }
}
