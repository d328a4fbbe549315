//! The pass against brute force, and restored windows against full runs.

use super::recency::{LANES, Lane, Recency, depth};
use super::record::{NEVER, Record};
use super::*;
use crate::preparation::{Preparation, Start};
use crate::sampled::{Comparison, NoInterval, WindowTask};
use ssdtune_model::config::Allocation;
use ssdtune_model::{Bytes, CheckedConfig, DeviceConfig, Sectors, presets, scramble};
use ssdtune_sim::{Observe, Replay};
use ssdtune_trace::workload::{Generator, Seed, bundled};
use ssdtune_trace::{Op, TenantId};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Requests for pages of 4 KiB, up to four at a time, half of them writes.
fn requests(count: u64, pages: u64) -> Vec<Request> {
    let request = |nth: u64| {
        let draw = scramble(nth);
        Request {
            at: Nanos(nth * 1_000_000),
            lba: Sectors(8 * (draw % pages)),
            sectors: 8 * (1 + (draw >> 40) as u32 % 4),
            tenant: TenantId(0),
            op: if draw >> 50 & 1 == 0 { Op::Read } else { Op::Write },
        }
    };
    (0..count).map(request).collect()
}

fn sampled(requests: &[Request], options: SampleOptions) -> LivePoints {
    let mut sampler = Sampler::new(options).unwrap();
    requests.iter().for_each(|request| sampler.push(request).unwrap());
    sampler.finish().unwrap()
}

fn pages(request: &Request) -> std::ops::Range<u64> {
    request.lba.0 / 8..request.end().0.div_ceil(8)
}

/// Last use, last write and the write before, as numbers of requests.
type Uses = HashMap<u64, (u32, u32, u32)>;

fn uses(requests: &[Request]) -> Uses {
    let mut uses = Uses::new();
    for (request, now) in requests.iter().zip(0..) {
        for page in pages(request) {
            let (used, written, before) = uses.entry(page).or_insert((NEVER, NEVER, NEVER));
            *used = now;
            if request.op == Op::Write {
                (*before, *written) = (*written, now);
            }
        }
    }
    uses
}

#[test]
fn a_window_knows_what_came_before_each_page_that_it_touches() {
    let all = requests(6_000, 3_000);
    let options =
        SampleOptions { windows: 12, warm_up: 50, measured: 100, ..SampleOptions::default() };
    let points = sampled(&all, options);
    assert!((6..=12).contains(&points.windows.len()), "{}", points.windows.len());
    for window in &points.windows {
        let start = window.start as usize;
        let own = &all[start..start + options.length() as usize];
        assert_eq!(window.requests, own);
        let before = uses(&all[..start]);
        let expected: HashMap<u64, (u32, u32, u32)> = (own.iter().flat_map(pages))
            .map(|page| (page, *before.get(&page).unwrap_or(&(NEVER, NEVER, NEVER))))
            .collect();
        let known = window.before.iter().flat_map(Run::records);
        let known: HashMap<_, _> = known
            .map(|(page, record)| (page, (record.touch, record.write, record.rewrite)))
            .collect();
        assert_eq!(known, expected);
        // Pages used later than some request, by counting them.
        for since in (0..window.start).step_by(97) {
            let later = before.values().filter(|uses| uses.0 > since).count() as f64;
            let told = depth(&window.depths, since, Lane::Touched as usize);
            assert!((told - later).abs() <= 2.0 + 0.05 * later, "{told} instead of {later}");
        }
    }
    let touched: std::collections::BTreeSet<u64> = all.iter().flat_map(pages).collect();
    assert!(points.footprint.iter().eq(touched));
}

