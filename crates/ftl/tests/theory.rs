//! Write amplification against theory: uniform random writes to a drive that has been overwritten five times,
//! per victim policy and over-provisioning.
//!
//! The theory is the mean-field limit of many blocks (Desnoyers 2012, Van Houdt 2013), at effective spare:
//! blocks that are free or open do not take part.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{Ftl, Places, TenantSpec};
use ssdtune_model::config::GcPolicy;
use ssdtune_model::{DeviceConfig, PlaneId};

const BLOCKS: u32 = 1024;
const PAGES: u32 = 64;

fn drive(policy: GcPolicy, spare: f64) -> Ftl {
    let mut config = DeviceConfig::default();
    config.bus.channels = 1;
    config.bus.chips_per_channel = 1;
    config.flash.dies_per_chip = 1;
    config.flash.planes_per_die = 1;
    config.flash.blocks_per_plane = BLOCKS;
    config.flash.pages_per_block = PAGES;
    config.flash.page_bytes = 4096;
    config.mapping.ideal = true;
    // Over-provisioning is the share of the raw capacity; papers give spare over visible capacity.
    config.mapping.overprovisioning = spare / (1.0 + spare);
    config.gc.policy = policy;
    config.gc.threshold = 0.002;
    config.gc.hard_threshold = 0.002;
    config.wear.static_leveling = false;
    let specs = [TenantSpec { places: Places::all(&config.geometry()), writer: false }];
    Ftl::new(&config, &specs).expect("a sound drive")
}

struct Steady {
    write_amplification: f64,
    /// Logical pages over the pages of full blocks.
    utilisation: f64,
}

/// Fills the drive, overwrites it five times, and measures over one more time.
fn steady(policy: GcPolicy, spare: f64, seed: u64) -> Steady {
    let mut ftl = drive(policy, spare);
    let pages = ftl.tenant_pages(0);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let full = u64::MAX >> (64 - 8);
    let mut warmup = ftl.warm_up();
    for lpn in 0..pages {
        warmup.write(0, lpn, full).expect("room");
    }
    for _ in 0..5 * pages {
        warmup.write(0, rng.random_range(0..pages), full).expect("room");
    }
    let before = ftl.counters().moved_pages;
    let mut warmup = ftl.warm_up();
    for _ in 0..pages {
        warmup.write(0, rng.random_range(0..pages), full).expect("room");
    }
    let free = u64::from(ftl.free_blocks(PlaneId(0)));
    ftl.check();
    let moved = ftl.counters().moved_pages - before;
    // Two open blocks, host data and moved pages, are half full on average.
    let taking_part = u64::from(BLOCKS) - free - 1;
    Steady {
        write_amplification: 1.0 + moved as f64 / pages as f64,
        utilisation: pages as f64 / (taking_part * u64::from(PAGES)) as f64,
    }
}

/// Where a function that grows with its argument is zero, between two bounds.
fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        *(if function(middle) > 0.0 { &mut high } else { &mut low }) = middle;
    }
    low
}

/// Blocks with `i` valid pages lose one at a rate `i / U` and new full blocks come at the rate `g` of
/// collection, so there are `g U / i` of each down to the level `m + 1` where they are collected; a part `p`
/// of them still gets down to `m`. The number of blocks and of valid pages give `m` and `p`.
fn greedy(utilisation: f64) -> f64 {
    let pages = f64::from(PAGES);
    let moved = |level: f64| {
        // `level` is m + 1 - p, the mean of the victims' valid pages.
        let m = level.ceil() - 1.0;
        let above: f64 = (m as u32 + 2..=PAGES).map(|i| 1.0 / f64::from(i)).sum();
        let blocks = (above + (m + 1.0 - level) / (m + 1.0)) / (pages - level);
        1.0 / (utilisation * pages) - blocks
    };
    let level = root(1e-9, pages - 1.0, moved);
    pages / (pages - level)
}

/// Likewise, but every block with an invalid page is collected at the same rate, `s / U`: of the blocks with
/// `i` valid pages there are `(i + 1) / (i + s)` times as many as with one more.
fn random(utilisation: f64) -> f64 {
    let pages = f64::from(PAGES);
    let sums = |s: f64| {
        let mut share = 1.0 / pages;
        let (mut blocks, mut valid) = (share, 1.0);
        for i in (0..PAGES).rev().map(f64::from) {
            share *= (i + 1.0) / (i + s);
            blocks += share;
            valid += i * share;
        }
        (blocks, valid)
    };
    let excess = |s: f64| {
        let (blocks, valid) = sums(s);
        1.0 / (utilisation * pages) - blocks / valid
    };
    pages / sums(root(1e-9, 1e6, excess)).1
}

/// A block is collected when all others have been filled since: a page survives that with
/// `v = exp(-(1 - v) / utilisation)`.
fn fifo(utilisation: f64) -> f64 {
    let mut valid = 0.5f64;
    for _ in 0..10_000 {
        valid = (-(1.0 - valid) / utilisation).exp();
    }
    1.0 / (1.0 - valid)
}

fn compare(policy: GcPolicy, theory: fn(f64) -> f64, tolerance: f64) {
    for spare in [0.07, 0.15, 0.28] {
        let run = steady(policy, spare, 11);
        let expected = theory(run.utilisation);
        let error = run.write_amplification / expected - 1.0;
        println!(
            "{policy:?}, spare {spare}: {:.3} measured, {expected:.3} expected, {:+.2} %",
            run.write_amplification,
            100.0 * error
        );
        assert!(error.abs() < tolerance, "{policy:?} {spare}");
    }
}

#[test]
fn greedy_collection_meets_its_mean_field() {
    compare(GcPolicy::Greedy, greedy, 0.02);
}

#[test]
fn fifo_collection_meets_its_closed_form() {
    compare(GcPolicy::Fifo, fifo, 0.02);
}

#[test]
fn random_collection_meets_its_mean_field() {
    compare(GcPolicy::Random, random, 0.02);
}
