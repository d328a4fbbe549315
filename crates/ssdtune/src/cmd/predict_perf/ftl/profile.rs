//! `predict-perf ftl profile`: events and times of the firmware, group by group, into a file.

use super::SizeArg;
use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use anyhow::{Context as _, anyhow};
use ssdtune_learn::Version;
use ssdtune_predict::firmware::callgrind::Caches;
use ssdtune_predict::firmware::counters::{CounterError, Counters};
use ssdtune_predict::firmware::events::{EventSource, of_callgrind};
use ssdtune_predict::firmware::launch::{LaunchError, Launcher, Measured, is_installed};
use ssdtune_predict::firmware::profile::{
    ProfileError, Row, Setup, Source, Store, TimeSource, machine,
};
use ssdtune_predict::firmware::run::{Group, Task};
use ssdtune_predict::firmware::workloads::{GROUP_REQUESTS, TABLE_4, Workload};
use ssdtune_predict::firmware::{cortex_a53, counters};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Arguments of `predict-perf ftl profile`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where events come from.
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "auto")]
    events: EventsArg,

    /// Run the firmware under a command, as in `qemu-x86_64`, and take the times there: a stand-in
    /// for a target.
    #[arg(long, value_name = "COMMAND", conflicts_with = "cortex_a53")]
    under: Option<String>,

    /// Compute the times by a timing model of a Cortex-A53 over callgrind with its caches: a
    /// stand-in for a target that proves little.
    #[arg(long)]
    cortex_a53: bool,

    /// Times taken of each group; `fit --time` says which counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    repeats: u32,

    /// Labels of Table 4, as in RW,TC; all without it.
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    workloads: Vec<String>,

    /// One group of so many that the paper has.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    scale: u32,

    /// Groups of a workload at most.
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..))]
    groups_max: u32,

    /// Groups of each workload that are served before the first that counts.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    warm_up: u32,

    /// The drive.
    #[arg(long, value_enum, default_value = "paper")]
    size: SizeArg,

    /// File of JSON lines for the groups. One that was begun by the same command is gone on with.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Where events come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EventsArg {
    /// Performance counters where the machine has them, else callgrind.
    Auto,
    /// Linux performance counters.
    Perf,
    /// Valgrind's callgrind with cache and branch simulation.
    Callgrind,
    /// None: times only, as a target needs.
    None,
}

