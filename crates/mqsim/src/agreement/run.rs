//! Runs one case and puts what came out into the words of a battery.

use super::battery::{Battery, Case};
use super::compare::compare;
use super::metrics::{
    CollectionCounts, FlashCommandCounts, FlashPageCounts, FlowMetrics, Latency,
    MappingCacheCounts, Metrics, Split,
};
use super::rank::RankedCase;
use super::summary::{CaseResult, Cost, Status};
use crate::device;
use crate::pair::{self, experiment_of, trace_file};
use ssdtune_experiment::{Experiment, Flow, KeepCompletions, Observer, RunOptions, unsupported};
use ssdtune_model::source::LoadError;
use ssdtune_model::{Faults, Place, TenantId};
use ssdtune_sim::{Completion, Ending, LatencySummary, OpMetrics, Report, TenantMetrics};
use ssdtune_trace::Op;
use std::any::Any;
use std::error::Error;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs with no more requests than this keep a row for each of them.
const ROWS_MAX: u64 = 400;

/// Why the files of a case do not make an experiment.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Drive(#[from] Faults),
    #[error("{workload}: {scenarios} scenarios; a case has one")]
    Scenarios { workload: String, scenarios: usize },
    #[error("{workload}: {flows} flows, and the case has {traces} traces")]
    Flows { workload: String, flows: usize, traces: usize },
    #[error("replay {0:?}")]
    Replay(String),
    #[error("the trace {0} is absent")]
    TraceAbsent(String),
}

/// Runs a case of a battery and compares its figures with the recorded ones. `stop` is polled;
/// `progress` is told the share of the requests that were read and how many were completed since
/// the last time. A case that cannot be run gives a result that says why.
pub fn run_case(
    battery: &Battery,
    case: &Case,
    stop: &AtomicBool,
    progress: &(dyn Fn(f64, u64) + Sync),
) -> CaseResult {
    let without = |status, reason: String| CaseResult::without(case, status, reason);
    let interrupted = || without(Status::Skipped, "interrupted".to_owned());
    if stop.load(Ordering::Relaxed) {
        return interrupted();
    }
    if let Some(absent) = case.traces.iter().find(|trace| battery.trace(trace).is_none()) {
        return without(Status::Skipped, format!("the trace {absent} is absent"));
    }
    let experiment = match experiment(battery, case) {
        Ok(experiment) => experiment,
        Err(error) => return without(Status::Invalid, with_causes(&error)),
    };
    if let Some(reason) = unsupported(&experiment.device, experiment.tenants.len()) {
        return without(Status::Unsupported, reason.to_owned());
    }
    let short = case.metrics.generated <= ROWS_MAX;
    let options = RunOptions { stop, progress, exact_percentiles: true };
    let mut completions = KeepCompletions::default();
    let start = Instant::now();
    let mut run = || {
        let mut observers: Vec<&mut dyn Observer> = Vec::new();
        if short {
            observers.push(&mut completions);
        }
        experiment.run(&options, &mut observers)
    };
    // A broken invariant of the simulator fails this case; the others are still worth running.
    let report = match catch_unwind(AssertUnwindSafe(&mut run)) {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => return without(Status::Invalid, with_causes(&error)),
        Err(panic) => return without(Status::Failed, panic_text(&*panic)),
    };
    let wall_s = start.elapsed().as_secs_f64();
    match report.outcome {
        Ending::Interrupted | Ending::Running => return interrupted(),
        Ending::OutOfSpace => return without(Status::Failed, report.warnings.join("; ")),
        Ending::Completed => {}
    }
    let metrics = Metrics { requests: short.then(|| rows(&completions.0)), ..metrics(&report) };
    CaseResult {
        id: case.id.clone(),
        group: case.group.clone(),
        tier: case.tier,
        status: Status::Ok,
        reason: None,
        agreement: Some(compare(case, &metrics)),
        rank: RankedCase::of(case, &metrics),
        metrics: Some(metrics),
        host: Some(Cost { wall_s }),
    }
}

/// An error and its causes, each in a line of its own. A cause that the line before already says is
/// left out.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n  cause: {said}");
        }
        cause = error.source();
    }
    text
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("an invariant of the simulator broke: {}", text.unwrap_or("no message"))
}

/// A case as an experiment: its drive and its scenario, with the case's traces instead of those
/// that the workload file names.
fn experiment(battery: &Battery, case: &Case) -> Result<Experiment, FileError> {
    let ssd = battery.file(&case.ssd);
    // A file of the battery is never taken for the name of a preset.
    let device = device::load_as_mqsim(&ssd.display().to_string(), &[])?.config.check()?;
    let read = pair::read_scenarios(&battery.file(&case.workload), &device.geometry())?;
    let workload = || case.workload.clone();
    let [scenario] = read.value.as_slice() else {
        return Err(FileError::Scenarios { workload: workload(), scenarios: read.value.len() });
    };
    let (flows, traces) = (scenario.flows.len(), case.traces.len());
    if flows != traces {
        return Err(FileError::Flows { workload: workload(), flows, traces });
    }
    let replay = case.replay().ok_or_else(|| FileError::Replay(case.replay.clone()))?;
    let flow = |(index, trace): (usize, &String)| {
        let path = battery.trace(trace).ok_or_else(|| FileError::TraceAbsent(trace.clone()))?;
        Ok(Flow { source: trace_file(path), replay, tenant: Some(TenantId::at(index)) })
    };
    let flows: Result<Vec<Flow>, FileError> = case.traces.iter().enumerate().map(flow).collect();
    Ok(experiment_of(scenario, &device, flows?))
}

