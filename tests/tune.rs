//! Tests of `ssdtune search`, `prune`, `whatif` and `ablate` from end to end: results, resumption,
//! determinism, wrong input, exit codes.

use crate::support::{self, binary, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Arguments of a search that takes about a second.
const SMALL: [&str; 12] = [
    "--space",
    "autoblox",
    "--target",
    "websearch",
    "--others",
    "database",
    "--requests",
    "600",
    "--budget",
    "12",
    "--prefix",
    "60",
];

fn search(db: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.arg("search").args(SMALL).arg("--db").arg(db).args(more);
    command
}

fn document(command: &mut assert_cmd::Command) -> Value {
    support::document(command.arg("-q"))
}

/// The result document without the parts that depend on the clock and on evaluations in memory.
fn answer(mut document: Value) -> Value {
    let fields = document.as_object_mut().expect("an object");
    fields.remove("effort");
    fields.remove("curve");
    document
}

#[test]
fn a_search_recommends_a_drive_that_is_measured_better_and_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let (db, out) = (directory.path().join("db"), directory.path().join("out"));
    let result = document(search(&db, &["--out"]).arg(&out));
    assert!(result["grade"].as_f64().unwrap() > 0.05, "{result}");
    let target = &result["training"]["target"];
    assert!(target["speedup"]["throughput"].as_f64().unwrap() > 1.0);
    assert!(target["baseline"]["utilisation"].is_number());
    assert!(target["own"]["energy_j"].as_f64().unwrap() > 0.0);
    assert_eq!(result["held_out"]["others"][0]["workload"], "database");
    assert!(!result["parameters"].as_array().unwrap().is_empty());
    assert!(result["trade"].as_array().unwrap().iter().any(|trial| trial["pareto"] == true));
    for file in ["recommended.toml", "recommended.xml"] {
        let drive = out.join(file);
        ssdtune().args(["config", "check"]).arg(&drive).assert().success();
    }
    let html = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("http"), "drawn, and alone");
    // The recommended drive keeps the interface and the flash type of the baseline.
    let text = std::fs::read_to_string(out.join("recommended.toml")).unwrap();
    assert!(text.contains("interface = \"nvme\"") && text.contains("technology = \"mlc\""));
}

#[test]
fn threads_change_nothing_and_an_autodb_only_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = document(&mut search(&directory.path().join("a"), &["--threads", "1"]));
    let second = document(&mut search(&directory.path().join("b"), &["--threads", "4"]));
    assert_eq!(answer(first.clone()), answer(second));
    let again = document(&mut search(&directory.path().join("a"), &["--resume"]));
    assert_eq!(again["effort"]["run"], 0);
    assert_eq!(answer(first), answer(again));
}

#[test]
fn a_killed_search_resumes_to_the_same_answer() {
    let directory = tempfile::tempdir().unwrap();
    let whole = document(&mut search(&directory.path().join("whole"), &[]));
    let db = directory.path().join("killed");
    let mut child = Command::new(binary())
        .arg("search")
        .args(SMALL)
        .arg("--db")
        .arg(&db)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // When the search reports an improvement, its beginning and some evaluations are stored.
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains(" grade ")), "the search found nothing better");
    child.kill().unwrap();
    let is_killed = !child.wait().unwrap().success();
    let resumed = document(&mut search(&db, &["--resume"]));
    let run = |result: &Value| result["effort"]["run"].as_u64().unwrap();
    assert!(run(&resumed) < run(&whole), "{} of {} run again", run(&resumed), run(&whole));
    // If killing took long, the search may have ended before.
    assert!(!is_killed || run(&resumed) > 0, "nothing was left to do");
    assert_eq!(answer(whole), answer(resumed));
}

#[test]
fn a_later_search_begins_with_what_an_earlier_one_found() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db");
    let first = document(&mut search(&db, &[]));
    search(&db, &["--algorithm", "random", "--seed", "9", "-v"])
        .assert()
        .success()
        .stderr(predicate::str::is_match("[1-9][0-9]* configurations known").unwrap());
    let second = document(&mut search(&db, &["--algorithm", "random", "--seed", "9", "--resume"]));
    let grade = |result: &Value| result["grade"].as_f64().unwrap();
    // The second search, on traces of another seed, begins with the drive that the first one found.
    assert!(grade(&second) > 0.5 * grade(&first), "{} {}", grade(&first), grade(&second));
}

