//! Reports of windows against full runs.

use super::*;
use crate::experiment::{Experiment, RunOptions};
use crate::livepoints::{SampleOptions, Sampler};
use crate::preparation::Start;
use crate::source::RequestSource;
use ssdtune_model::presets;
use ssdtune_sim::Report;
use ssdtune_trace::Request;
use ssdtune_trace::workload::{Generator, Seed, bundled};

const REQUESTS: usize = 30_000;

fn database() -> Vec<Request> {
    let model = bundled("database").unwrap();
    Generator::new(&model, Seed::default()).unwrap().take(REQUESTS).collect()
}

fn points(requests: &[Request], windows: usize) -> LivePoints {
    let options =
        SampleOptions { windows, warm_up: 100, measured: 150, ..SampleOptions::default() };
    let mut sampler = Sampler::new(options).unwrap();
    requests.iter().for_each(|request| sampler.push(request).unwrap());
    sampler.finish().unwrap()
}

/// Twelve channels of one chip, without collections; queues for closed loops.
fn device() -> CheckedConfig {
    let mut config = presets::load("intel-750").unwrap();
    (config.bus.channels, config.bus.chips_per_channel) = (12, 1);
    config.host.queue_depth = config.host.queue_depth.max(16);
    config.host.queue_fetch_size = config.host.queue_fetch_size.max(16);
    config.check().unwrap()
}

fn served(points: &LivePoints, windows: &[usize], start: Start, replay: Replay) -> Vec<WindowRun> {
    let (device, preparation) = (device(), Preparation::of(start, 1));
    let task = WindowTask { points, device: &device, preparation: &preparation, replay };
    let stop = AtomicBool::new(false);
    let server = WindowServer::new(task, windows, &stop).unwrap();
    server.serve(windows, &stop, &|_| {}).unwrap()
}

fn whole(requests: &[Request], replay: Replay) -> Report {
    let source = RequestSource::of_requests("whole", requests.to_vec());
    let mut experiment = Experiment::new(&device(), source, replay);
    experiment.preparation = Preparation::of(Start::Footprint, 1);
    let stop = AtomicBool::new(false);
    let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: true };
    experiment.run(&options, &mut []).unwrap()
}

#[test]
fn what_windows_say_is_what_a_whole_run_says() {
    let requests = database();
    let points = points(&requests, 80);
    let every: Vec<usize> = (0..points.windows.len()).collect();
    for replay in [Replay::Open, Replay::Closed(16)] {
        let runs = served(&points, &every, Start::Footprint, replay);
        let told = SampledReport::of(&points, &runs).unwrap();
        let full = whole(&requests, replay);
        assert_eq!(told.no_interval, None);
        let (all, reads) = (&told.latency_ns[0], &told.latency_ns[1]);
        let truth = full.total.all.device_latency_ns.as_ref().unwrap();
        let holds = |own: Estimated, truth: f64| {
            let interval = own.interval.unwrap();
            // What was restored may be 1 % off besides.
            assert!(
                interval.low * 0.99 <= truth && truth <= interval.high * 1.01,
                "{replay}: {truth} is not within {interval:?}"
            );
            assert!(interval.half_width() < 0.25, "{replay}: {interval:?} says nothing");
        };
        holds(all.mean, truth.mean);
        holds(reads.mean, full.total.read.device_latency_ns.as_ref().unwrap().mean);
        holds(told.bandwidth_bytes_per_s, full.total.all.bandwidth_bytes_per_s);
        let p99 = all.percentiles.iter().find(|own| own.0 == "p99").unwrap().1;
        let interval = p99.interval.unwrap();
        assert!(interval.low <= truth.p99 as f64 && truth.p99 as f64 <= interval.high);
        assert!((told.precision().unwrap() - all.mean.interval.unwrap().half_width()).abs() < 1e-9);
        let text = told.text("database", "drive", &replay.to_string()).to_string();
        assert!(text.contains("windows") && text.contains("+-"), "{text}");
    }
}

