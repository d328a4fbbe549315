//! The SLC cache, against arithmetic: how long it takes writes, when it is full, what folding costs
//! and when it has given back which room.
//!
//! No measurements of consumer drives are at hand: nothing here is compared with a real drive.

use crate::drives::{self, Mix};
use ssdtune_model::config::{CacheMode, FlashTechnology, GcUnit};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Outcome, Report, Simulator, SlcCache, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

const READ_COMMAND: u64 = 290;
const PROGRAM_COMMAND: u64 = 361;
const ERASE_COMMAND: u64 = 220;
/// A page of 4 KiB over the channel.
const TRANSFER: u64 = 12_301;
/// From the end of a read in the array until the controller sees it.
const READY: u64 = 20;

const SLC_READ: u64 = 25_000;
const SLC_PROGRAM: u64 = 150_000;
const SLC_ERASE: u64 = 2_000_000;
const READ: u64 = 60_000;
const PROGRAM: u64 = 900_000;

const BLOCKS: u32 = 60;

/// One plane of 60 blocks of 48 pages of 4 KiB without a data cache; collection begins below six
/// free blocks. No SLC cache yet, and if there is one, idle time folds nothing.
fn one_plane(technology: FlashTechnology) -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.mapping.overprovisioning = 0.4;
    config.gc.threshold = 0.1;
    config.wear.static_leveling = false;
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    [config.flash.blocks_per_plane, config.flash.pages_per_block] = [BLOCKS, 48];
    config.flash.technology = technology;
    config.flash.read_latency = [READ; 4].map(Nanos);
    config.flash.program_latency = [PROGRAM; 4].map(Nanos);
    config.slc_cache.read_latency = Nanos(SLC_READ);
    config.slc_cache.program_latency = Nanos(SLC_PROGRAM);
    config.slc_cache.erase_latency = Nanos(SLC_ERASE);
    config.slc_cache.fold_after = Nanos::ZERO;
    config.host.pcie_lane_bandwidth_gbps = 1_000.0;
    config.host.pcie_lanes = 64;
    config
}

fn with_static(technology: FlashTechnology, blocks: u32) -> DeviceConfig {
    let mut config = one_plane(technology);
    config.slc_cache.static_blocks = blocks;
    config
}

fn with_dynamic(technology: FlashTechnology, above: f64) -> DeviceConfig {
    let mut config = one_plane(technology);
    config.slc_cache.dynamic_above = above;
    config
}

/// Pages of a block in SLC mode.
fn slc_pages(technology: FlashTechnology) -> u64 {
    48 / technology.page_types().len() as u64
}

const DENSE: [FlashTechnology; 3] =
    [FlashTechnology::Mlc, FlashTechnology::Tlc, FlashTechnology::Qlc];

fn new(config: &DeviceConfig) -> Simulator {
    drives::new(config, &[Tenant::sole(config)])
}

fn request(op: Op, page: u64) -> Request {
    let lba = Sectors(page * 8);
    Request { at: Nanos::ZERO, lba, sectors: 8, tenant: TenantId(0), op }
}

/// Serves requests for whole pages, one after the other. Returns how long each took.
fn serve(drive: &mut Simulator, op: Op, pages: impl Iterator<Item = u64>) -> Vec<u64> {
    let start = drive.now() + Nanos(1_000);
    let requests: Vec<_> = pages.map(|page| request(op, page)).collect();
    let mut took = Vec::new();
    let mut at = start;
    for request in requests {
        drive.push(Request { at, ..request });
        while drive.in_flight() > 0 || drive.now() < at {
            // Less than any request takes, so that folding in idle time never begins before.
            drive.run_until(drive.now() + Nanos(500));
        }
        let done = drive.take_completions().pop().expect("it is done");
        took.push((done.completed - done.arrived).0);
        at = drive.now() + Nanos(1_000);
    }
    took
}

fn cache(drive: &Simulator) -> SlcCache {
    drive.report().slc_cache.expect("an SLC cache")
}

/// What a write takes beside its program: the link, the command, the transfer.
fn around_programs() -> u64 {
    let took = serve(&mut new(&one_plane(FlashTechnology::Tlc)), Op::Write, 0..1);
    let around = took[0] - PROGRAM;
    let least = PROGRAM_COMMAND + TRANSFER;
    assert!((least..least + 50).contains(&around), "{around}");
    around
}

