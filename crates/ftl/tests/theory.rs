//! Write amplification against theory: uniform random writes to a drive that has been overwritten
//! five times, for several victim policies and over-provisionings.
//!
//! The theory is the mean-field limit of many blocks (Desnoyers 2012, Van Houdt 2013), at the
//! effective spare: blocks that are free or open do not take part.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{Ftl, Places, TenantSpec};
use ssdtune_model::config::GcPolicy;
use ssdtune_model::{DeviceConfig, Lpn, Place, PlaneId, TenantId};

const BLOCKS: u32 = 1024;
const PAGES: u32 = 64;

fn drive(policy: GcPolicy, spare: f64) -> Ftl {
    drive_of(policy, spare, 1)
}

/// A drive of one plane that all tenants share. Each tenant has write frontiers of its own.
fn drive_of(policy: GcPolicy, spare: f64, tenants: usize) -> Ftl {
    let mut config = DeviceConfig::default();
    config.bus.channels = 1;
    config.bus.chips_per_channel = 1;
    config.flash.dies_per_chip = 1;
    config.flash.planes_per_die = 1;
    config.flash.blocks_per_plane = BLOCKS;
    config.flash.pages_per_block = PAGES;
    config.flash.page_bytes = 4096;
    config.mapping.ideal = true;
    // Over-provisioning is a share of the raw capacity; papers give spare over visible capacity.
    config.mapping.overprovisioning = spare / (1.0 + spare);
    config.gc.policy = policy;
    config.gc.threshold = 0.002;
    config.gc.hard_threshold = 0.002;
    config.wear.static_leveling = false;
    let spec = TenantSpec { places: Places::all(&config.flash_geometry()), writer: false };
    Ftl::new(&config, &vec![spec; tenants]).expect("a sound drive")
}

struct Steady {
    write_amplification: f64,
    /// Logical pages divided by the pages of full blocks.
    utilisation: f64,
}

/// Fills the drive, overwrites it five times, and measures during one more overwrite.
fn steady(policy: GcPolicy, spare: f64, seed: u64) -> Steady {
    let mut ftl = drive(policy, spare);
    let tenant = TenantId(0);
    let pages = ftl.tenant_pages(tenant);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let full = u64::MAX >> (64 - 8);
    let mut warmup = ftl.warm_up();
    for lpn in 0..pages {
        warmup.write(tenant, Lpn(lpn), full).expect("room");
    }
    for _ in 0..5 * pages {
        warmup.write(tenant, Lpn(rng.random_range(0..pages)), full).expect("room");
    }
    let before = ftl.counters().moved_pages;
    let mut warmup = ftl.warm_up();
    for _ in 0..pages {
        warmup.write(tenant, Lpn(rng.random_range(0..pages)), full).expect("room");
    }
    let free = u64::from(ftl.free_blocks(PlaneId(0)));
    ftl.check();
    let moved = ftl.counters().moved_pages - before;
    // Two open blocks, for host data and for moved pages, are half full on average.
    let taking_part = u64::from(BLOCKS) - free - 1;
    Steady {
        write_amplification: 1.0 + moved as f64 / pages as f64,
        utilisation: pages as f64 / (taking_part * u64::from(PAGES)) as f64,
    }
}

/// Where a growing function is zero, between two bounds.
fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        *(if function(middle) > 0.0 { &mut high } else { &mut low }) = middle;
    }
    low
}

/// Blocks with i valid pages lose one at the rate i / U, and new full blocks come at the rate g of
/// collection. So there are g U / i of each kind, down to the level m + 1 where they are collected;
/// a part p of them still gets down to m. The number of blocks and of valid pages give m and p.
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

/// Every block with an invalid page is collected at the same rate, s / U. Of the blocks with i
/// valid pages there are (i + 1) / (i + s) times as many as of those with one more.
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

/// A block is collected when all others have been filled since. A page survives that with the
/// chance v = exp(-(1 - v) / utilisation).
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

