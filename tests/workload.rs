//! Tests of `ssdtune workload` and `ssdtune recommend` through the command.

use crate::support::{self, ssdtune};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = ssdtune();
        command.args(arguments).env("SSDTUNE_DB", self.path("db"));
        command
    }

    fn json(&self, arguments: &[&str]) -> Value {
        support::document(&mut self.run(arguments))
    }

    /// Writes a trace file of a bundled model and returns its path.
    fn trace(&self, name: &str, model: &str, requests: &str) -> String {
        let path = self.path(name).display().to_string();
        let made =
            ["trace", "generate", model, "-n", requests, "--seed-set", "validation", "-o", &path];
        ssdtune().args(made).assert().success();
        path
    }
}

#[test]
fn seven_categories_are_learned_and_recognise_their_own() {
    let scratch = Scratch::new();
    let learned = scratch.json(&["workload", "learn", "--bundled", "--windows", "12"]);
    let workloads = learned["workloads"].as_array().expect("a list");
    assert_eq!(workloads.len(), 7);
    assert!(workloads.iter().all(|one| one["outcome"] == "founded" && one["windows"] == 12));
    assert_eq!(learned["explained_variance_ratio"].as_array().map(Vec::len), Some(5));
    // A category reaches three quarters of the way to the next one at most.
    let least = learned["category_distance_min"].as_f64().expect("a distance");
    assert!(least > 20.0 / 0.75 && learned["threshold_default"] == 20.0);

    let names: Vec<&str> = workloads.iter().filter_map(|one| one["workload"].as_str()).collect();
    let seeds = ["--seed-set", "held-out", "--windows", "10"];
    let verdicts = scratch.json(&[&["workload", "classify"], &names[..], &seeds].concat());
    for (name, verdict) in names.iter().zip(verdicts.as_array().expect("a list")) {
        assert_eq!((&verdict["name"], &verdict["inside"]), (&json!(name), &json!(true)));
        assert!(verdict["windows_share"].as_f64().is_some_and(|share| share >= 0.9), "{verdict}");
        assert_eq!(verdict["outliers"], 0, "{verdict}");
    }
}

#[test]
fn traces_join_or_add_categories_and_are_listed_and_drawn() {
    let scratch = Scratch::new();
    scratch.json(&["workload", "learn", "websearch", "tpcc", "--windows", "8"]);
    let trace = scratch.trace("index.csv", "websearch", "12000");
    let joined = scratch.json(&["workload", "learn", &trace]);
    assert_eq!(joined["workloads"][0]["outcome"], "joined");
    assert_eq!(joined["workloads"][0]["category"], "websearch");
    assert_eq!(scratch.json(&["workload", "learn", &trace])["workloads"][0]["outcome"], "known");
    let added = scratch.json(&["workload", "learn", "lpm-sequential-write", "--windows", "6"]);
    assert_eq!(added["workloads"][0]["outcome"], "added");
    // A workload that is said to belong to a category and does not is kept as an outlier.
    let odd = scratch.json(&["workload", "learn", "websearch=lpm-sequential-write@rate-half"]);
    assert_eq!(odd["workloads"][0]["outcome"], "outlier", "{odd}");

    let list = scratch.json(&["workload", "list"]);
    let categories = list["categories"].as_array().expect("a list");
    let names: Vec<_> = categories.iter().map(|one| one["name"].as_str()).collect();
    assert_eq!(names, [Some("websearch"), Some("database"), Some("lpm-sequential-write")]);
    assert_eq!(categories[0]["workloads"], json!(["index", "websearch"]));
    assert_eq!(categories[0]["outliers"].as_array().map(Vec::len), Some(1));

    let picture = scratch.path("fig2.svg");
    scratch.run(&["workload", "plot", "-o"]).arg(&picture).assert().success();
    let svg = fs::read_to_string(&picture).expect("a picture");
    // 8 + 8 + 4 + 6 + 40 windows, and a dot for each category in the legend.
    assert_eq!(svg.matches("<circle").count(), 66 + 3);
    assert_eq!(svg.matches("http").count(), 1, "nothing outside but the name of the format");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("\ndatabase (8)\n"), "{svg}");
    scratch.run(&["workload", "plot", "--components", "3,9"]).assert().code(2);
}

/// A line of an export that stores a configuration for a category, as a search does.
pub fn stored(generation: u32, cluster: u32, grade: f64, configuration: &str) -> String {
    let digest = format!("{generation:064x}");
    let key: String =
        format!("cluster {cluster:05}/{digest}/0000").bytes().map(|b| format!("{b:02x}")).collect();
    let value = json!({
        "cluster": cluster, "target": "websearch", "configuration": configuration, "grade": grade,
        "baseline": "intel-750", "constraints": "", "search": digest, "rank": 0, "watts": null,
        "measures": [{
            "workload": "websearch", "target": true,
            "latency_speedup": 1.3, "throughput_speedup": 1.1,
        }],
    });
    json!({"kind": "search", "key": key, "generation": generation, "epoch": 1, "value": value})
        .to_string()
}

