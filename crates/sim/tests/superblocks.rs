//! Superblocks: pages are written stripe by stripe, collection works in steps and at the host's
//! pace, and no more is moved than without time.

use crate::drives::{self, Mix, Ran};
use ssdtune_model::config::{CacheMode, GcUnit};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Outcome, Places, Report, SimError, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// 2 channels x 2 chips x 1 die x 2 planes x 64 blocks x 16 pages of 4 KiB, a quarter of them
/// spare: 64 superblocks of 128 pages.
fn plain() -> DeviceConfig {
    let mut config = drives::small();
    config.mapping.ideal = true;
    config.mapping.overprovisioning = 0.25;
    config.flash.blocks_per_plane = 64;
    config.cache.mode = CacheMode::Write;
    config.gc.unit = GcUnit::Drive;
    config.gc.threshold = 0.1;
    config.gc.hard_threshold = 0.02;
    config.wear.static_leveling = false;
    config
}

const PAGE: u32 = 8;

/// Writes of whole pages at random, over all of the drive's address space.
fn overwrites(config: &DeviceConfig, requests: usize, gap_ns: f64, reads: u32) -> Vec<Request> {
    let drive = drives::new(config, &[Tenant::sole(config)]);
    let sectors = drive.address_space(TenantId(0)).0 / 512;
    let mix = Mix {
        requests,
        seed: 17,
        gap_ns,
        reads,
        trims: 0,
        flushes: 0,
        sectors,
        align: PAGE,
        pages_max: 1,
    };
    mix.requests(0)
}

/// A drive that is full and was overwritten at random four times, without time.
fn worn(config: &DeviceConfig) -> Simulator {
    let mut drive = drives::new(config, &[Tenant::sole(config)]);
    let pages = drive.address_space(TenantId(0)).0 / 4096;
    let fill = (0..pages).map(write);
    let again = overwrites(config, 4 * pages as usize, 1.0, 0).into_iter();
    drive.warm_up(fill.chain(again)).expect("room");
    drive
}

fn write(page: u64) -> Request {
    let lba = Sectors(page * u64::from(PAGE));
    Request { at: Nanos::ZERO, lba, sectors: PAGE, tenant: TenantId(0), op: Op::Write }
}

fn units() -> [DeviceConfig; 2] {
    [GcUnit::Die, GcUnit::Drive].map(|unit| {
        let mut config = plain();
        config.gc.unit = unit;
        config
    })
}

#[test]
fn what_the_cache_writes_goes_to_all_planes_of_a_die_at_once() {
    for config in units() {
        let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
        let stream = Stream::closed((0..4_000).map(write), 16);
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        drive.check();
        let flash = drive.report().flash;
        assert_eq!(flash.programs, 0, "{:?}: commands to one plane", config.gc.unit);
        assert_eq!(flash.pages_programmed_host, 2 * flash.programs_multiplane);
    }
}

#[test]
fn a_flush_does_not_wait_for_the_rest_of_a_stripe() {
    let config = plain();
    let flush = Request { at: Nanos::from_ms(50), sectors: 0, op: Op::Flush, ..write(0) };
    let odd: Vec<Request> = (0..5).map(write).chain([flush]).collect();
    let ran = drives::run(&config, &odd);
    assert_eq!(ran.outcome, Outcome::Completed);
    assert_eq!(ran.report.flash.pages_programmed_host, 5);
}

/// Moves for each page that the host wrote.
fn moves(report: &Report) -> f64 {
    report.collection.moved_pages as f64 / report.flash.pages_programmed_host as f64
}

