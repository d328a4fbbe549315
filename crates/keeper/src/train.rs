//! From labels to a policy: the paper's four ways to train a classifier (Table III), and the ranker.
//!
//! Mixes are divided 70 to 30 by a seed; the 30 % are for testing only. Of the 70 % a tenth is held back
//! during training, for the curves of Fig. 4 and to choose the epoch whose weights are kept. Mixes that come in
//! bursts are what a policy abstains from: [`BURST_QUANTILE`] of the plain training mixes are within its `burst_max`,
//! and networks learn from the mixes within. What a strategy must promise over `Shared` is chosen by cross-validation
//! in the training mixes.
//!
//! Cost: a network on 3,500 mixes takes seconds, and each is trained [`FOLDS`] times more for the threshold.

use crate::eval::score;
use crate::features::Seen;
use crate::labels::{Labels, Row};
use crate::policy::{Kind, Policy};
use crate::strategy::Strategy;
use ndarray::Array2;
use serde::Serialize;
use ssdtune_learn::mlp::{
    Activation, Curves, EarlyStopping, MlpError, MlpParams, Optimiser, Targets,
};
use ssdtune_learn::{Version, split};
use ssdtune_trace::features::ssdkeeper::{Intensity, LENGTH};

/// Share of the mixes that only test.
pub const TEST_SHARE: f64 = 0.3;
/// Units of the hidden layer (section IV-D).
pub const HIDDEN: usize = 64;
/// Share of the plain mixes that a policy does not take for bursts.
pub const BURST_QUANTILE: f64 = 0.995;
/// Parts in which the training mixes are divided to choose the threshold.
pub const FOLDS: usize = 3;
/// A strategy so many times as slow as `Shared` is as bad as any slower one: rankers spend nothing on it.
const WORST_RATIO: f64 = 1.5;

/// A way to train.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Recipe {
    /// Its name in Table III.
    pub name: &'static str,
    /// What the outputs are.
    pub kind: Kind,
    #[serde(skip)]
    activation: Activation,
    #[serde(skip)]
    optimiser: Optimiser,
}

/// The rows of Table III, and the ranker.
pub const RECIPES: [Recipe; 5] = [
    Recipe {
        name: "sgd",
        kind: Kind::Classifier,
        activation: Activation::Logistic,
        optimiser: Optimiser::Sgd { learning_rate: 0.2, momentum: 0.0 },
    },
    Recipe {
        name: "sgd-momentum",
        kind: Kind::Classifier,
        activation: Activation::Logistic,
        optimiser: Optimiser::Sgd { learning_rate: 0.2, momentum: 0.9 },
    },
    Recipe {
        name: "adam-relu",
        kind: Kind::Classifier,
        activation: Activation::Relu,
        optimiser: Optimiser::Adam { learning_rate: 0.02 },
    },
    Recipe {
        name: "adam-logistic",
        kind: Kind::Classifier,
        activation: Activation::Logistic,
        optimiser: Optimiser::Adam { learning_rate: 0.02 },
    },
    Recipe {
        name: "ranker",
        kind: Kind::Ranker,
        activation: Activation::Logistic,
        optimiser: Optimiser::Adam { learning_rate: 0.005 },
    },
];

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Schedule {
    /// Times that all mixes are seen.
    pub epochs: usize,
    /// Mixes for each step.
    pub batch: usize,
    /// What decides the first weights, the order of the mixes and what is held back.
    pub seed: u64,
}

impl Default for Schedule {
    /// The paper's 200 iterations.
    fn default() -> Self {
        Self { epochs: 200, batch: 64, seed: 0 }
    }
}

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Too few mixes.
    #[error("{found} labelled mixes are too few to learn from: label at least 20")]
    TooFew {
        /// How many there are.
        found: usize,
    },
    /// The network.
    #[error(transparent)]
    Network(#[from] MlpError),
}

/// A policy and how it came about.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The policy.
    pub policy: Policy,
    /// Loss and accuracy after each epoch.
    pub curves: Curves,
    /// The epoch its weights are from.
    pub epoch: usize,
}

/// The labels' rows for training and for testing.
///
/// # Errors
/// There are too few.
pub fn divide(labels: &Labels, seed: u64) -> Result<[Vec<&Row>; 2], TrainError> {
    let found = labels.rows.len();
    if found < 20 {
        return Err(TrainError::TooFew { found });
    }
    let parts = split::parts(found, &[1.0 - TEST_SHARE, TEST_SHARE], seed)
        .map_err(|_| TrainError::TooFew { found })?;
    let rows = |part: &Vec<usize>| part.iter().map(|&row| &labels.rows[row]).collect();
    Ok([rows(&parts[0]), rows(&parts[1])])
}

/// Trains on some rows.
///
/// # Errors
/// The network cannot be trained; without the feature `torch` none can.
pub fn train(
    labels: &Labels,
    rows: &[&Row],
    recipe: Recipe,
    schedule: Schedule,
    made_by: String,
) -> Result<Trained, TrainError> {
    let mut trained = fit(labels, rows, recipe, schedule)?;
    trained.policy.abstain = abstention(labels, rows, recipe, schedule)?;
    trained.policy.made_by = made_by;
    Ok(trained)
}

