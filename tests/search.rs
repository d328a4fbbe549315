//! What `ssdtune search` promises about its budget, from end to end.

use crate::support::{self, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::path::Path;

/// A search of a second at most.
fn search(more: &[&str]) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(["search", "--target", "websearch", "--others", "kvstore", "--requests", "400"]);
    command.args(["--prefix", "40"]).args(more);
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
