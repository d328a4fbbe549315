//! Drives as files, from end to end: what a file says is the drive that is simulated, in whichever
//! form it was written.

use crate::support::{parse, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::path::Path;

/// A search that takes about a second, its files in `out`.
fn search(out: &Path) -> assert_cmd::assert::Assert {
    let mut command = ssdtune();
    command.args(["search", "--target", "websearch", "--others", "database", "--no-db"]);
    command.args(["--requests", "600", "--budget", "6", "--prefix", "150", "--out"]).arg(out);
    command.assert().success()
}

fn grades(drives: &[&Path]) -> Vec<Value> {
    let mut command = ssdtune();
    command.args(["grade", "--target", "websearch", "--others", "database", "--no-db"]);
    command.args(["--requests", "600", "-q", "--json"]).args(drives);
    let graded = parse(&command.assert().success());
    graded.as_array().expect("a list").iter().map(|one| one["grade"].clone()).collect()
}

fn convert(from: &Path, to: &Path) -> assert_cmd::assert::Assert {
    ssdtune().args(["config", "convert"]).arg(from).arg("-o").arg(to).assert().success()
}

#[test]
fn both_files_of_a_recommendation_are_the_same_drive() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    // The search says what MQSim will not know of the drive.
    search(&out).stderr(
        predicate::str::contains("recommended.xml: cache.mode = read-write: only ssdtune reads it")
            .and(predicate::str::contains("recommended.xml: [compat]: only ssdtune reads")),
    );
    let (toml, xml) = (out.join("recommended.toml"), out.join("recommended.xml"));
    // The way that README names, from XML to TOML.
    let back = directory.path().join("my.toml");
    convert(&xml, &back).stderr("");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(&back), read(&toml));
    let graded = grades(&[&toml, &xml, &back]);
    assert!(graded[0].as_f64().unwrap() > 0.0, "{graded:?}");
    assert_eq!((&graded[1], &graded[2]), (&graded[0], &graded[0]));
}

#[test]
fn an_edited_element_counts_and_a_broken_comment_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let xml = directory.path().join("a.xml");
    let written = convert(Path::new("intel-750"), &xml);
    written.stderr(predicate::str::contains("note: cache.mode = read-write: only ssdtune"));
    let text = std::fs::read_to_string(&xml).unwrap();
    let fewer = text.replace("<Flash_Channel_Count>12<", "<Flash_Channel_Count>6<");
    std::fs::write(&xml, fewer).unwrap();
    let diff = ssdtune().args(["config", "diff", "intel-750", "--json"]).arg(&xml).assert();
    let changes = parse(&diff);
    assert_eq!(changes.as_array().map(Vec::len), Some(1), "{changes}");
    assert_eq!((&changes[0]["key"], &changes[0]["second"]), (&"bus.channels".into(), &6.into()));
    std::fs::write(&xml, text.replace("read-write", "read-wrote")).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("mode = ")).unwrap();
    let refused = ssdtune().args(["config", "show"]).arg(&xml).assert().code(3);
    let said = format!("{}:{line}: cache.mode = \"read-wrote\": must be a name", xml.display());
    refused.stderr(predicate::str::contains(said));
}

#[test]
fn a_file_of_mqsim_has_every_switch_on_and_a_pair_always_has() {
    let plain = "tests/agreement/ssd/r_rr4k_qd4.xml";
    let shown = ssdtune().args(["config", "convert", plain]).assert().success();
    let shown = shown.stderr(predicate::str::contains("every switch of [compat] is on"));
    let toml = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(
        toml.contains("chip_idle_batches = true") && !toml.contains("chip_idle_batches = false")
    );
    // The same elements with an annotation that turns the switches off: a pair does not obey it.
    let directory = tempfile::tempdir().unwrap();
    let (off, xml) = (directory.path().join("off.toml"), directory.path().join("off.xml"));
    std::fs::write(&off, toml.replace("chip_idle_batches = true", "chip_idle_batches = false"))
        .unwrap();
    convert(&off, &xml);
    let pair = |ssd: &Path| {
        let mut command = ssdtune();
        command.args(["simulate", "--requests", "300", "--json", "--mqsim"]).arg(ssd);
        let done = command.arg("tests/agreement/workload/r_rr4k_qd4.xml").assert().success();
        let obeyed = predicate::str::contains("is not obeyed");
        assert_eq!(obeyed.eval(&String::from_utf8_lossy(&done.get_output().stderr)), ssd == xml);
        parse(&done)["cells"][0]["report"]["latency_ns"].clone()
    };
    assert_eq!(pair(Path::new(plain)), pair(&xml));
}
