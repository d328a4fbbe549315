//! An MQSim pair, `ssd.xml` and `workload.xml`, as something to run.
//!
//! A trace flow's file is looked for beside the workload file, in the folder above it (MQSim takes paths
//! relative to where it runs, which is usually there) and in the working directory; with `.xz`, `.gz` or
//! `.zst` behind the name too. A synthetic flow replays what MQSim's generator produced, recorded as
//! `traces/STEM.dump.trace` or `traces/STEM_fK.dump.trace` (STEM is the workload file's name, K the flow's
//! number): at the recorded times when it is paced by bandwidth, in a closed loop when by queue depth.
//! MQSim's random numbers are its own, so without such a file the flow cannot be run as it is.

use anyhow::{Context as _, anyhow};
use ssdtune_experiment::{
    Experiment, Flow as RequestFlow, Origin, Preparation, RequestSource, Share, Shares, Start,
    read_all,
};
use ssdtune_model::source::{LoadError, read_text};
use ssdtune_model::{CheckedConfig, DeviceConfig, Fault, Faults, Nanos, Problem};
use ssdtune_mqsim::scenario::{Flow, Pace, Scenario, Source, TimeUnit, TraceSource};
use ssdtune_sim::{Places, Replay, Tenant};
use ssdtune_trace::reader::Devices;
use ssdtune_trace::{Format, ReadOptions, Request};
use std::path::{Path, PathBuf};

/// Endings under which a trace may lie.
const ENDINGS: [&str; 4] = ["", ".xz", ".gz", ".zst"];

/// The scenarios of a workload file, checked against a drive, and what to know about the reading.
pub(crate) fn read_workload(
    path: &Path,
    config: &DeviceConfig,
) -> Result<(Vec<Scenario>, Vec<String>), LoadError> {
    let shown = path.display().to_string();
    let faulty = |faults: Faults| LoadError::Faulty(faults.in_file(&shown));
    let text = read_text(path)?;
    if !ssdtune_mqsim::is_xml(&text) {
        let reason =
            "not an MQSim workload.xml; ssdtune's own models go with --workload".to_owned();
        return Err(faulty(Fault::new("", Problem::Unsupported { reason }).into()));
    }
    let mut read = ssdtune_mqsim::read_workload(&text).map_err(faulty)?;
    for scenario in &read.value {
        scenario.check(&config.geometry()).map_err(faulty)?;
        for flow in &scenario.flows {
            note_ignored(flow, &mut read.notes);
        }
    }
    read.notes.dedup();
    Ok((read.value, read.notes))
}

fn note_ignored(flow: &Flow, notes: &mut Vec<String>) {
    let Source::Trace(trace) = &flow.source else { return };
    if trace.time_unit != TimeUnit::Nanosecond {
        notes.push("Time_Unit has no effect in MQSim: trace times are nanoseconds".to_owned());
    }
    if trace.best_queue_size.is_some() || trace.device_throughput.is_some() {
        notes.push(
            "Best_Queue_Size and Device_Throughput (AutoBlox's fork) have no effect".to_owned(),
        );
    }
}

/// The tenants of a scenario.
pub(crate) fn tenants(scenario: &Scenario) -> Vec<Tenant> {
    let tenant = |flow: &Flow| Tenant {
        places: Places {
            channels: flow.channels.clone(),
            chips: flow.chips.clone(),
            dies: flow.dies.clone(),
            planes: flow.planes.clone(),
        },
        cache: flow.cache_mode,
        priority: flow.priority,
        writer: false,
    };
    scenario.flows.iter().map(tenant).collect()
}

/// How MQSim's traces are read: its format, its own times.
pub(crate) fn read_options() -> ReadOptions {
    ReadOptions {
        format: Some(Format::Mqsim),
        devices: Devices::Merged,
        rebase: false,
        ..ReadOptions::default()
    }
}

