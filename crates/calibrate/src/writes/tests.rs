//! Runs of a drive that is known.

use super::age::{Replay, Timed};
use super::*;
use crate::read::read;
use crate::run::{Fall, MIB, Sample};
use crate::split::Expression;
use ssdtune_model::Nanos;
use ssdtune_model::config::{CacheMode, GcUnit};
use ssdtune_model::document::Document;
use ssdtune_model::presets;
use std::fmt::Write as _;
use std::path::PathBuf;

const UNTIMED: Sizes = Sizes { timed: None, ..SIZES };

/// A drive of 64 dies, collected in superblocks.
fn drive(spare: f64) -> DeviceConfig {
    let mut drive = presets::load("intel-750").unwrap();
    drive.mapping.ideal = true;
    drive.gc.unit = GcUnit::Drive;
    (drive.gc.threshold, drive.gc.hard_threshold) = (0.02, 0.005);
    drive.wear.static_leveling = false;
    drive.flash.blocks_per_plane = 200;
    drive.mapping.overprovisioning = spare;
    drive
}

/// Runs over shares of the drive, in percent: made up.
fn runs(patterns: &[(&str, u64)], passes: f64) -> Vec<Run> {
    let visible = Ledger::of(&drive(0.25)).visible_bytes.0;
    let mut text = "source,run,pattern,details,span_gib,bs,run_s,write_mb_s,wa\n".to_owned();
    for (nth, (pattern, percent)) in patterns.iter().enumerate() {
        let span = visible as f64 * *percent as f64 / 100.0;
        let (gib, mega) = (span / f64::from(1 << 30), passes * span / MIB);
        let (name, details) = pattern.split_once(' ').unwrap_or((pattern, ""));
        writeln!(text, "rig,{nth:03},{name},{details},{gib},4k,1,{mega},1").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.csv");
    std::fs::write(&file, text).unwrap();
    read(&[file]).unwrap().runs
}

/// How runs are replayed without time.
fn replay(visible: u64, stop: &AtomicBool) -> Replay<'_> {
    let starts = Starts::default();
    Replay { visible, starts, timed: None, fewer: 1, seed: 1, stop }
}

fn amplifications(spare: f64, units: u64, runs: &[Run], rule: Option<&str>, seed: u64) -> Vec<f64> {
    let base = drive(0.25);
    let small = age::small(&base, spare, units, 1).check().unwrap();
    let visible = Ledger::of(&base).visible_bytes.0;
    let rule: Option<Expression> = rule.map(|rule| rule.parse().unwrap());
    let stop = AtomicBool::new(false);
    let starts = Starts { sanitised: rule.as_ref(), filled: None };
    let replay = Replay { starts, seed, ..replay(visible, &stop) };
    let all = replay.age(&small, runs, 0, |_| true).unwrap();
    all.into_iter().filter_map(|one| one.amplification).collect()
}

const SPANS: [(&str, u64); 8] = [
    ("sequential", 60),
    ("uniform", 60),
    ("sequential", 80),
    ("uniform", 80),
    ("sequential", 100),
    ("uniform", 100),
    ("sequential", 100),
    ("zipf-shuffle 0.8", 100),
];

/// What the runs would have cost a drive with another spare share, which writes 4 % beside.
fn measured(rule: Option<&str>, passes: f64) -> Vec<Run> {
    let mut runs = runs(&SPANS, passes);
    let truth = amplifications(0.31, 1 << 19, &runs, rule, 77);
    for (run, own) in runs.iter_mut().zip(truth) {
        run.write_amplification = Some(1.04 * own);
    }
    runs
}

fn calibrated(sanitised: Option<&str>, runs: Vec<Run>) -> WriteCalibration {
    let order = Order {
        base_name: "made up".to_owned(),
        made_by: "a test".to_owned(),
        sanitised: sanitised.map(|rule| rule.parse().unwrap()),
        ..Order::default()
    };
    let stop = AtomicBool::new(false);
    calibrate_sized(runs, &drive(0.25), &order, &UNTIMED, &stop, &|_| {}).unwrap()
}