/// Profiles.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let workloads = workloads(args)?;
    super::has_folder(&args.out)?;
    let events = settled(args, context)?;
    let scratch = std::env::temp_dir().join(format!("ssdtune-ftl-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    let outcome = measure(args, context, &workloads, events, scratch.clone());
    // What is left there is of no use to anybody.
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

fn workloads(args: &Args) -> Outcome<Vec<Workload>> {
    if args.workloads.is_empty() {
        return Ok(TABLE_4.to_vec());
    }
    let of = |label: &String| {
        let known: Vec<&str> = TABLE_4.iter().map(|row| row.label).collect();
        Workload::of(label).ok_or_else(|| {
            Failure::usage(anyhow!("no workload {label}: Table 4 has {}", known.join(", ")))
        })
    };
    args.workloads.iter().map(of).collect()
}

/// The source of events, checked: what is not there is said before anything is measured.
fn settled(args: &Args, context: &Context) -> Outcome<EventsArg> {
    if args.cortex_a53 && matches!(args.events, EventsArg::Perf | EventsArg::None) {
        let error =
            anyhow!("--cortex-a53 computes times from callgrind's events: leave --events away");
        return Err(Failure::usage(error));
    }
    if let Some(command) = &args.under {
        if command.trim().is_empty() {
            return Err(Failure::usage(anyhow!("--under wants a command, as in qemu-x86_64")));
        }
        return match args.events {
            EventsArg::Auto | EventsArg::None => Ok(EventsArg::None),
            _ => Err(Failure::usage(anyhow!("--under takes times only: leave --events away"))),
        };
    }
    let valgrind = || match is_installed("valgrind") {
        true => Ok(EventsArg::Callgrind),
        false => Err(Failure::Work(anyhow!(
            "valgrind is not installed: install it, or take --events none for times only"
        ))),
    };
    match args.events {
        EventsArg::Auto if args.cortex_a53 => valgrind(),
        EventsArg::Auto => match Counters::open(0) {
            Ok(_) => Ok(EventsArg::Perf),
            Err(error) => {
                context.note(format_args!("events come from callgrind: {}", short(&error)));
                valgrind()
            }
        },
        EventsArg::Perf => {
            Counters::open(0).map_err(|error| Failure::Work(error.into()))?;
            Ok(EventsArg::Perf)
        }
        EventsArg::Callgrind => valgrind(),
        EventsArg::None => Ok(EventsArg::None),
    }
}

fn short(error: &CounterError) -> String {
    match error {
        CounterError::Unavailable(cause) => format!("no performance counters here ({cause})"),
        CounterError::System => "performance counters are read on Linux only".to_owned(),
    }
}

fn measure(
    args: &Args,
    context: &Context,
    workloads: &[Workload],
    events: EventsArg,
    scratch: PathBuf,
) -> Outcome {
    let program = std::env::current_exe().context("where this program is")?;
    let under: Vec<String> =
        args.under.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
    let bench = Bench { args, events, launcher: Launcher { program, under, scratch } };
    let deferred = Deferred::new();
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let mut store = None;
    for (place, workload) in workloads.iter().enumerate() {
        if deferred.flag().load(Ordering::Relaxed) {
            progress.finish();
            context.note(format_args!(
                "what was measured is in {}; the same command goes on",
                args.out.display()
            ));
            return Err(Failure::Interrupted);
        }
        let seed = context.seed().unwrap_or(0);
        if store.is_none() && args.out.exists() {
            store = bench.resume(seed)?;
        }
        if store.as_ref().is_some_and(|store: &Store| store.knows(workload.label)) {
            continue;
        }
        let (rows, source) = bench.workload(*workload, seed)?;
        let store = match &mut store {
            Some(store) => store,
            None => store.insert(Store::open(&args.out, &source).map_err(failure)?),
        };
        store.append(&rows).map_err(failure)?;
        progress.cell(0, (place + 1) as f64 / workloads.len() as f64, 0);
        context.note(format_args!("{}: {} groups", workload.label, rows.len()));
    }
    progress.finish();
    context.line(format_args!("{} workloads in {}", workloads.len(), args.out.display()))
}

fn failure(error: ProfileError) -> Failure {
    match error {
        ProfileError::Other { .. } => Failure::usage(error),
        other => Failure::input(other),
    }
}

fn work(error: LaunchError) -> Failure {
    Failure::Work(error.into())
}

struct Bench<'a> {
    args: &'a Args,
    events: EventsArg,
    launcher: Launcher,
}

impl Bench<'_> {
    fn task(&self, workload: Workload, seed: u64) -> Task {
        let groups = workload.groups(self.args.scale, self.args.groups_max);
        let (warm_up, size) = (self.args.warm_up, self.args.size.into());
        Task { workload, groups, warm_up, size, seed }
    }

    /// The file that is there, if it was measured as it would be gone on with.
    fn resume(&self, seed: u64) -> Outcome<Option<Store>> {
        if std::fs::metadata(&self.args.out).is_ok_and(|about| about.len() == 0) {
            return Ok(None);
        }
        let found = ssdtune_predict::firmware::profile::Profile::read(&self.args.out)
            .map_err(Failure::input)?;
        // What a source of events says of itself is known only afterwards.
        let same_kind = matches!(
            (&found.source.events, self.events),
            (EventSource::None, EventsArg::None)
                | (EventSource::PerformanceCounters { .. }, EventsArg::Perf)
                | (EventSource::Callgrind { .. }, EventsArg::Callgrind)
        );
        let events = if same_kind { found.source.events } else { EventSource::None };
        Store::open(&self.args.out, &self.source(events, seed)).map(Some).map_err(failure)
    }

    fn source(&self, events: EventSource, seed: u64) -> Source {
        let time = match (&self.args.under, self.args.cortex_a53) {
            (Some(under), _) => TimeSource::StandInMeasured { under: under.clone() },
            (None, true) => TimeSource::StandInModelled { model: cortex_a53::NAME.to_owned() },
            (None, false) => TimeSource::Measured,
        };
        Source {
            firmware_profile: Version,
            program: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            machine: machine(),
            setup: Setup {
                size: self.args.size.into(),
                group_requests: GROUP_REQUESTS as u32,
                scale: self.args.scale,
                groups_max: self.args.groups_max,
                warm_up: self.args.warm_up,
                seed,
            },
            time,
            repeats: if self.args.cortex_a53 { 1 } else { self.args.repeats },
            events,
        }
    }

    fn workload(&self, workload: Workload, seed: u64) -> Outcome<(Vec<Row>, Source)> {
        let task = self.task(workload, seed);
        if self.args.cortex_a53 {
            return self.modelled(&task);
        }
        let with_counters = self.events == EventsArg::Perf;
        let measured =
            self.launcher.times(&task, self.args.repeats, with_counters).map_err(work)?;
        let mut rows = rows(&task, &measured, if with_counters { counters::SETS } else { 0 });
        let events = match self.events {
            EventsArg::Perf => EventSource::PerformanceCounters { missing: measured.missing },
            EventsArg::Callgrind => {
                let (groups, output) =
                    self.launcher.callgrind(&task, Caches::Host).map_err(work)?;
                for ((row, group), counted) in rows.iter_mut().zip(groups).zip(output.groups) {
                    same_work(row, &group)?;
                    row.events = of_callgrind(&counted);
                    row.callgrind = counted;
                }
                EventSource::Callgrind { described: output.described }
            }
            _ => EventSource::None,
        };
        Ok((rows, self.source(events, seed)))
    }

    /// Times computed from the events of callgrind with the target's caches.
    fn modelled(&self, task: &Task) -> Outcome<(Vec<Row>, Source)> {
        let (groups, output) = self.launcher.callgrind(task, Caches::CortexA53).map_err(work)?;
        let row = |(group, counted): (Group, BTreeMap<String, u64>)| Row {
            id: id(task, &group),
            counts: group.counts,
            ns: vec![cortex_a53::time_ns(&counted).round() as u64],
            events: of_callgrind(&counted),
            callgrind: counted,
        };
        let rows = groups.into_iter().zip(output.groups).map(row).collect();
        let events = EventSource::Callgrind { described: output.described };
        Ok((rows, self.source(events, task.seed)))
    }
}

