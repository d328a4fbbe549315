//! Training of multilayer perceptrons on libtorch, in single precision, on one thread.
//!
//! This is the inside of the program `ssdtune-train`, which [`MlpParams::fit`] of
//! [`ssdtune_learn`] starts when a network is to be trained. So no other program links libtorch,
//! which takes 500 MB of disk and a quarter of a second to load. A program that trains all the time
//! may call [`train`] itself.
//!
//! Cost: one thread; 0.2 ms for a mini-batch of 64 rows in SSDKeeper's shape, 9-64-42, and 0.9 ms
//! for one of 32 rows through six layers of 128 (`benches/training.rs`). Double precision takes
//! twice as long there and learns nothing better; scales and the finished network are doubles.
//!
//! It is not for other networks than those of [`ssdtune_learn::mlp`], and not for GPUs.
//!
//! [`MlpParams::fit`]: ssdtune_learn::mlp::MlpParams::fit
//!
//! ```
//! use ssdtune_learn::mlp::{MlpParams, Targets};
//! use ssdtune_learn::ndarray::array;
//!
//! let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
//! let targets = Targets::Classes { classes: 2, labels: &[0, 1, 1, 0] };
//! let job = MlpParams::new([8]).epochs(300).job(x.view(), targets)?;
//! let training = ssdtune_train::train(&job)?;
//! assert_eq!(training.model.classify(x.view())?.to_vec(), [0, 1, 1, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(feature = "torch")]

mod optimiser;

use optimiser::Steps;
use ssdtune_learn::mlp::{
    Activation, Curves, InitialLayer, Layer, MlpError, MlpModel, Output, Targets, Training,
    TrainingJob,
};
use ssdtune_learn::ndarray::ArrayView2;
use ssdtune_learn::scale::{ConstantColumns, Method, ScaleParams, Scaler};
use tch::{Kind, Tensor};

/// Rows as tensors of libtorch.
struct TensorRows {
    /// Standardised columns.
    inputs: Tensor,
    /// Classes, or standardised values.
    targets: Tensor,
}

/// The network while it is trained.
struct Network {
    /// Weights and biases of all layers, one after the other, as the optimiser steps them.
    weights: Vec<f32>,
    /// `weights` as a tensor, made anew after each step: libtorch computes its gradient.
    all: Tensor,
    /// How the loss changes with each of them.
    gradient: Vec<f32>,
    /// Inputs and outputs of each layer.
    shapes: Vec<[i64; 2]>,
    activation: Activation,
    output: Output,
}

/// How the data were standardised. It is folded into the weights after training.
struct Scales {
    inputs: Scaler,
    targets: Option<Scaler>,
}

/// Trains the network of a job.
///
/// # Errors
/// The loss became infinite or NaN.
pub fn train(job: &TrainingJob) -> Result<Training, MlpError> {
    let params = job.params();
    // A setting of this thread: who trains many networks at once gives each one thread, and the
    // order of sums does not change.
    tch::set_num_threads(1);
    let (all, scales) = prepare(job.x(), job.targets());
    let (training, held_back) = match job.parts()? {
        None => (all, None),
        Some([training, held_back]) => (all.select(&training), Some(all.select(&held_back))),
    };
    let network = Network::new(job);
    let mut steps = Steps::new(params.optimiser(), network.weights.len());
    let mut session = Session { job, network, curves: Curves::default(), best: None };
    for epoch in 0..params.epochs() {
        if params.cooling() {
            let done = epoch as f64 / params.epochs() as f64;
            steps.cool(0.5 * (1.0 + (std::f64::consts::PI * done).cos()));
        }
        session.run_epoch(&training, &mut steps, epoch);
        if !session.judge(&training, held_back.as_ref(), &scales, epoch)? {
            break;
        }
    }
    session.finish(&scales)
}

/// The network with the least loss so far on the rows held back.
struct Best {
    loss: f64,
    epoch: usize,
    model: MlpModel,
}

/// One training as it goes on.
struct Session<'a> {
    job: &'a TrainingJob,
    network: Network,
    curves: Curves,
    best: Option<Best>,
}

