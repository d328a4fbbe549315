//! The house rules that a machine can see: what lies where, how long files are, who depends on whom.

use ssdtune_tests::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every `.rs` file of the project, generated directories left out.
fn sources() -> Vec<PathBuf> {
    fn walk(directory: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("fuzz/corpus") {
                walk(&path, into);
            } else if path.extension().is_some_and(|end| end == "rs") {
                into.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for part in ["crates", "benches", "tests"] {
        walk(&root().join(part), &mut files);
    }
    files.sort();
    files
}

#[test]
fn files_are_short_and_finished() {
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
    for file in sources() {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let lines = text.lines().count();
        if lines > 800 {
            faults.push(format!("{}: {lines} lines, at most 800", file.display()));
        }
        for (number, line) in text.lines().enumerate() {
            for word in unfinished.iter().filter(|word| line.contains(**word)) {
                faults.push(format!("{}:{}: {word}", file.display(), number + 1));
            }
        }
        if file.ends_with("mod.rs") {
            faults.push(format!("{}: call it by its module's name", file.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_source_file_says_what_it_is() {
    let test_modules = |file: &PathBuf| !file.ends_with("tests.rs");
    for file in sources().into_iter().filter(test_modules) {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let head = text.lines().take(3).any(|line| line.starts_with("//!"));
        assert!(head, "{} has no header", file.display());
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

/// model <- trace, ftl <- sim <- tune, keeper, predict <- ssdtune; learn alone.
#[test]
fn dependencies_follow_the_arrows() {
    let model = ["model"];
    let parts = ["model", "trace", "ftl"];
    let tools = ["model", "trace", "ftl", "sim", "learn"];
    let may: BTreeMap<&str, &[&str]> = [
        ("model", &[][..]),
        ("learn", &[]),
        ("trace", &model),
        ("ftl", &model),
        ("sim", &parts),
        ("tune", &tools),
        ("keeper", &tools),
        ("predict", &tools),
        ("ssdtune", &["model", "trace", "ftl", "sim", "learn", "tune", "keeper", "predict"]),
    ]
    .into();
    for entry in fs::read_dir(root().join("crates")).expect("a directory") {
        let directory = entry.expect("an entry").path();
        let name = directory.file_name().expect("a name").to_string_lossy().into_owned();
        let allowed = may.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the plan"));
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("TOML");
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        for dependency in dependencies.into_iter().flat_map(toml::Table::keys) {
            let Some(other) = dependency.strip_prefix("ssdtune-") else { continue };
            assert!(allowed.contains(&other), "{name} must not depend on {other}");
        }
    }
}

#[test]
fn the_readme_has_the_two_commands_and_the_ci_script_runs_the_second() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a README");
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(commands.len() >= 2 && commands[0].starts_with("cargo run --release"), "{commands:?}");
    let script = fs::read_to_string(root().join(".ci/run")).expect("a script");
    assert!(script.contains(commands[1]), "{} is not in .ci/run", commands[1]);
}
