//! From synthetic points to a drive's file.

use super::*;
use crate::fit::{Axis, FREE, Look, Tried};
use crate::read::parse;
use crate::replay::replay;
use ssdtune_model::document::Document;
use ssdtune_model::{Direction, Nanos, TestedLoad, catalogue, presets};
use std::path::Path;

fn drive() -> DeviceConfig {
    let mut drive = presets::load("intel-750").unwrap();
    (drive.host.queue_depth, drive.host.queue_fetch_size) = (1024, 1024);
    drive.mapping.ideal = true;
    drive.cache.mode = ssdtune_model::config::CacheMode::Off;
    drive
}

/// Synthetic points of a drive whose reads take 50 and 70 us.
fn synthetic() -> Vec<Point> {
    let rows = [1, 2, 4, 8, 16].map(|depth| format!("rig,Made up,randread,4k,{depth},1,1000,1,"));
    let text = format!(
        "source,drive,op,bs,iodepth,numjobs,iops,lat_mean_us,notes\n{}\n\
         rig,Made up,randread,4k,4,1,1000,9000,\nrig,Other,randread,4k,4,1,1000,4000,\n",
        rows.join("\n")
    );
    let mut points = parse(Path::new("synthetic"), "synthetic", &text).unwrap();
    let mut truth = drive();
    truth.flash.read_latency = [50_000, 60_000, 70_000, 0].map(Nanos);
    let truth = truth.check().unwrap();
    let options = ReplayOptions { requests: 3_000, seed: 99, ..ReplayOptions::default() };
    for point in &mut points[..5] {
        point.figures = replay(point, &truth, &options, &AtomicBool::new(false)).unwrap();
    }
    points
}

fn order(drive: Option<&str>) -> Order {
    let looks = vec![Look { stage_evaluations: 10, ..Look::further(1_500, 1, 30, 0.08) }];
    let free = FREE.iter().filter(|free| free.key.contains("page_read_latency")).copied().collect();
    let fit = FitOptions { free, axes: vec![], looks, profiles: false, ..FitOptions::default() };
    Order {
        drive: drive.map(str::to_owned),
        base_name: "intel-750".to_owned(),
        made_by: "a test".to_owned(),
        fit,
        ..Order::default()
    }
}

fn run(order: &Order) -> Result<Calibration, CalibrateError> {
    calibrate(synthetic(), &drive(), order, &AtomicBool::new(false), &|_| {})
}

