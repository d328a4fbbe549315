//! `predict-perf ftl profile`: events and times of the firmware, group by group, into a file.

use crate::context::{Context, Level};
use crate::global::{one_of, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::GrowingFile;
use crate::program;
use crate::progress::Progress;
use ssdtune_predict::firmware::{
    DriveSize, EventChoice, GROUP_REQUESTS, ProfileError, ProfileSetup, Profiler, ProfilerError,
    ProfilerOptions, Workload,
};

/// Arguments of `predict-perf ftl profile`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where events come from. `perf`: Linux performance counters. `callgrind`: valgrind with
    /// caches, branches and TLBs simulated. `auto`: the first, where the machine has them, else the
    /// second. `none`: times only, as a target needs.
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    #[arg(value_parser = one_of::<EventChoice>(&["auto", "perf", "callgrind", "none"]))]
    events: EventChoice,

    /// Run the firmware under a command, as in `qemu-x86_64`, and take the times there: a stand-in
    /// for a target.
    #[arg(long, value_name = "COMMAND", conflicts_with = "cortex_a53")]
    under: Option<String>,

    /// Compute the times by a timing model of a Cortex-A53 over callgrind with its caches and TLBs:
    /// a stand-in for a target.
    #[arg(long)]
    cortex_a53: bool,

    /// Times taken of each group; `fit --time` says which counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(1..=99))]
    repeats: u32,

    /// Labels of Table 4, as in RW,TC; all of them unless given.
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Run one group for every N groups of the paper.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(1..=10_000))]
    scale: u32,

    /// The most groups of a workload.
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = whole::<u32>(1..))]
    groups_max: u32,

    /// Groups of each workload that are served before those that are measured.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u32>(0..=1_000))]
    warm_up: u32,

    /// The drive: `paper` has 1 TiB; `small` has 8 GiB, to try things out.
    #[arg(long, default_value = "paper", value_parser = one_of::<DriveSize>(&["paper", "small"]))]
    size: DriveSize,

    /// File of JSON lines for the groups. If the file was begun by the same command, it is
    /// continued.
    #[arg(long, value_name = "FILE")]
    out: GrowingFile,
}

impl Args {
    fn options(&self, context: &Context) -> ProfilerOptions {
        ProfilerOptions {
            events: self.events,
            under: self.under.clone(),
            cortex_a53: self.cortex_a53,
            repeats: self.repeats,
            setup: ProfileSetup {
                size: self.size,
                group_requests: GROUP_REQUESTS as u32,
                scale: self.scale,
                groups_max: self.groups_max,
                warm_up: self.warm_up,
                seed: context.seed().unwrap_or(0),
            },
            program: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            child: program::child(),
        }
    }
}

/// Measures the workloads that the file does not hold.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let workloads = Workload::all_of(&args.workloads).map_err(Failure::usage)?;
    let profiler = Profiler::new(args.options(context)).map_err(failure)?;
    if let Some(reason) = profiler.no_counters() {
        context.note(format_args!("events come from callgrind: {reason}"));
    }
    let deferred = Deferred::new();
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let mut tell = |place: usize, groups: usize| {
        progress.cell(0, (place + 1) as f64 / workloads.len() as f64, 0);
        context.note(format_args!("{}: {groups} groups", workloads[place].label));
    };
    let done = profiler.run(&workloads, &args.out, deferred.flag(), &mut tell);
    progress.finish();
    let file = args.out.display();
    if let Err(ProfilerError::Interrupted) = done {
        context.note(format_args!("what was measured is in {file}; the same command goes on"));
    }
    done.map_err(failure)?;
    context.line(format_args!("{} workloads in {file}", workloads.len()))
}

/// What an error of profiling means for the exit code.
fn failure(error: ProfilerError) -> Failure {
    match error {
        ProfilerError::Interrupted => Failure::Interrupted,
        ProfilerError::Options(_)
        | ProfilerError::File(ProfileError::Other { .. } | ProfileError::Foreign(_)) => {
            Failure::usage(error)
        }
        ProfilerError::File(_) => Failure::input(error),
        other => Failure::Work(other.into()),
    }
}
