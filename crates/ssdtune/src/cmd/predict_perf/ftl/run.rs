//! `predict-perf ftl run`: one workload in this process, messages on standard output.

use super::SizeArg;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use anyhow::{Context as _, anyhow};
use ssdtune_predict::firmware::counters::{self, Counters};
use ssdtune_predict::firmware::launch::{Message, read_plan};
use ssdtune_predict::firmware::run::{Stage, Task};
use ssdtune_predict::firmware::workloads::Workload;
use std::io::BufRead;
use std::path::PathBuf;

/// Arguments of `predict-perf ftl run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Label of the workload.
    #[arg(long, value_name = "LABEL")]
    workload: String,

    /// Groups to measure.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    groups: u32,

    /// Groups before them.
    #[arg(long, value_name = "N")]
    warm_up: u32,

    /// The drive.
    #[arg(long, value_enum)]
    size: SizeArg,

    /// File for what the rehearsal finds; one that exists replaces it.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Passes that take the time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: u32,

    /// Also passes that count events with performance counters.
    #[arg(long)]
    counters: bool,

    /// Wait for a line of standard input before the drive of the last pass is made.
    #[arg(long)]
    wait: bool,
}

/// Runs.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let workload = Workload::of(&args.workload).ok_or_else(|| {
        Failure::usage(anyhow!("no workload {}: Table 4 has SR to LB", args.workload))
    })?;
    let task = Task {
        workload,
        groups: args.groups,
        warm_up: args.warm_up,
        size: args.size.into(),
        seed: context.seed().unwrap_or(0),
    };
    let known = match &args.plan {
        Some(path) => read_plan(path).with_context(|| path.display().to_string())?,
        None => None,
    };
    let is_new = known.is_none();
    let stage = Stage::new(task, known).map_err(work)?;
    if let Some(path) = args.plan.as_ref().filter(|_| is_new) {
        let text = serde_json::to_string(stage.plan())?;
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    let sets = if args.counters { counters::SETS } else { 0 };
    for set in 0..sets {
        let mut counters = Counters::open(set).map_err(|error| Failure::Work(error.into()))?;
        let missing = counters.missing().iter().map(|&event| event.to_owned()).collect();
        say(context, &Message::Missing(missing))?;
        let groups = stage.pass(stage.drive().map_err(work)?, Some(&mut counters));
        say(context, &Message::Pass(groups.map_err(work)?))?;
    }
    for pass in 1..=args.repeats {
        // Before the drive is made: what preparation leaves in the caches is part of what the
        // groups meet.
        if args.wait && pass == args.repeats {
            say(context, &Message::Ready)?;
            std::io::stdin().lock().read_line(&mut String::new())?;
        }
        let drive = stage.drive().map_err(work)?;
        say(context, &Message::Pass(stage.pass(drive, None).map_err(work)?))?;
    }
    Ok(())
}

fn say(context: &Context, message: &Message) -> Outcome {
    context.line(serde_json::to_string(message)?)?;
    context.flush()
}

fn work(error: ssdtune_predict::firmware::run::RunError) -> Failure {
    Failure::Work(error.into())
}
