//! Tests of `ssdtune grade` from end to end: drives, points of another optimiser, seeds, wrong
//! input.

use crate::support::{parse, ssdtune};
use predicates::prelude::*;
use serde_json::{Value, json};

fn grade(more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["grade", "--target", "websearch", "--others", "database", "--requests", "300"]);
    command.args(["--space", "autoblox", "--no-db", "-q"]).args(more);
    command
}

fn lines(command: &mut assert_cmd::Command) -> Vec<Value> {
    let done = command.assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

#[test]
fn the_baseline_is_0_and_a_faster_drive_above() {
    let directory = tempfile::tempdir().unwrap();
    let faster = directory.path().join("faster.toml");
    std::fs::write(&faster, "name = \"f\"\nbase = \"intel-750\"\n[bus]\nwidth_bytes = 8\n")
        .unwrap();
    let done = grade(&["--json", "intel-750"]).arg(&faster).assert().success();
    let graded = parse(&done);
    assert_eq!(graded[0]["grade"], 0.0);
    assert_eq!(graded[0]["others"].as_array().map(Vec::len), Some(1));
    assert!(graded[1]["grade"].as_f64().unwrap() > 0.01, "{graded}");
    let table = grade(&["intel-750", "--held-out"]).assert().success();
    table.stdout(predicate::str::contains("1.00/1.00"));
}

#[test]
fn points_are_answered_a_line_for_a_line() {
    let axes = grade(&["--axes"]).assert().success();
    let axes = parse(&axes);
    let channels = axes.as_array().unwrap().iter().find(|axis| axis["key"] == "bus.channels");
    assert_eq!(channels.unwrap()["baseline"], 12);
    // The baseline, a drive with a better bus, and a layout of half the capacity.
    let points = "{}\n\n{\"bus.width_bytes\": 8, \"suspension.support\": \"program\"}\n\
                  {\"bus.channels\": 6}\n";
    let strict = lines(grade(&["--points"]).write_stdin(points));
    assert_eq!(strict.len(), 3);
    assert_eq!(strict[0]["grade"], 0.0);
    assert!(strict[1]["grade"].as_f64().unwrap() > 0.0);
    assert!(strict[1]["requests"].as_u64() > strict[0]["requests"].as_u64());
    assert!(strict[2]["grade"].is_null());
    assert!(strict[2]["reason"].as_str().unwrap().contains("capacity"), "{}", strict[2]);
    let repaired = lines(grade(&["--points", "--repair"]).write_stdin(points));
    assert!(repaired[2]["grade"].is_number());
    assert!(!repaired[2]["repaired"].as_object().unwrap().is_empty());
    assert_eq!(repaired[1]["grade"], strict[1]["grade"]);
}

#[test]
fn wrong_points_say_what_would_be_right() {
    for (points, said) in [
        ("{}\n{\"bus.chanels\": 6}\n", "line 2: bus.chanels is no axis"),
        ("{\"bus.channels\": 7}\n", "bus.channels = 7: legal are 4, 6,"),
        ("[1]\n", "no JSON object of axes and values"),
    ] {
        let wrong = grade(&["--points"]).write_stdin(points).assert().code(3);
        wrong.stderr(predicate::str::contains(said));
    }
    // The lines after a wrong one are answered as ever.
    let points = "{}\nno point\n\u{ff}\n{\"bus.chanels\": 6}\n{}\n";
    let points: Vec<u8> = points.chars().map(|c| c as u8).collect();
    let done = grade(&["--points"]).write_stdin(points).assert().code(3);
    let text = String::from_utf8(done.get_output().stdout.clone()).expect("text");
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let graded: Vec<bool> = answers.iter().map(|answer| answer["grade"].is_number()).collect();
    assert_eq!(graded, [true, false, false, false, true]);
    assert!(answers[3]["reason"].as_str().unwrap().contains("no axis"), "{}", answers[3]);
    done.stderr(predicate::str::contains("line 2").and(predicate::str::contains("2 more lines")));
    grade(&[]).assert().code(2);
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("a.csv");
    let mut made = ssdtune();
    made.args(["trace", "generate", "websearch", "-n", "199", "-q", "-o"]).arg(&trace);
    made.assert().success();
    let mut files = ssdtune();
    files.args(["grade", "--others", "none", "--no-db", "--held-out", "intel-750", "--target"]);
    let refused = files.arg(&trace).assert().code(2);
    refused.stderr(predicate::str::contains("a target file needs 200 requests"));
}

/// A trace file had no requests that a search does not see.
#[test]
fn what_follows_in_a_trace_file_is_held_out() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("a.csv");
    let mut made = ssdtune();
    made.args(["trace", "generate", "websearch", "-n", "400", "-q", "-o"]).arg(&trace);
    made.assert().success();
    let served = |more: &[&str]| {
        let mut graded = ssdtune();
        graded.args(["grade", "--others", "none", "--no-db", "-q", "--json", "intel-750-400gb"]);
        let graded = graded.args(["--requests", "200", "--target"]).arg(&trace).args(more);
        parse(&graded.assert().success())[0].clone()
    };
    let (learned, judged) = (served(&[]), served(&["--held-out"]));
    assert_eq!((&learned["grade"], &judged["grade"]), (&json!(0.0), &json!(0.0)));
    assert_ne!(learned["average_watts"], judged["average_watts"], "{learned} {judged}");
}

#[test]
fn one_seed_sets_two() {
    let answer = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(["search", "--target", "database", "--others", "none", "--requests", "300"]);
        command.args(["--algorithm", "random", "--budget", "4", "--no-db", "-q", "--json"]);
        // Drives of this space take milliseconds, those of the market sometimes seconds each.
        command.args(["--space", "autoblox"]);
        let done = command.args(more).assert().success();
        let mut document = parse(&done);
        document["effort"] = json!(null);
        document
    };
    let both = answer(&["--seed", "5"]);
    assert_eq!(both, answer(&["--trace-seed", "5", "--search-seed", "5"]));
    let other_search = answer(&["--seed", "5", "--search-seed", "6"]);
    assert_ne!(both["top"], other_search["top"]);
    let latency = |document: &Value| document["training"]["target"]["baseline"]["figures"].clone();
    assert_eq!(latency(&both), latency(&other_search), "the traces are the same");
    assert_ne!(latency(&both), latency(&answer(&["--seed", "5", "--trace-seed", "6"])));
}
