//! Synthetic drives with a mechanism: fitted without it, the residuals point to it; fitted with it,
//! they point to nothing.

use crate::calibration::{Order, calibrate};
use crate::fit::{FREE, FitOptions, Look};
use crate::point::Point;
use crate::read::parse;
use crate::replay::{ReplayOptions, replay};
use ssdtune_model::config::{CacheMode, FlashTechnology};
use ssdtune_model::{DeviceConfig, Nanos};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const READ: &str = "flash.page_read_latency_lsb_ns";

/// 4 channels of 2 dies, pages of 16 KiB; the dies limit small requests, the bus large ones.
fn plain() -> DeviceConfig {
    let mut drive = DeviceConfig::default();
    drive.flash.technology = FlashTechnology::Slc;
    (drive.bus.channels, drive.bus.chips_per_channel, drive.bus.rate_mts) = (4, 2, 400);
    (drive.flash.dies_per_chip, drive.flash.planes_per_die) = (1, 1);
    (drive.flash.blocks_per_plane, drive.flash.pages_per_block) = (128, 64);
    drive.flash.page_bytes = 16_384;
    drive.flash.read_latency = [Nanos(50_000); 4];
    drive.mapping.ideal = true;
    drive.cache.mode = CacheMode::Off;
    (drive.host.queue_depth, drive.host.queue_fetch_size) = (1024, 1024);
    drive
}

/// What a source would measure of a drive: size in KiB, depth, jobs of each point. Each job has a
/// processor.
fn measured(drive: &DeviceConfig, source: &str, loads: &[(u32, u32, u32)]) -> Vec<Point> {
    let row = |(size, depth, jobs): &(u32, u32, u32)| {
        format!("{source},randread,{size}k,{depth},{jobs},1000,1\n")
    };
    let rows: String = loads.iter().map(row).collect();
    let text = format!("source,op,bs,iodepth,numjobs,iops,lat_mean_us\n{rows}");
    let mut points = parse(Path::new("synthetic"), "synthetic", &text).unwrap();
    for point in &mut points {
        let mut drive = drive.clone();
        drive.host.cores = point.numjobs;
        let options = ReplayOptions { requests: 4_000, seed: 99, ..ReplayOptions::default() };
        let drive = drive.check().unwrap();
        point.figures = replay(point, &drive, &options, &AtomicBool::new(false)).unwrap();
    }
    points
}

/// The mechanisms that the residuals point to, with some parameters free and some rigs.
fn hints(base: &DeviceConfig, points: &[Point], free: &[&str], rig: Option<&str>) -> Vec<String> {
    let first = Look { stage_evaluations: 10, ..Look::further(4_000, 1, 60, 0.08) };
    let fit = FitOptions {
        free: FREE.iter().filter(|one| free.contains(&one.key)).copied().collect(),
        axes: vec![],
        looks: vec![first, Look::further(4_000, 1, 60, 0.04)],
        rigs: rig.iter().map(|rule| rule.parse().unwrap()).collect(),
        profiles: false,
        ..FitOptions::default()
    };
    let order = Order { fit, ..Order::default() };
    let found = calibrate(points.to_vec(), base, &order, &AtomicBool::new(false), &|_| {}).unwrap();
    let (text, html) = (found.text().to_string(), found.page().to_html());
    for hint in &found.hints {
        let line = format!("{}: ", hint.mechanism);
        assert!(text.contains(&line) && html.contains(&line), "{text}");
    }
    found.hints.iter().map(|hint| hint.mechanism.to_owned()).collect()
}

/// Fitted without a mechanism and with it.
fn both(name: &str, base: [&DeviceConfig; 2], points: &[Point], more: &str) {
    let without = hints(base[0], points, &[READ], None);
    assert!(without.contains(&name.to_owned()), "{name}: {without:?}");
    let with = match more.split_once('=') {
        Some(_) => hints(base[1], points, &[READ], Some(more)),
        None => hints(base[1], points, &[READ, more], None),
    };
    assert!(with.is_empty(), "{name}: {with:?}");
}

const SMALL: &[(u32, u32, u32)] =
    &[(4, 1, 1), (4, 2, 1), (4, 4, 1), (4, 8, 1), (4, 16, 1), (4, 64, 1)];
const TWO_SIZES: &[(u32, u32, u32)] = &[
    (4, 1, 1),
    (4, 4, 1),
    (4, 16, 1),
    (4, 64, 1),
    (16, 1, 1),
    (16, 4, 1),
    (16, 32, 1),
    (16, 64, 1),
];

#[test]
fn a_rate_of_commands_is_pointed_to() {
    let mut drive = plain();
    drive.controller.core_rate = 90_000;
    let points = measured(&drive, "rig", TWO_SIZES);
    both("command-rate", [&plain(); 2], &points, "controller.core_rate");
}

#[test]
fn a_cap_of_bandwidth_is_pointed_to() {
    let mut drive = plain();
    drive.controller.bandwidth_mbs = 800;
    let points = measured(&drive, "rig", TWO_SIZES);
    both("bandwidth", [&plain(); 2], &points, "controller.bandwidth_mbs");
}

#[test]
fn the_link_of_a_host_is_pointed_to() {
    let mut slow = plain();
    slow.host.pcie_lane_bandwidth_gbps = 0.15;
    let mut points = measured(&plain(), "rig", TWO_SIZES);
    points.extend(measured(&slow, "slow", TWO_SIZES));
    both("link", [&plain(); 2], &points, "source=slow");
}

#[test]
fn the_number_of_dies_is_pointed_to() {
    let mut many = plain();
    (many.bus.channels, many.bus.chips_per_channel) = (8, 8);
    let points = measured(&plain(), "rig", &SMALL[..4]);
    both("dies", [&many, &plain()], &points, "controller.read_time_ns");
}

#[test]
fn the_software_of_a_host_is_pointed_to() {
    let mut slow = plain();
    slow.host.request_time = Nanos(15_000);
    let mut points = measured(&plain(), "rig", SMALL);
    points.extend(measured(&slow, "slow", &SMALL[..3]));
    both("host-time", [&plain(); 2], &points, "source=slow");
}

#[test]
fn a_processor_of_a_host_is_pointed_to() {
    let mut drive = plain();
    drive.host.core_rate = 60_000;
    let loads: Vec<_> = SMALL.iter().copied().chain([(4, 32, 1), (4, 16, 4), (4, 16, 8)]).collect();
    let points = measured(&drive, "rig", &loads);
    both("host-rate", [&plain(); 2], &points, "source=*");
}

#[test]
fn a_fixed_time_is_pointed_to() {
    let mut drive = plain();
    drive.controller.read_time = Nanos(20_000);
    let points = measured(&drive, "rig", TWO_SIZES);
    let without = hints(&plain(), &points, &["controller.core_rate"], None);
    assert!(without.contains(&"fixed-time".to_owned()), "{without:?}");
    assert_eq!(hints(&plain(), &points, &["controller.read_time_ns"], None), [""; 0]);
}

#[test]
fn a_time_for_each_byte_is_pointed_to() {
    let mut drive = plain();
    drive.bus.rate_mts = 150;
    let points = measured(&drive, "rig", TWO_SIZES);
    both("byte-time", [&plain(); 2], &points, "bus.rate_mts");
}

#[test]
fn every_rule_is_documented() {
    let page = include_str!("../../../../../docs/calibration.md");
    for rule in super::RULES {
        assert!(page.contains(&format!("| `{}` |", rule.mechanism)), "{}", rule.mechanism);
    }
}