#[test]
fn windows_lie_in_strata_and_a_seed_decides_where() {
    let all = requests(40_000, 500);
    let options = |seed| SampleOptions {
        windows: 16,
        warm_up: 50,
        measured: 100,
        seed,
        ..SampleOptions::default()
    };
    let starts = |seed| -> Vec<u32> {
        sampled(&all, options(seed)).windows.iter().map(|window| window.start).collect()
    };
    let (one, other) = (starts(1), starts(2));
    assert_eq!(one, starts(1));
    assert_ne!(one, other);
    // However few are asked for, there are two at least.
    for windows in [2, 3, 4, 5] {
        for count in (2 * u64::from(options(1).length())..4_000).step_by(97) {
            let points = sampled(&all[..count as usize], SampleOptions { windows, ..options(1) });
            assert!((2..=windows).contains(&points.windows.len()), "{windows} of {count}");
        }
    }
    for starts in [&one, &other] {
        let stride = (0..).map(|n| options(1).length() << n).find(|s| 40_000 / s <= 16).unwrap();
        assert!(starts.len() >= 8);
        assert!(starts.iter().zip(0..).all(|(&start, nth)| start / stride == nth), "{starts:?}");
    }
}

#[test]
fn counts_in_joined_buckets_are_those_in_single_ones() {
    let (mut recency, mut records) = (Recency::default(), vec![Record::NONE; 700]);
    let count = 600_000_u32;
    for now in 0..count {
        let record = &mut records[(scramble(now.into()) % 700) as usize];
        let after = match now % 3 {
            0 => record.after_write(now, 1, now / 1_000 * 1_000),
            _ => record.after_read(now, 1),
        };
        recency.moved(record, &after);
        *record = after;
    }
    let depths = recency.depths(count);
    let last = depths.last().unwrap();
    assert_eq!((last.since, last.pages[Lane::Touched as usize]), (0, 700));
    let read = records.iter().filter(|record| record.read_last()).count();
    assert_eq!(last.pages[Lane::Read as usize] as usize, read);
    assert!(last.pages.iter().all(|&pages| pages <= 700) && last.pages.len() == LANES);
    for since in (count - 2_000..count).step_by(111) {
        let later = records.iter().filter(|record| record.touch > since).count() as f64;
        let told = depth(&depths, since, Lane::Touched as usize);
        assert!((told - later).abs() <= 3.0 + 0.1 * later, "{told} instead of {later}");
    }
}

#[test]
fn the_longest_gap_since_a_write_is_known_to_an_eighth() {
    for gap in [1_u32, 2, 7, 100, 1_000, 123_456, 1 << 30] {
        let record = Record::NONE.after_write(5, 1, 0).after_read(6, 1);
        let record = record.after_read(6 + gap, 1).after_read(7 + gap, 1);
        let (told, gap) = (f64::from(record.gap()), f64::from(gap));
        assert!(told <= gap && gap < told * 1.126 + 1.0, "{told} instead of {gap}");
        assert_eq!(record.after_write(u32::MAX - 1, 1, 0).gap(), 1);
    }
}

#[test]
fn what_cannot_be_sampled_says_why() {
    let wrong = |options| Sampler::new(options).err().unwrap().to_string();
    let odd = SampleOptions { page_bytes: 5_000, ..SampleOptions::default() };
    assert!(wrong(odd).starts_with("pages of 5000 bytes"));
    let none = SampleOptions { measured: 0, ..SampleOptions::default() };
    assert!(wrong(none).starts_with("at least two windows"));
    let short = requests(1_000, 10);
    let mut sampler = Sampler::new(SampleOptions::default()).unwrap();
    short.iter().for_each(|request| sampler.push(request).unwrap());
    assert!(sampler.finish().unwrap_err().to_string().starts_with("1000 requests"));
    let little = SampleOptions { memory_bytes: 1_000, ..SampleOptions::default() };
    let mut sampler = Sampler::new(little).unwrap();
    let other = Request { tenant: TenantId(1), ..requests(1, 10)[0] };
    let devices = Sampler::new(SampleOptions::default()).unwrap().push(&other);
    assert!(matches!(devices, Err(LivePointsError::Devices)));
    let wide = Request { sectors: 1 << 20, ..requests(1, 10)[0] };
    let refused = Sampler::new(little).unwrap().push(&wide);
    assert!(matches!(refused, Err(LivePointsError::Memory { most: 1_000, requests: 0 })));
    let error = requests(4_000, 9_000).iter().find_map(|request| sampler.push(request).err());
    assert!(matches!(error, Some(LivePointsError::Memory { most: 1_000, .. })));
}

