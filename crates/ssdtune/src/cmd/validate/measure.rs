//! Runs one case and says what came out in the battery's own words.

use super::battery::{
    Battery, Case, Cmt, FlashCmds, FlashPages, FlowMetrics, Gc, Latency, Metrics, Split,
};
use super::compare;
use super::summary::{CaseResult, Host, Status};
use crate::outcome::chain;
use crate::pair;
use anyhow::anyhow;
use ssdtune_experiment::{
    AddressFit, Experiment, Flow, KeepCompletions, Observer, Origin, RequestSource, RunOptions,
    unsupported,
};
use ssdtune_sim::{Completion, Ending, LatencySummary, OpMetrics, Report, TenantMetrics};
use ssdtune_trace::Op;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Rows are kept of runs this short.
const ROWS_MAX: u64 = 400;

/// Runs a case and compares it.
pub(super) fn case(
    battery: &Battery,
    case: &Case,
    stop: &AtomicBool,
    progress: &(dyn Fn(f64, u64) + Sync),
) -> CaseResult {
    let without = |status, reason: String| CaseResult::without(case, status, reason);
    if stop.load(Ordering::Relaxed) {
        return without(Status::Skipped, "interrupted".to_owned());
    }
    if let Some(absent) = case.traces.iter().find(|trace| battery.trace(trace).is_none()) {
        return without(Status::Skipped, format!("the trace {absent} is absent"));
    }
    let experiment = match experiment(battery, case) {
        Ok(experiment) => experiment,
        Err(error) => return without(Status::Invalid, chain(&error)),
    };
    if let Some(reason) = unsupported(&experiment.device, experiment.tenants.len()) {
        return without(Status::Unsupported, reason.to_owned());
    }
    let short = case.metrics.generated <= ROWS_MAX;
    let options = RunOptions { stop, progress, exact_percentiles: true };
    let mut kept = KeepCompletions::default();
    let start = Instant::now();
    // A broken invariant of the simulator fails this case; the others are still worth running.
    let run = || {
        let observers: &mut [&mut dyn Observer] = if short { &mut [&mut kept] } else { &mut [] };
        experiment.run(&options, observers)
    };
    let report = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => return without(Status::Invalid, chain(&error.into())),
        Err(panic) => return without(Status::Failed, panic_text(&*panic)),
    };
    let wall_s = start.elapsed().as_secs_f64();
    match report.outcome {
        Ending::Interrupted | Ending::Running => {
            return without(Status::Skipped, "interrupted".to_owned());
        }
        Ending::OutOfSpace => {
            return without(Status::Failed, report.warnings.join("; "));
        }
        Ending::Completed => {}
    }
    let metrics = metrics(&report, short.then_some(&kept.0));
    let agreement = compare::compare(case, &metrics);
    CaseResult {
        id: case.id.clone(),
        group: case.group.clone(),
        tier: case.tier,
        status: Status::Ok,
        reason: None,
        agreement: Some(agreement),
        rank: compare::rank_point(case, &metrics),
        metrics: Some(metrics),
        host: Some(Host { wall_s }),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("an invariant of the simulator broke: {}", text.unwrap_or("no message"))
}

fn experiment(battery: &Battery, case: &Case) -> anyhow::Result<Experiment> {
    let ssd = battery.file(&case.ssd);
    // A file of the battery is never taken for the name of a preset.
    let device = ssdtune_mqsim::load(&ssd.display().to_string(), &[])?.config.check()?;
    let (scenarios, _) = pair::read_workload(&battery.file(&case.workload), &device)?;
    let [scenario] = scenarios.as_slice() else {
        return Err(anyhow!("{}: {} scenarios; a case has one", case.workload, scenarios.len()));
    };
    if scenario.flows.len() != case.traces.len() {
        let (flows, traces) = (scenario.flows.len(), case.traces.len());
        return Err(anyhow!("{}: {flows} flows, and the case has {traces} traces", case.workload));
    }
    let replay = case.replay().ok_or_else(|| anyhow!("replay {:?}", case.replay))?;
    let flow = |(index, trace): (usize, &String)| {
        let path = battery.trace(trace).ok_or_else(|| anyhow!("the trace {trace} is absent"))?;
        let mut source = RequestSource::new(Origin::File(path), pair::read_options());
        source.fit = Some(AddressFit::InDrive);
        Ok(Flow { source, replay, tenant: Some(index as u16) })
    };
    let flows: anyhow::Result<Vec<Flow>> = case.traces.iter().enumerate().map(flow).collect();
    let (tenants, preparation) = (pair::tenants(scenario), pair::preparation(&device, scenario));
    Ok(Experiment { device, tenants, flows: flows?, preparation, only: None, save: None })
}

fn metrics(report: &Report, completions: Option<&Vec<Completion>>) -> Metrics {
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
        flash_pages: FlashPages {
            read: Some(report.flash.pages_read),
            program: Some(
                report.flash.pages_programmed_host
                    + report.flash.pages_programmed_moved
                    + report.flash.pages_programmed_mapping,
            ),
        },
        // An ideal table counts no look-ups; zeros would be wrong.
        cmt: match report.mapping.ideal {
            true => Cmt::default(),
            false => Cmt {
                hits: Some(report.mapping.hits),
                misses_for_read: Some(report.mapping.misses_read),
                misses_for_write: Some(report.mapping.misses_write),
                misses_free: Some(report.mapping.misses_free),
            },
        },
        gc: Gc {
            executions: Some(report.collection.executions),
            moved_pages: Some(report.collection.moved_pages),
            wl_executions: Some(report.collection.wear_executions),
        },
        write_amplification: Some(report.write_amplification.total),
        requests: completions.map(|completions| rows(completions)),
        flows: flows(report),
    }
}

fn flash_cmds(report: &Report) -> FlashCmds {
    let flash = &report.flash;
    FlashCmds {
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
