//! The fitted function of a model of firmware time. Linear forms are plain numbers; networks and
//! trees are those of `ssdtune-learn`. A prediction costs microseconds.

use super::records::Record;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use ssdtune_learn::mlp::MlpModel;
use ssdtune_learn::tree::BagModel;
use std::collections::BTreeMap;

/// A function from what is known of a group to the target's time in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predictor {
    /// Names of the inputs, in the order of the columns.
    pub inputs: Vec<String>,
    /// The form of the function.
    pub form: Form,
}

/// The form of a function of firmware time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Form {
    /// A sum of inputs times coefficients.
    Linear {
        /// The time without any input, in nanoseconds.
        intercept: f64,
        /// The time that one of each input adds, in nanoseconds.
        coefficients: Vec<f64>,
    },
    /// A sum of inputs times coefficients, times a product of powers of rates.
    Corrected {
        /// The time that one of each input adds, in nanoseconds.
        coefficients: Vec<f64>,
        /// Logarithm of what the sum is multiplied by if all rates are one.
        intercept: f64,
        /// The power of each rate.
        powers: Vec<f64>,
        /// The most that the logarithm of the product may be, up or down.
        limit: f64,
    },
    /// A product of powers of rates: of inputs divided by instructions.
    RatePowers {
        /// Logarithm of the time of an instruction if all rates are one.
        intercept: f64,
        /// The power of each rate.
        coefficients: Vec<f64>,
    },
    /// A network from the inputs to nanoseconds.
    Network(MlpModel),
    /// A network from logarithms of rates to the logarithm of the time of an instruction.
    RateNetwork(MlpModel),
    /// Trees from logarithms of rates to the logarithm of the time of an instruction.
    RateTrees(BagModel),
}

/// Name of the input that rates are divided by.
pub(super) const INSTR: &str = "INSTR";

/// Logarithms of the inputs divided by instructions; one is added to each, since an event may never
/// come. A group that does more work of one kind has the same rates, so what is learned from small
/// groups holds for large ones.
pub(super) fn rates(columns: &[f64], instructions: f64) -> Vec<f64> {
    let base = instructions.max(0.0).ln_1p();
    columns.iter().map(|&value| value.max(0.0).ln_1p() - base).collect()
}

/// A group lacks an input of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "group {id} has no {input}, which the model was trained on: profile with the same source of \
     events"
)]
pub struct MissingInput {
    /// Label of the workload and number of the group.
    pub id: String,
    /// Name of the input.
    pub input: String,
}

impl Predictor {
    /// The target's time of a record in nanoseconds, at least 0.
    ///
    /// # Errors
    /// The record lacks an input.
    pub fn predict(&self, record: &Record) -> Result<f64, MissingInput> {
        Ok(self.evaluate(&columns(&self.inputs, &record.inputs, &record.id)?))
    }

    /// The target's time in nanoseconds, at least 0, from the values of the inputs in their order.
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
            Form::Corrected { coefficients, intercept, powers, limit } => {
                let log = sum(*intercept, powers, &rates());
                sum(0.0, coefficients, columns) * log.clamp(-limit, *limit).exp()
            }
            Form::RatePowers { intercept, coefficients } => {
                grown(sum(*intercept, coefficients, &rates()))
            }
            Form::Network(model) => network(model, columns),
            Form::RateNetwork(model) => grown(network(model, &rates())),
            Form::RateTrees(model) => grown(model.predict_one(&rates()).unwrap_or(f64::NAN)),
        };
        ns.max(0.0)
    }

    /// Whether the form has as many columns as there are inputs, and the instructions if it needs
    /// them.
    pub(super) fn is_sound(&self) -> bool {
        let inputs = self.inputs.len();
        let has_instructions = self.inputs.iter().any(|input| input == INSTR);
        match &self.form {
            Form::Corrected { .. }
            | Form::RatePowers { .. }
            | Form::RateNetwork(_)
            | Form::RateTrees(_)
                if !has_instructions =>
            {
                false
            }
            Form::Corrected { coefficients, intercept, powers, limit } => {
                let mut all = coefficients.iter().chain(powers).chain([intercept, limit]);
                let widths = [coefficients.len(), powers.len()];
                widths == [inputs; 2] && *limit >= 0.0 && all.all(|value| value.is_finite())
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

/// The values of the named inputs, in the order of the names.
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
