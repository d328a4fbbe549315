//! `ssdtune simulate` from end to end: results, sweeps, files, wrong input, exit codes,
//! determinism.

use crate::support::{binary, document, root, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A drive of 256 MiB that simulates fast.
const SMALL: [&str; 12] = [
    "--set",
    "bus.channels=2",
    "--set",
    "bus.chips_per_channel=1",
    "--set",
    "flash.dies_per_chip=1",
    "--set",
    "flash.blocks_per_plane=256",
    "--set",
    "flash.pages_per_block=32",
    "--set",
    "flash.planes_per_die=2",
];

/// Writes 8 KiB pages one after the other and reads each again, 200 us apart.
fn trace(directory: &Path, name: &str, requests: u64) -> PathBuf {
    let mut text = String::new();
    for number in 0..requests {
        let (page, op) = (number / 2, number % 2);
        writeln!(text, "{} 0 {} 16 {op}", number * 200_000, page % 500 * 16).unwrap();
    }
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn simulate(trace: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["simulate", "--device", "mqsim-default"]).args(SMALL);
    command.arg("--trace").arg(trace).args(more);
    command
}

#[test]
fn a_report_counts_every_request_and_each_of_its_keys_is_documented() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 400);
    let document = document(&mut simulate(&trace, &[]));
    let report = &document["cells"][0]["report"];
    assert_eq!(report["requests"]["completed"], 400);
    assert_eq!(report["total"]["read"]["requests"], 200);
    assert_eq!(report["total"]["write"]["bytes"], 200 * 16 * 512);
    assert_eq!(report["unwritten_reads"]["pages"], 0);
    assert_eq!(report["outcome"], "completed");
    assert!(report["total"]["read"]["device_latency_ns"]["p99"].as_u64().unwrap() > 0);

    let docs = std::fs::read_to_string(root().join("docs/results-schema.md")).unwrap();
    // The keys of parameters are those of the catalogue.
    let mut document = document;
    let parameters = document["cells"][0]["parameters"].take();
    assert_eq!(parameters["flash.blocks_per_plane"], 256);
    let found: Vec<&String> = parameters.as_object().unwrap().keys().collect();
    let catalogue = crate::support::document(ssdtune().args(["config", "params"]));
    let catalogue = catalogue.as_array().unwrap();
    let mut known: Vec<&str> = catalogue.iter().map(|one| one["key"].as_str().unwrap()).collect();
    known.sort_unstable();
    assert_eq!(found, known);
    let mut keys = Vec::new();
    collect_keys(&document, &mut keys);
    assert!(keys.len() > 80, "{keys:?}");
    for key in keys {
        let (plain, dotted) = (format!("`{key}`"), format!(".{key}`"));
        assert!(docs.contains(&plain) || docs.contains(&dotted), "{key} is not documented");
    }
}

fn collect_keys(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            if !into.contains(key) {
                into.push(key.clone());
            }
            collect_keys(value, into);
        }),
        Value::Array(items) => items.iter().for_each(|item| collect_keys(item, into)),
        _ => {}
    }
}

#[test]
fn a_sweep_is_the_same_document_for_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 2_000);
    let run = |threads: &str| {
        let sweep = ["--sweep", "host.queue_fetch_size=4,64", "--sweep", "cache.mode=off,write"];
        let mut command = simulate(&trace, &sweep);
        command.args(["--sweep", "mapping.cmt_capacity_bytes=16KiB,2MiB"]);
        command.args(["--set", "mapping.ideal=false", "--threads", threads, "--json"]);
        command.assert().success().get_output().stdout.clone()
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    assert_eq!(one, run("8"));
    let document: Value = serde_json::from_slice(&one).unwrap();
    assert_eq!(document["cells"].as_array().unwrap().len(), 8);
    assert_eq!(document["cells"][1]["settings"]["cache.mode"], "off");
    let iops = |cell: usize| document["cells"][cell]["report"]["simulation"]["events"].clone();
    assert_ne!(iops(0), iops(2), "the cache mode changes nothing");
}

