//! The speed of generating and of describing requests, in requests per second on one core. Measures
//! processor time.

#[path = "shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ssdtune_trace::Request;
use ssdtune_trace::describe::describe;
use ssdtune_trace::workload::{Generator, Seed, bundled, names, parse};
use std::hint::black_box;

const REQUESTS: u64 = 100_000;

/// A mix like that of OLTP, which takes every branch: two operations, several sizes, Zipf, runs,
/// repeats, bursts.
const OLTP: &str = r#"
name = "bench"
requests = 1
[arrival]
process = "bursty"
rate_requests_per_s = 100000
burst_share = 0.2
burst_factor = 3.0
burst_s = 0.05
[read]
share = 0.65
size = [
  { bytes = "8 KiB", share = 0.9 },
  { from = "16 KiB", to = "64 KiB", step = "16 KiB", share = 0.1 },
]
working_set = "64 GiB"
cell = "8 KiB"
skew = { kind = "zipf", theta = 0.9 }
runs = { share = 0.2, mean_length = 8 }
[write]
share = 0.35
size = [{ bytes = "8 KiB" }]
working_set = "64 GiB"
cell = "8 KiB"
skew = { kind = "zipf", theta = 0.9 }
recent = { share = 0.2, window = 4096, of = "writes" }
"#;

const UNIFORM: &str = r#"
name = "bench"
requests = 1
[arrival]
process = "poisson"
rate_requests_per_s = 100000
[read]
share = 0.5
size = [{ bytes = "4 KiB" }]
working_set = "64 GiB"
[write]
share = 0.5
size = [{ bytes = "4 KiB" }]
working_set = "64 GiB"
"#;

fn generation(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("generate");
    group.throughput(Throughput::Elements(REQUESTS));
    for (name, text) in [("uniform", UNIFORM), ("oltp", OLTP)] {
        let model = parse(text, "bench").expect("a legal model");
        let generator = Generator::new(&model, Seed::default()).expect("a legal model");
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || generator.clone(),
                |generator| {
                    let mut sum = 0;
                    for request in generator.take(REQUESTS as usize) {
                        sum ^= request.lba.0 ^ request.at.0;
                    }
                    black_box(sum)
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Generates from every bundled model, as `ssdtune trace models` lists them.
fn bundled_models(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("generate bundled");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10);
    for name in names() {
        let model = bundled(name).expect("a legal model");
        let mut generator = Generator::new(&model, Seed::default()).expect("a legal model");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let requests = generator.by_ref().take(REQUESTS as usize);
                black_box(requests.fold(0, |sum, request| sum ^ request.lba.0 ^ request.at.0))
            });
        });
    }
    group.finish();
}

fn oltp_trace() -> Vec<Request> {
    let model = parse(OLTP, "bench").expect("a legal model");
    Generator::new(&model, Seed::default())
        .expect("a legal model")
        .take(REQUESTS as usize)
        .collect()
}

fn description(criterion: &mut Criterion<CpuTime>) {
    let trace = oltp_trace();
    let mut group = criterion.benchmark_group("describe");
    group.throughput(Throughput::Elements(REQUESTS));
    group.sample_size(20);
    group.bench_function("oltp", |bencher| bencher.iter(|| describe(black_box(&trace))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = generation, bundled_models, description
}
criterion_main!(benches);
