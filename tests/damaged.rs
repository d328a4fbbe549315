//! A damaged AutoDB: whatever command meets it says the same and ends with the same code, leaves
//! its files alone, and `ssdtune db export` saves what is left.

use crate::support::{self, Scratch, ssdtune};
use predicates::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const RECORDS: usize = 200;

/// An AutoDB of numbered models, and the file that it was imported from.
struct Sound {
    scratch: Scratch,
    lines: BTreeSet<String>,
}

impl Sound {
    fn new() -> Self {
        let scratch = Scratch::new();
        let header = json!({"autodb": "ssdtune", "schema": 1, "generation": RECORDS});
        let line = |number: usize| {
            let key = format!("{number:08x}");
            let value = format!("model {number} ").repeat(10 + number % 30);
            format!(
                r#"{{"kind":"model","key":"{key}","generation":{},"epoch":1,"value":"{value}"}}"#,
                number + 1
            )
        };
        let lines: BTreeSet<String> = (0..RECORDS).map(line).collect();
        let mut text = header.to_string();
        lines.iter().for_each(|line| text += &format!("\n{line}"));
        let file = scratch.path("all.jsonl");
        fs::write(&file, text).expect("written");
        let sound = Self { scratch, lines };
        sound.db("db", &["import"]).arg(&file).assert().success();
        sound
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn db(&self, name: &str, arguments: &[&str]) -> assert_cmd::Command {
        self.scratch.db(name, arguments)
    }

    /// Changes a file of the AutoDB.
    fn change(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let file = self.path("db").join(file);
        let mut bytes = fs::read(&file).expect("a file");
        change(&mut bytes);
        fs::write(&file, bytes).expect("written");
    }

    /// The commands that open an AutoDB to work with it.
    fn commands(&self) -> Vec<assert_cmd::Command> {
        let mut commands: Vec<_> =
            [&["list"][..], &["list", "model"], &["show", "model", "0"], &["verify"], &["gc"]]
                .iter()
                .map(|arguments| self.db("db", arguments))
                .collect();
        let mut import = self.db("db", &["import"]);
        import.arg(self.path("all.jsonl"));
        commands.push(import);
        for arguments in [
            &["search", "--target", "websearch", "--others", "none", "--requests", "200"][..],
            &["prune", "--target", "websearch", "--others", "none", "--requests", "200"],
            &["workload", "list"],
        ] {
            let mut command = ssdtune();
            command.args(arguments).arg("--db").arg(self.path("db"));
            commands.push(command);
        }
        commands
    }

    /// Every command names the damage; then an export and an import give the lines that are left.
    fn is_refused_and_saved(&self, says: &str) -> BTreeSet<String> {
        let log = || fs::read(self.path("db/store/db")).expect("a log");
        let before = log();
        let mut texts = BTreeSet::new();
        for mut command in self.commands() {
            let refused = command.assert().code(3).stderr(predicate::str::contains(says));
            let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
            for words in ["sled", "panicked", "src/", "cause:"] {
                assert!(!said.contains(words), "{said}");
            }
            let error = said.lines().find(|line| line.starts_with("error:"));
            texts.insert(error.expect("an error").to_owned());
        }
        assert_eq!(texts.len(), 1, "one damage, one sentence: {texts:#?}");
        let text = texts.first().expect("one");
        assert!(text.contains("`ssdtune db export --db") && text.contains("`ssdtune db import"));

        let out = self.path("saved.jsonl");
        let to = out.to_str().expect("Unicode");
        let saved = self.db("db", &["export", "-o", to]).assert().code(3);
        saved.stderr(predicate::str::contains("What can be read is exported"));
        assert!(log() == before, "the damaged log was changed");
        self.db("new", &["import"]).arg(&out).assert().success();
        let again = self.db("new", &["export"]).assert().success();
        let again = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
        let lines: BTreeSet<String> = again.lines().skip(1).map(str::to_owned).collect();
        assert!(lines.is_subset(&self.lines), "only what was stored is saved");
        lines
    }
}

#[test]
fn a_log_with_a_hole_is_refused_and_the_rest_of_it_saved() {
    let sound = Sound::new();
    sound.change("store/db", |log| {
        // A log holds a value several times: as a change, and in each whole page since.
        let what = b"model 77 ";
        while let Some(at) = log.windows(what.len()).position(|window| window == what) {
            log[at..at + what.len()].fill(0);
        }
    });
    let saved = sound.is_refused_and_saved("is damaged: ");
    assert!(!saved.iter().any(|line| line.contains("model 77 ")));
    assert!(saved.len() >= RECORDS - 60, "{} are saved", saved.len());
}

#[test]
fn a_log_that_was_cut_is_refused_and_the_rest_of_it_saved() {
    let sound = Sound::new();
    sound.change("store/db", |log| {
        let at = find(log, b"model 150 ");
        log.truncate(at);
    });
    let saved = sound.is_refused_and_saved("is damaged: ");
    assert!(saved.len() < RECORDS, "{} are saved", saved.len());
}

#[test]
fn a_changed_digit_of_the_newest_generation_is_noticed_and_nothing_is_lost() {
    let sound = Sound::new();
    sound.change("acknowledged", |note| note[19] ^= 1);
    let saved = sound.is_refused_and_saved("its file `acknowledged` is not what was written");
    assert_eq!(saved, sound.lines);
    let kept = sound.db("db", &["export"]).assert().code(3);
    kept.stderr(predicate::str::contains("no record is lost"));
}

#[test]
fn a_damaged_file_of_the_engine_is_refused_and_nothing_is_lost() {
    let sound = Sound::new();
    // The engine notes how far it has read when it opens a log that has grown.
    sound.db("db", &["verify"]).assert().success();
    let notes = fs::read_dir(sound.path("db/store")).expect("a folder");
    let name = notes
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with("snap."))
        .expect("the engine's notes");
    sound.change(&format!("store/{name}"), |notes| notes[3] ^= 8);
    let saved = sound.is_refused_and_saved("is damaged: ");
    assert_eq!(saved, sound.lines);
}

/// The engine writes its notes beside their place and is killed before it renames them.
#[test]
fn half_a_file_of_a_killed_process_is_no_damage() {
    let sound = Sound::new();
    let half = sound.path("db/store/snap.FFFFFFFFFFFFFFF0.generating");
    fs::write(&half, "half").expect("written");
    let verified = support::document(&mut sound.db("db", &["verify"]));
    assert_eq!(verified["records"]["model"], RECORDS);
    assert!(!half.exists());
}

#[test]
fn an_older_version_s_store_opens_and_is_counted_from_then_on() {
    let sound = Sound::new();
    // Earlier versions wrote the number alone.
    sound.change("acknowledged", |note| note.truncate(21));
    sound.db("db", &["verify"]).assert().success();
    let one = sound.path("one.jsonl");
    let line = r#"{"kind":"run","key":"61","generation":1,"epoch":1,"value":1}"#;
    let header = r#"{"autodb":"ssdtune","schema":1,"generation":1}"#;
    fs::write(&one, format!("{header}\n{line}")).expect("written");
    sound.db("db", &["import"]).arg(&one).assert().success();
    let note = fs::read(sound.path("db/acknowledged")).expect("a note");
    assert!(note.len() > 21, "the checksum is there from the next write on");
    sound.db("db", &["verify"]).assert().success();
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).expect("it is stored")
}
