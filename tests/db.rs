//! Tests of `ssdtune db` from end to end: export, import, listing, upkeep, wrong input.

use crate::support::{self, Scratch};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

impl Scratch {
    fn json(&self, name: &str, arguments: &[&str]) -> Value {
        support::document(&mut self.db(name, arguments))
    }

    /// Makes an AutoDB of 40 records of two kinds by an import. Returns the imported file.
    fn filled(&self, name: &str) -> PathBuf {
        let mut text = r#"{"autodb":"ssdtune","schema":1,"generation":40}"#.to_owned();
        for number in 0..40 {
            let kind = if number % 4 == 0 { "model" } else { "run" };
            let key: String =
                format!("key {number:02} of forty").bytes().map(|b| format!("{b:02x}")).collect();
            let value = json!({"number": number, "third": f64::from(number) / 3.0});
            let generation = 40 - number;
            let line = json!({
                "kind": kind, "key": key, "generation": generation, "epoch": 1, "value": value
            });
            text += &format!("\n{line}");
        }
        let file = self.path("filled.jsonl");
        fs::write(&file, text).expect("written");
        let imported = self.json(name, &["import", file.to_str().expect("Unicode")]);
        assert_eq!(imported, json!({"added": 40, "same": 0, "kept": 0, "replaced": 0}));
        file
    }
}

#[test]
fn an_export_comes_back_byte_for_byte() {
    let scratch = Scratch::new();
    scratch.filled("a");
    let (out, again) = (scratch.path("out.jsonl"), scratch.path("again.jsonl"));
    let export = |name: &str, to: &Path| {
        scratch.db(name, &["export", "-o", to.to_str().expect("Unicode")]).assert().success();
        fs::read(to).expect("an export")
    };
    let first = export("a", &out);
    scratch.db("b", &["import", out.to_str().expect("Unicode")]).assert().success();
    assert_eq!(export("b", &again), first);
    scratch.db("b", &["export"]).assert().success().stdout(first.clone());
    let models = scratch.db("a", &["export", "--kinds", "model"]).assert().success();
    let lines = String::from_utf8_lossy(&models.get_output().stdout).lines().count();
    assert_eq!(lines, 1 + 10);
    // An import from standard input, into an AutoDB that has all these records.
    let piped = scratch.db("b", &["import", "-"]).write_stdin(first).assert().success();
    piped.stdout(predicate::str::contains("0 added, 0 replaced, 40 there already"));
}

#[test]
fn records_are_listed_and_shown() {
    let scratch = Scratch::new();
    scratch.filled("a");
    let summary = scratch.json("a", &["list"]);
    assert_eq!((&summary["generation"], &summary["damaged"]), (&json!(40), &json!(0)));
    assert_eq!(summary["kinds"][0]["kind"], "model");
    assert_eq!(summary["kinds"][1]["records"], 30);
    let runs = scratch.json("a", &["list", "run"]);
    let keys: Vec<&str> =
        runs.as_array().expect("a list").iter().filter_map(|r| r["key"].as_str()).collect();
    assert!(keys.len() == 30 && keys.is_sorted() && keys[0] == "key 01 of forty", "{keys:?}");
    let shown = scratch.json("a", &["show", "model", "key 08 of forty"]);
    assert_eq!((&shown["value"]["number"], &shown["generation"]), (&json!(8), &json!(32)));
    assert_eq!(shown["value"]["third"], json!(8.0 / 3.0));
    // The beginning of a key is enough if it belongs to one record only.
    assert_eq!(scratch.json("a", &["show", "model", "key 36"])["value"]["number"], 36);
    let both = scratch.db("a", &["show", "model", "key"]).assert().code(2);
    both.stderr(predicate::str::contains("key 00 of forty and key 04 of forty"));
    let none = scratch.db("a", &["show", "model", "kee"]).assert().code(2);
    none.stderr(predicate::str::contains("db list model"));
}

