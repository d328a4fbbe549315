//! `ssdtune keeper` and `simulate --allocator` from end to end: label, resume, eval, map, compare,
//! wrong input.

use crate::support::{document, parse, ssdtune};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The drive of Table I with fewer blocks.
const SMALL: [&str; 2] = ["--set", "flash.blocks_per_plane=128"];

fn keeper(words: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.arg("keeper").args(words);
    command
}

fn label(out: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = keeper(&["label", "--requests", "200", "--working-set", "512"]);
    command.args(SMALL).args(["--rate-max", "16000"]).args(more).arg("--out").arg(out);
    command
}

/// A network that always says `5:3` for mixes of both kinds.
fn model(directory: &Path) -> PathBuf {
    let mut strategies: Vec<String> =
        ["Shared", "Isolated", "7:1", "6:2", "5:3", "3:5", "2:6", "1:7"].map(str::to_owned).into();
    for a in 1..=5 {
        for b in 1..=6 - a {
            for c in 1..=7 - a - b {
                strategies.push(format!("{a}:{b}:{c}:{}", 8 - a - b - c));
            }
        }
    }
    strategies.retain(|name| name != "2:2:2:2");
    assert_eq!(strategies.len(), 42);
    let bias: Vec<f64> =
        strategies.iter().map(|name| if name == "5:3" { -0.5 } else { 0.0 }).collect();
    let layer = json!({ "inputs": 9, "weights": vec![0.0; 9 * 42], "bias": bias });
    let network =
        json!({ "version": 1, "activation": "relu", "output": "linear", "layers": [layer] });
    let model = json!({
        "version": 5, "drives": 1, "device": "test", "device_digest": "", "channels": 8,
        "made_by": "by hand", "flash": {
            "transfer_ns": 409_600.0, "read_ns": 20_000.0, "program_ns": 200_000.0,
            "dies": 2, "planes": 4,
        },
        "seed": 0, "intensity": { "requests_per_s_max": 16_000.0 }, "collect_ns": 50_000_000,
        "kind": "ranker", "abstain": 0.01, "doubt": 0.0, "switch": null,
        "strategies": strategies, "network": network,
    });
    let path = directory.join("model.json");
    std::fs::write(&path, model.to_string()).unwrap();
    path
}

#[test]
fn labels_go_on_where_they_ended_and_are_judged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("labels.jsonl");
    let summary = document(&mut label(&path, &["--mixes", "4", "--tenants", "4,2"]));
    assert_eq!(summary["mixes"], 4);
    let four = std::fs::read_to_string(&path).unwrap();
    document(&mut label(&path, &["--mixes", "24", "--tenants", "4,2"]));
    let all = std::fs::read_to_string(&path).unwrap();
    assert!(all.starts_with(&four), "what was known stays");
    // Other settings are another file.
    label(&path, &["--mixes", "4", "--tenants", "4"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("begun with other settings"));
    let model = model(directory.path());
    let mut eval = keeper(&["eval", "--all", "--model"]);
    let document = document(eval.arg(&model).arg(&path));
    assert_eq!(document["model"]["mixes"], 24);
    assert_eq!(document["cost"]["multiplications"], 9 * 42);
    assert!(document["shared"]["regret_mean"].as_f64().unwrap() > 0.0);
    let mut train = keeper(&["train", "--recipe", "none"]);
    train.arg(&path).assert().code(2).stderr(predicate::str::contains("adam-logistic"));
}

/// The shipped network was trained on labels of another seed; the drive is the same.
#[test]
fn the_shipped_network_is_for_labels_of_the_shipped_drive() {
    let directory = tempfile::tempdir().unwrap();
    let shipped = crate::support::root().join("configs/keeper/ssdkeeper.json");
    for (changed, is_told) in [(false, false), (true, true)] {
        let path = directory.path().join(format!("{changed}.jsonl"));
        let mut label = keeper(&["label", "--mixes", "24", "--requests", "200", "-q"]);
        label.args(["--working-set", "512", "--rate-max", "16000", "--out"]).arg(&path);
        if changed {
            label.args(SMALL);
        }
        label.assert().success();
        let judged = keeper(&["eval", "--model"]).arg(&shipped).arg(&path).assert().success();
        let said = String::from_utf8_lossy(&judged.get_output().stderr).into_owned();
        assert_eq!(said.contains("not configured alike"), is_told, "{said}");
    }
}