/// A drive with these sizes of caches in KiB.
fn drive(page_bytes: u32, data: u64, mappings: u64) -> CheckedConfig {
    let mut config = presets::load("intel-750").unwrap();
    config.flash.blocks_per_plane = 128;
    config.flash.page_bytes = page_bytes;
    config.cache.capacity = Bytes(data << 10);
    config.mapping.cmt_capacity = Bytes(mappings << 10);
    config.host.queue_depth = 16;
    config.host.queue_fetch_size = 16;
    config.check().unwrap()
}

/// The short form of `examples/livepoints_bias.rs`, whose figures stand in docs/results: a model on
/// a drive whose caches hold it, and on one whose caches overflow, where more is missed.
#[test]
fn restored_windows_do_what_the_full_run_does() {
    let model = bundled("database").unwrap();
    let source = Generator::new(&model, Seed::default()).unwrap().take(30_000);
    // The model's working set is larger than this drive.
    let fold = |request: Request| Request { lba: Sectors(request.lba.0 % (1 << 19)), ..request };
    let all: Vec<Request> = source.map(fold).collect();
    let options = SampleOptions { windows: 20, ..SampleOptions::default() };
    let points = sampled(&all, options);
    let windows: Vec<usize> = (0..points.windows.len()).collect();
    let preparation = Preparation::of(Start::Footprint, 1);
    for (data, mappings, bound) in [(819_200, 262_144, 0.02), (16_384, 64, 0.08)] {
        let device = drive(4_096, data, mappings);
        let compare = |replay| {
            let (points, device, preparation) = (&points, &device, &preparation);
            let task = WindowTask { points, device, preparation, replay };
            Comparison::of(task, &windows, &all).unwrap()
        };
        let (open, error) = compare(Replay::Open).bias(|window| window.latency_ns);
        assert!(open.abs() < bound + 2.0 * error, "{data}: open: {open:.3} +- {error:.3}");
        let (closed, error) = compare(Replay::Closed(16)).bias(|window| window.span_ns);
        assert!(closed.abs() < bound + 2.0 * error, "{data}: {closed:.3} +- {error:.3}");
    }
    // A drive of another page size is refused.
    let other = drive(8_192, 16_384, 64);
    let refused = Restorer::new(&points, [].into_iter(), &other, preparation, Clock::Trace);
    let refused = refused.err().map(|error| error.to_string());
    assert_eq!(
        refused.as_deref(),
        Some("live-points for pages of 4096 bytes, and the drive has pages of 8192")
    );
}

/// Placement by load leaves pages at their static place while the drive has nothing to do, so also
/// when it is filled. Every eighth page alone is touched, so all lie in an eighth of the planes.
#[test]
fn windows_of_a_drive_that_places_by_load_find_pages_where_the_full_run_has_them() {
    let request = |nth: u64| Request {
        at: Nanos(nth * 8_000),
        lba: Sectors(8 * 8 * (scramble(nth) % 3_000)),
        sectors: 8,
        tenant: TenantId(0),
        op: if nth.is_multiple_of(4) { Op::Write } else { Op::Read },
    };
    let all: Vec<Request> = (0..20_000).map(request).collect();
    let points = sampled(&all, SampleOptions { windows: 20, ..SampleOptions::default() });
    let windows: Vec<usize> = (0..points.windows.len()).collect();
    let mut config = DeviceConfig::clone(&drive(4_096, 64, 262_144));
    config.mapping.allocation = Allocation::Dynamic;
    let (device, preparation) = (config.check().unwrap(), Preparation::of(Start::Footprint, 1));
    let (points, device, preparation) = (&points, &device, &preparation);
    let task = WindowTask { points, device, preparation, replay: Replay::Open };
    let compared = Comparison::of(task, &windows, &all).unwrap();
    let (bias, error) = compared.bias(|window| window.latency_ns);
    assert!(bias.abs() < 0.05 + 2.0 * error, "{bias:.3} +- {error:.3}");
}

