//! Mapping units smaller than a page: small writes fill pages together, reads of one page take one
//! command, and collection moves units.

use crate::drives;
use ssdtune_model::config::{CacheMode, FlashTechnology, GcUnit};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Outcome, Report, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// 2 channels x 2 chips x 1 die x 2 planes x 64 blocks x 16 pages of 16 KiB, in units of 4 KiB.
fn units() -> DeviceConfig {
    let mut config = drives::small();
    config.mapping.ideal = true;
    config.mapping.overprovisioning = 0.25;
    config.flash.blocks_per_plane = 64;
    config.flash.page_bytes = 16_384;
    config.mapping.unit_bytes = 4_096;
    config.cache.mode = CacheMode::Write;
    config.gc.unit = GcUnit::Drive;
    config.wear.static_leveling = false;
    config
}

/// Flash on which allocation does what it does on that of [`units`]: each unit has a plane of its
/// own.
fn planes() -> DeviceConfig {
    let mut config = units();
    config.flash.page_bytes = 4_096;
    config.mapping.unit_bytes = 0;
    config.flash.planes_per_die *= 4;
    config
}

const UNIT: u32 = 8;

fn request(op: Op, unit: u64, count: u32) -> Request {
    let lba = Sectors(unit * u64::from(UNIT));
    Request { at: Nanos::ZERO, lba, sectors: count * UNIT, tenant: TenantId(0), op }
}

fn empty(config: &DeviceConfig) -> Simulator {
    drives::new(config, &[Tenant::sole(config)])
}

fn units_of(drive: &Simulator) -> u64 {
    drive.address_space(TenantId(0)).0 / 4_096
}

/// A drive that was written in the order of addresses.
fn filled(config: &DeviceConfig) -> Simulator {
    let mut drive = empty(config);
    let all = units_of(&drive);
    drive.warm_up((0..all).map(|unit| request(Op::Write, unit, 1))).expect("room");
    drive
}

fn run(mut drive: Simulator, requests: Vec<Request>, depth: u32) -> Report {
    assert_eq!(
        drive.run(vec![Stream::closed(requests.into_iter(), depth)], |_| true),
        Outcome::Completed
    );
    drive.check();
    drive.report()
}

#[test]
fn small_writes_fill_pages() {
    for one_shot in [false, true] {
        let mut config = units();
        config.flash.technology = FlashTechnology::Tlc;
        config.flash.pages_per_block = 18;
        config.flash.one_shot = one_shot;
        let writes = (0..4_800).map(|n| request(Op::Write, n * 7 % 4_801, 1)).collect();
        let report = run(empty(&config), writes, 16);
        let flash = report.flash;
        assert_eq!((flash.programs, flash.pages_programmed_host), (0, 4_800));
        // 4 units in each of the 2 planes that a command serves, 3 pages of a word line.
        let commands = if one_shot { 4_800 / 8 / 3 } else { 4_800 / 8 };
        assert_eq!(flash.programs_multiplane, commands);
        let by_type = report.energy.flash.program_by_page_type_j;
        let least = f64::from(4_800 / 4) * 16_384.0 * 8.0 * 1e-9;
        let nj = config.energy.flash_program_nj_per_bit;
        let [low, high] = [nj[0].min(nj[1]).min(nj[2]), nj[0].max(nj[1]).max(nj[2])];
        let sum = by_type.sum();
        assert!(sum >= least * low * 0.999 && sum <= least * high * 1.001, "{sum} J");
    }
}

/// What was written together is read together: the whole page takes the time of one sense and four
/// transfers, a unit that of one sense and one.
#[test]
fn a_read_of_one_page_is_one_command() {
    let mut config = units();
    config.cache.mode = CacheMode::Write;
    let one = |count: u32| {
        let report = run(filled(&config), vec![request(Op::Read, 0, count)], 1);
        assert_eq!(report.flash.reads + report.flash.reads_multiplane, 1);
        assert_eq!(report.flash.pages_read, u64::from(count));
        (report.flash, report.total.read.total_latency_ns.expect("a read").max)
    };
    let ((_, unit), (whole, page), (two, pages)) = (one(1), one(4), one(8));
    assert_eq!((whole.reads_multiplane, two.reads_multiplane), (0, 1));
    // Each further unit goes over the channel by itself, and then the whole over the link.
    let more = (page - unit) as f64 / 3e3;
    assert!((12.301..14.5).contains(&more), "{more} us for each more unit");
    // The second plane costs 650 ns more of the command, and four transfers.
    assert!(pages > page + 650 + 4 * 12_301, "{pages} {page}");
    assert!(pages < page + 650 + 4 * 14_500, "{pages} {page}");
}

/// Planes that read for themselves sense a page once for all its units.
#[test]
fn planes_of_their_own_read_whole_pages_too() {
    let mut config = units();
    config.flash.independent_plane_reads = true;
    let report = run(filled(&config), vec![request(Op::Read, 0, 8)], 1);
    assert_eq!((report.flash.reads, report.flash.reads_multiplane), (2, 0));
    assert_eq!(report.flash.pages_read, 8);
    let nj = config.energy.flash_read_nj_per_bit[0] * 2.0 * 16_384.0 * 8.0;
    let joules = report.energy.flash.read_j;
    assert!((joules / (nj * 1e-9) - 1.0).abs() < 1e-9, "{joules} J");
    let scattered =
        run(filled(&config), (0..800).map(|n| request(Op::Read, n * 13, 4)).collect(), 16);
    assert_eq!(scattered.flash.pages_read, 3_200);
    let commands = scattered.flash.reads + scattered.flash.reads_multiplane;
    assert!((800..=1_600).contains(&commands), "{commands}: a request touches one page or two");
}