/// Folded addresses: a request that crosses the end of the drive lies within it in the windows.
#[test]
fn requests_that_cross_the_end_of_a_drive_are_moved_into_it() {
    let device = device();
    let blank = Simulator::new(&device, &[ssdtune_sim::Tenant::sole(&device)], OBSERVE).unwrap();
    let end = blank.address_space(TenantId(0)).sectors_floor().0;
    let one = |n: u64| Request {
        at: ssdtune_model::Nanos(100_000 * n),
        lba: ssdtune_model::Sectors(if n.is_multiple_of(3) { 3 * end - 8 } else { 8 * n }),
        sectors: 32,
        tenant: TenantId(0),
        op: Op::Read,
    };
    let source = RequestSource::of_requests("far", (0..2_000).map(one).collect::<Vec<_>>());
    let source = RequestSource { fit: Some(crate::fit::AddressFit::Wrap), ..source };
    let experiment = Experiment::new(&device, source, Replay::Open);
    let stop = AtomicBool::new(false);
    let options =
        SampleOptions { windows: 4, warm_up: 20, measured: 50, ..SampleOptions::default() };
    let points = experiment.sample(&options, &stop, &|_| {}).unwrap();
    let all = || points.windows.iter().flat_map(|window| &window.requests);
    assert_eq!(all().map(|request| request.end().0).max(), Some(end));
    assert!(all().any(|request| request.lba.0 < 1 << 20));
    experiment.run_sampled(&points, None, &stop, &|_| {}).unwrap();
}

/// A queue so short that requests wait at the host: latencies from their arrival hold that wait, as
/// those of the whole run do.
#[test]
fn latencies_since_arrival_hold_what_requests_wait_at_the_host() {
    let mut requests = database();
    // Forty at once, and then time to serve them.
    let each = (requests.last().unwrap().at.0 + 20_000_000_000) / REQUESTS as u64;
    for (nth, request) in requests.iter_mut().enumerate() {
        request.at = ssdtune_model::Nanos(each * (nth - nth % 40) as u64);
    }
    let points = points(&requests, 80);
    let mut config = (*device()).clone();
    (config.host.queue_depth, config.host.queue_fetch_size) = (4, 4);
    let device = config.check().unwrap();
    let preparation = Preparation::of(Start::Footprint, 1);
    let task = WindowTask {
        points: &points,
        device: &device,
        preparation: &preparation,
        replay: Replay::Open,
    };
    let (stop, every) = (AtomicBool::new(false), (0..points.windows.len()).collect::<Vec<_>>());
    let runs = WindowServer::new(task, &every, &stop).unwrap().serve(&every, &stop, &|_| {});
    let runs = runs.unwrap();
    let mut experiment =
        Experiment::new(&device, RequestSource::of_requests("whole", requests), Replay::Open);
    experiment.preparation = preparation.clone();
    let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
    let full = experiment.run(&options, &mut []).unwrap().total.all;
    let mean = |of: fn(&WindowRun) -> &Latencies| {
        let (sum, count) = runs
            .iter()
            .map(of)
            .fold((0.0, 0), |(sum, count), own| (sum + own.sum(), count + own.len()));
        sum / count as f64
    };
    let (total, inside) =
        (full.total_latency_ns.unwrap().mean, full.device_latency_ns.unwrap().mean);
    assert!(total > 1.5 * inside, "nothing waits: {total} {inside}");
    let (told, told_inside) = (mean(|run| &run.since_arrival), mean(|run| &run.latencies));
    assert!((told / total - 1.0).abs() < 0.1, "{told} {total}");
    assert!((told_inside / inside - 1.0).abs() < 0.1, "{told_inside} {inside}");
    // Bursts are shorter than what warms a window up, and the drive is idle between them.
    assert!(runs.iter().all(|run| !run.waits_from_before));
    let late = WindowRun { waits_from_before: true, ..runs[0].clone() };
    assert!(late.is_late_since_arrival());
}

/// Requests of 100 ns, one at a time in the drive, that come at these times.
#[test]
fn requests_wait_from_before_a_window_if_the_drive_was_not_idle_in_it() {
    let waits = |arrivals: &[u64], measured: std::ops::Range<u64>| {
        let mut free = 0;
        let one = |(number, &at): (usize, &u64)| {
            let enqueued = free.max(at + 5);
            free = enqueued + 100;
            Completion {
                number: number as u64,
                tenant: TenantId(0),
                op: Op::Read,
                lba: ssdtune_model::Sectors(0),
                sectors: 8,
                arrived: ssdtune_model::Nanos(at),
                enqueued: ssdtune_model::Nanos(enqueued),
                completed: ssdtune_model::Nanos(free),
            }
        };
        let mut all: Vec<Completion> = arrivals.iter().enumerate().map(one).collect();
        all.reverse();
        waits_from_before(&all, &measured)
    };
    // All at once: the fourth waits, and others may have come before the first.
    assert!(waits(&[0; 8], 3..6));
    // The first measured request waits for nobody.
    assert!(!waits(&[0, 200, 400, 600, 600, 600], 3..6));
    // It waits behind two that came with it, after 90 ns without work: too few, since the slowest
    // takes 505; after 900 ns whatever waited before is done.
    assert!(waits(&[0, 195, 195, 195, 195, 195], 3..6));
    assert!(!waits(&[0, 1_005, 1_005, 1_005, 1_005], 3..5));
}

