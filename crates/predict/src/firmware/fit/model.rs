//! A model of firmware time and its file, one JSON document.

use super::judge::PredictionErrors;
use crate::firmware::drive::WorkCounts;
use crate::firmware::predictor::{MissingInput, Predictor};
use crate::firmware::profile::{Profile, ProfileSource, Statistic};
use crate::firmware::records::{JoinError, known};
use serde::{Deserialize, Serialize};
use ssdtune_learn::{ModelFile, ModelFileError, Version};
use std::path::Path;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirmwareProvenance {
    /// How the host's profile was measured.
    pub host: ProfileSource,
    /// How the target's profile was measured.
    pub target: ProfileSource,
    /// How many groups the model learned from.
    pub groups: usize,
    /// Which of the repeated times of a group was taken for its time.
    pub statistic: Statistic,
    /// The program that fitted the model, and the version of its simulator's results.
    pub program: String,
}

impl FirmwareProvenance {
    /// The target in words; stand-ins for a board are named as such.
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
    /// Where the model comes from.
    pub provenance: FirmwareProvenance,
    /// Name of the learner of `profiled`.
    pub learner: String,
    /// Predicts from a profile of groups.
    pub profiled: Predictor,
    /// Predicts from what a simulator counts.
    pub counts: Predictor,
    /// Errors of `profiled` on workloads it had not seen.
    pub profiled_errors: PredictionErrors,
    /// Errors of `counts` on workloads it had not seen.
    pub counts_errors: PredictionErrors,
}

/// The target's time of a group, as a model predicts it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedGroup {
    /// Label of the workload and number of the group, as in `RW/12`.
    pub id: String,
    /// Label of the workload.
    pub workload: String,
    /// The target's time in nanoseconds.
    pub predicted_ns: f64,
}

/// Why the times of a profile cannot be predicted.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// A group lacks events or times.
    #[error(transparent)]
    Group(#[from] JoinError),
    /// A group lacks an input of the model.
    #[error(transparent)]
    Input(#[from] MissingInput),
}

const FILE: ModelFile =
    ModelFile { holds: "model of firmware time", written_by: "ssdtune predict-perf ftl fit --out" };

impl FirmwareModel {
    /// The model as a JSON document.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a model is plain data");
        text.push('\n');
        text
    }

    /// Reads a model from a file and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or holds no sound model.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    /// Whether the parts of the model fit together; the error says which do not.
    fn verify(&self) -> Result<(), String> {
        for (name, predictor) in [("profiled", &self.profiled), ("counts", &self.counts)] {
            if !predictor.is_sound() {
                return Err(format!("`{name}` does not compute from the inputs it names"));
            }
        }
        let known = WorkCounts::SIMULATED;
        let foreign = |input: &&String| !known.contains(&input.as_str());
        match self.counts.inputs.iter().find(foreign) {
            Some(input) => Err(format!("`counts` wants {input}, which no simulator counts")),
            None => Ok(()),
        }
    }

    /// Predicts the target's time of every group of a host's profile.
    ///
    /// # Errors
    /// A group lacks events, times or another input of the model.
    pub fn predict(&self, host: &Profile) -> Result<Vec<PredictedGroup>, PredictError> {
        let predicted = |row| {
            let record = known(row, self.provenance.statistic)?;
            let predicted_ns = self.profiled.predict(&record)?;
            Ok(PredictedGroup { id: record.id, workload: record.workload, predicted_ns })
        };
        host.rows.iter().map(predicted).collect()
    }

    /// The firmware's time for work that a simulator counted, in nanoseconds.
    pub fn of_counts(&self, counts: &WorkCounts) -> f64 {
        let known = WorkCounts::NAMES;
        let values = counts.values();
        let of = |input: &String| {
            let place = known.iter().position(|name| name == input);
            place.map_or(0.0, |place| values[place] as f64)
        };
        let columns: Vec<f64> = self.counts.inputs.iter().map(of).collect();
        self.counts.evaluate(&columns)
    }
}