/// Neighbours are dealt over dies first: a read of as many units as dies takes one sense of each,
/// and one of all units of their pages no more senses.
#[test]
fn neighbours_are_dealt_over_dies_before_a_page_is_full() {
    for (together, units_to_read, commands) in
        [(1, 4, 1), (1, 8, 1), (1, 32, 4), (2, 4, 2), (2, 16, 2), (4, 4, 4), (4, 8, 4), (4, 32, 4)]
    {
        let mut config = units();
        config.mapping.stripe_dies = together;
        let flash = run(filled(&config), vec![request(Op::Read, 0, units_to_read)], 1).flash;
        let found = flash.reads + flash.reads_multiplane;
        assert_eq!(found, commands, "{units_to_read} units over {together} dies");
        assert_eq!(flash.pages_read, u64::from(units_to_read));
    }
}

/// Four units over as many dies take one sense and the transfers over two channels; in one page
/// they take one sense and four transfers over one.
#[test]
fn dies_share_the_transfers_of_a_read() {
    let nanos = |together: u32| {
        let mut config = units();
        config.mapping.stripe_dies = together;
        let report = run(filled(&config), vec![request(Op::Read, 0, 4)], 1);
        report.total.read.total_latency_ns.expect("a read").max
    };
    let saved = (nanos(1) - nanos(4)) as f64 / 2.0;
    assert!((12_301.0..14_500.0).contains(&saved), "{saved} ns for each of two transfers");
}

/// Writes fill the pages of all dies that are dealt to, and whole commands program them.
#[test]
fn programs_wait_for_the_units_of_all_dies_of_a_row() {
    for together in [1, 2, 4] {
        let mut config = units();
        config.mapping.stripe_dies = together;
        let writes = (0..4_800).map(|n| request(Op::Write, n * 7 % 4_801, 1)).collect();
        let flash = run(empty(&config), writes, 64).flash;
        assert_eq!((flash.programs, flash.pages_programmed_host), (0, 4_800));
        assert_eq!(flash.programs_multiplane, 4_800 / 8, "over {together} dies");
    }
}

/// Small overwrites scatter what was together: a large read then takes several commands.
#[test]
fn a_large_read_touches_as_many_places_as_it_was_written_in() {
    let config = units();
    let mut drive = filled(&config);
    let all = units_of(&drive);
    let scattered = (0..all).map(|n| request(Op::Write, n * 7_919 % all, 1));
    drive.warm_up(scattered).expect("room");
    let reads = (0..64).map(|n| request(Op::Read, n * 4, 4)).collect();
    let flash = run(drive, reads, 1).flash;
    assert_eq!(flash.pages_read, 256);
    assert!(flash.reads + flash.reads_multiplane > 200, "{} commands", flash.reads);
}

/// A page of four units is collected as four pages in planes of their own are.
#[test]
fn collection_moves_what_planes_of_units_would_move() {
    let erases = |config: &DeviceConfig, blocks_of_a_unit: u64| {
        let mut drive = filled(config);
        let all = units_of(&drive);
        let again = (0..4 * all).map(|n| request(Op::Write, n * 48_271 % all, 1));
        drive.warm_up(again).expect("room");
        let bins = drive.report().collection.erase_histogram;
        let erased: u64 = bins.iter().map(|bin| u64::from(bin.erases) * bin.blocks).sum();
        (all, erased * blocks_of_a_unit)
    };
    assert_eq!(erases(&units(), 4), erases(&planes(), 1));
}

#[test]
fn energy_and_wear_are_those_of_whole_pages_and_blocks() {
    let config = units();
    let writes = |drive: &Simulator| -> Vec<Request> {
        let all = units_of(drive);
        (0..2 * all).map(|n| request(Op::Write, n * 48_271 % all, 1)).collect()
    };
    let drive = filled(&config);
    let requests = writes(&drive);
    let report = run(drive, requests, 32);
    assert!(report.collection.executions > 10);
    // 8 blocks of the flash in a superblock.
    assert_eq!(report.flash.blocks_erased % 8, 0, "whole superblocks are erased");
    let blocks: u64 = report.collection.erase_histogram.iter().map(|bin| bin.blocks).sum();
    assert_eq!(blocks, config.flash_geometry().blocks());
    // Each program command of two planes costs two whole pages.
    let commands = report.flash.programs + report.flash.programs_multiplane;
    let nj = config.energy.flash_program_nj_per_bit[0] * 16_384.0 * 8.0;
    let joules = report.energy.flash.program_by_page_type_j.lsb;
    assert!(joules <= 2.0 * commands as f64 * nj * 1e-9, "{joules} J, {commands} commands");
    assert!(joules > 0.0);
}

#[test]
fn units_that_cannot_be_are_refused() {
    let refused = |change: &dyn Fn(&mut DeviceConfig), what: &str| {
        let mut config = units();
        change(&mut config);
        let faults = config.check().expect_err("illegal").to_string();
        assert!(faults.contains("mapping.unit_bytes") && faults.contains(what), "{faults}");
    };
    refused(&|config| config.mapping.unit_bytes = 32_768, "divide");
    refused(&|config| config.mapping.unit_bytes = 5_120, "divide");
    refused(&|config| config.gc.unit = GcUnit::Block, "gc.unit");
    refused(&|config| config.cache.mode = CacheMode::Off, "cache.mode");
    refused(&|config| config.flash.planes_per_die = 32, "at most 64");
    let mut config = units();
    config.mapping.stripe_dies = 3;
    let faults = config.check().expect_err("illegal").to_string();
    assert!(faults.contains("mapping.stripe_dies") && faults.contains("4 dies"), "{faults}");
    let mut same = units();
    (same.mapping.unit_bytes, same.gc.unit) = (16_384, GcUnit::Block);
    assert!(same.check().is_ok());
}
