//! From labels to a policy: the paper's four ways to train a classifier (Table III), a ranker,
//! and a network for parts.
//!
//! Mixes are divided 70 to 30 by a seed, and the 30 % are for testing only. A tenth of the 70 % is
//! held back during training, for the curves of Fig. 4 and to choose the epoch whose weights are
//! kept. Then the limits within which the policy trusts its network are set:
//! - `burst_max` is what [`BURST_QUANTILE`] of the plain training mixes stay within. Networks learn
//!   from the mixes within it.
//! - `abstain` and `risk` are chosen by cross-validation within the training mixes.
//!
//! Cost: a network on 3,500 mixes takes seconds. Each is trained [`FOLDS`] times more for `abstain`
//! and `risk`.

use crate::evaluation::{Score, score, score_network};
use crate::features::{ObservedMix, Rates};
use crate::forecast;
use crate::labels::{LabelledMix, Labels};
use crate::policy::{NetworkKind, Policy};
use crate::simulation::MeanLatencies;
use crate::strategy::{Part, Strategy};
use crate::vector::{FEATURES, Intensity};
use ndarray::Array2;
use serde::Serialize;
use ssdtune_learn::mlp::{
    Activation, Curves, EarlyStopping, MlpError, MlpParams, Optimiser, Targets, Training,
};
use ssdtune_learn::{Version, selection};
use std::time::Instant;

/// The share of mixes that are for testing only, 0 to 1.
pub const TEST_SHARE: f64 = 0.3;
/// Units of the hidden layer (section IV-D).
const HIDDEN: &[usize] = &[64];
/// Units of the hidden layers of a network for parts, which is asked some twenty times for one
/// decision.
const PART_HIDDEN: &[usize] = &[32, 16];
/// The share of the plain training mixes that a policy does not take for bursts, 0 to 1.
pub const BURST_QUANTILE: f64 = 0.995;
/// How many times as much as regret a loss counts that nobody would have without an allocator.
const HARM: f64 = 20.0;
/// Number of parts that the training mixes are divided into to choose `abstain` and `risk`.
pub const FOLDS: usize = 3;
/// A ranker does not tell strategies apart that are slower than `Shared` by this factor or more.
const WORST_RATIO: f64 = 1.5;
/// The fewest labelled mixes to learn from.
const MIXES_MIN: usize = 20;

/// A way to train a network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrainingRecipe {
    /// Its name on the command line and, for the first four, in Table III.
    pub name: &'static str,
    /// What the outputs of the network are.
    pub kind: NetworkKind,
    #[serde(skip)]
    activation: Activation,
    #[serde(skip)]
    optimiser: Optimiser,
}

/// The four ways of Table III to train a classifier, and two ways to predict latencies.
pub const RECIPES: [TrainingRecipe; 6] = [
    TrainingRecipe {
        name: "sgd",
        kind: NetworkKind::Classifier,
        activation: Activation::Logistic,
        optimiser: Optimiser::Sgd { learning_rate: 0.2, momentum: 0.0 },
    },
    TrainingRecipe {
        name: "sgd-momentum",
        kind: NetworkKind::Classifier,
        activation: Activation::Logistic,
        optimiser: Optimiser::Sgd { learning_rate: 0.2, momentum: 0.9 },
    },
    TrainingRecipe {
        name: "adam-relu",
        kind: NetworkKind::Classifier,
        activation: Activation::Relu,
        optimiser: Optimiser::Adam { learning_rate: 0.02 },
    },
    TrainingRecipe {
        name: "adam-logistic",
        kind: NetworkKind::Classifier,
        activation: Activation::Logistic,
        optimiser: Optimiser::Adam { learning_rate: 0.02 },
    },
    TrainingRecipe {
        name: "ranker",
        kind: NetworkKind::Ranker,
        activation: Activation::Logistic,
        optimiser: Optimiser::Adam { learning_rate: 0.005 },
    },
    TrainingRecipe {
        name: "parts",
        kind: NetworkKind::Parts,
        activation: Activation::Relu,
        optimiser: Optimiser::Adam { learning_rate: 0.02 },
    },
];

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrainingSchedule {
    /// How many times all mixes are seen.
    pub epochs: usize,
    /// Mixes in each step; for a network of parts, parts.
    pub batch: usize,
    /// Decides the first weights, the order of the mixes and which are held back.
    pub seed: u64,
}

