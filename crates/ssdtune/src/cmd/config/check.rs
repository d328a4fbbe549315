//! `ssdtune config check`: what is wrong with a drive, and where its capacity and memory go.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use ssdtune_mqsim::Verdict;
use ssdtune_report::Text;
use std::path::PathBuf;

/// Arguments of `ssdtune config check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Drives: presets (intel-750), TOML files or MQSim XML files. MQSim workload files are checked
    /// too. What a file is, is found by its content.
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// Also check against these constraints. A drive that breaks one is a failure.
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
}

/// Checks each drive. All are told before the first fault decides the exit code.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let constraints = args.constraints.as_deref().map(device::read_constraints).transpose()?;
    let mut verdicts = Vec::new();
    let mut text = Text::new();
    for name in &args.devices {
        let verdict = Verdict::of(name, &args.overrides.pairs(context), constraints.as_ref());
        let verdict = verdict.map_err(device::failure)?;
        verdict.add_to(&mut text);
        verdicts.push(verdict);
    }
    context.show(&verdicts, text)?;
    if verdicts.iter().any(|verdict| !verdict.sound) {
        return Err(Failure::Reported(3));
    }
    match verdicts.iter().all(|verdict| verdict.violations.is_empty()) {
        true => Ok(()),
        false => Err(Failure::Reported(1)),
    }
}
