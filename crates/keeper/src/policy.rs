//! A trained network and what surrounds it: from what tenants ask for to a strategy.
//!
//! Three kinds. A *classifier* (the paper's, 9-64-42) gives each strategy the probability that it is the best. A
//! *ranker*, as large, gives each the logarithm of its total latency over that of `Shared`. A network of [`parts`] says
//! how long reads and writes take in one part of a drive, from which every strategy's total follows.
//! All abstain: where the best strategy promises less than [`Policy::abstain`] over `Shared`, where it would lose more
//! than [`Policy::risk`] if T's sample deceives, and where requests came in bursts beyond [`Policy::burst_max`],
//! channels stay shared, so that a doubtful answer costs nothing.

use crate::features::Seen;
use crate::parts::{self, Forecast};
use crate::strategy::Strategy;
use crate::vector::{Intensity, LENGTH};
use serde::{Deserialize, Serialize};
use ssdtune_learn::mlp::{Buffer, MlpModel};
use ssdtune_learn::{ModelFile, ModelFileError, Version};
use std::path::Path;

/// What a network's outputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Probabilities of being the best.
    Classifier,
    /// Logarithms of the total latency over that of `Shared`.
    Ranker,
    /// How fast a part serves, see [`parts::outputs`].
    Parts,
}

impl Kind {
    /// Inputs and outputs of its networks, for so many strategies.
    pub const fn shape(self, strategies: usize) -> (usize, usize) {
        match self {
            Self::Classifier | Self::Ranker => (LENGTH, strategies),
            Self::Parts => (parts::INPUTS, parts::OUTPUTS),
        }
    }
}

/// Standard deviations by which a part may be asked for more than a period's sample says.
pub const DEVIATIONS: f64 = 1.0;

/// A trained network for a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Version of the file.
    pub version: Version<1>,
    /// The drive it was trained for.
    pub device: String,
    /// Digest of that drive's configuration.
    pub device_digest: String,
    /// Its channels.
    pub channels: u32,
    /// The command that made it.
    pub made_by: String,
    /// The seed of its training.
    pub seed: u64,
    /// Where level 20 ends.
    pub intensity: Intensity,
    /// The period T from which the features are.
    pub collect_ns: u64,
    /// What the outputs are.
    pub kind: Kind,
    /// What the best strategy has to promise over `Shared`, as a logarithm of latencies (of a classifier: of
    /// probabilities).
    pub abstain: f64,
    /// How much slower than `Shared`, as a logarithm, the best strategy may be if each of its parts is asked for
    /// [`DEVIATIONS`] more than was seen, and the drive is not. Networks that know no parts ask nothing.
    pub risk: f64,
    /// Where requests come together more than that ([`crate::features::Period::burst`]), channels stay shared: no
    /// network is told what bursts need.
    pub burst_max: f64,
    /// The strategies to choose from, tenants ordered as in [`Seen`]; `Shared` is the first.
    pub strategies: Vec<Strategy>,
    /// The network.
    pub network: MlpModel,
}

const FILE: ModelFile =
    ModelFile { holds: "network of SSDKeeper", written_by: "ssdtune keeper train" };

/// What a policy says of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The strategy, for the drive's tenants.
    pub strategy: Strategy,
    /// Whether the requests came in bursts, so that it abstains.
    pub is_bursty: bool,
}

/// What one policy needs beside itself to decide, reused between decisions; holds what the last one was made from.
#[derive(Clone, Debug)]
pub struct Scratch {
    buffer: Buffer,
    /// Of a network for parts.
    forecast: Option<Forecast>,
    /// Of each strategy: its probability, the logarithm of its ratio to `Shared`, or its total.
    outlook: Vec<f64>,
}

