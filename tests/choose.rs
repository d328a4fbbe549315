//! `ssdtune choose` from end to end: a ranking with intervals, what is not decided, what was
//! tested, and what cannot be ranked.

use crate::support::{Scratch, document, ssdtune};
use assert_cmd::Command;
use predicates::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// A drive that is made in milliseconds, with reads of this many nanoseconds.
fn drive(scratch: &Scratch, name: &str, read_ns: u32, more: &str) -> PathBuf {
    let path = scratch.path(name);
    let text = format!(
        "base = \"samsung-850-pro\"\nname = \"{name}\"\n[flash]\nblocks_per_plane = 100\n\
         page_read_latency_lsb_ns = {read_ns}\npage_read_latency_msb_ns = {read_ns}\n{more}"
    );
    fs::write(&path, text).unwrap();
    path
}

const TABLE: &str = "[calibration]\ndrive = \"Real 256GB\"\n\
    errors_held_out_percent = { mean = 1.25 }\n[[calibration.tested]]\ndirection = \"read\"\n\
    sequential = false\nread_percent = [100.0, 100.0]\nblock_bytes = [8192, 16384]\n\
    outstanding = [1, 32]\n";

/// Reads of 4 KiB, every fourth a write, in MQSim's format.
fn trace(scratch: &Scratch, lba_max: u64) -> PathBuf {
    let path = scratch.path("my.trace");
    let line = |n: u64| {
        let is_read = u64::from(!n.is_multiple_of(4));
        format!("{} 0 {} 8 {is_read}\n", n * 500_000, 8 * (n * 7_919 % (lba_max / 8)))
    };
    fs::write(&path, (0..2_000).map(line).collect::<String>()).unwrap();
    path
}

fn choose(trace: &PathBuf, drives: &[&PathBuf], more: &[&str]) -> Command {
    let mut command = ssdtune();
    command.args(["choose", "--start", "steady:0.5", "--trace"]).arg(trace);
    command.args(drives).args(more);
    command
}

