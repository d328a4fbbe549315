//! What `ssdtune search` promises about its budget, its limits and the other workloads, from end to
//! end.

use crate::support::{self, ssdtune};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// A search of a second at most.
fn search(more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["search", "--target", "websearch", "--others", "kvstore", "--requests", "400"]);
    command.args(["--space", "autoblox", "--prefix", "40"]).args(more);
    command
}

fn remembering(db: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = search(more);
    command.arg("--db").arg(db);
    command
}

/// The result document without what depends on the clock and on evaluations in memory.
fn answer(mut document: Value) -> Value {
    let fields = document.as_object_mut().expect("an object");
    fields.remove("effort");
    fields.remove("curve");
    document
}

fn run(result: &Value) -> u64 {
    result["effort"]["run"].as_u64().expect("a count")
}

/// A budget of one proposal was spent four times over, because a batch has four.
#[test]
fn a_budget_is_never_overspent_and_the_evidence_is_announced_apart() {
    for algorithm in ["random", "autoblox", "bayes"] {
        for budget in [1.0, 2.5, 6.0] {
            let mut command = search(&["--no-db", "--algorithm", algorithm, "--batch", "4"]);
            let done = command.args(["--json", "--budget", &budget.to_string()]).assert();
            let done = done.success().stderr(
                predicate::str::contains("evidence: at most ")
                    .and(predicate::str::contains("apart from the budget"))
                    .and(predicate::str::is_match("-[0-9]+ s").unwrap().not()),
            );
            let effort = &support::parse(&done)["effort"];
            let spent = effort["spent"].as_f64().unwrap();
            assert!(spent <= budget && spent > budget - 1.0, "{algorithm}: {spent} of {budget}");
            let (all, after) = (&effort["run"], effort["run_for_evidence"].as_u64().unwrap());
            assert!(after > 0 && after < all.as_u64().unwrap(), "{effort}");
        }
    }
}

#[test]
fn more_budget_goes_on_with_a_finished_search() {
    let directory = tempfile::tempdir().unwrap();
    let (db, other) = (directory.path().join("db"), directory.path().join("other"));
    // Where there is nothing to go on with, a search begins.
    let first = remembering(&db, &["--budget", "8", "--resume", "--json"]).assert().success();
    let first = support::parse(&first.stderr(predicate::str::contains("so this one begins")));
    let more = remembering(&db, &["--budget", "14", "--resume", "--json"]).assert().success();
    let more = support::parse(&more.stderr(predicate::str::contains("begins").not()));
    let at_once = support::document(&mut remembering(&other, &["--budget", "14", "-q"]));
    assert_eq!(first["ended"], "budget");
    assert!(run(&more) > 0 && run(&more) < run(&at_once), "{} run again", run(&more));
    assert_eq!(answer(more), answer(at_once));
}

/// The baseline needs more than a watt, and was recommended with exit code 0.
#[test]
fn nothing_within_the_limits_is_code_1_and_no_recommendation() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let arguments = ["--no-db", "--power-budget", "0.001", "--budget", "6", "--out"];
    let failed = search(&arguments).arg(&out).assert().code(1).stdout("");
    failed.stderr(
        predicate::str::is_match(r"the nearest, trial \d+: power_budget_watts: [0-9.]+ W")
            .unwrap()
            .and(predicate::str::is_match(r"the baseline: power_budget_watts: .* % over").unwrap()),
    );
    assert!(!out.exists(), "something was written");
    let failed = search(&arguments).arg(&out).arg("--json").assert().code(1);
    let nothing = support::parse(&failed);
    assert_eq!(nothing["found"], false);
    assert_eq!(nothing["broken"], json!(["power_budget_watts"]));
    let (nearest, baseline) = (&nothing["nearest"]["breaches"][0], &nothing["baseline"][0]);
    for breach in [nearest, baseline] {
        let of = |key: &str| breach[key].as_f64().unwrap();
        assert_eq!(breach["code"], "power_budget_watts");
        assert!((of("measured") / of("limit") - 1.0 - of("excess")).abs() < 1e-9, "{breach}");
    }
    assert!(nearest["measured"].as_f64() <= baseline["measured"].as_f64(), "{nothing}");
    assert!(!out.exists(), "something was written");
}

