//! The parameters in which two drives differ.

use serde::Serialize;
use ssdtune_model::{DeviceConfig, catalogue};

/// A parameter in which two drives differ. Field names are part of result documents.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterChange {
    /// The key of the parameter in the catalogue.
    pub key: &'static str,
    /// The sign of its unit; empty for a plain number or a name.
    pub unit: &'static str,
    /// The value in the baseline.
    pub baseline: String,
    /// The value in the recommended drive.
    pub recommended: String,
}

/// Every parameter in which a drive differs from the baseline, in the order of the catalogue.
pub fn changes(base: &DeviceConfig, recommended: &DeviceConfig) -> Vec<ParameterChange> {
    let differing = catalogue::parameters().filter(|row| row.get(base) != row.get(recommended));
    differing
        .map(|row| ParameterChange {
            key: row.key,
            unit: row.unit.sign(),
            baseline: row.get(base).to_string(),
            recommended: row.get(recommended).to_string(),
        })
        .collect()
}