#[test]
fn a_drive_is_calibrated_and_its_file_says_how_far_it_is_to_be_trusted() {
    let found = run(&order(Some("Made up"))).unwrap();
    assert_eq!((found.fitted.len(), found.held_out.len(), found.refused.len()), (3, 2, 1));
    let held = found.errors.iter().find(|e| e.family.is_none() && e.is_held_out).unwrap();
    assert!(held.mean.unwrap() < 3.0 && held.iops.unwrap() < 3.0, "{held:?}");
    // The drive has two kinds of pages, of 50 and 70 us.
    let mean = [0, 2].map(|page| found.config.flash.read_latency[page].0).iter().sum::<u64>() / 2;
    assert!((57_000..63_000).contains(&mean), "{mean}");
    let text = found.drive_file();
    for part in [
        "# Made up, calibrated by a test.\n# Base: intel-750.\n",
        "# Points: 3 fitted, 2 held out (automatic), 1 refused; sources: rig.\n",
        "# Mean absolute errors, held out: mean ",
        "# Tested range: randread of 4096 B, 1 to 16 outstanding. Outside",
        "# Structure: that of the base.\n",
        "name = \"Made up\"\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let read = Document::parse(&text).unwrap();
    assert_eq!(*read.config(), found.config);
    let provenance = read.provenance().unwrap();
    assert_eq!(*provenance, found.provenance());
    assert_eq!((provenance.points_fitted, provenance.points_held_out), (3, 2));
    assert!(provenance.errors_held_out_percent["mean"] < 3.0);
    let load = TestedLoad {
        direction: Direction::Read,
        sequential: false,
        read_percent: [100.0; 2],
        block_bytes: [4096; 2],
        outstanding: Some([1, 16]),
        offered_iops: None,
    };
    assert_eq!(provenance.tested, [load]);
    let words = found.text().to_string();
    assert!(words.contains("rig randread 4096 B") && words.contains("(little)"), "{words}");
    assert!(serde_json::to_string(&found).unwrap().contains("\"held_out\""));
}

/// The base's file, as a user writes it: sources behind some values, a default that is stated.
const BASE: &str = "# Made up drive: what the fit begins with.
#
# [D] The maker's data sheet.
base = \"intel-750\"
name = \"base\"
[host]
queue_depth = 1024  # [D]
queue_fetch_size = 1024
[cache]
mode = \"off\"
[mapping]
ideal = true  # guess: the whole table is in DRAM
[flash]
page_read_latency_lsb_ns = 50000  # [D]
page_program_latency_lsb_ns = 900000  # [D]
";

#[test]
fn each_row_of_the_file_says_where_its_value_is_from() {
    let document = Document::parse(BASE).unwrap();
    let mut base = document.config().clone();
    catalogue::set(&mut base, "flash.page_program_latency_lsb_ns", "700000").unwrap();
    let mut order = order(Some("Made up"));
    order.fit.axes =
        vec![Axis { key: "bus.chips_per_channel", values: &["5"], tried: Tried::First }];
    (order.base_name, order.base_text) = ("/data/mine/base.toml".to_owned(), Some(BASE.to_owned()));
    let stop = AtomicBool::new(false);
    let found = calibrate(synthetic(), &base, &order, &stop, &|_| {}).unwrap();
    let text = found.drive_file();
    assert!(text.starts_with("# Made up, calibrated by a test.\n# Base: base.toml.\n# [D] The"));
    assert!(!text.contains("/data"), "{text}");
    let (rows, _) = text.split_once("\n[calibration]").unwrap();
    for (key, word) in [
        ("queue_depth", "[D]"),
        ("ideal", "guess: the whole table is in DRAM"),
        ("page_read_latency_lsb_ns", "fitted"),
        // Set to something else than the file says.
        ("page_program_latency_lsb_ns", "guess"),
        ("page_program_latency_msb_ns", "guess"),
        ("chips_per_channel", "fitted: structure"),
        ("dies_per_chip", "dies go one to a chip"),
        ("blocks_per_plane", "by the capacity"),
    ] {
        let row = rows.lines().find(|line| line.starts_with(&format!("{key} = ")));
        let row = row.unwrap_or_else(|| panic!("{key}\n{text}"));
        assert_eq!(row.split_once("  # ").map(|parts| parts.1), Some(word), "{row}");
    }
    for row in rows.lines().filter(|line| line.contains(" = ") && !line.starts_with("name")) {
        assert!(row.contains("  # "), "{row}");
    }
    assert!(rows.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The file reads back as the calibrated drive, and states no parameter without effect.
    let read = Document::parse(&text).unwrap();
    assert_eq!((read.config(), read.provenance()), (&found.config, Some(&found.provenance())));
    assert_eq!(read.config().inert(read.stated().keys().copied()), []);
    let base = base.inert(catalogue::parameters().map(|row| row.key));
    assert!(!base.is_empty(), "the base has rows to leave out");
    // What the fit has tried and what is written does the same.
    let written = read.config().check().unwrap();
    let options = ReplayOptions { requests: 1_500, seed: 1, ..ReplayOptions::default() };
    let again = replay(&found.fitted[1].point, &written, &options, &stop).unwrap();
    assert_eq!(again, found.fitted[1].predicted);
}

#[test]
fn what_the_points_do_not_tell_and_what_was_fitted_to_another_drive_is_said() {
    let mut order = order(Some("Made up"));
    // Everything is within such a noise.
    (order.fit.profiles, order.fit.noise) = (true, 100.0);
    let found = run(&order).unwrap();
    let untold = &found.values[0];
    let (_, key) = untold.key.split_once('.').unwrap();
    let row = format!("{key} = {}  # fitted; the points do not tell it\n", untold.value);
    assert!(found.drive_file().contains(&row), "{}", found.drive_file());
    // The file of a calibrated drive as a base.
    order.fit.free.retain(|free| free.key != untold.key);
    let own = found.drive_file();
    for (base, word) in [
        (own.replace("\ndrive = \"Made up\"", "\ndrive = \"Another\""), "guess"),
        // A drive that is calibrated further keeps what is known of it.
        (own, "fitted; the points do not tell it"),
    ] {
        order.base_text = Some(base);
        let again = calibrate(synthetic(), &found.config, &order, &AtomicBool::new(false), &|_| {});
        let text = again.unwrap().drive_file();
        assert!(text.contains(&format!("{key} = {}  # {word}\n", untold.value)), "{text}");
    }
}

/// A file that says nothing of held-out errors may be read as one that has none.
#[test]
fn a_fit_that_nothing_tests_says_so() {
    let mut order = order(Some("Made up"));
    order.only = Some("iodepth=1".parse().unwrap());
    let found = run(&order).unwrap();
    assert_eq!(found.held_out.len(), 0);
    let (text, file) = (found.text().to_string(), found.drive_file());
    assert!(text.contains("nothing tests this fit. Name points with --hold-out."), "{text}");
    assert!(file.contains("# Nothing was held out, so that nothing tests this fit.\n"), "{file}");
    assert!(file.contains("# Tested range: randread of 4096 B, 1 outstanding."), "{file}");
}

#[test]
fn what_cannot_be_calibrated_is_said() {
    let message = |order: &Order| run(order).unwrap_err().to_string();
    assert!(message(&order(None)).contains("Made up, Other"));
    assert!(message(&order(Some("Mine"))).contains("the points are of: Made up, Other"));
    let mut none = order(Some("Made up"));
    none.hold_out = Some("bs=4k".parse().unwrap());
    assert!(message(&none).contains("holds out every point"));
    let stop = AtomicBool::new(true);
    let stopped = calibrate(synthetic(), &drive(), &order(Some("Made up")), &stop, &|_| {});
    assert!(stopped.unwrap_err().is_interrupted());
    let refused = parse(Path::new("p"), "p", "op,bs,iodepth,iops,notes\nread,4k,1,9,ext4\n");
    let all = calibrate(refused.unwrap(), &drive(), &order(None), &stop, &|_| {}).unwrap_err();
    assert!(all.to_string().contains("1 file-system, as p:2 ("), "{all}");
}

/// Mixes are kept apart from reads alone, rates from depths; a name may be as long as it likes.
#[test]
fn the_file_says_for_each_kind_of_load_what_was_tested() {
    let mut found = run(&order(Some("Made up"))).unwrap();
    found.drive = format!("a\nname {}", "x".repeat(300));
    let more = "op,bs,rwmix_read,iodepth,numjobs,offered_iops,iops,lat_mean_us,notes\n\
                randrw-r,4k,70,8,2,,1000,1,\nrandrw-r,16k,50,4,1,,1000,1,\n\
                open-r,8k,90,,1,40000,1000,1,\nwrite,128k,0,1,1,,1000,1,\n";
    for point in parse(Path::new("p"), "p", more).unwrap() {
        let (predicted, errors) = (point.figures, Errors::default());
        found.held_out.push(Prediction { point, predicted, errors });
    }
    let text = found.drive_file();
    let read = Document::parse(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let tested = &read.provenance().unwrap().tested;
    assert_eq!(tested.len(), 3, "{tested:?}");
    let mix = &tested[1];
    assert_eq!((mix.read_percent, mix.block_bytes), ([50.0, 90.0], [4096, 16_384]));
    assert_eq!((mix.outstanding, mix.offered_iops), (Some([4, 16]), Some([40_000.0; 2])));
    assert!(tested[2].sequential && tested[2].direction == Direction::Write);
}

#[test]
fn the_report_shows_every_point_and_names_nothing_outside() {
    let found = run(&order(Some("Made up"))).unwrap();
    let html = found.page().to_html();
    // Mean, percentile and rate of the only family: three points fitted, two held out, and a sample
    // of each in the legend.
    assert_eq!(html.matches("<svg").count(), 3);
    assert_eq!(html.matches("<circle").count(), 3 * (3 + 1 + 2 + 1));
    for part in [
        "rig randread 4096 B: mean latency",
        "requests outstanding (log scale)",
        "where the fit did not see the measurement (points: 2): mean ",
        "measured, held out",
        "flash.page_read_latency_lsb_ns",
        "(little)",
        "[calibration]",
        "Tested range: randread of 4096 B, 1 to 16 outstanding",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(html.matches("<td>held out</td>").count(), 2 + 2, "errors and points");
    assert!(!html.contains("http") && !html.contains("<script"));
}

/// A small drive of two dies whose reads take 30 us in the controller; 20,000 reads and writes in a
/// second are too much for it.
fn paced() -> DeviceConfig {
    let mut drive = drive();
    (drive.bus.channels, drive.bus.chips_per_channel) = (2, 1);
    (drive.flash.dies_per_chip, drive.flash.planes_per_die) = (1, 1);
    (drive.flash.blocks_per_plane, drive.flash.pages_per_block) = (32, 32);
    drive.mapping.overprovisioning = 0.3;
    drive.flash.program_latency = [Nanos(100_000); 4];
    drive.flash.erase_latency = Nanos(100_000);
    drive.controller.read_time = Nanos(30_000);
    drive
}

#[test]
fn paced_points_are_fitted_and_both_drives_collapse_at_one_load() {
    let row = |(direction, rate): (&str, u32)| {
        format!("rig,Made up,open-{direction},50,4k,8,2,{rate},1,1,\n")
    };
    let rates = [500, 1_000, 2_000, 20_000, 40_000];
    let rows: String =
        rates.iter().flat_map(|rate| ["r", "w"].map(|way| row((way, *rate)))).collect();
    let head =
        "source,drive,op,rwmix_read,bs,iodepth,numjobs,offered_iops,iops,lat_mean_us,notes\n";
    let mut points = parse(Path::new("p"), "p", &format!("{head}{rows}")).unwrap();
    let (truth, stop) = (paced().check().unwrap(), AtomicBool::new(false));
    let options = ReplayOptions { requests: 8_000, seed: 99, ..ReplayOptions::default() };
    let asked: Vec<_> = points.iter().map(|point| (point, truth.clone())).collect();
    let figures = replay_all(&asked, &options, &stop).unwrap();
    points.iter_mut().zip(figures).for_each(|(point, figures)| point.figures = figures);
    let looks = vec![Look::further(4_000, 1, 40, 0.08)];
    let free = FREE.iter().filter(|free| free.key == "controller.read_time_ns").copied().collect();
    let mut base = paced();
    base.controller.read_time = Nanos(5_000);
    let fit = FitOptions { free, axes: vec![], looks, profiles: false, ..FitOptions::default() };
    let found =
        calibrate(points, &base, &Order { fit, ..Order::default() }, &stop, &|_| {}).unwrap();
    let time = found.config.controller.read_time.0;
    assert!((25_000..35_000).contains(&time), "{time}");
    let collapse = &found.collapses[0];
    assert_eq!(collapse.measured.map(|rate| rate.0), Some(20_000.0));
    assert_eq!((collapse.predicted, collapse.steps), (collapse.measured, 0));
    // 500 and 2,000 are fitted, 1,000 is held out.
    let points: Vec<usize> = collapse.reads_below.iter().map(|part| part.points).collect();
    assert_eq!(points, [2, 1]);
    assert!(collapse.reads_below[1].mean.unwrap() < 15.0, "{collapse:?}");
    let text = found.text().to_string();
    assert!(text.contains("less than 98 % is completed") && text.contains("20000/s"), "{text}");
}
