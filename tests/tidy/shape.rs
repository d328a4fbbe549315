//! What a crate may depend on, how much it shows, and what it hands to a stranger.

use crate::direction::read;
use crate::hold;
use crate::source::root;
use crate::source::{EXTENSION, crates, is_library, sources};
use std::collections::BTreeMap;
use std::fs;

/// Public modules of a library.
const PUBLIC_MODULES_MAX: usize = 10;
/// Lines of the command's own crate.
const BINARY_LINES_MAX: usize = 8_000;

/// Which crates of the workspace a crate may depend on, those that these depend on included.
const ARROWS: [(&str, &[&str]); 20] = [
    ("model", &[]),
    ("learn", &[]),
    ("report", &[]),
    ("output", &[]),
    ("pages", &["model", "report"]),
    ("estimate", &[]),
    ("train", &["learn"]),
    ("trace", &["model", "output"]),
    ("ftl", &["model"]),
    ("sim", &["model", "trace", "ftl", "output"]),
    ("experiment", &["model", "trace", "ftl", "sim", "estimate", "report", "output"]),
    ("mqsim", &["model", "trace", "ftl", "sim", "experiment", "report", "output"]),
    (
        "placement",
        &["model", "trace", "ftl", "sim", "experiment", "estimate", "learn", "report", "output"],
    ),
    (
        "keeper",
        &["model", "trace", "ftl", "sim", "experiment", "estimate", "learn", "report", "output"],
    ),
    (
        "predict",
        &["model", "trace", "ftl", "sim", "experiment", "calibrate", "learn", "report", "output"],
    ),
    ("choose", &["model", "trace", "ftl", "sim", "experiment", "estimate", "report", "output"]),
    ("calibrate", &["model", "trace", "ftl", "sim", "experiment", "report", "output"]),
    (
        "tune",
        &[
            "model",
            "trace",
            "ftl",
            "sim",
            "experiment",
            "mqsim",
            "learn",
            "estimate",
            "report",
            "pages",
            "output",
        ],
    ),
    (
        "ssdtune",
        &[
            "model",
            "trace",
            "ftl",
            "sim",
            "experiment",
            "mqsim",
            "placement",
            "keeper",
            "predict",
            "calibrate",
            "choose",
            "tune",
            "learn",
            "estimate",
            "report",
            "pages",
            "output",
        ],
    ),
    (
        EXTENSION,
        &[
            "ssdtune",
            "model",
            "trace",
            "ftl",
            "sim",
            "experiment",
            "mqsim",
            "placement",
            "keeper",
            "predict",
            "calibrate",
            "choose",
            "tune",
            "learn",
            "estimate",
            "report",
            "output",
        ],
    ),
];

