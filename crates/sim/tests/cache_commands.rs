//! Cache commands, read retry and wear, with times computed by hand: one die, one page after the
//! other.

use crate::drives::{self, WATCH};
use ssdtune_model::config::{CacheMode, Compat, FlashTechnology, SuspensionSupport};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Completion, Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// One die of one plane, SLC: reads take 75 us and 20 ns to signal it, programs 750 us; 4 KiB pages
/// at 333 MT/s.
fn one_die() -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.flash.technology = FlashTechnology::Slc;
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    config
}

const READ: u64 = 75_020;
const PROGRAM: u64 = 750_000;
const TRANSFER: u64 = 12_301;
const READ_COMMAND: u64 = 290;
const PROGRAM_COMMAND: u64 = 361;
/// An erase with its command.
const ERASE: u64 = 3_800_220;

fn pages(op: Op, count: u64) -> impl Iterator<Item = Request> {
    (0..count).map(move |page| Request {
        at: Nanos::ZERO,
        lba: Sectors(page * 8),
        sectors: 8,
        tenant: TenantId(0),
        op,
    })
}

/// The completions of writing 64 pages, and of reading them, with eight requests at once.
fn run(config: &DeviceConfig) -> [Vec<Completion>; 2] {
    let drive = || {
        let config = config.check().expect("legal");
        Simulator::new(&config, &[Tenant::sole(&config)], WATCH).expect("legal")
    };
    let closed = |mut drive: Simulator, op| {
        drive.take_completions();
        let stream = Stream::closed(pages(op, 64), 8);
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        drive.take_completions()
    };
    let mut filled = drive();
    let stream = Stream::open(pages(Op::Write, 64));
    assert_eq!(filled.run(vec![stream], |_| true), Outcome::Completed);
    [closed(drive(), Op::Write), closed(filled, Op::Read)]
}

/// The time between completions in the middle of a run, which must always be the same.
#[track_caller]
fn period(completions: &[Completion]) -> u64 {
    let middle: Vec<u64> = completions[8..56].iter().map(|done| done.completed.0).collect();
    let periods: Vec<u64> = middle.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(periods.iter().all(|&period| period == periods[0]), "{periods:?}");
    periods[0]
}

#[test]
fn without_cache_commands_a_page_takes_all_its_parts() {
    let [writes, reads] = run(&one_die());
    assert_eq!(period(&writes), PROGRAM_COMMAND + TRANSFER + PROGRAM);
    assert_eq!(period(&reads), READ_COMMAND + READ + TRANSFER);
}

#[test]
fn cache_reads_hide_the_shorter_of_transfer_and_array_read() {
    let mut config = one_die();
    config.flash.cache_read = true;
    let [writes, reads] = run(&config);
    assert_eq!(period(&writes), PROGRAM_COMMAND + TRANSFER + PROGRAM);
    assert_eq!(period(&reads), READ_COMMAND + 3_000 + READ);
    // 4 KiB at 20 MT/s take 204.8 us, so now the channel is never idle.
    config.bus.rate_mts = 20;
    let [_, reads] = run(&config);
    assert_eq!(period(&reads), READ_COMMAND + 204_800);
}

#[test]
fn cache_programs_hide_the_shorter_of_transfer_and_program() {
    let mut config = one_die();
    config.flash.cache_program = true;
    let [writes, reads] = run(&config);
    assert_eq!(period(&writes), 3_000 + PROGRAM);
    assert_eq!(period(&reads), READ_COMMAND + READ + TRANSFER);
    // 4 KiB at 4 MT/s take 1.024 ms.
    config.bus.rate_mts = 4;
    let [writes, _] = run(&config);
    assert_eq!(period(&writes), PROGRAM_COMMAND + 1_024_000);
}

#[test]
fn a_single_request_gains_nothing_and_loses_nothing() {
    let mut plain = one_die();
    plain.suspension.support = SuspensionSupport::ProgramErase;
    let mut cached = plain.clone();
    [cached.flash.cache_read, cached.flash.cache_program] = [true, true];
    let alone = |config: &DeviceConfig| {
        let mut drive =
            Simulator::new(&config.check().expect("legal"), &[Tenant::sole(config)], WATCH)
                .expect("legal");
        let apart = pages(Op::Write, 20).chain(pages(Op::Read, 20)).enumerate();
        let apart = apart
            .map(|(index, request)| Request { at: Nanos(index as u64 * 5_000_000), ..request });
        assert_eq!(drive.run(vec![Stream::open(apart)], |_| true), Outcome::Completed);
        drive.take_completions()
    };
    assert_eq!(alone(&plain), alone(&cached));
}