#[test]
fn several_traces_are_cells_or_tenants() {
    let directory = tempfile::tempdir().unwrap();
    let a = trace(directory.path(), "a.trace", 200);
    let b = trace(directory.path(), "b.trace", 100);
    let b = b.to_str().unwrap();
    let cells = document(&mut simulate(&a, &[b]));
    assert_eq!(cells["cells"].as_array().unwrap().len(), 2);
    assert_eq!(cells["cells"][1]["report"]["requests"]["completed"], 100);

    let channels = ["--tenants", "--channels", "0", "--channels", "1"];
    let tenants = document(&mut simulate(&a, &[&[b], &channels[..]].concat()));
    let report = &tenants["cells"][0]["report"];
    assert_eq!(tenants["cells"].as_array().unwrap().len(), 1);
    assert_eq!(report["tenants"][0]["all"]["requests"], 200);
    assert_eq!(report["tenants"][1]["all"]["requests"], 100);
    assert_eq!(report["total"]["all"]["requests"], 300);
    simulate(&a, &["--tenants", "--channels", "0", "--channels", "1"]).assert().code(2);
    simulate(&a, &["--tenants", "--channels", "7"]).assert().code(2);
}

#[test]
fn replay_time_scale_and_count_do_what_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 400);
    let seconds = |more: &[&str]| {
        let document = document(&mut simulate(&trace, more));
        document["cells"][0]["report"]["time"]["seconds"].as_f64().unwrap()
    };
    let open = seconds(&[]);
    assert!((0.0798..0.083).contains(&open), "{open}");
    let stretched = seconds(&["--time-scale", "2"]);
    assert!((0.1595..0.165).contains(&stretched), "{stretched}");
    assert!(seconds(&["--requests", "100"]) < 0.022);
    assert!(seconds(&["--replay", "closed:16"]) < open);
}

#[test]
fn logs_and_series_add_up_and_are_compressed_when_the_name_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 400);
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (log, series) = (at("log.csv"), at("series.csv"));
    simulate(&trace, &["--log", &log, "--series", &series, "--interval", "10"]).assert().success();
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().count(), 401);
    let series = std::fs::read_to_string(series).unwrap();
    let rows: Vec<Vec<&str>> = series.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let sum = |column: usize| rows.iter().map(|r| r[column].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!((sum(2), sum(3)), (200, 200));
    assert_eq!((rows[0][0], rows[0][1], rows[1][0]), ("0", "10000000", "10000000"));
    // 50 arrivals in 10 ms, of which the last few may be under way.
    let first = rows[0][2].parse::<u64>().unwrap() + rows[0][3].parse::<u64>().unwrap();
    assert!((44..=51).contains(&first), "{first}");
    // The controller alone takes half a watt.
    for row in &rows {
        let power: f64 = row.last().unwrap().parse().unwrap();
        assert!((0.5..50.0).contains(&power), "{power} W");
    }
    let docs = std::fs::read_to_string(root().join("docs/results-schema.md")).unwrap();
    for header in [log.lines().next().unwrap(), series.lines().next().unwrap()] {
        for column in header.split(',') {
            assert!(docs.contains(&format!("`{column}`")), "{column} is not documented");
        }
    }
    let packed = at("log.csv.zst");
    simulate(&trace, &["--log", &packed, "--sweep", "cache.mode=off,write"]).assert().success();
    let bytes = std::fs::read(at("log-1.csv.zst")).unwrap();
    assert!(bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "a zstd frame");
}