#[test]
fn drives_are_ranked_with_intervals_and_what_was_tested() {
    let scratch = Scratch::new();
    let slow = drive(&scratch, "slow.toml", 90_000, "");
    let fast = drive(&scratch, "fast.toml", 30_000, TABLE);
    let twin = drive(&scratch, "twin.toml", 30_000, "");
    let trace = trace(&scratch, 1 << 20);
    let drives = [&slow, &fast, &twin];
    let done = choose(&trace, &drives, &[]).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    for part in [
        "2000 requests on drives that begin steady:0.5",
        "outside of what Real 256GB was tested at: reads of 4 KiB (tested: 8 to 16 KiB); writes",
        "errors held out: mean 1.25 %",
        "slow.toml: not calibrated; nobody has compared it with a real drive",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(
        said.lines().any(|line| line.contains("twin.toml against") && line.ends_with("undecided"))
    );
    assert!(
        said.lines().any(|line| line.contains("slow.toml against") && line.ends_with(": decided"))
    );
    let found = document(&mut choose(&trace, &drives, &["--threads", "1"]));
    assert_eq!(document(&mut choose(&trace, &drives, &["--threads", "3"])), found);
    let last = &found["ranked"][2];
    assert_eq!(last["drive"].as_str(), slow.to_str());
    for figure in
        ["latency_ns_mean", "latency_ns_p99", "throughput_bytes_per_s", "write_amplification"]
    {
        let own = &last["figures"][figure];
        let [low, value, high] = ["low", "value", "high"].map(|end| own[end].as_f64().unwrap());
        assert!(low <= value && value <= high, "{figure}: {own}");
    }
    let mean = &last["figures"]["latency_ns_mean"];
    assert!(mean["low"].as_f64().unwrap() < mean["high"].as_f64().unwrap(), "{mean}");
    assert!(last["figures"]["terabytes_written"]["value"].as_f64().unwrap() > 0.0);
    assert_eq!(last["against_first"]["latency_ns_mean"]["is_decided"], true);
    assert!(last["calibrated"].is_null());
    // The figures are those of the drive's own simulation.
    let mut simulate = ssdtune();
    simulate.args(["simulate", "--start", "steady:0.5", "--device"]).arg(&slow);
    let report = document(simulate.arg("--trace").arg(&trace));
    let mean = report["cells"][0]["report"]["total"]["all"]["total_latency_ns"]["mean"].as_f64();
    let own = last["figures"]["latency_ns_mean"]["value"].as_f64();
    assert!((own.unwrap() / mean.unwrap() - 1.0).abs() < 1e-9);
}

/// Live-points of a model's requests, and the trace.
fn windows(scratch: &Scratch) -> [PathBuf; 2] {
    let [trace, points] = ["long.ssdt", "long.points"].map(|name| scratch.path(name));
    let mut generate = ssdtune();
    generate.args(["trace", "generate", "websearch", "-n", "16000", "-q", "-o"]).arg(&trace);
    generate.assert().success();
    let mut sample = ssdtune();
    sample.args(["trace", "sample", "--windows", "100", "--warm-up", "50", "--measured", "80"]);
    let more = ["--page-bytes", "8KiB", "--compact", "-q", "-o"];
    sample.args(more).arg(&points).arg(&trace).assert().success();
    [trace, points]
}

#[test]
fn windows_of_a_long_trace_rank_drives_as_the_whole_does() {
    let scratch = Scratch::new();
    let [trace, points] = windows(&scratch);
    let slow = drive(&scratch, "slow.toml", 180_000, "");
    let fast = drive(&scratch, "fast.toml", 30_000, TABLE);
    let twin = drive(&scratch, "twin.toml", 30_000, "");
    let asked = |file: &Path, start: &str, more: &[&str]| {
        let mut command = ssdtune();
        command.args(["choose", "--start", start, "--fit-addresses", "compact", "--trace"]);
        command.arg(file).args([&slow, &fast, &twin]).args(more);
        command
    };
    let told = document(&mut asked(&points, "footprint", &[]));
    assert_eq!(told, document(&mut asked(&points, "footprint", &["--sample", "--threads", "1"])));
    let whole = document(&mut asked(&trace, "footprint", &[]));
    assert!(whole.get("sampled").is_none() && whole["ranked"][0].get("times_first").is_none());
    assert!(told["sampled"]["windows"].as_u64() >= Some(50), "{}", told["sampled"]);
    for (own, whole) in [0, 1, 2].map(|at| (&told["ranked"][at], &whole["ranked"][at])) {
        assert_eq!(own["drive"], whole["drive"]);
        let mean = &own["figures"]["latency_ns_mean"];
        let [low, high] = ["low", "high"].map(|end| mean[end].as_f64().unwrap());
        let truth = whole["figures"]["latency_ns_mean"]["value"].as_f64().unwrap();
        assert!(0.98 * low <= truth && truth <= 1.02 * high, "{truth}: {mean}");
        assert!(own["figures"]["terabytes_written"].is_null());
    }
    let done = asked(&points, "footprint", &[]).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    for part in [
        "80 requests measured in each after 50 that warm up",
        "TBW is not told from windows: run the whole trace",
        "outside of what Real 256GB was tested at: ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let verdict = |drive: &str, end: &str| {
        let line = said.lines().find(|line| line.contains(&format!("{drive} against"))).unwrap();
        assert!(line.ends_with(end), "{line}");
    };
    verdict("slow.toml", "): decided");
    verdict("twin.toml", ": undecided");
    // Few windows of the usual length decide nothing.
    let few = asked(&trace, "footprint", &["--sample"]).assert().success();
    let reason = predicate::str::contains("no intervals: fewer than 40 windows");
    few.stdout(reason.and(predicate::str::contains("(no interval): undecided")));
    for (start, more, code, words) in [
        ("empty", &[][..], 2, "--start empty: a window begins on"),
        ("footprint", &["--by", "endurance"], 2, "windows do not tell it"),
        ("footprint", &["--sample", "--windows", "30"], 2, "cannot be used with"),
        ("footprint", &["--precision", "0.02"], 2, "--sample"),
    ] {
        let failed = asked(&points, start, more).assert().code(code);
        failed.stderr(predicate::str::contains(words));
    }
}

#[test]
fn a_trace_that_is_larger_than_a_drive_is_refused_for_it_or_fitted() {
    let scratch = Scratch::new();
    let small = drive(&scratch, "small.toml", 30_000, "");
    let trace = trace(&scratch, 1 << 34);
    let name = small.to_str().unwrap().to_owned();
    let failed = choose(&trace, &[&small], &["--json"]).assert().code(3);
    failed.stderr(predicate::str::contains("--fit-addresses").and(predicate::str::contains(name)));
    for how in ["compact", "wrap"] {
        let found = document(&mut choose(&trace, &[&small], &["--fit-addresses", how]));
        assert_eq!(found["ranked"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_code() {
    let scratch = Scratch::new();
    let own = drive(&scratch, "own.toml", 30_000, "");
    let trace = trace(&scratch, 1 << 20);
    let wrong = |command: &mut Command, code: i32, word: &str| {
        command.assert().code(code).stderr(predicate::str::contains(word.to_owned()));
    };
    wrong(&mut choose(&trace, &[&own], &["--by", "price"]), 2, "write-amplification");
    wrong(&mut choose(&trace, &[&PathBuf::from("samsung-850-pr")], &[]), 2, "did you mean");
    wrong(&mut choose(&trace, &[&own], &["--windows", "1"]), 2, "--windows");
    wrong(&mut choose(&own, &[&own], &[]), 3, "own.toml");
    wrong(ssdtune().args(["choose", "z-ssd"]), 2, "--trace");
    let broken = drive(&scratch, "broken.toml", 30_000, "[gc]\nthreshold = 7\n");
    wrong(&mut choose(&trace, &[&own, &broken], &[]), 3, "broken.toml:8: gc.threshold");
}
