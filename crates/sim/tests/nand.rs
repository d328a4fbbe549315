//! What chips of this decade do besides, against arithmetic: planes that read for themselves.
//!
//! No measurements of drives with one of these alone are at hand: nothing here is compared with a
//! real drive.

use crate::drives::{self, Mix};
use ssdtune_model::config::{BusOrder, CacheMode, FlashTechnology, GcUnit, SuspensionSupport};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

const READ_COMMAND: u64 = 290;
const READ: u64 = 75_020;
const TRANSFER: u64 = 12_301;
const PROGRAM_COMMAND: u64 = 361;
const PROGRAM: u64 = 750_000;

/// One die, SLC: reads take 75 us and 20 ns to signal it, programs 750 us; 4 KiB pages at 333 MT/s,
/// no data cache. Consecutive pages lie in consecutive planes.
fn one_die(planes: u32) -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.flash.technology = FlashTechnology::Slc;
    config.flash.blocks_per_plane = 64;
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, planes];
    // The link takes 11 ns for a command, and no time for what else it carries.
    config.host.pcie_lane_bandwidth_gbps = 1_000.0;
    config.host.pcie_lanes = 64;
    config.bus.order = BusOrder::CommandsFirst;
    config.flash.independent_plane_reads = true;
    config
}

fn request(at: u64, op: Op, page: u64) -> Request {
    let lba = Sectors(page * 8);
    Request { at: Nanos(at), lba, sectors: 8, tenant: TenantId(0), op }
}

/// A drive whose first pages hold data, and nothing under way.
fn filled(config: &DeviceConfig, pages: u64) -> Simulator {
    let mut drive = drives::new(config, &[Tenant::sole(config)]);
    let writes = (0..pages).map(|page| request(page * 2_000_000, Op::Write, page));
    assert_eq!(drive.run(vec![Stream::open(writes)], |_| true), Outcome::Completed);
    drive.take_completions();
    drive
}

/// When requests end, from the moment from which their times count.
fn ends(drive: &mut Simulator, requests: &[Request]) -> Vec<u64> {
    let start = drive.now() + Nanos(1_000_000);
    requests.iter().for_each(|request| drive.push(Request { at: start + request.at, ..*request }));
    drive.run_to_end();
    drive.check();
    let mut done = drive.take_completions();
    done.sort_by_key(|done| done.number);
    done.iter().map(|done| (done.completed - start).0).collect()
}

/// Reads of pages at random, 64 at once: completions each nanosecond.
fn rate(config: &DeviceConfig) -> f64 {
    let mut drive = filled(config, 64);
    let mix = Mix {
        requests: 12_000,
        seed: 5,
        gap_ns: 1.0,
        reads: 100,
        trims: 0,
        flushes: 0,
        sectors: 512,
        align: 8,
        pages_max: 1,
    };
    let stream = Stream::closed(mix.requests(0).into_iter(), 64);
    assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
    drive.check();
    let done = drive.take_completions();
    let at = |index: usize| done[index].completed.0 as f64;
    10_000.0 / (at(11_000) - at(1_000))
}

#[test]
fn planes_read_at_the_same_time_until_the_channel_is_full() {
    let alone = (READ_COMMAND + READ + TRANSFER) as f64;
    // What a plane waits for the channel, which others use, lowers the rate.
    for (planes, at_least) in [(1, 0.999), (2, 0.95), (4, 0.85)] {
        let share = rate(&one_die(planes)) * alone / f64::from(planes);
        assert!(share > at_least && share < 1.001, "{planes} planes: {share} of their rate");
    }
    // Sixteen planes would need 2.3 channels.
    let share = rate(&one_die(16)) * (READ_COMMAND + TRANSFER) as f64;
    assert!(share > 0.97 && share <= 1.000_1, "{share} of the channel");
    // One command for all planes needs the same page in all of them.
    let mut config = one_die(4);
    config.flash.independent_plane_reads = false;
    let gain = rate(&one_die(4)) / rate(&config);
    assert!(gain > 1.5, "{gain} times the rate of one command at a time");
}

/// Pages 0 and 2 lie in plane 0, page 5 in plane 1.
#[test]
fn a_second_plane_reads_another_page_while_the_first_one_works() {
    let mut drive = filled(&one_die(2), 8);
    let reads = [(0, 0), (10_000, 5), (20_000, 2)].map(|(at, page)| request(at, Op::Read, page));
    let found = ends(&mut drive, &reads);
    let link = found[0] - (READ_COMMAND + READ + TRANSFER);
    let second = 10_000 + READ_COMMAND + READ;
    // The first page leaves until 87.6 us, when the data of the second one are ready, too. The
    // command of the third one goes before them, since plane 0 is free.
    let first = READ_COMMAND + READ + TRANSFER;
    assert!(second < first);
    let third = first + READ_COMMAND + READ + TRANSFER;
    assert_eq!(found, [first, first + READ_COMMAND + TRANSFER, third].map(|end| end + link));
    assert!(link < 50, "{link} ns on the link");
}

