//! A drive that starts in steady state behaves as one that was overwritten at random five times:
//! for each victim policy, over-provisioning and static order.
//!
//! Two things are compared: the write amplification right from the start with that over the fifth
//! overwrite, and how many pages of each block are valid (Kolmogorov-Smirnov).

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{Ftl, InitialContent, Places, Start, TenantSpec};
use ssdtune_model::config::{Allocation, GcPolicy, PlaneOrder};
use ssdtune_model::{DeviceConfig, Lpn, PlaneId, TenantId};

const PLANES: u32 = 2;
const BLOCKS: u32 = 1024;

#[derive(Clone, Copy, Debug)]
struct Setting {
    policy: GcPolicy,
    /// Spare capacity divided by visible capacity.
    spare: f64,
    pages: u32,
    order: PlaneOrder,
    allocation: Allocation,
    occupancy: f64,
}

fn drive(setting: Setting, seed: u64) -> Ftl {
    let mut config = DeviceConfig::default();
    config.bus.channels = 2;
    config.bus.chips_per_channel = 1;
    config.flash.dies_per_chip = 1;
    config.flash.planes_per_die = PLANES / 2;
    config.flash.blocks_per_plane = BLOCKS;
    config.flash.pages_per_block = setting.pages;
    config.flash.page_bytes = 4096;
    config.mapping.ideal = true;
    config.mapping.overprovisioning = setting.spare / (1.0 + setting.spare);
    config.mapping.plane_order = setting.order;
    config.mapping.allocation = setting.allocation;
    config.gc.policy = setting.policy;
    config.gc.threshold = 0.01;
    config.gc.hard_threshold = 0.005;
    config.wear.static_leveling = false;
    config.run.seed = seed;
    let specs = [TenantSpec { places: Places::all(&config.flash_geometry()), writer: false }];
    Ftl::new(&config, &specs).expect("a sound drive")
}

/// Writes random pages. Returns the write amplification: pages written for the host or moved,
/// divided by those written for the host.
fn overwrite(ftl: &mut Ftl, used: u64, writes: u64, rng: &mut Pcg64Mcg) -> f64 {
    let before = ftl.counters().moved_pages;
    let mut warmup = ftl.warm_up();
    for _ in 0..writes {
        warmup.write(TenantId(0), Lpn(rng.random_range(0..used)), 0xff).expect("room");
    }
    1.0 + (ftl.counters().moved_pages - before) as f64 / writes as f64
}

fn valid_pages(ftl: &mut Ftl) -> Vec<u32> {
    (0..PLANES).flat_map(|plane| ftl.valid_pages(PlaneId(plane))).collect()
}

/// The largest distance of two empirical distributions, divided by the distance that one in a
/// thousand pairs of samples of the same distribution would exceed.
fn kolmogorov_smirnov(left: &[u32], right: &[u32], most: u32) -> f64 {
    let share = |values: &[u32], count: u32| {
        values.iter().filter(|&&value| value <= count).count() as f64 / values.len() as f64
    };
    let distance = (0..=most).map(|count| (share(left, count) - share(right, count)).abs());
    let (n, m) = (left.len() as f64, right.len() as f64);
    distance.fold(0.0, f64::max) / (1.95 * ((n + m) / (n * m)).sqrt())
}

fn compare(setting: Setting) {
    let seed = 11;
    let rng = &mut Pcg64Mcg::seed_from_u64(seed);
    let mut aged = drive(setting, seed);
    let pages = aged.tenant_pages(TenantId(0));
    let used = (pages as f64 * setting.occupancy) as u64;
    let mut warmup = aged.warm_up();
    for lpn in 0..used {
        warmup.write(TenantId(0), Lpn(lpn), 0xff).expect("room");
    }
    overwrite(&mut aged, used, 4 * pages, rng);
    let expected = overwrite(&mut aged, used, pages, rng);

    // The writes from one start are 5 % of the capacity, with some 50 victims in each plane:
    // several starts make a mean.
    let mut seen = Vec::new();
    let mut found = 0.0;
    for seed in 0..6 {
        let mut born = drive(setting, seed);
        let content = InitialContent {
            start: Start::Steady,
            occupancy: vec![setting.occupancy],
            footprints: Vec::new(),
            erases: 5,
            free: Vec::new(),
            seed,
        };
        let used = born.set_initial_content(&content).expect("room")[TenantId(0)];
        if seed == 0 {
            seen = valid_pages(&mut born);
        }
        found += overwrite(&mut born, used, pages / 20, rng) / 6.0;
        born.check();
    }
    let ratio = found / expected;
    let distance = kolmogorov_smirnov(&seen, &valid_pages(&mut aged), setting.pages);
    println!("{setting:?}: {expected:.3} aged, {found:.3} born, KS {distance:.2} of its bound");
    assert!((ratio - 1.0).abs() < 0.02, "{setting:?}: {expected} aged, {found} born");
    assert!(distance < 1.0, "{setting:?}: KS {distance} of its bound");
}

const PLAIN: Setting = Setting {
    policy: GcPolicy::Greedy,
    spare: 0.15,
    pages: 64,
    order: PlaneOrder::Cwdp,
    allocation: Allocation::Static,
    occupancy: 1.0,
};

fn each_policy(spare: f64) {
    for &policy in GcPolicy::UNPLACED {
        compare(Setting { policy, spare, ..PLAIN });
    }
}

#[test]
fn each_policy_at_7_percent_spare() {
    each_policy(0.07);
}

#[test]
fn each_policy_at_15_percent_spare() {
    each_policy(0.15);
}

#[test]
fn each_policy_at_28_percent_spare() {
    each_policy(0.28);
}

#[test]
fn static_orders_dynamic_placement_and_part_filled_drives() {
    for order in [PlaneOrder::Cwdp, PlaneOrder::Pdwc, PlaneOrder::Dpcw] {
        compare(Setting { order, ..PLAIN });
    }
    compare(Setting { allocation: Allocation::Dynamic, ..PLAIN });
    compare(Setting { occupancy: 0.8, ..PLAIN });
    compare(Setting { pages: 128, ..PLAIN });
}