#[test]
fn the_spare_capacity_of_a_known_drive_is_found_and_predicts_what_was_held_out() {
    let rule = "pattern=sequential";
    let found = calibrated(Some(rule), measured(Some(rule), 2.0));
    let spare = found.config.mapping.overprovisioning;
    assert!((spare / 0.31 - 1.0).abs() < 0.01, "{spare}");
    assert!((found.overhead - 1.04).abs() < 1e-3, "{}", found.overhead);
    let held: Vec<_> = found.errors.iter().filter(|one| one.is_held_out).collect();
    assert!(!held.is_empty() && held.iter().all(|one| one.error.unwrap() < 1.0), "{held:?}");
    assert!(!found.text().to_string().contains("--sanitised"));
    // The host sees as much as before, and the file is the drive.
    let visible = Ledger::of(&drive(0.25)).visible_bytes.0;
    assert!(found.visible_bytes.abs_diff(visible) < visible / 10_000);
    let document = Document::parse(&found.drive_file()).unwrap();
    assert_eq!(*document.config(), found.config);
    assert_eq!(document.config().inert(document.stated().keys().copied()), []);
    assert_eq!(found.provenance().points_held_out, 3);
}

#[test]
fn runs_begin_with_what_the_one_before_left_unless_the_drive_was_sanitised() {
    let runs = runs(&[("uniform", 100), ("sequential", 100)], 1.0);
    let [_, after] = amplifications(0.1, 1 << 17, &runs, None, 1)[..] else { panic!() };
    assert!(after > 1.05, "{after}");
    let [_, alone] = amplifications(0.1, 1 << 17, &runs, Some("run=001"), 1)[..] else { panic!() };
    assert_eq!(alone, 1.0);
    let found = calibrated(None, measured(Some("pattern=sequential"), 1.0));
    assert!(found.text().to_string().contains("--sanitised 'pattern=sequential'"));
}

#[test]
fn a_smaller_drive_has_the_same_write_amplification() {
    let runs = runs(&SPANS, 2.0);
    let of = |units: u64| amplifications(0.2, units, &runs, None, 5);
    let (small, large) = (of(1 << 18), of(1 << 20));
    for (small, large) in small.iter().zip(&large) {
        assert!((small / large - 1.0).abs() < 0.01, "{small} {large}");
    }
    assert!(large.iter().any(|one| *one > 2.0), "{large:?}");
}

#[test]
fn ends_are_fitted_and_other_patterns_test_the_fit() {
    let all = [&SPANS[..], &[("fiozipf-shuffle x", 50), ("sequential-shuffle", 100)]].concat();
    let held = automatic(&runs(&all, 1.0));
    assert_eq!(held, [false, false, true, true, false, false, false, true, true, true]);
    let repeats = automatic(&runs(&[("uniform", 100), ("uniform", 100)], 1.0));
    assert_eq!(repeats, [false, true]);
}

#[test]
fn what_runs_do_not_tell_is_the_bases() {
    let header = |runs: &[usize]| {
        let all = measured(None, 1.0);
        let found = calibrated(None, runs.iter().map(|at| all[*at].clone()).collect());
        (found.header().join("\n"), found.drive_file())
    };
    let (in_order, file) = header(&[0]);
    assert!(in_order.contains("writes calibrated by a test.\nBase: made up.\n"), "{in_order}");
    assert!(in_order.contains("The base's, since no fitted run of random writes"), "{in_order}");
    assert!(in_order.contains("the drive writes 1.0400 times"), "{in_order}");
    assert!(in_order.contains("fitted: write amplification 0.0 %, of 1 run."), "{in_order}");
    assert!(in_order.ends_with("the base's, or the catalogue's default."), "{in_order}");
    assert!(!file.contains("fitted: the raw capacity"), "{file}");
    let (random, file) = header(&[1]);
    assert!(random.contains("spare capacity calibrated by a test.\n"), "{random}");
    assert!(random.contains("Fitted: raw capacity ") && !random.contains("The base's, since"));
    assert!(random.contains("Assumed, since no fitted run in order tells it"), "{random}");
    assert!(file.contains("fitted: the raw capacity"), "{file}");
}