/// On a drive that it has not learned from, a network for one drive says so, and one that learned
/// from several is put on it.
#[test]
fn a_network_of_several_drives_is_put_on_any() {
    for (network, change, note) in [
        ("ssdkeeper", "bus.rate_mts=400", "was trained for ssdkeeper as it was then"),
        ("any-drive", "bus.rate_mts=400", "learned from 90 drives and was put on ssdkeeper, which"),
        ("any-drive", "mapping.allocation=dynamic", "If these had static page allocation"),
    ] {
        let path = crate::support::root().join(format!("configs/keeper/{network}.json"));
        let mut compare = keeper(&["compare", "--requests", "2000", "--level", "8", "--model"]);
        compare.arg(path).args(["--set", change, "--workload", "kvstore", "websearch"]);
        compare.assert().success().stderr(predicate::str::contains(note));
    }
}

/// All calibrated drives have such superblocks.
#[test]
fn drives_with_superblocks_in_all_channels_are_refused() {
    let network = "configs/keeper/any-drive.json";
    let allocator = format!("keeper:{network}");
    let compare = ["keeper", "compare", "--model", network, "--workload", "database", "websearch"];
    let map = ["keeper", "map", "--model", network];
    let simulate = ["simulate", "--allocator", &allocator, "--workload", "database"];
    let label = ["keeper", "label", "--out", "no-labels.jsonl"];
    for command in [&compare[..], &map, &simulate, &label, &["keeper", "shares"]] {
        let refused = ssdtune().args(command).args(["--device", "micron-7450-max-800gb"]).assert();
        refused.code(2).stderr(predicate::str::contains("cannot be divided: each of its"));
    }
    let dies = ["--device", "micron-7450-max-800gb", "--set", "gc.unit=die"];
    let refused = ssdtune().args(compare).args(dies).assert();
    refused.code(2).stderr(predicate::str::contains("--start footprint"));
}

#[test]
fn a_map_has_every_level_and_share() {
    let directory = tempfile::tempdir().unwrap();
    let plot = directory.path().join("map.svg");
    let mut map = keeper(&["map", "--model"]);
    // In a period as short as in the other tests some tenants ask for nothing.
    let path = model(directory.path());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("50000000", "1000000000")).unwrap();
    let places = document(map.arg(path).arg("--plot").arg(&plot));
    assert_eq!(places.as_array().unwrap().len(), 20 * 9);
    assert!(places.as_array().unwrap().iter().all(|place| place["strategy"] == "5:3"));
    let picture = std::fs::read_to_string(plot).unwrap();
    // A cell for each place, with its text on a line of its own, before the background.
    assert_eq!(picture.matches("<rect").count(), 1 + 20 * 9);
    assert_eq!(picture.lines().filter(|line| *line == "5:3").count(), 20 * 9);
}

#[test]
fn plans_are_compared_on_workloads() {
    let directory = tempfile::tempdir().unwrap();
    let mut compare = keeper(&["compare", "--requests", "3000", "--level", "8"]);
    compare.args(SMALL).args(["--collect-ms", "25", "--repeat", "--workload", "mds_0", "mds_1"]);
    let document = document(compare.arg("--model").arg(model(directory.path())));
    assert_eq!(document["writers"], json!([true, false]));
    assert_eq!(document["level"], 8);
    let lines = document["lines"].as_array().unwrap();
    let plans: Vec<&str> = lines.iter().map(|line| line["plan"].as_str().unwrap()).collect();
    let expected = [
        "Shared",
        "Isolated",
        "Shared, dynamic",
        "SSDKeeper",
        "SSDKeeper + hybrid",
        "SSDKeeper, repeated",
        "best of 8",
    ];
    assert_eq!(plans, expected);
    assert_eq!((&lines[2]["strategy"], &lines[3]["strategy"]), (&json!("Shared"), &json!("5:3")));
    let total = |line: &Value| line["total_ns"].as_f64().unwrap();
    assert!(lines[..2].iter().all(|line| total(line) >= total(&lines[6])));
}

