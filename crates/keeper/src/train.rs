//! From labels to a policy: the paper's four ways to train a classifier (Table III), a ranker,
//! and a network for parts.
//!
//! Mixes are divided 70 to 30 by a seed, and the 30 % are for testing only. A tenth of the 70 % is
//! held back during training, for the curves of Fig. 4 and to choose the epoch whose weights are
//! kept. Then the limits within which the policy trusts its network, `abstain` and `doubt`, are
//! chosen by cross-validation within the training mixes. So is the risk of a switch that a policy
//! of parts takes; what it forecasts of switches is learned from the promises of networks that have
//! not seen the mix, since those of the others are too good.
//!
//! Cost: a network on 3,500 mixes takes seconds. Each is trained [`FOLDS`] times more.

mod parts;

use crate::evaluation::{
    Judged, Score, SwitchScore, followed_cost, score, score_network, score_switches,
    switch_examples,
};
use crate::features::ObservedMix;
use crate::forecast;
use crate::labels::{LabelSource, LabelledMix, Labels};
use crate::policy::{NetworkKind, Policy, TenantsError};
use crate::strategy::Strategy;
use crate::switch::{SwitchExample, SwitchModel};
use crate::vector::FEATURES;
use ndarray::Array2;
use parts::{PartExample, PartRow, examples_of};
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_learn::Version;
use ssdtune_learn::mlp::{
    Activation, Curves, EarlyStopping, MlpError, MlpParams, Optimiser, Targets, Training,
};
use ssdtune_learn::selection::{self, Split};
use ssdtune_learn::tree::BoostError;
use std::collections::BTreeSet;
use std::time::Instant;