#[test]
fn patterns_that_are_not_known_are_listed_and_not_replayed() {
    let mut runs = measured(None, 1.0);
    runs.truncate(2);
    runs.push(Run { run: "900".to_owned(), ..runs[1].clone() });
    runs[2].pattern = crate::run::Pattern::new("fiozipf-shuffle", "0.8").unwrap();
    let found = calibrated(None, runs);
    assert_eq!(found.runs[2].predicted, None);
    assert!(found.text().to_string().contains("fiozipf-shuffle 0.8"));
    assert!(found.header().iter().any(|line| line.contains("1 not replayed")));
}

/// Measured figures: errors alone stand here.
#[test]
fn a_real_drives_write_amplification_is_predicted_from_other_spans() {
    let Some(folder) = std::env::var_os("SSDTUNE_SHARED").map(PathBuf::from) else {
        println!("skipped: SSDTUNE_SHARED names no folder of measurements");
        return;
    };
    let file = folder.join("realdrives/write-amplification.csv");
    if !file.exists() {
        println!("skipped: {} is absent", file.display());
        return;
    }
    let found = read(&[file]).unwrap();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs/bases");
    let base = root.join("micron-7450-max-800gb.toml");
    let base = ssdtune_model::source::load(base.to_str().unwrap(), &[]).unwrap().config;
    let order = Order {
        drive: Some("Micron 7450 MAX 800GB".to_owned()),
        only: Some("source=ssdiq/finalop02b".parse().unwrap()),
        // One span tells the spare capacity, all others test it.
        hold_out: Some("pattern=uniform & span_gib!=745 | run=2024-09-06*".parse().unwrap()),
        sanitised: Some("pattern=sequential".parse().unwrap()),
        ..Order::default()
    };
    let stop = AtomicBool::new(false);
    let found = calibrate_sized(found.runs, &base, &order, &UNTIMED, &stop, &|_| {}).unwrap();
    for one in found.errors.iter().filter(|one| one.is_held_out) {
        println!("{one}");
        assert!(one.error.unwrap() < 3.0, "{one:?}");
    }
    assert_eq!(found.errors.iter().filter(|one| one.is_held_out).count(), 3);
}

/// A drive of few and short blocks that is known, and what it does in some runs over all of it:
/// write amplification and throughput; or throughput alone, in samples of a 20th of the time of a
/// sequential pass.
fn known(patterns: &[(&str, u64)], with_series: bool) -> (DeviceConfig, Vec<Run>) {
    known_behind(None, patterns, with_series)
}

/// That drive behind a host that sends this part of the writes that it takes in order.
fn known_behind(
    host: Option<f64>,
    patterns: &[(&str, u64)],
    with_series: bool,
) -> (DeviceConfig, Vec<Run>) {
    let mut base = drive(0.3);
    [base.bus.channels, base.bus.chips_per_channel] = [2, 2];
    base.flash.blocks_per_plane = if with_series { 240 } else { 60 };
    base.gc.paced = true;
    base.cache.mode = CacheMode::Write;
    base.cache.write_buffer = base.cache.capacity;
    let visible = Ledger::of(&base).visible_bytes.0;
    let mut known = runs(patterns, 2.0);
    for run in &mut known {
        run.span_bytes = visible;
        run.seconds = Some(2.0 * visible as f64 / MIB);
        run.mib_per_second = Some(1.0);
    }
    let stop = AtomicBool::new(false);
    let rule: Expression = "pattern=sequential".parse().unwrap();
    let starts = Starts { sanitised: Some(&rule), filled: None };
    let timed = Some(if with_series { Timed::All } else { Timed::End });
    let replay = Replay { starts, timed, seed: 77, ..replay(visible, &stop) };
    let mut small = age::small(&base, 0.3, 1 << 14, 12);
    let alone = small.check().unwrap();
    let rate = replay.age(&alone, &known[..1], 0, |_| true).unwrap()[0].mib_per_second.unwrap();
    if let Some(part) = host {
        small.host.core_rate = (part * rate * 256.0) as u64;
    }
    let small = small.check().unwrap();
    for run in known.iter_mut().filter(|_| with_series) {
        let sample = |nth: u32| Sample {
            seconds: visible as f64 / MIB / rate / 20.0 * f64::from(nth),
            mib_per_second: rate / 3.0,
        };
        run.samples = (1..=150).map(sample).collect();
    }
    let real = replay.age(&small, &known, 0, |_| true).unwrap();
    for (run, real) in known.iter_mut().zip(real) {
        run.write_amplification = real.amplification.filter(|_| !with_series);
        run.mib_per_second = real.mib_per_second;
        run.samples = real.samples;
        while with_series && run.host_bytes() / visible as f64 > 2.5 {
            run.samples.pop();
        }
        run.end_samples().unwrap();
    }
    (base, known)
}

