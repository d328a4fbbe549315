//! The learners of firmware time: from records to a [`Predictor`].
//!
//! | name | from | how |
//! |---|---|---|
//! | `static` | host's requests and pages | as Amber: fixed instructions for each kind of page |
//! | `scaled host` | host's run time | one factor |
//! | `linear` | run time and events | least squares, as in the paper |
//! | `costs` | run time and events | least squares of relative errors without negative terms |
//! | `costs + residual` | run time and events | costs times a small learned correction |
//! | `dnn` | run time and events | the network of Table 2, to nanoseconds |
//! | `powers` | rates | Ridge, to the logarithm of an instruction's time |
//! | `trees` | rates | bagged trees, to the logarithm of an instruction's time |
//! | `rate dnn` | rates | the network of Table 2, to the logarithm of an instruction's time |
//! | `counts` | what a simulator counts | as `costs`, without a profile |
//!
//! Rates are logarithms of run time and events divided by instructions. `static` multiplies its
//! instructions by a fixed time, so it is blind to collection and caches. `costs` has no negative
//! coefficients because an event may cost time and never gives it back.
//!
//! Cost: milliseconds for a thousand records, seconds to minutes for a network.

mod corrected;

use super::drive::WorkCounts;
use super::predictor::{Form, INSTR, MissingInput, Predictor, columns, rates};
use super::records::{HOST_NS, Record, Records};
use super::workloads::TABLE_4;
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};
use ssdtune_learn::mlp::{Activation, MlpError, MlpParams, Optimiser, Targets};
use ssdtune_learn::ridge::{RidgeError, RidgeParams};
use ssdtune_learn::tree::{BagError, BagParams, Leaves, TreeParams, Weighting};
use std::fmt;

/// A learner of firmware time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learner {
    /// A fixed number of instructions for each kind of page, and a fixed time for each instruction.
    Static,
    /// The host's time multiplied by one factor.
    ScaledHost,
    /// Least squares of run time and events.
    Linear,
    /// Least squares of relative errors, with no coefficient below 0.
    Costs,
    /// [`Learner::Costs`] times a correction that is learned from rates, and may be none.
    Corrected,
    /// Ridge regression from rates.
    Powers,
    /// Bagged trees on rates.
    Trees,
    /// [`Learner::Costs`] of what a simulator counts.
    Counts,
    /// A network on run time and events.
    Dnn(NetworkShape),
    /// A network on rates.
    RateDnn(NetworkShape),
}

/// The shape of a network and how it is trained: a point of Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkShape {
    /// The number of hidden layers.
    pub layers: usize,
    /// The number of neurons in each hidden layer.
    pub neurons: usize,
    /// Learning rate of the optimiser Adam.
    pub learning_rate: f64,
    /// How many times training passes over the rows.
    pub epochs: usize,
    /// Decides the initial weights and the batches.
    pub seed: u64,
}

impl fmt::Display for NetworkShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layers, neurons, learning_rate, epochs, .. } = self;
        write!(f, "{layers} layers of {neurons} at rate {learning_rate}, {epochs} passes")
    }
}

impl NetworkShape {
    /// The shape that the paper chose.
    pub const fn paper(epochs: usize) -> Self {
        Self { layers: 6, neurons: 128, learning_rate: 0.001, epochs, seed: 0 }
    }

    /// All 48 points of Table 2.
    pub fn table_2(epochs: usize) -> Vec<Self> {
        let mut all = Vec::new();
        for layers in [4, 5, 6, 7] {
            for neurons in [128, 256, 512] {
                for learning_rate in [0.0001, 0.0002, 0.001, 0.002] {
                    all.push(Self { layers, neurons, learning_rate, epochs, seed: 0 });
                }
            }
        }
        all
    }
}

/// How many times training passes over the groups of Table 4, by Table 2.
const EPOCHS: usize = 20;

/// How many passes over some groups make as many steps of the optimiser as the paper's 20 passes
/// over its 55,333 groups: some 35,000.
pub fn passes(groups: usize) -> usize {
    let paper: usize = TABLE_4.iter().map(|row| row.records as usize).sum();
    (EPOCHS * paper).div_ceil(groups.max(1))
}

/// How many rows a batch of training has (Table 2).
const BATCH: usize = 32;