/// A little below what the baseline needs, a drive can be found, and only such a one is told.
#[test]
fn a_baseline_over_the_power_budget_is_left_for_a_drive_within_it() {
    let within = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(["search", "--target", "kvstore", "--others", "websearch", "--requests"]);
        command.args(["400", "--no-db", "-q", "--algorithm", "random"]).args(more);
        command.args(["--space", "autoblox"]);
        support::document(&mut command)
    };
    let watts = |found: &Value, drive: &str| {
        found["training"]["target"][drive]["average_watts"].as_f64().unwrap()
    };
    let baseline = watts(&within(&["--budget", "1"]), "baseline");
    let budget = baseline * 0.85;
    let found = within(&["--budget", "12", "--power-budget", &budget.to_string()]);
    assert_eq!(watts(&found, "baseline"), baseline);
    assert!(watts(&found, "own") <= budget, "{} of {budget} W", watts(&found, "own"));
    assert!(found["grade"].as_f64() < Some(0.0), "less power costs speed");
}

/// With latency alone in the grade, throughput of the other workload was given away.
#[test]
fn other_workloads_lose_no_more_than_they_may() {
    let found = |share: &str| {
        let mut command = ssdtune();
        command.args(["search", "--target", "database", "--others", "websearch,recomm"]);
        command.args(["--requests", "400", "--prefix", "40", "--no-db", "--budget", "12", "-q"]);
        command.args(["--alpha", "0", "--beta", "0", "--max-harm", share, "--space", "autoblox"]);
        support::document(&mut command)
    };
    let free = found("1");
    let harm = worst(&free["training"]["others"]);
    assert!(harm < 0.98, "nothing is hurt, so nothing is tested: {harm}");
    assert_eq!(free["validation"], json!([]));
    let spared = found("0.02");
    for rows in [&spared["training"]["others"], &spared["validation"]] {
        assert!(worst(rows) >= 0.98, "{rows}");
    }
    assert!(spared["grade"].as_f64() > Some(0.05), "{}", spared["grade"]);
    assert_eq!(spared["question"]["max_harm"], 0.02);
    // What was better and hurts is named.
    let refused = spared["refused"].as_array().unwrap();
    for one in refused {
        assert!(one["grade"].as_f64() > spared["grade"].as_f64(), "{one}");
        assert_eq!(one["breaches"][0]["code"], "max_harm");
    }
    assert!(!refused.is_empty(), "{spared}");
}

/// The least speedup, of latency or of throughput, among results on workloads.
fn worst(rows: &Value) -> f64 {
    let rows = rows.as_array().unwrap().iter();
    let each = rows.flat_map(|row| ["latency", "throughput"].map(|part| &row["speedup"][part]));
    each.map(|part| part.as_f64().unwrap()).fold(f64::INFINITY, f64::min)
}

/// A command of a second, on a target for which there is much to gain at the cost of `recomm`.
fn tempted(command: &[&str], share: &str) -> assert_cmd::Command {
    let mut tempted = ssdtune();
    tempted.args(command).args(["--target", "database", "--others", "websearch,recomm"]);
    tempted.args(["--requests", "400", "--prefix", "40", "--no-db", "--budget", "12", "-q"]);
    tempted.args(["--max-harm", share]);
    tempted
}

/// `ablate` had no such limit, and gave throughput of another workload away.
#[test]
fn an_ablation_keeps_the_limit_on_harm() {
    let ablate = ["ablate", "alpha", "--values", "0", "--beta", "0", "--space", "autoblox"];
    let row = |share: &str| support::document(&mut tempted(&ablate, share))[0].clone();
    let (free, spared) = (row("1"), row("0.02"));
    assert!(worst(&free["held_out"]["others"]) < 0.98, "nothing is hurt: {free}");
    assert_eq!((&free["validation"], &free["refused"]), (&json!([]), &json!([])));
    assert!(worst(&spared["validation"]) >= 0.98, "{}", spared["validation"]);
    let (most, grade) = (&free["grade"], &spared["grade"]);
    assert!(grade.as_f64() > Some(0.05) && grade.as_f64() < most.as_f64(), "{grade} {most}");
    let refused = &spared["refused"][0]["breaches"][0];
    assert_eq!((&refused["code"], &refused["workload"]), (&json!("max_harm"), &json!("recomm")));
    let told = tempted(&ablate, "0.02").assert().success();
    told.stdout(predicate::str::starts_with("alpha 0: not recommended: trial "));
}