fn id(task: &Task, group: &Group) -> String {
    format!("{}/{}", task.workload.label, group.number)
}

/// Passes joined into rows; the first `counting` of them counted events instead of time.
fn rows(task: &Task, measured: &Measured, counting: usize) -> Vec<Row> {
    let Some(first) = measured.passes.first() else { return Vec::new() };
    let (counted, timed) = measured.passes.split_at(counting.min(measured.passes.len()));
    let row = |(place, group): (usize, &Group)| {
        let of = |pass: &Vec<Group>| pass.get(place).map(|group| group.ns);
        let mut events = BTreeMap::new();
        for pass in counted {
            events.extend(pass.get(place).map(|group| group.events.clone()).unwrap_or_default());
        }
        Row {
            id: id(task, group),
            counts: group.counts,
            ns: timed.iter().filter_map(of).collect(),
            events,
            callgrind: BTreeMap::new(),
        }
    };
    first.iter().enumerate().map(row).collect()
}

/// A pass elsewhere is another look at the same work.
fn same_work(row: &Row, group: &Group) -> Outcome {
    match row.counts == group.counts {
        true => Ok(()),
        false => Err(Failure::Work(anyhow!(
            "group {} did other work under valgrind than without: report this as a fault",
            row.id
        ))),
    }
}
