//! Long traces from end to end: windows in a file, what they say of the whole, and a search on
//! them.

use crate::support::{Scratch, document, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

/// The first requests of a model, and windows of them.
fn windows(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let [trace, points] = ["kv.ssdt", "kv.points"].map(|name| scratch.path(name));
    let mut command = ssdtune();
    command.args(["trace", "generate", "websearch", "-n", "16000", "-o"]).arg(&trace);
    command.assert().success();
    let mut command = ssdtune();
    command.args(["trace", "sample", "--windows", "100", "--warm-up", "50", "--measured", "80"]);
    command.arg(&trace).arg("-o").arg(&points).assert().success();
    (trace, points)
}

#[test]
fn windows_tell_what_the_whole_trace_gives() {
    let scratch = Scratch::new();
    let (trace, points) = windows(&scratch);
    let simulate = |file: &PathBuf, more: &[&str]| {
        let mut command = ssdtune();
        command.args(["simulate", "--device", "intel-750", "--trace"]).arg(file);
        command.args(["--start", "footprint"]).args(more);
        command
    };
    let whole = document(&mut simulate(&trace, &[]));
    let truth = whole["cells"][0]["report"]["total"]["all"]["device_latency_ns"]["mean"].as_f64();
    let told = document(&mut simulate(&points, &["--sample"]));
    let report = &told["cells"][0]["report"];
    let mean = &report["latency_ns"][0]["mean"];
    let end = |name: &str| mean["interval"][name].as_f64().unwrap();
    assert!(end("low") <= truth.unwrap() && truth.unwrap() <= end("high"), "{mean} {truth:?}");
    assert_eq!((told["schema"].as_u64(), &report["no_interval"]), (Some(1), &Value::Null));
    assert!(report["run"]["windows"].as_u64() >= Some(50), "{report}");
    // The trace itself is sampled in the same way, and threads change nothing.
    let again = document(&mut simulate(&points, &["--sample", "--threads", "1"]));
    assert_eq!(told, again);
    let text = simulate(&points, &["--sample", "--sweep", "bus.channels=4,12"]).assert().success();
    text.stdout(predicate::str::contains("+-").and(predicate::str::contains("bus.channels")));
}

#[test]
fn what_cannot_be_sampled_is_refused_in_words() {
    let scratch = Scratch::new();
    let (trace, points) = windows(&scratch);
    let refused = |arguments: &[&str], file: &PathBuf, code: i32, words: &str| {
        let mut command = ssdtune();
        command.args(["simulate", "--device", "intel-750"]).args(arguments).arg("--trace");
        let failed = command.arg(file).assert().code(code);
        failed.stderr(predicate::str::contains(words));
    };
    refused(&["--sample", "--start", "empty"], &points, 2, "--start empty: a window begins on");
    refused(&["--sample", "--replay", "closed:900"], &points, 2, "longer --warm-up");
    refused(&["--sample", "--exact"], &points, 2, "cannot be used with");
    refused(&["--precision", "0.02"], &trace, 2, "--sample");
    refused(&[], &points, 2, "windows of `trace sample`: give --sample");
    refused(&["--sample", "--requests", "500"], &trace, 3, "two windows need");
    let mut command = ssdtune();
    command.args(["search", "--others", "none", "--no-db", "--requests", "1000"]);
    command.args(["--space", "autoblox", "--target"]);
    let failed = command.arg(&points).assert().code(3);
    failed.stderr(predicate::str::contains("holds windows of a trace: leave --requests"));
}

#[test]
fn a_search_on_windows_has_intervals_and_judges_by_windows_it_has_not_seen() {
    let scratch = Scratch::new();
    let (_, points) = windows(&scratch);
    let search = |threads: &str| {
        let mut command = ssdtune();
        command.args(["search", "--others", "none", "--budget", "2", "--no-db"]);
        command.args(["--space", "autoblox"]);
        command.args(["--algorithm", "random", "--threads", threads, "--target"]).arg(&points);
        let mut found = document(&mut command);
        found["effort"]["seconds"] = Value::Null;
        found
    };
    let found = search("2");
    for table in ["training", "held_out"] {
        let target = &found[table]["target"];
        assert!(target["interval"]["windows"].as_u64() >= Some(25), "{target}");
        assert_eq!(target["interval"]["collects"].as_bool(), Some(false));
    }
    assert_eq!(found, search("1"));
}