/// A part of the traffic, and the part of the data that it goes to.
struct Heat {
    writes: f64,
    pages: f64,
}

/// Hot and cold data in blocks of their own. Under the greedy policy a block of either kind is
/// collected at the same number of valid pages, so each kind gets blocks in proportion to its data,
/// and write amplification is that of uniform writes: separation takes all of the skew's harm away,
/// and wins nothing more.
#[test]
fn greedy_with_hot_and_cold_apart_is_greedy_under_uniform_writes() {
    for (writes, pages) in [(0.9, 0.1), (0.8, 0.2), (0.6, 0.4)] {
        check_apart(GcPolicy::Greedy, &Heat { writes, pages }, |_, utilisation| {
            greedy(utilisation)
        });
    }
}

/// FIFO keeps every block for the same time, in which a hot page is overwritten more often.
#[test]
fn fifo_with_hot_and_cold_apart_meets_its_closed_form() {
    for (writes, pages) in [(0.9, 0.1), (0.8, 0.2), (0.6, 0.4)] {
        check_apart(GcPolicy::Fifo, &Heat { writes, pages }, fifo_apart);
    }
}

/// Time counts host writes divided by the drive's data. In a block's life t, a page survives with
/// the chance exp(-t w / p), and what is written in that time, moves included, fills all blocks
/// once.
fn fifo_apart(heat: &Heat, utilisation: f64) -> f64 {
    let kinds = [(heat.writes, heat.pages), (1.0 - heat.writes, 1.0 - heat.pages)];
    let written = |life: f64| -> f64 {
        kinds.iter().map(|(writes, pages)| writes / -(-life * writes / pages).exp_m1()).sum()
    };
    let life = root(1e-9, 1e3, |life| life * written(life) - 1.0 / utilisation);
    written(life)
}

fn check_apart(policy: GcPolicy, heat: &Heat, theory: fn(&Heat, f64) -> f64) {
    // Each tenant sees half of a drive with almost no spare. The cold data fill their half, or all
    // data fill 85 % of the drive.
    let mut ftl = drive_of(policy, 0.002, 2);
    let half = ftl.tenant_pages(TenantId(1)) as f64;
    let held = (half / (1.0 - heat.pages)).min(2.0 * half * 0.85) as u64;
    let parts = [(held as f64 * heat.pages) as u64, held - (held as f64 * heat.pages) as u64];
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let full = u64::MAX >> (64 - 8);
    let mut warmup = ftl.warm_up();
    for (tenant, pages) in parts.into_iter().enumerate() {
        let mut write = |lpn| warmup.write(TenantId::at(tenant), Lpn(lpn), full).expect("room");
        (0..pages).for_each(&mut write);
    }
    let mut write = |ftl: &mut Ftl, count: u64| {
        let mut warmup = ftl.warm_up();
        for _ in 0..count {
            let tenant = usize::from(!rng.random_bool(heat.writes));
            let lpn = Lpn(rng.random_range(0..parts[tenant]));
            warmup.write(TenantId::at(tenant), lpn, full).expect("room");
        }
    };
    // Cold data are overwritten slowly: the drive settles only when they have been collected some
    // times.
    write(&mut ftl, 25 * held);
    let before = ftl.counters().moved_pages;
    write(&mut ftl, 5 * held);
    ftl.check();
    let found = 1.0 + (ftl.counters().moved_pages - before) as f64 / (5 * held) as f64;
    // Four open blocks, half full on average.
    let taking_part = u64::from(BLOCKS) - u64::from(ftl.free_blocks(PlaneId(0))) - 2;
    let utilisation = held as f64 / (taking_part * u64::from(PAGES)) as f64;
    let expected = theory(heat, utilisation);
    let error = found / expected - 1.0;
    println!(
        "{policy:?}, {:.0} % of writes to {:.0} % of data: {found:.4} measured, {expected:.4} \
         expected, {:+.2} %",
        100.0 * heat.writes,
        100.0 * heat.pages,
        100.0 * error
    );
    assert!(error.abs() < 0.02, "{policy:?}");
}