/// The figures of a report. The rows of single requests are not in it.
fn metrics(report: &Report) -> Metrics {
    let total = &report.total;
    Metrics {
        generated: report.requests.arrived,
        served: split(total, |op| op.requests),
        bytes: split(total, |op| op.bytes),
        first_arrival_ns: report.time.first_arrival_ns,
        last_completion_ns: Some(report.time.last_completion_ns),
        sim_seconds: report.time.seconds,
        iops: split(total, |op| op.iops),
        bandwidth: split(total, |op| op.bandwidth_bytes_per_s),
        device_response_ns: latencies(total, |op| op.device_latency_ns),
        end_to_end_ns: latencies(total, |op| op.total_latency_ns),
        flash_cmds: flash_cmds(report),
        flash_pages: FlashPageCounts {
            read: Some(report.flash.pages_read),
            program: Some(
                report.flash.pages_programmed_host
                    + report.flash.pages_programmed_moved
                    + report.flash.pages_programmed_mapping,
            ),
        },
        // An ideal table counts no look-ups. Zeros would say that there were none.
        cmt: match report.mapping.ideal {
            true => MappingCacheCounts::default(),
            false => MappingCacheCounts {
                hits: Some(report.mapping.hits),
                misses_for_read: Some(report.mapping.misses_read),
                misses_for_write: Some(report.mapping.misses_write),
                misses_free: Some(report.mapping.misses_free),
            },
        },
        gc: CollectionCounts {
            executions: Some(report.collection.executions),
            moved_pages: Some(report.collection.moved_pages),
            wl_executions: Some(report.collection.wear_executions),
        },
        write_amplification: Some(report.write_amplification.total),
        requests: None,
        flows: flows(report),
    }
}

fn flash_cmds(report: &Report) -> FlashCommandCounts {
    let flash = &report.flash;
    FlashCommandCounts {
        read: Some(flash.reads),
        read_multiplane: Some(flash.reads_multiplane),
        program: Some(flash.programs),
        program_multiplane: Some(flash.programs_multiplane),
        erase: Some(flash.erases),
        erase_multiplane: Some(flash.erases_multiplane),
        suspend_program: Some(flash.program_suspensions),
        suspend_erase: Some(flash.erase_suspensions),
        mapping_read: Some(flash.mapping_reads),
        mapping_program: Some(report.mapping.writebacks),
    }
}

fn flows(report: &Report) -> Vec<FlowMetrics> {
    let flow = |(flow, metrics): (usize, &TenantMetrics)| FlowMetrics {
        flow: flow as u32,
        served: split(metrics, |op| op.requests),
        iops: split(metrics, |op| op.iops),
        device_response_ns: latencies(metrics, |op| op.device_latency_ns),
        end_to_end_ns: latencies(metrics, |op| op.total_latency_ns),
    };
    match report.tenants.len() {
        1 => Vec::new(),
        _ => report.tenants.iter().map(|tenant| &tenant.metrics).enumerate().map(flow).collect(),
    }
}

fn split<T>(metrics: &TenantMetrics, figure: impl Fn(&OpMetrics) -> T) -> Split<T> {
    Split {
        all: Some(figure(&metrics.all)),
        read: Some(figure(&metrics.read)),
        write: Some(figure(&metrics.write)),
    }
}

fn latencies(
    metrics: &TenantMetrics,
    figure: impl Fn(&OpMetrics) -> Option<LatencySummary>,
) -> Split<Latency> {
    let part = |op| {
        figure(op).map(|summary| Latency {
            mean: summary.mean,
            min: summary.min,
            p50: summary.p50,
            p95: summary.p95,
            p99: summary.p99,
            p999: summary.p999,
            max: summary.max,
        })
    };
    Split { all: part(&metrics.all), read: part(&metrics.read), write: part(&metrics.write) }
}

fn rows(completions: &[Completion]) -> Vec<[u64; 6]> {
    let mut sorted: Vec<&Completion> = completions.iter().collect();
    sorted.sort_by_key(|one| (one.arrived, one.tenant, one.number));
    let row = |one: &&Completion| {
        let op = u64::from(one.op == Op::Read);
        let (device, total) = (one.completed - one.enqueued, one.completed - one.arrived);
        [one.arrived.0, one.lba.0, u64::from(one.sectors), op, device.0, total.0]
    };
    sorted.iter().map(row).collect()
}