/// Trains without a threshold.
fn fit(
    labels: &Labels,
    rows: &[&Row],
    recipe: Recipe,
    schedule: Schedule,
) -> Result<Trained, TrainError> {
    let source = &labels.source;
    let tenants = source.tenants.iter().copied().max().unwrap_or(2);
    let strategies = Strategy::all(source.channels, tenants);
    let intensity = Intensity { requests_per_s_max: source.settings.rate_max_pages };
    let burst_max = burst_max(rows, intensity);
    let known = |row: &&&Row| Seen::new(&row.seen, intensity).burst <= burst_max;
    let rows: Vec<&Row> = rows.iter().filter(known).copied().collect();
    let seen: Vec<Seen> = rows.iter().map(|row| Seen::new(&row.seen, intensity)).collect();
    let cells: Vec<f64> = seen.iter().flat_map(Seen::vector).collect();
    let x = Array2::from_shape_vec((rows.len(), LENGTH), cells).expect("nine cells a row");
    let params = MlpParams::new([HIDDEN])
        .activation(recipe.activation)
        .optimiser(recipe.optimiser)
        .epochs(schedule.epochs)
        .batch(schedule.batch)
        .early_stopping(EarlyStopping { fraction: 0.1, patience: schedule.epochs })
        .seed(schedule.seed);
    let training = match recipe.kind {
        Kind::Classifier => {
            let class = |(row, seen): (&&Row, &Seen)| {
                let best = seen.to_ordered(&row.best().strategy);
                strategies.iter().position(|strategy| *strategy == best).unwrap_or(0)
            };
            let of: Vec<usize> = rows.iter().zip(&seen).map(class).collect();
            params.fit(x.view(), Targets::Classes { classes: strategies.len(), labels: &of })?
        }
        Kind::Ranker => {
            let cells = (rows.iter().zip(&seen))
                .flat_map(|(row, seen)| strategies.iter().map(|s| target(row, seen, s)));
            let shape = (rows.len(), strategies.len());
            let values =
                Array2::from_shape_vec(shape, cells.collect()).expect("a cell for each strategy");
            params.fit(x.view(), Targets::Values(values.view()))?
        }
    };
    let policy = Policy {
        version: Version,
        device: source.device.clone(),
        device_digest: source.device_digest.clone(),
        channels: source.channels,
        made_by: String::new(),
        seed: schedule.seed,
        intensity,
        collect_ns: source.settings.collect_ns,
        kind: recipe.kind,
        abstain: 0.0,
        burst_max,
        strategies,
        network: training.model,
    };
    Ok(Trained { policy, curves: training.curves, epoch: training.epoch })
}

/// What most plain mixes stay within; of bursty ones alone, all.
fn burst_max(rows: &[&Row], intensity: Intensity) -> f64 {
    let bursts = |plain: bool| {
        let rows = rows.iter().filter(move |row| !plain || !row.mix.is_bursty());
        let mut bursts: Vec<f64> = rows.map(|row| Seen::new(&row.seen, intensity).burst).collect();
        bursts.sort_by(f64::total_cmp);
        bursts
    };
    let plain = bursts(true);
    let rank = (BURST_QUANTILE * plain.len() as f64).ceil() as usize;
    match rank.checked_sub(1) {
        Some(place) => plain[place],
        None => bursts(false).last().copied().unwrap_or(0.0),
    }
}

/// The logarithm of a strategy's total over that of `Shared`.
fn target(row: &Row, seen: &Seen, strategy: &Strategy) -> f64 {
    let on_drive = seen.to_drive(strategy);
    if !on_drive.is_distinct(&seen.writers) {
        // Two parts of one kind are `Shared`; parts for other numbers of tenants are nothing.
        return if matches!(on_drive, Strategy::Parts(_)) { WORST_RATIO.ln() } else { 0.0 };
    }
    let shared = row.ratio(&Strategy::Shared).unwrap_or(1.0);
    let own = row.ratio(&on_drive).unwrap_or(f64::INFINITY);
    (own / shared).min(WORST_RATIO).ln()
}

/// The threshold with the fewest mixes slower than under `Shared` by more than 2 %; of equals, the one with the least
/// mean regret. Every mix is judged by a network that has not learned from it: what a network has learned it never
/// doubts.
fn abstention(
    labels: &Labels,
    rows: &[&Row],
    recipe: Recipe,
    schedule: Schedule,
) -> Result<f64, TrainError> {
    let candidates: &[f64] = match recipe.kind {
        Kind::Ranker => &[0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2],
        Kind::Classifier => &[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
    };
    let found = rows.len();
    let folds =
        split::k_fold(found, FOLDS, schedule.seed).map_err(|_| TrainError::TooFew { found })?;
    let mut judged = vec![(0.0, 0.0); candidates.len()];
    for fold in folds {
        let of = |part: &[usize]| part.iter().map(|&row| rows[row]).collect::<Vec<&Row>>();
        let (known, unknown) = (of(&fold.train), of(&fold.test));
        let policy = fit(labels, &known, recipe, schedule)?.policy;
        for (sums, &abstain) in judged.iter_mut().zip(candidates) {
            let score = score(&Policy { abstain, ..policy.clone() }, &unknown);
            sums.0 += score.above_shared_share * unknown.len() as f64;
            sums.1 += score.regret_mean * unknown.len() as f64;
        }
    }
    let better = |a: &&(usize, (f64, f64)), b: &&(usize, (f64, f64))| {
        // Shares of folds times their mixes are counts, but for the last digits.
        a.1.0.round().total_cmp(&b.1.0.round()).then(a.1.1.total_cmp(&b.1.1))
    };
    let judged: Vec<(usize, (f64, f64))> = judged.into_iter().enumerate().collect();
    Ok(judged.iter().min_by(better).map_or(0.0, |best| candidates[best.0]))
}
