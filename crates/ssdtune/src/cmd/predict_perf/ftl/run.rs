//! `predict-perf ftl run`: one workload in this process, with messages on standard output.

use crate::context::Context;
use crate::global::{one_of, whole};
use crate::outcome::{Failure, Outcome};
use ssdtune_predict::firmware::{ChildMessage, ChildRun, DriveSize, Workload, WorkloadRun};
use std::io::{self, BufRead};
use std::path::PathBuf;

/// Arguments of `predict-perf ftl run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Label of the workload.
    #[arg(long, value_name = "LABEL")]
    workload: String,

    /// Groups to measure.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..))]
    groups: u32,

    /// Groups that are served before those that are measured.
    #[arg(long, value_name = "N")]
    warm_up: u32,

    /// The drive.
    #[arg(long, value_parser = one_of::<DriveSize>(&["paper", "small"]))]
    size: DriveSize,

    /// File for the findings of the rehearsal. If the file exists, it replaces the rehearsal.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Passes that take times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: u32,

    /// Count events with performance counters in further passes.
    #[arg(long)]
    counters: bool,

    /// Wait for a line of standard input before the drive of the last pass is made.
    #[arg(long)]
    wait: bool,
}

/// Runs the workload.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let workload = Workload::of(&args.workload).map_err(Failure::usage)?;
    let (groups, warm_up, size) = (args.groups, args.warm_up, args.size);
    let seed = context.seed().unwrap_or(0);
    let child = ChildRun {
        run: WorkloadRun { workload, groups, warm_up, size, seed },
        plan: args.plan.clone(),
        repeats: args.repeats,
        counters: args.counters,
        wait: args.wait,
    };
    let say = &mut |message: &ChildMessage| {
        let said = serde_json::to_string(message).map_err(Failure::from);
        let said = said.and_then(|line| context.line(line)).and_then(|()| context.flush());
        said.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    };
    let wait = &mut || io::stdin().lock().read_line(&mut String::new()).map(drop);
    child.serve(say, wait).map_err(|error| Failure::Work(error.into()))
}
