//! The trained network and its evaluation, in plain Rust.

use super::Activation;
use crate::errors::{check_columns, check_finite, check_row};
use crate::guard::checked_model;
use crate::linalg::contiguous_rows;
use crate::vmath::{self, vectorised};
use crate::{DataError, ModelError, Version};
use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

/// The function that is applied to the sums of the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Softmax, which makes them probabilities of classes.
    Softmax,
    /// None: they are the predicted numbers.
    Linear,
}

/// Rows that are predicted at once: each weight serves all of them.
const LANES: usize = 8;

/// A trained network: plain weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct MlpModel {
    version: Version<1>,
    activation: Activation,
    output: Output,
    layers: Vec<Layer>,
}

checked_model!(MlpModel);

/// The sums of one layer: `out = bias + weightsᵀ · in`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Number of inputs.
    pub inputs: usize,
    /// The weight from `input` to `output` is `weights[input * outputs + output]`.
    pub weights: Vec<f64>,
    /// One number for each output.
    pub bias: Vec<f64>,
}

/// Memory for evaluations. Reused, it saves allocations.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    now: Vec<f64>,
    next: Vec<f64>,
    lanes: Lanes,
}

/// The numbers of two layers, each for [`LANES`] rows.
type Lanes = [Vec<[f64; LANES]>; 2];

impl MlpModel {
    /// A network of these layers, the first first.
    ///
    /// # Errors
    /// The layers do not fit each other, or a weight is not finite.
    pub fn new(
        activation: Activation,
        output: Output,
        layers: Vec<Layer>,
    ) -> Result<Self, ModelError> {
        let model = Self { version: Version, activation, output, layers };
        model.verify()?;
        Ok(model)
    }

    /// Number of columns that the network was trained on.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Number of classes, or of predicted values.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].bias.len()
    }

    /// Number of weights and biases together.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| layer.weights.len() + layer.bias.len()).sum()
    }

    /// Number of units in all layers, without the inputs.
    pub fn neurons(&self) -> usize {
        self.layers.iter().map(|layer| layer.bias.len()).sum()
    }

    /// Predicts every row: probabilities of the classes, or values.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(x, self.inputs())?;
        let rows = contiguous_rows(&x);
        let rows = rows.as_slice().expect("contiguous_rows gives standard layout");
        let mut outputs = Vec::with_capacity(x.nrows() * self.outputs());
        self.evaluate(rows, &mut Buffer::default().lanes, &mut outputs);
        Ok(Array2::from_shape_vec((x.nrows(), self.outputs()), outputs)
            .expect("every row evaluates to one value for each output"))
    }

    /// The most probable class of each row. For a regression it is the place of the greatest value.
    pub fn classify(&self, x: ArrayView2<'_, f64>) -> Result<Array1<usize>, DataError> {
        let out = self.predict(x)?;
        Ok(out.rows().into_iter().map(|row| greatest(row.iter().copied())).collect())
    }

    /// Predicts one row: probabilities of the classes, or values. It allocates nothing once the
    /// buffer has grown.
    pub fn predict_one<'a>(
        &self,
        row: &[f64],
        buffer: &'a mut Buffer,
    ) -> Result<&'a [f64], DataError> {
        check_row(row, self.inputs())?;
        buffer.now.clear();
        buffer.now.extend_from_slice(row);
        run(&self.layers, self.activation, self.output, buffer);
        Ok(&buffer.now)
    }

    /// Predicts some rows, which follow each other in `rows`: the outputs of the first, then those
    /// of the second. A row takes less time so than alone, and its outputs are the same. It
    /// allocates nothing once the buffer has grown.
    ///
    /// # Errors
    /// There is no row, the last one is not whole, or a number is not finite.
    pub fn predict_rows<'a>(
        &self,
        rows: &[f64],
        buffer: &'a mut Buffer,
    ) -> Result<&'a [f64], DataError> {
        let (expected, found) = (self.inputs(), rows.len() % self.inputs());
        if found > 0 {
            return Err(DataError::ColumnCount { expected, found });
        }
        let matrix = ArrayView2::from_shape((rows.len() / expected, expected), rows);
        check_columns(matrix.expect("whole rows"), expected)?;
        buffer.now.clear();
        self.evaluate(rows, &mut buffer.lanes, &mut buffer.now);
        Ok(&buffer.now)
    }

    /// The most probable class of one row. For a regression it is the place of the greatest value.
    pub fn classify_one(&self, row: &[f64], buffer: &mut Buffer) -> Result<usize, DataError> {
        Ok(greatest(self.predict_one(row, buffer)?.iter().copied()))
    }

    /// Adds the outputs for some rows that have been checked to `outputs`.
    fn evaluate(&self, rows: &[f64], lanes: &mut Lanes, outputs: &mut Vec<f64>) {
        run_rows(&self.layers, self.activation, self.output, rows, lanes, outputs);
    }

    fn verify(&self) -> Result<(), ModelError> {
        let fault = |reason: String| Err(ModelError::new("network", reason));
        if self.layers.is_empty() {
            return fault("it has no layers".to_owned());
        }
        for (number, layer) in self.layers.iter().enumerate() {
            let outputs = layer.bias.len();
            let wanted = layer.inputs.checked_mul(outputs);
            if layer.inputs == 0 || outputs == 0 || wanted != Some(layer.weights.len()) {
                let (inputs, weights) = (layer.inputs, layer.weights.len());
                return fault(format!(
                    "layer {number} has {weights} weights for {inputs} x {outputs}"
                ));
            }
            if number > 0 && self.layers[number - 1].bias.len() != layer.inputs {
                return fault(format!("layer {number} does not take what the layer before gives"));
            }
            check_finite("network", "weight", layer.weights.iter().chain(&layer.bias))?;
        }
        Ok(())
    }
}