impl Default for TrainingSchedule {
    /// The paper's 200 iterations.
    fn default() -> Self {
        Self { epochs: 200, batch: 64, seed: 0 }
    }
}

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// There are too few mixes.
    #[error("{found} labelled mixes are too few to learn from: label at least {MIXES_MIN}")]
    TooFew {
        /// How many there are.
        found: usize,
    },
    /// The network cannot be trained.
    #[error(transparent)]
    Network(#[from] MlpError),
}

/// How a training went, and how good the policy is.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingReport {
    /// Name of the recipe.
    pub recipe: &'static str,
    /// Number of mixes for training.
    pub mixes: usize,
    /// The epoch whose weights were kept, from 0.
    pub epoch: usize,
    /// Time of the training on this machine, in seconds.
    pub seconds: f64,
    /// Loss on the training mixes after that epoch; NaN if there was no epoch.
    pub loss: f64,
    /// The network alone, never abstaining, on the plain test mixes: the paper's measure.
    pub network: Score,
    /// The policy on all test mixes.
    pub score: Score,
    /// Loss and accuracy after each epoch.
    pub curves: Curves,
}

/// Divides labelled mixes into those for training and those for testing.
///
/// # Errors
/// There are too few.
pub fn divide(labels: &Labels, seed: u64) -> Result<[Vec<&LabelledMix>; 2], TrainError> {
    let found = labels.mixes.len();
    if found < MIXES_MIN {
        return Err(TrainError::TooFew { found });
    }
    let parts = selection::partition(found, &[1.0 - TEST_SHARE, TEST_SHARE], seed)
        .map_err(|_| TrainError::TooFew { found })?;
    let mixes = |part: &Vec<usize>| part.iter().map(|&place| &labels.mixes[place]).collect();
    Ok([mixes(&parts[0]), mixes(&parts[1])])
}

/// Trains a policy on the training mixes among the labels and judges it on the others, as
/// [`divide`] divides them by the schedule's seed. `made_by` is the command, for the policy's file.
///
/// # Errors
/// There are too few mixes, or the network cannot be trained, for instance because the program
/// `ssdtune-train` is not there.
pub fn train(
    labels: &Labels,
    recipe: TrainingRecipe,
    schedule: TrainingSchedule,
    made_by: String,
) -> Result<(Policy, TrainingReport), TrainError> {
    let start = Instant::now();
    let [mixes, test] = divide(labels, schedule.seed)?;
    let (bold, curves, epoch) = fit(labels, &mixes, recipe, schedule)?;
    let (abstain, risk) = abstention(labels, &mixes, recipe, schedule)?;
    let policy = Policy { abstain, risk, made_by, ..bold };
    let seconds = start.elapsed().as_secs_f64();
    let report = TrainingReport {
        recipe: recipe.name,
        mixes: mixes.len(),
        epoch,
        seconds,
        loss: curves.train_loss.get(epoch).copied().unwrap_or(f64::NAN),
        network: score_network(&policy, &test),
        score: score(&policy, &test),
        curves,
    };
    Ok((policy, report))
}

/// Trains a policy that never abstains, except from bursts. Also gives the curves of the training
/// and the epoch whose weights were kept.
fn fit(
    labels: &Labels,
    mixes: &[&LabelledMix],
    recipe: TrainingRecipe,
    schedule: TrainingSchedule,
) -> Result<(Policy, Curves, usize), TrainError> {
    let source = &labels.source;
    let tenants = source.tenants.iter().copied().max().unwrap_or(2);
    let strategies = Strategy::all(source.channels, tenants);
    let intensity = Intensity { requests_per_s_max: source.settings.rate_max_pages };
    let burst_max = burst_max(mixes, intensity);
    let is_known = |mix: &&&LabelledMix| ObservedMix::new(&mix.seen, intensity).burst <= burst_max;
    let mixes: Vec<&LabelledMix> = mixes.iter().filter(is_known).copied().collect();
    let examples = Examples { mixes, intensity, strategies: &strategies };
    let Training { model, curves, epoch, .. } =
        examples.train(recipe, schedule, source.channels)?;
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
        network: model,
    };
    Ok((policy, curves, epoch))
}

