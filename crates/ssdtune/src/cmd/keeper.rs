//! `ssdtune keeper …`: channels for the tenants of a drive, learned from simulations.
//!
//! `docs/keeper.md` explains the commands.

mod compare;
mod eval;
mod label;
mod map;
mod settings;
mod shares;
mod train;

use crate::context::Context;
use crate::device::{self, Overrides, simulation_failure};
use crate::outcome::{Failure, Outcome};
use clap::Subcommand;
use ssdtune_keeper::{LabelsError, check_divisible, labelled_allocation};
use ssdtune_model::CheckedConfig;

/// What to do with channel allocations.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find out by simulation which strategy is the best for each of many synthetic mixes.
    Label(Box<label::Args>),
    /// Train a network on labelled mixes. Needs the program ssdtune-train.
    Train(train::Args),
    /// Say how good a network is on labelled mixes that it has not seen.
    Eval(eval::Args),
    /// Print which strategy a network chooses at every intensity and write share (Fig. 6).
    Map(map::Args),
    /// Measure every strategy of two tenants at nine write shares (Fig. 2).
    Shares(Box<shares::Args>),
    /// Compare Shared, Isolated, SSDKeeper and the best strategy on a mix of workloads or traces
    /// (Fig. 5).
    ///
    /// Fixed strategies have static page allocation, and nothing leaves their parts. SSDKeeper has
    /// the drive's allocation, and writes leave its parts while these are busy. "Shared, dynamic"
    /// is what dynamic allocation does without it.
    ///
    /// Data that the drive holds at the start (--start, --age) lie on all channels, and only what
    /// is written moves. If the drive starts empty, as in the paper's simulator, a page that is
    /// read before it is written gets its place when it is read, by the strategy of that moment.
    Compare(Box<compare::Args>),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Label(args) => label::run(&args, context),
            Self::Train(args) => train::run(&args, context),
            Self::Eval(args) => eval::run(&args, context),
            Self::Map(args) => map::run(&args, context),
            Self::Shares(args) => shares::run(&args, context),
            Self::Compare(args) => compare::run(&args, context),
        }
    }
}

/// The flags that name the drive.
#[derive(Debug, clap::Args)]
struct DriveArgs {
    /// The drive: a preset (`ssdtune config show` lists them), a TOML file, or an MQSim
    /// ssdconfig.xml.
    #[arg(long, value_name = "DEVICE", default_value = "ssdkeeper")]
    device: String,

    #[command(flatten)]
    overrides: Overrides,
}

impl DriveArgs {
    /// The drive, checked.
    fn load(&self, context: &Context) -> Outcome<CheckedConfig> {
        device::load_checked(&self.device, &self.overrides, context)
    }

    /// A divisible drive with the page allocation that it is labelled with.
    fn load_labelled(&self, context: &Context) -> Outcome<CheckedConfig> {
        let mut config = (*self.load(context)?).clone();
        check_divisible(&config).map_err(Failure::usage)?;
        config.mapping.allocation = labelled_allocation(&config);
        config.check().map_err(Failure::input)
    }
}

/// The exit code of an error about labels.
fn labels_failure(error: LabelsError) -> Failure {
    match error {
        LabelsError::Other { .. } | LabelsError::Foreign(_) => Failure::usage(error),
        LabelsError::Simulation(error) => simulation_failure(error),
        other => Failure::input(other),
    }
}
