//! A package outside the workspace, `tests/stranger`, builds on the libraries' public interfaces
//! and passes its own test.
//!
//! Built as it stands it would compile everything a second time. So it is built in a copy of the
//! workspace that has it as one member more: a folder with links to the crates here and with the
//! same manifest and lock file. Cargo names what it builds by places below a workspace's root, so
//! in the shared target directory it finds everything built but the package itself: 2 s after the
//! tests of the whole workspace were built, some minutes if they were not.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Makes a link to a folder in place of the one that an earlier run has left.
fn link(folder: &Path, at: &Path) {
    // There is nothing to remove the first time.
    let _ = fs::remove_file(at);
    symlink(folder, at).expect("a link");
}

/// A file's text with a part of it replaced.
fn edited(path: &Path, old: &str, new: &str) -> String {
    let text = fs::read_to_string(path).expect("a manifest");
    assert!(text.contains(old), "{} is not in {}", old.trim(), path.display());
    text.replacen(old, new, 1)
}

#[test]
fn a_package_outside_the_workspace_is_built_and_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in it");
    // A folder that stays: what is compiled by way of it may be used again.
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let copy = temporary.join("workspace-and-stranger");
    let stranger = copy.join("elsewhere/stranger");
    fs::create_dir_all(&stranger).expect("a folder");
    for name in ["crates", "benches", "tests"] {
        link(&root.join(name), &copy.join(name));
    }
    for name in ["src", "tests"] {
        link(&root.join("tests/stranger").join(name), &stranger.join(name));
    }
    let members = edited(&root.join("Cargo.toml"), "members = [", "members = [\"elsewhere/*\", ");
    let own = edited(&root.join("tests/stranger/Cargo.toml"), "\n[workspace]\n", "");
    fs::write(copy.join("Cargo.toml"), members).expect("a manifest");
    fs::write(stranger.join("Cargo.toml"), own).expect("a manifest");
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock")).expect("a lock file");

    let mut cargo = Command::new(env!("CARGO"));
    // With all packages selected, those of others have the features that they were built with. Of
    // the packages here only the stranger has a test of this name.
    cargo.args(["test", "--offline", "--workspace", "--test", "figures", "--manifest-path"]);
    cargo.arg(copy.join("Cargo.toml")).arg("--target-dir").arg(temporary.parent().expect("target"));
    if cfg!(feature = "torch") {
        cargo.args(["--features", "torch"]);
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let done = cargo.current_dir(root).output().expect("cargo runs");
    let [out, errors] = [done.stdout, done.stderr].map(String::from_utf8);
    let (out, errors) = (out.expect("text"), errors.expect("text"));
    assert!(done.status.success() && out.contains("1 passed"), "{out}\n{errors}");
}