/// Two ways to the same figure: in time, with steps and stripes and pages that the host overwrites
/// while they are moved, and without.
#[test]
fn collection_in_time_moves_what_ageing_moves() {
    for mut config in units() {
        // At its own pace collection begins as early as without time, and as many are free.
        config.gc.paced = false;
        let mut drive = worn(&config);
        let requests = overwrites(&config, 40_000, 4_000_000.0, 0);
        let aged = {
            let mut drive = worn(&config);
            drive.warm_up(requests.iter().copied()).expect("room");
            drive
        };
        assert_eq!(
            drive.run(vec![Stream::open(requests.into_iter())], |_| true),
            Outcome::Completed
        );
        drive.check();
        let in_time = moves(&drive.report());
        // Ageing keeps no count of moves. In a steady state as many pages are erased as programmed,
        // so the moves of a host page are the pages erased for it, less itself.
        let erased = |drive: &Simulator| {
            let bins = drive.report().collection.erase_histogram;
            bins.iter().map(|bin| u64::from(bin.erases) * bin.blocks).sum::<u64>()
        };
        let fresh = erased(&worn(&config));
        let without = (erased(&aged) - fresh) as f64 * 16.0 / 40_000.0 - 1.0;
        assert!(in_time > 0.3, "{in_time}: the drive collects");
        assert!((in_time / without - 1.0).abs() < 0.05, "{in_time} in time, {without} without");
    }
}

fn write_latency(config: &DeviceConfig, gap_ns: f64) -> Ran {
    drives::run_on(worn(config), &[overwrites(config, 20_000, gap_ns, 30)])
}

#[test]
fn paced_collection_keeps_the_tail_of_writes_short() {
    let p999 = |paced| {
        let mut config = plain();
        config.gc.paced = paced;
        // A cache that cannot hide a whole collection.
        config.cache.capacity = ssdtune_model::Bytes(16 * 4096);
        let ran = write_latency(&config, 300_000.0);
        assert_eq!(ran.outcome, Outcome::Completed);
        ran.report.total.write.total_latency_ns.expect("writes").p999
    };
    let (paced, at_once) = (p999(true), p999(false));
    assert!(paced * 2 < at_once, "{paced} ns paced, {at_once} ns at once");
}

#[test]
fn reads_go_before_collection_and_victims_are_read_by_stripes() {
    let config = plain();
    let ran = write_latency(&config, 300_000.0);
    let flash = &ran.report.flash;
    assert!(ran.report.collection.executions > 10 && flash.reads_multiplane > 0);
    let superblocks = ran.report.flash.blocks_erased as f64 / 8.0;
    assert_eq!(superblocks.fract(), 0.0, "whole superblocks are erased");
    // A read waits for what its die does, at most an erase, but not for the moves behind it.
    let worst = ran.report.total.read.total_latency_ns.expect("reads").p99;
    assert!(worst < 3 * config.flash.erase_latency.0, "{worst} ns");
}

/// Each page that is moved is read by a command of its own, where its die would read two at once.
#[test]
fn collection_may_read_one_plane_at_a_time() {
    let flash = |single_plane_reads| {
        let mut config = plain();
        config.gc.single_plane_reads = single_plane_reads;
        let requests = overwrites(&config, 20_000, 300_000.0, 0);
        let Report { collection, flash, .. } = drives::run_on(worn(&config), &[requests]).report;
        assert!(collection.executions > 10);
        (collection.moved_pages, flash)
    };
    let ((moved, together), (alone_moved, alone)) = (flash(false), flash(true));
    assert!(together.reads_multiplane > moved / 4, "victims are read by stripes");
    assert_eq!(alone.reads_multiplane, 0);
    // Pages of which the host's writes overtook the move were read, too.
    assert!((alone_moved..alone_moved + alone_moved / 50).contains(&alone.reads), "{alone:?}");
    // What is programmed goes to all planes, as ever.
    assert!(alone.programs_multiplane > 9 * alone.programs);
}

#[test]
fn a_tenant_with_a_part_of_a_superblock_is_refused() {
    let tenant = |config: &DeviceConfig| {
        let places = Places { channels: vec![1], ..Places::all(&config.flash_geometry()) };
        Tenant { places, ..Tenant::sole(config) }
    };
    let [die, drive] = units();
    let new = |config: &DeviceConfig| {
        Simulator::new(&config.check().expect("legal"), &[tenant(config)], drives::WATCH)
    };
    assert!(new(&die).is_ok());
    let error = new(&drive).err().map(|error: SimError| error.to_string()).unwrap_or_default();
    assert!(error.contains("some of the channels") && error.contains("gc.unit"), "{error}");
}
