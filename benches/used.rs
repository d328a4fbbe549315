//! Used drives: how long it takes to make one, and how fast a drive is aged.
//!
//! Ageing replays writes without time. It is compared with the same writes simulated with time.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "../crates/trace/benches/shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::measurement::Measurement;
use criterion::{BatchSize, Criterion, SamplingMode, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_model::config::CacheMode;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Footprint, InitialContent, InitialState, Observe, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// The default drive with this number of channels, each of 64 GiB with pages of 8 KiB.
fn config(channels: u32, ideal: bool) -> CheckedConfig {
    let mut config = DeviceConfig::default();
    config.bus.channels = channels;
    config.mapping.ideal = ideal;
    config.mapping.overprovisioning = 0.15;
    config.cache.mode = CacheMode::Off;
    config.check().expect("legal")
}

/// A full drive in steady state.
fn used(config: &CheckedConfig) -> Simulator {
    let tenants = [Tenant::sole(config)];
    let mut drive = Simulator::new(config, &tenants, Observe::default()).expect("a drive");
    let past =
        InitialContent { state: InitialState::Steady, occupancy: vec![1.0], erases: 100, seed: 1 };
    drive.set_initial_content(&past, &Footprint::default()).expect("room");
    drive
}

/// Time and memory of a full drive in steady state.
fn ready(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("ready");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (name, channels) in [("512 GiB", 8), ("4 TiB", 64)] {
        for (mapping, ideal) in [("ideal mapping", true), ("cached mapping", false)] {
            let config = config(channels, ideal);
            let megabytes = used(&config).report().simulation.ftl_memory_bytes >> 20;
            println!("{name}, {mapping}: {megabytes} MB of FTL state");
            group.bench_function(format!("{name}, {mapping}"), |b| {
                b.iter_batched(|| (), |()| used(&config), BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

/// Writes of 8 KiB to the first `pages` pages, in order or at random.
fn writes(count: u64, pages: u64, in_order: bool) -> impl Iterator<Item = Request> {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    (0..count).map(move |number| Request {
        at: Nanos::ZERO,
        lba: Sectors(16 * if in_order { number % pages } else { rng.random_range(0..pages) }),
        sectors: 16,
        tenant: TenantId(0),
        op: Op::Write,
    })
}

/// Prints how many host pages are written in a second of processor time without simulated time, and
/// how much faster that is than a simulation with 32 writes outstanding.
fn ageing(_: &mut Criterion<CpuTime>) {
    let count = if std::env::args().any(|arg| arg == "--test") { 5_000 } else { 2_000_000 };
    let config = config(8, true);
    for (name, steady, in_order) in [
        ("an empty drive in order", false, true),
        ("an empty drive at random", false, false),
        ("a steady drive at random, 15 % spare", true, false),
    ] {
        let make = || match steady {
            true => used(&config),
            false => {
                let tenants = [Tenant::sole(&config)];
                Simulator::new(&config, &tenants, Observe::default()).expect("a drive")
            }
        };
        let pages = make().address_space(TenantId(0)).0 / 8192;
        let requests: Vec<Request> = writes(count, pages, in_order).collect();
        let (mut without, mut with) = (f64::INFINITY, f64::INFINITY);
        let mut amplification = 1.0;
        for _ in 0..3 {
            let mut drive = make();
            let start = CpuTime.start();
            drive.warm_up(requests.iter().copied()).expect("room");
            without = without.min(CpuTime.end(start).as_secs_f64());
            let mut drive = make();
            let start = CpuTime.start();
            drive.run(vec![Stream::closed(requests.iter().copied(), 32)], |_| true);
            with = with.min(CpuTime.end(start).as_secs_f64());
            amplification = drive.report().write_amplification.total;
        }
        let rate = count as f64 / without / 1e6;
        println!(
            "ageing {name}: {rate:.2} M host pages/s, {:.2} M pages programmed/s (write \
             amplification {amplification:.2}); {:.1} times the speed with time",
            rate * amplification,
            with / without
        );
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = ready, ageing
}
criterion_main!(benches);