const ALONE: u64 = READ_COMMAND + READ + TRANSFER;
const WRITE: u64 = PROGRAM_COMMAND + TRANSFER + PROGRAM;

#[test]
fn reads_go_before_a_program_until_it_has_its_turn() {
    let mut drive = filled(&one_die(2), 8);
    // Three reads of plane 0; while the first is under way, the program comes.
    let reads = [0, 10_000, 20_000].map(|at| request(at, Op::Read, 0));
    let requests = [&reads[..], &[request(30_000, Op::Write, 8)]].concat();
    let found = ends(&mut drive, &requests);
    let link = found[0] - ALONE;
    assert_eq!(found[3], 3 * ALONE + WRITE + link);
    // It is the program's turn when no read waits any more. The read of plane 1 comes later.
    let mut drive = filled(&one_die(2), 8);
    let turn = [(0, Op::Read, 0), (30_000, Op::Write, 8), (40_000, Op::Read, 1)];
    let found = ends(&mut drive, &turn.map(|(at, op, page)| request(at, op, page)));
    assert_eq!(found, [ALONE, ALONE + WRITE, 2 * ALONE + WRITE].map(|end| end + link));
}

#[test]
fn a_read_that_interrupts_a_program_lets_one_follow_in_each_other_plane() {
    let mut config = one_die(2);
    config.suspension.support = SuspensionSupport::Program;
    config.suspension.interruptions_max = 1;
    let mut drive = filled(&config, 8);
    let requests = [(0, Op::Write, 8), (100_000, Op::Read, 0), (101_000, Op::Read, 2)];
    let requests = [&requests[..], &[(102_000, Op::Read, 1)]].concat();
    let requests: Vec<_> =
        requests.into_iter().map(|(at, op, page)| request(at, op, page)).collect();
    let found = ends(&mut drive, &requests);
    // The program halts for 100 us and its command.
    let halt = 100_000 + 95;
    let first = 100_000 + halt + ALONE;
    let link = found[1] - first;
    assert!(link < 50, "{link} ns on the link");
    // The command to plane 1 follows the other one, and so do its data. Then the program goes on.
    assert_eq!(found[3], first + TRANSFER + link);
    assert_eq!(found[0], WRITE + halt + ALONE + TRANSFER + link);
    assert_eq!(found[2], found[0] + ALONE);
}

#[test]
fn planes_that_work_at_once_save_the_idle_power_of_their_die_once() {
    let mut drive = filled(&one_die(2), 8);
    let requests = [request(0, Op::Read, 0), request(30_000, Op::Read, 1)];
    let before = drive.energy();
    let start = drive.now();
    ends(&mut drive, &requests);
    let after = drive.energy();
    let took = (drive.now() - start).0 as f64 * 1e-9;
    // The second read begins 30 us after the first one and works as long.
    let worked = (READ + 30_000) as f64 * 1e-9;
    let idle_w = 12.7e-3;
    let idle_j = after.flash.idle_j - before.flash.idle_j;
    assert!((idle_j - idle_w * (took - worked)).abs() < 1e-12, "{idle_j}");
    let read_j = after.flash.read_j - before.flash.read_j;
    assert!((read_j - 2.0 * 4.9152e-6).abs() < 1e-12, "{read_j}");
}

/// One die, TLC, with a data cache: word lines of three pages take 900 us, whatever their part.
fn word_lines(planes: u32) -> DeviceConfig {
    let mut config = one_die(planes);
    config.flash.independent_plane_reads = false;
    config.cache.mode = CacheMode::Write;
    config.flash.technology = FlashTechnology::Tlc;
    config.flash.one_shot = true;
    [config.flash.blocks_per_plane, config.flash.pages_per_block] = [100, 48];
    config.flash.read_latency = [50_000, 60_000, 70_000, 80_000].map(Nanos);
    config.flash.program_latency = [700_000, 900_000, 800_000, 2_000_000].map(Nanos);
    config
}