impl Session<'_> {
    /// Goes once through all rows, in mini-batches of random order.
    fn run_epoch(&mut self, rows: &TensorRows, steps: &mut Steps, epoch: usize) {
        let count = rows.inputs.size()[0];
        let order: Vec<i64> =
            self.job.order(epoch, count as usize).into_iter().map(|row| row as i64).collect();
        let shuffled = rows.take(&Tensor::from_slice(&order));
        let batch = self.job.params().batch() as i64;
        for start in (0..count).step_by(self.job.params().batch()) {
            let length = batch.min(count - start);
            let inputs = shuffled.inputs.narrow(0, start, length);
            let targets = shuffled.targets.narrow(0, start, length);
            let loss = self.network.loss(&self.network.forward(&inputs), &targets);
            self.network.step(&loss, steps);
        }
    }

    /// Records loss and accuracy after an epoch. False if training should stop.
    fn judge(
        &mut self,
        training: &TensorRows,
        held_back: Option<&TensorRows>,
        scales: &Scales,
        epoch: usize,
    ) -> Result<bool, MlpError> {
        let curves = &mut self.curves;
        let loss =
            self.network.assess(training, &mut curves.train_loss, &mut curves.train_accuracy);
        if !loss.is_finite() {
            return Err(MlpError::Diverged { epoch });
        }
        let (Some(rows), Some(stopping)) = (held_back, self.job.params().early_stopping()) else {
            return Ok(true);
        };
        let (losses, accuracies) = (&mut curves.held_back_loss, &mut curves.held_back_accuracy);
        let loss = self.network.assess(rows, losses, accuracies);
        if self.best.as_ref().is_none_or(|best| loss < best.loss) {
            let model = self.network.export(scales, epoch)?;
            self.best = Some(Best { loss, epoch, model });
        }
        Ok(self.best.as_ref().is_none_or(|best| epoch - best.epoch < stopping.patience))
    }

    fn finish(self, scales: &Scales) -> Result<Training, MlpError> {
        let last = self.curves.train_loss.len() - 1;
        let (model, epoch) = match self.best {
            Some(best) => (best.model, best.epoch),
            None => (self.network.export(scales, last)?, last),
        };
        Ok(Training { model, curves: self.curves, epoch })
    }
}

impl TensorRows {
    /// The rows of these numbers.
    fn select(&self, rows: &[usize]) -> Self {
        let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        self.take(&Tensor::from_slice(&rows))
    }

    fn take(&self, rows: &Tensor) -> Self {
        Self {
            inputs: self.inputs.index_select(0, rows),
            targets: self.targets.index_select(0, rows),
        }
    }
}

impl Network {
    /// The network with the job's initial weights.
    fn new(job: &TrainingJob) -> Self {
        let initial = job.initial_weights();
        let shape = |layer: &InitialLayer| [layer.inputs as i64, layer.outputs as i64];
        let shapes = initial.iter().map(shape).collect();
        let biased = initial.into_iter().flat_map(|InitialLayer { weights, outputs, .. }| {
            weights.into_iter().chain(std::iter::repeat_n(0.0, outputs))
        });
        let weights: Vec<f32> = biased.map(|number| number as f32).collect();
        let (all, activation) = (leaf(&weights), job.params().activation());
        let gradient = vec![0.0; weights.len()];
        Self { weights, all, gradient, shapes, activation, output: job.outputs().1 }
    }

    /// Steps down the slope of a loss.
    fn step(&mut self, loss: &Tensor, steps: &mut Steps) {
        let slopes = Tensor::run_backward(&[loss], &[&self.all], false, false).swap_remove(0);
        slopes.copy_data(&mut self.gradient, self.weights.len());
        steps.step(&mut self.weights, &self.gradient);
        self.all = leaf(&self.weights);
    }