/// Where pages of all tenants are placed by load, SSDKeeper works with that.
#[test]
fn an_allocator_has_the_allocation_of_its_drive() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let told = |flags: &[&str]| parse(&compare(&model, flags).assert().success());
    let total = |document: &Value, plan: &str| {
        let lines = document["lines"].as_array().unwrap();
        let line = lines.iter().find(|line| line["plan"] == plan);
        line.map(|line| line["total_ns"].as_f64().unwrap())
    };
    let (fixed, dynamic) = (told(&[]), told(&["--set", "mapping.allocation=dynamic"]));
    for plan in ["Shared", "Isolated", "Shared, dynamic", "best of 8"] {
        assert_eq!(total(&fixed, plan), total(&dynamic, plan), "{plan}");
    }
    assert_ne!(total(&fixed, "SSDKeeper"), total(&dynamic, "SSDKeeper"));
    assert!(total(&fixed, "SSDKeeper + hybrid").is_some());
    assert_eq!(total(&dynamic, "SSDKeeper + hybrid"), None);
    // A network says if it learned on the other kind of drive.
    let other = "configs/keeper/ssdkeeper-dynamic.json";
    let words = "with mapping.allocation = \"dynamic\", here it is \"hybrid\"";
    let mut command = keeper(&["compare", "--requests", "600", "--workload", "mds_0", "mds_1"]);
    command.args(["--model", other]);
    command.assert().success().stderr(predicate::str::contains(words));
    command.args(["--set", "mapping.allocation=dynamic"]);
    command.assert().success().stderr(predicate::str::contains("trained").not());
}

/// `keeper compare` of a small mix, with these flags more.
fn compare(model: &Path, flags: &[&str]) -> assert_cmd::Command {
    let mut command = keeper(&["compare", "--level", "8", "--json"]);
    if !flags.contains(&"--requests") {
        command.args(["--requests", "600"]);
    }
    command.args(SMALL).args(["--collect-ms", "10", "--workload", "mds_0", "mds_1"]);
    command.arg("--model").arg(model).args(flags);
    command
}

#[test]
fn who_has_not_decided_has_shared_channels_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let late = ["--collect-ms", "100000"];
    let with = |flags: &[&str]| {
        let mut command = keeper(&["compare", "--level", "8", "--requests", "600"]);
        command.args(SMALL).args(["--workload", "mds_0", "mds_1"]).arg("--model").arg(&model);
        command.args(flags).assert()
    };
    let row = predicate::str::is_match("(?m)^ SSDKeeper +Shared ").unwrap();
    with(&late).success().stdout(predicate::str::contains("decided nothing").and(row));
    for wrong in ["-5", "nan", "2"] {
        let words = predicate::str::contains("0.0 to 1.0").or(predicate::str::contains("a number"));
        with(&["--repeat", wrong]).code(2).stderr(words);
    }
}

#[test]
fn the_best_plan_meets_targets_first() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let told = |flags: &[&str]| parse(&compare(&model, flags).assert().success());
    let best = |document: &Value| document["lines"].as_array().unwrap().last().unwrap().clone();
    let plain = told(&[]);
    assert_eq!((&plain["aim"], &plain["targets"]), (&json!("latency"), &json!([])));
    assert!(best(&plain).get("targets_ns").is_none());
    let fair = best(&told(&["--aim", "fairness"]));
    let fairness = |line: &Value| line["slowdown"]["min_over_max"].as_f64().unwrap();
    assert!(fairness(&fair) >= fairness(&plain["lines"][0]), "{fair} is less fair than Shared");
    // No plan meets it: the best one is the one that is nearest to it.
    let strict = told(&["--slo", "mds_0:mean<1ns"]);
    let mean_ns = |line: &Value| line["targets_ns"][0].as_f64().unwrap();
    let all = strict["lines"].as_array().unwrap();
    assert!(all.iter().take(2).all(|line| mean_ns(line) >= mean_ns(&best(&strict))), "{strict}");
    // All plans meet these: the sum decides, as without them.
    let loose = told(&["--slo", "1:max<9s", "--slo", "2:read-p99<9s"]);
    assert_eq!(best(&loose)["strategy"], best(&plain)["strategy"]);
    assert_eq!(loose["targets"], json!(["1:max<9s", "2:read-p99<9s"]));
    for (flags, words) in [
        (["--slo", "mds_0:p98<2ms"], "TENANT:FIGURE<TIME"),
        (["--slo", "3:p99<2ms"], "tenants are mds_0, mds_1"),
        (["--aim", "speed"], "write latency or fairness"),
    ] {
        compare(&model, &flags).assert().code(2).stderr(predicate::str::contains(words));
    }
}

