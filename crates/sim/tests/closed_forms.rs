//! The simulator against arithmetic: no more bandwidth than the link, the channels or the flash
//! allow, nearly as much as the slowest of them allows under a deep queue, and the waiting time of
//! the M/D/1 queue at a single die.

use crate::drives::{self, Mix, WATCH, fill, run};
use ssdtune_model::config::{Allocation, CacheMode, FlashTechnology};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

fn plain() -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.flash.technology = FlashTechnology::Slc;
    // Room for all writes without collection.
    config.flash.blocks_per_plane = 400;
    config.host.queue_depth = 1024;
    config.host.queue_fetch_size = 1024;
    config
}

/// What each part of the drive can carry, in bytes per nanosecond.
struct Bounds {
    link: f64,
    bus: f64,
    array: f64,
}

fn bounds(config: &DeviceConfig, array_ns: Nanos) -> Bounds {
    let lanes = f64::from(config.host.pcie_lanes) * config.host.pcie_lane_bandwidth_gbps;
    let bus = f64::from(config.bus.rate_mts) / 1000.0 * f64::from(config.bus.width_bytes);
    let geometry = config.geometry();
    Bounds {
        // Each payload of 128 B carries 28 B of overhead.
        link: lanes * 128.0 / 156.0,
        bus: bus * f64::from(config.bus.channels),
        array: (geometry.planes() * u64::from(geometry.page_bytes)) as f64 / array_ns.0 as f64,
    }
}

/// The bandwidth of requests of 16 KiB over the whole drive at queue depth 128, in bytes per
/// nanosecond.
fn bandwidth(config: &DeviceConfig, op: Op) -> f64 {
    let page = config.geometry().sectors_per_page();
    let span = 2_000 * u64::from(page);
    let mut simulator =
        Simulator::new(&config.check().expect("legal"), &[Tenant::sole(config)], WATCH)
            .expect("legal");
    let gap_ns = config.flash.program_latency[0].0 * 2;
    let written = fill(span, page, gap_ns);
    assert_eq!(
        simulator.run(vec![Stream::open(written.into_iter())], |_| true),
        Outcome::Completed
    );
    simulator.take_completions();
    let requests = (0..4_000).map(|i| Request {
        at: Nanos::ZERO,
        lba: Sectors(i * 4 * u64::from(page) % span),
        sectors: 4 * page,
        tenant: TenantId(0),
        op,
    });
    let start = simulator.now();
    assert_eq!(simulator.run(vec![Stream::closed(requests, 128)], |_| true), Outcome::Completed);
    let done = simulator.take_completions();
    let bytes: u64 = done.iter().map(|d| u64::from(d.sectors) * 512).sum();
    let end = done.iter().map(|d| d.completed).max().expect("completions");
    bytes as f64 / (end - start).0 as f64
}

fn check_bandwidth(config: &DeviceConfig, op: Op, at_least: f64) {
    let array = match op {
        Op::Read => config.flash.read_latency[0],
        _ => config.flash.program_latency[0],
    };
    let Bounds { link, bus, array } = bounds(config, array);
    let least = link.min(bus).min(array);
    let got = bandwidth(config, op);
    println!("{op:?}: {got:.4} B/ns of link {link:.4}, bus {bus:.4}, array {array:.4}");
    assert!(got <= least * 1.001, "{got} is beyond {least}");
    assert!(got >= least * at_least, "{got} is far from {least}");
}

#[test]
fn a_slow_link_is_used_up_and_not_exceeded() {
    let mut config = plain();
    config.host.pcie_lane_bandwidth_gbps = 0.02;
    config.flash.program_latency[0] = Nanos(200_000);
    for op in [Op::Read, Op::Write] {
        check_bandwidth(&config, op, 0.95);
    }
}

#[test]
fn slow_channels_are_used_up_and_not_exceeded() {
    let mut config = plain();
    config.bus.rate_mts = 20;
    config.flash.program_latency[0] = Nanos(200_000);
    for op in [Op::Read, Op::Write] {
        check_bandwidth(&config, op, 0.8);
    }
}

