//! An MQSim pair, `ssdconfig.xml` and `workload.xml`, as an experiment to run.
//!
//! The file of a trace flow is looked for beside the workload file, in the folder above it (MQSim
//! takes paths relative to its working directory, which is usually there) and in the working
//! directory; in each place also with `.xz`, `.gz` or `.zst` behind its name.
//!
//! A synthetic flow replays what MQSim's generator produced, because MQSim's random numbers are its
//! own. The recording is called `traces/STEM.dump.trace`, or `traces/STEM_fK.dump.trace` if there
//! are several flows (STEM is the name of the workload file, K the number of the flow from 0).
//! Requests come at the recorded times if bandwidth sets the pace, and in a closed loop if the
//! queue depth does.

use crate::format::{Noted, is_xml};
use crate::scenario::{Flow, Pace, Scenario, Source, TimeUnit, TraceSource};
use crate::trace_files::find;
use crate::workload::read_workload;
use ssdtune_experiment::{
    AddressFit, Experiment, Flow as RequestFlow, Origin, Preparation, RequestSource, Share, Shares,
    Start, read_first,
};
use ssdtune_model::source::{LoadError, read_text};
use ssdtune_model::{CheckedConfig, Fault, Faults, Geometry, Nanos, Place, Problem, TenantId};
use ssdtune_sim::{Places, Replay, Tenant};
use ssdtune_trace::Devices;
use ssdtune_trace::{Format, ReadOptions, Request, TraceError};
use std::path::{Path, PathBuf};

/// Requests that a repeated trace may have in memory: 2.4 GB.
const REPEATED_MAX: usize = 100_000_000;

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The trace of a flow is in none of the places where it is looked for.
    #[error(
        "{}: the trace {trace} is not there; looked beside the workload file, in the folder above \
         it and in the working directory, also for .xz, .gz and .zst",
        .workload.display()
    )]
    TraceAbsent {
        /// The workload file.
        workload: PathBuf,
        /// The trace, as the workload file names it.
        trace: String,
    },
    /// A synthetic flow has no recording of its requests.
    #[error(
        "{}: flow {flow} is synthetic, and MQSim's random numbers are not reproduced: record what \
         its generator makes as traces/{recording} (MQSim's trace format), or use a workload model \
         of ssdtune (--workload)",
        .workload.display()
    )]
    NotRecorded {
        /// The workload file.
        workload: PathBuf,
        /// The flow's number, from 1.
        flow: usize,
        /// The name that its recording must have.
        recording: String,
    },
    /// A trace is repeated too often.
    #[error(
        "Relay_Count {relay_count} of {}: {requests} requests in all; at most {REPEATED_MAX} are \
         repeated",
        .trace.display()
    )]
    TooLong {
        /// The trace file.
        trace: PathBuf,
        /// How often it is to be run.
        relay_count: u32,
        /// Requests that this would make.
        requests: usize,
    },
    /// A trace cannot be read.
    #[error("{0}")]
    Trace(#[from] TraceError),
}

