//! For tests: where the folder of reference data is.

use std::path::PathBuf;

/// A path inside the folder of reference data, which is not part of the project.
///
/// The folder is `$SSDTUNE_SHARED`, or `../shared` beside the workspace. If the file is absent, a
/// line on standard error says so and the caller should pass without testing anything.
///
/// # Panics
/// The file is absent and the environment says `CI=true`: there a skipped test is a failed one.
pub fn shared(path: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let folder = std::env::var_os("SSDTUNE_SHARED").map_or_else(beside, PathBuf::from);
    let file = folder.join(path);
    if file.exists() {
        return Some(file);
    }
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "{} is absent; set SSDTUNE_SHARED", file.display());
    eprintln!("skipped: {} is absent (set SSDTUNE_SHARED to test with it)", file.display());
    None
}
