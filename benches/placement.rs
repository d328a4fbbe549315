//! What placement policies add to the cost of a write, and what training costs.
//!
//! The drive has so much spare room that nothing is collected. So policies differ only by their own
//! cost: a policy adds its figure less that of `none`. HAML-SSD and ASA-FTL have been trained
//! before. Pages are random, and four fifths of the writes go to a fifth of the pages. Their cache
//! lines are prefetched, as in a replay.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "../crates/trace/benches/shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::measurement::Measurement as _;
use criterion::{Criterion, criterion_group, criterion_main};
use linfa::DatasetBase;
use linfa::traits::{Fit, Transformer};
use linfa_clustering::{Dbscan, KMeans};
use linfa_hierarchical::HierarchicalCluster;
use linfa_kernel::{Kernel, KernelMethod, KernelType};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rand_xoshiro::Xoshiro256Plus;
use ssdtune_ftl::placement::ShapeTracker;
use ssdtune_ftl::placement::clusters::{Points, lloyd, on_the_diagonal};
use ssdtune_ftl::{Ftl, Places, TenantSpec};
use ssdtune_model::config::PlacementPolicy;
use ssdtune_model::{DeviceConfig, Lpn, Nanos, TenantId};

/// Number of pages that are written to: 4 GiB in pages of 8 KiB.
const PAGES: u64 = 1 << 19;
/// How many writes ahead the first prefetch of a page's data is made.
const AHEAD: usize = 16;

/// The drive's only tenant.
const TENANT: TenantId = TenantId(0);

/// A drive with room for `3 * writes` more pages than are written to.
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
    // One training after the first writes, none during the measured ones.
    config.placement.period = Nanos(2 * writes * 3 / 4);
    let config = config.check().expect("legal");
    let spec = TenantSpec { places: Places::all(&config.geometry()), writer: false };
    Ftl::new(&config, &[spec]).expect("a drive")
}

/// Random pages, four fifths of them from a fifth of all.
fn pages(count: u64) -> Vec<u64> {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let mut draw = |_| {
        let hot = rng.random_range(0..5) > 0;
        rng.random_range(0..if hot { PAGES / 5 } else { PAGES })
    };
    (0..count).map(&mut draw).collect()
}

/// Writes the pages in order. `start` is the time of the first write, in nanoseconds.
fn write(ftl: &mut Ftl, pages: &[u64], start: u64) {
    let mut shapes = ftl.looks_at_shapes().then(ShapeTracker::default);
    for (at, &page) in pages.iter().enumerate() {
        if let Some(&soon) = pages.get(at + AHEAD) {
            ftl.prefetch_directory(TENANT, Lpn(soon));
        }
        if let Some(&soon) = pages.get(at + AHEAD / 2) {
            ftl.prefetch_entry(TENANT, Lpn(soon));
        }
        if let Some(entry) =
            pages.get(at + AHEAD / 4).and_then(|&soon| ftl.existing_entry(TENANT, Lpn(soon)))
        {
            ftl.prefetch_old_page(entry);
        }
        ftl.set_write_context(Nanos(start + at as u64), 0);
        if let Some(shapes) = &mut shapes {
            let request = shapes.request(Nanos(start + at as u64), TENANT, page, 1, 16);
            let shape = request.of_page(false, false, false, false);
            ftl.expect_write(TENANT, Lpn(page), shape);
        }
        ftl.warm_up().write_whole(TENANT, Lpn(page)).expect("room");
    }
}

/// Number of rounds. Each round measures every policy, so that a disturbance hits all of them.
const ROUNDS: usize = 15;

/// Nanoseconds of one write with each policy.
fn round(list: &[u64]) -> Vec<f64> {
    let count = list.len() as u64;
    let clock = CpuTime;
    let cost = |&policy: &PlacementPolicy| {
        let mut ftl = drive(policy, count);
        write(&mut ftl, list, 0);
        write(&mut ftl, &list[..list.len() / 2 + 1], count);
        let start = clock.start();
        write(&mut ftl, list, count + count / 2 + 1);
        clock.end(start).as_nanos() as f64 / count as f64
    };
    PlacementPolicy::ALL.iter().map(cost).collect()
}

/// Prints what each policy adds to a write: the median over the rounds of its difference to `none`
/// in one round. Criterion cannot do that, since it compares with earlier runs.
fn writes(_: &mut Criterion<CpuTime>) {
    let (count, rounds) = match std::env::args().any(|arg| arg == "--test") {
        true => (5_000, 1),
        false => (500_000, ROUNDS),
    };
    let list = pages(count);
    let rounds: Vec<Vec<f64>> = (0..rounds).map(|_| round(&list)).collect();
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!("nanoseconds of a write, medians of {} rounds", rounds.len());
    for (index, policy) in PlacementPolicy::ALL.iter().enumerate() {
        let all = median(rounds.iter().map(|round| round[index]).collect());
        let added = median(rounds.iter().map(|round| round[index] - round[0]).collect());
        println!("{:12} {all:7.1} {added:+7.1}", policy.name());
    }
}

/// Time of one training on random points.
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

/// Mean-shift with a flat kernel, which linfa does not have: where each point climbs to.
fn mean_shift(rows: &[[f64; 2]], bandwidth: f64) -> Vec<[f64; 2]> {
    let near = |at: [f64; 2], row: &[f64; 2]| {
        (row[0] - at[0]).powi(2) + (row[1] - at[1]).powi(2) <= bandwidth.powi(2)
    };
    let climb = |&start: &[f64; 2]| {
        let mut at = start;
        for _ in 0..300 {
            let (mut sum, mut count) = ([0.0; 2], 0.0);
            for row in rows.iter().filter(|row| near(at, row)) {
                sum = [sum[0] + row[0], sum[1] + row[1]];
                count += 1.0;
            }
            let next = sum.map(|sum| sum / count);
            let moved = (next[0] - at[0]).hypot(next[1] - at[1]);
            at = next;
            if moved < 1e-3 * bandwidth {
                break;
            }
        }
        at
    };
    rows.iter().map(climb).collect()
}

/// Clustering algorithms on 1,000 points in two dimensions, as in the paper's Table II. Six
/// clusters where the algorithm needs their number.
fn algorithms(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("1,000 points");
    let mut rng = Pcg64Mcg::seed_from_u64(10);
    let mut draw = || -> Vec<f32> { (0..1_000).map(|_| rng.random_range(0.0..512.0)).collect() };
    let points = Points { x: draw(), y: draw() };
    let rows = points.x.iter().zip(&points.y).map(|(&x, &y)| [f64::from(x), f64::from(y)]);
    let list: Vec<[f64; 2]> = rows.collect();
    let rows = Array2::from(list.clone());
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
    group.bench_function("mean-shift, bandwidth 64", |b| b.iter(|| mean_shift(&list, 64.0)));
    group.bench_function("hierarchical of linfa, its kernel included", |b| {
        let params = Kernel::params().kind(KernelType::Dense).method(KernelMethod::Gaussian(128.0));
        b.iter(|| {
            let similar = params.transform(rows.view());
            HierarchicalCluster::default().num_clusters(6).transform(similar).expect("clusters")
        });
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