/// What a network learns from.
struct Examples<'a> {
    mixes: Vec<&'a LabelledMix>,
    intensity: Intensity,
    strategies: &'a [Strategy],
}

impl Examples<'_> {
    fn train(
        &self,
        recipe: TrainingRecipe,
        schedule: TrainingSchedule,
        channels: u32,
    ) -> Result<Training, MlpError> {
        let is_parts = recipe.kind == NetworkKind::Parts;
        let params = MlpParams::new(if is_parts { PART_HIDDEN } else { HIDDEN })
            .activation(recipe.activation)
            .optimiser(recipe.optimiser)
            .epochs(schedule.epochs)
            .batch(schedule.batch)
            .cooling(is_parts)
            .early_stopping(EarlyStopping { fraction: 0.1, patience: schedule.epochs })
            .seed(schedule.seed);
        let observe = |mix: &&LabelledMix| ObservedMix::new(&mix.seen, self.intensity);
        let observed: Vec<ObservedMix> = self.mixes.iter().map(observe).collect();
        let both = || self.mixes.iter().copied().zip(&observed);
        let vectors = || table(observed.iter().flat_map(ObservedMix::vector).collect(), FEATURES);
        match recipe.kind {
            NetworkKind::Classifier => {
                let labels: Vec<usize> =
                    both().map(|(mix, observed)| self.class(mix, observed)).collect();
                let classes = self.strategies.len();
                params.fit(vectors().view(), Targets::Classes { classes, labels: &labels })
            }
            NetworkKind::Ranker => {
                let of = |(mix, observed)| {
                    self.strategies.iter().map(move |one| log_ratio(mix, observed, one))
                };
                let values = table(both().flat_map(of).collect(), self.strategies.len());
                params.fit(vectors().view(), Targets::Values(values.view()))
            }
            NetworkKind::Parts => {
                let of = |mix: &&LabelledMix| part_examples(mix, channels);
                let (inputs, latencies): (Vec<_>, Vec<_>) = self.mixes.iter().flat_map(of).unzip();
                let outputs = latencies.into_iter().flat_map(forecast::outputs).collect();
                let values = table(outputs, forecast::OUTPUTS);
                let inputs = table(inputs.into_iter().flatten().collect(), forecast::INPUTS);
                params.fit(inputs.view(), Targets::Values(values.view()))
            }
        }
    }

    /// The place of the best strategy among the strategies.
    fn class(&self, mix: &LabelledMix, observed: &ObservedMix) -> usize {
        let best = observed.to_ordered(&mix.best().strategy);
        self.strategies.iter().position(|strategy| *strategy == best).unwrap_or(0)
    }
}

/// A table of this number of columns from its cells, row by row.
fn table(cells: Vec<f64>, columns: usize) -> Array2<f64> {
    let shape = (cells.len() / columns, columns);
    Array2::from_shape_vec(shape, cells).expect("as many cells in each row")
}

