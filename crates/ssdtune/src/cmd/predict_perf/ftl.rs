//! `ssdtune predict-perf ftl …`: the learned time of firmware on its own CPU.
//!
//! `docs/firmware-time.md` is the tour.

mod fit;
mod predict;
mod profile;
mod run;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use clap::Subcommand;
use ssdtune_predict::firmware::drive::Size;
use std::path::Path;

/// What to do with firmware times.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the firmware over the workloads, group by group: events and times, into a file.
    Profile(Box<profile::Args>),
    /// Learn the target's times from the host's events and times, and say how good that is on
    /// unseen workloads.
    Fit(fit::Args),
    /// Tell the target's times of a profile by a model.
    Predict(predict::Args),
    /// Run one workload in this very process: what `profile` starts.
    #[command(hide = true)]
    Run(run::Args),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Profile(args) => profile::run(&args, context),
            Self::Fit(args) => fit::run(&args, context),
            Self::Predict(args) => predict::run(&args, context),
            Self::Run(args) => run::run(&args, context),
        }
    }
}

/// Whether a file can lie where it is wanted: said before work of minutes, not after it.
fn has_folder(path: &Path) -> Outcome {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Failure::usage(
            anyhow!("cannot write {}: there is no folder {}", path.display(), folder.display()),
        )),
        _ => Ok(()),
    }
}

/// The drive that the firmware runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SizeArg {
    /// The paper's: 1 TiB.
    Paper,
    /// 8 GiB, to try things out.
    Small,
}

impl From<SizeArg> for Size {
    fn from(size: SizeArg) -> Self {
        match size {
            SizeArg::Paper => Self::Paper,
            SizeArg::Small => Self::Small,
        }
    }
}
