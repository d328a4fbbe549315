//! Fits to points that the simulator made: synthetic, so that the truth is known.

use super::*;
use crate::read::parse;
use ssdtune_model::Nanos;
use ssdtune_model::config::CacheMode;
use std::path::Path;

/// 4 channels of 2 dies, one kind of page, a bus that a 4 KiB page takes 10 us of.
fn truth() -> DeviceConfig {
    let mut drive = DeviceConfig::default();
    drive.flash.technology = ssdtune_model::config::FlashTechnology::Slc;
    (drive.bus.channels, drive.bus.chips_per_channel, drive.bus.rate_mts) = (4, 2, 400);
    (drive.flash.dies_per_chip, drive.flash.planes_per_die) = (1, 1);
    (drive.flash.blocks_per_plane, drive.flash.pages_per_block) = (128, 64);
    drive.flash.page_bytes = 4096;
    drive.flash.read_latency = [Nanos(50_000); 4];
    drive.mapping.ideal = true;
    drive.cache.mode = CacheMode::Off;
    (drive.host.queue_depth, drive.host.queue_fetch_size) = (1024, 1024);
    drive
}

/// Synthetic points of a drive at some depths and sizes.
fn synthetic(drive: &DeviceConfig, depths: &[u32], sizes: &[u32]) -> Vec<Point> {
    let rows = sizes.iter().flat_map(|size| {
        depths.iter().map(move |depth| format!("randread,{size}k,{depth},1,1000,1"))
    });
    let rows: Vec<String> = rows.collect();
    let text = format!("op,bs,iodepth,numjobs,iops,lat_mean_us\n{}\n", rows.join("\n"));
    let mut points = parse(Path::new("synthetic"), "synthetic", &text).unwrap();
    let drive = drive.check().unwrap();
    let options = ReplayOptions { requests: 4_000, seed: 99, ..Default::default() };
    for point in &mut points {
        point.figures = replay(point, &drive, &options, &AtomicBool::new(false)).unwrap();
    }
    points
}

const LOOK: Look = Look { stage_evaluations: 12, ..Look::further(2_000, 9, 50, 0.08) };

fn options(keys: &[&str], profiles: bool) -> FitOptions {
    let free = FREE.iter().filter(|free| keys.contains(&free.key)).copied().collect();
    FitOptions { free, axes: vec![], looks: vec![LOOK], profiles, ..FitOptions::default() }
}

fn run(base: &DeviceConfig, points: &[Point], options: &FitOptions) -> Fit {
    let stop = AtomicBool::new(false);
    fit(base, points, options, &Journal::default(), &stop, &|_| {}).unwrap()
}

fn value(fit: &Fit, key: &str) -> f64 {
    match fit.values.iter().find(|value| value.key == key).map(|value| value.value) {
        Some(Value::Int(int)) => int as f64,
        other => panic!("{key} is {other:?}"),
    }
}

/// The objective of a drive with the draws of a fit.
fn objective(drive: &DeviceConfig, points: &[Point]) -> f64 {
    let drive = drive.check().unwrap();
    let options = ReplayOptions { requests: LOOK.requests, seed: 1, ..Default::default() };
    let one = |point: &Point| {
        let figures = replay(point, &drive, &options, &AtomicBool::new(false)).unwrap();
        Errors::of(point, &figures).objective().unwrap()
    };
    points.iter().map(one).sum::<f64>() / points.len() as f64
}

const READ: &str = "flash.page_read_latency_lsb_ns";
const RATE: &str = "bus.rate_mts";

#[test]
fn parameters_of_a_simulated_drive_are_recovered_and_identified() {
    let points = synthetic(&truth(), &[1, 8, 64], &[4, 16]);
    let mut base = truth();
    (base.flash.read_latency, base.bus.rate_mts) = ([Nanos(80_000); 4], 900);
    let fit = run(&base, &points, &options(&[READ, RATE], true));
    let (read, rate) = (value(&fit, READ), value(&fit, RATE));
    assert!((read / 50_000.0 - 1.0).abs() < 0.03, "{read} {fit:?}");
    assert!((rate / 400.0 - 1.0).abs() < 0.05, "{rate} {fit:?}");
    // Other draws than those of the points leave an error at the truth, too.
    let (own, true_one) = (fit.objective, objective(&truth(), &points));
    assert!(own <= true_one + 1e-3, "{own}, and {true_one} at the truth");
    for value in &fit.values {
        assert_eq!(value.is_identified, Some(true), "{fit:?}");
    }
}