#[test]
fn threads_change_nothing_and_windows_of_a_part_are_those_of_all() {
    let points = points(&database(), 48);
    let every: Vec<usize> = (0..points.windows.len()).collect();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let run = |threads, windows: &[usize]| {
        pool(threads).install(|| served(&points, windows, Start::Footprint, Replay::Open))
    };
    let all = run(1, &every);
    assert_eq!(all, run(3, &every));
    let some = run(2, &[1, 5, 9]);
    assert_eq!(some, [1, 5, 9].map(|window| all[window].clone()));
}

#[test]
fn few_windows_and_collections_leave_no_interval() {
    let points = points(&database(), 48);
    let some: Vec<usize> = (0..points.windows.len()).step_by(2).collect();
    let few = served(&points, &some, Start::Footprint, Replay::Open);
    let told = SampledReport::of(&points, &few).unwrap();
    assert_eq!(told.no_interval, Some(NoInterval::FewWindows));
    assert_eq!((told.precision(), told.latency_ns[0].mean.interval), (None, None));
    let text = told.text("database", "drive", "open").to_string();
    assert!(text.contains("no intervals: fewer than 40") && !text.contains("+-"), "{text}");

    let mut collecting = few.clone();
    collecting[0].flash.moved = 1;
    let told = SampledReport::of(&points, &collecting).unwrap();
    assert_eq!(told.no_interval, Some(NoInterval::Collection));
    assert_eq!(SampledReport::of(&points, &[]), None);

    let mut late = few.clone();
    late[0].served.latency_ns = 1e15;
    assert!(late[0].is_late() && !few[0].is_late());
    let waits = WindowRun { waited_ns: 1e15, ..few[0].clone() };
    assert!(waits.is_late() && few[0].waited_ns < 1e6);
    let told = SampledReport::of(&points, &late).unwrap();
    assert_eq!(told.no_interval, Some(NoInterval::Backlog));
}

#[test]
fn short_closed_loops_that_write_pages_again_and_again_leave_no_interval() {
    let mut points = points(&database(), 48);
    let every: Vec<usize> = (0..points.windows.len()).collect();
    let mut runs = served(&points, &every, Start::Footprint, Replay::Closed(16));
    // Programs take all the time, and no page is written twice.
    for (nth, run) in runs.iter_mut().enumerate() {
        run.timed.programs = 1_000.0 * nth as f64;
        run.timed.ns = 1e6 * nth as f64;
    }
    assert!(!seconds_are_few(&points, &runs));
    let last = points.course.marks.last_mut().unwrap();
    last.written = [0, 60_000, 50_000, 40_000, 30_000, 20_000, 10_000, 100_000];
    assert!(seconds_are_few(&points, &runs));
    let told = SampledReport::of(&points, &runs).unwrap();
    assert_eq!(told.no_interval, Some(NoInterval::FewSeconds));
    let in_buffers = |run: &WindowRun| WindowRun { keeps_by_seconds: false, ..run.clone() };
    let in_buffers: Vec<WindowRun> = runs.iter().map(in_buffers).collect();
    assert!(!seconds_are_few(&points, &in_buffers));
    let long = LivePoints { requests: 1 << 40, ..points.clone() };
    assert!(!seconds_are_few(&long, &runs));
    runs.iter_mut().for_each(|run| run.timed.programs = 0.0);
    runs[0].timed.programs = 1.0;
    assert!(!seconds_are_few(&points, &runs));
    runs.iter_mut().for_each(|run| run.replay = Replay::Open);
    assert!(!seconds_are_few(&points, &runs));
}