impl Policy {
    /// Reads a policy and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or holds no sound policy.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    /// Whether it can decide: what is wrong with it if not.
    fn verify(&self) -> Result<(), String> {
        let found = (self.network.inputs(), self.network.outputs());
        let wanted = self.kind.shape(self.strategies.len());
        if found != wanted {
            return Err(format!(
                "the network has {} inputs and {} outputs where {} and {} are wanted",
                found.0, found.1, wanted.0, wanted.1
            ));
        }
        if self.strategies.first() != Some(&Strategy::Shared) {
            return Err("its first strategy is not Shared".to_owned());
        }
        let all = u64::from(self.channels);
        let is_wrong = |strategy: &&Strategy| match strategy {
            Strategy::Shared | Strategy::Isolated => false,
            Strategy::ByKind { writers, readers } => {
                u64::from(*writers) + u64::from(*readers) != all
            }
            Strategy::Parts(parts) => parts.iter().copied().map(u64::from).sum::<u64>() != all,
        };
        if let Some(strategy) = self.strategies.iter().find(is_wrong) {
            return Err(format!("{strategy} does not divide {all} channels"));
        }
        if self.collect_ns == 0 {
            return Err("collect_ns must be above 0".to_owned());
        }
        let rate = self.intensity.requests_per_s_max;
        let numbers = [rate, self.abstain, self.risk, self.burst_max];
        if !(numbers.into_iter().all(f64::is_finite) && rate > 0.0) {
            let names = "intensity, abstain, risk and burst_max";
            return Err(format!("{names} must be finite numbers, intensity above 0"));
        }
        Ok(())
    }

    /// What its decisions need.
    pub fn scratch(&self) -> Scratch {
        let forecast = matches!(self.kind, Kind::Parts)
            .then(|| Forecast::new(&self.network, &self.strategies, self.channels));
        Scratch { buffer: Buffer::default(), forecast, outlook: Vec::new() }
    }

    /// The strategy for what was seen; the scratch is this policy's.
    ///
    /// # Panics
    /// The scratch is another policy's; a policy that was read has a network of its kind.
    pub fn choose(&self, seen: &Seen, scratch: &mut Scratch) -> Choice {
        let Scratch { buffer, forecast, outlook } = scratch;
        let found = match forecast {
            Some(forecast) => forecast.totals(&self.network, seen),
            None => self.network.predict_one(&seen.vector(), buffer).expect("nine finite numbers"),
        };
        outlook.clear();
        outlook.extend_from_slice(found);
        let mut best = 0;
        for (number, strategy) in self.strategies.iter().enumerate() {
            let is_better = match self.kind {
                Kind::Classifier => outlook[number] > outlook[best],
                Kind::Ranker | Kind::Parts => outlook[number] < outlook[best],
            };
            if is_better && strategy.is_distinct(&seen.writers) {
                best = number;
            }
        }
        let is_bursty = seen.burst > self.burst_max;
        let is_doubtful = best > 0
            && (self.gain(scratch, 0, best) < self.abstain
                || self.loss(seen, scratch, best) > self.risk);
        if is_bursty || is_doubtful {
            best = 0;
        }
        Choice { strategy: seen.to_drive(&self.strategies[best]), is_bursty }
    }

    /// See [`Policy::risk`].
    fn loss(&self, seen: &Seen, scratch: &mut Scratch, best: usize) -> f64 {
        let Scratch { forecast: Some(forecast), outlook, .. } = scratch else {
            return f64::NEG_INFINITY;
        };
        let strategy = seen.to_drive(&self.strategies[best]);
        (forecast.total(&self.network, &strategy, seen, DEVIATIONS) / outlook[0]).ln()
    }

    /// What one strategy promised over another, by their numbers, when it was chosen last: the logarithm of their
    /// latencies or of their probabilities.
    pub fn gain(&self, scratch: &Scratch, from: usize, to: usize) -> f64 {
        let [from, to] = [from, to].map(|number| scratch.outlook[number]);
        match self.kind {
            Kind::Classifier => (to.max(1e-300) / from.max(1e-300)).ln(),
            Kind::Ranker => from - to,
            Kind::Parts => (from / to).ln(),
        }
    }

    /// Bytes that the paper counts for the network: 16 for each neuron (section IV-D).
    pub fn paper_bytes(&self) -> usize {
        16 * (self.hidden() + self.network.outputs())
    }

    /// Bytes of its weights and biases, as single-precision numbers.
    pub fn bytes(&self) -> usize {
        4 * self.network.parameters()
    }

    /// Multiplications of a prediction: of weights, biases are added.
    pub fn multiplications(&self) -> usize {
        self.network.parameters() - self.hidden() - self.network.outputs()
    }

    /// Neurons between input and output.
    fn hidden(&self) -> usize {
        self.network.neurons() - self.network.outputs()
    }
}