vectorised! {
    /// Replaces the inputs of one row in `buffer.now` by the outputs.
    fn run<'a>(
        layers: &'a [Layer],
        activation: Activation,
        output: Output,
        buffer: &'a mut Buffer,
    ) {
        let Buffer { now, next, .. } = buffer;
        for (number, layer) in layers.iter().enumerate() {
            layer.apply(now, next);
            if number + 1 < layers.len() {
                activate(activation, next);
            } else if output == Output::Softmax {
                softmax(next);
            }
            std::mem::swap(now, next);
        }
    }

    /// Adds the outputs for some rows to `outputs`, a row's numbers after each other.
    fn run_rows<'a>(
        layers: &'a [Layer],
        activation: Activation,
        output: Output,
        rows: &'a [f64],
        lanes: &'a mut Lanes,
        outputs: &'a mut Vec<f64>,
    ) {
        let ([now, next], inputs) = (lanes, layers[0].inputs);
        for rows in rows.chunks(LANES * inputs) {
            now.clear();
            now.resize(inputs, [0.0; LANES]);
            for (lane, row) in rows.chunks_exact(inputs).enumerate() {
                now.iter_mut().zip(row).for_each(|(lanes, value)| lanes[lane] = *value);
            }
            for (number, layer) in layers.iter().enumerate() {
                layer.apply_lanes(now, next);
                if number + 1 < layers.len() {
                    activate(activation, next.as_flattened_mut());
                }
                std::mem::swap(now, next);
            }
            for lane in 0..rows.len() / inputs {
                let first = outputs.len();
                outputs.extend(now.iter().map(|lanes| lanes[lane]));
                if output == Output::Softmax {
                    softmax(&mut outputs[first..]);
                }
            }
        }
    }
}

impl Layer {
    /// Writes the sums for one input to `out`. Blocks of several widths take all outputs in turn.
    #[inline(always)]
    fn apply(&self, input: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&self.bias);
        let mut rest = &mut out[..];
        rest = self.apply_blocks::<32>(input, rest);
        rest = self.apply_blocks::<16>(input, rest);
        rest = self.apply_blocks::<8>(input, rest);
        self.apply_blocks::<1>(input, rest);
    }

    /// Adds the weighted inputs to the last outputs, `rest`, in blocks of `N`. Returns the outputs
    /// that do not fill a block.
    ///
    /// A block's sums stay in registers while all inputs pass. Outputs are independent sums, so in
    /// a wide block an addition seldom waits for the one before it.
    #[inline(always)]
    fn apply_blocks<'a, const N: usize>(
        &self,
        input: &[f64],
        rest: &'a mut [f64],
    ) -> &'a mut [f64] {
        let outputs = self.bias.len();
        let mut first = outputs - rest.len();
        let mut blocks = rest.chunks_exact_mut(N);
        for block in blocks.by_ref() {
            let mut sums: [f64; N] = (&*block).try_into().expect("a block");
            for (&value, weights) in input.iter().zip(self.weights.chunks_exact(outputs)) {
                // An array, so that the compiler knows the length.
                let weights: &[f64; N] = weights[first..][..N].try_into().expect("a block");
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum += value * weight;
                }
            }
            block.copy_from_slice(&sums);
            first += N;
        }
        blocks.into_remainder()
    }

    /// Writes the sums for the inputs of [`LANES`] rows to `out`.
    #[inline(always)]
    fn apply_lanes(&self, input: &[[f64; LANES]], out: &mut Vec<[f64; LANES]>) {
        out.clear();
        let outputs = self.bias.len();
        while outputs - out.len() >= 4 {
            self.add_lanes::<4>(input, out);
        }
        while out.len() < outputs {
            self.add_lanes::<1>(input, out);
        }
    }

    /// Adds the sums of the next `N` outputs to `out`. They stay in registers while all inputs
    /// pass.
    #[inline(always)]
    fn add_lanes<const N: usize>(&self, input: &[[f64; LANES]], out: &mut Vec<[f64; LANES]>) {
        let (first, outputs) = (out.len(), self.bias.len());
        let mut sums: [[f64; LANES]; N] = std::array::from_fn(|n| [self.bias[first + n]; LANES]);
        for (values, weights) in input.iter().zip(self.weights.chunks_exact(outputs)) {
            let weights: &[f64; N] = weights[first..][..N].try_into().expect("a block");
            for (sums, weight) in sums.iter_mut().zip(weights) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * weight);
            }
        }
        out.extend_from_slice(&sums);
    }
}

/// Applies the function of a hidden layer.
#[inline(always)]
fn activate(activation: Activation, values: &mut [f64]) {
    match activation {
        Activation::Relu => values.iter_mut().for_each(|v| *v = if *v > 0.0 { *v } else { 0.0 }),
        // e^700 is finite, and 1 / (1 + e^700) is as good as 0.
        Activation::Logistic => values.iter_mut().for_each(|v| {
            let negative = if *v < -700.0 { 700.0 } else { -*v };
            *v = 1.0 / (1.0 + vmath::exp(negative));
        }),
    }
}

/// Turns sums into probabilities. The greatest sum is subtracted first, so that no exponential
/// overflows.
#[inline(always)]
fn softmax(values: &mut [f64]) {
    let most = values.iter().fold(f64::NEG_INFINITY, |most, &v| if v > most { v } else { most });
    values.iter_mut().for_each(|v| *v = vmath::exp(*v - most));
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|v| *v /= sum);
}

/// The place of the greatest value, the first of equal ones.
fn greatest(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (place, value) in values.enumerate() {
        if value > best.1 {
            best = (place, value);
        }
    }
    best.0
}