#[test]
fn dependencies_follow_the_arrows() {
    let arrows = BTreeMap::from(ARROWS);
    for name in crates() {
        let allowed =
            arrows.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the plan"));
        let path = root().join("crates").join(&name).join("Cargo.toml");
        let manifest: toml::Table =
            fs::read_to_string(path).expect("a manifest").parse().expect("TOML");
        for dependency in dependencies(&manifest) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

/// The crates of the workspace that a manifest asks for, in any section.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut found = Vec::new();
    for (section, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if section.ends_with("dependencies") {
            let own = |name: &String| match name.as_str() {
                "ssdtune" => Some("ssdtune".to_owned()),
                other => other.strip_prefix("ssdtune-").map(str::to_owned),
            };
            found.extend(table.keys().filter_map(own));
        } else if section == "target" {
            found.extend(table.values().filter_map(toml::Value::as_table).flat_map(dependencies));
        }
    }
    found
}

/// A build of the default members needs no Python and compiles nothing for it.
#[test]
fn all_crates_but_the_extension_are_built_by_default() {
    let text = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = text.parse().expect("TOML");
    let members = manifest["workspace"]["default-members"].as_array().expect("a list");
    let members: Vec<&str> = members.iter().filter_map(toml::Value::as_str).collect();
    let all: Vec<String> = crates().iter().map(|name| format!("crates/{name}")).collect();
    let built = all.iter().filter(|path| !path.ends_with(EXTENSION));
    assert_eq!(members, built.collect::<Vec<_>>());
}

#[test]
fn libraries_show_at_most_ten_modules() {
    let mut faults = Vec::new();
    for name in crates().iter().filter(|name| is_library(name)) {
        let path = format!("crates/{name}/src/lib.rs");
        let text = fs::read_to_string(root().join(&path)).expect("a library");
        for module in public_modules(&text).into_iter().skip(PUBLIC_MODULES_MAX) {
            faults.push(format!("{path}: pub mod {module}"));
        }
    }
    hold("modules", faults);
}

/// The public modules that the text of a `lib.rs` declares.
fn public_modules(text: &str) -> Vec<String> {
    let syntax = syn::parse_file(text).expect("Rust");
    let public = |item: &syn::Item| match item {
        syn::Item::Mod(module) if matches!(module.vis, syn::Visibility::Public(_)) => {
            Some(module.ident.to_string())
        }
        _ => None,
    };
    syntax.items.iter().filter_map(public).collect()
}

#[test]
fn libraries_have_a_tested_landing_page_and_an_example() {
    let mut faults = Vec::new();
    for name in crates().iter().filter(|name| is_library(name)) {
        let directory = root().join("crates").join(name);
        let text = fs::read_to_string(directory.join("src/lib.rs")).expect("a library");
        if !has_doc_test(&text) {
            faults.push(format!("{name}: no example that runs in lib.rs"));
        }
        let examples = fs::read_dir(directory.join("examples")).into_iter().flatten().flatten();
        if !examples
            .map(|entry| entry.path())
            .any(|path| path.extension().is_some_and(|end| end == "rs"))
        {
            faults.push(format!("{name}: no program under examples"));
        }
    }
    hold("landing", faults);
}

/// Whether the page of a crate has code that runs as a test.
fn has_doc_test(text: &str) -> bool {
    let fences =
        text.lines().filter_map(|line| line.strip_prefix("//!")?.trim().strip_prefix("```"));
    let mut opening = true;
    fences.into_iter().any(|words| {
        let runs = opening && matches!(words, "" | "rust");
        opening = !opening;
        runs
    })
}

#[test]
fn the_command_is_thin() {
    let own = |path: &str| path.starts_with("crates/ssdtune/src/");
    let lines: usize = sources()
        .iter()
        .filter(|source| own(&source.path))
        .map(|source| source.text.lines().count())
        .sum();
    let limit = BINARY_LINES_MAX;
    assert!(lines < limit, "crates/ssdtune/src has {lines} lines: fewer than {limit} are allowed");
}

/// Requests run on a drive in one crate alone, so that there is one way to prepare it.
#[test]
fn only_experiments_build_simulators() {
    let mut faults = Vec::new();
    for name in crates().iter().filter(|name| !["sim", "experiment"].contains(&name.as_str())) {
        for module in read(name).modules {
            for path in module.mentions.iter().filter(|path| builds(path)) {
                faults.push(format!("{}: {}", module.file, path.join("::")));
            }
        }
    }
    hold("simulators", faults);
}

/// Whether a path names a way to make a simulator.
fn builds(path: &[String]) -> bool {
    path.windows(2)
        .any(|pair| pair[0] == "Simulator" && ["new", "restore"].contains(&pair[1].as_str()))
}

mod checker {
    //! The checker finds what it looks for.

    use super::*;
    use crate::modules::Crate;

    #[test]
    fn dependencies_are_found_in_every_section() {
        let text = "[dependencies]\nssdtune-a.workspace = true\nserde = \"1\"\n\
                    [dev-dependencies]\nssdtune-b = { path = \"b\" }\n\
                    [target.'cfg(unix)'.dependencies]\nssdtune-c = \"1\"\nssdtune = \"1\"\n";
        assert_eq!(dependencies(&text.parse().expect("TOML")), ["a", "b", "ssdtune", "c"]);
    }

    #[test]
    fn public_modules_and_doc_tests_are_told_from_others() {
        assert_eq!(public_modules("pub mod a; mod b; pub(crate) mod c; pub mod d {}"), ["a", "d"]);
        assert!(has_doc_test("//! ```\n//! a();\n//! ```"));
        assert!(has_doc_test("//! ```text\n//! a\n//! ```\n//! ```rust\n//! ```"));
        assert!(!has_doc_test("//! ```no_run\n//! a();\n//! ```\n//! ```text\n//! ```"));
    }

    #[test]
    fn simulators_are_found_outside_tests() {
        let text = "use ssdtune_sim::Simulator;\n\
                    fn f() { Simulator::new(1); }\nfn g() { assert!(Simulator::restore(2)) }\n\
                    #[cfg(test)] mod tests { fn h() { super::Simulator::new(3) } }";
        let whole = Crate::read("lib.rs", &|_| Some(text.to_owned()));
        let found =
            whole.modules.iter().flat_map(|module| &module.mentions).filter(|path| builds(path));
        assert_eq!(found.count(), 2);
    }
}
