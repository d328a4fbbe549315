//! What placement policies cost a write, and what a training costs.
//!
//! The writes meet a drive with so much spare room that nothing is collected, so that policies differ by their own
//! cost: the figure of a policy less that of `none` is what it adds to a write. HAML-SSD and ASA-FTL have been
//! trained before. Pages are drawn at random, four fifths of them out of a fifth, and their cache lines are asked
//! for ahead, as a replay does.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "../crates/trace/benches/shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use linfa::DatasetBase;
use linfa::traits::{Fit, Transformer};
use linfa_clustering::{Dbscan, KMeans};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rand_xoshiro::Xoshiro256Plus;
use ssdtune_ftl::placement::clusters::{Points, lloyd, on_the_diagonal};
use ssdtune_ftl::{Ftl, Places, TenantSpec};
use ssdtune_model::config::PlacementPolicy;
use ssdtune_model::{DeviceConfig, Nanos};

/// Pages of 8 KiB: 4 GiB.
const PAGES: u64 = 1 << 19;
const AHEAD: usize = 16;

fn drive(policy: PlacementPolicy, writes: u64) -> Ftl {
    let mut config = DeviceConfig::default();
    [config.bus.channels, config.bus.chips_per_channel] = [4, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    config.mapping.ideal = true;
    config.gc.threshold = 1e-6;
    let raw = PAGES + 3 * writes;
    config.flash.blocks_per_plane = (raw / 4 / u64::from(config.flash.pages_per_block)) as u32 + 64;
    config.mapping.overprovisioning = 1.0 - PAGES as f64 / config.geometry().pages() as f64;
    config.placement.policy = policy;
    // One training after the first round, none in the measured one.
    config.placement.period = Nanos(2 * writes * 3 / 4);
    let config = config.check().expect("legal");
    let spec = TenantSpec { places: Places::all(&config.geometry()), writer: false };
    Ftl::new(&config, &[spec]).expect("a drive")
}

fn pages(count: u64) -> Vec<u64> {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let mut draw = |_| {
        let hot = rng.random_range(0..5) > 0;
        rng.random_range(0..if hot { PAGES / 5 } else { PAGES })
    };
    (0..count).map(&mut draw).collect()
}

fn write(ftl: &mut Ftl, pages: &[u64], start: u64) {
    for (at, &page) in pages.iter().enumerate() {
        if let Some(&soon) = pages.get(at + AHEAD) {
            ftl.expect_soon(0, soon);
        }
        if let Some(&soon) = pages.get(at + AHEAD / 2) {
            ftl.expect(0, soon);
        }
        if let Some(entry) = pages.get(at + AHEAD / 4).and_then(|&soon| ftl.looked_at(0, soon)) {
            ftl.expect_write(entry);
        }
        ftl.tell(Nanos(start + at as u64), 0);
        ftl.warm_up().write_whole(0, page).expect("room");
    }
}

fn writes(criterion: &mut Criterion<CpuTime>) {
    let count = if std::env::args().any(|arg| arg == "--test") { 5_000 } else { 1_000_000 };
    let list = pages(count);
    let mut group = criterion.benchmark_group("write");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(count));
    for &policy in PlacementPolicy::ALL {
        group.bench_function(policy.name(), |b| {
            let aged = || {
                let mut ftl = drive(policy, count);
                write(&mut ftl, &list, 0);
                write(&mut ftl, &list[..list.len() / 2 + 1], count);
                ftl
            };
            b.iter_batched(
                aged,
                |mut ftl| {
                    write(&mut ftl, &list, count + count / 2 + 1);
                    ftl
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn trainings(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("training, 6 clusters, 10 iterations");
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    for slices in [640, 2_560, 25_600] {
        let mut draw = || (0..slices).map(|_| f32::from(rng.random_range(0..=512u16))).collect();
        let points = Points { x: draw(), y: draw() };
        group.bench_function(format!("{slices} slices"), |b| {
            b.iter(|| lloyd(&points, &mut on_the_diagonal(6), 10));
        });
    }
    group.finish();
}

/// Table II: 1,000 points in two dimensions; linfa has neither mean-shift nor hierarchical clustering.
fn algorithms(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("1,000 points");
    let mut rng = Pcg64Mcg::seed_from_u64(10);
    let mut draw = || -> Vec<f32> { (0..1_000).map(|_| rng.random_range(0.0..512.0)).collect() };
    let points = Points { x: draw(), y: draw() };
    let rows = points.x.iter().zip(&points.y).map(|(&x, &y)| [f64::from(x), f64::from(y)]);
    let rows = Array2::from(rows.collect::<Vec<_>>());
    group.bench_function("k-means of a drive, 6 clusters, 10 iterations", |b| {
        b.iter(|| lloyd(&points, &mut on_the_diagonal(6), 10));
    });
    group.bench_function("k-means of linfa, 6 clusters, 1 run", |b| {
        let data = DatasetBase::from(rows.view());
        let params =
            KMeans::params_with_rng(6, <Xoshiro256Plus as rand08::SeedableRng>::seed_from_u64(1))
                .n_runs(1);
        b.iter(|| params.fit(&data).expect("clusters"));
    });
    group.bench_function("DBSCAN of linfa, tolerance 16, 5 points", |b| {
        b.iter(|| Dbscan::params(5).tolerance(16.0).transform(&rows).expect("clusters"));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = writes, trainings, algorithms
}
criterion_main!(benches);