    /// Weights and bias of each layer, as views.
    fn layers(&self) -> impl ExactSizeIterator<Item = (Tensor, Tensor)> {
        let sizes: Vec<i64> = self.shapes.iter().flat_map(|[i, o]| [i * o, *o]).collect();
        let mut parts = self.all.split_with_sizes(sizes, 0).into_iter();
        self.shapes.iter().map(move |[inputs, outputs]| {
            let mut next = || parts.next().expect("two parts a layer");
            (next().view([*outputs, *inputs]), next())
        })
    }

    /// The sums of the last layer, before any softmax.
    fn forward(&self, inputs: &Tensor) -> Tensor {
        let mut now = inputs.shallow_clone();
        for (number, (weights, bias)) in self.layers().enumerate() {
            now = now.linear(&weights, Some(&bias));
            if number + 1 < self.shapes.len() {
                now = match self.activation {
                    Activation::Logistic => now.sigmoid(),
                    Activation::Relu => now.relu(),
                };
            }
        }
        now
    }

    /// Cross entropy or mean squared error.
    fn loss(&self, out: &Tensor, targets: &Tensor) -> Tensor {
        match self.output {
            Output::Softmax => out.log_softmax(-1, Kind::Double).nll_loss(targets),
            Output::Linear => out.mse_loss(targets, tch::Reduction::Mean),
        }
    }

    /// Appends loss and accuracy on some rows to their curves. Returns the loss.
    fn assess(&self, rows: &TensorRows, losses: &mut Vec<f64>, accuracies: &mut Vec<f64>) -> f64 {
        tch::no_grad(|| {
            let out = self.forward(&rows.inputs);
            let loss = self.loss(&out, &rows.targets).double_value(&[]);
            losses.push(loss);
            if self.output == Output::Softmax {
                let right = out.argmax(-1, false).eq_tensor(&rows.targets);
                accuracies.push(right.to_kind(Kind::Double).mean(Kind::Double).double_value(&[]));
            }
            loss
        })
    }

    /// The network after an epoch, as plain weights for data that are not standardised.
    fn export(&self, scales: &Scales, epoch: usize) -> Result<MlpModel, MlpError> {
        let mut layers: Vec<Layer> = self.layers().map(|(w, b)| plain(&w, &b)).collect();
        fold_inputs(&mut layers[0], &scales.inputs);
        if let (Some(scaler), Some(last)) = (&scales.targets, layers.last_mut()) {
            fold_targets(last, scaler);
        }
        MlpModel::new(self.activation, self.output, layers)
            .map_err(|_| MlpError::Diverged { epoch })
    }
}

/// Weights of which libtorch computes gradients.
fn leaf(weights: &[f32]) -> Tensor {
    Tensor::from_slice(weights).set_requires_grad(true)
}

/// One layer as plain numbers.
fn plain(weights: &Tensor, bias: &Tensor) -> Layer {
    let numbers = |tensor: &Tensor| -> Vec<f64> {
        let flat = tensor.detach().to_kind(Kind::Double).contiguous().view([-1]);
        Vec::try_from(&flat).expect("a contiguous tensor of doubles")
    };
    let inputs = weights.size()[1] as usize;
    // libtorch has one row for each output, the plain layer one for each input.
    Layer { inputs, weights: numbers(&weights.transpose(0, 1)), bias: numbers(bias) }
}

/// Changes a layer for standardised inputs, `w · (x - offset) · factor + b`, into one for plain
/// `x`.
fn fold_inputs(layer: &mut Layer, scaler: &Scaler) {
    let outputs = layer.bias.len();
    let scales = scaler.offsets().iter().zip(scaler.factors());
    for (weights, (offset, factor)) in layer.weights.chunks_exact_mut(outputs).zip(scales) {
        for (bias, weight) in layer.bias.iter_mut().zip(weights) {
            *weight *= factor;
            *bias -= *weight * offset;
        }
    }
}

/// Changes a layer with standardised outputs into one with plain outputs, `value / factor +
/// offset`.
fn fold_targets(layer: &mut Layer, scaler: &Scaler) {
    let outputs = layer.bias.len();
    for (place, weight) in layer.weights.iter_mut().enumerate() {
        *weight /= scaler.factors()[place % outputs];
    }
    for (place, bias) in layer.bias.iter_mut().enumerate() {
        *bias = *bias / scaler.factors()[place] + scaler.offsets()[place];
    }
}

