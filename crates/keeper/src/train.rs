//! From labels to a policy: the paper's four ways to train a classifier (Table III), and the ranker.
//!
//! Mixes are divided 70 to 30 by a seed; the 30 % are for testing only. Of the 70 % a tenth is held back
//! during training, for the curves of Fig. 4 and to choose the epoch whose weights are kept. Mixes that come in
//! bursts are what a policy abstains from: [`BURST_QUANTILE`] of the plain training mixes are within its `burst_max`,
//! and networks learn from the mixes within. What a strategy must promise over `Shared` and may risk is chosen by
//! cross-validation in the training mixes.
//!
//! Cost: a network on 3,500 mixes takes seconds, and each is trained [`FOLDS`] times more for the threshold.

use crate::bench::Means;
use crate::eval::score;
use crate::features::{Rates, Seen};
use crate::labels::{Labels, Row};
use crate::parts;
use crate::policy::{Kind, Policy};
use crate::strategy::{Part, Strategy};
use crate::vector::{Intensity, LENGTH};
use ndarray::Array2;
use serde::Serialize;
use ssdtune_learn::mlp::{
    Activation, Curves, EarlyStopping, MlpError, MlpParams, Optimiser, Targets,
};
use ssdtune_learn::{Version, selection};

/// Share of the mixes that only test.
pub const TEST_SHARE: f64 = 0.3;
/// Units of the hidden layer (section IV-D).
const HIDDEN: &[usize] = &[64];
/// And of a network for parts, which is asked some twenty times for a decision.
const PART_HIDDEN: &[usize] = &[32, 16];
/// Share of the plain mixes that a policy does not take for bursts.
pub const BURST_QUANTILE: f64 = 0.995;
/// How often a loss counts that nobody would have without an allocator.
const HARM: f64 = 20.0;
/// Parts in which the training mixes are divided to choose the thresholds.
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

/// The rows of Table III, and the two that predict latencies.
pub const RECIPES: [Recipe; 6] = [
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
    Recipe {
        name: "parts",
        kind: Kind::Parts,
        activation: Activation::Relu,
        optimiser: Optimiser::Adam { learning_rate: 0.02 },
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
    let parts = selection::partition(found, &[1.0 - TEST_SHARE, TEST_SHARE], seed)
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
    (trained.policy.abstain, trained.policy.risk) = abstention(labels, rows, recipe, schedule)?;
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
    let both = || rows.iter().copied().zip(&seen);
    let params = MlpParams::new(if recipe.kind == Kind::Parts { PART_HIDDEN } else { HIDDEN })
        .activation(recipe.activation)
        .optimiser(recipe.optimiser)
        .epochs(schedule.epochs)
        .batch(schedule.batch)
        .cooling(recipe.kind == Kind::Parts)
        .early_stopping(EarlyStopping { fraction: 0.1, patience: schedule.epochs })
        .seed(schedule.seed);
    let table = |cells: Vec<f64>, columns: usize| {
        let shape = (cells.len() / columns, columns);
        Array2::from_shape_vec(shape, cells).expect("as many cells in each row")
    };
    let vectors = || table(seen.iter().flat_map(Seen::vector).collect(), LENGTH);
    let training = match recipe.kind {
        Kind::Classifier => {
            let class = |(row, seen): (&Row, &Seen)| {
                let best = seen.to_ordered(&row.best().strategy);
                strategies.iter().position(|strategy| *strategy == best).unwrap_or(0)
            };
            let of: Vec<usize> = both().map(class).collect();
            let targets = Targets::Classes { classes: strategies.len(), labels: &of };
            params.fit(vectors().view(), targets)?
        }
        Kind::Ranker => {
            let of = |(row, seen)| strategies.iter().map(move |s| target(row, seen, s));
            let values = table(both().flat_map(of).collect(), strategies.len());
            params.fit(vectors().view(), Targets::Values(values.view()))?
        }
        Kind::Parts => {
            let of = |row: &&Row| examples(row, source.channels);
            let (inputs, latencies): (Vec<_>, Vec<_>) = rows.iter().flat_map(of).unzip();
            let values =
                table(latencies.into_iter().flat_map(parts::outputs).collect(), parts::OUTPUTS);
            let inputs = table(inputs.into_iter().flatten().collect(), parts::INPUTS);
            params.fit(inputs.view(), Targets::Values(values.view()))?
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
        risk: 0.0,
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

/// Every part of a mix's strategies that both read and wrote: what a network is told of it, and its latencies. A part
/// that several strategies have is there once, from a run to the end if there was one. What was asked for is that of
/// the whole run: what T's sample leaves unknown is not the part's.
fn examples(row: &Row, channels: u32) -> Vec<([f64; parts::INPUTS], [f64; 2])> {
    let mut known: Vec<(Part, bool, Means)> = Vec::new();
    for entry in &row.entries {
        let is_whole = entry.behind.is_none();
        for (part, means) in entry.strategy.parts(channels, &row.mix.writers()).zip(&entry.parts) {
            match known.iter_mut().find(|(other, ..)| *other == part) {
                Some(old) if is_whole && !old.1 => *old = (part, true, *means),
                Some(_) => {}
                None => known.push((part, is_whole, *means)),
            }
        }
    }
    let is_both =
        |(_, _, means): &&(Part, bool, Means)| means.read_ns > 0.0 && means.write_ns > 0.0;
    let rates = row.run.rates();
    let example = |(part, _, means): &(Part, bool, Means)| {
        let own = Rates::sum(part.tenants.of(&rates));
        (parts::inputs(&own, part.channels), [means.read_ns, means.write_ns])
    };
    known.iter().filter(is_both).map(example).collect()
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

/// What a policy must be promised, and may risk: the thresholds with the least mean regret, what is slower than under
/// `Shared` by more than [`crate::eval::HARMLESS`] counted [`HARM`] times. Every mix is judged by a network that has not
/// learned from it: what a network has learned it never doubts.
fn abstention(
    labels: &Labels,
    rows: &[&Row],
    recipe: Recipe,
    schedule: Schedule,
) -> Result<(f64, f64), TrainError> {
    let (promises, risks): (&[f64], &[f64]) = match recipe.kind {
        Kind::Classifier => (&[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], &[0.0]),
        Kind::Ranker => (&[0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2], &[0.0]),
        Kind::Parts => (&[0.0, 0.002, 0.005, 0.01, 0.02, 0.03], &[0.02, 0.05, 0.1, 0.2, 0.5]),
    };
    let candidates: Vec<(f64, f64)> = promises
        .iter()
        .flat_map(|&abstain| risks.iter().map(move |&risk| (abstain, risk)))
        .collect();
    let found = rows.len();
    let folds =
        selection::k_fold(found, FOLDS, schedule.seed).map_err(|_| TrainError::TooFew { found })?;
    let mut costs = vec![0.0; candidates.len()];
    for fold in folds {
        let of = |part: &[usize]| part.iter().map(|&row| rows[row]).collect::<Vec<&Row>>();
        let (known, unknown) = (of(&fold.train), of(&fold.test));
        let policy = fit(labels, &known, recipe, schedule)?.policy;
        for (cost, &(abstain, risk)) in costs.iter_mut().zip(&candidates) {
            let score = score(&Policy { abstain, risk, ..policy.clone() }, &unknown);
            *cost += (score.regret_mean + HARM * score.harm_mean) * unknown.len() as f64;
        }
    }
    let judged = candidates.into_iter().zip(costs);
    Ok(judged.min_by(|a, b| a.1.total_cmp(&b.1)).map_or((0.0, 0.0), |(best, _)| best))
}