/// A closed loop on a drive that programs all the time: how fast it is decides what a second holds,
/// so which pages are written twice in an epoch and stay in the data cache, so how fast it is. Its
/// planes drift apart, so that few programs can be joined.
#[test]
fn windows_of_a_drive_that_programs_all_the_time_take_as_long_as_in_the_full_run() {
    let request = |nth: u64| {
        let pages = 12;
        Request {
            at: Nanos(nth),
            lba: Sectors(8 * pages * (scramble(nth) % 1_500)),
            sectors: 8 * pages as u32,
            tenant: TenantId(0),
            op: Op::Write,
        }
    };
    let all: Vec<Request> = (0..9_000).map(request).collect();
    let options =
        SampleOptions { windows: 40, warm_up: 60, measured: 100, ..SampleOptions::default() };
    let points = sampled(&all, options);
    let windows: Vec<usize> = (0..points.windows.len()).collect();
    let mut config = DeviceConfig::clone(&drive(4_096, 262_144, 4_096));
    (config.bus.channels, config.bus.chips_per_channel) = (4, 1);
    (config.flash.dies_per_chip, config.flash.planes_per_die) = (1, 2);
    config.flash.blocks_per_plane = 1_024;
    let (device, preparation) = (config.check().unwrap(), Preparation::of(Start::Footprint, 1));
    let (points, device, preparation) = (&points, &device, &preparation);
    let replay = Replay::Closed(16);
    let task = WindowTask { points, device, preparation, replay };
    let compared = Comparison::of(task, &windows, &all).unwrap();
    let (bias, error) = compared.bias(|window| window.span_ns);
    assert!(bias.abs() < 0.05 + 2.0 * error, "{bias:.3} +- {error:.3}");
    // By another clock they do not.
    let (every, clock) = (points.windows.iter(), Clock::even(10_000.0));
    let restorer = Restorer::new(points, every, device, preparation.clone(), clock).unwrap();
    let observe = Observe { exact_percentiles: false, completions: true };
    let serve = |window| {
        let mut drive = restorer.drive(window, observe).unwrap();
        super::replay(&mut drive, window, replay).unwrap()
    };
    let restored = points.windows.iter().map(serve).collect();
    let (bias, _) = Comparison { restored, ..compared }.bias(|window| window.span_ns);
    assert!(bias < -0.5, "{bias:.3}");
}

/// A closed loop that writes faster than flash does: it fills the write buffer, which takes longer
/// than a window, and from then on waits for flash.
#[test]
fn windows_of_a_loop_that_fills_a_write_buffer_pay_for_it_and_one_that_does_not_owes_nothing() {
    let request = |nth: u64, read: bool| Request {
        at: Nanos(nth),
        lba: Sectors(8 * (scramble(nth) % 3_000)),
        sectors: 8,
        tenant: TenantId(0),
        op: if read { Op::Read } else { Op::Write },
    };
    let options =
        SampleOptions { windows: 40, warm_up: 60, measured: 100, ..SampleOptions::default() };
    let mut config = DeviceConfig::clone(&drive(4_096, 4_096, 262_144));
    (config.bus.channels, config.bus.chips_per_channel) = (4, 1);
    (config.flash.dies_per_chip, config.flash.planes_per_die) = (2, 1);
    config.flash.blocks_per_plane = 1_024;
    config.cache.write_buffer = Bytes(2 << 20);
    let (device, preparation) = (config.check().unwrap(), Preparation::of(Start::Footprint, 1));
    let compared = |reads: u64| {
        let all: Vec<Request> =
            (0..20_000).map(|nth| request(nth, scramble(nth ^ 1) % 100 < reads)).collect();
        let points = sampled(&all, options);
        let windows: Vec<usize> = (0..points.windows.len()).collect();
        let (points, device, preparation) = (&points, &device, &preparation);
        let task = WindowTask { points, device, preparation, replay: Replay::Closed(16) };
        Comparison::of(task, &windows, &all).unwrap()
    };
    let writes = compared(0);
    let (bias, _) = writes.bias(|window| window.span_ns);
    assert!(bias < -0.2, "{bias:.3}");
    let writes = writes.paid();
    let (bias, error) = writes.bias(|window| window.span_ns);
    assert_eq!(writes.no_interval, Some(NoInterval::WriteBuffer));
    assert!(bias.abs() < 0.1 + 2.0 * error, "{bias:.3} +- {error:.3}");
    // Latencies do not know of it.
    let (bias, _) = writes.bias(|window| window.latency_ns);
    assert!(bias < -0.2, "{bias:.3}");
    let reads = compared(99).paid();
    let (bias, error) = reads.bias(|window| window.span_ns);
    assert_eq!(reads.no_interval, Some(NoInterval::FewWindows));
    assert!(bias.abs() < 0.05 + 2.0 * error, "{bias:.3} +- {error:.3}");
}