/// With one request at a time, what a read takes in the flash and in the controller is one sum.
#[test]
fn what_points_do_not_tell_is_said() {
    let points = synthetic(&truth(), &[1], &[4]);
    let both = [READ, "controller.read_time_ns"];
    let fit = run(&truth(), &points, &options(&both, true));
    assert_eq!(fit.values.len(), 2);
    let open = fit.values.iter().filter(|value| value.is_identified == Some(false));
    assert!(open.count() >= 1, "{:?}", fit.values);
    let sum = value(&fit, both[0]) + value(&fit, both[1]);
    assert!((sum / 50_000.0 - 1.0).abs() < 0.05, "{sum}");
}

#[test]
fn the_right_structure_wins_for_any_number_of_threads_and_after_an_interruption() {
    // One size alone would not tell few dies from a slow bus.
    let points = synthetic(&truth(), &[1, 8, 64], &[4, 16]);
    let mut base = truth();
    base.bus.chips_per_channel = 1;
    let axes =
        vec![Axis { key: "bus.chips_per_channel", values: &["1", "2", "4"], tried: Tried::First }];
    let first = Look { stage_evaluations: 8, ..Look::further(1_000, 9, 20, 0.08) };
    let looks = vec![first, Look::further(2_000, 2, 20, 0.04)];
    let options = FitOptions { axes, looks, ..options(&[READ, RATE], false) };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let fit = one.install(|| run(&base, &points, &options));
    assert_eq!(fit.structure.to_string(), "chips_per_channel=2", "{:?}", fit.rivals);
    // Half of the dies cannot be as fast, and went after the first look.
    let last = fit.rivals.last().unwrap();
    assert_eq!((fit.rivals.len(), last.structure.as_str()), (3, "chips_per_channel=1"));
    assert!(fit.rivals[0].is_equal && !last.is_equal, "{:?}", fit.rivals);
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(three.install(|| run(&base, &points, &options)), fit);

    // Stopped after 30 evaluations, and gone on with.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let inputs = digest(&base, &points, &options);
    let stop = AtomicBool::new(false);
    let journal = Journal::open(&path, &inputs).unwrap();
    let halt = |progress: Progress| stop.store(progress.done >= 30, Ordering::Relaxed);
    let error = super::fit(&base, &points, &options, &journal, &stop, &halt).unwrap_err();
    assert!(matches!(error, FitError::Interrupted));
    let known = std::fs::read_to_string(&path).unwrap().lines().count();
    assert!(known > 20, "{known}");
    let journal = Journal::open(&path, &inputs).unwrap();
    let stop = AtomicBool::new(false);
    let again = super::fit(&base, &points, &options, &journal, &stop, &|_| {}).unwrap();
    assert_eq!(again, fit);
}

