//! `ssdtune compare placement`, and drives with a placement policy: documents, refusals,
//! determinism.

use crate::support::ssdtune;
use predicates::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A trace in which 12,000 pages of 8 KiB are written once. After that, every other write goes to a
/// hot page: the first 100 of each 1,600 pages, which belong to a second device. Writes are 100 us
/// apart.
fn trace(directory: &Path) -> PathBuf {
    let mut text = "time_ns,tenant,op,lba,sectors\n".to_owned();
    let mut state = 1u64;
    for number in 0..60_000u64 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = state >> 33;
        let (page, tenant) = match number {
            0..12_000 => (number, u64::from(number % 1_600 < 100)),
            _ if number % 2 == 0 => (draw % 8 * 1_600 % 12_000 / 1_600 * 1_600 + draw / 8 % 100, 1),
            _ => (draw % 12_000, u64::from(draw % 12_000 % 1_600 < 100)),
        };
        writeln!(text, "{},{tenant},W,{},16", number * 100_000, page * 16).unwrap();
    }
    let path = directory.join("hot.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn compare(trace: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["compare", "placement", "--trace"]).arg(trace).args(more);
    command
}

fn output(command: &mut assert_cmd::Command) -> String {
    let assert = command.assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn policies_are_measured_on_the_same_writes_and_threads_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let plots = directory.path().join("plots");
    let more = [
        "--json",
        "--haml",
        "no-interval,no-wear-rules",
        "--plots",
        plots.to_str().unwrap(),
        "--force",
    ];
    let one = output(compare(&trace, &more).args(["--threads", "1"]));
    let two = output(compare(&trace, &more).args(["--threads", "2"]));
    assert_eq!(one, two);
    let document: Value = serde_json::from_str(&one).expect("one JSON document");
    let load = &document["loads"][0];
    assert_eq!(load["footprint_pages"], 12_000);
    assert_eq!((&load["written_pages"], &load["synthetic"]), (&60_000.into(), &false.into()));
    let amplification = |policy: &str| {
        let cells = load["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["policy"] == policy).expect("a cell");
        let measured = &cell["measured"];
        assert_eq!(measured["host_pages"], 30_000, "{policy}");
        let moved = measured["moved_pages"].as_f64().unwrap();
        let found = measured["write_amplification"].as_f64().unwrap();
        assert!((found - (1.0 + moved / 30_000.0)).abs() < 1e-9, "{policy}");
        found
    };
    let policies =
        ["none", "auto-stream", "hotis", "asa-ftl", "haml", "sepbit", "haml, no interval"];
    // No policy is better than the oracle, and knowing the hot pages helps.
    let [oracle, order] = ["oracle", "oracle-order"].map(amplification);
    let rivals = policies.iter().chain(&["dac", "warcip", "midas"]);
    assert!(rivals.into_iter().all(|policy| amplification(policy) > oracle), "{one}");
    assert!(oracle > order && order < 1.1, "{one}");
    assert!(amplification("haml") < amplification("none"), "{one}");
    let covered = &document["geometric_means"]["oracle"]["distance_covered"];
    assert_eq!(covered.as_f64(), Some(1.0));
    let means = &document["geometric_means"];
    assert_eq!(means["oracle-order"]["distance_covered_by_order"].as_f64(), Some(1.0));
    let share = means["oracle"]["distance_covered_by_order"].as_f64().unwrap();
    assert!(0.0 < share && share < 1.0, "{share}");
    let cells = load["cells"].as_array().unwrap().iter();
    let measured = cells.filter(|cell| !cell["measured"].is_null()).count();
    // Rectangles: the background, a bar for each policy (or five, for fifths of its blocks), and
    // the legend.
    for (name, bars, legend) in [
        ("amplification", measured, measured),
        ("erases", measured, measured),
        ("invalid", 5 * measured, 5),
    ] {
        let text = std::fs::read_to_string(plots.join(format!("{name}.svg"))).unwrap();
        assert_eq!(text.matches("<rect").count(), 1 + bars + legend, "{name}");
        assert!(text.ends_with("</svg>\n"), "{name}");
    }
    let clusters = std::fs::read_to_string(plots.join("clusters-hot.svg")).unwrap();
    let slices = clusters.matches("<circle").count();
    assert!((2_401 + 6..2_410 + 6).contains(&slices), "{slices} with the legend");
    assert!(plots.join("intervals.svg").exists() && !plots.join("response.svg").exists());
}

#[test]
fn the_table_names_every_policy_and_what_it_leaves_out() {
    let directory = tempfile::tempdir().unwrap();
    let tables = directory.path().join("tables");
    let all = ["--tables", tables.to_str().unwrap(), "--moved", "policy,with-host"];
    let text = output(&mut compare(&trace(directory.path()), &all));
    for word in ["write amplification", "sepbit", "haml, moved with-host", "geometric mean"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let csv = std::fs::read_to_string(tables.join("hot.csv")).unwrap();
    assert!(csv.starts_with("slice,updates,interval_ns,cluster\n"));
    // Slices of five pages: 12,000 pages, and a few that rounding adds.
    assert!((2_401..2_410).contains(&csv.lines().count()), "{} lines", csv.lines().count());
    let text = output(ssdtune().args([
        "compare",
        "placement",
        "--workload",
        "wdev_0",
        "--requests",
        "20000",
        "--policy",
        "none,auto-stream",
    ]));
    assert!(text.contains("wdev_0 (model)") && text.contains("one stream"), "{text}");
}

#[test]
fn a_write_buffer_absorbs_pages_and_victims_are_crossed_apart() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let more = ["--policy", "none,oracle-order", "--victims", "greedy,rga-8"];
    let text = output(compare(&trace, &more).args(["--write-buffer", "400"]));
    for words in ["Behind a write buffer of 400 pages", "geometric mean by victims  greedy  rga-8"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let json = output(compare(&trace, &more).args(["--write-buffer", "400", "--json"]));
    let document: Value = serde_json::from_str(&json).expect("one JSON document");
    let load = &document["loads"][0];
    let number = |at: &Value| at.as_f64().expect("a number");
    let (buffer, cells) = (&load["write_buffer"], load["cells"].as_array().unwrap());
    assert_eq!((&buffer["pages"], &buffer["host_pages"]), (&400.into(), &60_000.into()));
    let absorbed = number(&buffer["absorbed_pages"]);
    assert!(absorbed > 0.0, "{buffer}");
    assert_eq!(number(&load["written_pages"]), 60_000.0 - absorbed);
    for cell in cells {
        let measured = &cell["measured"];
        let programmed = number(&measured["host_pages"]) + number(&measured["moved_pages"]);
        let ratio = number(&measured["programs_per_host_page"]);
        assert!((ratio - programmed / 30_000.0).abs() < 1e-9, "{cell}");
    }
    let victims: Vec<&Value> = cells.iter().map(|cell| &cell["victims"]).collect();
    assert_eq!(victims, [&Value::Null, &Value::Null, &"rga-8".into(), &"rga-8".into()]);
}

#[test]
fn policies_are_compared_pair_by_pair_on_loads_that_have_settled() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let more = ["--policy", "none,haml,oracle", "--haml", "readings,equal-memory"];
    let settled = [&more[..], &["--block-pages", "16", "--settle", "0.01", "--json"]].concat();
    let json = output(&mut compare(&trace, &settled));
    let document: Value = serde_json::from_str(&json).expect("one JSON document");
    let cells = document["loads"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 9, "none, haml seven times, oracle");
    for cell in &cells[..8] {
        let measured = &cell["measured"];
        assert!(measured["passes"].as_u64() > Some(1), "{cell}");
        assert!(measured["write_amplification_before"].as_f64() > Some(1.0), "{cell}");
    }
    assert!(cells[8]["not_applicable"].as_str().unwrap().contains("one replay only"));
    // 12,000 pages of 4 B each: room for 1,297 slices of 37 B.
    let memory = cells.iter().find(|cell| cell["policy"] == "haml, memory of asa-ftl").unwrap();
    assert_eq!(memory["slices"], 1_297);
    let paired = document["paired"].as_array().unwrap();
    let first = &paired[0];
    assert_eq!((&first["policy"], &first["beside"]), (&"haml".into(), &"none".into()));
    assert_eq!((&first["loads"], &first["verdict"]), (&1.into(), &"undecided".into()));
}

#[test]
fn a_drive_like_a_preset_is_timed() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let more = ["--policy", "none,haml", "--like", "samsung-850-pro", "--response", "2000"];
    let text = output(&mut compare(&trace, &more));
    for words in ["samsung-850-pro cut to the pages", "p99 response time, beside none"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let json = output(compare(&trace, &more).arg("--json"));
    let document: Value = serde_json::from_str(&json).expect("one JSON document");
    for cell in document["loads"][0]["cells"].as_array().unwrap() {
        let response = &cell["response"];
        assert_eq!(response["requests"], 2_000, "{cell}");
        let number = |key: &str| response[key].as_f64().unwrap();
        assert!(number("p50_ns") <= number("p99_ns") && number("p99_ns") <= number("p999_ns"));
        assert!(number("nanojoules_per_byte") > 0.0 && number("terabytes_written") > 0.0);
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small.csv");
    std::fs::write(&small, "time_ns,tenant,op,lba,sectors\n0,0,W,0,16\n5,0,W,16,16\n").unwrap();
    compare(&small, &[])
        .assert()
        .code(1)
        .stdout(predicate::str::contains("too few to tell placement policies apart"))
        .stderr(predicate::str::contains("nothing was measured"));
    let wrong = |args: &[&str], code: i32, message: &str| {
        let mut command = compare(&small, args);
        command.assert().code(code).stderr(predicate::str::contains(message));
    };
    wrong(&["--policy", "haml,lru"], 2, "--policy lru: must be one of none");
    wrong(&["--victims", "rga-0"], 2, "--victims rga-0: must be one of greedy");
    wrong(&["--write-buffer", "64", "--response", "9"], 2, "cannot be used with");
    wrong(&["--haml", "no-slices"], 2, "--haml no-slices: must be one of no-wear-rules");
    wrong(&["--beside", "lru"], 2, "--beside lru: must be one of none");
    wrong(&["--like", "intel-751"], 2, "intel-751");
    wrong(&["--like", "intel-750", "--spare", "0.2"], 2, "cannot be used with");
    wrong(&["--clusters", "17"], 2, "17");
    wrong(&["--periods", "0"], 2, "from 1 to");
    std::fs::write(&small, "time_ns,tenant,op,lba,sectors\n0,0,R,0,16\n").unwrap();
    wrong(&[], 3, "no write");
    let mut missing = compare(&directory.path().join("none.csv"), &[]);
    missing.assert().code(3);
}

/// A drive of 128 MiB with a policy.
fn simulate(trace: &Path, policy: &str, more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["simulate", "--device", "haml", "--trace"]).arg(trace);
    for set in [
        "bus.channels=2",
        "bus.chips_per_channel=1",
        "flash.blocks_per_plane=128",
        "flash.pages_per_block=32",
        "mapping.overprovisioning=0.25",
        "placement.period_ns=1s",
        &format!("placement.policy={policy}"),
    ] {
        command.args(["--set", set]);
    }
    command.args(["--fit-addresses", "wrap"]).args(more);
    command
}

#[test]
fn every_policy_runs_in_time_from_every_start_and_from_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let kept = directory.path().join("drive.snapshot");
    let older = ["none", "auto-stream", "hotis", "asa-ftl", "haml", "sepbit"];
    for policy in older.into_iter().chain(["dac", "warcip", "midas", "lifespan"]) {
        for start in [["--start", "steady"], ["--start", "sequential"], ["--warm-up", "trace"]] {
            let kept = kept.to_str().unwrap();
            let save = ["--save", kept, "--force", "--json", start[0], start[1]];
            let whole = output(&mut simulate(&trace, policy, &save));
            let document: Value = serde_json::from_str(&whole).unwrap();
            let report = &document["cells"][0]["report"];
            assert_eq!(report["requests"]["completed"], 60_000, "{policy} {start:?}");
            let moved = report["flash"]["pages_programmed_moved"].as_u64();
            assert!(moved > Some(0), "{policy} {start:?}: nothing was collected");
            let restored = output(&mut simulate(&trace, policy, &["--restore", kept, "--json"]));
            let restored: Value = serde_json::from_str(&restored).unwrap();
            assert_eq!(
                restored["cells"][0]["report"]["flash"], report["flash"],
                "{policy} {start:?}"
            );
        }
    }
}

#[test]
fn a_drive_too_small_for_its_frontiers_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path());
    let mut small = simulate(&trace, "haml", &["--set", "flash.blocks_per_plane=64"]);
    small.assert().failure().stderr(predicate::str::contains("spare blocks in each plane"));
    let mut eager = simulate(&trace, "haml", &["--set", "compat.eager_frontiers=true"]);
    eager.assert().failure().stderr(predicate::str::contains("compat.eager_frontiers"));
}