impl Learner {
    /// Name of the learner in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::ScaledHost => "scaled host",
            Self::Linear => "linear",
            Self::Costs => "costs",
            Self::Corrected => "costs + residual",
            Self::Powers => "powers",
            Self::Trees => "trees",
            Self::Counts => "counts",
            Self::Dnn(_) => "dnn",
            Self::RateDnn(_) => "rate dnn",
        }
    }

    /// How a network is shaped and trained; `None` for other learners.
    pub fn shape(self) -> Option<NetworkShape> {
        match self {
            Self::Dnn(shape) | Self::RateDnn(shape) => Some(shape),
            _ => None,
        }
    }

    /// The learner with each of the first `count` seeds; itself alone if it draws nothing.
    pub fn seeded(self, count: u64) -> Vec<Self> {
        let with = |learner: fn(NetworkShape) -> Self, shape: NetworkShape| {
            (0..count.max(1)).map(|seed| learner(NetworkShape { seed, ..shape })).collect()
        };
        match self {
            Self::Dnn(shape) => with(Self::Dnn, shape),
            Self::RateDnn(shape) => with(Self::RateDnn, shape),
            other => vec![other],
        }
    }

    /// Names of the inputs that the learner is told.
    pub fn inputs(self, records: &Records) -> Vec<String> {
        let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut inputs = of(&[HOST_NS]);
        match self {
            Self::Static => return of(&["requests", "pages_read", "pages_written"]),
            Self::ScaledHost => return inputs,
            Self::Counts => return of(&WorkCounts::SIMULATED),
            // With counts of work or callgrind's finer events as well, the error of costs on unseen
            // workloads is twice as large: there are too many ways to divide a cost among them.
            _ => inputs.extend(records.events.clone()),
        }
        inputs
    }

    /// Learns from records.
    ///
    /// # Errors
    /// A record lacks an input, or the method fails.
    pub fn train(self, inputs: &[String], rows: &[&Record]) -> Result<Predictor, TrainError> {
        let width = inputs.len();
        let mut cells = Vec::with_capacity(rows.len() * width);
        for row in rows {
            cells.extend(columns(inputs, &row.inputs, &row.id)?);
        }
        let x = Array2::from_shape_vec((rows.len(), width), cells).expect("a row for each record");
        let y: Array1<f64> = rows.iter().map(|row| row.target_ns).collect();
        let by_rate = || by_rate(&x, &y, inputs, rows);
        let form = match self {
            Self::Static => fixed(&x, &y, rows)?,
            Self::ScaledHost => {
                let factor = y.sum() / x.column(0).sum().max(1.0);
                Form::Linear { intercept: 0.0, coefficients: vec![factor] }
            }
            Self::Linear => {
                let (intercept, coefficients) = scaled_ridge(&x, &y, LINEAR_PENALTY)?;
                Form::Linear { intercept, coefficients }
            }
            Self::Costs | Self::Counts => {
                Form::Linear { intercept: 0.0, coefficients: costs(&x, &y) }
            }
            Self::Corrected => corrected::corrected(&x, &y, inputs, rows)?,
            Self::Powers => {
                let (x, y) = by_rate()?;
                let (intercept, coefficients) = scaled_ridge(&x, &y, POWERS_PENALTY)?;
                Form::RatePowers { intercept, coefficients }
            }
            Self::Trees => {
                let tree = TreeParams::new(Leaves::Constant).weighting(Weighting::Uniform);
                let (x, y) = by_rate()?;
                Form::RateTrees(BagParams::new(TREES, tree).fit(x.view(), y.view())?)
            }
            Self::Dnn(shape) => Form::Network(network(shape, &x, &y)?),
            Self::RateDnn(shape) => {
                let (x, y) = by_rate()?;
                Form::RateNetwork(network(shape, &x, &y)?)
            }
        };
        Ok(Predictor { inputs: inputs.to_vec(), form })
    }
}

/// Penalty of `linear` on columns of unit variance: just enough for a unique answer where columns
/// always rise together.
const LINEAR_PENALTY: f64 = 1e-9;
/// Penalty of `powers`. Logarithms of rates are nearly equal to each other, and predictions for an
/// unseen workload must not depend on their differences.
const POWERS_PENALTY: f64 = 1.0;
/// How many trees `trees` grows.
const TREES: usize = 50;

