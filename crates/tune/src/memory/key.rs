//! What decides an evaluation, as one number.
//!
//! An evaluation is looked up before it is simulated, so its key must differ whenever its result
//! could: the [`EvaluationKey`] is a hash (BLAKE3, 256 bit) of the canonical configuration with
//! every row of the catalogue (those of `[compat]` and `[energy]` included), the content of the
//! request stream, the range and the transforms, how it is replayed, what the drive has been
//! through before, the seed, who evaluates, and [`RESULTS_EPOCH`]. A configuration's name decides
//! nothing and is left out.
//!
//! Every field goes in with its name and its length, so that no two lists of fields give the same
//! bytes. About 30 us for a configuration, 20 ns for a request of a stream.

#[cfg(test)]
mod tests;

use crate::digest::{Digest, Digester};
use serde::{Deserialize, Serialize};
use ssdtune_model::{DeviceConfig, document};
use ssdtune_sim::{Filling, Replay};
use std::fmt;
use std::ops::Range;

/// The version of what simulations answer. A test holds digests of a few small simulations against
/// it; it grows by one exactly when they change, and every evaluation stored before is then another
/// key.
pub const RESULTS_EPOCH: u32 = 2;

/// The built-in simulator, as [`EvaluationInputs::evaluator`].
pub const BUILT_IN: &str = "ssdtune";

/// What a drive has been through before it is measured. A preconditioned drive says so in its
/// configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WarmUp {
    /// It was filled.
    pub filling: Option<Filling>,
    /// It then served these requests, without time
    /// ([`digest_requests`](crate::memory::digest_requests)).
    pub requests: Option<Digest>,
}

/// Everything that decides an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationInputs<'a> {
    /// The drive.
    pub config: &'a DeviceConfig,
    /// The request stream, before range and transforms
    /// ([`digest_requests`](crate::memory::digest_requests)).
    pub workload: Digest,
    /// The requests of the stream that are replayed, counted from 0.
    pub range: Range<u64>,
    /// What is done to them, in order, each as one canonical text such as `time-scale 0.5`.
    pub transforms: &'a [String],
    /// The runs that are one evaluation, in order.
    pub replays: &'a [Replay],
    /// What comes before each run.
    pub warm_up: WarmUp,
    /// Seed of the evaluation.
    pub seed: u64,
    /// Who evaluates: [`BUILT_IN`], or the command line of another simulator.
    pub evaluator: &'a str,
}

/// The key of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EvaluationKey(pub Digest);

impl EvaluationKey {
    /// The key of these inputs.
    pub fn of(inputs: &EvaluationInputs) -> Self {
        Self::in_epoch(inputs, RESULTS_EPOCH)
    }

    fn in_epoch(inputs: &EvaluationInputs, epoch: u32) -> Self {
        let mut digester = Digester::new("ssdtune evaluation");
        digester
            .number("epoch", epoch.into())
            .text("evaluator", inputs.evaluator)
            .text("configuration", &canonical(inputs.config))
            .digest("workload", inputs.workload)
            .number("first", inputs.range.start)
            .number("end", inputs.range.end)
            .number("transforms", inputs.transforms.len() as u64);
        for transform in inputs.transforms {
            digester.text("transform", transform);
        }
        digester.number("replays", inputs.replays.len() as u64);
        for replay in inputs.replays {
            match replay {
                Replay::Open => digester.text("replay", "open"),
                Replay::Closed(depth) => digester.number("closed", u64::from(*depth)),
            };
        }
        let WarmUp { filling, requests } = inputs.warm_up;
        if let Some(Filling { occupancy, overwrites, seed }) = filling {
            digester
                .real("occupancy", occupancy)
                .number("overwrites", overwrites.into())
                .number("filling seed", seed);
        }
        if let Some(requests) = requests {
            digester.digest("warm-up", requests);
        }
        digester.number("seed", inputs.seed);
        Self(digester.finish())
    }

    /// The key as AutoDB takes it.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Display for EvaluationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A configuration as text that depends on nothing but its parameters: a TOML document without a
/// name, and without the rows that later versions of the catalogue have added as long as they have
/// their default.
pub fn canonical(config: &DeviceConfig) -> String {
    document::canonical(config)
}

/// The digest of [`canonical`].
pub fn configuration_digest(config: &DeviceConfig) -> Digest {
    let mut digester = Digester::new("ssdtune configuration");
    digester.text("configuration", &canonical(config));
    digester.finish()
}
