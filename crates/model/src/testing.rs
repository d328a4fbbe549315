//! For tests: where the folder of reference data is, and what must hold for any bytes read as a
//! TOML file.
//!
//! The fuzz targets of the readers and the replay of their corpora share these functions.

use crate::catalogue;
use crate::config::DeviceConfig;
use crate::document::{self, Document};
use crate::ledger::{Ledger, Memory};
use std::path::{Path, PathBuf};

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

/// Gives every file in the folder `target` of a corpus to `demand`, and truncations of it: files
/// that were cut short are among what users hand in.
///
/// # Panics
/// The folder is missing or empty, or `demand` panics; the file's name is on standard output then.
pub fn replay_corpus(corpus: &str, target: &str, demand: fn(&[u8])) {
    let mut inputs = 0;
    for entry in std::fs::read_dir(Path::new(corpus).join(target)).expect("a corpus") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("an input");
        println!("{}", path.display());
        demand(&bytes);
        for length in (0..bytes.len()).step_by(37) {
            demand(&bytes[..length]);
        }
        inputs += 1;
    }
    assert!(inputs > 0, "the corpus of {target} is empty");
}

/// Checks what must hold for any bytes given as a TOML configuration: no panic, and a drive that
/// was read is sound and survives being written and read again.
///
/// # Panics
/// It does not hold.
pub fn toml_config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(document) = Document::parse(text) else { return };
    let config = document.config();
    exercise(config);
    let again = Document::parse(&document::write(config)).expect("what is written can be read");
    assert_eq!(again.config(), config);
    let edited = document.with("gc.threshold", "0.125");
    assert!(
        edited.is_ok_and(|edited| edited.config().gc.threshold == 0.125),
        "one value can be set"
    );
}

/// Computes everything that is computed from a checked configuration, so that an overflow shows.
///
/// # Panics
/// The configuration does not pass its check, or arithmetic on it overflows.
pub fn exercise(config: &DeviceConfig) {
    assert!(config.check().is_ok());
    let ledger = Ledger::of(config);
    assert!(ledger.visible_bytes <= ledger.raw_bytes);
    assert!(Memory::of(config).simulation_full_bytes.0 > 0);
    let _ = config.advice();
    let _ = config.inert(catalogue::parameters().map(|row| row.key));
}