#[test]
fn the_former_flag_of_compare_works_on_and_says_what_to_write() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let now = |start: &str| compare(&model, &["--start", start]).assert().success();
    let printed = |done: &assert_cmd::assert::Assert| done.get_output().stdout.clone();
    let [empty, spread] = ["empty", "sequential:0"].map(now);
    for (former, words, now) in [
        ("first-touch", "write --start empty", &empty),
        ("spread", "--start sequential:0", &spread),
    ] {
        let done = compare(&model, &["--data", former]).assert().success();
        assert!(printed(&done) == printed(now), "--data {former}");
        done.stderr(predicate::str::contains(words));
    }
    let default = compare(&model, &[]).assert().success();
    assert!(printed(&default) == printed(&empty) && printed(&empty) != printed(&spread));
    default.stderr(predicate::str::contains("--data").not());
    let both = ["--data", "spread", "--start", "empty"];
    compare(&model, &both).assert().code(2).stderr(predicate::str::contains("cannot be used"));
}

#[test]
fn plans_are_compared_on_windows_of_a_mix() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let sampled = ["--requests", "9000", "--sample"];
    let told = parse(&compare(&model, &sampled).assert().success());
    assert_eq!((&told["run"]["requests"], &told["run"]["windows"]), (&json!(9000), &json!(8)));
    let plans: Vec<&Value> =
        told["lines"].as_array().unwrap().iter().map(|line| &line["plan"]).collect();
    assert_eq!(plans, ["Shared", "Isolated", "SSDKeeper", "SSDKeeper + hybrid", "best of 8"]);
    assert_eq!(told["lines"][0]["no_interval"], "few-windows");
    assert_eq!(told["strategies"].as_array().unwrap().len(), 8);
    for (flags, code, words) in [
        (["--sample", "--set", "mapping.allocation=dynamic"], 2, "--set mapping.allocation=static"),
        (["--sample", "--repeat", "--even"], 2, "cannot be used"),
        (["--sample", "--start", "steady:0.5"], 2, "--start steady:0.5"),
        (["--sample", "--aim", "fairness"], 2, "cannot be used"),
    ] {
        compare(&model, &flags).assert().code(code).stderr(predicate::str::contains(words));
    }
}

#[test]
fn plans_are_compared_on_drives_with_a_past() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let shared_ns = |flags: &[&str]| {
        let document = parse(&compare(&model, flags).assert().success());
        document["lines"][0]["total_ns"].as_f64().unwrap()
    };
    let spread = shared_ns(&["--start", "sequential:0"]);
    let footprint = shared_ns(&["--start", "footprint"]);
    let steady = shared_ns(&["--start", "steady:0.9"]);
    let aged = shared_ns(&["--start", "sequential:0.5", "--age", "random:1"]);
    assert!(footprint > 0.0 && aged > 0.0);
    assert!(steady > spread, "collection takes its part: {steady} and {spread}");
    compare(&model, &["--age", "random"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("add --start sequential"));
}

#[test]
fn a_simulation_takes_an_allocator() {
    let directory = tempfile::tempdir().unwrap();
    let model = model(directory.path());
    let trace = |name: &str, op: &str| {
        let path = directory.path().join(name);
        let mut text = String::from("time_ns,tenant,op,lba,sectors\n");
        for number in 0..2000 {
            text.push_str(&format!("{},0,{op},{},32\n", number * 200_000, number % 97 * 32));
        }
        std::fs::write(&path, text).unwrap();
        path
    };
    let [a, b] = [trace("a.csv", "W"), trace("b.csv", "R")];
    let run = |allocator: Option<&str>| {
        let mut command = ssdtune();
        command.args(["simulate", "--device", "ssdkeeper", "--tenants", "--trace"]).arg(&a).arg(&b);
        command.args(SMALL).args(["--start", "sequential"]);
        if let Some(allocator) = allocator {
            command.args(["--collect-ms", "20", "--allocator", allocator]);
        }
        command
    };
    let shared = document(&mut run(None));
    let keeper = document(&mut run(Some(&format!("keeper:{}", model.display()))));
    let decisions = keeper["cells"][0]["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (&decisions[0]["strategy"], &decisions[0]["at_ns"]),
        (&json!("5:3"), &json!(20_000_000))
    );
    assert!(shared["cells"][0].get("decisions").is_none(), "the document is what it was");
    let counts = |document: &Value| document["cells"][0]["report"]["requests"].clone();
    assert_eq!(counts(&shared), counts(&keeper));
    run(Some("keeper:absent.json"))
        .assert()
        .code(3)
        .stderr(predicate::str::contains("absent.json"));
    run(Some("other")).assert().code(2).stderr(predicate::str::contains("keeper:"));
}
