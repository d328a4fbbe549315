//! `ssdtune predict-perf ftl …`: the learned time of firmware on its own CPU.
//!
//! `docs/firmware-time.md` is the tour.

mod fit;
mod predict;
mod profile;
mod run;

use crate::context::Context;
use crate::outcome::Outcome;
use clap::Subcommand;

/// What to do with firmware times.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the firmware over the workloads, group by group, and keep events and times in a file.
    Profile(Box<profile::Args>),
    /// Learn the target's times from the host's events and times, and say how good that is on
    /// workloads that were not learned from.
    Fit(fit::Args),
    /// Predict the target's times from a profile of the host.
    Predict(predict::Args),
    /// Run one workload in this process. `profile` starts it.
    #[command(hide = true)]
    Run(run::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Profile(args) => profile::run(&args, context),
            Self::Fit(args) => fit::run(&args, context),
            Self::Predict(args) => predict::run(&args, context),
            Self::Run(args) => run::run(&args, context),
        }
    }
}