#[test]
fn closed_loops_that_wait_for_flash_leave_no_interval_and_pay() {
    let points = points(&database(), 80);
    let every: Vec<usize> = (0..points.windows.len()).collect();
    let runs = served(&points, &every, Start::Footprint, Replay::Closed(16));
    assert!(runs.iter().all(|run| run.buffered == Buffered::default()), "no write buffer");
    let told = |runs: &[WindowRun]| SampledReport::of(&points, runs).unwrap();
    let before = told(&runs);
    assert_eq!(before.no_interval, None);
    let buffered = |run: &WindowRun, [before, after]: [f64; 2], drained_ns: f64| {
        let (room, left) = (1_000.0, after);
        let buffered = Buffered { before, after, left, drained_ns, room };
        WindowRun { buffered, ..run.clone() }
    };
    let span = runs.iter().map(|run| run.served.span_ns).sum::<f64>() / runs.len() as f64;
    let with = |held: [f64; 2], drained_ns: f64| -> Vec<WindowRun> {
        runs.iter().map(|run| buffered(run, held, drained_ns)).collect()
    };
    assert_eq!(told(&with([0.0, 400.0], 0.01 * span)), before);
    let full = told(&with([900.0, 900.0], 0.0));
    assert_eq!(full.no_interval, Some(NoInterval::WriteBuffer));
    assert_eq!(full.bandwidth_bytes_per_s.value, before.bandwidth_bytes_per_s.value);
    // What comes in some windows and leaves in others is not owed.
    let (mut come, left) = (with([0.0, 400.0], span), with([400.0, 0.0], 0.0));
    come.iter_mut().zip(left).step_by(2).for_each(|(run, left)| *run = left);
    let gone = told(&come);
    assert_eq!(gone.no_interval, Some(NoInterval::WriteBuffer));
    let off = gone.bandwidth_bytes_per_s.value / before.bandwidth_bytes_per_s.value;
    assert!((off - 1.0).abs() < 0.05, "{off}");
    // Of windows that stand for others, what they stand for counts.
    let rare = |nth: usize| if nth.is_multiple_of(2) { 1.0 } else { 3.0 };
    let dues = Dues::weighted(come.iter().zip((0..).map(rare)));
    let taken = dues.taken_ns(&come[1]) - come[1].served.span_ns;
    assert!((taken / span - 2.0 / 3.0).abs() < 0.02, "{taken} of {span}");
    let owing = told(&with([0.0, 400.0], span));
    assert_eq!(owing.no_interval, Some(NoInterval::WriteBuffer));
    let rates = [&before, &owing].map(|told| told.bandwidth_bytes_per_s.value);
    assert!((rates[0] / rates[1] - 2.0).abs() < 1e-9, "{rates:?}");
    let text = owing.text("database", "drive", "closed:16").to_string();
    assert!(text.contains("fills the drive's write buffer") && !text.contains("+-"), "{text}");
}

#[test]
fn a_stop_ends_it() {
    let points = points(&database(), 48);
    let (device, preparation) = (device(), Preparation::of(Start::Footprint, 1));
    let (points, device, preparation) = (&points, &device, &preparation);
    let task = WindowTask { points, device, preparation, replay: Replay::Open };
    let stop = AtomicBool::new(true);
    let server = WindowServer::new(task, &[0, 1], &stop).unwrap();
    let ended = server.serve(&[0, 1], &stop, &|_| {});
    assert!(matches!(ended, Err(SampledError::Interrupted)));
}

#[test]
fn an_experiment_is_served_until_its_mean_is_known_well_enough() {
    let source = RequestSource::of_requests("database", database());
    let mut experiment = Experiment::new(&device(), source.clone(), Replay::Open);
    experiment.preparation = Preparation::of(Start::Footprint, 1);
    let stop = AtomicBool::new(false);
    let options =
        SampleOptions { windows: 200, warm_up: 50, measured: 50, ..SampleOptions::default() };
    let points = experiment.sample(&options, &stop, &|_| {}).unwrap();
    assert_eq!(points.requests, REQUESTS as u64);
    let run = |precision| experiment.run_sampled(&points, precision, &stop, &|_| {}).unwrap();
    let all = run(None);
    assert_eq!(all.run.windows, points.windows.len());
    let (own, coarse) = (all.precision().unwrap(), run(Some(0.5)));
    assert!(coarse.run.windows < all.run.windows / 2 && coarse.precision().unwrap() <= 0.5);
    let middle = run(Some(1.2 * own));
    assert!(middle.run.windows > coarse.run.windows && middle.precision().unwrap() <= 1.2 * own);
    assert_eq!(run(Some(own / 10.0)), all);

    experiment.flows.push(experiment.flows[0].clone());
    let refused = experiment.sample(&options, &stop, &|_| {}).unwrap_err();
    assert!(refused.to_string().contains("2 flows"), "{refused}");
    let mut empty = Experiment::new(&device(), source, Replay::Open);
    empty.preparation = Preparation::of(Start::Empty, 1);
    let refused = empty.run_sampled(&points, None, &stop, &|_| {}).unwrap_err();
    assert!(refused.to_string().contains("--start empty"), "{refused}");
}
