//! What a release promises: the oldest Rust that builds it, and changes that are told.

use crate::hold;
use crate::source::root;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next().unwrap_or(Ok(0)).ok()?))
}

/// The platform that the compiler builds for, as in `x86_64-unknown-linux-gnu`.
fn platform() -> String {
    let done = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let told = String::from_utf8(done.stdout).expect("rustc prints text");
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc says what it builds for").to_owned()
}

/// The compiler's own parts are clippy's `incompatible_msrv` to judge; here it is the packages of
/// others. Those of this platform alone: where the project was built, they are on the disk, while
/// those of others may never have been downloaded.
#[test]
fn no_package_needs_a_newer_rust_than_is_promised() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    cargo.args(["--filter-platform", &platform()]);
    let done = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told: Value = serde_json::from_slice(&done.stdout).expect("cargo prints JSON");
    let packages = told["packages"].as_array().expect("a list of packages");
    let needs = |package: &Value| version(package["rust_version"].as_str()?);
    let own = packages.iter().find(|package| package["name"] == "ssdtune-model");
    let promised = own.and_then(needs).expect("Cargo.toml says it");
    let newer = packages.iter().filter(|package| needs(package) > Some(promised));
    let named = newer.map(|package| {
        format!("{} {} needs {}", package["name"], package["version"], package["rust_version"])
    });
    hold("the oldest Rust", named.collect());
}

#[test]
fn the_changelog_begins_with_this_version_and_what_it_changes() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect(name);
    let manifest: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let version = manifest["workspace"]["package"]["version"].as_str().expect("a version");
    let changes = read("CHANGELOG.md");
    let mut headings = changes.lines().filter(|line| line.starts_with("##"));
    let first = headings.next().unwrap_or_default();
    assert!(first.starts_with(&format!("## {version}")) || first == "## Unreleased", "{first}");
    assert_eq!(headings.next(), Some("### Results that change"));
}