#[test]
fn slow_flash_is_used_up_and_not_exceeded() {
    let mut config = plain();
    config.flash.read_latency[0] = Nanos(1_000_000);
    config.flash.program_latency[0] = Nanos(2_000_000);
    for op in [Op::Read, Op::Write] {
        check_bandwidth(&config, op, 0.9);
    }
}

/// Poisson reads at one die. Each takes the same time S, so at load rho they wait rho S / (2 (1 -
/// rho)) on average.
#[test]
fn reads_wait_at_one_die_as_in_an_m_d_1_queue() {
    let mut config = plain();
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    config.host.queue_depth = 65_536;
    config.host.queue_fetch_size = 65_536;
    let pages = 200;
    let unloaded = mean_latency(&config, pages, 200, 1e9);
    // Command, array and ready signal, and 2,048 pairs of transfers at 333 MT/s.
    let service = 290.0 + 75_020.0 + 12_301.0;
    for (load, tolerance) in [(0.3, 0.03), (0.6, 0.03), (0.8, 0.05)] {
        let waits = mean_latency(&config, pages, 120_000, service / load) - unloaded;
        let expected = load * service / (2.0 * (1.0 - load));
        let error = waits / expected - 1.0;
        println!("load {load}: waits {waits:.0} ns, {expected:.0} expected, {error:+.4}");
        assert!(error.abs() < tolerance);
    }
}

fn mean_latency(config: &DeviceConfig, pages: u64, reads: usize, gap_ns: f64) -> f64 {
    let page = config.geometry().sectors_per_page();
    let mut requests = fill(pages * u64::from(page), page, 2_000_000);
    let start = pages * 2_000_000 + 50_000_000;
    let mix = Mix {
        requests: reads,
        seed: 99,
        gap_ns,
        reads: 100,
        trims: 0,
        flushes: 0,
        sectors: pages * u64::from(page),
        align: page,
        pages_max: 1,
    };
    requests.extend(mix.requests(0).into_iter().map(|r| Request { at: r.at + Nanos(start), ..r }));
    let ran = run(config, &requests);
    assert_eq!(ran.outcome, Outcome::Completed);
    assert_eq!(ran.report.unwritten_reads.pages, 0);
    ran.report.total.read.total_latency_ns.expect("reads").mean
}

/// The fastest legal link. Its messages take less than a nanosecond, so a request is in the drive
/// at the instant at which it arrives.
#[test]
fn a_link_may_take_no_time() {
    let mut config = plain();
    config.host.pcie_lane_bandwidth_gbps = 1000.0;
    config.host.pcie_lanes = 64;
    let ran = run(&config, &fill(2_000, 8, 1_000_000));
    assert_eq!(ran.outcome, Outcome::Completed);
    // Command, data and program of one page. A message of 4 KiB takes no time either.
    let bus_ns = (4096u64 * 1000).div_ceil(u64::from(config.bus.rate_mts));
    let expected = 361 + bus_ns + config.flash.program_latency[0].0;
    for done in &ran.completions {
        assert_eq!(done.completed - done.arrived, Nanos(expected));
    }
}

/// Whole pages that are programmed once each: as many bytes as the host wrote.
#[test]
fn writes_of_whole_pages_have_an_amplification_of_one() {
    let config = plain();
    let ran = run(&config, &fill(40 * 8, 8, 2_000_000));
    let amplification = ran.report.write_amplification;
    assert_eq!((amplification.total, amplification.bytes), (1.0, Some(1.0)));
}