/// Why nothing could be learned.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A record lacks an input.
    #[error(transparent)]
    Input(#[from] MissingInput),
    /// Ridge regression failed.
    #[error("least squares: {0}")]
    Ridge(#[from] RidgeError),
    /// Trees could not be grown.
    #[error("trees: {0}")]
    Trees(#[from] BagError),
    /// A network could not be trained.
    #[error("network: {0}")]
    Network(#[from] MlpError),
}

/// The rates of all rows, and the logarithms of the times of an instruction.
fn by_rate(
    x: &Array2<f64>,
    y: &Array1<f64>,
    inputs: &[String],
    rows: &[&Record],
) -> Result<(Array2<f64>, Array1<f64>), MissingInput> {
    let Some(place) = inputs.iter().position(|input| input == INSTR) else {
        let id = rows.first().map(|row| row.id.clone()).unwrap_or_default();
        return Err(MissingInput { id, input: INSTR.to_owned() });
    };
    let instructions = x.column(place).mapv(|count| count.max(1.0));
    let mut all = x.clone();
    for (mut row, &count) in all.rows_mut().into_iter().zip(&instructions) {
        let rates: Array1<f64> = rates(&row.to_vec(), count).into();
        row.assign(&rates);
    }
    Ok((all, (y / &instructions).mapv(f64::ln)))
}

/// Ridge regression on columns scaled to unit variance. Returns intercept and coefficients for the
/// columns as they were given.
fn scaled_ridge(
    x: &Array2<f64>,
    y: &Array1<f64>,
    penalty: f64,
) -> Result<(f64, Vec<f64>), RidgeError> {
    let scales: Vec<f64> = x.columns().into_iter().map(|column| column.std(0.0)).collect();
    let scales: Vec<f64> =
        scales.iter().map(|&scale| if scale > 0.0 { scale } else { 1.0 }).collect();
    let mut scaled = x.clone();
    for (mut column, scale) in scaled.columns_mut().into_iter().zip(&scales) {
        column.mapv_inplace(|value| value / scale);
    }
    let model = RidgeParams::new(penalty * x.nrows() as f64).fit(scaled.view(), y.view())?;
    let coefficients = model.coefficients().iter().zip(&scales).map(|(w, scale)| w / scale);
    Ok((model.intercept(), coefficients.collect()))
}

/// The form of `static`: instructions for each kind of page, found by least squares, times the mean
/// time of an instruction.
fn fixed(x: &Array2<f64>, y: &Array1<f64>, rows: &[&Record]) -> Result<Form, TrainError> {
    let of = |row: &&Record| {
        let missing = || MissingInput { id: row.id.clone(), input: "INSTR".to_owned() };
        row.inputs.get("INSTR").copied().ok_or_else(missing)
    };
    let instructions: Array1<f64> = rows.iter().map(of).collect::<Result<Vec<_>, _>>()?.into();
    let ns = y.sum() / instructions.sum().max(1.0);
    let each = least_squares(x, &instructions, &Array1::ones(y.len()));
    Ok(Form::Linear { intercept: 0.0, coefficients: each.iter().map(|count| count * ns).collect() })
}

/// Coefficients of least squares of relative errors, none below 0.
fn costs(x: &Array2<f64>, y: &Array1<f64>) -> Vec<f64> {
    least_squares(x, y, &y.mapv(|time| 1.0 / time.max(1.0)))
}

/// Coefficients of least squares of weighted errors, none below 0, by coordinate descent on the
/// normal equations. The problem is convex, so the descent ends at the optimum.
fn least_squares(x: &Array2<f64>, y: &Array1<f64>, weights: &Array1<f64>) -> Vec<f64> {
    let mut rows = x.clone();
    for (mut row, weight) in rows.rows_mut().into_iter().zip(weights) {
        row.mapv_inplace(|value| value * weight);
    }
    let norms: Vec<f64> =
        rows.columns().into_iter().map(|column| column.dot(&column).sqrt()).collect();
    for (mut column, norm) in rows.columns_mut().into_iter().zip(&norms) {
        column.mapv_inplace(|value| if *norm > 0.0 { value / norm } else { 0.0 });
    }
    let gram = rows.t().dot(&rows);
    let towards = rows.t().dot(&(y * weights));
    let mut answer = vec![0.0f64; norms.len()];
    for _ in 0..SWEEPS_MAX {
        let mut moved = 0.0f64;
        for at in 0..answer.len() {
            if norms[at] == 0.0 {
                continue;
            }
            let slope: f64 =
                gram.row(at).iter().zip(&answer).map(|(g, w)| g * w).sum::<f64>() - towards[at];
            let new = (answer[at] - slope).max(0.0);
            moved = moved.max((new - answer[at]).abs());
            answer[at] = new;
        }
        let size = answer.iter().fold(0.0f64, |most, value| most.max(*value));
        if moved <= 1e-10 * size {
            break;
        }
    }
    answer.iter().zip(&norms).map(|(w, norm)| if *norm > 0.0 { w / norm } else { 0.0 }).collect()
}

/// The most sweeps over all coefficients that the descent makes. 20 columns of nearly parallel
/// events take some thousands.
const SWEEPS_MAX: usize = 50_000;

/// Trains a network of a shape.
fn network(
    shape: NetworkShape,
    x: &Array2<f64>,
    y: &Array1<f64>,
) -> Result<ssdtune_learn::mlp::MlpModel, MlpError> {
    let params = MlpParams::new(vec![shape.neurons; shape.layers])
        .activation(Activation::Logistic)
        .optimiser(Optimiser::Adam { learning_rate: shape.learning_rate })
        .epochs(shape.epochs)
        .batch(BATCH)
        .seed(shape.seed);
    let targets = y.view().insert_axis(ndarray::Axis(1));
    Ok(params.fit(x.view(), Targets::Values(targets))?.model)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use std::collections::BTreeMap;

    /// Records whose target's time is a known sum of work and last-level misses.
    pub(in crate::firmware) fn made_up(workloads: &[&str], groups: usize) -> Records {
        let rng = &mut Pcg64Mcg::seed_from_u64(7);
        let mut rows = Vec::new();
        for (place, label) in workloads.iter().enumerate() {
            for number in 0..groups {
                let (read, written) =
                    if place % 2 == 0 { (1_000.0, 0.0) } else { (200.0, 1_500.0) };
                let moved =
                    if place % 2 == 0 { 0.0 } else { rng.random_range(0.0..9_000.0f64).round() };
                let misses = rng.random_range(1_000.0..5_000.0f64).round();
                let instr = 100.0 * read + 300.0 * written + 200.0 * moved;
                let inputs = BTreeMap::from([
                    ("requests".to_owned(), 1_000.0),
                    ("pages_read".to_owned(), read),
                    ("pages_written".to_owned(), written),
                    ("merges".to_owned(), 0.0),
                    ("pages_trimmed".to_owned(), 0.0),
                    ("victims".to_owned(), (moved / 200.0).ceil()),
                    ("pages_moved".to_owned(), moved),
                    ("INSTR".to_owned(), instr),
                    ("LLC_MISSES".to_owned(), misses),
                    (HOST_NS.to_owned(), 0.3 * instr + 80.0 * misses),
                ]);
                let target_ns = 1.0 * instr + 100.0 * misses;
                rows.push(Record {
                    id: format!("{label}/{number}"),
                    workload: (*label).to_owned(),
                    counts: WorkCounts::default(),
                    inputs,
                    target_ns,
                });
            }
        }
        Records {
            rows,
            events: vec!["INSTR".to_owned(), "LLC_MISSES".to_owned()],
            target_noise: 0.0,
            host_noise: 0.0,
            target_floor: 0.0,
        }
    }

    fn worst(learner: Learner, records: &Records) -> f64 {
        let rows: Vec<&Record> = records.rows.iter().collect();
        let model = learner.train(&learner.inputs(records), &rows).unwrap();
        assert!(model.is_sound());
        let error = |row: &Record| (model.predict(row).unwrap() / row.target_ns - 1.0).abs();
        records.rows.iter().map(error).fold(0.0, f64::max)
    }

    #[test]
    fn a_linear_relation_is_found() {
        let records = made_up(&["AA", "BB", "CC"], 40);
        assert!(worst(Learner::Linear, &records) < 1e-4);
        assert!(worst(Learner::Costs, &records) < 1e-3);
        // These two do not see the misses.
        assert!(worst(Learner::Static, &records) > 0.1);
        assert!(worst(Learner::Counts, &records) > 0.01);
    }

    #[test]
    fn costs_are_never_below_0_and_optimal() {
        let x = ndarray::array![[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]];
        // Without the bound the slope would be -1 and the offset 4; with it the mean is best.
        let answer = least_squares(&x, &ndarray::array![3.0, 2.0, 1.0], &Array1::ones(3));
        assert!(answer[0].abs() < 1e-6 && (answer[1] - 2.0).abs() < 1e-6, "{answer:?}");
    }

    #[test]
    fn the_static_model_by_hand() {
        let records = made_up(&["AA", "BB"], 10);
        let rows: Vec<&Record> = records.rows.iter().collect();
        let inputs = Learner::Static.inputs(&records);
        let model = Learner::Static.train(&inputs, &rows).unwrap();
        let ns: f64 = rows.iter().map(|row| row.target_ns).sum();
        let instructions: f64 = rows.iter().map(|row| row.inputs["INSTR"]).sum();
        // The first workload only reads, 100 instructions a page.
        let expected = 100.0 * 1_000.0 * ns / instructions;
        assert!((model.predict(&records.rows[0]).unwrap() / expected - 1.0).abs() < 1e-3);
    }

    #[test]
    fn table_2_has_48_points_and_the_papers_choice() {
        let all = NetworkShape::table_2(EPOCHS);
        assert_eq!(all.len(), 48);
        assert!(all.contains(&NetworkShape::paper(EPOCHS)));
        // As many rows are seen, however few there are.
        assert_eq!((passes(55_333), passes(1_616)), (20, 685));
    }

    #[test]
    fn a_record_without_an_input_is_named() {
        let mut records = made_up(&["AA", "BB"], 3);
        records.rows[4].inputs.remove("LLC_MISSES");
        let rows: Vec<&Record> = records.rows.iter().collect();
        let error = Learner::Linear.train(&Learner::Linear.inputs(&records), &rows).unwrap_err();
        assert!(error.to_string().contains("BB/1 has no LLC_MISSES"), "{error}");
    }
}
