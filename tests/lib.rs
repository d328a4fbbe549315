//! What every end-to-end test needs: the built command, and the root of the repository.

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The `ssdtune` command, built in the profile of the running test; colourless unless asked.
///
/// Cargo tells the path of a binary only to tests of its own package, so it is built here: a no-operation
/// where the workspace was built before. `SSDTUNE_BIN` names another binary to test, an installed one say.
///
/// # Panics
/// The command cannot be built.
pub fn ssdtune() -> Command {
    let mut command = Command::new(binary());
    command.env_remove("CLICOLOR_FORCE").current_dir(root());
    command
}

/// The path of the `ssdtune` binary; see [`ssdtune`].
///
/// # Panics
/// The command cannot be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| std::env::var_os("SSDTUNE_BIN").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    // This test is target/PROFILE/deps/name-hash; the binary belongs beside `deps`.
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let target = profile.parent().expect("a profile lies in the target directory");
    let name = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--workspace",
            "--bin",
            "ssdtune",
            "--profile",
            name,
            "--target-dir",
        ])
        .arg(target)
        .current_dir(root())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "cargo cannot build the ssdtune command");
    profile.join(format!("ssdtune{}", std::env::consts::EXE_SUFFIX))
}