/// The time for each page in the middle of a long write in order, with 32 requests at once.
fn time_of_a_page(config: &DeviceConfig) -> f64 {
    let mut drive = drives::new(config, &[Tenant::sole(config)]);
    let stream = Stream::closed((0..2_400).map(|page| request(0, Op::Write, page)), 32);
    assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
    drive.check();
    let done = drive.take_completions();
    (done[2_040].completed - done[600].completed).0 as f64 / 1_440.0
}

#[test]
fn a_command_programs_all_pages_of_a_word_line_in_the_time_of_one() {
    for (unit, planes) in [(GcUnit::Block, 1), (GcUnit::Die, 1), (GcUnit::Die, 2)] {
        let mut config = word_lines(planes);
        config.gc.unit = unit;
        let pages = 3 * u64::from(planes);
        // Each page beyond the first adds 816 ns to the command.
        let command = PROGRAM_COMMAND + 816 * (pages - 1) + pages * TRANSFER;
        let expected = (command + 900_000) as f64 / pages as f64;
        let found = time_of_a_page(&config);
        assert!((found / expected - 1.0).abs() < 1e-3, "{unit} {planes}: {found}, not {expected}");
    }
    // Dies share the channel: four of them program for 900 us while all data go in 150 us.
    let mut config = word_lines(2);
    config.gc.unit = GcUnit::Drive;
    config.bus.chips_per_channel = 4;
    let found = time_of_a_page(&config);
    let alone = (PROGRAM_COMMAND + 816 * 5 + 6 * TRANSFER + 900_000) as f64 / 24.0;
    assert!((found / alone - 1.0).abs() < 0.01, "{found}, not {alone}");
    // A channel of a tenth of the rate is the limit.
    config.bus.rate_mts /= 10;
    let channel = 4096.0 / 33.0 * 1000.0;
    let found = time_of_a_page(&config);
    assert!((found / channel - 1.0).abs() < 0.05, "{found}, not {channel}");
}

#[test]
fn a_part_of_a_word_line_takes_the_time_of_the_whole() {
    let mut config = word_lines(1);
    // Without the cache the host waits for each page.
    config.cache.mode = CacheMode::Off;
    let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
    let alone = ends(&mut drive, &[request(0, Op::Write, 0)])[0];
    let link = alone - (PROGRAM_COMMAND + TRANSFER + 900_000);
    assert!(link < 50, "{link} ns on the link");
    // Of seven pages that come at once the first one finds an idle die and goes alone. The others
    // gather behind it: the last page of that word line, the next one, and two more pages.
    let writes: Vec<Request> = (1..8).map(|page| request(0, Op::Write, page)).collect();
    ends(&mut drive, &writes);
    let flash = drive.flash();
    assert_eq!((flash.pages_programmed_host, flash.programs), (8, 3));
    assert_eq!(flash.programs_multiplane, 2);
}

#[test]
fn a_flush_does_not_wait_for_the_rest_of_a_word_line() {
    let config = word_lines(1);
    let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
    let flush = Request { sectors: 0, ..request(100_000, Op::Flush, 0) };
    let requests = [request(0, Op::Write, 0), request(0, Op::Write, 1), flush];
    let found = ends(&mut drive, &requests);
    assert!(found[1] < 10_000, "{} ns until a cached write is there", found[1]);
    let program = 900_000 + PROGRAM_COMMAND + 816 + 2 * TRANSFER;
    let rest = found[2] - 100_000 - program;
    assert!(rest < 50, "{rest} ns besides the program");
    assert_eq!(drive.flash().programs_multiplane, 1);
}

#[test]
fn the_pages_of_a_word_line_have_a_type_each() {
    let mut config = word_lines(1);
    config.energy.flash_program_nj_per_bit = [5.0, 6.0, 7.0, 8.0];
    let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
    let writes: Vec<Request> = (0..6).map(|page| request(0, Op::Write, page)).collect();
    ends(&mut drive, &writes);
    assert_eq!(drive.flash().programs_multiplane, 2);
    let program = drive.energy().flash.program_by_page_type_j;
    let bits = 4096.0 * 8.0 * 1e-9;
    let found = [program.lsb, program.csb, program.msb, program.tsb].map(|j| j / bits);
    let expected = [10.0, 12.0, 14.0, 0.0];
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-9), "{found:?}");
    // The data have left the cache.
    let reads: Vec<Request> =
        (0..6).map(|page| request(page * 1_000_000, Op::Read, page)).collect();
    let found = ends(&mut drive, &reads);
    let link = found[0] - (READ_COMMAND + 50_020 + TRANSFER);
    let took: Vec<u64> = (0..6).map(|page| found[page] - page as u64 * 1_000_000 - link).collect();
    let array = [50_020, 60_020, 70_020].map(|array| READ_COMMAND + array + TRANSFER);
    assert_eq!(took, [array, array].concat());
}