/// Reads the scenarios of a workload file and checks that they stay within a drive. The notes name
/// what the file says without effect.
///
/// # Errors
/// The file cannot be read or is faulty, or a flow names a part that the drive does not have.
pub fn read_scenarios(path: &Path, drive: &Geometry) -> Result<Noted<Vec<Scenario>>, LoadError> {
    let shown = path.display().to_string();
    let faulty = |faults: Faults| LoadError::Faulty(faults.in_file(&shown));
    let text = read_text(path)?;
    if !is_xml(&text) {
        let reason =
            "not an MQSim workload.xml; ssdtune's own models go with --workload".to_owned();
        return Err(faulty(Fault::new("", Problem::Unsupported { reason }).into()));
    }
    let mut read = read_workload(&text).map_err(faulty)?;
    for scenario in &read.value {
        scenario.check(drive).map_err(faulty)?;
        for flow in &scenario.flows {
            note_ignored(flow, &mut read.notes);
        }
    }
    read.notes.dedup();
    Ok(read)
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

/// A scenario as an experiment: a tenant for each flow, prepared as the drive's configuration says.
///
/// # Errors
/// A trace or a recording is absent or cannot be read.
pub fn experiment(
    workload: &Path,
    scenario: &Scenario,
    device: &CheckedConfig,
) -> Result<Experiment, PairError> {
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (index, flow) in scenario.flows.iter().enumerate() {
        let (source, replay) = match &flow.source {
            Source::Trace(trace) => (trace_requests(workload, trace)?, Replay::Open),
            Source::Synthetic(generator) => {
                let path = recording(workload, index, scenario.flows.len())?;
                let replay = match generator.pace {
                    Pace::Bandwidth => Replay::Open,
                    Pace::QueueDepth => Replay::Closed(generator.queue_depth),
                };
                (trace_file(path), replay)
            }
        };
        flows.push(RequestFlow { source, replay, tenant: Some(TenantId::at(index)) });
    }
    Ok(experiment_of(scenario, device, flows))
}

/// An experiment with the tenants and the preparation of a scenario, and requests from elsewhere.
pub(crate) fn experiment_of(
    scenario: &Scenario,
    device: &CheckedConfig,
    flows: Vec<RequestFlow>,
) -> Experiment {
    Experiment {
        device: device.clone(),
        tenants: scenario.flows.iter().map(tenant).collect(),
        flows,
        preparation: preparation(scenario, device),
        only: None,
        save: None,
    }
}

fn tenant(flow: &Flow) -> Tenant {
    Tenant {
        places: Places {
            channels: flow.channels.clone(),
            chips: flow.chips.clone(),
            dies: flow.dies.clone(),
            planes: flow.planes.clone(),
        },
        cache: flow.cache_mode,
        priority: flow.priority,
        writer: false,
    }
}

/// What the drive of a scenario holds before the run: nothing, or as much as each flow says.
fn preparation(scenario: &Scenario, device: &CheckedConfig) -> Preparation {
    if !device.run.preconditioned {
        return Preparation::of(Start::Empty, device.run.seed);
    }
    let share = |flow: &Flow| Share::Fraction(f64::from(flow.initial_occupancy_percent) / 100.0);
    let shares = Shares(scenario.flows.iter().map(share).collect());
    Preparation::of(Start::Steady(shares), device.run.seed)
}

/// All requests of a trace file in MQSim's format. Addresses beyond the end of the drive are folded
/// by the drive itself, as in MQSim.
pub(crate) fn trace_file(path: PathBuf) -> RequestSource {
    let source = RequestSource::new(Origin::File(path), read_options());
    RequestSource { fit: Some(AddressFit::InDrive), ..source }
}

/// How MQSim's traces are read: its format, its own times.
fn read_options() -> ReadOptions {
    ReadOptions {
        format: Some(Format::Mqsim),
        devices: Devices::Merged,
        rebase: false,
        ..ReadOptions::default()
    }
}

/// The requests of a trace flow: the part that is executed, as often as it is repeated.
fn trace_requests(workload: &Path, trace: &TraceSource) -> Result<RequestSource, PairError> {
    let path = find(workload, &trace.file).ok_or_else(|| PairError::TraceAbsent {
        workload: workload.to_path_buf(),
        trace: trace.file.clone(),
    })?;
    let whole = trace_file(path.clone());
    let relay_count = trace.relay_count;
    if trace.percent_executed == 100 && relay_count == 1 {
        return Ok(whole);
    }
    let (mut once, warnings) = read_first(&path, &read_options(), usize::MAX)?;
    let executed = once.len() as u64 * u64::from(trace.percent_executed) / 100;
    once.truncate(executed as usize);
    let requests = once.len().saturating_mul(relay_count as usize);
    if requests > REPEATED_MAX {
        return Err(PairError::TooLong { trace: path, relay_count, requests });
    }
    let name = path.display().to_string();
    Ok(RequestSource {
        fit: whole.fit,
        warnings,
        ..RequestSource::of_requests(name, repeated(&once, relay_count))
    })
}

/// A trace again and again; each repetition starts at the time at which the one before has ended.
fn repeated(once: &[Request], times: u32) -> Vec<Request> {
    let last = once.last().map_or(Nanos::ZERO, |request| request.at);
    let mut all = Vec::with_capacity(once.len() * times as usize);
    for round in 0..u64::from(times) {
        let shift = last.0.saturating_mul(round);
        let shifted = |request: &Request| Request {
            at: Nanos(request.at.0.saturating_add(shift)),
            ..*request
        };
        all.extend(once.iter().map(shifted));
    }
    all
}

/// The file with the requests that the generator of a flow has made.
fn recording(workload: &Path, flow: usize, flows: usize) -> Result<PathBuf, PairError> {
    let stem = workload.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".workload").unwrap_or(&stem);
    let recording = match flows {
        1 => format!("{stem}.dump.trace"),
        _ => format!("{stem}_f{flow}.dump.trace"),
    };
    let found =
        find(workload, &format!("traces/{recording}")).or_else(|| find(workload, &recording));
    found.ok_or_else(|| PairError::NotRecorded {
        workload: workload.to_path_buf(),
        flow: flow + 1,
        recording,
    })
}
