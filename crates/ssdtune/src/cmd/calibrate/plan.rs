//! `ssdtune calibrate --plan`: the job file of fio that measures what identifies a drive.

use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::outputs;
use ssdtune_calibrate::{Plan, PlanOptions};
use std::path::Path;

/// Arguments of the plan.
#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    /// Instead of fitting, write the job file of fio (to --out, or standard output) that measures
    /// what identifies a drive. What fio writes then (json+) is read as points.
    #[arg(long, requires = "device", conflicts_with_all = ["points", "base", "capacity", "set"])]
    #[arg(conflicts_with_all = ["drive", "only", "hold_out", "rig", "sanitised", "filled"])]
    #[arg(conflicts_with_all = ["allow", "requests", "own_structure", "no_profiles", "journal"])]
    pub(super) plan: bool,

    /// The block device to measure, such as /dev/nvme0n1. ssdtune does not open it.
    #[arg(long, value_name = "DEVICE", requires = "plan")]
    device: Option<String>,

    /// Also plan writes, mixes and sustained overwrites. What the device holds is destroyed.
    #[arg(long, requires = "plan")]
    destructive: bool,

    /// Seconds in which each job is measured.
    #[arg(long, value_name = "N", default_value_t = 30, requires = "plan")]
    #[arg(value_parser = whole::<u32>(1..=86_400))]
    seconds: u32,
}

/// Writes the job file.
pub(super) fn run(args: &PlanArgs, out: Option<&Path>, context: &Context) -> Outcome {
    let device = args.device.clone().unwrap_or_default();
    let (is_destructive, seconds) = (args.destructive, args.seconds);
    let plan =
        Plan::of(&PlanOptions { device, is_destructive, seconds }).map_err(Failure::usage)?;
    let file = out.map_or("plan.fio".to_owned(), |path| path.display().to_string());
    context.note(format_args!("{}: {}", plan.words(), plan.command(&file)));
    if let Some(path) = out {
        outputs::write(path, &plan.text)?;
    }
    match out {
        Some(_) if !context.json() => Ok(()),
        _ => context.show(&plan, plan.text.trim_end().to_owned()),
    }
}
