//! `ssdtune predict-perf ftl` from end to end: profiles, a fit, a simulation with firmware time,
//! wrong input.
//!
//! A test that needs valgrind or qemu-x86_64 says so and is skipped where they are not installed.

use crate::support::{parse, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

fn ftl(words: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["predict-perf", "ftl"]).args(words);
    command
}

fn profile(out: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = ftl(&["profile", "--size", "small", "--groups-max", "6", "--out"]);
    command.arg(out).args(["--workloads", "SR,RW,TC,LB", "--repeats", "3"]).args(more);
    command
}

fn is_installed(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let there = command.status().is_ok_and(|status| status.success());
    if !there {
        eprintln!("skipped: {tool} is not installed");
    }
    there
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Times of four small workloads, made once. A second profile of the same groups stands in for a
/// target.
fn target() -> &'static (tempfile::TempDir, PathBuf) {
    static TARGET: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    TARGET.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("target.jsonl");
        profile(&path, &["--events", "none"]).assert().success();
        (directory, path)
    })
}

#[test]
fn a_profile_has_a_group_a_line_and_is_gone_on_with() {
    let (directory, whole) = target();
    let rows = lines(whole);
    assert_eq!(rows[0]["time"]["kind"], "measured");
    assert_eq!(rows.len(), 1 + 4 * 6);
    for row in &rows[1..] {
        assert_eq!(row["counts"]["requests"], 1_000);
        assert_eq!(row["ns"].as_array().unwrap().len(), 3);
        assert!(row.get("events").is_none(), "no events rather than zeros");
    }
    // A profile that was killed after two workloads ends with the same work.
    let part = directory.path().join("part.jsonl");
    let text = std::fs::read_to_string(whole).unwrap();
    let kept: Vec<&str> = text.lines().take(1 + 2 * 6).collect();
    std::fs::write(&part, kept.join("\n") + "\n").unwrap();
    profile(&part, &["--events", "none"]).assert().success();
    let work = |path: &Path| -> Vec<(Value, Value)> {
        let rows = lines(path);
        rows[1..].iter().map(|row| (row["id"].clone(), row["counts"].clone())).collect()
    };
    assert_eq!(work(&part), work(whole));
    // A workload that is named twice is measured once: a group cannot be there twice.
    let twice = directory.path().join("twice.jsonl");
    let words = "profile --size small --groups-max 4 --repeats 1 --events none --workloads SR,SR";
    let mut command = ftl(&words.split(' ').collect::<Vec<_>>());
    command.arg("--out").arg(&twice).assert().success();
    assert_eq!(lines(&twice).len(), 1 + 4);
    profile(&part, &["--events", "none", "--seed", "3"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("was measured otherwise: seed is 0 there and 3 here"));
}

#[test]
fn events_a_fit_and_firmware_time_in_a_simulation() {
    if !is_installed("valgrind") {
        return;
    }
    let (directory, target) = target();
    let file = |name: &str| directory.path().join(name);
    let (host, model) = (file("host.jsonl"), file("model.json"));
    profile(&host, &["--events", "callgrind"]).assert().success();
    let rows = lines(&host);
    assert_eq!(rows[0]["events"]["kind"], "callgrind");
    for row in &rows[1..] {
        // A request takes some dozens of instructions at least, and not every one loads.
        let count = |event: &str| row["events"][event].as_u64().unwrap();
        assert!(count("INSTR") > 20_000, "{row}");
        assert!(count("L1D_LOADS") > 1_000 && count("L1D_LOADS") < count("INSTR"), "{row}");
        assert!(row["events"].get("CPU_CYCLES").is_none(), "callgrind counts no cycles");
        // Some of what misses the first TLB is found in the one behind it.
        let misses = count("DTLB_MISSES");
        let walks = row["callgrind"]["TLB_DLmr"].as_u64().unwrap();
        assert!(walks <= misses && misses < count("L1D_LOADS"), "{row}");
    }
    let mut fit = ftl(&["fit", "--json", "--host"]);
    let done = fit.arg(&host).arg("--target").arg(target).arg("--out").arg(&model).assert();
    let report = parse(&done.success());
    assert_eq!(report["records"], 24);
    assert_eq!(report["judgements"].as_array().unwrap().len(), 8);
    assert!(report["target"].as_str().unwrap().starts_with("measured on"));
    let gains = &report["judgements"][2]["gains"]["average"];
    assert!(gains["low"].as_f64().unwrap() <= gains["high"].as_f64().unwrap(), "{report}");
    computed(&host, &file("a53.jsonl"));
    simulated(&model);
    let mut predict = ftl(&["predict", "--json", "--model"]);
    let done = predict.arg(&model).arg("--host").arg(&host).assert().success();
    let predicted = parse(&done);
    let groups = predicted["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 24);
    assert!(groups.iter().all(|group| group["predicted_ns"].as_f64().unwrap() > 0.0));
    if is_installed("qemu-x86_64") {
        let emulated = file("qemu.jsonl");
        profile(&emulated, &["--under", "qemu-x86_64"]).assert().success();
        ftl(&["fit", "--host"])
            .arg(&host)
            .arg("--target")
            .arg(&emulated)
            .assert()
            .success()
            .stdout(predicate::str::contains("STAND-IN for a board, measured: qemu-x86_64"));
    }
}

/// The timing model of a Cortex-A53 as a target, which says in every report what it is.
fn computed(host: &Path, target: &Path) {
    let words = "profile --size small --groups-max 6 --cortex-a53 --workloads SR,RW --out";
    let mut command = ftl(&words.split(' ').collect::<Vec<_>>());
    command.arg(target).assert().success();
    for row in &lines(target)[1..] {
        let time = row["ns"][0].as_f64().unwrap();
        let of = |event: &str| row["callgrind"][event].as_f64().unwrap();
        let walks = of("TLB_ILmr") + of("TLB_DLmr") + of("TLB_DLmw");
        assert!(time > (0.75 * of("Ir") + 40.0 * walks) / 1.2, "{row}");
    }
    let mut fit = ftl(&["fit", "--host"]);
    let done = fit.arg(host).arg("--target").arg(target).assert().success();
    done.stdout(predicate::str::contains("STAND-IN for a board, computed: timing model"));
}

fn simulated(model: &Path) {
    let run = |more: &[&str]| -> Value {
        let mut command = ssdtune();
        command.args(["simulate", "--json", "--device", "lpm-znand", "--workload", "lpm-ycsb-a"]);
        command
            .args(["--requests", "5000", "--start", "steady", "--replay", "closed:4"])
            .args(more);
        let done = command.assert().success();
        let document = parse(&done);
        document["cells"][0].clone()
    };
    let (plain, with) = (run(&[]), run(&["--ftl-time", model.to_str().unwrap()]));
    assert_eq!(plain["firmware"], Value::Null);
    assert_eq!(plain["report"], with["report"], "what is simulated stays as it was");
    let number = |path: &str| with.pointer(path).and_then(Value::as_f64).unwrap();
    let added = number("/firmware/device_latency_ns/mean")
        - number("/report/total/all/device_latency_ns/mean");
    let each = number("/firmware/mean_ns");
    assert!(each > 0.0 && (added / each - 1.0).abs() < 1e-6, "{added} added, {each} a request");
    assert!((0.0..1.0).contains(&number("/firmware/share")));
    for percentile in ["p50", "p99", "max"] {
        let of = |path: &str| number(&format!("{path}/device_latency_ns/{percentile}"));
        let (with, without) = (of("/firmware"), of("/report/total/all"));
        // Both are within a thousandth; groups differ in what they add.
        assert!(with > without * 0.998, "{percentile}: {with} with, {without} without");
    }
}

#[test]
fn what_is_missing_or_wrong_is_said() {
    let (directory, target) = target();
    ftl(&["fit", "--host"])
        .arg(target)
        .arg("--target")
        .arg(target)
        .assert()
        .code(3)
        .stderr(predicate::str::contains("no events in the host's profile"));
    let nothing = directory.path().join("nothing.jsonl");
    profile(&nothing, &["--under", "qemu-of-no-machine"])
        .assert()
        .code(1)
        .stderr(predicate::str::contains("cannot run qemu-of-no-machine"));
    assert!(!nothing.exists(), "no file of nothing");
    profile(&nothing, &["--workloads", "XX"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("Table 4 has SR, SW"));
    profile(&nothing, &["--cortex-a53", "--events", "none"]).assert().code(2);
    profile(&directory.path().join("no/where.jsonl"), &[])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("there is no directory"));
    profile(&nothing, &["--under", " "])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--under wants a command"));
    ssdtune()
        .args(["simulate", "--device", "lpm-znand", "--workload", "lpm-rr", "--ftl-time"])
        .arg(target)
        .assert()
        .code(3)
        .stderr(predicate::str::contains("is not a model of firmware time"));
}