/// Writes far apart, one after the other on dies in turn: each die is busy for its programs, and a
/// channel for the transfers to its dies.
#[test]
fn parts_of_a_drive_are_busy_for_as_long_as_their_work_takes() {
    let mut config = plain();
    config.flash.planes_per_die = 1;
    let (writes, gap) = (400, 2_000_000);
    let ran = run(&config, &fill(writes * 8, 8, gap));
    let utilisation = &ran.report.utilisation;
    let whole = (writes * gap) as f64;
    let dies = 4.0 * utilisation.dies.mean * whole;
    let programs = writes as f64 * config.flash.program_latency[0].0 as f64;
    assert!((dies / programs - 1.0).abs() < 0.01, "{dies} {programs}");
    // A page of 4 KiB at the rate of a channel, and commands.
    let transfer = 4_096.0 * 1_000.0 / f64::from(config.bus.rate_mts * config.bus.width_bytes);
    let channels = 2.0 * utilisation.channels.mean * whole / writes as f64;
    assert!((transfer..1.15 * transfer).contains(&channels), "{channels} {transfer}");
    assert!(ran.report.simulation.events >= writes, "{:?}", ran.report.simulation);
}

/// Dynamic allocation: while one of two dies has a long queue of reads, both of two writes go to
/// the other one, though the static place of one of them is on the first.
#[test]
fn dynamic_writes_avoid_the_die_with_the_longer_queue() {
    let mut config = plain();
    config.mapping.allocation = Allocation::Dynamic;
    [config.bus.channels, config.bus.chips_per_channel] = [2, 1];
    config.flash.planes_per_die = 1;
    let mut requests = fill(2 * 8, 8, 2_000_000);
    let at = Nanos(10_000_000);
    let read = Request { at, op: Op::Read, ..requests[0] };
    requests.extend(std::iter::repeat_n(read, 40));
    let late =
        |page: u64| Request { at: at + Nanos(10_000), lba: Sectors(page * 8), ..requests[0] };
    let writes = [late(2), late(3)];
    requests.extend(writes);
    let ran = run(&config, &requests);
    let last = ran.completions.iter().filter(|done| done.lba >= Sectors(16));
    let slowest = last.map(|done| (done.completed - done.arrived).0).max();
    // Two programs one after the other; behind 40 reads one of them would take 4 ms.
    assert!(slowest.is_some_and(|slowest| slowest < 1_600_000), "{slowest:?} ns");
}

/// Dynamic allocation: a request of many pages is spread over all dies, also where one die alone is
/// idle when it comes: 8 pages to 4 dies of one plane, of which three are reading.
#[test]
fn pages_of_one_write_do_not_all_take_the_idlest_die() {
    let took = |allocation| {
        let mut config = plain();
        config.mapping.allocation = allocation;
        [config.bus.channels, config.bus.chips_per_channel] = [4, 1];
        config.flash.planes_per_die = 1;
        let mut requests = fill(4 * 8, 8, 2_000_000);
        let at = Nanos(50_000_000);
        // Pages 0 to 2 are on three of the dies; the fourth is idle.
        let read = |page: u64| Request { at, op: Op::Read, ..requests[page as usize] };
        let reads: Vec<Request> = (0..3).map(read).collect();
        requests.extend(reads);
        let at = at + Nanos(10_000);
        requests.push(Request { at, lba: Sectors(32 * 8), sectors: 8 * 8, ..requests[0] });
        let ran = run(&config, &requests);
        let last = ran.completions.iter().find(|done| done.lba == Sectors(32 * 8)).unwrap();
        (last.completed - last.arrived).0
    };
    let [by_order, by_load] = [Allocation::Static, Allocation::Dynamic].map(took);
    // Two or three programs on each die (a read counts as much as a program), not eight on one.
    assert!(by_load < 2 * by_order, "{by_load} ns, {by_order} ns");
}

/// A write of no sectors has no data to ask the host for, so it takes as long as such a read.
#[test]
fn a_write_of_no_sectors_takes_as_long_as_a_read_of_none() {
    let took = [Op::Write, Op::Read].map(|op| {
        let request =
            Request { at: Nanos::ZERO, lba: Sectors(0), sectors: 0, tenant: TenantId(0), op };
        let ran = run(&plain(), &[request]);
        (ran.completions[0].completed - ran.completions[0].enqueued).0
    });
    assert_eq!(took[0], took[1]);
    assert!(took[0] > 0);
}