#[test]
fn tenants_are_slowed_down_by_each_other_and_the_report_says_how_much() {
    let directory = tempfile::tempdir().unwrap();
    let a = trace(directory.path(), "a.trace", 400);
    // Both traces have these times and pages, so that their requests meet at every die.
    let b = trace(directory.path(), "b.trace", 400);
    let shared = |more: &[&str]| {
        let mut command = simulate(&a, &[b.to_str().unwrap(), "--tenants"]);
        command.args(["--set", "cache.mode=off"]).args(more);
        command
    };
    let document = document(&mut shared(&["--slowdown"]));
    let cell = &document["cells"][0];
    let slowdown = &cell["slowdown"];
    let tenants = slowdown["tenants"].as_array().unwrap();
    assert_eq!(tenants.len(), 2);
    assert!(tenants.iter().any(|tenant| tenant["slowdown"].as_f64().unwrap() > 1.0));
    for index in ["min_over_max", "jain_index"] {
        assert!((0.5..=1.0).contains(&slowdown[index].as_f64().unwrap()), "{slowdown}");
    }
    let erases = |report: &Value| report["flash"]["pages_programmed_host"].as_u64().unwrap();
    let report = &cell["report"];
    assert_eq!(erases(&report["tenants"][0]) + erases(&report["tenants"][1]), erases(report));
    let docs = std::fs::read_to_string(root().join("docs/results-schema.md")).unwrap();
    let mut keys = Vec::new();
    collect_keys(slowdown, &mut keys);
    for key in keys {
        let (plain, dotted) = (format!("`{key}`"), format!(".{key}`"));
        assert!(docs.contains(&plain) || docs.contains(&dotted), "{key} is not documented");
    }
    shared(&["--slowdown"]).assert().success().stdout(predicate::str::contains("fairness"));
    simulate(&a, &["--slowdown"]).assert().code(2).stderr(predicate::str::contains("--tenants"));
}

#[test]
fn addresses_beyond_the_drive_are_an_error_that_names_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("far.trace");
    std::fs::write(&path, "0 0 0 16 0\n1000 0 99999984 16 0\n2000 0 99999984 16 1\n").unwrap();
    simulate(&path, &[])
        .assert()
        .code(3)
        .stderr(predicate::str::contains("--fit-addresses compact"));
    for how in ["wrap", "compact"] {
        let report = document(&mut simulate(&path, &["--fit-addresses", how]));
        assert_eq!(report["cells"][0]["report"]["requests"]["completed"], 3, "{how}");
    }
}

#[test]
fn wrong_input_ends_with_its_code_and_says_where() {
    let directory = tempfile::tempdir().unwrap();
    let good = trace(directory.path(), "a.trace", 10);
    let bad = directory.path().join("bad.trace");
    let text = std::fs::read_to_string(&good).unwrap() + "9000000000 0 x 16 0\n";
    std::fs::write(&bad, text).unwrap();
    simulate(&bad, &[]).assert().code(3).stderr(predicate::str::contains("line 11"));
    simulate(&directory.path().join("absent"), &[]).assert().code(3);
    for wrong in [
        &["--sweep", "gc.threshold=7"][..],
        &["--sweep", "gc.treshold=0.1"],
        &["--replay", "closed:0"],
        &["--interval", "0"],
        &["--requests", "0"],
    ] {
        simulate(&good, wrong).assert().code(2);
    }
    ssdtune().args(["simulate", "--device", "intel-750"]).assert().code(2);
    ssdtune().args(["simulate", "--workload", "database"]).assert().code(2);
    let no_model = ["simulate", "--device", "intel-750", "--workload", "databas"];
    ssdtune().args(no_model).assert().code(2).stderr(predicate::str::contains("database"));
    let nowhere = "/nonexistent/log.csv";
    simulate(&good, &["--log", nowhere]).assert().code(2);
}

