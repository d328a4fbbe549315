//! For tests: where the folder of reference data is, and what must hold for any bytes read as a file (the
//! fuzz targets and the replay of their corpus share it).

use crate::config::DeviceConfig;
use crate::document::{self, Document};
use crate::ledger::{Ledger, Memory};
use crate::{catalogue, mqsim};
use std::path::PathBuf;

/// A path inside the folder of reference data, which is not part of the project.
///
/// The folder is `$SSDTUNE_SHARED`, or `../shared` beside the workspace. Where it is absent the caller
/// should pass without testing anything; this says so on standard error.
///
/// # Panics
/// The folder is absent and the environment says `CI=true`: there a skipped test is a failed one.
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

/// What must hold for any bytes given as a TOML configuration: no panic, and what was read is sound, can be
/// written and read again to the same.
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

/// The same for an `ssdconfig.xml`.
///
/// # Panics
/// It does not hold.
pub fn ssd_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = mqsim::read_device(text) else { return };
    exercise(&read.value);
    // Some legal values are too large for MQSim.
    let Ok(written) = mqsim::write_device(&read.value) else { return };
    let again = mqsim::read_device(&written.value).expect("what is written can be read");
    assert_eq!(again.value, read.value);
}

/// The same for a `workload.xml`.
///
/// # Panics
/// It does not hold.
pub fn workload_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = mqsim::read_workload(text) else { return };
    let geometry = DeviceConfig::default().geometry();
    for scenario in &read.value {
        let _ = scenario.check(&geometry);
    }
    let again = mqsim::read_workload(&mqsim::write_workload(&read.value));
    assert_eq!(again.expect("what is written can be read").value, read.value);
}

/// Arithmetic on a configuration that has passed its check must not overflow.
fn exercise(config: &DeviceConfig) {
    assert!(config.check().is_ok());
    let ledger = Ledger::of(config);
    assert!(ledger.visible_bytes <= ledger.raw_bytes);
    assert!(Memory::of(config).simulation_full_bytes.0 > 0);
    let _ = config.advice();
    let _ = config.inert(catalogue::parameters().map(|row| row.key));
}
