//! The model file: one JSON document.

use super::judge::Errors;
use crate::firmware::predictor::Predictor;
use crate::firmware::profile::{Source, Statistic};
use serde::{Deserialize, Serialize};
use ssdtune_learn::{ModelFile, ModelFileError, Version};
use std::path::Path;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The host's profile.
    pub host: Source,
    /// The target's.
    pub target: Source,
    /// Groups it learned from.
    pub groups: usize,
    /// Which of a group's repeated times counted.
    pub statistic: Statistic,
    /// The program.
    pub program: String,
}

impl Provenance {
    /// What times it predicts, stand-ins named as such.
    pub fn target_label(&self) -> String {
        self.target.time.label(&self.target.machine)
    }
}

/// A model of a target's firmware time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirmwareModel {
    /// Version of the file.
    pub firmware_time_model: Version<1>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The learner of `profiled`.
    pub learner: String,
    /// From a profile of groups.
    pub profiled: Predictor,
    /// From what a simulator counts.
    pub counts: Predictor,
    /// How far `profiled` was off on workloads it had not seen.
    pub profiled_errors: Errors,
    /// How far `counts` was.
    pub counts_errors: Errors,
}

const FILE: ModelFile =
    ModelFile { holds: "model of firmware time", written_by: "ssdtune predict-perf ftl fit --out" };

impl FirmwareModel {
    /// Its text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a model is plain data");
        text.push('\n');
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no sound model.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    fn verify(&self) -> Result<(), String> {
        for (name, predictor) in [("profiled", &self.profiled), ("counts", &self.counts)] {
            if !predictor.is_sound() {
                return Err(format!("`{name}` does not compute from the inputs it names"));
            }
        }
        let known = crate::firmware::drive::Counts::SIMULATED;
        let foreign = |input: &&String| !known.contains(&input.as_str());
        match self.counts.inputs.iter().find(foreign) {
            Some(input) => Err(format!("`counts` wants {input}, which no simulator counts")),
            None => Ok(()),
        }
    }

    /// Nanoseconds that the firmware takes for what a simulator counted.
    pub fn of_counts(&self, counts: &crate::firmware::drive::Counts) -> f64 {
        let known = crate::firmware::drive::Counts::NAMES;
        let values = counts.values();
        let of = |input: &String| {
            let place = known.iter().position(|name| name == input);
            place.map_or(0.0, |place| values[place] as f64)
        };
        let columns: Vec<f64> = self.counts.inputs.iter().map(of).collect();
        self.counts.evaluate(&columns)
    }
}