/// The share of mixes that are for testing only, 0 to 1.
pub const TEST_SHARE: f64 = 0.3;
/// Units of the hidden layer (section IV-D).
const HIDDEN: &[usize] = &[64];
/// Units of the hidden layers of a network for parts, which is asked some forty times for one
/// decision.
const PART_HIDDEN: &[usize] = &[32, 16];
/// And if it learns from several drives, which is more to tell apart: with half of the units what
/// was taken of the gains of a drive that was not learned from fell from 8 to 81 % to 0 to 51 %
/// (three seeds).
const PART_HIDDEN_SEVERAL: &[usize] = &[64, 32];
/// How many times as much as regret a loss counts that nobody would have without an allocator.
const HARM: f64 = 20.0;
/// Number of parts that the training mixes are divided into to choose `abstain` and `doubt`.
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
        optimiser: Optimiser::Adam { learning_rate: 0.005 },
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
    /// The drives have different numbers of channels.
    #[error(
        "drives of {} and of {} channels are labelled: one network divides as many as it learned \
         from",
        channels[0], channels[1]
    )]
    Channels {
        /// Two numbers that were found.
        channels: [u32; 2],
    },
    /// The period T of some drives is longer than that of others, in pages that they serve.
    #[error(
        "T is as long as level 20 takes for {:.0} pages in one file and {:.0} in another: label \
         with a --collect-ms that is the shorter, the more pages a second the drive can serve",
        pages[0], pages[1]
    )]
    Periods {
        /// Two numbers that were found.
        pages: [f64; 2],
    },
    /// A mix of a drive is in two files.
    #[error("two files hold the same mixes of the drive {device}: name each once")]
    Twice {
        /// Name of the drive.
        device: String,
    },
    /// The mixes have more tenants than such a network has inputs for.
    #[error(transparent)]
    Tenants(#[from] TenantsError),
    /// The network cannot be trained.
    #[error(transparent)]
    Network(#[from] MlpError),
    /// The forecasts of switches cannot be trained.
    #[error(transparent)]
    Switches(#[from] BoostError),
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
    /// What the policy would have done with the switches of the test mixes; `None` if it has not
    /// learned what switches do, or there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<SwitchScore>,
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

/// Trains a policy on the training mixes among the labels of a drive, or of several drives, and
/// judges it on the others, as [`divide`] divides each drive's by the schedule's seed. `made_by` is
/// the command, for the policy's file.
///
/// # Errors
/// There are too few mixes, or the network cannot be trained, for instance because the program
/// `ssdtune-train` is not there.
pub fn train(
    labels: &[Labels],
    recipe: TrainingRecipe,
    schedule: TrainingSchedule,
    made_by: String,
) -> Result<(Policy, TrainingReport), TrainError> {
    let start = Instant::now();
    check_files(labels)?;
    let (mut samples, mut test) = (Vec::new(), Vec::new());
    for own in labels {
        let [known, unknown] = divide(own, schedule.seed)?;
        samples.extend(samples_of(&own.source, &known, recipe.kind));
        test.push(Judged { source: &own.source, mixes: unknown });
    }
    let samples: Vec<&Sample> = samples.iter().collect();
    let (bold, curves, epoch) = fit(&samples, recipe, schedule)?;
    let folds = folds(&samples, recipe, schedule)?;
    let (abstain, doubt) = abstention(&folds, recipe);
    let switch = learn_switches(&folds)?;
    let policy = Policy { abstain, doubt, switch, made_by, ..bold };
    let seconds = start.elapsed().as_secs_f64();
    let report = TrainingReport {
        recipe: recipe.name,
        mixes: samples.len(),
        epoch,
        seconds,
        loss: curves.train_loss.get(epoch).copied().unwrap_or(f64::NAN),
        network: score_network(&policy, &test),
        score: score(&policy, &test),
        switches: score_switches(&policy, &test),
        curves,
    };
    Ok((policy, report))
}

/// By what factor T may be longer in some files than in others, in pages that the drives serve: it
/// was rounded to milliseconds.
const PERIOD_ERROR: f64 = 1.1;

/// Checks that one network can learn from all these labels.
fn check_files(labels: &[Labels]) -> Result<(), TrainError> {
    let Some(first) = labels.first() else { return Err(TrainError::TooFew { found: 0 }) };
    let period_pages = |one: &Labels| {
        one.source.settings.rate_max_pages * one.source.settings.collect_ns as f64 / 1e9
    };
    let mut known = BTreeSet::new();
    for other in labels {
        let channels = [first, other].map(|one| one.source.channels);
        if channels[0] != channels[1] {
            return Err(TrainError::Channels { channels });
        }
        let pages = [first, other].map(period_pages);
        if pages[0].max(pages[1]) > PERIOD_ERROR * pages[0].min(pages[1]) {
            return Err(TrainError::Periods { pages });
        }
        let LabelSource { device, device_digest, settings, .. } = &other.source;
        let new = |mix: &LabelledMix| known.insert((device_digest, settings.seed, mix.number));
        if !other.mixes.iter().all(new) {
            return Err(TrainError::Twice { device: device.clone() });
        }
    }
    Ok(())
}

/// Trains a policy that never abstains. Also gives the curves of the training
/// and the epoch whose weights were kept.
fn fit(
    samples: &[&Sample],
    recipe: TrainingRecipe,
    schedule: TrainingSchedule,
) -> Result<(Policy, Curves, usize), TrainError> {
    let source = samples[0].source;
    let tenants = samples.iter().flat_map(|one| one.source.tenants.iter().copied()).max();
    let tenants = tenants.unwrap_or(2);
    recipe.kind.check_tenants(tenants)?;
    let strategies = Strategy::all(source.channels, tenants);
    let intensity = source.intensity();
    let drives = drives(samples);
    let (device, device_digest) = match drives {
        1 => (source.device.clone(), source.device_digest.clone()),
        _ => (format!("{drives} drives of {} channels", source.channels), String::new()),
    };
    let examples = Examples { samples, strategies: &strategies };
    let Training { model, curves, epoch, .. } = examples.train(recipe, schedule)?;
    let policy = Policy {
        version: Version,
        drives,
        device,
        device_digest,
        channels: source.channels,
        flash: source.flash,
        made_by: String::new(),
        seed: schedule.seed,
        intensity,
        collect_ns: source.settings.collect_ns,
        kind: recipe.kind,
        abstain: 0.0,
        doubt: 0.0,
        switch: None,
        strategies,
        network: model,
    };
    Ok((policy, curves, epoch))
}

/// What a network learns from.
struct Examples<'a> {
    samples: &'a [&'a Sample<'a>],
    strategies: &'a [Strategy],
}

impl Examples<'_> {
    fn train(
        &self,
        recipe: TrainingRecipe,
        schedule: TrainingSchedule,
    ) -> Result<Training, MlpError> {
        let is_parts = recipe.kind == NetworkKind::Parts;
        let hidden = match (recipe.kind, drives(self.samples)) {
            (NetworkKind::Classifier | NetworkKind::Ranker, _) => HIDDEN,
            (NetworkKind::Parts, 1) => PART_HIDDEN,
            (NetworkKind::Parts, _) => PART_HIDDEN_SEVERAL,
        };
        let params = MlpParams::new(hidden)
            .activation(recipe.activation)
            .optimiser(recipe.optimiser)
            .epochs(schedule.epochs)
            .batch(schedule.batch)
            .cooling(is_parts)
            .early_stopping(EarlyStopping { fraction: 0.1, patience: schedule.epochs })
            .seed(schedule.seed);
        let observe = |one: &&Sample| ObservedMix::new(&one.mix.seen, one.source.intensity());
        let observed: Vec<ObservedMix> = self.samples.iter().map(observe).collect();
        let both = || self.samples.iter().map(|one| one.mix).zip(&observed);
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
                let examples = self.samples.iter().flat_map(|one| &one.parts);
                let of = |one: &PartExample| {
                    let rows = if one.periods.is_empty() { &one.matched } else { &one.periods };
                    rows.iter().map(|row| (*row, one.latencies)).collect::<Vec<_>>()
                };
                fit_parts(&params, examples.flat_map(of).collect())
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

/// Trains a network for parts: what it is told of each, and mean latencies in the drive's unit.
fn fit_parts(params: &MlpParams, examples: Vec<(PartRow, [f64; 2])>) -> Result<Training, MlpError> {
    let outputs = examples.iter().flat_map(|(row, own)| forecast::outputs(row, *own)).collect();
    let inputs = examples.iter().flat_map(|(row, _)| *row).collect();
    let (inputs, values) = (table(inputs, forecast::INPUTS), table(outputs, forecast::OUTPUTS));
    params.fit(inputs.view(), Targets::Values(values.view()))
}

/// A mix to learn from.
struct Sample<'a> {
    source: &'a LabelSource,
    mix: &'a LabelledMix,
    /// Its parts, for a network that learns from them.
    parts: Vec<PartExample>,
}

/// Number of drives that samples are of. One drive may have several files.
fn drives(samples: &[&Sample]) -> usize {
    let digests = samples.iter().map(|one| &one.source.device_digest);
    digests.collect::<BTreeSet<_>>().len()
}

/// What networks of a kind learn from the mixes of one drive.
fn samples_of<'a>(
    source: &'a LabelSource,
    mixes: &[&'a LabelledMix],
    kind: NetworkKind,
) -> Vec<Sample<'a>> {
    let drive = source.drive();
    let of = |&mix: &&'a LabelledMix| {
        let parts = match kind {
            NetworkKind::Parts => examples_of(mix, &source.whole_run(mix), &drive),
            NetworkKind::Classifier | NetworkKind::Ranker => Vec::new(),
        };
        Sample { source, mix, parts }
    };
    mixes.par_iter().map(of).collect()
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

/// A policy that never abstains, and training mixes that it has not learned from: a network never
/// doubts what it has learned.
type Fold<'a> = (Policy, Vec<Judged<'a>>);

