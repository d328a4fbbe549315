//! The parameters in which two drives differ.

use super::Space;
use serde::Serialize;
use ssdtune_model::catalogue::Parameter;
use ssdtune_model::{DeviceConfig, catalogue};

/// A parameter in which two drives differ, or settings that go together. Field names are part of
/// result documents.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterChange {
    /// The key of the parameter in the catalogue, or the name of the choice.
    pub key: String,
    /// The sign of its unit; empty for a plain number or a name.
    pub unit: &'static str,
    /// The value in the baseline.
    pub baseline: String,
    /// The value in the recommended drive.
    pub recommended: String,
    /// The parameters that a choice changes; empty for a parameter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ParameterChange>,
}

/// Everything in which a drive differs from the baseline: choices of the space first, each with the
/// parameters that it sets, then all other parameters in the order of the catalogue.
pub fn changes(
    space: &Space,
    base: &DeviceConfig,
    recommended: &DeviceConfig,
) -> Vec<ParameterChange> {
    let differs = |row: &&'static Parameter| row.get(base) != row.get(recommended);
    let change = |row: &'static Parameter| ParameterChange {
        key: row.key.to_owned(),
        unit: row.unit.sign(),
        baseline: row.get(base).to_string(),
        recommended: row.get(recommended).to_string(),
        settings: Vec::new(),
    };
    let mut all = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for axis in space.axes().iter().filter(|axis| axis.choice().is_some()) {
        let (from, to) = (axis.rank_in(base), axis.rank_in(recommended));
        let (Some(from), Some(to)) = (from, to) else { continue };
        let set = catalogue::parameters().filter(|row| axis.sets(row.key));
        let settings: Vec<_> = set.filter(differs).map(change).collect();
        told.extend(catalogue::parameters().map(|row| row.key).filter(|key| axis.sets(key)));
        if from != to {
            all.push(ParameterChange {
                key: axis.key().to_owned(),
                unit: "",
                baseline: axis.label(from).to_string(),
                recommended: axis.label(to).to_string(),
                settings,
            });
        }
    }
    let rest = catalogue::parameters().filter(differs).filter(|row| !told.contains(&row.key));
    all.extend(rest.map(change));
    all
}
