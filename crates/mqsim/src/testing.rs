//! For tests: what must hold for any bytes read as one of MQSim's files. The fuzz targets and the
//! replay of their corpus share it.

use crate::{read_device, read_workload, write_device, write_workload};
use ssdtune_model::{DeviceConfig, testing};

/// Checks what must hold for any bytes given as an `ssdconfig.xml`: no panic, and a drive that was
/// read is sound and survives being written and read again.
///
/// # Panics
/// It does not hold.
pub fn ssd_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = read_device(text) else { return };
    testing::exercise(&read.value);
    // Some legal values are too large for MQSim.
    let Ok(written) = write_device(&read.value) else { return };
    let again = read_device(&written.value).expect("what is written can be read");
    assert_eq!(again.value, read.value);
}

/// Checks what must hold for any bytes given as a `workload.xml`: no panic, and scenarios that were
/// read survive being written and read again.
///
/// # Panics
/// It does not hold.
pub fn workload_xml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = read_workload(text) else { return };
    let geometry = DeviceConfig::default().geometry();
    for scenario in &read.value {
        let _ = scenario.check(&geometry);
    }
    let again = read_workload(&write_workload(&read.value));
    assert_eq!(again.expect("what is written can be read").value, read.value);
}