#[test]
fn wrong_questions_are_answered_with_what_would_be_right() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db");
    let space = directory.path().join("space.toml");
    std::fs::write(&space, "[bus]\nchanels = [4, 8]\n").unwrap();
    let space = space.to_str().unwrap().to_owned();
    for (name, code, expected) in [
        (space.as_str(), 3, "did you mean bus.channels?"),
        ("paper", 2, "write market, autoblox, what-if, or a .toml file"),
    ] {
        let mut command = ssdtune();
        command.args(["search", "--target", "websearch", "--no-db", "--space", name]);
        command.assert().code(code).stderr(predicate::str::contains(expected));
    }
    for (more, code, expected) in [
        (&["--require", "chips <= 10"][..], 2, "the baseline breaks the limits"),
        (&["--require", "chip <= 10"], 2, "chip: no such key"),
        (&["--capacity", "much"], 2, "write a size such as 512GiB"),
        (&["--depth", "kvstore=4"], 2, "no such workload here"),
        (&["--evaluator", "sim"], 2, "{config.xml}"),
        (&["--algorithm", "magic"], 2, "bayes, autoblox or random"),
    ] {
        let assert = search(&db, more).assert();
        assert.code(code).stderr(predicate::str::contains(expected));
    }
    let mut unknown = ssdtune();
    unknown.args(["search", "--target", "webserch", "--no-db"]);
    unknown.assert().code(2).stderr(predicate::str::contains("did you mean `websearch`?"));
}

#[test]
fn one_process_at_a_time_has_an_autodb_open() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db");
    let mut child = Command::new(binary())
        .args(["search", "--target", "kvstore", "--requests", "50000", "--db"])
        .arg(&db)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !db.join("lock").exists() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    let refused = search(&db, &[]).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains(db.to_str().unwrap()), "{said}");
}

#[test]
fn pruning_prints_both_tables_and_a_search_follows_its_order() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db");
    let mut prune = ssdtune();
    prune.args([
        "prune",
        "--space",
        "autoblox",
        "--target",
        "websearch",
        "--requests",
        "300",
        "--samples",
        "15",
        "--no-pairs",
    ]);
    prune.arg("--db").arg(&db).assert().success().stdout(
        predicate::str::contains("not exercised: no garbage collection")
            .and(predicate::str::contains("coefficient")),
    );
    search(&db, &["--algorithm", "autoblox", "-v"])
        .assert()
        .success()
        .stderr(predicate::str::is_match("[1-9][0-9]* parameters in tuning order").unwrap());
}

#[test]
fn what_if_finds_the_cheapest_way_or_says_how_close_it_came() {
    let mut easy = ssdtune();
    easy.args(["whatif", "--target", "websearch", "--throughput", "1.2x", "--no-db"]);
    let met = document(easy.args(["--requests", "400", "--budget", "16", "--prefix", "40"]));
    assert_eq!(met["met"], true);
    assert!(met["speedup"]["throughput"].as_f64().unwrap() >= 1.2);
    assert!(met["parameters"].as_array().unwrap().len() <= 4, "{met}");
    let mut hard = ssdtune();
    hard.args(["whatif", "--target", "websearch", "--latency", "1000x", "--no-db", "-q"]);
    hard.args(["--requests", "400", "--budget", "8", "--prefix", "100"]);
    hard.assert().code(1).stdout(predicate::str::contains("was not reached"));
}

#[test]
fn an_ablation_has_a_row_for_each_value() {
    let mut ablate = ssdtune();
    ablate.args(["ablate", "alpha", "--target", "websearch", "--others", "none", "--no-db"]);
    ablate.args(["--requests", "300", "--budget", "6", "--prefix", "100", "--values", "0,1"]);
    let rows = document(&mut ablate);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    // If only one figure counts, that figure must not be worse than the baseline's.
    assert!(rows[0]["target"]["latency"].as_f64().unwrap() >= 1.0);
    assert!(rows[1]["target"]["throughput"].as_f64().unwrap() >= 1.0);

    let beta = ["ablate", "beta", "--target", "websearch", "--others", "none", "--no-db"];
    let refused = ssdtune().args(beta).args(["--requests", "300"]).assert().code(2);
    refused.stderr(predicate::str::contains("beta is the weight of --others"));
}

#[cfg(unix)]
#[test]
fn another_simulator_can_be_the_judge() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let sim = directory.path().join("sim");
    // A simulator whose drives are faster with more channels.
    let text = "#!/bin/sh\nc=$(sed -n 's/.*<Flash_Channel_Count>\\([0-9]*\\)<.*/\\1/p' $1)\n\
                echo \"{\\\"latency_ns\\\": $((1000000 / c)), \
                \\\"throughput_bps\\\": $((c * 1000))}\"\n";
    std::fs::write(&sim, text).unwrap();
    std::fs::set_permissions(&sim, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("{} {{config.xml}} {{workload.xml}}", sim.display());
    let mut search = ssdtune();
    search.args([
        "search",
        "--space",
        "autoblox",
        "--target",
        "websearch",
        "--others",
        "none",
        "--requests",
        "100",
        "--no-db",
    ]);
    search.args(["--budget", "12", "--prefix", "0", "--evaluator", &command]);
    search.args(["--set", "gc.hard_threshold=0.1"]);
    let result = document(&mut search);
    let channels =
        result["parameters"].as_array().unwrap().iter().find(|row| row["key"] == "bus.channels");
    let channels: u32 = channels.unwrap()["recommended"].as_str().unwrap().parse().unwrap();
    assert!(channels >= 20, "{channels}");
}