/// The training mixes in [`FOLDS`] parts, each with a policy that has learned from the others.
fn folds<'a>(
    samples: &[&'a Sample<'a>],
    recipe: TrainingRecipe,
    schedule: TrainingSchedule,
) -> Result<Vec<Fold<'a>>, TrainError> {
    let found = samples.len();
    let folds =
        selection::k_fold(found, FOLDS, schedule.seed).map_err(|_| TrainError::TooFew { found })?;
    let of = |part: &[usize]| -> Vec<&Sample> {
        // Those of a file stand together.
        let mut part = part.to_vec();
        part.sort_unstable();
        part.into_iter().map(|at| samples[at]).collect()
    };
    let fold = |fold: Split| {
        let policy = fit(&of(&fold.train), recipe, schedule)?.0;
        Ok((policy, by_drive(&of(&fold.test))))
    };
    folds.into_iter().map(fold).collect()
}

/// The mixes of samples, file by file. Those of a file stand together.
fn by_drive<'a>(samples: &[&'a Sample<'a>]) -> Vec<Judged<'a>> {
    let same = samples.chunk_by(|a, b| std::ptr::eq(a.source, b.source));
    let of = |own: &[&'a Sample<'a>]| Judged {
        source: own[0].source,
        mixes: own.iter().map(|one| one.mix).collect(),
    };
    same.map(of).collect()
}