/// Pages at random, each once.
fn scattered(pages: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..pages).collect();
    order.sort_by_key(|&page| ssdtune_model::scramble(page));
    order
}

#[test]
fn a_static_cache_takes_its_pages_at_slc_speed_and_the_next_one_goes_directly() {
    let around = around_programs();
    for technology in DENSE {
        let room = 5 * slc_pages(technology);
        for pages in [(0..room + 40).collect(), scattered(room + 40)] {
            let mut drive = new(&with_static(technology, 5));
            let took = serve(&mut drive, Op::Write, pages.into_iter());
            let (within, behind) = took.split_at(room as usize);
            assert!(within.iter().all(|&time| time == SLC_PROGRAM + around), "{technology}");
            assert!(behind.iter().all(|&time| time == PROGRAM + around), "{technology}");
            drive.check();
            let expected = SlcCache {
                written_pages: room,
                folded_pages: 0,
                idle_folds: 0,
                pressed_folds: 0,
                blocks: 5,
            };
            assert_eq!(cache(&drive), expected);
        }
    }
}

#[test]
fn a_dynamic_cache_takes_free_blocks_down_to_its_share() {
    let around = around_programs();
    for technology in DENSE {
        for (above, blocks) in [(0.9, 6), (0.5, 30)] {
            let room = blocks * slc_pages(technology);
            let mut drive = new(&with_dynamic(technology, above));
            let took = serve(&mut drive, Op::Write, 0..room + 20);
            let (within, behind) = took.split_at(room as usize);
            assert!(within.iter().all(|&time| time == SLC_PROGRAM + around), "{technology}");
            assert!(behind.iter().all(|&time| time == PROGRAM + around), "{technology}");
            assert_eq!(cache(&drive).blocks, blocks);
        }
    }
}

/// Both kinds: first the blocks that are kept, and as many more as free ones allow. The kept ones
/// are no free blocks, so these begin with 50.
#[test]
fn a_cache_of_both_kinds_takes_both() {
    let mut config = with_static(FlashTechnology::Tlc, 10);
    config.slc_cache.dynamic_above = 0.75;
    let mut drive = new(&config);
    let took = serve(&mut drive, Op::Write, 0..16 * 20);
    let fast = took.iter().take_while(|&&time| time < PROGRAM).count();
    assert_eq!((fast, cache(&drive).blocks), ((10 + 5) * 16, 15));
}

/// Every block that is folded gives back all its pages but those that its data need. So the host's
/// pages that are written directly find room at the cost of 1 / (bits - 1) moves each.
#[test]
fn under_pressure_each_direct_page_costs_its_share_of_folding() {
    for technology in DENSE {
        let bits = technology.page_types().len() as f64;
        let per_block = slc_pages(technology);
        let mut config = with_dynamic(technology, 0.2);
        config.mapping.overprovisioning = 0.2;
        let mut drive = new(&config);
        // 48 blocks in SLC mode, then six of the twelve others.
        let (in_slc, before) = (48 * per_block, 6 * 48);
        serve(&mut drive, Op::Write, 0..in_slc + before);
        assert_eq!(cache(&drive).pressed_folds, 0, "{technology}");
        let direct = (48 * per_block - 5 * 48).min(600);
        serve(&mut drive, Op::Write, in_slc + before..in_slc + before + direct);
        drive.run_to_end();
        drive.check();
        let found = cache(&drive);
        assert_eq!(found.written_pages, in_slc, "{technology}");
        assert_eq!(found.idle_folds, 0);
        let expected = direct as f64 / (bits - 1.0);
        let off = (found.folded_pages as f64 - expected).abs();
        assert!(off <= 2.0 * 48.0, "{technology}: {} folded, {expected}", found.folded_pages);
        assert!(found.pressed_folds >= 2, "{technology}");
        assert_eq!(found.folded_pages, found.pressed_folds * per_block, "{technology}");
    }
}

/// The time to fold a full block of one plane: all pages are read, then all are programmed, and the
/// block is erased.
fn fold_time(technology: FlashTechnology) -> u64 {
    let read = READ_COMMAND + SLC_READ + READY + TRANSFER;
    let program = PROGRAM_COMMAND + TRANSFER + PROGRAM;
    slc_pages(technology) * (read + program) + ERASE_COMMAND + SLC_ERASE
}