/// `whatif` had no such limit either.
#[test]
fn a_what_if_keeps_the_limit_on_harm() {
    // Only what hurts `recomm` reaches the goal.
    let whatif = ["whatif", "--latency", "1.15x", "--space", "autoblox"];
    let free = support::document(&mut tempted(&whatif, "1"));
    assert_eq!((&free["met"], &free["max_harm"]), (&json!(true), &Value::Null));
    let failed = tempted(&whatif, "0.02").arg("--json").assert().code(1);
    let spared = support::parse(&failed);
    assert_eq!((&spared["met"], &spared["max_harm"]), (&json!(false), &json!(0.02)));
    let refused = &spared["refused"][0];
    assert!(refused["target"]["latency"].as_f64() >= Some(1.15), "{refused}");
    assert_eq!(refused["breaches"][0]["workload"], "recomm");
    assert!(worst(&spared["validation"]) >= 0.98, "{}", spared["validation"]);
    let told = tempted(&whatif, "0.02").assert().code(1);
    told.stdout(
        predicate::str::is_match("^not recommended: trial .*throughput of recomm is 0.[0-9]+x")
            .unwrap()
            .and(predicate::str::contains("1.15x shorter latency was not reached")),
    );
    // A goal within reach is reached without hurting anybody, also after changes are taken back.
    let whatif = ["whatif", "--latency", "1.05x", "--space", "autoblox"];
    let met = support::document(&mut tempted(&whatif, "0.02"));
    assert_eq!(met["met"], true);
    assert!(met["taken_back"].as_u64() > Some(0), "{met}");
    assert!(worst(&met["validation"]) >= 0.98, "{}", met["validation"]);
}

/// The next best drives are stored beside the recommended one, which alone was judged.
#[test]
fn stored_drives_say_whether_they_were_judged() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db");
    remembering(&db, &["--budget", "8", "-q"]).assert().success();
    let list = |db: &Path| {
        let mut list = ssdtune();
        let listed = support::document(list.args(["db", "list", "search", "--db"]).arg(db));
        let about = |row: &Value| row["about"].as_str().expect("a text").to_owned();
        listed.as_array().unwrap().iter().map(about).collect::<Vec<String>>()
    };
    let listed = list(&db);
    assert!(listed.len() > 1, "{listed:?}");
    assert!(listed[0].contains("other workloads lose at most 2 % on validation"), "{listed:?}");
    assert!(listed[1..].iter().all(|about| about.contains("not judged")), "{listed:?}");
    // A later search begins with all of them and takes none for judged.
    remembering(&db, &["--budget", "2", "--seed", "3", "-v"]).assert().success().stderr(
        predicate::str::is_match("[1-9] configurations known .measured and judged like").unwrap(),
    );
    let free = directory.path().join("free");
    remembering(&free, &["--budget", "4", "--max-harm", "1", "-q"]).assert().success();
    assert!(list(&free).iter().all(|about| about.contains("not judged")));
}

/// It stayed, and was another drive than the one beside it.
#[test]
fn a_result_without_xml_leaves_no_older_one() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let count = || std::fs::read_dir(&out).unwrap().count();
    let small = ["--no-db", "--budget", "1", "--out"];
    search(&small).arg(&out).assert().success();
    assert_eq!(count(), 5);
    // MQSim has no such policy.
    let other = ["--set", "gc.policy=cost-benefit", "--force"];
    let done = search(&small).arg(&out).args(other).assert().success();
    done.stderr(
        predicate::str::contains("recommended.xml is not written: gc.policy")
            .and(predicate::str::contains("recommended.xml of an earlier search is removed")),
    );
    assert_eq!(count(), 4);
    assert!(!out.join("recommended.xml").exists());
    let again = search(&small).arg(&out).args(other).assert().success();
    again.stderr(predicate::str::contains("is removed").not());
}

/// Such a trace was accepted and its addresses changed without a word, while `simulate` refuses.
#[test]
fn addresses_beyond_the_drive_are_refused_as_simulate_refuses_them() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("far.csv");
    let rows = (0..200_u64).map(|row| format!("{},0,R,{},8\n", row * 10_000, row * 80_000_000));
    let text = format!("time_ns,tenant,op,lba,sectors\n{}", rows.collect::<String>());
    std::fs::write(&trace, text).unwrap();
    let trace = trace.to_str().unwrap();
    let told = || {
        predicate::str::contains("--fit-addresses compact closes the gaps")
            .and(predicate::str::contains("--fit-addresses wrap"))
            .and(predicate::str::contains("far.csv"))
    };
    let mut simulated = ssdtune();
    simulated.args(["simulate", "--device", "intel-750", "--trace", trace]);
    simulated.assert().code(3).stderr(told());
    let tuned = |command: &[&str], more: &[&str]| {
        let mut tuned = ssdtune();
        tuned.args(command).args(["--target", trace, "--others", "none", "--no-db", "--requests"]);
        tuned.args(["200", "-q"]).args(more).assert()
    };
    let searched = ["--budget", "1", "--algorithm", "random"];
    for command in
        [&["search"][..], &["whatif", "--latency", "2x"], &["prune"], &["grade", "intel-750"]]
    {
        tuned(command, &[]).code(3).stderr(told());
    }
    for how in ["compact", "wrap"] {
        tuned(&["search", "--fit-addresses", how], &searched).success();
    }
}
