//! A trained network and what surrounds it: from nine numbers to a strategy.
//!
//! Two kinds, both 9-64-42 and the same work at run time. A *classifier* (the paper's) gives each strategy the
//! probability that it is the best. A *ranker* gives each the logarithm of its total latency over that of `Shared`.
//! Either abstains: where the best strategy promises less than [`Policy::abstain`] over `Shared`, or requests came
//! in bursts beyond [`Policy::burst_max`], channels stay shared, so that a doubtful answer costs nothing.

use crate::features::Seen;
use crate::strategy::Strategy;
use serde::{Deserialize, Serialize};
use ssdtune_learn::Version;
use ssdtune_learn::mlp::{Buffer, MlpModel};
use ssdtune_trace::features::ssdkeeper::{Intensity, LENGTH};
use std::path::{Path, PathBuf};

/// What a network's outputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Probabilities of being the best.
    Classifier,
    /// Logarithms of the total latency over that of `Shared`.
    Ranker,
}

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
    /// Where a page meets so many levels more than the mean rate, channels stay shared: the nine numbers do not tell
    /// what bursts need.
    pub burst_max: f64,
    /// The strategy of each output, tenants ordered as in [`Seen`].
    pub strategies: Vec<Strategy>,
    /// The network.
    pub network: MlpModel,
}

/// Why a file is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is no policy.
    #[error("{}: {problem}; train it again with `ssdtune keeper train`", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What a policy says of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The strategy, for the drive's tenants.
    pub strategy: Strategy,
    /// The network's outputs, tenants ordered.
    pub outputs: Vec<f64>,
    /// Whether the requests came in bursts, so that it abstains.
    pub is_bursty: bool,
}

impl Policy {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no policy.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PolicyError::Io { path: path.to_path_buf(), source })?;
        Self::parse(&text)
            .map_err(|problem| PolicyError::Content { path: path.to_path_buf(), problem })
    }

    /// Reads the text of a file; an error says what is wrong with it.
    ///
    /// # Errors
    /// It is no policy.
    pub fn parse(text: &str) -> Result<Self, String> {
        let policy: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let (inputs, outputs) = (policy.network.inputs(), policy.network.outputs());
        if inputs != LENGTH || outputs != policy.strategies.len() {
            let strategies = policy.strategies.len();
            return Err(format!(
                "the network has {inputs} inputs and {outputs} outputs for {LENGTH} features and {strategies} strategies"
            ));
        }
        if policy.strategies.first() != Some(&Strategy::Shared) {
            return Err("its first strategy is not Shared".to_owned());
        }
        let too_many = |strategy: &&Strategy| match strategy {
            Strategy::Shared | Strategy::Isolated => false,
            Strategy::ByKind { writers, readers } => {
                u64::from(*writers) + u64::from(*readers) != u64::from(policy.channels)
            }
            Strategy::Parts(parts) => {
                parts.iter().map(|&part| u64::from(part)).sum::<u64>() != u64::from(policy.channels)
            }
        };
        if let Some(strategy) = policy.strategies.iter().find(too_many) {
            return Err(format!("{strategy} does not divide {} channels", policy.channels));
        }
        if policy.collect_ns == 0 {
            return Err("collect_ns must be above 0".to_owned());
        }
        let rate = policy.intensity.requests_per_s_max;
        let are_finite = [rate, policy.abstain, policy.burst_max].into_iter().all(f64::is_finite);
        if !(are_finite && rate > 0.0) {
            return Err(
                "intensity, abstain and burst_max must be finite numbers, intensity above 0".into(),
            );
        }
        Ok(policy)
    }

    /// The strategy for what was seen.
    ///
    /// # Panics
    /// Never: a policy that was read has nine inputs.
    pub fn choose(&self, seen: &Seen, buffer: &mut Buffer) -> Choice {
        let outputs =
            self.network.predict_one(&seen.vector(), buffer).expect("nine finite numbers");
        let mut best = 0;
        for (number, strategy) in self.strategies.iter().enumerate() {
            let is_better = match self.kind {
                Kind::Ranker => outputs[number] < outputs[best],
                Kind::Classifier => outputs[number] > outputs[best],
            };
            if is_better && strategy.is_distinct(&seen.writers) {
                best = number;
            }
        }
        let is_bursty = seen.burst > self.burst_max;
        if is_bursty || self.gain(outputs, 0, best) < self.abstain {
            best = 0;
        }
        let strategy = seen.to_drive(&self.strategies[best]);
        Choice { strategy, outputs: outputs.to_vec(), is_bursty }
    }

    /// What one strategy promises over another, by their numbers: the logarithm of their latencies or of their
    /// probabilities.
    pub fn gain(&self, outputs: &[f64], from: usize, to: usize) -> f64 {
        match self.kind {
            Kind::Ranker => outputs[from] - outputs[to],
            Kind::Classifier => (outputs[to].max(1e-300) / outputs[from].max(1e-300)).ln(),
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