#[test]
fn idle_time_folds_a_block_in_exactly_its_time_and_gives_its_room_back() {
    let around = around_programs();
    for technology in DENSE {
        let per_block = slc_pages(technology);
        let mut config = with_static(technology, 4);
        config.slc_cache.fold_after = Nanos::from_ms(50);
        let mut drive = new(&config);
        serve(&mut drive, Op::Write, 0..4 * per_block);
        let last = drive.report().time.last_completion_ns;
        for folded in 1..=4 {
            let done = last + 50_000_000 + folded * fold_time(technology);
            drive.run_until(Nanos(done - 1));
            assert_eq!(cache(&drive).blocks, 5 - folded, "{technology}: one too early");
            drive.run_until(Nanos(done));
            assert_eq!(cache(&drive).blocks, 4 - folded, "{technology}: one too late");
            drive.check();
        }
        let took = serve(&mut drive, Op::Write, 1_000..1_000 + 4 * per_block + 1);
        let fast = took.iter().filter(|&&time| time == SLC_PROGRAM + around).count() as u64;
        assert_eq!((fast, took.last()), (4 * per_block, Some(&(PROGRAM + around))));
    }
}

/// A pause that ends while the third of five blocks is being folded gives the room of three: the
/// third fold is finished first, no other one begins.
#[test]
fn a_request_ends_folding_behind_the_block_that_is_being_folded() {
    let technology = FlashTechnology::Tlc;
    let mut config = with_static(technology, 5);
    config.slc_cache.fold_after = Nanos::from_ms(50);
    let mut drive = new(&config);
    serve(&mut drive, Op::Write, 0..5 * 16);
    let last = drive.report().time.last_completion_ns;
    let pause = 50_000_000 + 2 * fold_time(technology) + fold_time(technology) / 2;
    drive.run_until(Nanos(last + pause));
    assert_eq!((cache(&drive).blocks, cache(&drive).idle_folds), (3, 3));
    serve(&mut drive, Op::Write, 1_000..1_200);
    let found = cache(&drive);
    assert_eq!((found.idle_folds, found.written_pages), (3, (5 + 3) * 16));
    drive.check();
}

#[test]
fn a_pause_that_is_too_short_folds_nothing() {
    let mut config = with_static(FlashTechnology::Tlc, 5);
    config.slc_cache.fold_after = Nanos::from_ms(50);
    let mut drive = new(&config);
    for round in 0..10 {
        serve(&mut drive, Op::Write, round * 10..(round + 1) * 10);
        let next = drive.report().time.last_completion_ns + 49_990_000;
        drive.run_until(Nanos(next));
    }
    assert_eq!(cache(&drive).idle_folds, 0);
    drive.run_to_end();
    assert_eq!(cache(&drive).idle_folds, 5);
}

#[test]
fn data_in_slc_mode_are_read_in_its_time_and_folded_ones_in_theirs() {
    for technology in DENSE {
        let per_block = slc_pages(technology);
        let mut config = with_static(technology, 2);
        config.slc_cache.fold_after = Nanos::from_ms(50);
        let mut drive = new(&config);
        // Two blocks in SLC mode and two direct pages.
        serve(&mut drive, Op::Write, 0..2 * per_block + 2);
        let took = serve(&mut drive, Op::Read, 0..2 * per_block + 2);
        let around = took[0] - SLC_READ;
        let least = READ_COMMAND + READY + TRANSFER;
        assert!((least..least + 50).contains(&around), "{around}");
        let (slc, direct) = took.split_at(2 * per_block as usize);
        assert!(slc.iter().all(|&time| time == SLC_READ + around), "{technology}");
        assert!(direct.iter().all(|&time| time == READ + around), "{technology}");
        drive.run_to_end();
        assert_eq!(cache(&drive).blocks, 0);
        let took = serve(&mut drive, Op::Read, 0..2 * per_block);
        assert!(took.iter().all(|&time| time == READ + around), "{technology}");
    }
}

fn run(config: &DeviceConfig, writes: u64, depth: u32) -> Report {
    let mut drive = new(config);
    let stream = Stream::closed((0..writes).map(|page| request(Op::Write, page)), depth);
    assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
    drive.check();
    drive.report()
}

