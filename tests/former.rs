//! Files that an earlier version wrote: each is read, or refused with a sentence that says what to
//! do.
//!
//! `tests/fixtures/former` holds them, and says which commands made them.

use crate::support::{document, root, ssdtune};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/former").join(name)
}

/// A copy of a folder, since an AutoDB is written to when it is opened.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copied(&entry.path(), &place),
            false => _ = fs::copy(entry.path(), place).unwrap(),
        }
    }
}

fn autodb() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("autodb");
    copied(&fixture("autodb"), &db);
    (directory, db)
}

// The preset has had this threshold since; the records are of the drive that it was.
const SEARCH: [&str; 19] = [
    "search",
    "--space=autoblox",
    "--target",
    "kvstore",
    "--others",
    "none",
    "--requests",
    "300",
    "--budget",
    "3",
    "--batch",
    "1",
    "--prefix",
    "0",
    "--algorithm",
    "random",
    "--seed=7",
    "--set",
    "gc.hard_threshold=0.1",
];

#[test]
fn an_autodb_is_read_and_its_evaluations_are_found() {
    let (_directory, db) = autodb();
    let listed = document(ssdtune().args(["db", "list", "--db"]).arg(&db));
    let of = |kind: &str| {
        let kinds = listed["kinds"].as_array().unwrap();
        kinds.iter().find(|own| own["kind"] == kind).unwrap()["records"].as_u64()
    };
    assert_eq!((of("evaluation"), of("search"), of("run")), (Some(5), Some(1), Some(1)));
    let searched = document(ssdtune().args(SEARCH).arg("--db").arg(&db));
    assert_eq!(searched["effort"]["run"], 0, "{}", searched["effort"]);
}

#[test]
fn a_search_of_an_earlier_version_is_called_stale_and_begun_anew() {
    let (_directory, db) = autodb();
    let listed = document(ssdtune().args(["db", "list", "--db"]).arg(&db));
    let [stale] = listed["stale"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&stale["kind"], &stale["records"]), (&"run".into(), &1.into()));
    assert!(stale["reason"].as_str().unwrap().contains("begin these searches anew"), "{stale}");
    let resume = || {
        let mut resumed = ssdtune();
        resumed.args(SEARCH).arg("--resume").arg("--db").arg(&db).assert().success()
    };
    resume().stderr(contains("no search of this version began in"));
    // What this version notes is resumed, and nothing new is stale.
    resume().stderr(contains("no search of this version began in").not());
    let listed = document(ssdtune().args(["db", "list", "--db"]).arg(&db));
    assert_eq!(listed["stale"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn a_snapshot_of_another_version_is_to_be_made_anew() {
    let mut simulate = ssdtune();
    simulate.args(["simulate", "--device", "samsung-850-pro"]);
    for set in [
        "bus.channels=2",
        "bus.chips_per_channel=1",
        "flash.dies_per_chip=1",
        "flash.planes_per_die=1",
        "flash.blocks_per_plane=64",
        "flash.pages_per_block=16",
        "mapping.overprovisioning=0.2",
    ] {
        simulate.args(["--set", set]);
    }
    simulate.args(["--workload", "kvstore", "--requests", "200", "--fit-addresses", "wrap"]);
    simulate.arg("--restore").arg(fixture("drive.snapshot"));
    let advice = "a snapshot of version 4; this program reads version 18: make it anew";
    simulate.assert().code(3).stderr(contains(advice));
}

#[test]
fn a_model_predicts_what_it_predicted() {
    let mut predict = ssdtune();
    predict.args(["predict-perf", "predict", "--point", "w50-q16-W64k.r100-R4k.s16k", "--model"]);
    let predicted = document(predict.arg(fixture("model.json")));
    let value = |index: usize| predicted["strong"][index]["value"].as_f64().unwrap();
    // As the version that wrote it said.
    let before = [20_848_515.561_167_244, 2_962.887_831_531_934_4, 18_516_254.473_168_246];
    for (index, before) in before.into_iter().enumerate() {
        assert!((value(index) / before - 1.0).abs() < 1e-9, "{} and {before}", value(index));
    }
}

#[test]
fn points_are_read_and_labels_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("model.json");
    let mut fit = ssdtune();
    fit.args(["predict-perf", "fit", "--train", "100", "--folds", "2"])
        .arg(fixture("points.jsonl"));
    let fitted = document(fit.arg("--out").arg(&out));
    assert_eq!(fitted["trained_on"], 100);
    let labels = directory.path().join("labels.jsonl");
    fs::copy(fixture("labels.jsonl"), &labels).unwrap();
    let before = fs::read(&labels).unwrap();
    let mut label = ssdtune();
    label.args(["keeper", "label", "--mixes", "1", "--requests", "500", "--tenants", "2"]);
    label.args(["--rate-max", "90000", "--seed", "4", "--out"]).arg(&labels);
    // They do not say how long strategies ran that were given up, nor what came in each slot.
    let refused = label.assert().code(3);
    refused.stderr(contains("version 1")).stderr(contains("label into another file"));
    assert!(before == fs::read(&labels).unwrap(), "labels that are there were written again");
}

#[test]
fn a_firmware_profile_without_tlb_events_is_read_fitted_and_predicted() {
    let host = fixture("ftl-host.jsonl");
    let mut predict = ssdtune();
    predict.args(["predict-perf", "ftl", "predict", "--model"]).arg(fixture("ftl-model.json"));
    let predicted = document(predict.arg("--host").arg(&host));
    let first = predicted["groups"][0]["predicted_ns"].as_f64().unwrap();
    // As the version that wrote it said.
    assert!((first / 44_128.0 - 1.0).abs() < 1e-9, "{first}");
    let mut fit = ssdtune();
    fit.args(["predict-perf", "ftl", "fit", "--host"]).arg(&host).arg("--target").arg(&host);
    let fitted = document(&mut fit);
    let events = fitted["correlations"].as_array().unwrap();
    let of = |name: &str| &events.iter().find(|own| own["event"] == name).unwrap()["here"];
    // What was not recorded is absent, not zero.
    assert!(of("INSTR").is_number() && of("DTLB_MISSES").is_null(), "{events:?}");
}