/// Standardises the data and makes tensors of them.
fn prepare(x: ArrayView2<'_, f64>, targets: Targets<'_>) -> (TensorRows, Scales) {
    let (inputs, input_scaler) = standardised(x);
    let (targets, target_scaler) = match targets {
        Targets::Classes { labels, .. } => {
            let labels: Vec<i64> = labels.iter().map(|&label| label as i64).collect();
            (Tensor::from_slice(&labels), None)
        }
        Targets::Values(values) => {
            let (targets, scaler) = standardised(values);
            (targets, Some(scaler))
        }
    };
    (TensorRows { inputs, targets }, Scales { inputs: input_scaler, targets: target_scaler })
}

/// The columns at mean 0 and deviation 1, and how to get there.
fn standardised(x: ArrayView2<'_, f64>) -> (Tensor, Scaler) {
    let scaler = ScaleParams::new(Method::Standard)
        .constant_columns(ConstantColumns::Keep)
        .fit(x)
        .expect("checked: finite cells, constant columns allowed");
    let scaled = scaler.transform(x).expect("the data it was fitted to");
    let shape = [x.nrows() as i64, x.ncols() as i64];
    (single(scaled.iter().copied()).reshape(shape), scaler)
}

/// The numbers in single precision.
fn single(numbers: impl Iterator<Item = f64>) -> Tensor {
    Tensor::from_slice(&numbers.map(|number| number as f32).collect::<Vec<f32>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;
    use ssdtune_learn::mlp::MlpParams;
    use ssdtune_learn::ndarray::Array2;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

        /// Plain Rust and libtorch evaluate the same network alike, in the shapes of the papers.
        #[test]
        fn plain_rust_equals_libtorch(
            seed: u64,
            shape in prop::sample::select(vec![vec![64], vec![], vec![128; 6], vec![512, 256, 3]]),
            relu: bool,
            softmax: bool,
        ) {
            let mut rng = Pcg64::seed_from_u64(seed);
            let x = Array2::from_shape_fn((20, 9), |(_, j)| {
                10f64.powi(j as i32 - 4) * rng.random_range(0.0..9.0)
            });
            let values = Array2::from_shape_fn((20, 42), |_| rng.random_range(-100.0..300.0));
            let labels: Vec<usize> = (0..20).map(|_| rng.random_range(0..42)).collect();
            let targets = match softmax {
                true => Targets::Classes { classes: 42, labels: &labels },
                false => Targets::Values(values.view()),
            };
            let activation = if relu { Activation::Relu } else { Activation::Logistic };
            let params = MlpParams::new(shape).activation(activation).seed(seed);
            let job = params.job(x.view(), targets).unwrap();
            let (_, scales) = prepare(x.view(), targets);
            let mut network = Network::new(&job);
            // In double precision, so that only a wrong formula makes a difference.
            network.all = network.all.to_kind(Kind::Double);
            let ours = network.export(&scales, 0).unwrap().predict(x.view()).unwrap();
            let scaled = scales.inputs.transform(x.view()).unwrap();
            let scaled: Vec<f64> = scaled.iter().copied().collect();
            let out = network.forward(&Tensor::from_slice(&scaled).reshape([20, 9]));
            let theirs: Vec<f64> = match job.outputs().1 {
                Output::Softmax => out.softmax(-1, Kind::Double),
                Output::Linear => {
                    let scaler = scales.targets.as_ref().unwrap();
                    let offsets = Tensor::from_slice(scaler.offsets());
                    out / Tensor::from_slice(scaler.factors()) + offsets
                }
            }
            .detach()
            .view([-1])
            .try_into()
            .unwrap();
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let scale = theirs.abs().max(1e-3);
                prop_assert!((ours - theirs).abs() < 1e-6 * scale, "{ours} {theirs}");
            }
        }
    }
}
