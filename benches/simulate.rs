//! The speed of the simulator: processor time of one thread, with traces in memory.
//!
//! The cases are the speed list of the recorded MQSim battery, with MQSim's recorded rate beside
//! ours, and three more. Before its time, each case prints what it simulated: a fast run of
//! something else would be worth nothing.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "shared/cases.rs"]
#[allow(dead_code, reason = "shared with the other benchmarks")]
mod cases;
#[path = "../crates/trace/benches/shared/cpu_time.rs"]
mod cpu_time;

use cases::Case;
use cpu_time::CpuTime;
use criterion::measurement::Measurement;
use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use ssdtune_sim::Report;

/// The most requests of a case: one million, or a few if only the benchmark itself is tested.
fn requests_max() -> usize {
    if std::env::args().any(|arg| arg == "--test") { 5_000 } else { 1_000_000 }
}

/// Number of flash operations: pages read, pages programmed, blocks erased.
fn transactions(report: &Report) -> u64 {
    let flash = &report.flash;
    flash.pages_read
        + flash.pages_programmed_host
        + flash.pages_programmed_moved
        + flash.pages_programmed_mapping
        + flash.blocks_erased
}

/// Prints what was simulated and how fast, the best of three runs.
fn describe(case: &Case) {
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..3 {
        let drive = case.drive();
        let start = CpuTime.start();
        let report = case.run_on(drive);
        best = best.min(CpuTime.end(start).as_secs_f64());
        last = Some(report);
    }
    let Some(report) = last else { return };
    let requests = case.requests.len() as f64;
    let work = transactions(&report) as f64;
    println!(
        "{:14} {:.2} M requests/s, {:.2} M flash transactions/s, {:.2} events a request, {:.2} \
         transactions a request, write amplification {:.2}, {:.0} % of mappings cached, FTL {} MB",
        case.name,
        requests / best / 1e6,
        work / best / 1e6,
        report.simulation.events as f64 / requests,
        work / requests,
        report.write_amplification.total,
        100.0 * report.mapping.hit_rate.unwrap_or(1.0),
        report.simulation.ftl_memory_bytes >> 20,
    );
    if let Some(rate) = case.mqsim_requests_per_s {
        println!(
            "{:14} MQSim, recorded on another machine: {:.2} M requests/s; {:.1} times as fast",
            "",
            rate / 1e6,
            requests / best / rate
        );
    }
}

fn simulate(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let requests = requests_max();
    for case in cases::recorded(requests).into_iter().chain(cases::others(requests)) {
        describe(&case);
        group.throughput(Throughput::Elements(case.requests.len() as u64));
        group.bench_function(&case.name, |b| {
            b.iter_batched(|| case.drive(), |drive| case.run_on(drive), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = simulate
}
criterion_main!(benches);