#[test]
fn a_known_workload_gets_its_configuration_at_once() {
    let scratch = Scratch::new();
    let missing = scratch.run(&["recommend", "websearch"]).assert().code(2);
    missing.stderr(predicate::str::contains("there is no AutoDB at"));
    scratch.json(&["workload", "learn", "websearch", "tpcc", "--windows", "8"]);
    let trace = scratch.trace("index.csv.zst", "websearch", "9000");
    let nothing = scratch.run(&["recommend", &trace]).assert().code(1);
    nothing.stderr(predicate::str::contains("no configuration is stored for category websearch"));

    let better = "name = \"better\"\nbase = \"intel-750\"\n";
    let lines = [
        r#"{"autodb":"ssdtune","schema":1,"generation":3}"#.to_owned(),
        stored(1, 0, 0.2, "name = \"good\"\nbase = \"intel-750\"\n"),
        stored(2, 0, 0.3, better),
        stored(3, 1, 0.9, "name = \"for others\"\nbase = \"z-ssd\"\n"),
    ];
    scratch.run(&["db", "import", "-"]).write_stdin(lines.join("\n")).assert().success();
    scratch.run(&["recommend", &trace]).assert().success().stdout(better);
    let report = scratch.json(&["recommend", &trace]);
    assert_eq!(
        (&report["recommendation"]["grade"], &report["verdict"]["name"]),
        (&json!(0.3), &json!("websearch"))
    );
    let file = scratch.path("drive.toml");
    scratch
        .run(&["recommend", "websearch", "--windows", "2", "-o"])
        .arg(&file)
        .assert()
        .success()
        .stdout("");
    ssdtune().args(["config", "check"]).arg(&file).assert().success();

    let limits = scratch.path("limits.toml");
    fs::write(&limits, "interface = \"sata\"\n").expect("written");
    let none = scratch.run(&["recommend", &trace, "--constraints"]).arg(&limits).assert().code(1);
    none.stderr(predicate::str::contains("none of the 2 stored configurations keeps"));
    let nowhere = scratch.run(&["recommend", "lpm-sequential-write"]).assert().code(1);
    nowhere.stderr(predicate::str::contains("belongs to no category (the nearest is"));
}

#[test]
fn recommendations_follow_their_targets_into_new_categories() {
    let scratch = Scratch::new();
    scratch.json(&["workload", "learn", "websearch", "vdi", "--windows", "8"]);
    let uncategorised = 4_294_967_295;
    let lines = [
        r#"{"autodb":"ssdtune","schema":1,"generation":2}"#.to_owned(),
        stored(1, 0, 0.2, "name = \"good\"\nbase = \"intel-750\"\n"),
        stored(2, uncategorised, 0.3, "name = \"before\"\nbase = \"intel-750\"\n"),
    ];
    scratch.run(&["db", "import", "-"]).write_stdin(lines.join("\n")).assert().success();
    // Learning in the other order changes the number of websearch.
    let learn = ["workload", "learn", "vdi", "websearch", "--windows", "8", "--anew"];
    let anew = scratch.run(&learn).assert().success();
    anew.stderr(predicate::str::contains("2 stored recommendations are filed"));
    let found = scratch.json(&["recommend", "websearch", "--windows", "8"]);
    assert_eq!(found["recommendation"]["cluster"], 1);
    assert_eq!(found["recommendation"]["grade"], 0.3, "both are there: {found}");
    let other = scratch.run(&["recommend", "vdi", "--windows", "8"]).assert().code(1);
    other.stderr(predicate::str::contains("no configuration is stored for category vdi"));
}

#[test]
fn what_cannot_be_learned_is_said_with_the_right_code() {
    let scratch = Scratch::new();
    let short = scratch.trace("short.csv", "websearch", "2999");
    let too_short = scratch.run(&["workload", "learn", &short]).assert().code(3);
    too_short.stderr(predicate::str::contains("short: 2999 requests are no whole window"));
    let typing = scratch.run(&["workload", "learn", "webserach"]).assert().code(2);
    typing.stderr(predicate::str::contains("did you mean `websearch`"));
    scratch
        .run(&["workload", "learn", "a/none.csv"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("no such file"));
    let none = scratch.run(&["workload", "classify", "websearch"]).assert().code(2);
    none.stderr(predicate::str::contains("`ssdtune workload learn` makes them"));
    scratch.run(&["workload", "learn", "websearch", "--threshold", "near"]).assert().code(2);
    scratch.run(&["workload", "learn"]).assert().code(2);
}