#[test]
fn a_bundled_workload_runs_and_its_seed_decides() {
    let events = |seed: &str| {
        let mut command = ssdtune();
        command.args(["simulate", "--device", "intel-750", "--workload", "database"]);
        let document = document(command.args(["--requests", "2000", "--seed", seed]));
        let report = &document["cells"][0]["report"];
        assert_eq!(report["requests"]["arrived"], 2000);
        assert_eq!(report["unwritten_reads"]["pages"], 0);
        report["simulation"]["events"].as_u64().unwrap()
    };
    assert_eq!(events("1"), events("1"));
    assert_ne!(events("1"), events("2"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 100);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(binary());
    command.args(["simulate", "--json", "--device", "mqsim-default"]).args(SMALL);
    let output = command.arg("--trace").arg(trace).stdout(writer).stderr(Stdio::piped()).output();
    assert_eq!(output.expect("it runs").status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_prints_what_it_has_and_ends_with_130() {
    let mut command = Command::new(binary());
    command.args(["simulate", "--json", "--device", "intel-750", "--workload", "database"]);
    command
        .args(["--requests", "1000000000", "--start", "empty"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let report = &document["cells"][0]["report"];
    assert_eq!((&document["partial"], &report["partial"]), (&true.into(), &true.into()));
    assert_eq!(report["outcome"], "interrupted");
}

#[test]
fn a_drive_can_be_aged_before_its_run() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 400);
    for (how, pages) in [("sequential", 1.0), ("random", 6.0)] {
        let aged = ["--warm-up", how, "--occupancy", "0.9"];
        let document = document(&mut simulate(&trace, &aged));
        let report = &document["cells"][0]["report"];
        let bytes = report["capacity"]["visible_bytes"].as_f64().unwrap() / 8192.0;
        let written = report["simulation"]["warm_up_pages"].as_f64().unwrap();
        assert!((written / (bytes * 0.9 * pages) - 1.0).abs() < 1e-3, "{how}: {written}");
        assert_eq!(report["requests"]["completed"], 400);
    }
    let served = document(&mut simulate(&trace, &["--warm-up", "trace"]));
    assert_eq!(served["cells"][0]["report"]["simulation"]["warm_up_pages"], 200);
    // A drive without room for its write frontiers is failed work, as it is in a run.
    let tight = ["--warm-up", "random", "--set", "mapping.overprovisioning=0.009"];
    simulate(&trace, &tight).assert().code(1).stderr(predicate::str::contains("is full"));
    simulate(&trace, &["--warm-up", "random", "--occupancy", "1.5"]).assert().code(2);
    simulate(&trace, &["--occupancy", "0.5"]).assert().code(2);
    simulate(&trace, &["--erases", "5"]).assert().code(2);
}

#[test]
fn a_drive_can_be_born_used_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), "a.trace", 400);
    let used = ["--start", "steady", "--occupancy", "0.8", "--erases", "7"];
    let born = document(&mut simulate(&trace, &used));
    let report = &born["cells"][0]["report"];
    assert_eq!(report["simulation"]["initial_state"], "steady");
    let pages = report["simulation"]["initial_pages"].as_f64().unwrap();
    assert!(pages > 0.0 && report["unwritten_reads"]["pages"] == 0);
    assert_eq!(report["collection"]["erase_histogram"][0]["erases"], 7);

    let kept = directory.path().join("used.drive");
    let kept = kept.to_str().unwrap();
    let saved = document(&mut simulate(&trace, &[&used[..], &["--save", kept]].concat()));
    let restored = document(&mut simulate(&trace, &["--restore", kept]));
    let timeless = |document: &Value| {
        let mut report = document["cells"][0]["report"].clone();
        report["simulation"]["ftl_memory_bytes"] = 0.into();
        report
    };
    assert_eq!(timeless(&saved), timeless(&born));
    assert_eq!(timeless(&restored), timeless(&born));

    let other = ["--restore", kept, "--set", "gc.policy=fifo"];
    simulate(&trace, &other).assert().code(3).stderr(predicate::str::contains("another drive"));
    simulate(&trace, &["--restore", "/nonexistent"]).assert().code(3);
    simulate(&trace, &["--restore", kept, "--start", "steady"]).assert().code(2);
    simulate(&trace, &["--occupancy", "0.5"]).assert().code(2);
    simulate(&trace, &["--start", "steady", "--warm-up", "random"]).assert().code(2);
}

#[test]
fn a_factor_of_time_is_judged_by_its_own_flag() {
    for wrong in ["0", "-1", "nan", "1e7", "x"] {
        let words = ["simulate", "--device", "haml", "--workload", "ycsb", "--time-scale", wrong];
        let refused = ssdtune().args(words).assert().code(2);
        refused.stderr(
            predicate::str::contains("--time-scale <FACTOR>")
                .and(predicate::str::contains("from 0.000001 to 1000000")),
        );
    }
}