/// Chooses `abstain` and `doubt`: the limits that cost an allocator that follows the runs the
/// least, where a loss against `Shared` beyond [`crate::evaluation::HARMLESS`] counts [`HARM`]
/// times.
fn abstention(folds: &[Fold], recipe: TrainingRecipe) -> (f64, f64) {
    let (promises, doubts): (&[f64], &[f64]) = match recipe.kind {
        NetworkKind::Classifier => (&[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], &[0.0]),
        NetworkKind::Ranker => {
            (&[0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2], &[0.0])
        }
        NetworkKind::Parts => {
            let doubts = &[0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2];
            (&[-0.02, 0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12], doubts)
        }
    };
    let candidates: Vec<(f64, f64)> = promises
        .iter()
        .flat_map(|&abstain| doubts.iter().map(move |&doubt| (abstain, doubt)))
        .collect();
    let mut costs = vec![0.0; candidates.len()];
    for (policy, unknown) in folds {
        for (cost, &(abstain, doubt)) in costs.iter_mut().zip(&candidates) {
            let policy = Policy { abstain, doubt, ..policy.clone() };
            *cost += followed_cost(&policy, unknown, HARM);
        }
    }
    let judged = candidates.into_iter().zip(costs);
    judged.min_by(|a, b| a.1.total_cmp(&b.1)).map_or((0.0, 0.0), |(best, _)| best)
}

/// The risks of a switch, 0 to 1, of which the one is taken that costs the least.
const RISKS: [f64; 9] = [0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2];

/// Learns what switches do, and chooses the risk to take: the one that costs the least on mixes
/// that were not learned from. A loss against `Shared` beyond [`crate::evaluation::HARMLESS`]
/// counts [`HARM`] times. `None` if there are too few switches.
fn learn_switches(folds: &[Fold]) -> Result<Option<SwitchModel>, BoostError> {
    let examples: Vec<Vec<SwitchExample>> =
        folds.iter().map(|(policy, unknown)| switch_examples(policy, unknown)).collect();
    let mut costs = [0.0; RISKS.len()];
    for (number, unknown) in examples.iter().enumerate() {
        let others = examples.iter().enumerate().filter(|(other, _)| *other != number);
        let known: Vec<&SwitchExample> = others.flat_map(|(_, own)| own).collect();
        let Some(mut model) = SwitchModel::fit(&known)? else { return Ok(None) };
        let inputs: Vec<_> = unknown.iter().map(|example| example.inputs).collect();
        for (example, outlook) in unknown.iter().zip(model.outlooks(&inputs)) {
            for (cost, risk_max) in costs.iter_mut().zip(RISKS) {
                model.risk_max = risk_max;
                if model.allows(outlook) {
                    *cost += example.loss() + HARM * example.harm();
                }
            }
        }
    }
    let chosen = costs.iter().zip(RISKS).min_by(|a, b| a.0.total_cmp(b.0));
    let risk_max = chosen.map_or(0.0, |(_, risk)| risk);
    let all: Vec<&SwitchExample> = examples.iter().flatten().collect();
    let model = SwitchModel::fit(&all)?;
    Ok(model.map(|mut model| {
        model.risk_max = risk_max;
        model
    }))
}