const QUICK: Sizes = Sizes { rounds: [1 << 14; 2], whole: 1 << 14, timed: Some((1 << 14, 12)) };

/// Throughput alone tells the spare capacity and the time of a program, and predicts how another
/// pattern falls.
#[test]
fn the_fall_of_a_known_drive_is_found_from_throughput_alone() {
    let patterns = ["sequential", "uniform", "sequential", "zipf-shuffle 0.8"];
    let (mut base, known) = known(&patterns.map(|pattern| (pattern, 100)), true);
    assert!(known[1].fall().unwrap().seconds.is_some(), "{:?}", known[1].fall());
    let own = base.flash.program_latency[0].0 as f64;
    base.flash.program_latency = base.flash.program_latency.map(|time| Nanos(time.0 / 3));
    let order = Order {
        base_name: "made up".to_owned(),
        sanitised: Some("pattern=sequential".parse().unwrap()),
        ..Order::default()
    };
    let stop = AtomicBool::new(false);
    let found = calibrate_sized(known, &base, &order, &QUICK, &stop, &|_| {}).unwrap();
    println!("{}", found.text());
    let spare = found.config.mapping.overprovisioning;
    assert!((spare / 0.3 - 1.0).abs() < 0.05, "{spare}");
    let ratio = found.config.flash.program_latency[0].0 as f64 / own;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    for one in found.runs.iter().filter(|one| one.run.pattern.shape != Shape::Sequential) {
        let fall = one.fall.unwrap();
        let errors = [fall.error_before, fall.error_after, fall.error_seconds.unwrap()];
        assert!(errors.iter().all(|error| error.abs() < 0.1), "{fall:?}");
        assert!(one.error.is_none() && one.error_mib_s.unwrap().abs() < 0.1, "{one:?}");
    }
    let held = found.errors.iter().find(|one| one.is_held_out && one.pattern.is_none()).unwrap();
    assert!(held.error.is_none() && held.fall.unwrap().seconds.is_some(), "{held:?}");
    assert!(found.text().to_string().contains("falls at s"));
    assert!(found.page().to_html().contains("zipf 0.8 shuffled"));
    assert!(found.header().iter().any(|line| line.contains("time of the fall")), "header");
}

/// What limits the level before the fall is found, as the host's or the drive's, and predicts it.
#[test]
fn a_limit_of_the_host_or_the_drive_is_found_from_the_level_before_the_fall() {
    let patterns = ["sequential", "uniform", "uniform"].map(|pattern| (pattern, 100));
    let (mut base, known) = known_behind(Some(0.75), &patterns, true);
    let level = known[1].fall().unwrap().before;
    let own = base.flash.program_latency[0].0 as f64;
    base.flash.program_latency = base.flash.program_latency.map(|time| Nanos(time.0 / 2));
    let stop = AtomicBool::new(false);
    for rigs in [vec!["source=rig".parse().unwrap()], Vec::new()] {
        let mut order = Order { base_name: "made up".to_owned(), ..Order::default() };
        order.sanitised = Some("pattern=sequential".parse().unwrap());
        order.fit.rigs = rigs;
        let runs = known.clone();
        let found = calibrate_sized(runs, &base, &order, &QUICK, &stop, &|_| {}).unwrap();
        let takes = f64::from(found.config.controller.write_bandwidth_mbs) / 1.048_576;
        let limit = match found.hosts.first() {
            Some(host) => {
                assert!(takes == 0.0 && found.text().to_string().contains("The host sends"));
                host.writes_per_second.unwrap() / 256.0
            }
            None => {
                let limit = "# fitted: the level before the throughput falls";
                assert!(found.drive_file().contains(limit), "{}", found.drive_file());
                takes
            }
        };
        assert!((limit / level - 1.0).abs() < 0.02, "{limit} {level}");
        let ratio = found.config.flash.program_latency[0].0 as f64 / own;
        assert!((ratio - 1.0).abs() < 0.07, "{ratio}");
        for one in &found.runs {
            let fall = one.fall.unwrap();
            let errors = [fall.error_before, fall.error_after, fall.error_seconds.unwrap_or(0.0)];
            assert!(errors.iter().all(|error| error.abs() < 0.08), "{}: {fall:?}", one.run);
        }
    }
}