/// A scenario as an experiment.
pub(crate) fn experiment(
    workload: &Path,
    scenario: &Scenario,
    device: &CheckedConfig,
) -> anyhow::Result<Experiment> {
    let mut flows = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let (source, replay) = match &flow.source {
            Source::Trace(trace) => (trace_source(workload, trace)?, Replay::Open),
            Source::Synthetic(generator) => {
                let path = dump(workload, index, scenario.flows.len())?;
                let replay = match generator.pace {
                    Pace::Bandwidth => Replay::Open,
                    Pace::QueueDepth => Replay::Closed(generator.queue_depth),
                };
                (RequestSource::new(Origin::File(path), read_options()), replay)
            }
        };
        flows.push(RequestFlow { source, replay, tenant: Some(index as u16) });
    }
    Ok(Experiment {
        device: device.clone(),
        tenants: tenants(scenario),
        flows,
        preparation: preparation(device, scenario),
        only: None,
        save: None,
    })
}

/// What the drive of a scenario holds before its run.
pub(crate) fn preparation(device: &CheckedConfig, scenario: &Scenario) -> Preparation {
    if !device.run.preconditioned {
        return Preparation::default();
    }
    let share = |flow: &Flow| Share::Fraction(f64::from(flow.initial_occupancy_percent) / 100.0);
    let shares = Shares(scenario.flows.iter().map(share).collect());
    Preparation::of(Start::Steady(shares), device.run.seed)
}

fn trace_source(workload: &Path, trace: &TraceSource) -> anyhow::Result<RequestSource> {
    let path = find(workload, &trace.file).ok_or_else(|| {
        anyhow!(
            "{}: the trace {} is not there; looked beside the workload file, in the folder above it and in \
             the working directory, also for .xz, .gz and .zst",
            workload.display(),
            trace.file
        )
    })?;
    let whole = RequestSource::new(Origin::File(path.clone()), read_options());
    if trace.percent_executed == 100 && trace.relay_count == 1 {
        return Ok(whole);
    }
    let mut requests = read_all(&path, &read_options())?;
    let part = requests.len() as u64 * u64::from(trace.percent_executed) / 100;
    requests.truncate(part as usize);
    let requests = repeated(requests, trace.relay_count)
        .with_context(|| format!("Relay_Count {} of {}", trace.relay_count, path.display()))?;
    Ok(RequestSource::of_requests(path.display().to_string(), requests))
}

/// Requests that a repeated trace may have in memory: 2.4 GB.
const REPEATED_MAX: usize = 100_000_000;

/// A trace again and again, each time from where the time before has ended.
fn repeated(once: Vec<Request>, times: u32) -> anyhow::Result<Vec<Request>> {
    let total = once.len().saturating_mul(times as usize);
    if total > REPEATED_MAX {
        return Err(anyhow!("{total} requests in all; at most {REPEATED_MAX} are repeated"));
    }
    let last = once.last().map_or(Nanos::ZERO, |request| request.at);
    let mut all = Vec::with_capacity(total);
    for round in 0..u64::from(times) {
        let shift = Nanos(last.0.saturating_mul(round));
        let shifted = |request: &Request| Request {
            at: Nanos(request.at.0.saturating_add(shift.0)),
            ..*request
        };
        all.extend(once.iter().map(shifted));
    }
    Ok(all)
}

/// The first of the places where a file named in a workload may be.
fn find(workload: &Path, name: &str) -> Option<PathBuf> {
    let beside = workload.parent().unwrap_or(Path::new(""));
    let above = beside.parent().map_or_else(|| PathBuf::from(".."), Path::to_path_buf);
    let places = [beside, &above, Path::new("")];
    let paths = places.iter().flat_map(|place| with_endings(&place.join(name)));
    paths.into_iter().find(|path| path.is_file())
}

/// A path as it is and with the endings of compressed files.
pub(crate) fn with_endings(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let path = path.as_os_str().to_os_string();
    ENDINGS.iter().map(move |ending| {
        let mut whole = path.clone();
        whole.push(ending);
        PathBuf::from(whole)
    })
}

fn dump(workload: &Path, flow: usize, flows: usize) -> anyhow::Result<PathBuf> {
    let stem = workload.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".workload").unwrap_or(&stem);
    let name = match flows {
        1 => format!("{stem}.dump.trace"),
        _ => format!("{stem}_f{flow}.dump.trace"),
    };
    let found = find(workload, &format!("traces/{name}")).or_else(|| find(workload, &name));
    found.ok_or_else(|| {
        anyhow!(
            "{}: flow {} is synthetic, and MQSim's random numbers are not reproduced: record what its \
             generator makes as traces/{name} (MQSim's trace format), or use a workload model of ssdtune \
             (--workload)",
            workload.display(),
            flow + 1
        )
    })
}