/// Moved pages of a block meet behind the reads of the victim.
#[test]
fn collection_fills_word_lines_too() {
    for unit in [GcUnit::Block, GcUnit::Die] {
        let mut config = word_lines(2);
        config.gc.unit = unit;
        config.gc.threshold = 0.1;
        config.wear.static_leveling = false;
        let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
        let pages = drive.address_space(TenantId(0)).0 / 4096;
        let mix = Mix {
            requests: 6 * pages as usize,
            seed: 3,
            gap_ns: 1_000_000.0,
            reads: 0,
            trims: 0,
            flushes: 0,
            sectors: pages * 8,
            align: 8,
            pages_max: 1,
        };
        let stream = Stream::open(mix.requests(0).into_iter());
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        drive.check();
        let flash = drive.flash();
        let pages = flash.pages_programmed_host + flash.pages_programmed_moved;
        let commands = flash.programs + flash.programs_multiplane;
        assert!(flash.pages_programmed_moved > pages / 10, "the drive collects");
        let each = pages as f64 / commands as f64;
        assert!(each > 2.7, "{unit}: {each} pages in a command");
    }
}

/// One die of one plane with a write buffer of some pages. A write takes 8 us in the controller.
fn buffered(pages: u64) -> DeviceConfig {
    let mut config = one_die(1);
    config.cache.mode = CacheMode::Write;
    config.cache.write_buffer.0 = pages * 4096;
    // Room for all writes without collection.
    config.flash.blocks_per_plane = 400;
    config.controller.write_time = Nanos(8_000);
    config
}

/// What the DRAM takes for a page: opening a row, and 512 pairs of transfers.
const DRAM: u64 = 26 + 640;

#[test]
fn a_burst_fills_the_buffer_then_waits_for_programs() {
    let mut drive = drives::new(&buffered(10), &[Tenant::sole(&buffered(10))]);
    let writes: Vec<Request> = (0..16).map(|page| request(0, Op::Write, page)).collect();
    let found = ends(&mut drive, &writes);
    let link = found[0] - 8_000 - DRAM;
    assert!(link < 50, "{link} ns on the link");
    for (index, &end) in found.iter().enumerate() {
        // Data go to the DRAM one page after the other, in a nanosecond or so through the link.
        let burst = 8_000 + DRAM * (index as u64 + 1) + link;
        // The eleventh page has room when the first one is programmed.
        let waits = (index as u64).saturating_sub(9) * WRITE;
        let expected = if waits == 0 { burst } else { 8_000 + waits + DRAM + link };
        assert!(end.abs_diff(expected) < 20, "write {index} at {end}, not at {expected}");
    }
}

/// A buffer of one page is a server that takes a program's time: its queue is that of M/D/1.
#[test]
fn poisson_writes_wait_for_a_buffer_of_one_page_as_in_an_m_d_1_queue() {
    let mut config = buffered(1);
    config.flash.blocks_per_plane = 4_000;
    config.host.queue_depth = 65_536;
    config.host.queue_fetch_size = 65_536;
    for load in [0.3, 0.6] {
        let gap_ns = WRITE as f64 / load;
        let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
        let mix = Mix {
            requests: 40_000,
            seed: 41,
            gap_ns,
            reads: 0,
            trims: 0,
            flushes: 0,
            sectors: 8 * 30_000,
            align: 8,
            pages_max: 1,
        };
        let stream = Stream::open(mix.requests(0).into_iter());
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        let mean = drive.report().total.write.total_latency_ns.expect("writes").mean;
        let waits = mean - (8_000 + DRAM) as f64;
        let expected = load * WRITE as f64 / (2.0 * (1.0 - load));
        let error = waits / expected - 1.0;
        assert!(error.abs() < 0.03, "load {load}: {waits} ns, not {expected}");
    }
}

#[test]
fn steady_writes_go_at_the_rate_of_the_flash_whatever_the_buffer() {
    for pages in [4, 64] {
        let found = time_of_a_page(&buffered(pages));
        assert!((found / WRITE as f64 - 1.0).abs() < 1e-3, "{pages} pages: {found}");
    }
}

