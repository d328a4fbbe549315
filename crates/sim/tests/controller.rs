//! What the controller and the host's software add to a request, against arithmetic: fixed times,
//! processors, the pipeline, the bus inside, and what a channel carries first.

use crate::drives;
use ssdtune_model::config::{BusOrder, CacheMode, CommandTimes, FlashTechnology};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Completion, Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// Four dies of one plane on two channels, SLC, pages of 8 KiB, no data cache.
fn plain() -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.flash.technology = FlashTechnology::Slc;
    config.flash.planes_per_die = 1;
    config.flash.page_bytes = 8192;
    config.flash.blocks_per_plane = 64;
    config
}

const PAGE: u32 = 16;

fn request(at: u64, op: Op, page: u64, sectors: u32) -> Request {
    let lba = Sectors(page * u64::from(PAGE));
    Request { at: Nanos(at), lba, sectors, tenant: TenantId(0), op }
}

fn new(config: &DeviceConfig) -> Simulator {
    drives::new(config, &[Tenant::sole(config)])
}

/// A drive whose first 64 pages hold data, and nothing under way.
fn filled(config: &DeviceConfig) -> Simulator {
    let mut drive = new(config);
    let writes = (0..64).map(|page| request(page * 2_000_000, Op::Write, page, PAGE));
    assert_eq!(drive.run(vec![Stream::open(writes)], |_| true), Outcome::Completed);
    drive.take_completions();
    drive
}

/// Serves requests at their times, counted from a moment at which the link is idle.
fn serve(drive: &mut Simulator, requests: &[Request]) -> Vec<Completion> {
    let start = drive.now() + Nanos(1_000_000);
    requests.iter().for_each(|request| drive.push(Request { at: start + request.at, ..*request }));
    drive.run_to_end();
    drive.check();
    let mut completions = drive.take_completions();
    completions.sort_by_key(|done| done.number);
    completions
}

fn latencies(completions: &[Completion]) -> Vec<u64> {
    completions.iter().map(|done| (done.completed - done.arrived).0).collect()
}

/// Requests that never meet: a read of a page, a read of half a page, a read of three pages, a
/// write.
fn lonely() -> Vec<Request> {
    let shapes = [(Op::Read, PAGE), (Op::Read, 8), (Op::Read, 3 * PAGE), (Op::Write, PAGE)];
    let alone = shapes.into_iter().enumerate();
    alone.map(|(i, (op, n))| request(i as u64 * 10_000_000, op, i as u64 * 8, n)).collect()
}

fn lonely_latencies(config: &DeviceConfig) -> Vec<u64> {
    latencies(&serve(&mut filled(config), &lonely()))
}

#[test]
fn fixed_times_are_added_to_commands_of_their_kind() {
    let base = lonely_latencies(&plain());
    let mut config = plain();
    [config.controller.read_time, config.controller.write_time] = [Nanos(7_000), Nanos(9_000)];
    let added: Vec<u64> =
        base.iter().zip([7_000, 7_000, 7_000, 9_000]).map(|(b, a)| b + a).collect();
    assert_eq!(lonely_latencies(&config), added);
    // The host's software takes its time before the drive hears of the request.
    config.host.request_time = Nanos(3_000);
    let completions = serve(&mut filled(&config), &lonely());
    let later: Vec<u64> = added.iter().map(|latency| latency + 3_000).collect();
    assert_eq!(latencies(&completions), later);
    assert!(completions.iter().all(|done| (done.enqueued - done.arrived) == Nanos(3_000)));
}

#[test]
fn the_pipeline_takes_its_time_for_each_4_kib_of_the_last_page() {
    let base = lonely_latencies(&plain());
    let mut config = plain();
    config.controller.pipeline_time = Nanos(2_500);
    // Three pages come from three dies on two channels; the last one ends last.
    let added: Vec<u64> = base.iter().zip([5_000, 2_500, 5_000, 0]).map(|(b, a)| b + a).collect();
    assert_eq!(lonely_latencies(&config), added);
}

/// Time between completions when 32 reads of pages without data, which cost no flash, are always
/// under way.
fn period(config: &DeviceConfig) -> f64 {
    let mut drive = new(config);
    let reads = (0..4_000).map(|i| request(0, Op::Read, i % 500, 8));
    assert_eq!(drive.run(vec![Stream::closed(reads, 32)], |_| true), Outcome::Completed);
    let done = drive.take_completions();
    let (first, last) = (done[500].completed, done[3_500].completed);
    (last - first).0 as f64 / 3_000.0
}

#[test]
fn processors_take_as_many_commands_as_they_can_and_no_more() {
    assert!(period(&plain()) < 4_000.0, "the link alone is faster than what follows");
    let mut config = plain();
    config.controller.core_rate = 100_000;
    for (cores, expected) in [(1, 10_000.0), (2, 5_000.0)] {
        config.controller.cores = cores;
        assert!((period(&config) - expected).abs() < 1.0, "{}", period(&config));
    }
    let mut config = plain();
    config.host.core_rate = 50_000;
    for (cores, expected) in [(1, 20_000.0), (4, 5_000.0)] {
        config.host.cores = cores;
        assert!((period(&config) - expected).abs() < 1.0, "{}", period(&config));
    }
}

