//! What every end-to-end test needs: the built command, and the root of the repository.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The root of the workspace.
pub fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.canonicalize().expect("the crate lies in the workspace")
    });
    &ROOT
}

/// The `ssdtune` command, run in the root of the workspace; colourless unless asked.
pub fn ssdtune() -> Command {
    let mut command = Command::new(binary());
    command.env_remove("CLICOLOR_FORCE").current_dir(root());
    command
}

/// The path of the `ssdtune` binary that cargo has built for these tests. `SSDTUNE_BIN` names
/// another one, an installed one say.
pub fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("SSDTUNE_BIN").map_or(env!("CARGO_BIN_EXE_ssdtune").into(), PathBuf::from)
    });
    &BINARY
}

/// Runs a command with `--json`, which succeeds, and reads what it printed.
pub fn document(command: &mut Command) -> Value {
    parse(&command.arg("--json").assert().success())
}

/// The JSON document that a command has printed.
pub fn parse(done: &Assert) -> Value {
    let output = done.get_output();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("not one JSON document: {error}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// A directory for the files and AutoDBs of a test.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A new directory.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command `ssdtune db ARGUMENTS --db NAME`.
    pub fn db(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = ssdtune();
        command.arg("db").args(arguments).arg("--db").arg(self.path(name));
        command
    }
}

/// A directory in which a shell knows `ssdtune`, and in which the folders of the repository lie
/// that examples read.
#[cfg(unix)]
pub struct Shell(Scratch);

#[cfg(unix)]
impl Shell {
    /// A new directory.
    pub fn new() -> Self {
        let scratch = Scratch::new();
        for folder in ["traces", "configs", "benches"] {
            let there = std::os::unix::fs::symlink(root().join(folder), scratch.path(folder));
            there.expect("a link");
        }
        Self(scratch)
    }

    /// Runs a command line, which succeeds, and returns what it prints.
    pub fn run(&self, words: &str) -> String {
        let path = std::env::var("PATH").expect("a search path");
        let own = binary().parent().expect("a directory").display();
        let done = std::process::Command::new("sh")
            .args(["-ec", words])
            .current_dir(self.0.path(""))
            .env("PATH", format!("{own}:{path}"))
            .env_remove("SSDTUNE_DB")
            .stdin(std::process::Stdio::null())
            .output()
            .expect("a shell");
        assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    }
}

/// Whether the long campaigns are asked for, by `SSDTUNE_LONG=1`.
pub fn is_long() -> bool {
    std::env::var_os("SSDTUNE_LONG").is_some_and(|value| value == "1")
}