/// What a journal knows is not replayed again, and the answer is the same.
#[test]
fn a_journal_goes_on_after_an_interruption() {
    let (base, known) = known(&[("sequential", 100), ("uniform", 100)], true);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.jsonl");
    let order = Order {
        base_name: "made up".to_owned(),
        sanitised: Some("pattern=sequential".parse().unwrap()),
        ..Order::default()
    };
    let stop = AtomicBool::new(false);
    let calibrated = |journal: Option<&PathBuf>, seed: u64, runs: &[Run]| {
        let mut order = Order { journal: journal.cloned(), ..order.clone() };
        order.fit.seed = seed;
        let shares = Mutex::new(Vec::new());
        let tell = |at: Progress| shares.lock().unwrap().push(at.share());
        let found = calibrate_sized(runs.to_vec(), &base, &order, &QUICK, &stop, &tell);
        let shares = shares.into_inner().unwrap();
        assert!(found.is_err() || shares.last().is_some_and(|last| *last > 0.95), "{shares:?}");
        found
    };
    let alone = calibrated(None, 1, &known).unwrap();
    assert_eq!(calibrated(Some(&path), 1, &known).unwrap(), alone);
    // Cut off in the middle, as by an interruption.
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&path, lines[..lines.len() / 2].join("\n") + "\n").unwrap();
    assert_eq!(calibrated(Some(&path), 1, &known).unwrap(), alone);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), lines.len());
    // What is in the journal is what is told.
    let amplification = |number: &str| format!("\\\"amplification\\\":{number},");
    let forged = text.replace(&amplification("1.0"), &amplification("1.5"));
    std::fs::write(&path, forged).unwrap();
    assert_ne!(calibrated(Some(&path), 1, &known).unwrap(), alone);
    for (seed, runs) in [(2, &known[..]), (1, &known[1..])] {
        let other = calibrated(Some(&path), seed, runs).unwrap_err();
        assert!(other.to_string().contains("was begun with other points"), "{other}");
    }
}

/// What `--filled` stands for is what a sequential run before each leaves.
#[test]
fn a_run_on_a_filled_drive_is_one_after_a_sequential_run() {
    let all = runs(&[("sequential", 100), ("uniform", 100)], 1.0);
    let of = |runs: &[Run], starts: Starts<'_>| {
        let small = age::small(&drive(0.25), 0.2, 1 << 17, 1).check().unwrap();
        let visible = Ledger::of(&drive(0.25)).visible_bytes.0;
        let stop = AtomicBool::new(false);
        let replay = Replay { starts, ..replay(visible, &stop) };
        replay.age(&small, runs, 0, |_| true).unwrap().pop().unwrap().amplification.unwrap()
    };
    let rule: Expression = "pattern=uniform".parse().unwrap();
    let filled = of(&all[1..], Starts { sanitised: None, filled: Some(&rule) });
    let after = of(&all, Starts::default());
    assert!((filled / after - 1.0).abs() < 0.01, "{filled} {after}");
    assert!(of(&all[1..], Starts::default()) < 0.9 * filled);
}