#[test]
fn a_burst_that_is_folded_is_programmed_twice() {
    for technology in DENSE {
        let mut config = with_static(technology, 6);
        config.slc_cache.fold_after = Nanos::from_ms(1);
        let burst = 6 * slc_pages(technology);
        let report = run(&config, burst, 1);
        assert_eq!(report.write_amplification.total, 2.0, "{technology}");
        let found = report.slc_cache.expect("a cache");
        assert_eq!([found.written_pages, found.folded_pages], [burst; 2]);
        assert_eq!((found.idle_folds, found.blocks), (6, 0));
        assert_eq!(report.collection.moved_pages, burst);
        assert_eq!(report.collection.blocks_erased, 6);
        // What is not folded was programmed once.
        config.slc_cache.fold_after = Nanos::ZERO;
        assert_eq!(run(&config, burst, 1).write_amplification.total, 1.0);
    }
}

/// Energy is that of the mode: all other pages cost nothing here.
#[test]
fn energy_of_pages_in_slc_mode_is_counted_apart() {
    let mut config = with_static(FlashTechnology::Tlc, 6);
    config.slc_cache.fold_after = Nanos::from_ms(1);
    config.energy.slc_read_nj_per_bit = 0.25;
    config.energy.slc_program_nj_per_bit = 2.0;
    let flash = run(&config, 96, 1).energy.flash;
    let bits = 96.0 * 4096.0 * 8.0;
    let close = |joule: f64, nj: f64| (joule - bits * nj * 1e-9).abs() < 1e-12;
    assert!(close(flash.program_by_page_type_j.slc.expect("a cache"), 2.0));
    // Each page is read once, to be folded.
    assert!(close(flash.read_by_page_type_j.slc.expect("a cache"), 0.25));
    assert!(close(flash.program_j - flash.program_by_page_type_j.slc.unwrap_or(0.0), 3.31));
    assert_eq!(
        run(&one_plane(FlashTechnology::Tlc), 9, 1).energy.flash.read_by_page_type_j.slc,
        None
    );
}

/// Many dies: the rate within the cache is that of programs in SLC mode, behind it that of others,
/// which with word lines program as many pages at once as a cell has bits.
#[test]
fn a_whole_drive_writes_at_the_rate_of_its_mode() {
    for (technology, unit, one_shot) in [
        (FlashTechnology::Tlc, GcUnit::Block, false),
        (FlashTechnology::Tlc, GcUnit::Drive, true),
        (FlashTechnology::Qlc, GcUnit::Drive, true),
        (FlashTechnology::Qlc, GcUnit::Die, false),
    ] {
        let mut config = with_static(technology, 10);
        [config.bus.channels, config.bus.chips_per_channel] = [2, 2];
        config.flash.planes_per_die = 2;
        config.bus.rate_mts = 3_200;
        config.gc.unit = unit;
        config.flash.one_shot = one_shot;
        config.cache.mode = CacheMode::Write;
        config.cache.capacity.0 = 512 * 4096;
        config.cache.write_buffer.0 = 256 * 4096;
        let bits = technology.page_types().len() as u64;
        let room = 10 * slc_pages(technology) * 8;
        let behind = 4_000;
        let mut drive = new(&config);
        let writes = (0..room + behind).map(|page| request(Op::Write, page));
        let outcome = drive.run(vec![Stream::closed(writes, 32)], |_| true);
        assert_eq!(outcome, Outcome::Completed);
        drive.check();
        let done = drive.take_completions();
        // Pages each second between two completions; the buffer fills before and drains behind.
        let rate = |from: u64, to: u64| {
            let time = done[to as usize].completed - done[from as usize].completed;
            (to - from) as f64 / time.as_secs_f64()
        };
        // 4 KiB at 3,200 MT/s; the command for each further page.
        let time = |program: u64, pages: u64| {
            program + PROGRAM_COMMAND + (pages - 1) * 816 + pages * 1_280
        };
        let at_once = if one_shot { bits } else { 1 };
        let rate_of = |program, rows: u64| 8e9 * rows as f64 / time(program, 2 * rows) as f64;
        let (slc, direct) = (rate_of(SLC_PROGRAM, 1), rate_of(PROGRAM, at_once));
        let found = [rate(400, room - 100), rate(room + 800, room + behind - 100)];
        for (found, expected) in found.into_iter().zip([slc, direct]) {
            let share = found / expected;
            // The commands to all dies that end at either border are one per cent of the pages.
            assert!((0.95..1.01).contains(&share), "{technology} {unit:?}: {share}");
        }
        assert_eq!(cache(&drive).written_pages, room);
        assert_eq!(cache(&drive).blocks, 80);
    }
}