/// The mean time that Poisson arrivals spend at a server with exponential times is
/// 1 / (service rate - arrival rate).
#[test]
fn exponential_times_queue_as_m_m_1() {
    let mut config = plain();
    config.controller.core_rate = 50_000;
    config.controller.core_times = CommandTimes::Exponential;
    let mean = |config: &DeviceConfig, gap_ns: f64| {
        let mix = drives::Mix {
            requests: 200_000,
            seed: 11,
            gap_ns,
            reads: 100,
            trims: 0,
            flushes: 0,
            sectors: 8_000,
            align: 8,
            pages_max: 1,
        };
        let mut drive = new(config);
        let stream = Stream::open(mix.requests(0).into_iter());
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        drive.report().total.read.total_latency_ns.expect("reads").mean
    };
    // Half loaded: 20 us of service make 40 us. The standard error of the mean is about 0.5 %.
    let waited = mean(&config, 40_000.0) - mean(&plain(), 40_000.0);
    assert!((waited - 40_000.0).abs() < 1_000.0, "{waited}");
}

#[test]
fn the_bus_inside_carries_no_more_than_its_bandwidth() {
    let mut config = plain();
    config.controller.bandwidth_mbs = 50;
    for op in [Op::Read, Op::Write] {
        let mut drive = filled(&config);
        let all = (0..2_000).map(|i| request(0, op, i % 64, PAGE));
        assert_eq!(drive.run(vec![Stream::closed(all, 32)], |_| true), Outcome::Completed);
        let done = drive.take_completions();
        let bytes = 1_500.0 * 8192.0;
        let rate = bytes / (done[1_750].completed - done[250].completed).0 as f64 * 1000.0;
        // Four dies read 8 KiB in 75 us each and program them in 750 us: 437 and 43 MB/s.
        let expected = if op == Op::Read { 50.0..50.1 } else { 30.0..44.0 };
        assert!(expected.contains(&rate), "{op:?}: {rate} MB/s");
    }
}

/// Writes of a drive that takes 20 MB/s of them, which its flash could program twice as fast. Reads
/// have no limit, and do not wait for writes.
#[test]
fn a_drive_takes_no_more_writes_than_their_bandwidth() {
    let served = |limit: u32, op: Op| {
        let mut config = plain();
        config.controller.write_bandwidth_mbs = limit;
        let mut drive = filled(&config);
        let all = (0..2_000).map(|i| request(0, op, i % 64, PAGE));
        assert_eq!(drive.run(vec![Stream::closed(all, 32)], |_| true), Outcome::Completed);
        drive.take_completions()
    };
    let done = served(20, Op::Write);
    let bytes = 1_500.0 * 8192.0;
    let rate = bytes / (done[1_750].completed - done[250].completed).0 as f64 * 1000.0;
    assert!((rate - 20.0).abs() < 0.05, "{rate} MB/s");
    let latencies = |limit| -> Vec<Nanos> {
        served(limit, Op::Read).iter().map(|done| done.completed - done.arrived).collect()
    };
    assert!(latencies(20) == latencies(0), "reads take the time that they took");
}

/// One channel, two dies. A read of die 0 is on its way; a second one waits for that die, and one
/// of die 1 has its data ready when the channel is free for the first time. `waits_longest` says
/// which of the two came first.
fn what_goes_first(order: BusOrder, waits_longest: &str) -> &'static str {
    let mut config = plain();
    [config.bus.channels, config.bus.chips_per_channel] = [1, 2];
    config.bus.order = order;
    let mut drive = filled(&config);
    // Pages alternate between the dies.
    let (command, data) = if waits_longest == "command" { (1_000, 2_000) } else { (2_000, 1_000) };
    let mut requests =
        [(0, 0), (command, 2), (data, 1)].map(|(at, page)| request(at, Op::Read, page, PAGE));
    requests.sort_by_key(|request| request.at);
    let done = serve(&mut drive, &requests);
    let of = |page: u64| {
        let lba = Sectors(page * u64::from(PAGE));
        done.iter().find(|done| done.lba == lba).expect("it was read").completed.0
    };
    // 8 KiB at 333 MT/s take 24.6 us, a command takes 0.29 us.
    match of(1) - of(0) {
        24_000..24_800 => "data",
        24_800..25_200 => "command",
        other => panic!("{other} ns between the ends of the first two transfers"),
    }
}

#[test]
fn a_free_channel_carries_what_the_order_says() {
    for waits_longest in ["command", "data"] {
        assert_eq!(what_goes_first(BusOrder::DataFirst, waits_longest), "data");
        assert_eq!(what_goes_first(BusOrder::CommandsFirst, waits_longest), "command");
        assert_eq!(what_goes_first(BusOrder::OldestFirst, waits_longest), waits_longest);
    }
}

/// With data first, dies stand idle behind the transfers of others.
#[test]
fn commands_first_keep_more_dies_busy() {
    let rate = |order| {
        let mut config = plain();
        [config.bus.channels, config.bus.chips_per_channel] = [1, 8];
        config.bus.order = order;
        // Eight dies could fill 96 % of the channel.
        config.flash.read_latency = [Nanos(180_000); 4];
        let mut drive = filled(&config);
        let mut next = 0u64;
        let reads = (0..4_000).map(move |i| {
            next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i | 1);
            request(0, Op::Read, (next >> 40) % 64, PAGE)
        });
        assert_eq!(drive.run(vec![Stream::closed(reads, 32)], |_| true), Outcome::Completed);
        let done = drive.take_completions();
        3_000.0 / (done[3_500].completed - done[500].completed).0 as f64
    };
    let gain = rate(BusOrder::CommandsFirst) / rate(BusOrder::DataFirst);
    assert!(gain > 1.02, "{gain}");
}

/// Nothing of this costs anything where it is off: the events are the same.
#[test]
fn a_controller_that_takes_no_time_is_none() {
    let mut config = plain();
    config.controller.cores = 7;
    config.controller.core_times = CommandTimes::Exponential;
    config.host.cores = 3;
    let run = |config: &DeviceConfig| {
        let mut drive = filled(config);
        (latencies(&serve(&mut drive, &lonely())), drive.events())
    };
    assert_eq!(run(&config), run(&plain()));
}
