//! One training as a value: everything that decides its result.
//!
//! The job is what the program `ssdtune-train` is told. Random numbers are drawn here and not by
//! libtorch, so that one job gives one network.

use super::training::Targets;
use super::{Activation, MlpError, MlpParams, MlpValidParams, Output};
use crate::errors::check_matrix;
use crate::{DataError, random, selection};
use linfa::ParamGuard;
use ndarray::ArrayView2;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Random stream of the initial weights, counted back from the last.
const WEIGHTS: u64 = 0;
/// Random stream of the first epoch's mini-batches; later epochs use the next ones.
const BATCHES: u64 = 1;

/// Parameters and data of a training, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingJob {
    params: MlpValidParams,
    x: Cells,
    targets: JobTargets,
}

/// A matrix, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cells {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum JobTargets {
    Classes { classes: usize, labels: Vec<usize> },
    Values(Cells),
}

impl MlpParams {
    /// Checks the parameters and the data, and puts them together.
    ///
    /// # Errors
    /// A parameter is outside its range, or the data cannot be used.
    pub fn job(
        &self,
        x: ArrayView2<'_, f64>,
        targets: Targets<'_>,
    ) -> Result<TrainingJob, MlpError> {
        self.check_ref()?.job(x, targets)
    }
}

impl MlpValidParams {
    /// Checks the data, and puts them together with these parameters.
    ///
    /// # Errors
    /// The data cannot be used.
    pub fn job(
        &self,
        x: ArrayView2<'_, f64>,
        targets: Targets<'_>,
    ) -> Result<TrainingJob, MlpError> {
        let targets = match targets {
            Targets::Classes { classes, labels } => {
                JobTargets::Classes { classes, labels: labels.to_vec() }
            }
            Targets::Values(values) => JobTargets::Values(Cells::of(values)),
        };
        let job = TrainingJob { params: self.clone(), x: Cells::of(x), targets };
        job.check()?;
        Ok(job)
    }
}

impl Cells {
    fn of(matrix: ArrayView2<'_, f64>) -> Self {
        let (rows, columns) = matrix.dim();
        Self { rows, columns, values: matrix.iter().copied().collect() }
    }

    /// None if there are not as many values as rows and columns ask for.
    fn view(&self) -> Option<ArrayView2<'_, f64>> {
        ArrayView2::from_shape((self.rows, self.columns), &self.values).ok()
    }
}

impl TrainingJob {
    /// Checks a job that was read.
    ///
    /// # Errors
    /// A parameter is outside its range, or the data cannot be used.
    pub fn check(&self) -> Result<(), MlpError> {
        self.params.verify()?;
        let values = match &self.targets {
            JobTargets::Classes { .. } => None,
            JobTargets::Values(values) => Some(values),
        };
        for cells in [Some(&self.x), values].into_iter().flatten() {
            if cells.view().is_none() {
                return Err(MlpError::Trainer("a matrix of the job is incomplete".to_owned()));
            }
        }
        check_matrix(self.x())?;
        self.targets().check(self.x.rows)?;
        self.parts().map(drop)
    }

    /// The parameters.
    pub fn params(&self) -> &MlpValidParams {
        &self.params
    }

    /// The inputs: a row for each example.
    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.x.view().expect("checked: complete")
    }

    /// What the network shall learn to predict from each row.
    pub fn targets(&self) -> Targets<'_> {
        match &self.targets {
            JobTargets::Classes { classes, labels } => {
                Targets::Classes { classes: *classes, labels }
            }
            JobTargets::Values(values) => {
                Targets::Values(values.view().expect("checked: complete"))
            }
        }
    }

    /// Number of outputs of the network, and the function applied to their sums.
    pub fn outputs(&self) -> (usize, Output) {
        match self.targets() {
            Targets::Classes { classes, .. } => (classes, Output::Softmax),
            Targets::Values(values) => (values.ncols(), Output::Linear),
        }
    }

    /// The rows to train on and the rows held back; `None` without early stopping, when all rows
    /// are trained on.
    ///
    /// # Errors
    /// There are too few rows to hold some back.
    pub fn parts(&self) -> Result<Option<[Vec<usize>; 2]>, MlpError> {
        let Some(stopping) = self.params.early_stopping else { return Ok(None) };
        let fractions = [1.0 - stopping.fraction, stopping.fraction];
        let rows = self.x.rows;
        let parts = selection::partition(rows, &fractions, self.params.seed);
        let parts = parts.map_err(|_| {
            let purpose = "holding rows back";
            DataError::TooFewRows { rows, needed: 2, purpose }
        })?;
        Ok(parts.try_into().ok())
    }

    /// Weights before the first epoch, layer by layer: `outputs` rows of `inputs` numbers after
    /// each other as `[inputs, outputs, weights]` are drawn. They are uniform in Glorot's range, or
    /// in He's range before a rectifier.
    pub fn initial_weights(&self) -> Vec<InitialLayer> {
        let params = &self.params;
        let ends = (self.x.columns, self.outputs().0);
        let widths: Vec<usize> =
            std::iter::once(ends.0).chain(params.hidden.iter().copied()).chain([ends.1]).collect();
        let mut rng = random::stream(params.seed, u64::MAX - WEIGHTS);
        let layer = |(number, pair): (usize, &[usize])| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let last = number + 2 == widths.len();
            let spread = if params.activation == Activation::Relu && !last {
                (6.0 / inputs as f64).sqrt()
            } else {
                (6.0 / (inputs + outputs) as f64).sqrt()
            };
            let draw = |_| rng.random_range(-spread..spread);
            InitialLayer { inputs, outputs, weights: (0..inputs * outputs).map(draw).collect() }
        };
        widths.windows(2).enumerate().map(layer).collect()
    }

    /// The order in which an epoch, counted from 0, goes through this many rows.
    pub fn order(&self, epoch: usize, rows: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows).collect();
        random::shuffle(&mut order, &mut random::stream(self.params.seed, BATCHES + epoch as u64));
        order
    }
}

/// One layer before training. Its biases are 0.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialLayer {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// A row of weights for each output, one for each input.
    pub weights: Vec<f64>,
}