/// Paced collection waits for the host's writes. It must not keep idle time from folding: what is
/// under way is finished first.
#[test]
fn a_collection_that_waits_for_the_host_does_not_keep_idle_time_from_folding() {
    let mut config = with_static(FlashTechnology::Tlc, 6);
    [config.bus.channels, config.flash.planes_per_die] = [2, 2];
    config.gc.unit = GcUnit::Drive;
    config.slc_cache.fold_after = Nanos::from_ms(2);
    config.mapping.overprovisioning = 0.25;
    for more in 0..6 {
        let mut drive = new(&config);
        let pages = drive.address_space(TenantId(0)).0 / 4096;
        let writes = (0..pages).chain(scattered(pages)).chain(scattered(pages / 4 + more * 40));
        let writes = writes.map(|page| request(Op::Write, page));
        assert_eq!(drive.run(vec![Stream::closed(writes, 16)], |_| true), Outcome::Completed);
        drive.check();
        assert!(drive.report().collection.executions > 6, "superblocks are collected");
        let found = cache(&drive);
        // The one being filled stays, if one is: four blocks, one in each plane.
        assert!(found.idle_folds >= 5 && found.blocks <= 4, "{more}: {found:?}");
    }
}

/// The moment of a snapshot, in the middle of folding, is not noticed by what follows.
#[test]
fn a_snapshot_in_the_middle_of_folding_goes_on_the_same() {
    for unit in [GcUnit::Block, GcUnit::Drive] {
        let mut config = with_static(FlashTechnology::Tlc, 6);
        [config.bus.channels, config.flash.planes_per_die] = [2, 2];
        config.gc.unit = unit;
        config.cache.capacity.0 = 256 * 4096;
        config.slc_cache.dynamic_above = 0.7;
        config.slc_cache.fold_after = Nanos::from_ms(2);
        let checked = config.check().expect("legal");
        let tenants = [Tenant::sole(&config)];
        let mut drive = new(&config);
        for page in 0..800 {
            drive.push(Request { at: Nanos(page * 200_000), ..request(Op::Write, page) });
        }
        drive.run_to_end();
        let burst = Mix {
            requests: 700,
            seed: 8,
            gap_ns: 50_000.0,
            reads: 30,
            trims: 2,
            flushes: 1,
            sectors: 20_000,
            align: 8,
            pages_max: 3,
        };
        let start = drive.now() + Nanos(1_000);
        for request in burst.requests(0) {
            drive.push(Request { at: start + request.at, ..request });
        }
        let folds = cache(&drive).idle_folds;
        while cache(&drive).idle_folds == folds {
            assert!(drive.now() < start + Nanos(3_000_000_000), "{unit:?}: it never folds");
            drive.run_until(drive.now() + Nanos(1_000_000));
        }
        let from = drive.now();
        let mut in_the_middle = 0;
        for step in 0..8 {
            drive.run_until(from + Nanos(step * 777_777));
            let bytes = drive.snapshot().expect("a snapshot");
            let mut again =
                Simulator::restore(&checked, &tenants, drives::WATCH, &bytes).expect("it is whole");
            let mut one =
                Simulator::restore(&checked, &tenants, drives::WATCH, &bytes).expect("whole");
            in_the_middle += u64::from(cache(&one).blocks > 0);
            one.run_until(one.now() + Nanos(step * 100_003));
            let later = one.snapshot().expect("a snapshot");
            let mut one =
                Simulator::restore(&checked, &tenants, drives::WATCH, &later).expect("whole");
            again.run_until(one.now());
            one.run_to_end();
            again.run_to_end();
            one.check();
            assert_eq!(one.report(), again.report());
            assert_eq!(one.snapshot().expect("a snapshot"), again.snapshot().expect("a snapshot"));
        }
        assert!(in_the_middle > 3, "{unit:?}: {in_the_middle} of the snapshots");
    }
}
