//! How fast learned models predict: one point by the stronger model, and a grid of points by the
//! quick trees on all threads.
//!
//! Whoever searches by a model asks it millions of times, so batches are to reach 5 million
//! predictions a second on two threads. The drive is a formula: speed does not depend on what was
//! learned but on its size, and the number of points decides that. `PREDICT_POINTS` says how many;
//! the paper learns from 2,000, which takes a minute to prepare.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ssdtune_predict::blackbox::{
    BlackBoxModel, Characteristics, FitOptions, MeasureSettings, Performance, Results,
    ResultsSource, Target, fit, grid,
};
use std::hint::black_box;

/// Points that are learned from, unless the environment says another number.
const POINTS: usize = 150;
/// Workloads of a batch.
const BATCH: usize = 1 << 20;

/// A model of a drive that is a formula.
fn model(train: usize) -> BlackBoxModel {
    let points = grid::sample(&grid::closed(), train + 20, 1);
    let measured: Vec<_> = points
        .iter()
        .map(|point| {
            let workload = Characteristics::of_point(point, None);
            let depth = workload.extended.q_dep;
            let latency_ns = 5e4 + depth * (2e3 + 0.3 * workload.mean_bytes());
            let iops = depth * 1e9 / latency_ns;
            let bandwidth_bps = iops * workload.mean_bytes();
            let figures =
                Performance { latency_ns, iops, bandwidth_bps, offered_iops: None, requests: 0 };
            (*point, figures)
        })
        .collect();
    let config = ssdtune_model::presets::load("intel-750").expect("a preset");
    let settings = MeasureSettings::default();
    let source = ResultsSource::simulated(&config, "a formula".to_owned(), settings, &points);
    let (program, command) = ("bench".to_owned(), String::new());
    let options = FitOptions { train, seed: 1, folds: 2, program, command };
    fit(&Results::new(source, &measured), &options).expect("a formula can be learned").0
}

fn predictions(c: &mut Criterion) {
    let points = std::env::var("PREDICT_POINTS").ok().and_then(|text| text.parse().ok());
    let model = model(points.unwrap_or(POINTS));
    let of = |point| Characteristics::of_point(point, None);
    let grid: Vec<Characteristics> = grid::closed().iter().map(of).collect();
    let one = &grid[4_711];
    c.bench_function("predict/stronger", |b| {
        b.iter(|| model.value(Target::Latency, black_box(one)));
    });
    let batch: Vec<Characteristics> = grid.iter().cycle().take(BATCH).copied().collect();
    let mut group = c.benchmark_group("predict");
    group.throughput(Throughput::Elements(BATCH as u64)).sample_size(10);
    group.bench_function("batch", |b| {
        b.iter(|| model.values(Target::Latency, black_box(&batch)));
    });
    group.finish();
}

criterion_group!(benches, predictions);
criterion_main!(benches);