#[test]
fn upkeep_reports_what_it_did() {
    let scratch = Scratch::new();
    scratch.filled("a");
    let old = scratch.path("old.jsonl");
    let line = r#"{"kind":"evaluation","key":"6b","generation":1,"epoch":0,"value":1}"#;
    let header = r#"{"autodb":"ssdtune","schema":1,"generation":1}"#;
    fs::write(&old, format!("{header}\n{line}\n")).expect("written");
    scratch.json("a", &["import", old.to_str().expect("Unicode")]);
    let health = scratch.json("a", &["verify"]);
    assert_eq!((&health["outdated"], &health["damaged"]), (&json!(1), &json!([])));
    let collected = scratch.json("a", &["gc", "--keep-outdated"]);
    assert_eq!((&collected["kept"], &collected["outdated"]), (&json!(41), &json!(0)));
    let collected = scratch.json("a", &["gc"]);
    assert_eq!((&collected["kept"], &collected["outdated"]), (&json!(40), &json!(1)));
    scratch.db("a", &["verify"]).assert().success().stdout(predicate::str::contains("40 records"));
}

#[test]
fn what_is_wrong_is_said_with_the_right_code() {
    let scratch = Scratch::new();
    let missing = scratch.db("none", &["list"]).assert().code(2);
    missing.stderr(predicate::str::contains("there is no AutoDB at"));
    let file = scratch.filled("b");
    for words in [&["list"][..], &["verify"], &["export"], &["import", "-"]] {
        let refused = scratch.db("filled.jsonl", words).write_stdin("").assert().code(2);
        refused.stderr(predicate::str::contains("is a file, and an AutoDB is a directory"));
    }
    assert!(file.is_file());
    let foreign = scratch.path("papers");
    fs::create_dir(&foreign).expect("a directory");
    fs::write(foreign.join("thesis.tex"), "years").expect("written");
    let refused = scratch.db("papers", &["import", "-"]).write_stdin("").assert().code(2);
    refused.stderr(predicate::str::contains("is no AutoDB and not empty"));
    scratch.db("a", &["list", "modle"]).assert().code(2).stderr(predicate::str::contains("model"));
    let file = scratch.filled("a");
    let text = fs::read_to_string(&file).expect("text").replace("key", "kee");
    fs::write(&file, text).expect("written");
    let import = ["import", file.to_str().expect("Unicode")];
    let wrong = scratch.db("a", &import).assert().code(3);
    wrong.stderr(predicate::str::contains("filled.jsonl: line 2"));
    assert_eq!(scratch.json("a", &["list"])["generation"], 40);
}

#[test]
fn conflicts_are_settled_as_asked() {
    let scratch = Scratch::new();
    let file = scratch.filled("a");
    let text = fs::read_to_string(&file).expect("text").replace(r#""number":8"#, r#""number":88"#);
    fs::write(&file, text).expect("written");
    let import = ["import", file.to_str().expect("Unicode")];
    let refused = scratch.db("a", &import).assert().code(3);
    refused.stderr(predicate::str::contains("model key 08 of forty is stored with another value"));
    let keep = scratch.json("a", &[&import[..], &["--on-conflict", "keep"]].concat());
    assert_eq!((&keep["kept"], &keep["same"]), (&json!(1), &json!(39)));
    let replace = scratch.json("a", &[&import[..], &["--on-conflict", "replace"]].concat());
    assert_eq!(replace["replaced"], 1);
    assert_eq!(scratch.json("a", &["show", "model", "key 08"])["value"]["number"], 88);
}

#[test]
fn an_autodb_in_use_is_named() {
    let scratch = Scratch::new();
    scratch.filled("a");
    let lock = File::open(scratch.path("a").join("lock")).expect("a lock");
    lock.lock().expect("nobody has it");
    let in_use = scratch.db("a", &["list"]).assert().code(1);
    let path = scratch.path("a").display().to_string();
    in_use.stderr(predicate::str::contains(format!("the AutoDB {path} is in use by process")));
}
