//! What a model of firmware time is, and how it predicts: plain numbers, no library.

use super::records::Record;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use ssdtune_learn::mlp::MlpModel;
use ssdtune_learn::tree::BagModel;
use std::collections::BTreeMap;

/// From what is known of a group to the target's nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predictor {
    /// Names of what it is told, in the order of its columns.
    pub inputs: Vec<String>,
    /// How it computes.
    pub form: Form,
}

/// Ways to compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Form {
    /// A sum of products.
    Linear {
        /// Nanoseconds of nothing.
        intercept: f64,
        /// Nanoseconds of one of each input.
        coefficients: Vec<f64>,
    },
    /// A product of powers of rates: of inputs an instruction.
    RatePowers {
        /// Logarithm of an instruction's time at rates of one.
        intercept: f64,
        /// Power of each rate.
        coefficients: Vec<f64>,
    },
    /// A network of the inputs as they are.
    Network(MlpModel),
    /// A network from logarithms of rates to the logarithm of an instruction's time.
    RateNetwork(MlpModel),
    /// Trees, likewise.
    RateTrees(BagModel),
}

/// The instructions among the inputs of a form of rates.
pub(super) const INSTR: &str = "INSTR";

/// Logarithms of inputs an instruction (of one more than each, so that none is an event that never
/// came). A group that does more of the same has the same rates: what is learned of small groups
/// holds for large ones.
pub(super) fn rates(columns: &[f64], instructions: f64) -> Vec<f64> {
    let base = instructions.max(0.0).ln_1p();
    columns.iter().map(|&value| value.max(0.0).ln_1p() - base).collect()
}

/// A group lacks something that a model wants to know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "group {id} has no {input}, which the model was trained on: profile with the same source of events"
)]
pub struct MissingInput {
    /// The group.
    pub id: String,
    /// What it lacks.
    pub input: String,
}

impl Predictor {
    /// The columns of a record.
    ///
    /// # Errors
    /// It lacks one.
    pub fn columns(&self, record: &Record) -> Result<Vec<f64>, MissingInput> {
        columns(&self.inputs, &record.inputs, &record.id)
    }

    /// The target's time of a record in nanoseconds, not below 0.
    ///
    /// # Errors
    /// It lacks an input.
    pub fn predict(&self, record: &Record) -> Result<f64, MissingInput> {
        Ok(self.evaluate(&self.columns(record)?))
    }

    /// Likewise from columns in the order of the inputs.
    pub fn evaluate(&self, columns: &[f64]) -> f64 {
        let instructions = || {
            let place = self.inputs.iter().position(|input| input == INSTR);
            place.map_or(f64::NAN, |place| columns[place])
        };
        let rates = || rates(columns, instructions());
        let grown = |log_rate: f64| log_rate.exp() * instructions();
        let network = |model: &MlpModel, row: &[f64]| {
            let row = ArrayView2::from_shape((1, row.len()), row).expect("one row");
            model.predict(row).map_or(f64::NAN, |out| out[(0, 0)])
        };
        let sum = |intercept: f64, coefficients: &[f64], row: &[f64]| {
            intercept + row.iter().zip(coefficients).map(|(x, w)| x * w).sum::<f64>()
        };
        let ns = match &self.form {
            Form::Linear { intercept, coefficients } => sum(*intercept, coefficients, columns),
            Form::RatePowers { intercept, coefficients } => {
                grown(sum(*intercept, coefficients, &rates()))
            }
            Form::Network(model) => network(model, columns),
            Form::RateNetwork(model) => grown(network(model, &rates())),
            Form::RateTrees(model) => grown(model.predict_one(&rates()).unwrap_or(f64::NAN)),
        };
        ns.max(0.0)
    }

    /// Whether it computes from as many columns as it names inputs.
    pub(super) fn is_sound(&self) -> bool {
        let inputs = self.inputs.len();
        let has_instructions = self.inputs.iter().any(|input| input == INSTR);
        match &self.form {
            Form::RatePowers { .. } | Form::RateNetwork(_) | Form::RateTrees(_)
                if !has_instructions =>
            {
                false
            }
            Form::Linear { intercept, coefficients }
            | Form::RatePowers { intercept, coefficients } => {
                let all = coefficients.iter().chain([intercept]);
                coefficients.len() == inputs && all.into_iter().all(|value| value.is_finite())
            }
            Form::Network(model) | Form::RateNetwork(model) => {
                model.inputs() == inputs && model.outputs() == 1
            }
            Form::RateTrees(model) => model.predict_one(&vec![0.0; inputs]).is_ok(),
        }
    }
}

pub(super) fn columns(
    names: &[String],
    inputs: &BTreeMap<String, f64>,
    id: &str,
) -> Result<Vec<f64>, MissingInput> {
    let of = |name: &String| {
        let missing = || MissingInput { id: id.to_owned(), input: name.clone() };
        inputs.get(name).copied().ok_or_else(missing)
    };
    names.iter().map(of).collect()
}