/// A read that waits keeps further programs from being loaded, so it is next.
#[test]
fn reads_go_before_programs_that_could_be_loaded() {
    let mut config = one_die();
    config.flash.cache_program = true;
    let mut drive =
        Simulator::new(&config.check().expect("legal"), &[Tenant::sole(&config)], WATCH)
            .expect("legal");
    // Enough for the drive to hold page 0.
    assert_eq!(drive.run(vec![Stream::open(pages(Op::Write, 1))], |_| true), Outcome::Completed);
    let start = drive.now() + Nanos(1_000_000);
    let write = |page: u64| Request {
        at: start,
        lba: Sectors(page * 8),
        sectors: 8,
        tenant: TenantId(0),
        op: Op::Write,
    };
    let mut requests: Vec<Request> = (1..6).map(write).collect();
    // While the first write is being programmed and the second one is loaded.
    requests.push(Request { at: start + Nanos(400_000), op: Op::Read, ..write(0) });
    drive.take_completions();
    assert_eq!(drive.run(vec![Stream::open(requests.into_iter())], |_| true), Outcome::Completed);
    let order: Vec<Op> = drive.take_completions().iter().map(|done| done.op).collect();
    assert_eq!(order, [Op::Write, Op::Write, Op::Read, Op::Write, Op::Write, Op::Write]);
}

#[test]
fn mqsims_chips_have_no_cache_commands() {
    let mut config = one_die();
    config.compat = Compat { chip_idle_batches: true, ..Compat::default() };
    let before = run(&config);
    [config.flash.cache_read, config.flash.cache_program] = [true, true];
    assert_eq!(run(&config), before);
}

#[test]
fn a_read_takes_the_array_once_for_each_attempt() {
    let mut config = one_die();
    config.ageing.retry_probability = 1.0;
    config.ageing.retries_max = 3;
    let [writes, reads] = run(&config);
    assert_eq!(period(&writes), PROGRAM_COMMAND + TRANSFER + PROGRAM);
    assert_eq!(period(&reads), READ_COMMAND + 4 * READ + TRANSFER);
    config.ageing.retries_max = 0;
    assert_eq!(run(&config), run(&one_die()));
}

/// All 24 blocks are used before one is used again, after one erase. Then its times have grown. A
/// write that opens a block may have to wait for the erase of another block.
#[test]
fn worn_blocks_have_other_times() {
    let mut config = one_die();
    config.ageing.read_growth_per_1000_cycles = 100.0;
    config.ageing.program_growth_per_1000_cycles = 200.0;
    let mut drive =
        Simulator::new(&config.check().expect("legal"), &[Tenant::sole(&config)], WATCH)
            .expect("legal");
    // 32 pages again and again, each alone; 16 pages are a block.
    let ask = |drive: &mut Simulator, op, page: u64| {
        drive.push(Request {
            at: drive.now(),
            lba: Sectors(page * 8),
            sectors: 8,
            tenant: TenantId(0),
            op,
        });
        drive.run_until(drive.now() + Nanos::from_ms(10));
        let done = drive.take_completions()[0];
        (done.completed - done.arrived).0
    };
    let fresh = [ask(&mut drive, Op::Write, 0), ask(&mut drive, Op::Read, 0)];
    let mut number = 1;
    let mut write = |drive: &mut Simulator| {
        number += 1;
        ask(drive, Op::Write, (number - 1) % 32)
    };
    for _ in 1..24 * 16 {
        assert_eq!(write(&mut drive) % ERASE, fresh[0]);
    }
    // After one erase: 20 % more for the program and 10 % more for the array read.
    for _ in 0..16 {
        assert_eq!(write(&mut drive) % ERASE, fresh[0] + PROGRAM / 5);
    }
    assert_eq!(ask(&mut drive, Op::Read, 0), fresh[1] + READ / 10);
}
