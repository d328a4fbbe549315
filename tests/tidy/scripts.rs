//! The Python scripts that make the figures of docs/results: each loads, so that what one takes
//! from another is there.

use crate::hold;
use crate::source::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The scripts in a directory and below it.
fn scripts(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            scripts(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "py") {
            into.push(path);
        }
    }
}

#[test]
fn scripts_load() {
    // Without -B each script would leave a folder __pycache__ beside it.
    let python = |code: &str, more: &[&Path]| {
        Command::new("python3").args(["-B", "-c", code]).args(more).output()
    };
    if python("", &[]).is_err() {
        eprintln!("skipped: no python3 on this machine, so no script was loaded");
        return;
    }
    let mut all = Vec::new();
    scripts(&root().join("benches"), &mut all);
    assert!(all.len() > 10, "{} scripts: the search for them is broken", all.len());
    // As a module a script defines its functions and does nothing; packages of others are loaded
    // where a function needs them, so this needs none.
    let load = "import pathlib, runpy, sys; path = pathlib.Path(sys.argv[1]); \
                sys.path.insert(0, str(path.parent)); runpy.run_path(str(path), run_name='module')";
    let mut faults = Vec::new();
    for script in &all {
        let done = python(load, &[script]).expect("python3 runs");
        if !done.status.success() {
            let told = String::from_utf8_lossy(&done.stderr);
            let last = told.lines().last().unwrap_or("no message").to_owned();
            faults.push(format!("{}: {last}", script.display()));
        }
    }
    hold("scripts load", faults);
}