#[test]
fn the_buffer_serves_reads_until_the_program_has_ended_and_flushes_do_not_wait() {
    let config = buffered(10);
    let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
    let flush = Request { sectors: 0, ..request(50_000, Op::Flush, 0) };
    let read = |at| request(at, Op::Read, 0);
    let again = request(60_000, Op::Write, 0);
    let requests = [request(0, Op::Write, 0), flush, again, read(700_000), read(3_000_000)];
    let found = ends(&mut drive, &requests);
    assert!(found[1] < 50_100, "a flush ended at {}", found[1]);
    assert!(found[3] < 700_000 + DRAM + 50, "a read from the buffer ended at {}", found[3]);
    assert!(found[4] > 3_000_000 + READ, "a read from flash ended at {}", found[4]);
    // Each write is programmed, though the page was still in the buffer.
    assert_eq!((drive.flash().pages_programmed_host, drive.flash().pages_read), (2, 1));
}

/// Four dies on a channel each, with a data cache, that read some pages ahead.
fn ahead(pages: u64) -> DeviceConfig {
    let mut config = one_die(1);
    config.flash.independent_plane_reads = false;
    config.cache.mode = CacheMode::Write;
    config.bus.channels = 4;
    config.cache.read_ahead.0 = pages * 4096;
    config.cache.capacity.0 = 128 * 4096;
    config
}

const DATA: u64 = 400;

/// The time for each page when all data are read in order, one page after the other.
fn time_of_a_read(pages: u64) -> (f64, u64) {
    let config = ahead(pages);
    let mut drive = filled(&config, DATA);
    let reads = (0..DATA).map(|page| request(0, Op::Read, page));
    assert_eq!(drive.run(vec![Stream::closed(reads, 1)], |_| true), Outcome::Completed);
    drive.check();
    let done = drive.take_completions();
    let took = (done[380].completed - done[20].completed).0 as f64 / 360.0;
    (took, drive.flash().pages_read)
}

/// The page that the host waits for and those of the window are on their way, on a die each.
#[test]
fn one_reader_in_order_gets_as_many_dies_as_are_read_ahead() {
    for (pages, dies) in [(0, 1), (1, 2), (2, 3), (3, 4), (8, 4)] {
        let (took, read) = time_of_a_read(pages);
        let expected = ALONE as f64 / f64::from(dies);
        // A page that is here already costs its way out of the DRAM and over the link.
        let error = took / expected - 1.0;
        assert!(error.abs() < 0.01, "{pages} pages ahead: {took} ns a page, not {expected}");
        // Each page is read once, and nothing behind the data.
        assert_eq!(read, DATA, "{pages} pages ahead");
    }
}

#[test]
fn reads_that_do_not_follow_each_other_are_not_read_ahead_of() {
    // Of ten streams that take turns eight are followed, so none is followed when its turn comes.
    let turns = |streams: u64| {
        let at = move |i: u64| (i % streams) * (DATA / streams) + i / streams;
        (0..20 * streams).map(move |i| request(0, Op::Read, at(i)))
    };
    for (streams, dies) in [(8, 4.0), (10, 1.0)] {
        let mut drive = filled(&ahead(8), DATA);
        let stream = Stream::closed(turns(streams), 1);
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        let done = drive.take_completions();
        let count = done.len();
        let late = (done[count - 1].completed - done[count / 2].completed).0 as f64;
        let each = late / (count - 1 - count / 2) as f64;
        let share = ALONE as f64 / each;
        assert!(share >= dies * 0.98, "{streams} streams: a read takes {each} ns");
        assert!(streams == 8 || share < 1.01, "{streams} streams: a read takes {each} ns");
    }
    // Backwards.
    let mut drive = filled(&ahead(8), DATA);
    let reads: Vec<Request> =
        (0..50).map(|i| request(i * 1_000_000, Op::Read, DATA - 1 - i)).collect();
    ends(&mut drive, &reads);
    assert_eq!(drive.flash().pages_read, 50);
}

#[test]
fn what_is_on_its_way_can_be_written_and_trimmed() {
    let mut drive = filled(&ahead(4), DATA);
    // Pages 0 and 1 begin a stream, pages 2 to 5 are asked for and come 75 us later.
    let late = 200_000;
    let requests = [
        request(0, Op::Read, 0),
        request(100_000, Op::Read, 1),
        request(late - 90_000, Op::Write, 2),
        request(late - 89_000, Op::Read, 3),
        request(late - 88_000, Op::Trim, 3),
        request(late - 87_000, Op::Read, 2),
        request(2_000_000, Op::Read, 3),
    ];
    let found = ends(&mut drive, &requests);
    // Its wait for page 3 ended with the trim.
    assert!(found[3] < late - 88_000 + 50, "the read of a trimmed page ended at {}", found[3]);
    assert!(found[5] < late - 87_000 + DRAM + 50, "what was written last ended at {}", found[5]);
    assert!(found[6] < 2_000_000 + 50, "nothing is there");
}
