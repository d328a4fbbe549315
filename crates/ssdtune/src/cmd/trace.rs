//! `ssdtune trace …`: commands on block-I/O traces, and on workload models that replace them.

mod convert;
mod fit;
mod formats;
mod generate;
mod head;
mod info;
mod models;
mod sample;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// A subcommand on traces.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert, join, cut, filter and remap traces.
    Convert(Box<convert::Args>),
    /// Fit a workload model to a trace.
    Fit(Box<fit::Args>),
    /// List the trace formats that can be read.
    Formats,
    /// Generate a trace from a workload model.
    Generate(generate::Args),
    /// Print the first requests of a trace, as ssdtune reads them.
    Head(Box<head::Args>),
    /// Describe traces: counts, sizes, footprint, overwriting, order, arrivals, reuse, skew.
    Info(Box<info::Args>),
    /// List the bundled workload models.
    Models(models::Args),
    /// Keep windows from all over a trace, each with the state that any drive needs to begin there.
    Sample(Box<sample::Args>),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Convert(args) => convert::run(&args, context),
            Self::Fit(args) => fit::run(&args, context),
            Self::Formats => formats::run(context),
            Self::Generate(args) => generate::run(&args, context),
            Self::Head(args) => head::run(&args, context),
            Self::Info(args) => info::run(&args, context),
            Self::Models(args) => models::run(&args, context),
            Self::Sample(args) => sample::run(&args, context),
        }
    }
}
