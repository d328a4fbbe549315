//! The command line. Flags of all subcommands are in [`crate::global`]; each subcommand has a file
//! here. A new one needs a file with its `clap` arguments and a function `run`, and a variant of
//! [`Command`].

mod ablate;
mod calibrate;
mod choose;
mod compare;
mod completions;
mod config;
mod db;
mod grade;
mod keeper;
mod man;
mod predict_perf;
mod prune;
mod recommend;
mod report;
mod search;
pub(crate) mod simulate;
mod trace;
mod validate;
mod whatif;
mod workload;

use crate::context::Context;
use crate::global::Global;
use crate::help;
use crate::outcome::Outcome;
use clap::{CommandFactory as _, Parser, Subcommand};

/// Designs SSDs by simulation and learning.
#[derive(Debug, Parser)]
#[command(name = "ssdtune", version, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A subcommand with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check, show, convert and compare drive configurations.
    #[command(subcommand)]
    Config(config::Command),
    /// Simulate drives under traces or workload models.
    Simulate(Box<simulate::Args>),
    /// Find out which parameters matter for a workload, and in which order to tune them.
    Prune(Box<prune::Args>),
    /// Find a drive that serves a workload better than the baseline, prove it, remember it.
    Search(Box<search::Args>),
    /// Grade drives against the baseline, or points that another optimiser proposes.
    Grade(Box<grade::Args>),
    /// Find the nearest (with prices, the cheapest) change that makes a drive N times faster.
    #[command(name = "whatif")]
    WhatIf(Box<whatif::Args>),
    /// Search with several values of a weight of the grade, and compare the results.
    Ablate(Box<ablate::Args>),
    /// Fit a simulated drive to measurements of a real one, and say how far it is to be trusted.
    Calibrate(Box<calibrate::Args>),
    /// Rank drives that can be bought for a workload, with intervals and what was tested of them.
    Choose(Box<choose::Args>),
    /// Compare published ideas, such as placement policies, on the same writes.
    #[command(subcommand)]
    Compare(compare::Command),
    /// Measure how far results agree with a battery of recorded MQSim results.
    Validate(validate::Args),
    /// Read, convert, describe and generate block-I/O traces.
    #[command(subcommand)]
    Trace(trace::Command),
    /// Learn categories of workloads, and tell which one a trace belongs to.
    #[command(subcommand)]
    Workload(workload::Command),
    /// Learn how fast a drive is from measurements, and predict workloads without simulating them.
    #[command(subcommand)]
    PredictPerf(predict_perf::Command),
    /// Learn which channels the tenants of a drive should have, and compare with other ways.
    #[command(subcommand)]
    Keeper(keeper::Command),
    /// Print the best configuration known for workloads like this one, without a simulation.
    Recommend(Box<recommend::Args>),
    /// Write documents that commands have printed with --json as one page, side by side.
    Report(report::Args),
    /// List, show, export, import, clean and verify what an AutoDB remembers.
    #[command(subcommand)]
    Db(db::Command),
    /// Print the completion script of a shell.
    Completions(completions::Args),
    /// Write the manual pages, one for each subcommand, into a directory.
    Man(man::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Config(command) => command.run(context),
            Self::Simulate(args) => simulate::run(&args, context),
            Self::Prune(args) => prune::run(&args, context),
            Self::Search(args) => search::run(&args, context),
            Self::Grade(args) => grade::run(&args, context),
            Self::WhatIf(args) => whatif::run(*args, context),
            Self::Ablate(args) => ablate::run(&args, context),
            Self::Calibrate(args) => calibrate::run(&args, context),
            Self::Choose(args) => choose::run(&args, context),
            Self::Compare(command) => command.run(context),
            Self::Validate(args) => validate::run(&args, context),
            Self::Trace(command) => command.run(context),
            Self::Workload(command) => command.run(context),
            Self::PredictPerf(command) => command.run(context),
            Self::Keeper(command) => command.run(context),
            Self::Recommend(args) => recommend::run(&args, context),
            Self::Report(args) => report::run(&args, context),
            Self::Db(command) => command.run(context),
            Self::Completions(args) => completions::run(&args, context),
            Self::Man(args) => man::run(&args, context),
        }
    }
}

/// The definition of the command line, with what all subcommands have in common.
pub fn command_line() -> clap::Command {
    help::complete(Cli::command(), "")
}