/// Fewer channels, with what they share as much slower, have the throughput of all after scaling.
#[test]
fn a_drive_of_fewer_dies_falls_at_the_same_time_to_the_same_level() {
    let (mut base, known) = known(&[("sequential", 100), ("uniform", 100)], true);
    base.bus.channels = 4;
    let visible = 2 * known[0].span_bytes;
    let mut runs = known;
    for run in &mut runs {
        run.span_bytes = visible;
    }
    let of = |units: u64| {
        let mut small = age::small(&base, 0.3, 1 << 14, 24);
        let fewer = age::thin(&mut small, units);
        let stop = AtomicBool::new(false);
        let replay = Replay { timed: Some(Timed::All), fewer, ..replay(visible, &stop) };
        let done = replay.age(&small.check().unwrap(), &runs, 0, |_| true).unwrap();
        (fewer, Fall::of(&done[1].samples, visible).unwrap())
    };
    let ((one, whole), (fewer, few)) = (of(u64::MAX), of(1));
    assert!(one == 1 && fewer > 1, "{one} {fewer}");
    for (own, other) in [
        (few.before, whole.before),
        (few.after, whole.after),
        (few.seconds.unwrap(), whole.seconds.unwrap()),
    ] {
        println!("{own} {other}");
        assert!((own / other - 1.0).abs() < 0.03, "{few:?} {whole:?}");
    }
    // The lowest level lasts for a few superblocks only.
    assert!((few.lowest / whole.lowest - 1.0).abs() < 0.1, "{few:?} {whole:?}");
}

/// Measured figures: errors alone stand here.
#[test]
fn a_real_drives_fall_from_a_sanitised_state_is_predicted() {
    let Some(folder) = std::env::var_os("SSDTUNE_SHARED").map(PathBuf::from) else {
        println!("skipped: SSDTUNE_SHARED names no folder of measurements");
        return;
    };
    let files = ["write-amplification.csv", "sustained-writes.csv.xz"];
    let files = files.map(|name| folder.join("realdrives").join(name));
    if let Some(absent) = files.iter().find(|file| !file.exists()) {
        println!("skipped: {} is absent", absent.display());
        return;
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs/bases");
    let base = root.join("micron-7450-max-800gb.toml");
    let base = ssdtune_model::source::load(base.to_str().unwrap(), &[]).unwrap().config;
    let order = Order {
        drive: Some("Micron 7450 MAX 800GB".to_owned()),
        only: Some("source=ssdiq/finalop02b & run=2024-09-05* & span_gib=596,670".parse().unwrap()),
        hold_out: Some("pattern=uniform & span_gib=596".parse().unwrap()),
        sanitised: Some("pattern=sequential".parse().unwrap()),
        ..Order::default()
    };
    let stop = AtomicBool::new(false);
    let sizes = Sizes { rounds: [1 << 16; 2], whole: 1 << 16, timed: Some((1 << 16, 12)) };
    let found = read(&files).unwrap();
    let found = calibrate_sized(found.runs, &base, &order, &sizes, &stop, &|_| {}).unwrap();
    let held = found.errors.iter().find(|one| one.is_held_out && one.pattern.is_none()).unwrap();
    println!("{held}");
    let fall = held.fall.unwrap();
    assert_eq!((held.runs, fall.missed), (1, 0));
    assert!(fall.before < 10.0 && fall.after < 10.0 && fall.lowest < 15.0, "{fall:?}");
    assert!(fall.seconds.unwrap() < 10.0, "{fall:?}");
}

/// The time of a program is found again from throughput, and predicts that of other runs.
#[test]
fn the_time_of_a_program_follows_from_the_throughput_of_runs() {
    let (mut base, mut known) =
        known(&[("sequential", 100), ("uniform", 100), ("uniform", 100)], false);
    for run in &mut known {
        run.seconds = Some(2.0 * run.span_bytes as f64 / MIB / run.mib_per_second.unwrap());
    }
    let stop = AtomicBool::new(false);
    let own = base.flash.program_latency[0].0 as f64;
    base.flash.program_latency = base.flash.program_latency.map(|time| Nanos(time.0 / 3));
    let order = Order { base_name: "made up".to_owned(), ..Order::default() };
    let found = calibrate_sized(known, &base, &order, &QUICK, &stop, &|_| {}).unwrap();
    let ratio = found.config.flash.program_latency[0].0 as f64 / own;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(found.drive_file().contains("# fitted: the throughput"));
    for one in &found.runs {
        assert!(one.error_mib_s.unwrap().abs() < 0.08, "{one:?}");
    }
}