/// Two rigs measure one drive: the software of one costs nothing, that of the other 8 us and 10 us
/// of its only processor, which is less than the drive could serve.
#[test]
fn a_rig_is_told_from_the_drive() {
    let mut points = synthetic(&truth(), &[1, 8, 64], &[4]);
    let mut slow = truth();
    (slow.host.request_time, slow.host.core_rate, slow.host.cores) = (Nanos(8_000), 100_000, 1);
    let mut other = synthetic(&slow, &[1, 8, 64, 256], &[4]);
    other.iter_mut().for_each(|point| point.source = "slow".to_owned());
    points.extend(other);
    let mut base = truth();
    base.flash.read_latency = [Nanos(80_000); 4];
    let look = Look { evaluations: 120, ..LOOK };
    let rigs = vec!["source=slow".parse().unwrap()];
    let options = FitOptions { rigs, looks: vec![look], ..options(&[READ], false) };
    let fit = run(&base, &points, &options);
    assert!((value(&fit, READ) / 50_000.0 - 1.0).abs() < 0.03, "{fit:?}");
    assert!((value(&fit, "host.request_time_ns") - 8_000.0).abs() < 1_500.0, "{fit:?}");
    let rate = value(&fit, "host.core_rate");
    assert!((rate / 100_000.0 - 1.0).abs() < 0.05, "{rate} {fit:?}");
    assert_eq!((fit.drive.host.request_time, fit.drive.host.core_rate), (Nanos::ZERO, 0));
    let behind = fit.drive_at(&points[6]);
    assert_eq!(behind.host.core_rate as f64, rate);
    assert_eq!(fit.drive_at(&points[0]), fit.drive);
}

/// A second host in a slot of less bandwidth: large requests take longer there, at any load.
#[test]
fn the_link_of_a_rig_is_told_from_the_drive() {
    let mut points = synthetic(&truth(), &[1, 64], &[4, 16]);
    let mut slow = truth();
    slow.host.pcie_lane_bandwidth_gbps = 0.2;
    let mut other = synthetic(&slow, &[1, 64], &[4, 16]);
    other.iter_mut().for_each(|point| point.source = "slow".to_owned());
    points.extend(other);
    let again = Look::further(2_000, 9, 100, 0.04);
    let looks = vec![LOOK, again];
    let rigs = vec!["source=slow".parse().unwrap()];
    let options = FitOptions { rigs, looks, ..options(&[READ], false) };
    let fit = run(&truth(), &points, &options);
    let link = fit.values.iter().find(|value| value.key == "host.pcie_lane_bandwidth_gbps");
    let Some(Value::Real(link)) = link.map(|value| value.value) else { panic!("{link:?}") };
    assert!((link / 0.2 - 1.0).abs() < 0.05, "{link} {:?}", fit.values);
    let own = truth().host.pcie_lane_bandwidth_gbps;
    assert_eq!(fit.drive.host.pcie_lane_bandwidth_gbps, own);
    // Requests of one size cannot tell it.
    let small: Vec<Point> = points.into_iter().filter(|point| point.block_bytes == 4096).collect();
    let look = Look { evaluations: 20, ..LOOK };
    let fit = run(&truth(), &small, &FitOptions { looks: vec![look], ..options });
    assert!(fit.values.iter().all(|value| !value.key.contains("bandwidth")), "{:?}", fit.values);
}

/// What is tried then begins where the coarse structure ended.
#[test]
fn the_best_structures_are_varied_after_the_first_look() {
    let mut exponential = truth();
    exponential.controller.core_rate = 150_000;
    exponential.controller.core_times = ssdtune_model::config::CommandTimes::Exponential;
    let points = synthetic(&exponential, &[1, 4, 16, 64], &[4]);
    let axes = AXES.iter().filter(|axis| axis.tried == Tried::Then).copied().collect();
    let looks = vec![LOOK, Look { varies: true, ..Look::further(2_000, 9, 50, 0.04) }];
    let own = options(&[READ, "controller.core_rate"], false);
    let options = FitOptions { axes, looks, ..own };
    let fit = run(&truth(), &points, &options);
    assert_eq!(fit.structure.to_string(), "core_times=exponential", "{:?}", fit.rivals);
    assert_eq!(fit.rivals.len(), 2);
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let (stop, journal) = (AtomicBool::new(false), Journal::default());
    let run = |base: &DeviceConfig, points: &[Point]| {
        fit(base, points, &options(&[READ], false), &journal, &stop, &|_| {}).unwrap_err()
    };
    assert!(matches!(run(&truth(), &[]), FitError::NoPoints));
    let points = synthetic(&truth(), &[1], &[4]);
    let mut impossible = truth();
    impossible.gc.threshold = 7.0;
    let error = run(&impossible, &points).to_string();
    assert!(error.contains("gc.threshold"), "{error}");
}
