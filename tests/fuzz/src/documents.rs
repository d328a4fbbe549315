//! Readers of what people write: drives, limits, spaces, workloads. What was read is sound, and
//! survives being written and read again.

use ssdtune_model::document::{self, Document};
use ssdtune_model::ledger::{Ledger, Memory};
use ssdtune_model::{Constraints, DeviceConfig, catalogue};
use ssdtune_mqsim::{read_device, read_workload, write_device, write_workload};
use ssdtune_trace::workload::{self, Generator, Seed};
use ssdtune_tune::{Limits, Space};

/// A drive in TOML.
pub(crate) fn toml_config(bytes: &[u8]) {
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

/// A drive in MQSim's `ssdconfig.xml`.
pub(crate) fn ssd_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = read_device(text) else { return };
    exercise(&read.value);
    // Some legal values are too large for MQSim.
    let Ok(written) = write_device(&read.value) else { return };
    let again = read_device(&written.value).expect("what is written can be read");
    assert_eq!(again.value, read.value);
}

/// Computes everything that is computed from a checked configuration, so that an overflow shows.
fn exercise(config: &DeviceConfig) {
    assert!(config.check().is_ok());
    let ledger = Ledger::of(config);
    assert!(ledger.visible_bytes <= ledger.raw_bytes);
    assert!(Memory::of(config).simulation_full_bytes.0 > 0);
    let _ = config.advice();
    let _ = config.inert(catalogue::parameters().map(|row| row.key));
}

/// Scenarios in MQSim's `workload.xml`.
pub(crate) fn workload_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = read_workload(text) else { return };
    let geometry = DeviceConfig::default().geometry();
    for scenario in &read.value {
        let _ = scenario.check(&geometry);
    }
    let again = read_workload(&write_workload(&read.value));
    assert_eq!(again.expect("what is written can be read").value, read.value);
}

/// A file of constraints: what drives must keep to, and what a search must.
pub(crate) fn constraints(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let drive = DeviceConfig::default();
    if let Ok(limits) = Constraints::parse(text) {
        let _ = limits.violations(&drive);
    }
    if let Ok(limits) = Limits::parse(text) {
        let _ = limits.check(&drive);
        let _ = limits.lines();
    }
}

/// A space of a search: every axis has values, and a point of it is a drive.
pub(crate) fn space(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(space) = Space::parse(text) else { return };
    assert!(!space.axes().is_empty());
    assert!(space.axes().iter().all(|axis| axis.count() > 0));
    assert!(space.size() >= 1.0);
    let base = DeviceConfig::default();
    let space = space.around(&base);
    let point = space.point(&base).expect("a space around a drive holds it");
    assert_eq!(space.config(&base, &point), base);
    assert_eq!(space.encode(&point).len(), space.columns());
    assert!(space.violations(&base, &point).is_empty());
}

/// A workload model: its requests come in the order of their times.
pub(crate) fn workload_model(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(model) = workload::parse(text, "fuzz") else { return };
    let generator = Generator::new(&model, Seed::default()).expect("it was checked when read");
    let requests: Vec<_> = generator.take(200).collect();
    assert!(requests.is_sorted_by_key(|request| request.at));
}
