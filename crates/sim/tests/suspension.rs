//! Suspension with times computed by hand: what a read gains, what the operation that it interrupts
//! loses, and how often that may happen.

use crate::drives::{self, WATCH};
use ssdtune_model::config::{CacheMode, FlashTechnology, SuspensionSupport};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

const READ_COMMAND: u64 = 290;
const READ: u64 = 75_020;
const TRANSFER: u64 = 12_301;
/// The suspend command and the time until the program has halted.
const SUSPEND: u64 = 95 + 100_000;

/// One die of one plane, SLC: reads take 75 us and 20 ns to signal it, programs 750 us; 4 KiB pages
/// at 333 MT/s.
fn one_die(support: SuspensionSupport) -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.flash.technology = FlashTechnology::Slc;
    config.suspension.support = support;
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    config
}

struct Ran {
    write: u64,
    reads: Vec<u64>,
    suspensions: u64,
}

/// Writes page 0, then page 1 at 10 ms, and reads page 0 at the given times after that.
fn run(config: &DeviceConfig, reads_after_ns: &[u64]) -> Ran {
    let request = |at, page: u64, op| Request {
        at: Nanos(at),
        lba: Sectors(page * 8),
        sectors: 8,
        tenant: TenantId(0),
        op,
    };
    let reads = reads_after_ns.iter().map(|after| request(10_000_000 + after, 0, Op::Read));
    let writes = [request(0, 0, Op::Write), request(10_000_000, 1, Op::Write)];
    let mut drive = Simulator::new(&config.check().expect("legal"), &[Tenant::sole(config)], WATCH)
        .expect("legal");
    let stream = Stream::open(writes.into_iter().chain(reads));
    assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
    let mut done = drive.take_completions();
    done.sort_by_key(|done| done.number);
    let latencies: Vec<u64> = done.iter().map(|done| (done.completed - done.arrived).0).collect();
    Ran {
        write: latencies[1],
        reads: latencies[2..].to_vec(),
        suspensions: drive.flash().program_suspensions,
    }
}

#[test]
fn a_read_waits_for_the_halt_only_and_the_program_for_the_read() {
    let none = one_die(SuspensionSupport::None);
    let program = one_die(SuspensionSupport::Program);
    // Long after the write, the read has the die to itself.
    let alone = run(&none, &[5_000_000]);
    let waits = run(&none, &[100_000]);
    let interrupts = run(&program, &[100_000]);
    assert_eq!(interrupts.reads[0], alone.reads[0] + SUSPEND);
    assert_eq!(interrupts.write, alone.write + SUSPEND + READ_COMMAND + READ + TRANSFER);
    assert!(waits.reads[0] > alone.reads[0] + 600_000);
    assert_eq!((waits.suspensions, interrupts.suspensions), (0, 1));
}

#[test]
fn an_operation_that_is_nearly_done_is_not_interrupted() {
    let mut config = one_die(SuspensionSupport::Program);
    let none = run(&one_die(SuspensionSupport::None), &[700_000]);
    let late = run(&config, &[700_000]);
    assert_eq!((late.reads, late.suspensions), (none.reads.clone(), 0));
    config.suspension.program_for_read = Nanos(1_000);
    assert_eq!(run(&config, &[700_000]).suspensions, 1);
}

#[test]
fn an_operation_is_interrupted_only_so_often() {
    let mut config = one_die(SuspensionSupport::Program);
    // Each read comes after the program has gone on after the one before.
    let reads = [50_000, 300_000, 550_000, 800_000];
    for limit in 0..=4 {
        config.suspension.interruptions_max = limit;
        let ran = run(&config, &reads);
        assert_eq!(ran.suspensions, u64::from(limit.min(4)), "limit {limit}");
    }
    config.suspension.interruptions_max = 0;
    let none = run(&one_die(SuspensionSupport::None), &reads);
    assert_eq!(run(&config, &reads).reads, none.reads);
}
