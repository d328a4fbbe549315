//! Ageing a drive without time, on the flash translation layer alone: page writes a second of
//! processor time, in order and at random on an untouched drive, and at random on a steady one.
//!
//! The last number of a row is a checksum of where pages lie in the end: two versions that print
//! the same one have done the same.

#[path = "../crates/trace/benches/shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::measurement::Measurement;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{Ftl, InitialContent, Lookahead, Places, Start, TenantSpec};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{DeviceConfig, Lpn, Nanos, TenantId};

/// The drive's only tenant.
const TENANT: TenantId = TenantId(0);

/// The default drive with 8 channels, 512 GiB in pages of 8 KiB, 15 % of them spare.
fn drive(steady: bool) -> Ftl {
    let mut config = DeviceConfig::default();
    config.bus.channels = 8;
    config.mapping.ideal = true;
    config.mapping.overprovisioning = 0.15;
    config.cache.mode = CacheMode::Off;
    let places = Places::all(&config.geometry());
    let mut ftl = Ftl::new(&config, &[TenantSpec { places, writer: false }]).expect("a drive");
    if steady {
        let content = InitialContent {
            start: Start::Steady,
            occupancy: vec![1.0],
            footprints: Vec::new(),
            erases: 100,
            free: Vec::new(),
            seed: 1,
        };
        ftl.set_initial_content(&content).expect("room");
    }
    ftl
}

/// Writes whole pages in this order, looking ahead.
fn write(ftl: &mut Ftl, pages: &[Lpn]) {
    let mut ahead = Lookahead::new(4);
    let serve = |ftl: &mut Ftl, page| {
        ftl.set_write_context(Nanos(0), 0);
        ftl.warm_up().write_whole(TENANT, page).expect("room");
    };
    for &page in pages {
        if let Some(page) = ahead.push(ftl, page, TENANT, page, true) {
            serve(ftl, page);
        }
    }
    while let Some(page) = ahead.pop() {
        serve(ftl, page);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count = if args.iter().any(|arg| arg == "--test") { 5_000 } else { 2_000_000 };
    for (name, steady, in_order) in
        [("untouched, in order", false, true), ("untouched", false, false), ("steady", true, false)]
    {
        let mut ftl = drive(steady);
        let visible = ftl.tenant_pages(TENANT);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let page = |at| Lpn(if in_order { at % visible } else { rng.random_range(0..visible) });
        let pages: Vec<Lpn> = (0..count).map(page).collect();
        let start = CpuTime.start();
        write(&mut ftl, &pages);
        let seconds = CpuTime.end(start).as_secs_f64();
        let rate = count as f64 / seconds / 1e6;
        let amplification = 1.0 + ftl.counters().moved_pages as f64 / count as f64;
        let places = pages.iter().step_by(97).map(|&page| ftl.place_of(TENANT, page));
        let checksum = places.fold(0u64, |sum, phys| {
            sum.wrapping_mul(31).wrapping_add(phys.map_or(0, |phys| phys.to_bits() + 1))
        });
        println!(
            "{name}: {rate:.2} M host writes/s, write amplification {amplification:.2}, {:.2} M \
             page writes/s, {} MB, {checksum:016x}",
            rate * amplification,
            ftl.memory_bytes() >> 20,
        );
    }
}