/// The burst figure that most plain mixes stay within; if all mixes are bursty, the largest of
/// them.
fn burst_max(mixes: &[&LabelledMix], intensity: Intensity) -> f64 {
    let bursts = |plain: bool| {
        let mixes = mixes.iter().filter(move |mix| !plain || !mix.mix.is_bursty());
        let mut bursts: Vec<f64> =
            mixes.map(|mix| ObservedMix::new(&mix.seen, intensity).burst).collect();
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

/// Every part of a mix's strategies that both read and wrote: what a network is told of it, and its
/// mean latencies in nanoseconds.
///
/// A part that several strategies have is there once, from a run to the end if there was one. Its
/// rates are those of the whole run: they belong to the part, whereas a period is only a sample.
fn part_examples(mix: &LabelledMix, channels: u32) -> Vec<([f64; forecast::INPUTS], [f64; 2])> {
    let mut known: Vec<(Part, bool, MeanLatencies)> = Vec::new();
    for entry in &mix.entries {
        let is_whole = entry.behind.is_none();
        for (part, means) in entry.strategy.parts(channels, &mix.mix.writers()).zip(&entry.parts) {
            match known.iter_mut().find(|(other, ..)| *other == part) {
                Some(old) if is_whole && !old.1 => *old = (part, true, *means),
                Some(_) => {}
                None => known.push((part, is_whole, *means)),
            }
        }
    }
    let is_both =
        |(_, _, means): &&(Part, bool, MeanLatencies)| means.read_ns > 0.0 && means.write_ns > 0.0;
    let rates = mix.run.rates();
    let example = |(part, _, means): &(Part, bool, MeanLatencies)| {
        let own = Rates::sum(part.tenants.select(&rates));
        (forecast::inputs(&own, part.channels), [means.read_ns, means.write_ns])
    };
    known.iter().filter(is_both).map(example).collect()
}

/// The logarithm of a strategy's total latency divided by that of `Shared`: what a ranker learns.
fn log_ratio(mix: &LabelledMix, observed: &ObservedMix, strategy: &Strategy) -> f64 {
    let on_drive = observed.to_drive(strategy);
    if !on_drive.is_distinct(&observed.writers) {
        // Two parts without two kinds are `Shared`; parts for another number of tenants are
        // useless.
        return if matches!(on_drive, Strategy::Parts(_)) { WORST_RATIO.ln() } else { 0.0 };
    }
    let shared = mix.ratio(&Strategy::Shared).unwrap_or(1.0);
    let own = mix.ratio(&on_drive).unwrap_or(f64::INFINITY);
    (own / shared).min(WORST_RATIO).ln()
}

/// Chooses `abstain` and `risk`: the limits with the least mean regret, where a loss against
/// `Shared` beyond [`crate::evaluation::HARMLESS`] counts [`HARM`] times. Each mix is judged by a
/// network that has not learned from it, because a network never doubts what it has learned.
fn abstention(
    labels: &Labels,
    mixes: &[&LabelledMix],
    recipe: TrainingRecipe,
    schedule: TrainingSchedule,
) -> Result<(f64, f64), TrainError> {
    let (promises, risks): (&[f64], &[f64]) = match recipe.kind {
        NetworkKind::Classifier => (&[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], &[0.0]),
        NetworkKind::Ranker => {
            (&[0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2], &[0.0])
        }
        NetworkKind::Parts => {
            (&[0.0, 0.002, 0.005, 0.01, 0.02, 0.03], &[0.02, 0.05, 0.1, 0.2, 0.5])
        }
    };
    let candidates: Vec<(f64, f64)> = promises
        .iter()
        .flat_map(|&abstain| risks.iter().map(move |&risk| (abstain, risk)))
        .collect();
    let found = mixes.len();
    let folds =
        selection::k_fold(found, FOLDS, schedule.seed).map_err(|_| TrainError::TooFew { found })?;
    let mut costs = vec![0.0; candidates.len()];
    for fold in folds {
        let of = |part: &[usize]| part.iter().map(|&at| mixes[at]).collect::<Vec<&LabelledMix>>();
        let (known, unknown) = (of(&fold.train), of(&fold.test));
        let policy = fit(labels, &known, recipe, schedule)?.0;
        for (cost, &(abstain, risk)) in costs.iter_mut().zip(&candidates) {
            let score = score(&Policy { abstain, risk, ..policy.clone() }, &unknown);
            *cost += (score.regret_mean + HARM * score.harm_mean) * unknown.len() as f64;
        }
    }
    let judged = candidates.into_iter().zip(costs);
    Ok(judged.min_by(|a, b| a.1.total_cmp(&b.1)).map_or((0.0, 0.0), |(best, _)| best))
}
