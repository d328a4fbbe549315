//! `ssdtune workload …`: categories of workloads.

mod classify;
mod learn;
mod list;
mod plot;
pub(crate) mod source;

use crate::autodb;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use clap::Subcommand;
use ssdtune_tune::cluster::ClusterError;

/// What to do with workloads.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn workloads: they make the categories, join one, or add one.
    Learn(Box<learn::Args>),
    /// Tell which category a trace belongs to.
    Classify(Box<classify::Args>),
    /// List the categories and the workloads in them.
    List(list::Args),
    /// Draw the windows of all learned workloads in two dimensions, as SVG.
    Plot(plot::Args),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Learn(args) => learn::run(&args, context),
            Self::Classify(args) => classify::run(&args, context),
            Self::List(args) => list::run(&args, context),
            Self::Plot(args) => plot::run(&args, context),
        }
    }
}

/// What an error of the categories means.
pub(crate) fn failure(error: ClusterError) -> Failure {
    match error {
        ClusterError::Db(error) => autodb::failure(error),
        ClusterError::TooShort { .. }
        | ClusterError::TooFewWindows { .. }
        | ClusterError::Inconsistent { .. }
        | ClusterError::Model(_) => Failure::input(error),
        ClusterError::Nothing
        | ClusterError::Name { .. }
        | ClusterError::SameName { .. }
        | ClusterError::Known { .. }
        | ClusterError::NoCategory { .. }
        | ClusterError::NotLearned => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}