/// What the pass keeps, and what drives do with it, to the bit: other ways to compute it are not to
/// change it.
#[test]
fn windows_and_their_runs_are_those_of_before() {
    let all = requests(20_000, 9_000);
    let options =
        SampleOptions { windows: 16, warm_up: 50, measured: 200, ..SampleOptions::default() };
    let mut batched = Sampler::new(options).unwrap();
    all.chunks(1_000).for_each(|batch| batched.push_batch(batch).unwrap());
    let points = batched.finish().unwrap();
    assert_eq!(points, sampled(&all, options));
    let digest = |text: String| crc32fast::hash(text.as_bytes());
    assert_eq!(digest(format!("{:?} {:?}", points.windows, points.course)), 706_975_414);
    let device = drive(4_096, 16_384, 16);
    let mut runs = String::new();
    for start in [Start::Footprint, Start::steady(0.5)] {
        for clock in [Clock::Trace, Clock::even(10_000.0)] {
            let (windows, preparation) = (points.windows.iter(), Preparation::of(start.clone(), 1));
            let restorer = Restorer::new(&points, windows, &device, preparation, clock).unwrap();
            for window in points.windows.iter().step_by(5) {
                let observe = Observe { exact_percentiles: false, completions: true };
                let mut drive = restorer.drive(window, observe).unwrap();
                let _ = write!(runs, "{:?}", replay(&mut drive, window, Replay::Closed(16)));
            }
        }
    }
    let answers = (digest(runs), RESTORED_EPOCH);
    assert_eq!(answers, (3_870_368_899, 5), "raise RESTORED_EPOCH if answers have changed");
}

#[test]
fn features_tell_what_a_window_is_like() {
    let mut all = requests(6_000, 3_000);
    // The second half reads on and on, 8 KiB every 10 us.
    for (nth, request) in all.iter_mut().enumerate().skip(3_000) {
        let at = Nanos(3_000_000_000 + 10_000 * nth as u64);
        let lba = Sectors(16 * nth as u64);
        *request = Request { at, lba, sectors: 16, op: Op::Read, ..*request };
    }
    let options =
        SampleOptions { windows: 8, warm_up: 50, measured: 100, ..SampleOptions::default() };
    let points = sampled(&all, options);
    let (first, last) = (points.windows[0].features(), points.windows.last().unwrap().features());
    assert!((0.3..0.7).contains(&first.read_share) && last.read_share == 1.0);
    assert_eq!((last.mean_bytes, last.sequential_share, last.random_share), (8_192.0, 1.0, 0.0));
    assert!(first.sequential_share < 0.1 && first.random_share > 0.9);
    assert_eq!((first.mean_gap_ns, last.mean_gap_ns), (1e6, 1e4));
    assert_eq!((first.burst_share, last.burst_share), (0.0, 1.0));
    assert_eq!(last.footprint_pages, 2.0 * f64::from(options.length()));
    assert_eq!(last.new_share, 1.0);
    assert!(first.new_share < 1.0 && first.depth_log2 > 1.0);
    assert_eq!(last.vector().len(), Features::COUNT);
}
