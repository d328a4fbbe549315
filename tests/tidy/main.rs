//! The house rules that a machine can see: what lies where, how long things are,
//! who depends on whom.

mod direction;
mod length;
mod links;
mod modules;
mod release;
mod scripts;
mod shape;
mod source;

use source::{root, sources};
use std::collections::BTreeSet;
use std::fs;

/// Accepts no breach of a rule.
fn hold(rule: &str, faults: Vec<String>) {
    assert!(faults.is_empty(), "rule `{rule}`:\n{}", faults.join("\n"));
}

#[test]
fn files_are_finished() {
    // In pieces, so that this list does not find itself.
    let unfinished = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("dbg", "!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore"),
        concat!("/ho", "me/"),
    ];
    let mut faults = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            for word in unfinished.iter().filter(|word| line.contains(**word)) {
                faults.push(format!("{}:{}: {word}", source.path, number + 1));
            }
        }
        if source.path.ends_with("/mod.rs") {
            faults.push(format!("{}: call it by its module's name", source.path));
        }
    }
    hold("finished", faults);
}

#[test]
fn every_file_says_what_it_is() {
    for source in sources().iter().filter(|source| !source.path.ends_with("/tests.rs")) {
        let head = source.text.lines().take(3).any(|line| line.starts_with("//!"));
        assert!(head, "{} has no header", source.path);
    }
}

#[test]
fn the_top_level_is_as_agreed() {
    let agreed: BTreeSet<&str> = [
        "crates",
        "traces",
        "configs",
        "benches",
        "tests",
        "docs",
        "scripts",
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "rustfmt.toml",
        "deny.toml",
    ]
    .into();
    let entries = fs::read_dir(root()).expect("a directory");
    let names =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let found: BTreeSet<String> = names
        .filter(|name| {
            // What builds leave, and where searches remember unless told otherwise.
            !name.starts_with('.') && name != "target" && name != "ssdtune.autodb"
        })
        .collect();
    for name in &found {
        assert!(agreed.contains(name.as_str()), "{name} does not belong at the top level");
    }
    for name in agreed {
        assert!(found.contains(name), "{name} is missing at the top level");
    }
    assert!(root().join(".ci/run").is_file());
}

#[test]
fn the_readme_has_the_two_commands_and_the_ci_script_runs_the_second() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a README");
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(commands.len() >= 2 && commands[0].starts_with("cargo run --release"), "{commands:?}");
    let script = fs::read_to_string(root().join(".ci/run")).expect("a script");
    assert!(script.contains(commands[1]), "{} is not in .ci/run", commands[1]);
}
