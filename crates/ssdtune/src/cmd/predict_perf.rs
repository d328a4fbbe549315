//! `ssdtune predict-perf …`: black-box performance models of drives, simulated or real, and the
//! time of their firmware.
//!
//! `docs/predict-perf.md` and `docs/firmware-time.md` are the tours.

mod args;
mod check;
mod fio_jobs;
mod fit;
mod ftl;
mod grid;
mod import;
mod predict;
mod sweep;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// What to do with performance models.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a simulated drive at every point of a grid.
    Sweep(Box<sweep::Args>),
    /// Print the names of the points of a grid.
    Grid(grid::Args),
    /// Write fio job files that measure a real device at the points of a grid.
    FioJobs(fio_jobs::Args),
    /// Import what fio measured.
    Import(import::Args),
    /// Learn a model from some of the measured points, and say how good it is on the others.
    Fit(fit::Args),
    /// Predict a workload: a point, characteristics, or a trace.
    Predict(Box<predict::Args>),
    /// Compare a model with the simulator on windows of real traces.
    Check(Box<check::Args>),
    /// The learned time of firmware on its own CPU.
    #[command(subcommand)]
    Ftl(ftl::Command),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Sweep(args) => sweep::run(&args, context),
            Self::Grid(args) => grid::run(&args, context),
            Self::FioJobs(args) => fio_jobs::run(&args, context),
            Self::Import(args) => import::run(&args, context),
            Self::Fit(args) => fit::run(&args, context),
            Self::Predict(args) => predict::run(&args, context),
            Self::Check(args) => check::run(&args, context),
            Self::Ftl(command) => command.run(context),
        }
    }
}
